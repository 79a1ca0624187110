"""How generated code finds the dims: on the shapes of the inputs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from attndsl.checking.extents import origins
from attndsl.ir import spec
from attndsl.ir.text import line_of
from attndsl.python_names import python_name


def dim_statements(tensors: Iterable[spec.TensorOp], wanted: Collection[str]) -> Iterator[str]:
    """Python statements for the dims in `wanted`: `B, _, M, D = q.shape`, `S = cu.shape[0] - 1`."""
    inputs = {t.sym_name.data: [line_of(e.data) for e in t.extents] for t in tensors if t.role.data == "input"}
    found = origins(inputs.items())
    names = [python_name(dim) for dim in wanted]
    for tensor, extents in inputs.items():
        told = {origin.axis: origin.line for dim, origin in found.items() if origin.tensor == tensor and dim in names}
        shape = f"{python_name(tensor)}.shape"
        alone = [told[axis].dim if axis in told and not told[axis].rank else "_" for axis in range(len(extents))]
        if any(dim != "_" for dim in alone):
            yield f"{', '.join(alone)}{',' if len(alone) == 1 else ''} = {shape}"
        for axis, line in told.items():
            if line.rank:
                yield f"{line.dim} = {line.solution(f'{shape}[{axis}]')}"
