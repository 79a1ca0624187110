"""Every gallery spec on a real GPU, beside its reference: `make test-gpu`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

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
from tests.gpu.tensors import bits, on_gpu

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
    import torch

    path = EXAMPLES / f"{name}.attn"
    spec = check(Source(path.read_text(encoding="utf-8"), path.name))
    for what, make in CALLS.items():
        case = make(spec, element)
        # Code for any features, and code for these.
        sizes = {} if what == "hostile" else case.dims
        function = load(compile_spec(spec, case.types, "triton", sizes).source)[python_name(spec.name)]
        for parts in (1, 3) if what == "plain" else (1,):
            inputs = [on_gpu(case.arrays[t.name], case.element(t.name)) for t in spec.inputs]
            outputs = {}
            for tensor in spec.outputs:
                shape = [int(evaluate(extent, case.dims, case.params)) for extent in tensor.extents]
                filled = np.full(shape, 7, ELEMENTS[case.element(tensor.name)].dtype)
                outputs[tensor.name] = on_gpu(filled, case.element(tensor.name))
            params = {python_name(n): v for n, v in case.params.items()}
            function(*inputs, *outputs.values(), **params, schedule={"PARTS": parts})
            torch.cuda.synchronize()
            case.check(f"triton in {parts} parts", {n: bits(t) for n, t in outputs.items()}, narrowed=True)
