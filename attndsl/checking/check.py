"""The syntax tree to the typed spec, or to everything that is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from attndsl import diagnostics as errors
from attndsl.checking.blocks import Blocks
from attndsl.checking.context import Context, Definers, TooManyErrors
from attndsl.checking.declarations import Declarations
from attndsl.checking.definitions import Definitions
from attndsl.checking.expressions import Expressions
from attndsl.checking.graph import (
    MAX_DEPTH,
    MAX_EXPRESSIONS,
    MAX_PARTS,
    DepthLimitPassed,
    ExpressionLimitPassed,
    PartLimitPassed,
)
from attndsl.checking.scopes import LetBinding, ScalarBinding, Scope
from attndsl.checking.typed import Apply, Block, Constant, Expr, Index, ReduceAxis, Spec, walk
from attndsl.diagnostics import Diagnostic, SpecError
from attndsl.syntax import tree
from attndsl.syntax.source import Source, Span


@dataclass(frozen=True)
class Reading:
    """What one reading of a text finds: the spec, None where there are mistakes, and what its names stand for.

    `scope` has the names in sight where the text ends.
    """

    attention: tree.AttentionNode
    spec: Spec | None
    diagnostics: tuple[Diagnostic, ...]
    scope: Scope
    _checker: _Checker

    def expanded(self, let: LetBinding) -> tuple[tuple[Index, ...], Expr] | None:
        """What a definition stands for at any element: the variables of its axes, and a scalar that depends on them.

        Its plain parameters are variables of their names. None where that has no end that anybody would read.
        """
        try:
            return self._checker.expanded(let)
        except (RecursionError, DepthLimitPassed, ExpressionLimitPassed, PartLimitPassed):
            return None


def check(source: Source) -> Spec:
    """The typed spec of a text; raises SpecError with every error that one reading finds."""
    reading = read(source)
    if reading.spec is None:
        raise SpecError(source, reading.diagnostics)
    return reading.spec


def read(source: Source) -> Reading:
    """What a text says, as far as it can be told where there are mistakes; raises SpecError where it has no tree."""
    from attndsl.syntax.parse import parse  # brings lark, which what only imports this module does without

    attention = parse(source)
    context = Context(source, _defined(attention))
    checker, spec = _Checker(context), None
    try:
        spec = checker.spec(attention)
    except TooManyErrors:
        pass
    except RecursionError:
        context.report(errors.limits.DefinitionsTooDeep(attention.name.span, limit=MAX_DEPTH))
    except DepthLimitPassed as error:
        context.report(errors.limits.DefinitionsTooDeep(error.span, limit=MAX_DEPTH))
    except ExpressionLimitPassed as error:
        context.report(errors.limits.TooManyExpressions(error.span, limit=MAX_EXPRESSIONS))
    except PartLimitPassed as error:
        context.report(errors.limits.TooManyParts(error.span, limit=MAX_PARTS))
    diagnostics = tuple(context.diagnostics)
    return Reading(attention, None if diagnostics else spec, diagnostics, checker.in_sight, checker)


class _Checker:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._scope = Scope()
        infinity = context.graph.constant(float("inf"), Span(0, 0))
        self._scope.add("inf", ScalarBinding(Span(0, 0), infinity, "a built-in number"))
        self._expressions = Expressions(context)
        self._declarations = Declarations(context, self._expressions, self._scope)
        self._definitions = Definitions(context, self._expressions)
        self._blocks = Blocks(context, self._expressions, self._scope, self._declarations)

    def spec(self, attention: tree.AttentionNode) -> Spec:
        for parameter in attention.parameters:
            self._declarations.parameter(parameter)
        for statement in attention.statements:
            self._statement(statement)
        self._declarations.formulas()
        self._declarations.finish()
        self._blocks.finish(attention.name)
        declared, blocks = self._declarations, tuple(self._blocks.blocks)
        return Spec(
            name=attention.name.text,
            source=self._context.source,
            dims=tuple(declared.dims),
            types=declared.types,
            params=tuple(declared.params),
            tensors=declared.tensors,
            requires=self._requires(blocks),
            blocks=blocks,
            schedule=declared.schedule,
        )

    @property
    def in_sight(self) -> Scope:
        """The scope that has been reached."""
        return self._blocks.scope

    def expanded(self, let: LetBinding) -> tuple[tuple[Index, ...], Expr]:
        """A definition at variables; in the block that it stands in, of which it may reduce the keys."""
        graph, span = self._context.graph, let.span
        nothing = graph.constant(0, span)
        plain = [
            graph.index(Index(name or "", "axis", nothing, nothing, span), span) if extent is None else None
            for name, extent in zip(let.params, let.extents, strict=True)
        ]
        self._context.rows = next(
            (rows for rows in reversed(self._context.opened) if rows.span.start < span.start), None
        )
        value = self._expressions.names.lets.use(let, plain, span)
        return self._context.axes.bind(value.axes, span, value.at)

    def _statement(self, node: tree.Statement) -> None:
        match node:
            case tree.Dims():
                self._declarations.declare_dims(node)
            case tree.Types():
                self._declarations.declare_types(node)
            case tree.TensorDeclaration():
                self._declarations.tensor(node)
            case tree.Require():
                self._declarations.require(node)
            case tree.Schedule():
                self._declarations.schedule_settings(node)
            case tree.Each():
                self._blocks.each(node)
            case tree.Over():
                self._blocks.over(node)
            case tree.Let():
                self._definitions.let(node, self._blocks.scope)
            case tree.Definition():
                if not self._blocks.writes_whole(node):
                    self._definitions.definition(node, self._blocks.scope)
            case tree.WriteStatement():
                self._blocks.write(node)

    def _requires(self, blocks: tuple[Block, ...]) -> tuple[Expr, ...]:
        """The conditions written, and that no divisor made of dims and parameters is 0, each before what needs it."""
        found: dict[Expr, None] = {}
        for condition in self._declarations.requires:
            found.update(dict.fromkeys(self._divisors((condition,))))
            found[condition] = None
        shapes = (extent for tensor in self._declarations.tensors.values() for extent in tensor.extents)
        found.update(dict.fromkeys(self._divisors((*shapes, *_roots(blocks)))))
        return tuple(found)

    def _divisors(self, roots: tuple[Expr, ...]) -> Iterator[Expr]:
        """For every divisor made of dims and parameters below `roots`, that it is not 0."""
        graph = self._context.graph
        for expr in walk(*roots):
            match expr:
                case Apply(operator="idiv" | "imod", arguments=(_, divisor)):
                    if graph.facts(divisor).uniform and not isinstance(divisor, Constant):
                        yield graph.apply("ine", (divisor, graph.constant(0, divisor.span)), divisor.span)


def _roots(blocks: tuple[Block, ...]) -> Iterator[Expr]:
    """Every expression that a spec's blocks evaluate."""
    for block in blocks:
        values = [expr for write in block.writes for expr in (*write.indices, write.value)]
        axes = [axis for write in block.writes for axis in write.axes]
        axes += [expr.index for expr in walk(*values) if isinstance(expr, ReduceAxis)]
        for index in (*block.each, *block.over, *axes):
            yield from (index.extent, index.bound)
        yield from values


def _defined(attention: tree.AttentionNode) -> Definers:
    """Where the names of a spec are defined, but for the parameters of definitions and the axes of sums."""
    found: Definers = {attention.name.text: []}
    for parameter in attention.parameters:
        found.setdefault(parameter.name.text, [])
    for statement in attention.statements:
        for name in _defined_by(statement):
            found.setdefault(name.text, []).append((name.span, statement.span))
    return found


def _defined_by(statement: tree.Statement) -> tuple[tree.Name, ...]:
    match statement:
        case tree.Dims(names=names):
            return names
        case tree.Types(variables=variables):
            return tuple(variable.name for variable in variables)
        case tree.TensorDeclaration(name=name) | tree.Let(name=name) | tree.Definition(name=name):
            return (name,)
        case tree.Each(binders=binders) | tree.Over(binders=binders):
            return tuple(binder.name for binder in binders)
    return ()
