"""Runs products with batch axes in Triton's interpreter: one JSON line a kernel. Its own process, as Triton wants."""

from __future__ import annotations

import json
import traceback

from attndsl.testing.triton_program import array_of, prepare, tensor_of

DEVICE = prepare()

import numpy as np  # noqa: E402

from attndsl.backends.gpu.aot import load  # noqa: E402
from attndsl.backends.triton.emit import emit  # noqa: E402
from attndsl.driver.passes import passes_of, run_pipeline  # noqa: E402
from attndsl.driver.targets import TARGETS  # noqa: E402

from .batches import Product, listed  # noqa: E402


def check(each: Product) -> None:
    """One kernel, through what the pipeline does of tiles that a spec was lowered to."""
    module, arrays = each.module, each.arrays(2)
    steps = TARGETS["triton"].lowering().tile
    run_pipeline(module, passes_of(steps[1:]))
    text = emit(module)
    assert text.count("tl.dot(") == 1
    inputs = [tensor_of(array, each.rounded or "f32", DEVICE) for array in arrays.values()]
    out = tensor_of(np.full(each.shape(each.out), np.nan, np.float32), "f32", DEVICE)
    with np.errstate(all="ignore"):
        load(text)["k"](*inputs, out)
    np.testing.assert_array_equal(array_of(out, "f32"), each.wanted(arrays))


if __name__ == "__main__":
    for each in listed():
        error = ""
        try:
            check(each)
        except Exception:
            error = f"{each}: {traceback.format_exc()}"
        print(json.dumps({"error": error}), flush=True)
