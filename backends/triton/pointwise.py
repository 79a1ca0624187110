"""How each scalar operation is spelled in Triton: one row each, for tiles and single numbers alike."""

from __future__ import annotations

from typing import NamedTuple

from attndsl.backends.text import ATOM, COMPARISON_LEVEL
from attndsl.ir import spec
from attndsl.ir.xdsl import Attribute, Operation, arith, f64, i1, index, math


class TritonSpelling(NamedTuple):
    """A template, `{0}` the first operand; how tightly it binds (operands that bind less are put in parentheses)."""

    template: str
    level: int = ATOM


def _infix(sign: str, level: int) -> TritonSpelling:
    return TritonSpelling(f"{{0}} {sign} {{1}}", level)


def _helper(name: str, operands: int) -> TritonSpelling:
    """A call of a function of helpers.py."""
    return TritonSpelling(f"{name}({', '.join(f'{{{n}}}' for n in range(operands))})")


TRITON_SPELLINGS: dict[type[Operation], TritonSpelling] = {
    arith.AddiOp: _infix("+", 6),
    arith.SubiOp: _infix("-", 6),
    arith.MuliOp: _infix("*", 7),
    arith.FloorDivSIOp: _helper("_floor_div", 2),
    spec.ModOp: _helper("_floor_mod", 2),
    arith.MinSIOp: TritonSpelling("tl.minimum({0}, {1})"),
    arith.MaxSIOp: TritonSpelling("tl.maximum({0}, {1})"),
    arith.AndIOp: _infix("&", 4),
    arith.OrIOp: _infix("|", 2),
    arith.XOrIOp: _infix("^", 3),
    arith.ShLIOp: _infix("<<", 5),
    arith.ShRSIOp: _infix(">>", 5),
    arith.SelectOp: TritonSpelling("tl.where({0}, {1}, {2})"),
    arith.AddfOp: _infix("+", 6),
    arith.SubfOp: _infix("-", 6),
    arith.MulfOp: _infix("*", 7),
    arith.DivfOp: _infix("/", 7),
    arith.NegfOp: TritonSpelling("-{0}", 8),
    arith.ExtFOp: TritonSpelling("tl.cast({0}, tl.float64)"),
    arith.MinimumfOp: _helper("_smaller", 2),
    arith.MaximumfOp: _helper("_larger", 2),
    math.AbsFOp: TritonSpelling("tl.abs({0})"),
    math.ExpOp: TritonSpelling("tl.exp({0})"),
    math.Exp2Op: TritonSpelling("tl.exp2({0})"),
    math.LogOp: TritonSpelling("tl.log({0})"),
    math.Log2Op: TritonSpelling("tl.log2({0})"),
    math.SqrtOp: TritonSpelling("tl.sqrt({0})"),
    math.RsqrtOp: TritonSpelling("tl.rsqrt({0})"),
    math.SinOp: TritonSpelling("tl.sin({0})"),
    math.CosOp: TritonSpelling("tl.cos({0})"),
    math.TanOp: _helper("_tan", 1),
    math.TanhOp: _helper("_tanh", 1),
    math.ErfOp: TritonSpelling("tl.erf({0})"),
    math.FloorOp: TritonSpelling("tl.floor({0})"),
}

TRITON_REDUCTIONS: dict[type[Operation], TritonSpelling] = {
    arith.AddfOp: TritonSpelling("tl.sum({0}, {axis})"),
    arith.AddiOp: TritonSpelling("tl.sum({0}.to(tl.int64), {axis})"),
    # What is computed of these per program is no tile: it may have 64 bits.
    arith.MaxSIOp: TritonSpelling("tl.max({0}, {axis}).to(tl.int64)"),
    arith.MinSIOp: TritonSpelling("tl.min({0}, {axis}).to(tl.int64)"),
    # Unlike tl.max and tl.min, these keep NaN.
    arith.MaximumfOp: TritonSpelling("tl.reduce({0}, {axis}, _larger)"),
    arith.MinimumfOp: TritonSpelling("tl.reduce({0}, {axis}, _smaller)"),
    arith.AndIOp: TritonSpelling("tl.min({0}.to(tl.int32), {axis}) > 0", COMPARISON_LEVEL),
}
"""Reductions of a tile along an axis, by the operation that combines two partial results."""

TRUNCATING: dict[type[Operation], TritonSpelling] = {
    arith.FloorDivSIOp: _infix("//", 7),
    spec.ModOp: _infix("%", 7),
}
"""Triton rounds quotients to 0, which is the same as down where neither operand is negative."""


def scalar_type(type_: Attribute) -> str:
    """What Triton calls the type of a number."""
    return "int64" if type_ == index else "int1" if type_ == i1 else "float64" if type_ == f64 else "float32"
