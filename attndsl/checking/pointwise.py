"""Operators and functions that work element by element: their typing, their promotion, their broadcasting."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attndsl import diagnostics as errors
from attndsl.checking.context import Context
from attndsl.checking.operators import OPERATORS
from attndsl.checking.text import expression_text
from attndsl.checking.typed import Constant, Expr, Kind
from attndsl.checking.values import Value
from attndsl.syntax import operands
from attndsl.syntax.source import Span

FUNCTIONS = tuple(name for name, row in OPERATORS.items() if row.curve is not None)
"""The functions of one real number that give one; an integer argument is promoted."""

_REAL = {"+": "fadd", "-": "fsub", "*": "fmul", "/": "fdiv", "minimum": "fmin", "maximum": "fmax"}
_BITS = {"&": "iand", "|": "ior", "^": "ixor", "<<": "ishl", ">>": "ishr"}
_COMPARED = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}


class Pointwise:
    """Applies operators to values; None where an error has been reported."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._graph = context.graph

    def arithmetic(self, operator: str, left: Value, right: Value, span: Span, spans: Sequence[Span]) -> Value | None:
        """`+ - * / %`, `minimum` and `maximum`: integers give an integer, anything with a real number gives one."""
        if not self.numbers(operator, (left, right), spans):
            return None
        if left.kind is Kind.INT and right.kind is Kind.INT:
            if operator in "/%" and self._is_zero(right):
                return self._context.report(errors.types.DivisionByZero(span, operator=operator))
            return self.combine((left, right), Kind.INT, lambda x: self._integers(operator, x[0], x[1], span), span)
        if operator == "%":
            return self._context.report(errors.types.RealModulo(span))
        name = _REAL[operator]
        return self._reals(name, (left, right), span)

    def bits(self, operator: str, left: Value, right: Value, span: Span, spans: Sequence[Span]) -> Value | None:
        """`& | ^ << >>` on integers."""
        for value, place in zip((left, right), spans, strict=True):
            if value.kind is not Kind.INT:
                got = value.describe()
                if value.kind is Kind.BOOL and operator in "&|^":
                    word = {"&": "and", "|": "or", "^": "!="}[operator]
                    return self._context.report(errors.types.BitsOfBool(place, operator=operator, got=got, word=word))
                text = self._context.source.text
                at = text.index(operator, spans[0].end)
                around = operands.before(text, at), operands.after(text, at + len(operator))
                return self._context.report(
                    errors.types.BitsOfReal(place, operator=operator, got=got, left=around[0], right=around[1])
                )
        name = _BITS[operator]
        return self.combine((left, right), Kind.INT, lambda x: self._graph.apply(name, x, span), span)

    def compare(self, operator: str, left: Value, right: Value, span: Span) -> Value | None:
        """`== != < <= > >=`: two numbers, or two truth values for equality."""
        suffix = _COMPARED[operator]
        if left.kind is Kind.BOOL or right.kind is Kind.BOOL:
            if left.kind is not right.kind or suffix not in ("eq", "ne"):
                return self._context.report(
                    errors.types.Incomparable(span, operator=operator, left=left.describe(), right=right.describe())
                )
            return self.combine((left, right), Kind.BOOL, lambda x: self._graph.apply("b" + suffix, x, span), span)
        if left.kind is Kind.INT and right.kind is Kind.INT:
            return self.combine((left, right), Kind.BOOL, lambda x: self._graph.apply("i" + suffix, x, span), span)
        return self._reals("f" + suffix, (left, right), span, Kind.BOOL)

    def logic(self, operator: str, operands: Sequence[Value], span: Span, spans: Sequence[Span]) -> Value | None:
        """`and`, `or`, `not` of truth values."""
        for value, place in zip(operands, spans, strict=True):
            if value.kind is not Kind.BOOL:
                return self._context.report(errors.types.NotBool(place, place=f"`{operator}`", got=value.describe()))
        return self.combine(operands, Kind.BOOL, lambda x: self._graph.apply(operator, x, span), span)

    def sign(self, operator: str, operand: Value, span: Span) -> Value | None:
        """`-x` and `+x`."""
        if not self.numbers(operator, (operand,), (span,)):
            return None
        if operator == "+":
            return operand
        if operand.kind is Kind.INT:
            return self.combine((operand,), Kind.INT, lambda x: self._context.arithmetic.negate(x[0], span), span)
        return self.combine((operand,), Kind.FLOAT, lambda x: self._negate_real(x[0], span), span)

    def select(self, condition: Value, then: Value, otherwise: Value, span: Span, place: Span) -> Value | None:
        """`if condition then … else …`; `place` is the condition."""
        if condition.kind is not Kind.BOOL:
            return self._context.report(errors.types.NotBool(place, place="`if`", got=condition.describe()))
        kinds = {then.kind, otherwise.kind}
        if len(kinds) == 2 and Kind.BOOL in kinds:
            return self._context.report(
                errors.types.BranchesDiffer(span, then=then.describe(), other=otherwise.describe())
            )
        kind = then.kind if len(kinds) == 1 else Kind.FLOAT
        name = {Kind.INT: "iselect", Kind.FLOAT: "fselect", Kind.BOOL: "bselect"}[kind]

        def make(x: tuple[Expr, ...]) -> Expr:
            branches = (self._graph.real(e) for e in x[1:]) if kind is Kind.FLOAT else x[1:]
            return self._graph.apply(name, (x[0], *branches), span)

        return self.combine((condition, then, otherwise), kind, make, span)

    def function(self, name: str, operand: Value, span: Span, place: Span) -> Value | None:
        """`sqrt(x)`, `abs(x)`, `f32(x)` and their like."""
        if not self.numbers(f"{name}()", (operand,), (place,)):
            return None
        if name == "f32":
            return self.combine((operand,), Kind.FLOAT, lambda x: self._graph.real(x[0]), span)
        if name == "abs" and operand.kind is Kind.INT:
            return self.combine((operand,), Kind.INT, lambda x: self._graph.apply("iabs", x, span), span)
        return self._reals("fabs" if name == "abs" else name, (operand,), span)

    def of_ints(self, name: str, values: Sequence[Value], span: Span, spans: Sequence[Span]) -> Value | None:
        """`random(seed, offset)`: a function of ints that gives a float."""
        for value, place in zip(values, spans, strict=True):
            if value.kind is not Kind.INT:
                error = errors.types.WrongKind(place, place=f"what {name}() takes", wanted="int", got=value.describe())
                return self._context.report(error)
        return self.combine(values, Kind.FLOAT, lambda x: self._graph.apply(name, x, span), span)

    def times(self, left: Expr, right: Expr, span: Span) -> Expr:
        """The product of two numbers."""
        if left.kind is Kind.INT and right.kind is Kind.INT:
            return self._context.arithmetic.multiply(left, right, span)
        return self._graph.apply("fmul", (self._graph.real(left), self._graph.real(right)), span)

    def numbers(self, operator: str, values: Sequence[Value], spans: Sequence[Span]) -> bool:
        """Whether all values are numbers; reports the first that is none."""
        for value, place in zip(values, spans, strict=True):
            if value.kind is Kind.BOOL:
                self._context.report(errors.types.NotNumber(place, operator=operator, got=value.describe()))
                return False
        return True

    def combine(
        self, values: Sequence[Value], kind: Kind, make: Callable[[tuple[Expr, ...]], Expr], span: Span
    ) -> Value | None:
        """`make` on each element: scalars go with vectors, vectors with vectors of the same axes."""
        axes: tuple[Expr, ...] = ()
        for value in values:
            if axes and value.axes and value.axes != axes:
                left, right = axes_text(axes), axes_text(value.axes)
                return self._context.report(errors.shapes.AxesDiffer(span, left=left, right=right))
            axes = axes or value.axes
        if not axes:
            return Value.scalar(make(tuple(value.expr for value in values)))
        return Value(kind, axes, lambda indices: make(tuple(value.at(indices) for value in values)))

    def _reals(self, name: str, values: Sequence[Value], span: Span, kind: Kind = Kind.FLOAT) -> Value | None:
        return self.combine(
            values, kind, lambda x: self._graph.apply(name, tuple(self._graph.real(e) for e in x), span), span
        )

    def _integers(self, operator: str, left: Expr, right: Expr, span: Span) -> Expr:
        simplify = self._context.arithmetic
        match operator:
            case "+":
                return simplify.add(left, right, span)
            case "-":
                return simplify.add(left, right, span, -1)
            case "*":
                return simplify.multiply(left, right, span)
            case "/":
                return simplify.divide(left, right, span)
            case "%":
                return simplify.modulo(left, right, span)
        if left is right:
            return left
        return self._graph.apply("imin" if operator == "minimum" else "imax", (left, right), span)

    def _negate_real(self, operand: Expr, span: Span) -> Expr:
        if isinstance(operand, Constant):
            return self._graph.constant(-operand.value, span)
        return self._graph.apply("fneg", (operand,), span)

    def _is_zero(self, value: Value) -> bool:
        return not value.axes and isinstance(value.expr, Constant) and value.expr.value == 0


def axes_text(axes: tuple[Expr, ...]) -> str:
    """The extents of a vector as a message shows them."""
    if not axes:
        return "no axes"
    return f"axes [{', '.join(map(expression_text, axes))}]"
