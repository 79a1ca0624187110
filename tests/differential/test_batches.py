"""Products with batch axes: the IR's interpreter, NumPy and Triton's interpreter compute what the law says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import attndsl
from attndsl.backends.gpu.aot import compile_launch, launches, load
from attndsl.backends.gpu.stand_ins import stand_in
from attndsl.backends.gpu.targets import TARGETS as GPUS
from attndsl.backends.numpy.emit import emit
from attndsl.backends.numpy.legal import LEGAL
from attndsl.backends.triton.emit import emit as emit_triton
from attndsl.driver.passes import parse_pipeline, passes_of, run_pipeline
from attndsl.driver.targets import TARGETS
from attndsl.ir import tile
from attndsl.ir.interpret import interpret
from attndsl.ir.machines import PROCESSORS
from attndsl.ir.xdsl import ModuleOp

from .batches import Array, Product, listed, products, shared


def run_numpy(each: Product, arrays: dict[str, Array], module: ModuleOp) -> tuple[Array, str]:
    """What the generated file computes, and its text."""
    text = emit(module)
    namespace: dict[str, object] = {}
    exec(compile(text, "<k>", "exec"), namespace)
    out = np.full(each.shape(each.out), np.nan, np.float32)
    namespace["k"](*arrays.values(), out)  # type: ignore[operator]
    return out, text


@settings(max_examples=80, deadline=None, derandomize=True)
@given(products(), st.integers(0, 9))
def test_a_product_of_any_axes_is_what_its_law_says(each: Product, seed: int) -> None:
    arrays, module = each.arrays(seed), each.module
    wanted = each.wanted(arrays)
    np.testing.assert_array_equal(interpret(module, arrays, each.dims, {})["o"], wanted)
    np.testing.assert_array_equal(run_numpy(each, arrays, module)[0], wanted)
    run_pipeline(module, parse_pipeline("canonicalize,cse"))
    np.testing.assert_array_equal(run_numpy(each, arrays, module)[0], wanted)


@pytest.mark.parametrize("each", [*listed(), *shared()], ids=lambda each: f"{each.x}-{each.y}-{each.out}")
def test_one_batch_axis_is_one_call_of_matmul(each: Product) -> None:
    module, arrays = each.module, each.arrays(0)
    for op in module.walk():
        if isinstance(op, tile.DotOp):
            op.rounded = None
    LEGAL.require(module)
    found, text = run_numpy(each, arrays, module)
    assert " @ " in text
    assert ".sum(" not in text
    np.testing.assert_array_equal(found, each.wanted(arrays))


STATES = """
attention states {
    dims B, H, N, D, E
    types T

    input  k : T[B, H, N, D]
    input  v : T[B, N, E]
    output o : T[B, H, D, E]

    each b in B, h in H
    over j in N

    let pair[d in D, e in E] = k[b,h,j,d] * v[b,j,e]

    o[b,h,:,:] = sum(pair)
}
"""


@pytest.mark.parametrize("machine", PROCESSORS)
def test_heads_without_rows_multiply_matrices(machine: str) -> None:
    """The axis of heads that are computed at once is none of rows, where a program has no tile of these."""
    op = attndsl.compile(STATES)
    assert ".sum(" not in op.artifact("numpy", {}, machine).source
    random = np.random.default_rng(0)
    k, v = (random.normal(size=shape).astype(np.float32) for shape in ((2, 5, 33, 8), (2, 33, 6)))
    np.testing.assert_allclose(op(k=k, v=v), np.einsum("bhjd,bje->bhde", k, v), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("each", [*listed()], ids=lambda each: f"{each.x}-{each.y}-{each.out}")
def test_padded_axes_count_for_nothing(each: Product) -> None:
    module, arrays = each.module, each.arrays(1)
    run_pipeline(module, parse_pipeline("pad-axes"))
    np.testing.assert_array_equal(interpret(module, arrays, each.dims, {})["o"], each.wanted(arrays))


def test_triton_computes_the_same_numbers() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.differential.interpreted_batches"],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(lines) == len(list(listed()))
    assert "".join(line["error"] for line in lines) == ""


def test_a_batch_of_matrices_runs_on_a_matrix_unit() -> None:
    each = next(each for each in listed() if each.rounded is not None)
    module = each.module
    run_pipeline(module, passes_of(TARGETS["triton"].lowering().tile[1:]))
    text = emit_triton(module)
    shapes = {"x": each.x, "y": each.y, "o": each.out}
    tensors = [stand_in("f32" if name == "o" else "f16", each.shape(axes)) for name, axes in shapes.items()]
    (launch,) = launches(text, "k", tensors)
    binary = compile_launch(load(text)["k_kernel"], launch, "usual", GPUS["cuda:90"])
    assert "mma.sync" in binary.assembly
