"""Names in expressions: what they stand for, with and without subscripts."""

from __future__ import annotations

from collections.abc import Sequence

from attndsl import diagnostics as errors
from attndsl.checking.calls import FUNCTION_NAMES
from attndsl.checking.constants import may_be_in_range, may_be_present
from attndsl.checking.context import Context
from attndsl.checking.lets import Lets
from attndsl.checking.scopes import Broken, ElementType, LetBinding, ScalarBinding, Scope, Storage
from attndsl.checking.typed import Expr
from attndsl.checking.values import Value
from attndsl.syntax import tree


class NameLookup:
    """Looks names up; None where an error has been reported."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self.lets = Lets(context)

    def bare(self, node: tree.Reference, scope: Scope) -> Value | None:
        """A name used as it is."""
        name, span = node.name.text, node.span
        match scope.resolve(node.name):
            case None:
                return self._unknown(node.name, scope)
            case Broken():
                return None
            case ScalarBinding(expr=expr):
                return Value.scalar(expr)
            case ElementType():
                return self._context.report(errors.names.TypeAsValue(span, name=name))
            case Storage(tensor=tensor):
                subscripts = ", ".join([":"] * len(tensor.extents))
                return self._context.report(
                    errors.shapes.BareTensor(span, name=name, rank=len(tensor.extents), subscripts=subscripts)
                )
            case LetBinding() as let:
                if None in let.extents:
                    slots = ", ".join(":" if extent else param or ":" for param, extent in _slots(let))
                    return self._context.report(errors.shapes.BareDefinition(span, name=name, slots=slots))
                return self.lets.use(let, [None] * len(let.extents), span)
        raise AssertionError(name)

    def subscripted(self, node: tree.Subscripted, scope: Scope, subscripts: Sequence[Expr | None]) -> Value | None:
        """A name with subscripts, None for `:`."""
        name = node.name.text
        match scope.resolve(node.name):
            case None:
                return self._unknown(node.name, scope)
            case Broken():
                return None
            case Storage(tensor=tensor, kind=kind):
                if not self._context.may_read(tensor):  # a definition was sound where it stands, and has a value
                    self._context.report(errors.names.ReadTooEarly(node.name.span, name=name))
                if len(subscripts) != len(tensor.extents):
                    return self._context.report(
                        errors.shapes.WrongRank(
                            node.span,
                            name=name,
                            wanted=len(tensor.extents),
                            got=len(subscripts),
                            defined=tensor.span,
                            written=self._context.text(node.span),
                        )
                    )
                if not self._may_be_in_range(node, subscripts, tensor.extents):
                    return None
                axes = tuple(e for e, s in zip(tensor.extents, subscripts, strict=True) if s is None)
                graph = self._context.graph

                def at(where: tuple[Expr, ...]) -> Expr:
                    rest = iter(where)
                    indices = tuple(next(rest) if s is None else s for s in subscripts)
                    return graph.read(tensor, kind, indices, node.span)

                return Value(kind, axes, at) if axes else Value.scalar(at(()))
            case LetBinding() as let:
                if not let.extents:
                    return self._context.report(errors.shapes.NotSubscriptable(node.span, name=name, what="a scalar"))
                if len(subscripts) != len(let.extents):
                    return self._context.report(
                        errors.shapes.WrongRank(
                            node.span,
                            name=name,
                            wanted=len(let.extents),
                            got=len(subscripts),
                            defined=let.span,
                            written=self._context.text(node.span),
                        )
                    )
                for written, subscript, (param, extent) in zip(node.subscripts, subscripts, _slots(let), strict=True):
                    if subscript is None and extent is None:
                        return self._context.report(
                            errors.shapes.WholeOfIndex(written.span, name=name, param=param or "")
                        )
                if not self._may_be_in_range(node, subscripts, let.extents):
                    return None
                value = self.lets.use(let, subscripts, node.span)
                sound = self.lets.expanding or may_be_present(self._context, node, subscripts, value)
                return value if sound else None
            case ScalarBinding(what=what):
                return self._context.report(errors.shapes.NotSubscriptable(node.span, name=name, what=what))
            case ElementType():
                return self._context.report(errors.names.TypeAsValue(node.span, name=name))
        raise AssertionError(name)

    def may_bind(self, bound: Sequence[tree.Name], scope: Scope) -> bool:
        """Whether a definition's parameters or a sum's axes may take these names; reports those that may not."""
        sound = True
        seen: dict[str, tree.Name] = {}
        for name in bound:
            before = scope.find(name.text)
            if name.text in seen:
                self._context.report(errors.names.Repeated(name.span, name=name.text, first=seen[name.text].span))
                sound = False
            elif before is not None and not (isinstance(before, ScalarBinding) and before.shadowable):
                self._context.report(errors.names.Shadows(name.span, name=name.text, first=before.span))
                sound = False
            seen[name.text] = name
        return sound

    def _may_be_in_range(
        self, node: tree.Subscripted, subscripts: Sequence[Expr | None], extents: Sequence[Expr | None]
    ) -> bool:
        """Whether the numbers among the subscripts may be in range, unless they are what a definition was given.

        Such a definition may test them before it reads.
        """
        spans = [subscript.span for subscript in node.subscripts]
        return self.lets.expanding or may_be_in_range(self._context, spans, subscripts, extents)

    def _unknown(self, name: tree.Name, scope: Scope) -> Value | None:
        if name.text in FUNCTION_NAMES:
            return self._context.report(errors.names.FunctionAsValue(name.span, name=name.text))
        places = self._context.defined.get(name.text, [])
        if any(whole.start <= name.span.start < whole.end for _, whole in places):
            return self._context.report(errors.names.UsesItself(name.span, name=name.text))
        if places:
            first = places[0][0]
            error = errors.names.UsedTooEarly if first.start > name.span.start else errors.names.OtherBlock
            return self._context.report(error(name.span, name=name.text, defined=first))
        if name.text in errors.foreign.NAMES:
            return self._context.report(errors.names.ForeignName(name.span, name=name.text))
        known = tuple(sorted(set(scope.names())))
        return self._context.report(errors.names.UnknownName(name.span, name=name.text, known=known))


def _slots(let: LetBinding) -> Sequence[tuple[str | None, Expr | None]]:
    """Each parameter's name and extent."""
    return list(zip(let.params, let.extents, strict=True))
