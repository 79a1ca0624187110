"""Syntax errors: the lessons teach what their examples show, and each text is met by the rule that is meant for it."""

from __future__ import annotations

import pytest

from attndsl.diagnostics import SpecError
from attndsl.syntax.lessons import LESSONS
from attndsl.syntax.parse import parse
from attndsl.syntax.source import Source, Span

EXAMPLES = [(lesson(Span(0, 0), "").code, text) for lesson, texts in LESSONS.items() for text in texts]

TAUGHT_OTHERWISE = {
    # an example's text may hold a second error, for which there is a rule
    "attention a { dims B,  }": "E039",
    "attention a { each b in B,  }": "E039",
    "attention a { let x[d in D,] = 1 }": "E039",
    "attention a { let x = a[b,] }": "E039",
    "attention a { let x = f(b,) }": "E039",
    "attention a { let x = if a then 1 each }": "E034",
}

WHOLE = {
    "": ("E010", 1, 1),
    "# nothing": ("E010", 1, 1),
    "attnetion a { }": ("E024", 1, 1),
    "attention a": ("E027", 1, 12),
    "attention a { } }": ("E014", 1, 17),
    "attention a { } attention b { }": ("E028", 1, 17),
    "attention a (x int) { }": ("E030", 1, 16),
    "attention a (x: int = y) { }": ("E053", 1, 23),
}
BODIES = {
    "\tlet x = a && b": ("E016", 2, 12),
    "let x = a || b": ("E016", 2, 11),
    "let x = !b": ("E016", 2, 9),
    "let x = a ** 2": ("E016", 2, 11),
    "let x = a <> b": ("E016", 2, 11),
    "let x = a === b": ("E016", 2, 11),
    "let x := 1": ("E016", 2, 7),
    "x += 1": ("E016", 2, 3),
    "let x = 1 // c": ("E016", 2, 11),
    "let x = 1 // the one": ("E017", 2, 11),
    "// the one": ("E017", 2, 1),
    "/* hi */": ("E017", 2, 1),
    "let x = 1;": ("E018", 2, 10),
    "mask = j = i": ("E015", 2, 10),
    "mask = (j = i)": ("E015", 2, 11),
    "require a = b": ("E015", 2, 11),
    "let x = 1x": ("E019", 2, 9),
    "let x = .5": ("E019", 2, 9),
    "let x = 1. * y": ("E019", 2, 9),
    "let x = 1.\nlet y = 2": ("E019", 2, 9),
    "let x = 0x": ("E019", 2, 9),
    "let x = a − b": ("E020", 2, 11),
    "let x = ａ": ("E020", 2, 9),
    "let а = 1": ("E020", 2, 5),
    "let x = 1\N{NO-BREAK SPACE}+ 1": ("E020", 2, 10),
    "let x = 1\N{ZERO WIDTH SPACE}": ("E021", 2, 10),
    "# \x1b[2J": ("E021", 2, 3),
    "let x = 'a'": ("E043", 2, 9),
    "let x = €": ("E022", 2, 9),
    "dims in": ("E023", 2, 6),
    "let x = in + 1": ("E023", 2, 9),
    "let over = 1": ("E023", 2, 5),
    "def q = 1": ("E024", 2, 1),
    "for i in M": ("E024", 2, 1),
    "let x =\nlet y = 1": ("E026", 2, 8),
    "let x = a + * b": ("E026", 2, 13),
    "o[b, h] =": ("E026", 2, 10),
    "require": ("E026", 2, 8),
    "schedule { a 1 }": ("E029", 2, 14),
    "let x = sum(r R) r": ("E032", 2, 15),
    "let x = if a b else c": ("E033", 2, 14),
    "let x = if a < 1 b else c": ("E033", 2, 18),
    "let x = if a then b": ("E034", 2, 20),
    "let x = q[1:2:3]": ("E036", 2, 14),
    "let x = q[:2:]": ("E036", 2, 13),
    "let x = q[::2]": ("E036", 2, 12),
    "let x = q[b][i]": ("E037", 2, 13),
    "let x = (a + b)[i]": ("E037", 2, 16),
    "let x = 1 + if a then b else c": ("E038", 2, 13),
    "mask = a == not b": ("E038", 2, 13),
    "let x = a . -b": ("E038", 2, 13),
    "let x = a . sum(r in R) r": ("E038", 2, 13),
    "let x = a . max(r in R) r": ("E038", 2, 13),
    "let x = any(r in R) not y": ("E038", 2, 21),
    "let x = max(r in R)\no[b] = 1": ("E058", 2, 19),
    "let x = max(r in R, y)": ("E058", 2, 19),
    "let x = max(r in R, s S) y": ("E032", 2, 23),
    "let x = f(a, )": ("E039", 2, 12),
    "dims B,": ("E039", 2, 7),
    "let x = q[b h i]": ("E040", 2, 13),
    "let x = f(a b)": ("E040", 2, 13),
    "dims B H": ("E040", 2, 8),
    "let x = y z": ("E055", 2, 11),
    "let x = 3 (a)": ("E041", 2, 11),
    "q . k": ("E042", 2, 1),
    "1 + 2": ("E042", 2, 1),
    "softmax(a) . b": ("E042", 2, 1),
    "if a then b else c": ("E042", 2, 1),
}


def first(text: str) -> tuple[str, int, int]:
    """The code, the line and the column of the first error in a text."""
    with pytest.raises(SpecError) as raised:
        parse(Source(text))
    diagnostic = raised.value.diagnostics[0]
    return (diagnostic.code, *raised.value.source.position(diagnostic.span.start))


@pytest.mark.parametrize(("code", "text"), EXAMPLES)
def test_a_lesson_is_learned(code: str, text: str) -> None:
    assert first(text)[0] == TAUGHT_OTHERWISE.get(text, code)


@pytest.mark.parametrize("text", WHOLE)
def test_a_text_is_understood(text: str) -> None:
    assert first(text) == WHOLE[text]


@pytest.mark.parametrize("text", BODIES)
def test_a_statement_is_understood(text: str) -> None:
    assert first(f"attention a {{\n{text}\n}}\n") == BODIES[text]


def errors(*lines: str) -> list[tuple[str, int]]:
    """The codes and lines of all errors in a body whose first line is line 2."""
    with pytest.raises(SpecError) as raised:
        parse(Source("\n".join(("attention a {", *lines, "}", ""))))
    source = raised.value.source
    return [(d.code, source.position(d.span.start)[0]) for d in raised.value.diagnostics]


def test_every_statement_that_cannot_be_read_is_reported() -> None:
    got = errors(
        "dims B H", "let x =", "let y = 1", "inptu q : f32[B]", "o[b] = 1 +", "require a = b", "let z = (2) (3)"
    )
    assert got == [("E040", 2), ("E026", 3), ("E024", 5), ("E026", 6), ("E015", 7), ("E041", 8)]


def test_what_no_spec_contains_hides_nothing_else() -> None:
    got = errors(
        "dims B H",
        "let x = h // 4 && !a",
        "let y =",
        "let z = 1",
        "let z = 'a'",
        "inptu q : f32[B]",
        "// a note",
        "over j in N:",
        "let w = 1e-6f",
        "o[b] = D ** 0.5 +",
        "o[b] = (1, 2)",
    )
    assert got == [
        ("E040", 2),
        ("E016", 3),
        ("E016", 3),
        ("E016", 3),
        ("E026", 4),
        ("E043", 6),
        ("E024", 7),
        ("E017", 8),
        ("E048", 9),
        ("E019", 10),
        ("E016", 11),
        ("E052", 12),
    ]


def test_what_is_assigned_anew_is_a_statement_of_its_own() -> None:
    assert sorted(errors("for j in N:", "o[b] *= 1")) == [("E016", 3), ("E024", 2)]


def test_a_statement_of_several_lines_is_one() -> None:
    assert errors("let x = 1 +", "    2 3 +", "    4 5", "dims B") == [("E041", 3)]


def test_after_an_unclosed_bracket_nothing_is_guessed() -> None:
    assert errors("let x = (1", "let y = 2 3", "let z 4") == [("E013", 5)]
    assert errors("schedule { tile_rows 1 }", "let z 4") == [("E029", 2), ("E029", 3)]
    assert errors("schedule {", "    tile_rows 1", "    split_k = auto", "}", "let z 4") == [("E029", 3)]
