"""Text to syntax tree, by lark's LALR(1) parser over `grammar.lark`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import fields
from functools import cache, lru_cache
from itertools import chain, islice, pairwise, takewhile
from typing import Any

from lark import Token, UnexpectedToken, v_args
from lark.tree import Meta
from lark.visitors import Transformer_NonRecursive

from attndsl import diagnostics as errors
from attndsl.diagnostics import MAX_ERRORS, Diagnostic, SpecError
from attndsl.syntax import tree
from attndsl.syntax.brackets import unmatched_bracket
from attndsl.syntax.characters import odd_lexemes
from attndsl.syntax.parser import parser
from attndsl.syntax.source import MAX_BYTES, Source, Span

MAX_TOKENS = 20_000
"""The most words and signs of a spec."""

MAX_DEPTH = 100
"""The deepest nesting of expressions; what follows walks the tree by recursion."""

MAX_DIGITS = 100
"""More than any number of 64 bits has, and fewer than Python refuses to read; a longer one counts as 10^100."""

_Extent = tuple[tree.Expression, bool]
"""An extent of a declaration, and whether a call may give it as 1."""

_TOKEN = re.compile(r"#[^\n]*|\w+|[^\w\s]")


@lru_cache(maxsize=32)
def parse(source: Source) -> tree.AttentionNode:
    """The syntax tree of one spec; raises SpecError with what cannot be read and where.

    The last few are remembered, as what checks a text and what lays it out both ask for its tree.
    """
    text = source.text
    if len(text) > MAX_BYTES:
        raise SpecError(source, [errors.limits.SpecTooLong(Span(0, 0), limit=MAX_BYTES)])
    if odd := list(islice(odd_lexemes(text), MAX_ERRORS)):
        found = chain((diagnostic for diagnostic, _ in odd), _others(source, odd))
        raise SpecError(source, list(islice(found, MAX_ERRORS)))
    attention = _tree(source)
    if split := _split_each(attention, source):
        raise SpecError(source, [split])
    return attention


def _split_each(attention: tree.AttentionNode, source: Source) -> Diagnostic | None:
    """That the indices of one row are named by several `each`, where they are."""
    for first, second in pairwise(attention.statements):
        if isinstance(first, tree.Each) and isinstance(second, tree.Each):
            rest = attention.statements[attention.statements.index(first) :]
            heads = takewhile(lambda statement: isinstance(statement, tree.Each), rest)
            indices = (" ".join(source.text[h.span.start : h.span.end].split()).removeprefix("each ") for h in heads)
            return errors.forms.SplitEach(second.span, first=first.span, written=f"each {', '.join(indices)}")
    return None


def _others(source: Source, odd: Sequence[tuple[Diagnostic, Span | None]]) -> Sequence[Diagnostic]:
    """What else is wrong with a text, apart from the statements that hold something odd."""
    from attndsl.syntax.recover import without

    rest = without(source.text, odd)
    if rest is None:
        return ()
    try:
        _tree(Source(rest, source.name))
    except SpecError as error:
        return error.diagnostics
    return ()


def _tree(source: Source) -> tree.AttentionNode:
    """The tree of a text without odd characters."""
    text = source.text
    bracket = unmatched_bracket(text, MAX_DEPTH)
    if isinstance(bracket, errors.limits.NestedTooDeeply):
        raise SpecError(source, [bracket])
    last = next(islice(_TOKEN.finditer(text), MAX_TOKENS, None), None)
    if last is not None:
        raise SpecError(source, [errors.limits.TooManyTokens(Span(*last.span()), limit=MAX_TOKENS)])
    try:
        attention: tree.AttentionNode = _Builder().transform(parser().parse(text))
    except UnexpectedToken as error:
        from attndsl.syntax.recover import syntax_errors  # most specs are right

        raise SpecError(source, [*syntax_errors(error, source, parser(), bracket)]) from None
    for node, depth in _walk(attention):
        if depth > MAX_DEPTH:
            raise SpecError(source, [errors.limits.NestedTooDeeply(node.span, limit=MAX_DEPTH)])
    return attention


def tokens(source: Source) -> Iterator[Token]:
    """Every token of a text in order, comments and white space among them; for a text that parses."""
    return parser().lex(source.text, dont_ignore=True)


@cache
def words() -> frozenset[str]:
    """The words of the language, which are no names."""
    patterns = (str(terminal.pattern.value) for terminal in parser().terminals)
    return frozenset(filter(str.isidentifier, patterns))


def lexemes() -> dict[str, str]:
    """The regular expression of every terminal of the grammar, by its name there."""
    return {terminal.name: terminal.pattern.to_regexp() for terminal in parser().terminals}


def _walk(root: tree.Node) -> Iterator[tuple[tree.Node, int]]:
    """Every node below `root` with its depth, without recursion: the input may be hostile."""
    stack = [(root, 0)]
    while stack:
        node, depth = stack.pop()
        yield node, depth
        for field in fields(node):
            value = getattr(node, field.name)
            for child in value if isinstance(value, tuple) else (value,):
                if isinstance(child, tree.Node):
                    stack.append((child, depth + 1))


def _span(item: Token | Meta) -> Span:
    if isinstance(item, Token):
        assert item.start_pos is not None and item.end_pos is not None
        return Span(item.start_pos, item.end_pos)
    return Span(item.start_pos, item.end_pos)


def _name(token: Token) -> tree.Name:
    return tree.Name(_span(token), str(token))


def _number(text: str) -> int | float:
    if text.startswith("0x"):
        return int(text, 16)
    if not text.isdigit():
        return float(text)
    digits = text.lstrip("0") or "0"
    return int(digits) if len(digits) <= MAX_DIGITS else 10**MAX_DIGITS


def _binary(operator: str) -> Any:
    """The builder of an operator that the grammar writes as a keyword between its operands."""

    def build(self: Any, meta: Meta, left: tree.Expression, right: tree.Expression) -> tree.Binary:
        return tree.Binary(_span(meta), operator, Span(left.span.end, right.span.start), left, right)

    return build


@v_args(meta=True, inline=True)
class _Builder(Transformer_NonRecursive):  # type: ignore[type-arg]
    """lark's tree to ours, innermost first and without recursion: the input may be hostile."""

    def attention(self, meta: Meta, name: Token, params: Any, *statements: Any) -> tree.AttentionNode:
        return tree.AttentionNode(_span(meta), _name(name), params or (), statements)

    def params(self, meta: Meta, *items: Any) -> tuple[tree.Parameter, ...]:
        return tuple(item for item in items if item is not None)

    def param(self, meta: Meta, name: Token, type_: Token, default: Any) -> tree.Parameter:
        return tree.Parameter(_span(meta), _name(name), _name(type_), default)

    def dims(self, meta: Meta, *names: Token) -> tree.Dims:
        return tree.Dims(_span(meta), tuple(map(_name, names)))

    def types(self, meta: Meta, *variables: tree.TypeVariable) -> tree.Types:
        return tree.Types(_span(meta), variables)

    def type_variable(self, meta: Meta, name: Token, *choices: Token | None) -> tree.TypeVariable:
        return tree.TypeVariable(_span(meta), _name(name), tuple(_name(c) for c in choices if c is not None))

    def tensor(
        self, meta: Meta, role: Token, name: Token, element: Token, shape: tuple[_Extent, ...], default: Any
    ) -> tree.TensorDeclaration:
        extents = tuple(extent for extent, _ in shape)
        broadcast = tuple(axis for axis, (_, is_broadcast) in enumerate(shape) if is_broadcast)
        return tree.TensorDeclaration(_span(meta), str(role), _name(name), _name(element), extents, broadcast, default)

    def extents(self, meta: Meta, *extents: _Extent | None) -> tuple[_Extent, ...]:
        return tuple(extent for extent in extents if extent is not None)

    def extent(self, meta: Meta, extent: tree.Expression, sign: Token | None) -> _Extent:
        return extent, sign is not None

    def require(self, meta: Meta, condition: tree.Expression) -> tree.Require:
        return tree.Require(_span(meta), condition)

    def each(self, meta: Meta, *binders: tree.Binder) -> tree.Each:
        return tree.Each(_span(meta), binders)

    def over(self, meta: Meta, *binders: tree.Binder) -> tree.Over:
        return tree.Over(_span(meta), binders)

    def binder(self, meta: Meta, name: Token, extent: Any, bound: Any) -> tree.Binder:
        return tree.Binder(_span(meta), _name(name), extent, bound)

    def let(self, meta: Meta, name: Token, *rest: Any) -> tree.Let:
        *params, value = rest
        return tree.Let(_span(meta), _name(name), tuple(p for p in params if p is not None), value)

    def index_param(self, meta: Meta, name: Token) -> tree.IndexParam:
        return tree.IndexParam(_span(meta), _name(name))

    def axis_param(self, meta: Meta, name: Token, extent: tree.Expression) -> tree.AxisParam:
        return tree.AxisParam(_span(meta), _name(name), extent)

    def whole_param(self, meta: Meta) -> tree.WholeParam:
        return tree.WholeParam(_span(meta))

    def definition(self, meta: Meta, name: Token, value: tree.Expression) -> tree.Definition:
        return tree.Definition(_span(meta), _name(name), value)

    def write(self, meta: Meta, name: Token, *rest: Any) -> tree.WriteStatement:
        *subscripts, value = rest
        return tree.WriteStatement(_span(meta), _name(name), tuple(s for s in subscripts if s is not None), value)

    def addition(self, meta: Meta, name: Token, *rest: Any) -> tree.WriteStatement:
        *subscripts, _, value = rest
        given = tuple(s for s in subscripts if s is not None)
        return tree.WriteStatement(_span(meta), _name(name), given, value, adds=True)

    def schedule(self, meta: Meta, *settings: Any) -> tree.Schedule:
        return tree.Schedule(_span(meta), tuple(s for s in settings if isinstance(s, tree.Setting)))

    def setting(self, meta: Meta, name: Token, value: tree.Number | tree.Boolean | Token) -> tree.Setting:
        given = value.value if isinstance(value, tree.Number | tree.Boolean) else _name(value)
        return tree.Setting(_span(meta), _name(name), given)

    def conditional(self, meta: Meta, condition: Any, then: Any, otherwise: Any) -> tree.Conditional:
        return tree.Conditional(_span(meta), condition, then, otherwise)

    or_ = _binary("or")
    and_ = _binary("and")

    def not_(self, meta: Meta, operand: tree.Expression) -> tree.Unary:
        return tree.Unary(_span(meta), "not", operand)

    def comparison(self, meta: Meta, *items: Any) -> tree.Comparison:
        return tree.Comparison(_span(meta), items[::2], tuple(map(str, items[1::2])))

    def binary(self, meta: Meta, left: Any, operator: Token, right: Any) -> tree.Binary:
        return tree.Binary(_span(meta), str(operator), _span(operator), left, right)

    def sign(self, meta: Meta, operator: Token, operand: tree.Expression) -> tree.Unary:
        return tree.Unary(_span(meta), str(operator), operand)

    def axis_reduction(self, meta: Meta, function: Token, *items: Any) -> tree.AxisReduction:
        *axes, body = items
        return tree.AxisReduction(_span(meta), _name(function), tuple(axes), body)

    def axis(self, meta: Meta, name: Token, extent: tree.Expression) -> tree.Axis:
        return tree.Axis(_span(meta), _name(name), extent)

    def subscripted(self, meta: Meta, name: Token, *subscripts: Any) -> tree.Subscripted:
        return tree.Subscripted(_span(meta), _name(name), tuple(s for s in subscripts if s is not None))

    def call(self, meta: Meta, function: Token, *arguments: Any) -> tree.Call:
        return tree.Call(_span(meta), _name(function), tuple(a for a in arguments if a is not None))

    def keyword_argument(self, meta: Meta, name: Token, value: tree.Expression) -> tree.KeywordArgument:
        return tree.KeywordArgument(_span(meta), _name(name), value)

    def whole(self, meta: Meta) -> tree.Whole:
        return tree.Whole(_span(meta))

    def slice_to(self, meta: Meta, stop: tree.Expression) -> tree.Slice:
        return tree.Slice(_span(meta), None, stop)

    def slice_from(self, meta: Meta, start: tree.Expression, stop: tree.Expression | None) -> tree.Slice:
        return tree.Slice(_span(meta), start, stop)

    def name(self, meta: Meta, token: Token) -> tree.Reference:
        return tree.Reference(_span(meta), _name(token))

    def parenthesised(self, meta: Meta, inner: Any) -> tree.Expression:
        return inner  # type: ignore[no-any-return]

    def number(self, meta: Meta, token: Token) -> tree.Number:
        return tree.Number(_span(meta), _number(token))

    def boolean(self, meta: Meta, token: Token) -> tree.Boolean:
        return tree.Boolean(_span(meta), token == "true")

    def start(self, meta: Meta, attention: tree.AttentionNode) -> tree.AttentionNode:
        return attention
