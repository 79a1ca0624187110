"""What to tell of a text that the parser refused at a token."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache

from lark import Lark, Token, UnexpectedToken

from attndsl.diagnostics import Diagnostic, syntax
from attndsl.syntax.lessons import LESSONS, Lesson
from attndsl.syntax.source import Source, Span

STATEMENTS = ("dims", "types", "input", "output", "require", "each", "over", "let", "schedule")
"""The words that begin statements."""

_WORD = re.compile(r"[A-Za-z_]\w*")
_FOREIGN = {
    "&&": "write `and`",
    "||": "write `or`",
    "**": "multiply: `x * x`",
    "===": "compare with `==`",
    "!==": "compare with `!=`",
    "<>": "compare with `!=`",
    "=<": "compare with `<=`",
    "=>": "compare with `>=`",
    "->": "write `=`",
    ":=": "write `=`",
    "+=": "every name is defined once: `let total = a + b`",
    "-=": "every name is defined once: `let total = a - b`",
    "*=": "every name is defined once: `let total = a * b`",
    "/=": "compare with `!=`",
    "++": "write `+ 1`",
    "--": "write `- 1`; a comment begins with `#`",
}
_ENDS = {"NAME", "NUMBER", "TRUE", "FALSE", "RPAR", "RSQB"}
_EXPRESSION_WORDS = {"IF", "NOT", "THEN", "ELSE", "AND", "OR"}
_VALUES = {"NUMBER", "LPAR", "SUM", "TRUE", "FALSE", "IF", "NOT", "SIGN"}
_OPERATORS = {"SIGN", "FACTOR", "DOT", "COMPARISON", "BIT_OR", "BIT_XOR", "BIT_AND", "SHIFT", "AND", "OR", "NOT"}


def explain(error: UnexpectedToken, source: Source, parser: Lark) -> Diagnostic:
    """The error of a text that fails at a token: by what stands there, then by the state of the parser."""
    place = _Place(error, source, parser)
    for rule in _RULES:
        diagnostic = rule(place)
        if diagnostic is not None:
            return diagnostic
    learned = _lessons(parser)
    lesson = learned.get(error.state.position) or learned.get(frozenset(place.accepts))
    if lesson is not None:
        return lesson(place.gap, place.found)
    if "THEN" in place.accepts:
        return syntax.MissingThen(place.gap)
    if "ELSE" in place.accepts:
        return syntax.MissingElse(place.gap)
    return syntax.Unexpected(place.span, found=place.found, wanted=_wanted(place.accepts))


class _Place:
    """The token that does not fit, and what stands around it."""

    def __init__(self, error: UnexpectedToken, source: Source, parser: Lark) -> None:
        self.text = source.text
        token = error.token
        at_end = token.type == "$END"
        start = len(self.text.rstrip()) if at_end else token.start_pos
        self.start: int = start if start is not None else 0
        self.type: str = token.type
        self.word = "" if at_end else str(token)
        self.span = Span(self.start, self.start + max(1, len(self.word)))
        before = [t for t in parser.lex(self.text) if t.start_pos is not None and t.start_pos < self.start]
        self.before: list[Token] = before
        self.previous: Token | None = before[-1] if before else None
        self.accepts = accepted(error)

    @property
    def gap(self) -> Span:
        """Where something is missing: at the token, or at the end of the line before where the token begins a line."""
        end = None if self.previous is None else self.previous.end_pos
        if end is None or "\n" not in self.text[end : self.start]:
            return self.span
        return Span(end, end + 1)

    @property
    def found(self) -> str:
        """The token as a message names it."""
        word = self.word if len(self.word) <= 32 else self.word[:31] + "…"
        return f"`{word}`" if word else "the end of the spec"

    @property
    def touches(self) -> bool:
        """Whether nothing stands between the token and the one before."""
        return self.previous is not None and self.previous.end_pos == self.start

    def begins_line(self, token: Token | None) -> bool:
        """Whether a token is the first of its line or of the body."""
        if token is None or token.start_pos is None:
            return token is None
        head = self.text[: token.start_pos].rpartition("\n")[2].strip()
        return head == "" or head.endswith("{")

    def span_of(self, token: Token) -> Span:
        """Where a token stands."""
        assert token.start_pos is not None and token.end_pos is not None
        return Span(token.start_pos, token.end_pos)


# --- rules, in order: what the text around the token tells


def _empty(place: _Place) -> Diagnostic | None:
    if place.previous is None and place.type == "$END":
        return syntax.EmptySpec(Span(0, 0))
    return None


def _no_header(place: _Place) -> Diagnostic | None:
    if place.previous is None:
        return syntax.UnknownStatement(place.span, word=place.word, known=("attention",))
    return None


def _after_end(place: _Place) -> Diagnostic | None:
    return syntax.TextAfterEnd(place.span) if place.accepts == {"$END"} else None


def _foreign(place: _Place) -> Diagnostic | None:
    """`&&`, `//` and their like, of which the grammar reads the first half."""
    head = place.start - len(place.previous) if place.touches and place.previous is not None else place.start
    for comment in ("//", "/*"):
        if place.text.startswith(comment, head):
            return syntax.ForeignComment(Span(head, head + 2), found=comment)
    for operator, written in sorted(_FOREIGN.items(), key=lambda item: -len(item[0])):
        if place.text.startswith(operator, head) and head + len(operator) > place.start:
            return syntax.ForeignOperator(Span(head, head + len(operator)), found=operator, written=written)
    return None


def _semicolon(place: _Place) -> Diagnostic | None:
    return syntax.Semicolon(place.span) if place.type == "SEMICOLON" else None


def _half_number(place: _Place) -> Diagnostic | None:
    """`.5` and `1.`."""
    if place.type == "DOT" and (digits := re.match(r"\.(\d+)\b", place.text[place.start :])):
        span = Span(place.start, place.start + len(digits.group()))
        return syntax.BadNumber(span, found=digits.group(), written=f"0{digits.group()}")
    previous = place.previous
    if previous is not None and previous.type == "DOT" and len(place.before) > 1:
        number = place.before[-2]
        if number.type == "NUMBER" and number.end_pos == previous.start_pos and number.isdigit():
            span = Span(place.span_of(number).start, place.span_of(previous).end)
            return syntax.BadNumber(span, found=f"{number}.", written=f"{number}.0")
    return None


def _reserved(place: _Place) -> Diagnostic | None:
    """A word of the language where a name stands."""
    if place.type in ("NAME", "$END") or not _WORD.fullmatch(place.word) or "NAME" not in place.accepts:
        return None
    if place.word in STATEMENTS and place.begins_line(_token_at(place)):
        return None
    if "LET" in place.accepts or ("NUMBER" in place.accepts and place.type in _EXPRESSION_WORDS):
        return None
    return syntax.ReservedName(place.span, word=place.word)


def _statement(place: _Place) -> Diagnostic | None:
    """`inptu q : …`: a line that begins with a word of no statement."""
    previous = place.previous
    if "LET" in place.accepts and place.type in _VALUES:
        return syntax.LoneExpression(place.span)
    if previous is None or previous.type != "NAME" or not place.begins_line(previous) or place.accepts == {"EQUAL"}:
        return None
    if place.type == "NAME":
        return syntax.UnknownStatement(place.span_of(previous), word=str(previous), known=STATEMENTS)
    return syntax.LoneExpression(place.span_of(previous))


def _equals(place: _Place) -> Diagnostic | None:
    if place.type == "EQUAL" and place.previous is not None and place.previous.type in _ENDS and _in_value(place):
        return syntax.EqualsForComparison(place.span)
    return None


def _slice(place: _Place) -> Diagnostic | None:
    colons = [t for t in (place.previous, _token_at(place)) if t is not None and t.type == "COLON"]
    inside = "COMMA" in place.accepts or "RSQB" in place.accepts
    return syntax.Slice(place.span_of(colons[0])) if colons and inside and _open(place) == "[" else None


def _subscripts(place: _Place) -> Diagnostic | None:
    closing = place.previous is not None and place.previous.type in ("RPAR", "RSQB", "NUMBER")
    return syntax.SubscriptOfExpression(place.span) if place.type == "LSQB" and closing else None


def _parentheses(place: _Place) -> Diagnostic | None:
    """`1 + if …`, `a == not b`, `a . -b`: an operand that binds less tightly than its operator."""
    previous = place.previous
    if previous is None:
        return None
    if place.type in ("IF", "NOT", "SIGN") and previous.type in _OPERATORS and "NUMBER" in place.accepts:
        return syntax.NeedsParentheses(place.span, word=place.word, operator=str(previous))
    if place.type == "IN" and [t.type for t in place.before[-4:]] == ["DOT", "SUM", "LPAR", "NAME"]:
        return syntax.NeedsParentheses(place.span_of(place.before[-3]), word="sum", operator=".")
    return None


def _comma(place: _Place) -> Diagnostic | None:
    previous = place.previous
    if previous is not None and previous.type == "COMMA" and place.type in ("RPAR", "RSQB", "RBRACE"):
        return syntax.TrailingComma(place.span_of(previous), closer=place.word)
    if previous is None or previous.type not in _ENDS or place.accepts & {"IN", "COLON", "THEN", "ELSE"}:
        return None
    begins = place.type in ("NAME", "NUMBER", "LPAR", "SUM", "TRUE", "FALSE")
    if begins and _open(place) in ("(", "["):
        return syntax.MissingComma(place.span)
    if previous.type == "NAME" and place.begins_line(previous):
        return None
    two = previous.type == "NAME" and len(place.before) > 1 and place.before[-2].type in _ENDS
    if two:  # names in a row, of which the second seemed to begin a statement
        return syntax.MissingComma(place.span_of(previous))
    if begins and place.type != "NAME" and "EQUAL" not in place.accepts:
        return syntax.MissingOperator(place.span)
    return None


_RULES: tuple[Callable[[_Place], Diagnostic | None], ...] = (
    _empty,
    _no_header,
    _foreign,
    _after_end,
    _semicolon,
    _half_number,
    _reserved,
    _equals,
    _slice,
    _subscripts,
    _parentheses,
    _comma,
    _statement,
)


def _token_at(place: _Place) -> Token | None:
    if place.type == "$END":
        return None
    return Token(place.type, place.word, start_pos=place.start, end_pos=place.span.end)


def _in_value(place: _Place) -> bool:
    """Whether an expression stands before the token, rather than what an `=` may define."""
    for token in reversed(place.before):
        if token.type in ("EQUAL", "REQUIRE", "IF", "THEN", "ELSE", "AND", "OR", "NOT"):
            return True
        if token.type in ("LET", "LBRACE", "COLON", "TYPES") or (token.type == "NAME" and place.begins_line(token)):
            return False
    return False


def _open(place: _Place) -> str:
    """The innermost bracket that is open before the token."""
    depth = 0
    for token in reversed(place.before):
        if token.type in ("RPAR", "RSQB", "RBRACE"):
            depth += 1
        elif token.type in ("LPAR", "LSQB", "LBRACE"):
            if depth == 0:
                return str(token)
            depth -= 1
    return ""


def accepted(error: UnexpectedToken) -> set[str]:
    """The types of the tokens that the parser would have gone on with."""
    return set(error.interactive_parser.accepts())  # type: ignore[no-untyped-call]


@cache
def _lessons(parser: Lark) -> dict[int | frozenset[str], Lesson]:
    """The lesson of every state of the parser in which an example fails, and of what it would accept there."""
    learned: dict[int | frozenset[str], Lesson] = {}
    for lesson, examples in LESSONS.items():
        for error in _failures(parser, examples):
            learned.setdefault(error.state.position, lesson)
            learned.setdefault(frozenset(accepted(error)), lesson)
    return learned


def _failures(parser: Lark, examples: tuple[str, ...]) -> Iterator[UnexpectedToken]:
    for example in examples:
        try:
            parser.parse(example)
        except UnexpectedToken as error:
            yield error


def _wanted(accepts: set[str]) -> str:
    """The few things that can stand at a place, in words; empty where there are many."""
    words = sorted(_PLAIN.get(name, f"`{name.lower()}`") for name in accepts)
    return " or ".join(words) if 0 < len(words) <= 4 else ""


_PLAIN = {
    "NAME": "a name", "NUMBER": "a number", "SIGN": "a sign", "EQUAL": "`=`", "COLON": "`:`", "COMMA": "`,`",
    "RSQB": "`]`", "RPAR": "`)`", "LSQB": "`[`", "LPAR": "`(`", "LBRACE": "`{`", "RBRACE": "`}`", "BIT_OR": "`|`",
    "SEMICOLON": "`;`", "$END": "the end",
}  # fmt: skip
