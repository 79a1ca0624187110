"""Runs specs in Triton's interpreter and holds their outputs against the reference: one JSON line a call.

Its own process: Triton reads TRITON_INTERPRET when it is imported.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Iterator
from typing import Any

os.environ["TRITON_INTERPRET"] = "1"

import numpy as np
import torch
from triton.runtime.interpreter import InterpreterBuilder, TensorHandle

from attndsl.backends.triton.aot import load
from attndsl.backends.triton.emit import emit
from attndsl.checking.evaluate import evaluate
from attndsl.checking.typed import Spec
from attndsl.python_names import python_name
from attndsl.storage import ELEMENTS
from attndsl.testing import Case

from .lowered import lowered, spec_of


def _splat(builder: InterpreterBuilder, type_: Any, scalar: Any) -> TensorHandle:
    """Spreads a scalar. Triton's own (3.9) takes a comparison for a number of the type that was compared."""
    return TensorHandle(np.full(type_.shape, scalar.data, scalar.data.dtype), scalar.dtype.scalar)


InterpreterBuilder.create_splat = _splat

BYTES_AS = {"f8e4m3": torch.float8_e4m3fn, "f8e5m2": torch.float8_e5m2}


def run(case: Case, function: Any, parts: int) -> dict[str, np.ndarray[Any, Any]]:
    """The outputs of a call whose keys are cut into parts, written into tensors that were full of something else."""
    inputs = []
    for tensor in case.spec.inputs:
        given = torch.from_numpy(case.arrays[tensor.name])
        inputs.append(given.view(BYTES_AS[tensor.element]) if tensor.element in BYTES_AS else given)
    outputs = {}
    for tensor in case.spec.outputs:
        shape = [int(evaluate(extent, case.dims, case.params)) for extent in tensor.extents]
        outputs[tensor.name] = np.full(shape, 7, ELEMENTS[case.element(tensor.name)].dtype)
    params = {python_name(name): value for name, value in case.params.items()}
    function(*inputs, *map(torch.from_numpy, outputs.values()), **params, schedule={"PARTS": parts})
    return outputs


def calls(spec: Spec) -> Iterator[tuple[str, Case]]:
    """Calls of one spec, by what is special about them."""
    yield "hostile", Case.make(spec, seed=2, hostile=True).poisoned()
    yield "f16, transposed", Case.make(spec, "f16", seed=1, layout="transposed").poisoned()
    yield "f64, sliced", Case.make(spec, "f64", layout="sliced")


def main(count: int, names: list[str]) -> None:
    """The first `count` calls of the specs that are named."""
    for name in names:
        spec, functions = spec_of(name), {}
        for (what, case), _ in zip(calls(spec), range(count), strict=False):
            error = ""
            try:
                key = tuple(case.types.items())
                if key not in functions:
                    # The widths of tiles differ, and neither is a power of two.
                    functions[key] = load(emit(lowered(spec, case.types, rows=24, keys=12)))[python_name(name)]
                for parts in (1, 3):
                    case.check(f"triton, {parts} parts", run(case, functions[key], parts), narrowed=True)
            except Exception:
                error = traceback.format_exc()
            print(json.dumps({"spec": name, "call": what, "error": error}), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
