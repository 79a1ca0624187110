"""The expressions of one spec, each of them once: equal expressions are the same object."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TypeVar

from attndsl.checking.operators import OPERATORS
from attndsl.checking.typed import (
    POSITIONS,
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
)
from attndsl.syntax.source import Span

MAX_EXPRESSIONS = 10_000
"""The most distinct expressions of a spec once its definitions are expanded."""

MAX_DEPTH = 200
"""The deepest nesting of expressions once definitions are expanded; what follows may walk them by recursion."""

MAX_PARTS = 1000
"""The most parts of an extent, and of any expression of dims and parameters, each counted as often as it is used:
callers and launchers compute it from its text."""

E = TypeVar("E", bound=Expr)

_NONE: frozenset[Index] = frozenset()


class LimitPassed(Exception):
    """The spec passes a limit at a place of its text; a subclass says which."""

    def __init__(self, span: Span) -> None:
        self.span = span
        super().__init__(span)


class ExpressionLimitPassed(LimitPassed):
    """The definitions expand to more than MAX_EXPRESSIONS."""


class DepthLimitPassed(LimitPassed):
    """The definitions expand to something nested deeper than MAX_DEPTH."""


class PartLimitPassed(LimitPassed):
    """The definitions expand to an extent, or something of dims and parameters, that has more than MAX_PARTS."""


@dataclass(frozen=True, slots=True)
class ExpressionFacts:
    """What is known of an expression.

    `free` are the variables it depends on, `bound` those that a ReduceAxis in it binds; it `reads` a tensor, contains a
    Reduce, may be absent (`partial`); `serial` counts the expressions as they are made, `parts` those that it is made
    of, each as often as it is used.
    """

    serial: int
    depth: int
    parts: int
    free: frozenset[Index]
    bound: frozenset[Index]
    reads: bool
    reduces: bool
    partial: bool

    @property
    def uniform(self) -> bool:
        """Whether the expression is made of dims, parameters and numbers alone."""
        return not self.free and not self.reads and not self.reduces


class Graph:
    """Makes expressions; asked twice for the same one, gives the one it made first, with the span of that time."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Expr] = {}
        self._facts: dict[Expr, ExpressionFacts] = {}

    def facts(self, expr: Expr) -> ExpressionFacts:
        """What is known of an expression of this graph."""
        return self._facts[expr]

    def constant(self, value: int | float | bool, span: Span) -> Constant:
        """A number or truth value; its Python type tells its kind."""
        kind = {bool: Kind.BOOL, int: Kind.INT, float: Kind.FLOAT}[type(value)]
        key = (Constant, kind, repr(value))  # repr tells 0.0 from -0.0
        return self._once(key, lambda: Constant(kind, span, value))

    def dim(self, name: str, span: Span) -> DimValue:
        """The extent of a dim."""
        return self._once((DimValue, name), lambda: DimValue(Kind.INT, span, name))

    def param(self, name: str, kind: Kind, span: Span) -> ParamValue:
        """The value of a parameter."""
        return self._once((ParamValue, name), lambda: ParamValue(kind, span, name))

    def index(self, index: Index, span: Span) -> IndexValue:
        """The value of an index variable."""
        return self._once((IndexValue, index), lambda: IndexValue(Kind.INT, span, index))

    def read(self, tensor: Tensor, kind: Kind, indices: tuple[Expr, ...], span: Span) -> Read:
        """An element of a tensor."""
        return self._once((Read, tensor, indices), lambda: Read(kind, span, tensor, indices))

    def apply(self, operator: str, arguments: tuple[Expr, ...], span: Span) -> Apply:
        """An operator of OPERATORS, as it stands: `attndsl.checking.arithmetic` simplifies."""
        gives = OPERATORS[operator].gives
        return self._once((Apply, operator, arguments), lambda: Apply(gives, span, operator, arguments))

    def real(self, expr: Expr) -> Expr:
        """An integer as a real number; a real number as it is."""
        if expr.kind is Kind.FLOAT:
            return expr
        if isinstance(expr, Constant):
            return self.constant(float(expr.value), expr.span)
        return self.apply("float", (expr,), expr.span)

    def reduce_axis(self, function: str, index: Index, body: Expr, span: Span) -> ReduceAxis:
        """A reduction over an axis variable."""
        key = (ReduceAxis, function, index, body)
        return self._once(key, lambda: ReduceAxis(body.kind, span, function, index, body))

    def reduce(
        self,
        block: int,
        function: str,
        score: Expr,
        mask: Expr | None,
        value: Expr | None,
        sink: Expr | None,
        span: Span,
        nth: Expr | None = None,
        count: Expr | None = None,
    ) -> Reduce:
        """A reduction over the key positions of a block, which is told by its number."""
        key = (Reduce, block, function, score, mask, value, sink, nth, count)
        kind = Kind.INT if function in POSITIONS else Kind.FLOAT
        return self._once(key, lambda: Reduce(kind, span, function, score, mask, value, sink, nth, count))

    def _once(self, key: Hashable, make: Callable[[], E]) -> E:
        known = self._known.get(key)
        if known is not None:
            return known  # type: ignore[return-value]  # the key begins with the class
        expr = make()
        if len(self._known) >= MAX_EXPRESSIONS:
            raise ExpressionLimitPassed(expr.span)
        self._known[key] = expr
        self._facts[expr] = facts = self._examine(expr)
        if facts.depth > MAX_DEPTH:
            raise DepthLimitPassed(expr.span)
        if facts.parts > MAX_PARTS and facts.uniform:
            raise PartLimitPassed(expr.span)
        return expr

    def _examine(self, expr: Expr) -> ExpressionFacts:
        parts = [self._facts[operand] for operand in operands(expr)]
        free, bound = _union([p.free for p in parts]), _union([p.bound for p in parts])
        partial = any(p.partial for p in parts)
        match expr:
            case IndexValue():
                free = frozenset((expr.index,))
            case ReduceAxis():
                free, bound = free - {expr.index}, bound | {expr.index}
            case Reduce():
                free = frozenset(i for i in free if i.role != "over")
                partial = expr.sink is not None and self._facts[expr.sink].partial
            case Read():
                partial = True
            case Apply(operator="idiv" | "imod", arguments=(_, divisor)):
                # a uniform divisor other than a number is required to be non-zero at every call
                safe = divisor.value != 0 if isinstance(divisor, Constant) else parts[1].uniform
                partial = partial or not safe
        return ExpressionFacts(
            serial=len(self._facts),
            depth=1 + max((p.depth for p in parts), default=0),
            parts=1 + sum(p.parts for p in parts),
            free=free,
            bound=bound,
            reads=isinstance(expr, Read) or any(p.reads for p in parts),
            reduces=isinstance(expr, Reduce) or any(p.reduces for p in parts),
            partial=partial,
        )


def _union(sets: list[frozenset[Index]]) -> frozenset[Index]:
    """The union, without a copy where one set holds it all: most expressions depend on few variables."""
    whole = _NONE
    for one in sets:
        if not one <= whole:
            whole = one if whole <= one else whole | one
    return whole
