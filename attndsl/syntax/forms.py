"""Forms of other languages, told by the tokens around the place where the parser stopped."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise

from attndsl.diagnostics import Diagnostic, characters, foreign, forms, names, syntax
from attndsl.syntax import operands
from attndsl.syntax.foreign import extent
from attndsl.syntax.place import ENDS, Place
from attndsl.syntax.source import Span

_NEVER = re.compile(r"-\s*(?:inf|math\.inf|np\.inf|\d+e\+?\d+)", re.IGNORECASE)
_ASSIGNED = re.compile(r"(?P<condition>.*?\S)\s*(?:\bthen\b|[:{]|(?<=\)))\s*(?P<name>\w+)\s*=\s*(?P<value>[^=].*)")
_OTHERWISE = re.compile(r"[;}]?\s*\belse\b[\s:{]*(?:\w+\s*=\s*)?(?P<other>[^}]*)")
_PROSE = re.compile(r"[ \t]*(--|%)[ \t]*[A-Za-z]\w*[ \t]+[A-Za-z]")
_LOOSER = re.compile(r"\b(?:and|or|not|if|then|else|require)\b")
_OPENS = re.compile(r"(?:[:{]|\bthen)$")
_MEMBERS = re.compile(r"(?P<between>range\s*)?(?P<bracket>[\[(])(?P<listed>.*)[\])]")
_COMMA = re.compile(r"\s*,\s*(?![^()\[\]]*[)\]])")


def foreign_form(place: Place) -> Diagnostic | None:
    """The error of a form that another language has; None where it is none that is known."""
    for rule in _RULES:
        diagnostic = rule(place)
        if diagnostic is not None:
            return diagnostic
    return None


def _statement_if(place: Place) -> Diagnostic | None:
    """`if j > i then score = -inf`."""
    if place.type != "IF" or not place.begins_line(place.token) or "LET" not in place.accepts:
        return None
    rest = place.rest_of_line
    if _OPENS.search(rest):
        rest = f"{rest} {place.next_line}"
    assigned = _ASSIGNED.match(rest)
    if assigned is None:
        return None
    condition, name, value = _unwrapped(assigned["condition"]), assigned["name"], assigned["value"]
    if _NEVER.match(value):
        written = f"`mask = not ({condition})`, which reductions take: the keys where it is false do not count"
        return forms.ConditionalStatement(place.span, written=written)
    other = _OTHERWISE.search(value)
    values = (value[: other.start()], other["other"]) if other else (value, "…")
    then, otherwise = (part.strip(" ;{}") for part in values)
    definition = name if name in ("score", "mask") else f"let {name}"
    written = f"a definition chooses its value: `{definition} = if {condition} then {then} else {otherwise}`"
    return forms.ConditionalStatement(place.span, written=written)


def _condition_last(place: Place) -> Diagnostic | None:
    """`1 if causal else 2`, and `over j in N if j <= i`."""
    if place.type != "IF" or not _goes_on(place):
        return None
    condition = operands.value_after(place.text, place.span.end, "else")
    if place.line_word in ("each", "over"):
        written = f"say which keys count: `mask = {condition or 'condition'}`"
        return characters.ForeignOperator(place.span, found="if", written=written)
    then = operands.value_before(place.text, place.start)
    rest = place.text[place.span.end :].partition("\n")[0]
    other = operands.value_after(rest, rest.find("else") + 4) if " else " in rest else "…"
    return forms.ConditionLast(place.span, written=f"if {condition or 'c'} then {then or 'x'} else {other}")


def _comment(place: Place) -> Diagnostic | None:
    """`-- the scores`, on a line of its own."""
    start = place.text.rfind("\n", 0, place.start) + 1
    begins = _PROSE.match(place.text, start)
    if begins is None:
        return None
    return characters.ForeignComment(Span(*begins.span(1)), found=begins[1])


def _declaration(place: Place) -> Diagnostic | None:
    """`types T : f16 or bf16`, `dims B = 4`."""
    if place.line_word == "types" and place.type in ("COLON", "OR", "LBRACE", "LSQB", "IN"):
        return forms.TypeChoices(place.span)
    if place.line_word == "dims" and place.type == "EQUAL":
        return forms.DimWithValue(place.span, name=str(place.previous))
    return None


def _block(place: Place) -> Diagnostic | None:
    """`over j in N:` and `each i in M {`, and a header that ends with `:`."""
    if place.type not in ("COLON", "LBRACE") or place.bracket not in ("", "{"):
        return None
    if place.line_word == "attention":
        return syntax.MissingBrace(place.span) if "LBRACE" in place.accepts else None
    if place.line_word not in ("each", "over"):
        return None
    if place.type == "COLON" and place.rest_of_line:
        return _no_range(place, place.rest_of_line)
    return forms.NoBlock(place.span, word=place.line_word)


def _range(place: Place) -> Diagnostic | None:
    """`over j in 0 to N`, `over j in [0, N)`."""
    if place.line_word not in ("each", "over") or place.previous is None:
        return None
    if place.type == "TO" and place.previous.type in ENDS and _goes_on(place):
        return _no_range(place, place.rest_of_line)
    if place.word == "[" and place.previous.type == "IN":
        low, comma, high = place.rest_of_line.partition(",")
        if comma:
            return forms.NoRange(place.span, written=extent(low.strip(), re.split(r"[\])]", high)[0].strip()))
    return None


def _no_range(place: Place, high: str) -> Diagnostic:
    low = operands.before(place.text, place.start)
    return forms.NoRange(place.span, written=extent(low, re.split(r"[:,{#]", high)[0].strip()))


def _let(place: Place) -> Diagnostic | None:
    """`let x : f32 = 1.0`, `let mut x = 1`, `let f(t) = t + 1`."""
    types = [token.type for token in place.before[-2:]]
    if types != ["LET", "NAME"]:
        return None
    name = str(place.previous)
    if place.type == "COLON":
        return forms.TypedDefinition(place.span, name=name)
    if place.type == "NAME" and place.rest_of_line.startswith("="):
        return forms.TypedDefinition(place.span_of(place.before[-1]), name=place.word)
    if place.type == "LPAR":
        parameters = place.rest_of_line.partition(")")[0] if ")" in place.rest_of_line else "…"
        return forms.FunctionDefinition(place.span, name=name, parameters=parameters)
    return None


def _membership(place: Place) -> Diagnostic | None:
    """`i in N`, `i not in N`."""
    if place.type not in ("IN", "NOT") or place.previous is None or place.previous.type not in ENDS:
        return None
    found = re.match(r"(not\s+)?in\b", place.text[place.start :])
    if found is None or (found[1] is None and place.opens_call):
        return None
    element = _LOOSER.split(operands.value_before(place.text, place.start))[-1].strip() or "i"
    test = _test(element, operands.after(place.text, place.start + found.end()) or "N")
    denied = f"not {test}" if test.startswith("(") else f"not ({test})"
    return forms.NoMembership(place.span, written=denied if found[1] else test)


def _test(element: str, members: str) -> str:
    """What asks whether a number is one of a list, or lies in a range or below an extent."""
    found = _MEMBERS.fullmatch(members)
    listed = [] if found is None else [each for each in _COMMA.split(found["listed"].strip()) if each]
    if found is None or not listed:
        return f"0 <= {element} < {members}"
    if found["between"] or (found["bracket"] == "(" and len(listed) == 1):
        low, high = ["0", *listed][-2:] if len(listed) < 3 else listed[:2]
        return f"{low} <= {element} < {high}"
    either = " or ".join(f"{element} == {each}" for each in listed)
    return either if len(listed) == 1 else f"({either})"


def _word(place: Place) -> Diagnostic | None:
    """`i mod 2`, `sum(x for j in N)`: a word between values, of which the parser sees that it begins no statement."""
    for token in (*place.before[-2:], place.token):
        if token is None or token.type != "NAME" or place.begins_line(token) or place.is_declared(token):
            continue
        written = foreign.WORD_OPERATORS.get(str(token))
        if written is not None:
            return characters.ForeignOperator(place.span_of(token), found=str(token), written=written)
    return None


def _cast(place: Place) -> Diagnostic | None:
    """`(float) i`."""
    here = () if place.token is None else (place.token,)
    for tokens in (place.before[-4:], (*place.before[-3:], *here)):
        if [token.type for token in tokens[:3]] == ["LPAR", "NAME", "RPAR"] and str(tokens[1]) in foreign.FUNCTIONS:
            operand = operands.after(place.text, place.span_of(tokens[2]).end)
            written = foreign.ours(str(tokens[1]), (operand,))
            return characters.ForeignOperator(place.span_of(tokens[1]), found=f"({tokens[1]})", written=written)
    return None


def _list(place: Place) -> Diagnostic | None:
    """`[1, 2]`, `{1}` and `(1, 2)`."""
    if place.word in ("[", "{") and "NUMBER" in place.accepts and "LET" not in place.accepts:
        return forms.NoList(place.span)
    opener = place.opener
    if place.type == "COMMA" and place.bracket == "(" and opener is not None:
        before = [token for token in place.before if token.end_pos is not None and token.end_pos <= opener.start]
        if before and before[-1].type not in ("NAME", "SUM"):
            return forms.NoList(opener)
    return None


def _parameter(place: Place) -> Diagnostic | None:
    """`(scale = 0.5)`: a parameter without its kind."""
    if place.bracket != "(" or place.previous is None or any(token.type == "LBRACE" for token in place.before):
        return None
    return syntax.MissingColon(place.span) if place.accepts == {"COLON"} else None


def _method(place: Place) -> Diagnostic | None:
    """`x.to(f32)`: a method by a word of the language."""
    previous = place.previous
    if previous is None or previous.type != "DOT" or not place.touches or not re.fullmatch(r"[a-z]+", place.word):
        return None
    value = operands.before(place.text, place.start - 1)
    return names.NoMethod(place.span, name=place.word, arguments=(value or "x",))


def _step(place: Place) -> Diagnostic | None:
    """`i++`, after which the parser goes on into the next statement."""
    operators = [token for token in place.before[-8:] if token.type == "SIGN"]
    for first, second in pairwise(operators):
        if first == second and first.end_pos == second.start_pos and second.end_pos is not None:
            rest = place.text[second.end_pos :].partition("\n")[0].strip()
            if rest[:1] in ("", ")", "]", ",", "#"):
                start = place.span_of(first).start
                left = operands.before(place.text, start) or "i"
                written = f"every name is defined once: `let next = {left} {first} 1`"
                return characters.ForeignOperator(Span(start, start + 2), found=f"{first}{second}", written=written)
    return None


def _arrow(place: Place) -> Diagnostic | None:
    """`let x <- 1`."""
    if "EQUAL" not in place.accepts or not place.text.startswith("<-", place.start):
        return None
    return characters.ForeignOperator(Span(place.start, place.start + 2), found="<-", written="write `=`")


_RULES: tuple[Callable[[Place], Diagnostic | None], ...] = (
    _comment,
    _parameter,
    _declaration,
    _statement_if,
    _block,
    _range,
    _let,
    _arrow,
    _membership,
    _condition_last,
    _word,
    _cast,
    _list,
    _method,
    _step,
)
"""In order: the first that knows a form tells of it."""


def _goes_on(place: Place) -> bool:
    """Whether a value ends before the token, on its line."""
    previous = place.previous
    return previous is not None and previous.type in ENDS and not place.begins_line(place.token)


def _unwrapped(condition: str) -> str:
    condition = condition.strip().removesuffix("then").strip()
    inner = condition[1:-1] if condition[:1] == "(" and condition[-1:] == ")" else condition
    return inner.strip() if inner.count("(") == inner.count(")") else condition
