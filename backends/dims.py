"""How generated code finds the dims: on the shapes of the inputs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from attndsl.backends.names import leaf_name
from attndsl.checking.extents import Coefficient, LinearExtent, origins
from attndsl.checking.spelling import PYTHON, Spelled
from attndsl.checking.symbolic import line_of
from attndsl.ir import spec
from attndsl.python_names import python_name


def dim_statements(tensors: Iterable[spec.TensorOp], wanted: Collection[str]) -> Iterator[str]:
    """Python statements for the dims in `wanted`: `B, _, M, D = q.shape`, `S = cu.shape[0] - 1`."""
    inputs = {t.sym_name.data: [*map(line_of, t.shape)] for t in tensors if t.role.data in ("input", "inout")}
    found = origins(inputs.items())
    for tensor, extents in inputs.items():
        told = {origin.axis: origin.line for dim, origin in found.items() if origin.tensor == tensor and dim in wanted}
        shape = f"{python_name(tensor)}.shape"
        alone = {axis: python_name(line.dim) for axis, line in told.items() if not line.rank}
        if alone:
            targets = [alone.get(axis, "_") for axis in range(len(extents))]
            yield f"{', '.join(targets)}{',' if len(targets) == 1 else ''} = {shape}"
        for axis, line in told.items():
            if line.rank:
                yield f"{python_name(line.dim)} = {solution(line, f'{shape}[{axis}]')}"


def solution(line: LinearExtent, extent: str) -> str:
    """`line.solve` in Python, for the text of an extent that binds tightest."""
    solved = Spelled(extent)
    match line.offset:
        case 0:
            pass
        case ("ineg", more):
            solved = PYTHON.apply("iadd", [solved, _coefficient(more)])
        case int(number) if number < 0:
            solved = PYTHON.apply("iadd", [solved, PYTHON.literal(-number)])
        case less:
            solved = PYTHON.apply("isub", [solved, _coefficient(less)])
    if line.factor != 1:
        solved = PYTHON.apply("idiv", [solved, _coefficient(line.factor)])
    if line.divisor != 1:
        solved = PYTHON.apply("imul", [solved, PYTHON.literal(line.divisor)])
    return solved.text


def _coefficient(value: Coefficient) -> Spelled:
    return PYTHON.spell(value, leaf_name)
