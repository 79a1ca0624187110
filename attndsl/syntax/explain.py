"""What to tell of a text that the parser refused at a token."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache

from lark import Lark, UnexpectedToken

from attndsl.diagnostics import Diagnostic, syntax
from attndsl.syntax import operands
from attndsl.syntax.forms import foreign_form
from attndsl.syntax.lessons import LESSONS, Lesson
from attndsl.syntax.place import ENDS, Place, accepted
from attndsl.syntax.source import Source, Span

STATEMENTS = ("dims", "types", "input", "output", "inout", "temp", "require", "each", "over", "let", "schedule")
"""The words that begin statements."""

_WORD = re.compile(r"[A-Za-z_]\w*")
_EXPRESSION_WORDS = {"IF", "NOT", "THEN", "ELSE", "AND", "OR"}
_VALUES = {"NUMBER", "LPAR", "SUM", "TRUE", "FALSE", "IF", "NOT", "SIGN"}
_OPERATORS = {"SIGN", "FACTOR", "DOT", "COMPARISON", "BIT_OR", "BIT_XOR", "BIT_AND", "SHIFT", "AND", "OR", "NOT"}
_DEFINING = {"EQUAL", "ADDS"}


def explain(error: UnexpectedToken, source: Source, parser: Lark) -> Diagnostic:
    """The error of a text that fails at a token: by what stands there, then by the state of the parser."""
    place = Place(error, source, parser)
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


# --- rules, in order: what the text around the token tells


def _empty(place: Place) -> Diagnostic | None:
    if place.previous is None and place.type == "$END":
        return syntax.EmptySpec(Span(0, 0))
    return None


def _no_header(place: Place) -> Diagnostic | None:
    if place.previous is None:
        return syntax.UnknownStatement(place.span, word=place.word, known=("attention",))
    return None


def _after_end(place: Place) -> Diagnostic | None:
    return syntax.TextAfterEnd(place.span) if place.accepts == {"$END"} else None


def _semicolon(place: Place) -> Diagnostic | None:
    return syntax.Semicolon(place.span) if place.type == "SEMICOLON" else None


def _reserved(place: Place) -> Diagnostic | None:
    """A word of the language where a name stands."""
    if place.type in ("NAME", "$END") or not _WORD.fullmatch(place.word) or "NAME" not in place.accepts:
        return None
    if place.word in STATEMENTS and place.begins_line(place.token):
        return None
    if "LET" in place.accepts or ("NUMBER" in place.accepts and place.type in _EXPRESSION_WORDS):
        return None
    return syntax.ReservedName(place.span, word=place.word)


def _statement(place: Place) -> Diagnostic | None:
    """`inptu q : …`: a line that begins with a word of no statement."""
    previous = place.previous
    if "LET" in place.accepts and place.type in _VALUES:
        return syntax.LoneExpression(place.span)
    if previous is None or previous.type != "NAME" or not place.begins_line(previous) or place.accepts <= _DEFINING:
        return None
    if place.type == "NAME":
        return syntax.UnknownStatement(place.span_of(previous), word=str(previous), known=STATEMENTS)
    return syntax.LoneExpression(place.span_of(previous))


def _runs_on(place: Place) -> Diagnostic | None:
    """`let x = 1 +` before `score = …`, whose name the parser took for the value that is missing."""
    if place.type not in _DEFINING or place.head is None:
        return None
    operator, head = place.head
    if not place.begins_line(head):
        return None
    if operator.type == "RPAR" and (function := place.reduction(operator)) is not None:
        return syntax.MissingBody(place.span_of(operator), function=str(function))
    if operator.type not in _OPERATORS | _DEFINING | {"COMMA", "IN"}:
        return None
    return syntax.MissingExpression(place.span_of(operator), found=f"`{head}`")


def _side_by_side(place: Place) -> Diagnostic | None:
    """`sqrt D` and `q[i,:] k[j,:]`, of which the second seemed to begin a statement."""
    if place.head is None or place.bracket in ("(", "["):
        return None
    first, second = place.head
    if first.type not in ENDS or place.begins_line(second):
        return None
    if second is not place.previous:
        return syntax.MissingOperator(place.span_of(second)) if place.accepts <= _DEFINING else None
    if first.type != "NAME" or place.is_declared(first) or not _in_value(place):
        return syntax.MissingComma(place.span_of(second))
    return syntax.CallWithoutParentheses(place.span_of(second), function=str(first), argument=str(second))


def _equals(place: Place) -> Diagnostic | None:
    if place.type == "EQUAL" and place.previous is not None and place.previous.type in ENDS and _in_value(place):
        return syntax.EqualsForComparison(place.span)
    return None


def _slice(place: Place) -> Diagnostic | None:
    colons = [t for t in (place.previous, place.token) if t is not None and t.type == "COLON"]
    inside = "COMMA" in place.accepts or "RSQB" in place.accepts
    return syntax.SliceStep(place.span_of(colons[-1])) if colons and inside and place.bracket == "[" else None


def _subscripts(place: Place) -> Diagnostic | None:
    closing = place.previous is not None and place.previous.type in ("RPAR", "RSQB", "NUMBER")
    if place.type != "LSQB" or not closing:
        return None
    chain = operands.before(place.text, place.start) + operands.after(place.text, place.start)
    return syntax.SubscriptOfExpression(place.span, written=_in_one_pair(chain))


def _in_one_pair(chain: str) -> str:
    """`k[j,0]` for `k[j,:][0]` and `k[j][0]`: what follows is of the axes that were taken whole, or left out."""
    first, *later = chain.split("][")
    name, bracket, inside = first.partition("[")
    subscripts = inside.split(",")
    for group in later:
        wholes = iter([number for number, each in enumerate(subscripts) if each.strip() == ":"])
        for each in group.split(","):
            whole = next(wholes, len(subscripts))
            subscripts[whole : whole + 1] = [each]
    return name + bracket + ",".join(subscripts)


def _parentheses(place: Place) -> Diagnostic | None:
    """`1 + if …`, `a == not b`, `a . -b`: an operand that binds less tightly than its operator."""
    previous = place.previous
    if previous is None:
        return None
    if place.type in ("IF", "NOT", "SIGN") and previous.type in _OPERATORS and "NUMBER" in place.accepts:
        return syntax.NeedsParentheses(place.span, word=place.word, operator=str(previous))
    if place.type == "IN" and place.opens_call and [t.type for t in place.before[-4:-3]] == ["DOT"]:
        function = place.before[-3]
        return syntax.NeedsParentheses(place.span_of(function), word=str(function), operator=".")
    return None


def _body(place: Place) -> Diagnostic | None:
    """`max(r in R)` before nothing or before a word that takes parentheses, and `max(r in R, x[r])`."""
    previous = place.previous
    if previous is not None and previous.type == "RPAR" and "NUMBER" in place.accepts:
        function = place.reduction(previous)
        assert function is not None, "a value follows no other `)`"
        if place.type in ("IF", "NOT"):
            return syntax.NeedsParentheses(place.span, word=place.word, operator=f"{function}(…)")
        return syntax.MissingBody(place.span_of(previous), function=str(function))
    function = place.reduction(None)
    commas = [token for token in place.before[-2:] if token.type == "COMMA"]
    if function is None or not commas or not place.accepts <= {"NAME", "IN"} or place.type == "NAME":
        return None
    if previous is commas[0] and place.type in ("RPAR", "RSQB", "RBRACE"):
        return None
    return syntax.MissingBody(place.span_of(commas[0]), function=str(function))


def _comma(place: Place) -> Diagnostic | None:
    previous = place.previous
    if previous is not None and previous.type == "COMMA" and place.type in ("RPAR", "RSQB", "RBRACE"):
        return syntax.TrailingComma(place.span_of(previous), closer=place.word)
    declares = "COLON" in place.accepts and place.bracket != "["  # between these a `:` is a slice's
    if previous is None or previous.type not in ENDS or declares or place.accepts & {"THEN", "ELSE"}:
        return None
    if "IN" in place.accepts and not (place.opens_call and place.before[-3].type == "NAME"):
        return None
    if place.accepts == {"LSQB"}:
        return None
    begins = place.type in ("NAME", "NUMBER", "LPAR", "SUM", "TRUE", "FALSE")
    if begins and place.bracket in ("(", "["):
        return syntax.MissingComma(place.span)
    if previous.type == "NAME" and (place.begins_line(previous) or place.type == "NAME"):
        return None
    if begins and place.type != "NAME" and "EQUAL" not in place.accepts:
        return syntax.MissingOperator(place.span)
    return None


_RULES: tuple[Callable[[Place], Diagnostic | None], ...] = (
    _empty,
    _no_header,
    _after_end,
    foreign_form,
    _runs_on,
    _semicolon,
    _reserved,
    _equals,
    _slice,
    _subscripts,
    _parentheses,
    _body,
    _side_by_side,
    _comma,
    _statement,
)


def _in_value(place: Place) -> bool:
    """Whether an expression stands before the token, rather than what an `=` may define."""
    for token in reversed(place.before):
        if token.type in ("EQUAL", "ADDS", "REQUIRE", "IF", "THEN", "ELSE", "AND", "OR", "NOT"):
            return True
        if token.type in ("LET", "LBRACE", "COLON", "TYPES") or (token.type == "NAME" and place.begins_line(token)):
            return False
    return False


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
    "NAME": "a name", "NUMBER": "a number", "SIGN": "a sign", "EQUAL": "`=`", "ADDS": "`+=`", "COLON": "`:`",
    "COMMA": "`,`", "RSQB": "`]`", "RPAR": "`)`", "LSQB": "`[`", "LPAR": "`(`", "LBRACE": "`{`", "RBRACE": "`}`",
    "BIT_OR": "`|`", "SEMICOLON": "`;`", "$END": "the end",
}  # fmt: skip
