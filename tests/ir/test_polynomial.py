"""Whatever is proved of integers holds: all values of small kernels are tried. The compiler's soundness rests on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attndsl.ir import attn, spec
from attndsl.ir.materialise import materialise
from attndsl.ir.meaning import COMPARISONS, POINTWISE, predicate
from attndsl.ir.polynomial import Facts, Polynomial, add, number
from attndsl.ir.rewrite import constant, index_constant
from attndsl.ir.xdsl import Block, Operation, SSAValue, arith
from attndsl.passes.simplify_indices import _at_least_zero

Draw = Callable[[st.SearchStrategy[Any]], Any]
Values = dict[SSAValue, int]

ARITHMETIC: list[Callable[[SSAValue, SSAValue], Operation]] = [
    arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.FloorDivSIOp, spec.ModOp, arith.MinSIOp, arith.MaxSIOp,
]  # fmt: skip


class Kernel:
    """Integers of a kernel: dims, constants, what is assumed of them, index variables, and what is computed."""

    def __init__(self) -> None:
        self.block = Block()
        self.integers = [self.add(spec.DimOp(name)) for name in ("A", "B")]

    def add(self, op: Operation) -> SSAValue:
        self.block.add_op(op)
        return op.results[0]

    def number(self, value: int) -> SSAValue:
        return self.add(index_constant(value))

    def assume(self, condition: SSAValue) -> None:
        self.block.add_op(spec.AssumeOp(condition))

    def divides(self, value: SSAValue, divisor: SSAValue) -> SSAValue:
        """Assumes that the divisor divides the value; gives the quotient."""
        zero = self.number(0)
        self.assume(self.add(arith.CmpiOp(divisor, zero, "ne")))
        self.assume(self.add(arith.CmpiOp(self.add(spec.ModOp(value, divisor)), zero, "eq")))
        return self.add(arith.FloorDivSIOp(value, divisor))

    def values(self, dims: dict[str, int], limit: int = 60) -> Iterator[Values]:
        """The values of all integers, for each combination of values that the index variables have."""
        left = limit

        def run(ops: list[Operation], known: Values) -> Iterator[Values]:
            nonlocal left
            for position, op in enumerate(ops):
                match op:
                    case attn.IndexOp():
                        for value in range(known[op.extent]):
                            if left > 0:
                                yield from run(ops[position + 1 :], {**known, op.result: value})
                        return
                    case spec.AssumeOp():
                        if not known[op.condition]:
                            return
                    case spec.DimOp():
                        known[op.result] = dims[op.dim.data]
                    case arith.ConstantOp():
                        known[op.result] = int(constant(op.result) or 0)
                    case _:
                        operands = [known[v] for v in op.operands]
                        if isinstance(op, (arith.FloorDivSIOp, spec.ModOp)) and operands[1] == 0:
                            return
                        rule = COMPARISONS[predicate(op)] if isinstance(op, arith.CmpiOp) else POINTWISE[type(op)]
                        known[op.results[0]] = int(rule(*operands))
            left -= 1
            yield known

        yield from run(list(self.block.ops), {})

    def all_values(self) -> list[Values]:
        return [v for a in range(5) for b in range(4) for v in self.values({"A": a, "B": b})]


@st.composite
def kernels(draw: Draw) -> Kernel:
    kernel = Kernel()

    def pick() -> SSAValue:
        value: SSAValue = draw(st.sampled_from(kernel.integers))
        return value

    for _ in range(draw(st.integers(0, 2))):
        divisor = draw(st.sampled_from([*kernel.integers, kernel.number(2), kernel.number(3)]))
        quotient = kernel.divides(pick(), divisor)
        kernel.integers.append(quotient)
        if draw(st.booleans()):
            kernel.assume(kernel.add(arith.CmpiOp(quotient, kernel.number(0), draw(st.sampled_from(["ne", "sgt"])))))
    for count in range(draw(st.integers(3, 11))):
        if draw(st.integers(0, 2)) == 0:
            op = draw(st.sampled_from([attn.EachOp, attn.AxisOp, attn.RowOp]))
            kernel.integers.append(kernel.add(op(f"v{count}", pick())))
        else:
            small = kernel.number(draw(st.sampled_from([-1, 0, 1, 2, 3])))
            right = draw(st.sampled_from([pick(), pick(), small]))
            kernel.integers.append(kernel.add(draw(st.sampled_from(ARITHMETIC))(pick(), right)))
    return kernel


@st.composite
def claims(draw: Draw, kernel: Kernel, facts: Facts) -> Polynomial:
    """A polynomial that may or may not be at least 0: sums of what is and of distances to the ends of ranges."""
    claim = number(draw(st.sampled_from([-1, 0, 0, 0, 1])))
    for _ in range(draw(st.integers(1, 3))):
        value = draw(st.sampled_from(kernel.integers))
        term = facts.of(value)
        if isinstance(value.owner, attn.IndexOp) and draw(st.booleans()):
            term = add(add(facts.of(value.owner.extent), number(1), -1), term, -1)
        if draw(st.booleans()):
            term = facts.multiply(term, facts.of(draw(st.sampled_from(kernel.integers))))
        claim = add(claim, term, draw(st.sampled_from([1, 1, 1, 2, -1])))
    return claim


def evaluate(polynomial: Polynomial, values: Values) -> int:
    total = 0
    for monomial, coefficient in polynomial.items():
        for factor in monomial:
            coefficient *= values[factor]
        total += coefficient
    return total


@settings(max_examples=120, deadline=None)
@given(st.data())
def test_what_is_proved_holds(data: st.DataObject) -> None:
    kernel = data.draw(kernels())
    facts = Facts(kernel.block)
    proved = [claim for _ in range(6) if _at_least_zero(claim := data.draw(claims(kernel, facts)), facts)]
    positive = [value for value in kernel.integers if facts.positive(value)]
    for values in kernel.all_values():
        assert all(evaluate(claim, values) >= 0 for claim in proved)
        assert all(values[value] >= 1 for value in positive)


@settings(max_examples=60, deadline=None)
@given(kernels())
def test_a_polynomial_is_its_value(kernel: Kernel) -> None:
    facts = Facts(kernel.block)
    found = {value: facts.of(value) for value in kernel.integers}
    parts = [
        (value, divisor, *facts.divide(found[value], divisor))
        for value in kernel.integers
        for divisor in kernel.integers
        if facts.positive(divisor)
    ]
    end = spec.AssumeOp(kernel.add(arith.CmpiOp(kernel.number(0), kernel.number(0), "eq")))
    kernel.block.add_op(end)
    again = {value: materialise(polynomial, end) for value, polynomial in found.items()}
    for values in kernel.all_values():
        for value, polynomial in found.items():
            assert evaluate(polynomial, values) == values[value] == values[again[value]]
        for value, divisor, quotient, rest in parts:
            assert evaluate(quotient, values) * values[divisor] + evaluate(rest, values) == values[value]


@pytest.fixture
def heads() -> tuple[Facts, dict[str, SSAValue]]:
    """H heads in G groups: h runs to H, g = h / (H / G)."""
    kernel = Kernel()
    total, groups = kernel.integers
    size = kernel.divides(total, groups)
    kernel.assume(kernel.add(arith.CmpiOp(size, kernel.number(0), "ne")))
    head = kernel.add(attn.EachOp("h", total))
    group = kernel.add(arith.FloorDivSIOp(head, size))
    names = {"H": total, "G": groups, "size": size, "h": head, "g": group}
    return Facts(kernel.block), names


def test_what_index_maps_need_is_proved(heads: tuple[Facts, dict[str, SSAValue]]) -> None:
    facts, names = heads
    h, g, total, groups, size = (facts.of(names[n]) for n in ("h", "g", "H", "G", "size"))
    one = number(1)
    assert facts.multiply(groups, size) == total  # G * (H / G) is H, as the remainder is 0
    assert facts.nonnegative(h)
    assert facts.nonnegative(add(add(total, one, -1), h, -1))
    assert facts.nonnegative(g)
    assert facts.nonnegative(add(add(groups, one, -1), g, -1))
    assert facts.positive(names["size"])
    assert not facts.nonnegative(add(add(groups, number(2), -1), g, -1))
    assert not facts.nonnegative(add(h, one, -1))
    assert not facts.nonnegative(add(total, groups, -1))


def test_blocks_of_a_dim_are_whole_where_one_that_they_divide_is_required() -> None:
    kernel = Kernel()
    dim, other = kernel.integers
    four = kernel.number(4)
    kernel.divides(dim, kernel.number(12))
    kernel.divides(other, kernel.number(6))
    i = kernel.add(attn.EachOp("i", dim))
    blocks, block, others = (kernel.add(arith.FloorDivSIOp(value, four)) for value in (dim, i, other))
    facts = Facts(kernel.block)
    assert facts.multiply(facts.of(blocks), number(4)) == facts.of(dim)
    assert facts.multiply(facts.of(blocks), number(-8)) == add({}, facts.of(dim), -2)
    assert _at_least_zero(add(add(facts.of(blocks), facts.of(block), -1), number(-1)), facts)
    assert facts.multiply(facts.of(others), number(4)) != facts.of(other)
    assert facts.multiply(facts.of(blocks), number(2)) != facts.of(dim)


def test_a_search_for_a_proof_ends() -> None:
    """Thirty variables with two bounds each: more orders to bound them away in than could be tried."""
    kernel = Kernel()
    slack = number(-1)
    facts = Facts(kernel.block)
    for count in range(30):
        bound = kernel.add(arith.MinSIOp(kernel.integers[0], kernel.integers[1]))
        variable = kernel.add(attn.EachOp(f"v{count}", bound))
        slack = add(slack, facts.of(variable), -1)
    assert not facts.nonnegative(slack)


def test_what_is_assumed_of_0_is_known_on_either_side() -> None:
    kernel = Kernel()
    (a, b), zero = kernel.integers, kernel.number(0)
    kernel.assume(kernel.add(arith.CmpiOp(zero, b, "slt")))
    kernel.assume(kernel.add(arith.CmpiOp(zero, kernel.add(spec.ModOp(a, b)), "eq")))
    even = kernel.add(arith.FloorDivSIOp(a, b))
    facts = Facts(kernel.block)
    assert facts.positive(b)
    assert facts.multiply(facts.of(even), facts.of(b)) == facts.of(a)


def test_what_does_not_hold_is_not_proved() -> None:
    kernel = Kernel()
    a, b = kernel.integers
    zero, two, three = kernel.number(0), kernel.number(2), kernel.number(3)
    i = kernel.add(attn.EachOp("i", a))
    k = kernel.add(attn.EachOp("k", b))
    difference = kernel.add(arith.SubiOp(a, b))
    atom = kernel.add(arith.MinSIOp(difference, three))  # may be negative
    rest = kernel.add(spec.ModOp(i, atom))
    kernel.assume(kernel.add(arith.CmpiOp(kernel.add(spec.ModOp(a, b)), zero, "ne")))
    kernel.assume(kernel.add(arith.CmpiOp(difference, zero, "ne")))
    half = kernel.add(arith.FloorDivSIOp(a, two))
    uneven = kernel.add(arith.FloorDivSIOp(a, b))
    before = kernel.add(arith.SubiOp(i, b))
    facts = Facts(kernel.block)
    one = number(1)

    def of(value: SSAValue, factor: int = 1) -> Polynomial:
        return add({}, facts.of(value), factor)

    assert not facts.nonnegative(add(add(of(atom), one, -1), of(rest), -1))  # i % -2 is above -2 - 1
    assert not facts.nonnegative(of(rest))
    assert facts.multiply(of(uneven), of(b)) != of(a)  # 3 / 2 * 2 is not 3
    assert not facts.positive(difference)  # it is not 0, but may be negative
    assert not facts.nonnegative(of(kernel.add(arith.MaxSIOp(before, atom))))
    assert not facts.nonnegative(of(kernel.add(arith.MinSIOp(i, before))))
    assert not facts.nonnegative(of(kernel.add(arith.FloorDivSIOp(before, two))))
    assert not facts.nonnegative(of(kernel.add(arith.FloorDivSIOp(i, atom))))
    assert not facts.nonnegative(add(of(i), add(of(a), one, -1), -1))  # i is its largest
    assert not facts.nonnegative(add(facts.multiply(of(a), of(rest)), facts.multiply(of(k), of(rest)), -1))
    assert not facts.nonnegative(
        add(facts.multiply(add(of(b), one, -1), of(atom)), facts.multiply(of(k), of(atom)), -1)
    )
    quotient, left = facts.divide(of(i, 3), two)
    assert (quotient, left) == ({}, of(i, 3))  # 3 * i / 2 is not i
    third = kernel.add(arith.FloorDivSIOp(i, three))
    assert not facts.nonnegative(add(add(of(half), one, -1), of(third), -1))  # 0 - 1 - 0
