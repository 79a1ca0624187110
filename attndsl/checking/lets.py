"""Definitions, expanded where they are used."""

from __future__ import annotations

from collections.abc import Sequence

from attndsl.checking.context import Context
from attndsl.checking.graph import DepthLimitPassed
from attndsl.checking.reads import certain_reads
from attndsl.checking.scopes import Binding, LetBinding, ScalarBinding
from attndsl.checking.typed import Constant, Expr, Index, IndexValue, Kind
from attndsl.checking.values import Value
from attndsl.syntax.source import Span

MAX_NESTING = 25
"""How deep definitions may use definitions that are expanded anew."""

_Key = tuple[LetBinding, tuple[Expr, ...], frozenset[Index]]


class Lets:
    """Puts arguments into definitions, and remembers what came out."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._known: dict[_Key, Expr] = {}
        self._nesting = 0

    @property
    def expanding(self) -> bool:
        """Whether the text that is looked at is that of a definition with arguments put in."""
        return self._nesting > 0

    def use(self, let: LetBinding, subscripts: Sequence[Expr | None], span: Span) -> Value:
        """The definition at `subscripts`, one for each parameter; None takes all of an axis."""
        axes = tuple(e for e, s in zip(let.extents, subscripts, strict=True) if s is None and e is not None)

        def at(where: tuple[Expr, ...]) -> Expr:
            rest = iter(where)
            return self._expand(let, tuple(next(rest) if s is None else s for s in subscripts), span)

        return Value(let.kind, axes, at) if axes else Value.scalar(at(()))

    def _expand(self, let: LetBinding, arguments: tuple[Expr, ...], span: Span) -> Expr:
        """The scalar that a definition is for these arguments. Axis variables are chosen anew: others may be open."""
        key = (let, arguments, self._context.axes.open)
        if key in self._known:
            return self._known[key]
        if self._nesting == MAX_NESTING:
            raise DepthLimitPassed(span)
        own: dict[str, Binding] = {
            name: ScalarBinding(let.span, argument, "a parameter", shadowable=True)
            for name, argument in zip(let.params, arguments, strict=True)
            if name is not None
        }
        self._nesting += 1
        try:
            value = let.build(let.scope.within(own))
            assert isinstance(value, Value), "the definition was sound when it was made"
            whole = (a for a, name in zip(arguments, let.params, strict=True) if name is None)
            body = value.at(tuple(whole))
        finally:
            self._nesting -= 1
        for argument, extent in zip(arguments, let.extents, strict=True):
            if extent is not None:
                body = self._guard(body, argument, extent, span)
        self._known[key] = body
        return body

    def _guard(self, body: Expr, index: Expr, extent: Expr, span: Span) -> Expr:
        """`body`, absent where `index` is outside an axis; nothing is added where that goes without saying."""
        if _inside(index, extent) or (index, extent) in certain_reads(body):
            return body
        graph = self._context.graph
        zero = graph.constant(0, span)
        absent: Expr = graph.apply("idiv", (zero, zero), span)
        if body.kind is Kind.FLOAT:
            absent = graph.real(absent)
        elif body.kind is Kind.BOOL:
            absent = graph.apply("ieq", (absent, zero), span)
        above, below = graph.apply("ile", (zero, index), span), graph.apply("ilt", (index, extent), span)
        select = {Kind.INT: "iselect", Kind.FLOAT: "fselect", Kind.BOOL: "bselect"}[body.kind]
        return graph.apply(select, (graph.apply("and", (above, below), span), body, absent), span)


def _inside(index: Expr, extent: Expr) -> bool:
    """Whether an index is certainly within 0 … extent - 1."""
    if isinstance(index, IndexValue):
        return index.index.extent is extent or index.index.bound is extent
    if isinstance(index, Constant) and isinstance(extent, Constant):
        return 0 <= index.value < extent.value
    return False
