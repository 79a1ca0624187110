"""Polynomials back to operations."""

from __future__ import annotations

from attndsl.checking.numbers import wrap
from attndsl.ir.polynomial import Polynomial
from attndsl.ir.rewrite import index_constant, insert_before
from attndsl.ir.xdsl import Operation, SSAValue, arith


def materialise(polynomial: Polynomial, anchor: Operation) -> SSAValue:
    """The value of a polynomial, computed before `anchor`; its atoms must be defined there.

    Coefficients wrap, as what is computed of them does.
    """
    total: SSAValue | None = None
    wrapped = {monomial: wrap(coefficient) for monomial, coefficient in polynomial.items() if wrap(coefficient)}
    # Positive terms first, so that the text reads `a - b`, not `-b + a`; and the constant last.
    for monomial, coefficient in sorted(wrapped.items(), key=lambda item: (item[1] < 0, not item[0])):
        term: SSAValue | None = None
        for factor in monomial:
            term = factor if term is None else insert_before(anchor, arith.MuliOp(term, factor))
        size = wrap(abs(coefficient))
        if term is None:
            term = insert_before(anchor, index_constant(size))
        elif size != 1:
            term = insert_before(anchor, arith.MuliOp(term, insert_before(anchor, index_constant(size))))
        if total is None and coefficient < 0:
            total = insert_before(anchor, index_constant(0))
        if total is None:
            total = term
        else:
            op = arith.SubiOp if coefficient < 0 else arith.AddiOp
            total = insert_before(anchor, op(total, term))
    return total if total is not None else insert_before(anchor, index_constant(0))
