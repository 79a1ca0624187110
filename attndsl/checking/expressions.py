"""Expressions of the source to values: names looked up, kinds and axes checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attndsl import diagnostics as errors
from attndsl.checking import slices
from attndsl.checking.calls import TRUTHS, Calls
from attndsl.checking.context import Context
from attndsl.checking.members import Members
from attndsl.checking.names import NameLookup
from attndsl.checking.pointwise import Pointwise
from attndsl.checking.scopes import ScalarBinding, Scope
from attndsl.checking.slices import Ends, Subscripts
from attndsl.checking.text import expression_text
from attndsl.checking.typed import Expr, Index, Kind, walk
from attndsl.checking.values import Result, SoftmaxWeights, Value
from attndsl.syntax import tree
from attndsl.syntax.source import Span

_ARITHMETIC, _BITS, _LOGIC = ("+", "-", "*", "/", "%"), ("&", "|", "^", "<<", ">>"), ("and", "or")


class Expressions:
    """Gives the value of a piece of the tree in a scope."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._graph = context.graph
        self._pointwise = Pointwise(context)
        self._calls = Calls(context, self._pointwise)
        self._members = Members(context, self._calls)
        self.names = NameLookup(context)

    def result(self, node: tree.Expression, scope: Scope) -> Result:
        """The value of an expression, or weights that wait for what they weigh."""
        match node:
            case tree.Number():
                return self._number(node.value, node.span)
            case tree.Boolean():
                return Value.scalar(self._graph.constant(node.value, node.span))
            case tree.Reference():
                return self.names.bare(node, scope)
            case tree.Subscripted():
                return self._subscripted(node, scope)
            case tree.Call():
                return self._call(node, scope)
            case tree.Unary():
                return self._unary(node, scope)
            case tree.Binary():
                return self._dot(node, scope) if node.operator == "." else self._binary(node, scope)
            case tree.Comparison():
                return self._comparison(node, scope)
            case tree.Conditional():
                return self._conditional(node, scope)
            case tree.AxisReduction():
                return self._axis_reduction(node, scope)

    def value(self, node: tree.Expression, scope: Scope) -> Value | None:
        """The value of an expression that stands where weights cannot."""
        result = self.result(node, scope)
        if isinstance(result, SoftmaxWeights):
            return self._context.report(errors.reductions.SoftmaxAlone(result.span))
        return result

    def scalar(self, node: tree.Expression, scope: Scope, place: str, *kinds: Kind) -> Expr | None:
        """The expression of a scalar of one of `kinds`; `place` says in messages where it stands."""
        value = self.value(node, scope)
        if value is None:
            return None
        if value.axes or value.kind not in kinds:
            wanted = " or ".join(kind.value for kind in kinds)
            self._context.report(errors.types.WrongKind(node.span, place=place, wanted=wanted, got=value.describe()))
            return None
        return value.expr

    def integer(self, node: tree.Expression, scope: Scope, place: str) -> Expr | None:
        """The expression of an integer scalar."""
        return self.scalar(node, scope, place, Kind.INT)

    def uniform(self, node: tree.Expression, scope: Scope, place: str) -> Expr | None:
        """An integer that is the same for a whole call: made of dims, parameters and whole numbers."""
        expr = self.extent(node, scope, place)
        if expr is not None and not self._graph.facts(expr).uniform:
            self._context.report(errors.indices.NotUniform(node.span, place=place))
            return None
        return expr

    def extent(self, node: tree.Expression, scope: Scope, place: str) -> Expr | None:
        """An integer that, where it is the same for a whole call, the host computes as kernels do: without reals."""
        expr = self.integer(node, scope, place)
        if expr is not None and self._graph.facts(expr).uniform and any(part.kind is Kind.FLOAT for part in walk(expr)):
            self._context.report(errors.declarations.RealInExtent(node.span, place=place))
            return None
        return expr

    def _values(self, nodes: Sequence[tree.Expression], scope: Scope) -> list[Value] | None:
        """The values of several expressions; all are looked at, so that each reports its errors."""
        values = [self.value(node, scope) for node in nodes]
        found = [value for value in values if value is not None]
        return found if len(found) == len(values) else None

    def _number(self, number: int | float, span: Span) -> Value | None:
        if (isinstance(number, int) and number >= 2**63) or number == float("inf"):
            return self._context.report(errors.types.NumberTooLarge(span, real=isinstance(number, float)))
        return Value.scalar(self._graph.constant(number, span))

    def _unary(self, node: tree.Unary, scope: Scope) -> Value | None:
        if node.operator == "-" and isinstance(node.operand, tree.Number):
            return self._number(-node.operand.value, node.span)
        operand = self.value(node.operand, scope)
        if operand is None:
            return None
        if node.operator == "not":
            return self._pointwise.logic("not", [operand], node.span, [node.operand.span])
        return self._pointwise.sign(node.operator, operand, node.span)

    def _binary(self, node: tree.Binary, scope: Scope) -> Value | None:
        values = self._values((node.left, node.right), scope)
        if values is None:
            return None
        spans = (node.left.span, node.right.span)
        if node.operator in _LOGIC:
            return self._pointwise.logic(node.operator, values, node.span, spans)
        if node.operator in _BITS:
            return self._pointwise.bits(node.operator, values[0], values[1], node.span, spans)
        if node.operator == "/" and _truncates(node):
            fix = f"{self._context.text(node.left.span)}.0 / {self._context.text(node.right.span)}"
            return self._context.report(errors.types.TruncatedDivision(node.span, written=fix))
        return self._pointwise.arithmetic(node.operator, values[0], values[1], node.span, spans)

    def _comparison(self, node: tree.Comparison, scope: Scope) -> Value | None:
        values = self._values(node.operands, scope)
        if values is None:
            return None
        total: Value | None = None
        for number, operator in enumerate(node.operators):
            span = node.operands[number].span.to(node.operands[number + 1].span)
            pair = self._pointwise.compare(operator, values[number], values[number + 1], span)
            if pair is None:
                return None
            total = pair if total is None else self._pointwise.logic("and", [total, pair], node.span, [span, span])
            if total is None:
                return None
        return total

    def _conditional(self, node: tree.Conditional, scope: Scope) -> Value | None:
        values = self._values((node.condition, node.then, node.otherwise), scope)
        if values is None:
            return None
        return self._pointwise.select(values[0], values[1], values[2], node.span, node.condition.span)

    def subscripts(self, nodes: Sequence[tree.Subscript], scope: Scope) -> Subscripts | None:
        """What stands between brackets; all is looked at, so that each reports its errors."""
        found = [self._subscript(node, scope) for node in nodes]
        sound = [subscript for subscript in found if subscript is not None]
        return sound if len(sound) == len(found) else None

    def _subscript(self, node: tree.Subscript, scope: Scope) -> Expr | Ends | None:
        match node:
            case tree.Whole():
                return Ends(node, None, None)
            case tree.Slice(start=start, stop=stop):
                ends = [None if end is None else self.integer(end, scope, "an end of a slice") for end in (start, stop)]
                lacks = (end is not None and known is None for end, known in zip((start, stop), ends, strict=True))
                return None if any(lacks) else Ends(node, *ends)
        return self.integer(node, scope, "a subscript")

    def _subscripted(self, node: tree.Subscripted, scope: Scope) -> Value | None:
        subscripts = self.subscripts(node.subscripts, scope)
        if subscripts is None:
            return None
        value = self.names.subscripted(node, scope, slices.indices(subscripts))
        if value is None or not any(isinstance(each, tree.Slice) for each in node.subscripts):
            return value
        taken = slices.parts(self._context, subscripts, value.axes)
        return None if taken is None else slices.sliced(self._context, value, taken, node)

    def _call(self, node: tree.Call, scope: Scope) -> Result:
        arguments = [a for a in node.arguments if not isinstance(a, tree.KeywordArgument)]
        keywords = [a for a in node.arguments if isinstance(a, tree.KeywordArgument)]
        if not self._calls.known(node, scope):
            whole = (
                a for a in arguments if not isinstance(a, tree.Reference)
            )  # elsewhere tensors are passed as they are
            self._values([*whole, *(k.value for k in keywords)], scope)
            return None
        values = self._values(arguments, scope)
        named = self._values([k.value for k in keywords], scope)
        if values is None or named is None:
            return None
        return self._calls.call(node, arguments, values, list(zip(keywords, named, strict=True)))

    def _dot(self, node: tree.Binary, scope: Scope) -> Value | None:
        misread = self._members.misread(node, scope)
        if misread is not None:
            return self._context.report(misread)
        left, right = self.result(node.left, scope), self.result(node.right, scope)
        if isinstance(right, SoftmaxWeights):
            return self._context.report(errors.reductions.SoftmaxOnTheRight(node.right.span))
        if left is None or right is None:
            return None
        if isinstance(left, SoftmaxWeights):
            return self._calls.weighted(left, right, node)
        for value, place in ((left, node.left), (right, node.right)):
            if not value.axes:
                self._context.report(errors.shapes.DotOfScalar(place.span, got=value.describe()))
                return None
        if left.axes[-1] is not right.axes[-1]:
            extents = [expression_text(value.axes[-1]) for value in (left, right)]
            return self._context.report(errors.shapes.DotExtents(node.span, left=extents[0], right=extents[1]))
        if not self._pointwise.numbers(".", (left, right), (node.left.span, node.right.span)):
            return None
        product = Kind.INT if left.kind is Kind.INT and right.kind is Kind.INT else Kind.FLOAT
        split = len(left.axes) - 1

        def at(where: tuple[Expr, ...]) -> Expr:
            def term(last: tuple[Expr, ...]) -> Expr:
                return self._pointwise.times(left.at(where[:split] + last), right.at(where[split:] + last), node.span)

            return self._folded("sum", *self._context.axes.bind(left.axes[-1:], node.span, term), node.span)

        return _value(product, left.axes[:-1] + right.axes[:-1], at)

    def _axis_reduction(self, node: tree.AxisReduction, scope: Scope) -> Value | None:
        function = node.function.text
        if not self._calls.along_axes(node, scope):
            return None
        extents = [self.uniform(axis.extent, scope, f"the extent of `{axis.name.text}`") for axis in node.axes]
        if not self.names.may_bind([axis.name for axis in node.axes], scope):
            return None
        known = tuple(extent for extent in extents if extent is not None)
        if len(known) < len(extents):
            return None

        def body(values: tuple[Expr, ...]) -> Value | None:
            own = {
                axis.name.text: ScalarBinding(axis.name.span, value, f"an axis of {function}()", shadowable=True)
                for axis, value in zip(node.axes, values, strict=True)
            }
            return self.value(node.body, scope.within(own))

        shape: Value | None = None

        def look(values: tuple[Expr, ...]) -> Expr:
            nonlocal shape
            shape = body(values)
            return shape.expr if shape is not None and not shape.axes else self._graph.constant(0, node.span)

        indices_, first = self._context.axes.bind(known, node.span, look)
        if shape is None or not self._calls.reducible(function, shape, node.body.span, axis=True):
            return None
        if not shape.axes:
            return Value.scalar(self._folded(function, indices_, first, node.span))

        def at(where: tuple[Expr, ...]) -> Expr:
            def term(values: tuple[Expr, ...]) -> Expr:
                value = body(values)
                assert value is not None, "the body was sound when its shape was looked at"
                return value.at(where)

            return self._folded(function, *self._context.axes.bind(known, node.span, term), node.span)

        kind = Kind.BOOL if function in TRUTHS else shape.kind if function == "sum" else Kind.FLOAT
        return Value(kind, shape.axes, at)

    def _folded(self, function: str, over: tuple[Index, ...], body: Expr, span: Span) -> Expr:
        """The reduction of one scalar over axis variables: of ints a float, as over keys, unless it is a sum."""

        def fold(function: str, body: Expr) -> Expr:
            body = body if function == "sum" else self._graph.real(body)
            for index in reversed(over):
                body = self._graph.reduce_axis(function, index, body, span)
            return body

        return self._calls.reduced(function, body, span, fold)


def _value(kind: Kind, axes: tuple[Expr, ...], at: Callable[[tuple[Expr, ...]], Expr]) -> Value:
    return Value(kind, axes, at) if axes else Value.scalar(at(()))


def _truncates(node: tree.Binary) -> bool:
    """Whether both operands are integer literals and the division has a remainder."""
    left, right = node.left, node.right
    return (
        isinstance(left, tree.Number)
        and isinstance(right, tree.Number)
        and isinstance(left.value, int)
        and isinstance(right.value, int)
        and right.value != 0
        and left.value % right.value != 0
    )
