"""Tiles that are copied as boxes: the same numbers, and where a call's strides do not allow it, read by addresses."""

from __future__ import annotations

import pytest
import torch

from attndsl.backends.gpu.aot import load
from attndsl.backends.gpu.stand_ins import TORCH, stand_in
from attndsl.backends.triton.emit import emit
from attndsl.ir import tile
from attndsl.ir.context import parse_module
from attndsl.ir.interpret import interpret
from attndsl.ir.legal import IllegalModule
from attndsl.ir.xdsl import ModuleOp
from attndsl.testing import Case

from .lowered import GALLERY, lowered_with_boxes, spec_of
from .test_interpreter import check

ALSO = ("causal_end", "packed_ragged", "pair_bias")
"""Run by Triton's interpreter with the matrix: a tile of keys, rows behind others, a tile of rows and keys."""

MOST = [pytest.param(name, marks=[pytest.mark.matrix] if at % 3 else []) for at, name in enumerate(GALLERY[::3])]
"""Every third spec of the gallery; two of three of them are left to the matrix."""

BOXED = """
spec.tensor @x "input" "f32" ["M", "16"]
spec.tensor @o "output" "f32" ["M", "16"]
tile.kernel @copies {{
  %zero = arith.constant 0 : index
  %two = arith.constant 2 : index
  %size = arith.constant 16 : index
  %M = spec.dim "M"
  %less = arith.subi %M, %two : index
  %i0 = tile.program "i" to %M step %size
  %end = arith.addi %i0, %size : index
  %i = tile.range "i" from %i0 to %end size %size
  %d = tile.range "d" from %zero to %size size %size
  %in = arith.cmpi slt, %i, %{stop} : index
  %x = tile.load box @x[%i, {feature}] where %in : f32
  tile.store @o[%i, %d] = %x where %in : f32
}}
"""


def boxed(stop: str = "M", feature: str = "%d") -> ModuleOp:
    """A kernel that copies rows before `stop`, with a feature or a place at each of its last axis."""
    return parse_module(BOXED.format(stop=stop, feature=feature))


def boxes_in(module: ModuleOp) -> int:
    return sum(isinstance(op, tile.LoadOp) and op.box is not None for op in module.walk())


def test_a_box_is_consecutive_and_all_that_lies_in_its_tensor() -> None:
    load = "triton takes no tile.load that is no box"
    emit(boxed())
    for wrong in (boxed(stop="less"), boxed(feature="%i")):
        with pytest.raises(IllegalModule, match=load):
            emit(wrong)


def test_what_leaves_something_of_a_box_out_is_found_by_the_interpreter() -> None:
    import numpy as np

    x = np.arange(20 * 16, dtype=np.float32).reshape(20, 16)
    assert np.array_equal(interpret(boxed(), {"x": x}, {"M": 20}, {})["o"], x)
    with pytest.raises(AssertionError, match="a box has all of its tensor"):
        interpret(boxed(stop="less"), {"x": x}, {"M": 20}, {})


def test_ahead_of_time_there_is_none() -> None:
    """What is compiled without a GPU is launched by no Triton, which would describe a tensor to the hardware."""
    functions = load(emit(boxed()), torch=TORCH)
    assert functions["_box"](stand_in("f32", (20, 16)), 16, 16) is None


def test_what_is_less_than_a_stage_may_begin_at_is_no_box() -> None:
    """Of stages in shared memory the second would lie where no box may: a GPU gives up at the first that it copies."""
    functions = load(emit(boxed()))
    x = torch.zeros(20, 16)
    assert functions["_box"](x, 2, 16).block_shape == [2, 16]
    assert functions["_box"](x, 1, 16) is None
    assert functions["_box"](x.half(), 2, 16) is None


def test_what_is_expanded_is_a_box() -> None:
    functions = load(emit(boxed()))
    assert functions["_box"](torch.zeros(1, 16).expand(20, 16), 16, 16).strides == [0, 1]
    assert functions["_box"](torch.zeros(20, 16)[:1].expand(1, 16), 16, 16).strides == [16, 1]


@pytest.mark.parametrize("name", MOST)
def test_the_interpreted_ir_agrees_with_the_reference(name: str) -> None:
    """All that can be a box is one, in tiles that hold rows and keys beyond their ends."""
    case = Case.make(spec_of(name), "f16", seed=4).poisoned()
    module = lowered_with_boxes(case.spec, case.types, rows=16, keys=16)
    assert boxes_in(module)
    written = interpret(module, case.lent(), case.dims, case.params, {"SPLITS": 1, "ROWS": 16, "KEYS": 16})
    case.check("boxes", written, narrowed=True)


@pytest.mark.matrix
@pytest.mark.parametrize("name", ALSO)
def test_triton_agrees_with_the_reference(name: str) -> None:
    """With boxes, and where fewer tensors of a call allow them."""
    whole, broken = check(2, name, options=["--with-boxes"])
    assert whole["boxes"] > broken["boxes"], (whole, broken)
