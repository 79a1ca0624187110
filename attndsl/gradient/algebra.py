"""Expressions of a gradient, simplified as they are made: a factor of 1 and a term that is nothing leave no trace."""

from __future__ import annotations

from collections.abc import Mapping

from attndsl.checking.graph import Graph
from attndsl.checking.typed import (
    Apply,
    Constant,
    DimValue,
    Expr,
    Index,
    IndexValue,
    Kind,
    ParamValue,
    Read,
    Reduce,
    ReduceAxis,
    Tensor,
    operands,
    walk,
)
from attndsl.syntax.source import Span

NOWHERE = Span(0, 0)
"""What is made stands in no text yet."""


class Algebra:
    """Makes expressions of one graph, without places of a text."""

    def __init__(self) -> None:
        self.graph = Graph()

    def number(self, value: int | float | bool) -> Expr:
        """A number or truth value."""
        return self.graph.constant(value, NOWHERE)

    def index(self, index: Index) -> Expr:
        """The value of an index variable."""
        return self.graph.index(index, NOWHERE)

    def apply(self, operator: str, *arguments: Expr) -> Expr:
        """An operator of OPERATORS, as it stands."""
        return self.graph.apply(operator, arguments, NOWHERE)

    def add(self, left: Expr | None, right: Expr) -> Expr:
        """A sum, of which one term may be nothing."""
        return right if left is None else self.apply("fadd", left, right)

    def multiply(self, left: Expr, right: Expr) -> Expr:
        """A product."""
        if _is(left, 1.0):
            return right
        if _is(right, 1.0):
            return left
        if isinstance(left, Constant) and isinstance(right, Constant):
            return self.number(float(left.value) * float(right.value))
        for one, other in ((left, right), (right, left)):
            if isinstance(one, Apply) and one.operator == "fneg":
                return self.negate(
                    self.multiply(*((one.arguments[0], other) if one is left else (other, one.arguments[0])))
                )
        return self.apply("fmul", left, right)

    def divide(self, left: Expr, right: Expr) -> Expr:
        """A quotient."""
        if isinstance(left, Apply) and left.operator == "fneg":
            return self.negate(self.divide(left.arguments[0], right))
        return left if _is(right, 1.0) else self.apply("fdiv", left, right)

    def negate(self, expr: Expr) -> Expr:
        """A number of the other sign."""
        if isinstance(expr, Apply) and expr.operator == "fneg":
            return expr.arguments[0]
        return self.number(-float(expr.value)) if isinstance(expr, Constant) else self.apply("fneg", expr)

    def subtract(self, left: Expr, right: Expr) -> Expr:
        """A difference."""
        return self.apply("fsub", left, right)

    def where(self, condition: Expr | None, value: Expr) -> Expr:
        """A number where a condition holds, else 0, whatever the number is then."""
        if condition is None or condition is self.is_some(value):
            return value
        return self.apply("fselect", condition, value, self.number(0.0))

    def is_some(self, value: Expr) -> Expr:
        """Whether there is anything to give back: what is absent is kept as 0, whose factors need be no numbers."""
        return self.apply("fne", value, self.number(0.0))

    def both(self, *conditions: Expr | None) -> Expr | None:
        """That all conditions hold; None stands for one that always does."""
        found: Expr | None = None
        for condition in dict.fromkeys(c for c in conditions if c is not None):
            found = condition if found is None else self.apply("and", found, condition)
        return found

    def sum_over(self, indices: frozenset[Index], body: Expr) -> Expr:
        """A sum over axis variables."""
        for index in sorted(indices, key=lambda index: index.name):
            body = self.graph.reduce_axis("sum", index, body, NOWHERE)
        return body

    def sum_of_keys(self, body: Expr, mask: Expr | None) -> Expr:
        """A sum over the `over` variables; what is one number for a call multiplies it, and not each of its terms."""
        rest, fixed = self._apart(body)
        total: Expr = self.graph.reduce(0, "sum", rest, mask, None, None, NOWHERE)
        for number, divides in fixed:
            total = self.divide(total, number) if divides else self.multiply(total, number)
        return total

    def _apart(self, expr: Expr) -> tuple[Expr, list[tuple[Expr, bool]]]:
        """A product without what is one number for a call; and that, each with whether it divides."""
        if not isinstance(expr, Apply) or expr.operator not in ("fmul", "fdiv") or _is_fixed(expr):
            return expr, []
        left, right = expr.arguments
        divides = expr.operator == "fdiv"
        if _is_fixed(right):
            rest, fixed = self._apart(left)
            return rest, [*fixed, (right, divides)]
        if divides:
            rest, fixed = self._apart(left)
            return self.divide(rest, right) if fixed else expr, fixed
        if _is_fixed(left):
            rest, fixed = self._apart(right)
            return rest, [*fixed, (left, False)]
        (left, of_left), (right, of_right) = self._apart(left), self._apart(right)
        return self.multiply(left, right) if of_left or of_right else expr, [*of_left, *of_right]

    def extent(self, index: Index) -> Expr:
        """How many values an axis variable takes, as a real number."""
        return self.apply("float", Moving(self)(index.extent))

    def free(self, expr: Expr) -> frozenset[Index]:
        """The variables that an expression depends on."""
        return self.graph.facts(expr).free


def _is_fixed(expr: Expr) -> bool:
    """Whether an expression is one number for a call, made of dims, parameters and numbers."""
    return not any(isinstance(part, Read | IndexValue | Reduce) for part in walk(expr))


def _is(expr: Expr, number: float) -> bool:
    return isinstance(expr, Constant) and expr.value == number


class Moving:
    """Expressions in terms of other index variables and tensors, or with others in the place of some."""

    def __init__(
        self,
        algebra: Algebra,
        indices: Mapping[Index, Index] = {},
        instead: Mapping[Expr, Expr] = {},
        tensors: Mapping[Tensor, Tensor] = {},
    ) -> None:
        self._algebra = algebra
        self._tensors = tensors
        self._indices = dict(indices)
        self._instead = instead
        self._known: dict[Expr, Expr] = dict(instead)
        self._inside: dict[Index, Moving] = {}

    def __call__(self, expr: Expr) -> Expr:
        """What stands for an expression."""
        if expr not in self._known:
            self._known[expr] = self._moved(expr)
        return self._known[expr]

    def index(self, index: Index) -> Index:
        """What stands for an index variable."""
        return self._indices.get(index, index)

    def _without(self, axis: Index) -> Moving:
        if axis not in self._inside:
            rest = {index: new for index, new in self._indices.items() if index is not axis}
            self._inside[axis] = Moving(self._algebra, rest, self._instead, self._tensors)
        return self._inside[axis]

    def _moved(self, expr: Expr) -> Expr:
        graph = self._algebra.graph
        match expr:
            case Constant():
                return graph.constant(expr.value, NOWHERE)
            case DimValue():
                return graph.dim(expr.name, NOWHERE)
            case ParamValue():
                return graph.param(expr.name, expr.kind, NOWHERE)
            case IndexValue():
                return graph.index(self.index(expr.index), NOWHERE)
            case Read():
                tensor = self._tensors.get(expr.tensor, expr.tensor)
                return graph.read(tensor, expr.kind, tuple(map(self, expr.indices)), NOWHERE)
            case Apply():
                return graph.apply(expr.operator, tuple(map(self, expr.arguments)), NOWHERE)
            case ReduceAxis(index=axis):  # what it binds is its own
                inside = self._without(axis) if axis in self._indices else self
                return graph.reduce_axis(expr.function, axis, inside(expr.body), NOWHERE)
            case Reduce():
                parts = {name: None if part is None else self(part) for name, part in expr.parts.items()}
                return graph.reduce(0, expr.function, span=NOWHERE, **parts)  # type: ignore[arg-type]  # of the fields
        raise AssertionError(expr)


def float_operands(expr: Expr) -> tuple[Expr, ...]:
    """The operands through which an expression has a derivative; reductions over keys have rules of their own."""
    if isinstance(expr, Apply | ReduceAxis):
        return tuple(part for part in operands(expr) if part.kind is Kind.FLOAT)
    return ()
