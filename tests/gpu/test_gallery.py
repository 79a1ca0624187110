"""Every gallery spec on a real GPU, beside its reference: `make test-gpu`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from attndsl.backends.gpu.aot import load
from attndsl.backends.gpu.host import kernel_names
from attndsl.backends.gpu.launcher import schedules_name
from attndsl.checking.check import check
from attndsl.checking.typed import Spec
from attndsl.driver.compile import compile_spec
from attndsl.python_names import python_name
from attndsl.syntax.source import Source
from attndsl.testing import Case
from attndsl.testing.triton_program import TritonProgram

EXAMPLES = Path(__file__).parents[2] / "examples"

CALLS: dict[str, Callable[[Spec, str], Case]] = {
    "plain": Case.make,
    "hostile": lambda spec, element: Case.make(spec, element, seed=2, hostile=True).poisoned(),
    "transposed": lambda spec, element: Case.make(spec, element, seed=1, layout="transposed").poisoned(),
}
"""Calls by what is special about them."""


@pytest.mark.gpu
@pytest.mark.parametrize("element", ["f16", "bf16", "f32"])
@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("*.attn")))
def test_agrees_with_the_reference(name: str, element: str) -> None:
    """Odd sizes, strides, empty rows, stale indices, and NaN in memory that nothing present reads."""
    path = EXAMPLES / f"{name}.attn"
    spec = check(Source(path.read_text(encoding="utf-8"), path.name))
    for what, make in CALLS.items():
        case = make(spec, element)
        # Code for any features, and code for these.
        sizes = {} if what == "hostile" else case.dims
        source = compile_spec(spec, case.types, "triton", sizes).source
        program = TritonProgram(source, load(source)[python_name(spec.name)], "cuda")
        for splits in (1, 3) if what == "plain" else (1,):
            case.check(f"triton in {splits} splits", program.run(case, splits), narrowed=True)


@pytest.mark.gpu
@pytest.mark.parametrize("element", ["f16", "f32"])
@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("*.attn")))
def test_the_largest_tiles_agree(name: str, element: str) -> None:
    """With as many features as models have, in the tiles that calls of many rows take, which small calls do not.

    What is asked for holds for the kernels of all blocks: it is what the block with the smallest tiles may take.
    """
    path = EXAMPLES / f"{name}.attn"
    spec = check(Source(path.read_text(encoding="utf-8"), path.name))
    case = Case.make(spec, element, dims={dim: 128 for dim in ("D", "E") if dim in spec.dims})
    source = compile_spec(spec, case.types, "triton", case.dims).source
    functions = load(source)
    program = TritonProgram(source, functions[python_name(spec.name)], "cuda")
    whole = [name for name in kernel_names(source) if not name.endswith(("_split_kernel", "_merge_kernel"))]
    tables = [functions[schedules_name(name)] for name in whole if schedules_name(name) in functions]
    largest = min((table[-1] for table in tables), key=lambda tile: tile.get("ROWS", 1) * tile.get("KEYS", 1))
    case.check(f"triton with {largest}", program.run(case, 1, largest), narrowed=True)
