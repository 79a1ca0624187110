"""Every gallery spec on a real GPU, beside its reference: `make test-gpu`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attndsl.backends.triton.aot import load
from attndsl.checking.check import check
from attndsl.checking.evaluate import evaluate
from attndsl.checking.typed import Spec
from attndsl.driver.compile import compile_spec
from attndsl.python_names import python_name
from attndsl.storage import ELEMENTS
from attndsl.syntax.source import Source
from attndsl.testing import Case

EXAMPLES = Path(__file__).parents[2] / "examples"

CALLS: dict[str, Callable[[Spec, str], Case]] = {
    "plain": Case.make,
    "hostile": lambda spec, element: Case.make(spec, element, seed=2, hostile=True).poisoned(),
    "transposed": lambda spec, element: Case.make(spec, element, seed=1, layout="transposed").poisoned(),
}
"""Calls by what is special about them."""


def _on_gpu(array: np.ndarray[Any, Any], element: str) -> Any:
    """A NumPy array of an element type as a tensor on the GPU, strides kept."""
    import torch

    bits = {"bf16": torch.bfloat16, "f8e4m3": torch.float8_e4m3fn, "f8e5m2": torch.float8_e5m2}
    on_cpu = torch.from_numpy(array)
    on_gpu = torch.empty_strided(on_cpu.shape, on_cpu.stride(), dtype=on_cpu.dtype, device="cuda")
    on_gpu.copy_(on_cpu)
    return on_gpu.view(bits[element]) if element in bits else on_gpu


@pytest.mark.gpu
@pytest.mark.parametrize("element", ["f16", "bf16", "f32"])
@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("*.attn")))
def test_agrees_with_the_reference(name: str, element: str) -> None:
    """Odd sizes, strides, empty rows, stale indices, and NaN in memory that nothing present reads."""
    import torch

    path = EXAMPLES / f"{name}.attn"
    spec = check(Source(path.read_text(encoding="utf-8"), path.name))
    functions: dict[tuple[tuple[str, str], ...], Any] = {}
    for make in CALLS.values():
        case = make(spec, element)
        key = tuple(case.types.items())
        if key not in functions:
            functions[key] = load(compile_spec(spec, case.types, "triton").source)[python_name(spec.name)]
        inputs = [_on_gpu(case.arrays[t.name], case.element(t.name)) for t in spec.inputs]
        outputs = {}
        for tensor in spec.outputs:
            shape = [int(evaluate(extent, case.dims, case.params)) for extent in tensor.extents]
            filled = np.full(shape, 7, ELEMENTS[case.element(tensor.name)].dtype)
            outputs[tensor.name] = _on_gpu(filled, case.element(tensor.name))
        functions[key](*inputs, *outputs.values(), **{python_name(n): v for n, v in case.params.items()})
        torch.cuda.synchronize()
        case.check("triton on a GPU", {n: _bits(t, case.element(n)) for n, t in outputs.items()}, rounded=True)


def _bits(tensor: Any, element: str) -> np.ndarray[Any, Any]:
    """A tensor of the GPU as NumPy holds it: bf16 as its bits."""
    import torch

    array: np.ndarray[Any, Any] = (tensor.view(torch.uint16) if element == "bf16" else tensor).cpu().numpy()
    return array
