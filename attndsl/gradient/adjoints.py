"""What each pointwise operator gives back to its operands: a row for each of `attndsl.checking.operators.OPERATORS`.

For r = f(x, …) and the adjoint g of r, the derivative of what is differentiated by r, an operand's adjoint is g times
the derivative of f by it. At a kink it is what PyTorch has: 0 for `abs` and `relu` at 0, half to each of two equal
numbers for `minimum` and `maximum`. What is a step, an int or a truth value has none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from attndsl.checking.typed import Expr
from attndsl.gradient.algebra import Algebra
from attndsl.gradient.presence import conditions


class Adjoint(NamedTuple):
    """A number where a condition holds, else 0; what it is made of need be no number there."""

    value: Expr
    where: Expr | None = None


Rule = Callable[[Algebra, Sequence[Expr], Expr, Expr], Sequence[Adjoint | None]]
"""Of an algebra, the operands, the result and its adjoint: the adjoint of each operand, None where there is none."""


def _nothing(a: Algebra, x: Sequence[Expr], r: Expr, g: Expr) -> Sequence[Adjoint | None]:
    return [None] * len(x)


def _zero_like(a: Algebra, g: Expr) -> Expr:
    """0, but absent where an adjoint is: what it then multiplies need be no number."""
    zero = a.number(0.0)
    return a.apply("fselect", a.apply("feq", g, g), zero, zero) if conditions(g) else zero


def _curve(slope: Callable[[Algebra, Expr, Expr], Expr]) -> Rule:
    """The rule of a function of one number with this slope at x, where it is r."""

    def rule(a: Algebra, x: Sequence[Expr], r: Expr, g: Expr) -> Sequence[Adjoint | None]:
        return [Adjoint(a.multiply(g, slope(a, x[0], r)))]

    return rule


def _divide(a: Algebra, x: Sequence[Expr], r: Expr, g: Expr) -> Sequence[Adjoint | None]:
    part = a.divide(g, x[1])
    return [Adjoint(part), Adjoint(a.negate(a.multiply(part, r)))]


def _select(a: Algebra, x: Sequence[Expr], r: Expr, g: Expr) -> Sequence[Adjoint | None]:
    return [None, Adjoint(g, x[0]), Adjoint(g, a.apply("not", x[0]))]


def _extreme(first: str) -> Rule:
    """The rule of what takes one of two numbers: the first where `first` compares them so."""

    def rule(a: Algebra, x: Sequence[Expr], r: Expr, g: Expr) -> Sequence[Adjoint | None]:
        half = a.multiply(g, a.where(a.apply("feq", *x), a.number(0.5)))

        def share(one: Expr, other: Expr) -> Adjoint:
            return Adjoint(a.apply("fselect", a.apply(first, one, other), g, half))

        return [share(x[0], x[1]), share(x[1], x[0])]

    return rule


def _absolute(a: Algebra, x: Sequence[Expr], r: Expr, g: Expr) -> Sequence[Adjoint | None]:
    zero = a.number(0.0)
    below = a.apply("fselect", a.apply("flt", x[0], zero), a.negate(g), _zero_like(a, g))
    return [Adjoint(a.apply("fselect", a.apply("fgt", x[0], zero), g, below))]


def _one_less_square(a: Algebra, r: Expr) -> Expr:
    return a.subtract(a.number(1.0), a.multiply(r, r))


ADJOINTS: dict[str, Rule] = {
    "fadd": lambda a, x, r, g: [Adjoint(g), Adjoint(g)],
    "fsub": lambda a, x, r, g: [Adjoint(g), Adjoint(a.negate(g))],
    "fmul": lambda a, x, r, g: [Adjoint(a.multiply(g, x[1])), Adjoint(a.multiply(g, x[0]))],
    "fdiv": _divide,
    "fneg": lambda a, x, r, g: [Adjoint(a.negate(g))],
    "fmin": _extreme("flt"),
    "fmax": _extreme("fgt"),
    "fabs": _absolute,
    "fselect": _select,
    "exp": _curve(lambda a, x, r: r),
    "exp2": _curve(lambda a, x, r: a.multiply(a.number(math.log(2)), r)),
    "log": lambda a, x, r, g: [Adjoint(a.divide(g, x[0]))],
    "log2": lambda a, x, r, g: [Adjoint(a.divide(a.multiply(a.number(1 / math.log(2)), g), x[0]))],
    "sqrt": lambda a, x, r, g: [Adjoint(a.divide(a.multiply(a.number(0.5), g), r))],
    "rsqrt": _curve(lambda a, x, r: a.multiply(a.number(-0.5), a.multiply(r, a.multiply(r, r)))),
    "sin": _curve(lambda a, x, r: a.apply("cos", x)),
    "cos": _curve(lambda a, x, r: a.negate(a.apply("sin", x))),
    "tan": _curve(lambda a, x, r: a.add(a.number(1.0), a.multiply(r, r))),
    "tanh": _curve(lambda a, x, r: _one_less_square(a, r)),
    "erf": _curve(
        lambda a, x, r: a.multiply(a.number(2 / math.sqrt(math.pi)), a.apply("exp", a.negate(a.multiply(x, x))))
    ),
    "sigmoid": _curve(lambda a, x, r: a.multiply(r, a.subtract(a.number(1.0), r))),
    "relu": lambda a, x, r, g: [Adjoint(a.apply("fselect", a.apply("fgt", x[0], a.number(0.0)), g, _zero_like(a, g)))],
    **dict.fromkeys(("floor", "random", "float"), _nothing),
    **dict.fromkeys(("feq", "fne", "flt", "fle", "fgt", "fge"), _nothing),
    **dict.fromkeys(("and", "or", "not", "beq", "bne", "bselect"), _nothing),
    **dict.fromkeys(("iadd", "isub", "imul", "idiv", "imod", "ineg", "imin", "imax", "iabs", "iselect"), _nothing),
    **dict.fromkeys(("iand", "ior", "ixor", "ishl", "ishr"), _nothing),
    **dict.fromkeys(("ieq", "ine", "ilt", "ile", "igt", "ige"), _nothing),
}
"""The rules by the operators' names."""
