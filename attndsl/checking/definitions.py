"""`let`, `score` and `mask`: looked at once where they stand, expanded where they are used."""

from __future__ import annotations

from attndsl import diagnostics as errors
from attndsl.checking.context import Context
from attndsl.checking.expressions import Expressions
from attndsl.checking.scopes import Binding, Broken, LetBinding, ScalarBinding, Scope
from attndsl.checking.typed import Expr, Index, Kind
from attndsl.checking.values import Value
from attndsl.syntax import tree

_KINDS = {"score": (Kind.INT, Kind.FLOAT), "mask": (Kind.BOOL,)}


class Definitions:
    """Binds definitions in a scope; one with an error is bound as broken, so that its uses report nothing."""

    def __init__(self, context: Context, expressions: Expressions) -> None:
        self._context = context
        self._expressions = expressions

    def let(self, node: tree.Let, scope: Scope) -> None:
        """`let k[b, g, j, :] = …`."""
        if not self._free(node.name, scope):
            self._look(node, scope)
        else:
            scope.add(node.name.text, self._look(node, scope) or Broken(node.name.span))

    def definition(self, node: tree.Definition, scope: Scope) -> None:
        """`score = …` and `mask = …`."""
        name = node.name.text
        if name not in _KINDS:
            value = self._context.text(node.value.span)
            self._context.report(errors.names.NotDefinition(node.name.span, name=name, value=value))
        if not self._free(node.name, scope):
            return
        let = self._look(tree.Let(node.span, node.name, (), node.value), scope)
        if let is not None and name in _KINDS and (let.axes or let.kind not in _KINDS[name]):
            got = Value(let.kind, let.axes, lambda _: self._context.graph.constant(0, node.span)).describe()
            wanted = "float" if name == "score" else "bool"
            self._context.report(errors.types.WrongKind(node.value.span, place=f"`{name}`", wanted=wanted, got=got))
            let = None
        scope.add(name, let or Broken(node.name.span))

    def _free(self, name: tree.Name, scope: Scope) -> bool:
        before = scope.find(name.text)
        if before is not None:
            self._context.report(errors.names.Shadows(name.span, name=name.text, first=before.span))
        return before is None

    def _look(self, node: tree.Let, scope: Scope) -> LetBinding | None:
        """Checks a definition with stand-ins for its parameters."""
        named = [p.name for p in node.params if not isinstance(p, tree.WholeParam)]
        sound = self._expressions.names.may_bind(named, scope)
        extents: list[Expr] = []
        for param in node.params:
            if isinstance(param, tree.AxisParam):
                place = f"the extent of `{param.name.text}`"
                extent = self._expressions.uniform(param.extent, scope, place)
                sound = sound and extent is not None
                if extent is not None:
                    extents.append(extent)
        if not sound:
            return None
        value: Value | None = None

        def probe(axes: tuple[Expr, ...]) -> Expr:
            nonlocal value
            rest = iter(axes)
            own: dict[str, Binding] = {}
            for param in node.params:
                if isinstance(param, tree.AxisParam):
                    own[param.name.text] = ScalarBinding(param.name.span, next(rest), "a parameter", shadowable=True)
                elif isinstance(param, tree.IndexParam):
                    integer = self._stand_in(param)
                    own[param.name.text] = ScalarBinding(param.name.span, integer, "a parameter", shadowable=True)
            value = self._expressions.value(node.value, scope.within(own))
            return self._context.graph.constant(0, node.span)

        self._context.axes.bind(extents, node.span, probe)
        return None if value is None else self._made(node, scope, value, extents)

    def _made(self, node: tree.Let, scope: Scope, value: Value, extents: list[Expr]) -> LetBinding | None:
        params = [None if isinstance(p, tree.WholeParam) else p.name.text for p in node.params]
        if not params:
            params = [None] * len(value.axes)
        if params.count(None) != len(value.axes):
            error = errors.shapes.WrongAxes(
                node.value.span, name=node.name.text, wanted=params.count(None), got=len(value.axes)
            )
            self._context.report(error)
            return None
        whole, axes = iter(value.axes), iter(extents)
        slots: list[Expr | None] = []
        for number, name in enumerate(params):
            if name is None:
                slots.append(next(whole))
            else:
                slots.append(next(axes) if isinstance(node.params[number], tree.AxisParam) else None)
        return LetBinding(
            span=node.name.span,
            name=node.name.text,
            params=tuple(params),
            extents=tuple(slots),
            kind=value.kind,
            scope=scope,
            build=lambda inner: self._expressions.value(node.value, inner),
        )

    def _stand_in(self, param: tree.IndexParam) -> Expr:
        """An integer of which nothing is known."""
        nothing = self._context.graph.constant(0, param.span)
        return self._context.graph.index(Index(param.name.text, "axis", nothing, nothing, param.span), param.span)
