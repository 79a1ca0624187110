"""Extents that come out negative: such a variable has no values, however many are numbered together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from attndsl.checking.check import check
from attndsl.ir import attn, spec
from attndsl.ir.build import build
from attndsl.ir.rewrite import index_constant, insert_before
from attndsl.ir.sizes import known_limit, size_of
from attndsl.ir.xdsl import arith
from attndsl.syntax.source import Source
from attndsl.testing import Case, check_stages

ROWS = """
attention rows {
    dims B, P, Q, N
    input  h : i32[B]
    input  w : i32[B]
    input  x : f32[N]
    input  z : f32[P, Q]
    output o : f32[B, P, Q]

    each b in B, y in h[b] up to P, u in w[b] up to Q
    over j in N

    o[b,y,u] = sum(x[j]) + z[y,u]
}
"""

KEYS = """
attention keys {
    dims B, P, Q
    input  h : i32[B]
    input  w : i32[B]
    input  z : f32[P, Q]
    output o : f32[B]

    each b in B
    over y in h[b] up to P, u in w[b] up to Q

    o[b] = sum(1.0 + 0.0 * z[0,0])
}
"""


@pytest.mark.parametrize("text", [ROWS, KEYS])
def test_two_negative_extents_have_no_values(text: str) -> None:
    checked = check(Source(text, "negative.attn"))
    lengths: dict[str, Any] = {"h": np.array([-2, 1, -1], np.int32), "w": np.array([-3, 2, 2], np.int32)}
    dims = {"B": 3, "P": 2, "Q": 3, "N": 4}
    case = Case.make(checked, dims={name: size for name, size in dims.items() if name in checked.dims}).given(**lengths)
    check_stages([case])


def test_a_limit_is_asked_of_kernels_that_stand_in_no_module() -> None:
    """As they are while a pass makes them: what is read has no declaration there."""
    module = build(check(Source(KEYS)), {})
    (kernel,) = (op for op in module.walk() if isinstance(op, attn.KernelOp))
    (over,) = (op for op in kernel.walk() if isinstance(op, attn.OverOp))
    limit = insert_before(over, spec.DimOp("P"))
    extent = insert_before(over, arith.MinSIOp(over.extent, limit))
    module.body.block.detach_op(kernel)
    assert known_limit(extent) is limit


def test_what_is_at_least_nothing_has_the_limit_that_it_has_otherwise() -> None:
    """The keys of a split end where all end, or 0 do; of data that say how many there are a call knows no more."""
    module = build(check(Source(KEYS)), {})
    over = next(op for op in module.walk() if isinstance(op, attn.OverOp))
    assert size_of(over.extent) is None
    limit = insert_before(over, spec.DimOp("P"))
    end = insert_before(over, arith.MinSIOp(over.extent, limit))
    zero, one = (insert_before(over, index_constant(n)) for n in (0, 1))
    assert known_limit(insert_before(over, arith.MaxSIOp(end, zero))) is limit
    assert known_limit(insert_before(over, arith.MaxSIOp(end, one))) is None


def test_a_size_is_no_larger_than_a_person_reads() -> None:
    """Values share operands and an expression repeats them: of a chain it would be larger than any memory."""
    module = build(check(Source(KEYS)), {})
    over = next(op for op in module.walk() if isinstance(op, attn.OverOp))
    size = insert_before(over, spec.DimOp("P"))
    sizes = [size := insert_before(over, arith.MaxSIOp(size, size)) for _ in range(100)]
    assert size_of(sizes[0]) == ("imax", ("dim", "P"), ("dim", "P"))
    assert size_of(sizes[5]) is not None and size_of(sizes[-1]) is None
