"""Exponents of e as exponents of 2: x log2(e), whose factor joins what scales x already."""

from __future__ import annotations

import math

from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.rewrite import constant_op, insert_before
from attndsl.ir.xdsl import Operation, SSAValue, arith


def in_base_two(x: SSAValue, anchor: Operation) -> SSAValue:
    """x log2(e), before an operation: one product more of all axes of x, or none where its terms take the factor."""
    axes = AxesAnalysis()
    sums, terms = _terms(x) if takes_factor(x, axes) else ([], [x])
    scaled = {term: _scaled(term, anchor, axes) for term in dict.fromkeys(terms)}
    for op in reversed(sums):
        scaled[op.result] = insert_before(anchor, type(op)(scaled[op.lhs], scaled[op.rhs]), op.result.name_hint)
    return scaled[x]


def takes_factor(x: SSAValue, axes: AxesAnalysis) -> bool:
    """Whether a factor of x costs no product of all its axes: each term has fewer, or is scaled by what has fewer."""
    return all(axes(term) < axes(x) or _scale(term, axes) for term in _terms(x)[1])


def _terms(x: SSAValue) -> tuple[list[arith.AddfOp | arith.SubfOp], list[SSAValue]]:
    """The sums that x is, each before those that it adds, and the terms that they add; what is used twice is a term."""
    sums, terms, stack = [], [], [x]
    while stack:
        value = stack.pop()
        if isinstance(value.owner, arith.AddfOp | arith.SubfOp) and (value is x or value.has_one_use()):
            sums.append(value.owner)
            stack += value.owner.operands[::-1]
        else:
            terms.append(value)
    return sums, terms


def _scale(x: SSAValue, axes: AxesAnalysis) -> tuple[SSAValue, SSAValue] | None:
    """What is scaled and its factor or divisor, which has fewer axes, where x is such a product."""
    op = x.owner
    if not isinstance(op, arith.MulfOp | arith.DivfOp):
        return None
    sides = ((op.lhs, op.rhs), (op.rhs, op.lhs))[: 1 + isinstance(op, arith.MulfOp)]
    return next(((scaled, scale) for scaled, scale in sides if axes(scale) < axes(x)), None)


def _scaled(x: SSAValue, anchor: Operation, axes: AxesAnalysis) -> SSAValue:
    """x log2(e) of a term; what scales it takes the factor."""
    factor = insert_before(anchor, constant_op(math.log2(math.e), x.type))
    found = _scale(x, axes)
    if found is None:
        return insert_before(anchor, arith.MulfOp(x, factor), x.name_hint)
    value, by = found
    combine = arith.MulfOp if isinstance(x.owner, arith.MulfOp) else arith.DivfOp
    scale = insert_before(anchor, combine(factor, by), "scale")
    return insert_before(anchor, arith.MulfOp(value, scale), x.name_hint)
