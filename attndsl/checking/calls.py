"""Calls: functions of numbers, and reductions over the keys of a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attndsl import diagnostics as errors
from attndsl.checking.context import Context
from attndsl.checking.pointwise import FUNCTIONS, Pointwise
from attndsl.checking.scopes import ElementType, LetBinding, ScalarBinding, Scope
from attndsl.checking.typed import FOLDS, POSITIONS, WEIGHING, Expr, Kind, walk
from attndsl.checking.values import Result, SoftmaxWeights, Value
from attndsl.diagnostics import Diagnostic
from attndsl.syntax import tree
from attndsl.syntax.source import Span

TRUTHS = {"any": "max", "all": "min"}
"""The reductions of truth values, and those of numbers that they are, false being 0 and true 1."""

ALONG_AXES = (*FOLDS, *TRUTHS)
"""The reductions that run over an axis as they do over keys: `max(d in D) x[d]`."""

REDUCTIONS = (*WEIGHING, *ALONG_AXES, *POSITIONS)
_PAIRS = ("minimum", "maximum")
_SINGLES = (*FUNCTIONS, "abs", "f32")
_OF_INTS = ("random",)
FUNCTION_NAMES = frozenset((*REDUCTIONS, *_PAIRS, *_SINGLES, *_OF_INTS))
"""Everything that can be called."""

Named = Sequence[tuple[tree.KeywordArgument, Value]]


class Calls:
    """Applies functions to values; None where an error has been reported."""

    def __init__(self, context: Context, pointwise: Pointwise) -> None:
        self._context = context
        self._pointwise = pointwise

    def known(self, node: tree.Call | tree.AxisReduction, scope: Scope) -> bool:
        """Whether there is such a function; reports where not."""
        name = node.function
        if name.text in FUNCTION_NAMES:
            return True
        before = scope.find(name.text)
        if isinstance(before, ElementType):
            self._context.report(errors.names.TypeAsValue(name.span, name=name.text))
        elif before is not None:
            number = isinstance(before, ScalarBinding) or (isinstance(before, LetBinding) and not before.params)
            self._context.report(errors.names.NotFunction(name.span, name=name.text, first=before.span, number=number))
        else:
            self._context.report(self.unknown(node))
        return False

    def unknown(self, node: tree.Call | tree.AxisReduction) -> Diagnostic:
        """That there is no such function."""
        name, known = node.function, tuple(sorted(FUNCTION_NAMES))
        return errors.names.UnknownFunction(name.span, name=name.text, known=known, arguments=self.written(node))

    def written(self, node: tree.Call | tree.AxisReduction) -> tuple[str, ...]:
        """The arguments of a call as they stand in the source, without those that have names."""
        arguments = node.arguments if isinstance(node, tree.Call) else (node.body,)
        plain = (argument for argument in arguments if not isinstance(argument, tree.KeywordArgument))
        return tuple(self._context.text(argument.span) for argument in plain)

    def along_axes(self, node: tree.AxisReduction, scope: Scope) -> bool:
        """Whether there is such a function and it reduces axes; reports where not."""
        if not self.known(node, scope):
            return False
        name = node.function
        if name.text not in ALONG_AXES:
            self._context.report(errors.reductions.NotAlongAxes(name.span, function=name.text, known=ALONG_AXES))
        return name.text in ALONG_AXES

    def reducible(self, function: str, value: Value, span: Span, axis: bool = False) -> bool:
        """Whether a reduction of one value, over keys or an axis, takes such a value; reports where not."""
        if function in TRUTHS:
            if value.kind is not Kind.BOOL:
                error = errors.types.NotBool(span, place=f"{function}()", got=value.describe(), body=axis)
                self._context.report(error)
            return value.kind is Kind.BOOL
        if function == "sum" and value.kind is Kind.BOOL:
            return bool(self._context.report(errors.types.SumOfBool(span)))
        return self._pointwise.numbers(f"{function}()", (value,), (span,))

    def reduced(self, function: str, value: Expr, span: Span, fold: Callable[[str, Expr], Expr]) -> Expr:
        """A reduction of one scalar, which `fold` makes of the name and the scalar of one of FOLDS.

        Whether a condition holds somewhere, or everywhere, is the largest, or smallest, of its truths as numbers.
        """
        if function not in TRUTHS:
            return fold(function, value)
        graph = self._context.graph
        zero, one = (graph.constant(number, span) for number in (0.0, 1.0))
        number = graph.apply("fselect", (value, one, zero), span)
        return graph.apply("fgt", (fold(TRUTHS[function], number), zero), span)

    def call(self, node: tree.Call, nodes: Sequence[tree.Expression], values: Sequence[Value], named: Named) -> Result:
        """The value of a call of a known function with these arguments."""
        name = node.function.text
        if not self._arguments_fit(node, nodes, values, named):
            return None
        if name in _SINGLES:
            return self._pointwise.function(name, values[0], node.span, nodes[0].span)
        if name in _PAIRS:
            spans = [n.span for n in nodes]
            return self._pointwise.arithmetic(name, values[0], values[1], node.span, spans)
        if name in _OF_INTS:
            return self._pointwise.of_ints(name, values, node.span, [n.span for n in nodes])
        return self._reduction(node, nodes, values, named)

    def weighted(self, weights: SoftmaxWeights, value: Value, node: tree.Binary) -> Value | None:
        """`softmax(…) . v`."""
        if not value.axes:
            return self._context.report(errors.reductions.SoftmaxOfScalar(node.right.span, got=value.describe()))
        if not self._pointwise.numbers(".", (value,), (node.right.span,)):
            return None

        def at(where: tuple[Expr, ...]) -> Expr:
            return self._reduce("softmax", weights.score, weights.mask, value.at(where), weights.sink, node)

        return Value(Kind.FLOAT, value.axes, at)

    def _arguments_fit(
        self, node: tree.Call, nodes: Sequence[tree.Expression], values: Sequence[Value], named: Named
    ) -> bool:
        """Whether a function takes so many arguments and those by these names."""
        name = node.function.text
        least, most = (1, 1) if name in _SINGLES else (2, 2) if name in (*_PAIRS, *_OF_INTS) else (1, 2)
        if name == "topk":
            least, most = 2, 3
        allowed = ("sink",) if name in WEIGHING else ()
        seen: dict[str, tree.Name] = {}
        for keyword, _ in named:
            key = keyword.name
            if key.text not in allowed:
                self._context.report(errors.names.UnknownKeyword(key.span, function=name, name=key.text, known=allowed))
                return False
            if key.text in seen:
                self._context.report(errors.names.Repeated(key.span, name=key.text, first=seen[key.text].span))
                return False
            seen[key.text] = key
        masked = len(values) == 2 and name in (*ALONG_AXES, "argmax")
        if masked and values[1].kind is not Kind.BOOL:
            written = self._context.text(nodes[0].span), self._context.text(nodes[1].span)
            self._context.report(errors.reductions.MaskNotBool(nodes[1].span, function=name, written=written))
            return False
        if not least <= len(values) <= most:
            wanted = f"{least} argument{'s' if least > 1 else ''}" if least == most else f"{least} or {most} arguments"
            self._context.report(
                errors.types.WrongArguments(
                    node.span, function=name, wanted=wanted, got=len(values), arguments=self.written(node)
                )
            )
            return False
        return True

    def _reduction(
        self, node: tree.Call, nodes: Sequence[tree.Expression], values: Sequence[Value], named: Named
    ) -> Result:
        function = node.function.text
        rows = self._context.rows
        if rows is None or not rows.over:
            return self._context.report(errors.reductions.NothingToReduce(node.span, function=function))
        score, mask, sink = values[0], None, None
        count = None
        if function == "topk":
            *values, count = values
        if not self.reducible(function, score, nodes[0].span):
            return None
        if score.axes and function not in ALONG_AXES:
            place = f"the score of {function}()"
            return self._context.report(
                errors.types.WrongKind(nodes[0].span, place=place, wanted="float", got=score.describe())
            )
        if len(values) == 2:
            if values[1].kind is not Kind.BOOL or values[1].axes:
                place = f"the mask of {function}()"
                return self._context.report(
                    errors.types.WrongKind(nodes[1].span, place=place, wanted="bool", got=values[1].describe())
                )
            mask = values[1].expr
        for keyword, value in named:
            sink = self._sink(keyword, value)
            if sink is None:
                return None
        real = self._context.graph.real
        if function == "softmax":
            return SoftmaxWeights(real(score.expr), mask, sink, node.span)

        if function == "argmax":
            found = self._reduce(function, real(score.expr), mask, self._position(node.span), None, node)
            return Value.scalar(found)

        if count is not None:
            return self._ranked(node, nodes[-1], real(score.expr), mask, count)

        def fold(function: str, value: Expr) -> Expr:
            return self._reduce(function, real(value), mask, None, sink, node)

        def at(where: tuple[Expr, ...]) -> Expr:
            return self.reduced(function, score.at(where), node.span, fold)

        return Value(Kind.BOOL if function in TRUTHS else Kind.FLOAT, score.axes, at)

    def _ranked(
        self, node: tree.Call, written: tree.Expression, score: Expr, mask: Expr | None, given: Value
    ) -> Value | None:
        """`topk(score, mask, k)`: a vector of positions."""
        assert self._context.rows is not None
        place, graph, span = "the number of positions of topk()", self._context.graph, node.span
        if given.axes or given.kind is not Kind.INT:
            error = errors.types.WrongKind(written.span, place=place, wanted="int", got=given.describe())
            return self._context.report(error)
        count = given.expr
        if not graph.facts(count).uniform:
            return self._context.report(errors.indices.NotUniform(written.span, place=place))
        if any(part.kind is Kind.FLOAT for part in walk(count)):
            return self._context.report(errors.declarations.RealInExtent(written.span, place=place))
        _, *inner = self._context.rows.over or ()
        for index in inner:
            if not graph.facts(index.extent).uniform:
                return self._context.report(errors.reductions.PositionsApart(span, name=index.name))
        number, position = self._context.rows.number, self._position(span)

        def at(where: tuple[Expr, ...]) -> Expr:
            return graph.reduce(number, "topk", score, mask, position, None, span, where[0], count)

        return Value(Kind.INT, (count,), at)

    def _position(self, span: Span) -> Expr:
        """The number of a key; of several key variables the last varies fastest."""
        assert self._context.rows is not None
        first, *others = self._context.rows.over or ()
        graph, arithmetic = self._context.graph, self._context.arithmetic
        number: Expr = graph.index(first, span)
        for index in others:
            scaled = arithmetic.multiply(number, index.extent, span)
            number = arithmetic.add(scaled, graph.index(index, span), span)
        return number

    def _sink(self, keyword: tree.KeywordArgument, value: Value) -> Expr | None:
        if value.axes or value.kind is Kind.BOOL:
            self._context.report(
                errors.types.WrongKind(keyword.value.span, place="the sink", wanted="float", got=value.describe())
            )
            return None
        if any(index.role == "over" for index in self._context.graph.facts(value.expr).free):
            self._context.report(errors.reductions.SinkOverKeys(keyword.value.span))
            return None
        return self._context.graph.real(value.expr)

    def _reduce(
        self,
        function: str,
        score: Expr,
        mask: Expr | None,
        value: Expr | None,
        sink: Expr | None,
        node: tree.Expression,
    ) -> Expr:
        assert self._context.rows is not None
        if value is not None and function not in POSITIONS:
            value = self._context.graph.real(value)
        return self._context.graph.reduce(self._context.rows.number, function, score, mask, value, sink, node.span)
