"""Whatever is computed of integers lies in the range that is claimed for it, and fits 64 bits where that is claimed."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from attndsl.checking.numbers import LARGEST_SIZE
from attndsl.ir import attn, spec
from attndsl.ir.ranges import INT64, Ranges
from attndsl.ir.rewrite import index_constant
from attndsl.ir.xdsl import Block, Operation, SSAValue, arith, index

MEANINGS: dict[type[Any], Callable[[int, int], int]] = {
    arith.AddiOp: lambda a, b: a + b,
    arith.SubiOp: lambda a, b: a - b,
    arith.MuliOp: lambda a, b: a * b,
    arith.FloorDivSIOp: lambda a, b: a // b if b else 0,
    spec.ModOp: lambda a, b: a % b if b else 0,
    arith.MinSIOp: min,
    arith.MaxSIOp: max,
    arith.AndIOp: lambda a, b: a & b,
    arith.OrIOp: lambda a, b: a | b,
    arith.XOrIOp: lambda a, b: a ^ b,
    arith.ShLIOp: lambda a, b: a << (b % 64),
    arith.ShRSIOp: lambda a, b: a >> (b % 64),
}
"""What operations compute of integers without bounds; distances are brought into range before they shift."""

TENSORS = {"i8": (-128, 127), "u8": (0, 255), "i32": (-(2**31), 2**31 - 1), "i64": (-(2**63), 2**63 - 1)}


def leaves(block: Block) -> dict[SSAValue, tuple[int, int]]:
    """Integers of every kind, and between what they lie."""
    zero = index_constant(0)
    block.add_op(zero)
    found: dict[SSAValue, tuple[int, int]] = {zero.result: (0, 0)}

    def add(op: Operation, low: int, high: int) -> None:
        block.add_op(op)
        found[op.results[0]] = low, high

    for number in (1, -1, 3, 63, 2**31, 2**62 + 1, 2**63 - 1, -(2**63)):
        add(index_constant(number), number, number)
    for element, (low, high) in TENSORS.items():
        add(attn.ReadOp(element, [], None, index), low, high)
    add(spec.DimOp("N"), 0, LARGEST_SIZE)
    add(spec.ParamOp("p", index), -(2**62), 2**62)
    return found


@pytest.mark.parametrize("kind", MEANINGS, ids=lambda kind: kind.name)
def test_results_lie_in_their_range(kind: type[Any]) -> None:
    rng = random.Random(kind.name)
    block = Block()
    known = leaves(block)
    ranges = Ranges({element: element for element in TENSORS})
    for first, (a0, a1) in known.items():
        for second, (b0, b1) in known.items():
            if kind in (arith.ShLIOp, arith.ShRSIOp) and not 0 <= b0 <= b1 < 64:
                continue
            op = kind(first, second)
            block.add_op(op)
            low, high = ranges(op.results[0])
            if kind is arith.MuliOp and isinstance(first.owner, spec.DimOp) and isinstance(second.owner, spec.DimOp):
                continue  # sizes are taken to fit
            for _ in range(20):
                a, b = (
                    rng.choice((x, y, rng.randint(x, y), max(x, min(y, rng.randint(-9, 9)))))
                    for x, y in ((a0, a1), (b0, b1))
                )
                exact = MEANINGS[kind](a, b)
                if ranges.fits(op.results[0]):
                    assert low <= exact <= high, (kind.name, a, b)
                else:
                    assert (low, high) == INT64


def test_what_is_made_of_sizes_fits_and_what_is_made_of_numbers_may_not() -> None:
    block = Block()
    n, large = spec.DimOp("N"), index_constant(2**62)
    square, scaled = arith.MuliOp(n.result, n.result), arith.MuliOp(n.result, large.result)
    block.add_ops([n, large, square, scaled])
    assert Ranges().fits(square.result)
    assert not Ranges().fits(scaled.result)


@pytest.mark.parametrize(
    ("relation", "least", "turned", "wanted"),
    [
        ("sgt", 0, False, 1),
        ("slt", 0, True, 1),
        ("sgt", 7, False, 1),
        ("sgt", -1, False, -(2**62)),
        ("sge", 0, False, -(2**62)),
        ("slt", 0, False, -(2**62)),
    ],
)
def test_a_spec_may_require_that_a_parameter_is_above_0(relation: str, least: int, turned: bool, wanted: int) -> None:
    block = Block()
    p, number = spec.ParamOp("p", index), index_constant(least)
    sides = (number.result, p.result) if turned else (p.result, number.result)
    test = arith.CmpiOp(*sides, relation)
    block.add_ops([p, number, test])
    assert Ranges()(p.result) == (-(2**62), 2**62)
    block.add_op(spec.AssumeOp(test.result))
    assert Ranges()(p.result) == (wanted, 2**62)
