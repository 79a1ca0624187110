"""Integers of the IR that are made of dims and parameters, as the expressions that extents are. An analysis."""

from __future__ import annotations

from attndsl.checking.symbolic import Expression, leaves
from attndsl.ir import spec
from attndsl.ir.meaning import PREDICATES, predicate
from attndsl.ir.ranges import Ranges
from attndsl.ir.rewrite import constant
from attndsl.ir.xdsl import Operation, SSAValue, arith, i1

ARITHMETIC: dict[type[Operation], str] = {
    arith.AddiOp: "iadd",
    arith.SubiOp: "isub",
    arith.MuliOp: "imul",
    arith.FloorDivSIOp: "idiv",
    spec.ModOp: "imod",
    arith.MinSIOp: "imin",
    arith.MaxSIOp: "imax",
}
"""The operations that sizes are made by, each as a row of `attndsl.checking.operators`."""

OPERATORS: dict[type[Operation], str] = {
    **ARITHMETIC,
    arith.AndIOp: "iand",
    arith.OrIOp: "ior",
    arith.XOrIOp: "ixor",
    arith.ShLIOp: "ishl",
    arith.ShRSIOp: "ishr",
    arith.SelectOp: "iselect",
}
"""All operations that give an integer and have such a row; `and` and `or` are the bits of truth values, too."""

MOST_OPERATORS = 128
"""In the largest expression of a value: values share operands, and an expression repeats them."""


def operator_of(op: Operation) -> str:
    """The operator of `attndsl.checking.operators` that an operation on integers is."""
    return PREDICATES[predicate(op)] if isinstance(op, arith.CmpiOp) else OPERATORS[type(op)]


def leaf_of(value: SSAValue) -> Expression | None:
    """The dim, parameter, choice or number that a value is."""
    match value.owner:
        case spec.DimOp() as op:
            return ("dim", op.dim.data)
        case spec.ParamOp() as op:
            return ("param", op.param.data)
        case spec.ChoiceOp() as op:
            return ("choice", op.choice.data)
    return constant(value)


def size_of(value: SSAValue) -> Expression | None:
    """An integer as an expression of dims and parameters.

    None where that is large, may leave 64 bits, or is more than arithmetic on these.
    """
    found = _sized(value, Ranges())
    return found[0] if found is not None else None


def expression_of(value: SSAValue, most: int = 1000) -> Expression | None:
    """An integer or condition as an expression of dims and parameters, of any operators; it may leave 64 bits and wrap.

    None where it would have more than so many operators, or is made of anything else.
    """
    op = value.owner
    if (leaf := leaf_of(value)) is not None:
        return None if isinstance(op, spec.ChoiceOp) else leaf
    if not isinstance(op, Operation) or type(op) not in {*OPERATORS, arith.CmpiOp} or most < 1:
        return None
    operands = []
    for operand in op.operands:
        found = expression_of(operand, most - 1)
        if found is None:
            return None
        most -= sum(1 for _ in leaves(found))
        operands.append(found)
    return (_operator(op), *operands)


def _operator(op: Operation) -> str:
    """The operator of an operation on integers or on truth values."""
    if op.operands[-1].type != i1:
        return operator_of(op)
    of_truth = {"iand": "and", "ior": "or", "ixor": "bne", "ieq": "beq", "ine": "bne", "iselect": "bselect"}
    return of_truth[operator_of(op)]


def is_same_size(left: SSAValue, right: SSAValue) -> bool:
    """Whether two integers are one, or are written as the same expression."""
    return left is right or (size_of(left) is not None and size_of(left) == size_of(right))


def _sized(value: SSAValue, ranges: Ranges) -> tuple[Expression, int] | None:
    """The expression, and how many operators it has."""
    op = value.owner
    if (leaf := leaf_of(value)) is not None:
        return None if isinstance(op, spec.ChoiceOp) else (leaf, 0)
    if not isinstance(op, Operation) or type(op) not in ARITHMETIC:
        return None
    operands, size = [], 1
    for operand in op.operands:
        found = _sized(operand, ranges)
        if found is None:
            return None
        operands.append(found[0])
        size += found[1]
    return ((ARITHMETIC[type(op)], *operands), size) if size <= MOST_OPERATORS and ranges.fits(value) else None


def known_limit(extent: SSAValue) -> SSAValue | None:
    """An extent, or what it is the smaller of, that is of dims and parameters alone; None where there is none.

    Of an extent that is at least 0 it may be less, where there is nothing.
    """
    if size_of(extent) is not None:
        return extent
    if isinstance(extent.owner, arith.MaxSIOp) and constant(extent.owner.rhs) == 0:
        return known_limit(extent.owner.lhs)
    if isinstance(extent.owner, arith.MinSIOp):
        return next((found for v in extent.owner.operands if (found := known_limit(v)) is not None), None)
    return None
