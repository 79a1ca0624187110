"""A spec cut into the lines that the formatter will print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lark import Token

from attndsl.syntax import tree
from attndsl.syntax.parse import parse, tokens
from attndsl.syntax.source import Source
from attndsl.syntax.spacing import spaces

INDENT = 4
"""The columns by which a statement stands in, and a continuation within it."""

_CLOSERS = (")", "]", "}")


@dataclass
class Line:
    """A line to be: its tokens, each with whether a space stands before it, and its comment.

    `kind` is the statement that begins here, if any does; `text` is what will be printed, without indent and comment.
    """

    indent: int
    kind: type[tree.Node] | None
    blank_before: bool
    tokens: list[tuple[Token, bool]] = field(default_factory=list)
    comment: str = ""
    text: str = ""


def cut(source: Source) -> list[Line]:
    """The lines of a spec; raises SpecError where it cannot be read.

    A line begins where a statement does and where the author began one; a `{` stays with what it opens.
    """
    attention = parse(source)
    first, last = attention.span.start, attention.span.end - 1
    kinds = {statement.span.start: type(statement) for statement in attention.statements}
    items = [token for token in tokens(source) if not token.isspace()]
    code = [token for token in items if token.type != "COMMENT"]
    spaced = dict(zip(map(_start, code), spaces(code, _in_declarations(code, kinds)), strict=True))
    opening = next(_start(token) for token in code if token == "{")
    places = _places(items, last + 1)

    lines: list[Line] = []
    for n, (item, place) in enumerate(zip(items, places, strict=True)):
        start, is_comment = _start(item), item.type == "COMMENT"
        breaks = source.text.count("\n", _end(items[n - 1]), start) if n else 0
        after_comment = n > 0 and items[n - 1].type == "COMMENT"
        outside = place <= first or place > last
        between = outside or place in kinds or place == last
        if not n or after_comment or (breaks and start != opening) or (between and not outside and not is_comment):
            if outside or start in (opening, last):
                indent = 0
            elif between:
                indent = INDENT
            else:
                indent = (INDENT if place > opening else 0) + (0 if item in _CLOSERS else INDENT)
            opened = n > 0 and _start(items[n - 1]) == opening
            blank = breaks > 1 and between and start != last and not opened
            lines.append(Line(indent, kinds.get(start), blank))
        if is_comment:
            lines[-1].comment = item.rstrip()
        else:
            lines[-1].tokens.append((item, spaced[start]))
    return lines


def _start(token: Token) -> int:
    assert token.start_pos is not None
    return token.start_pos


def _end(token: Token) -> int:
    assert token.end_pos is not None
    return token.end_pos


def _places(items: Sequence[Token], end: int) -> list[int]:
    """For each item where it stands; for a comment where the token after it stands, `end` where none does."""
    places: list[int] = []
    place = end
    for item in reversed(items):
        place = place if item.type == "COMMENT" else _start(item)
        places.append(place)
    return places[::-1]


def _in_declarations(code: Sequence[Token], kinds: Mapping[int, type[tree.Node]]) -> list[bool]:
    """For each token, whether the statement that it belongs to declares a tensor."""
    result: list[bool] = []
    kind: type[tree.Node] | None = None
    for token in code:
        kind = kinds.get(_start(token), kind)
        result.append(kind is tree.TensorDeclaration)
    return result
