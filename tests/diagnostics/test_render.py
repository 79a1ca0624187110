"""How errors are drawn: columns, tabs, long lines, several places, colours."""

from __future__ import annotations

from attndsl.diagnostics.names import Shadows, TypeAsValue, UnknownFunction
from attndsl.diagnostics.render import render, render_all
from attndsl.diagnostics.suggest import did_you_mean
from attndsl.syntax.source import Source, Span


def test_columns_count_from_one() -> None:
    source = Source("first\n  T + 1\n", "x.attn")
    text = render(TypeAsValue(Span(8, 9), name="T"), source)
    assert text.splitlines()[1:] == [" --> x.attn:2:3", "  |", "2 |   T + 1", "  |   ^ a type"]


def test_a_tab_is_one_column_wide() -> None:
    text = render(TypeAsValue(Span(2, 3), name="T"), Source("\t\tT"))
    assert text.splitlines()[3:] == ["1 |   T", "  |   ^ a type"]


def test_a_carriage_return_is_no_part_of_a_line() -> None:
    text = render(TypeAsValue(Span(3, 4), name="T"), Source("a\r\nT\r\nb"))
    assert text.splitlines()[1:] == [" --> <text>:2:1", "  |", "2 | T", "  | ^ a type"]


def test_a_place_of_several_lines_is_marked_on_its_first() -> None:
    text = render(TypeAsValue(Span(1, 9), name="T"), Source(" ab +\n cd"))
    assert text.splitlines()[3:] == ["1 |  ab +", "  |  ^^^^ a type"]


def test_the_end_of_the_text_can_be_marked() -> None:
    text = render(TypeAsValue(Span(2, 3), name="T"), Source("ab"))
    assert text.splitlines()[3:] == ["1 | ab", "  |   ^ a type"]


def test_a_long_line_is_shown_around_the_place() -> None:
    source = Source("a" * 500 + "T" + "b" * 500)
    lines = render(TypeAsValue(Span(500, 501), name="T"), source).splitlines()
    assert all(len(line) < 140 for line in lines)
    shown, mark = lines[3], lines[4]
    assert shown[mark.index("^")] == "T"
    assert lines[1].endswith(":1:501")


def test_two_places_stand_in_the_order_of_the_source() -> None:
    source = Source("q" + "\n" * 11 + "q")
    text = render(Shadows(Span(12, 13), name="q", first=Span(0, 1)), source)
    assert text.splitlines() == [
        "error[E107]: `q` has a meaning already",
        "  --> <text>:12:1",
        "   |",
        " 1 | q",
        "   | - first defined here",
        "  ...",
        "12 | q",
        "   | ^ defined again",
    ]


def test_two_places_of_one_line_show_it_once() -> None:
    text = render(Shadows(Span(2, 3), name="q", first=Span(0, 1)), Source("q q"))
    assert text.splitlines()[3:] == ["1 | q q", "  | - first defined here", "  |   ^ defined again"]


def test_colours_change_nothing_but_colours() -> None:
    source = Source("T")
    diagnostics = [TypeAsValue(Span(0, 1), name="T"), Shadows(Span(0, 1), name="T", first=Span(0, 1))]
    plain, coloured = render_all(diagnostics, source), render_all(diagnostics, source, colour=True)
    assert "\033[" not in plain
    assert "\033[1;31merror[E109]\033[0m" in coloured
    for code in ("1;31", "1;34", "1", "0"):
        coloured = coloured.replace(f"\033[{code}m", "")
    assert coloured == plain


def test_braces_in_names_are_no_template() -> None:
    assert "`{0.__class__}`" in render(
        UnknownFunction(Span(0, 1), name="{0.__class__}", known=("exp",), arguments=()), Source("x")
    )


def test_what_was_meant() -> None:
    assert did_you_mean("bb", ("B", "b", "bc")) in ("did you mean `b`?", "did you mean `bc`?")
    assert did_you_mean("HQ", ("Hq", "M")) == "did you mean `Hq`?"
    assert did_you_mean("window", ("M", "N")) == ""


def test_words_that_are_unlike_are_not_meant() -> None:
    """The first letter is seldom wrong, and then nothing else is."""
    functions = ("sin", "max", "sum", "sigmoid", "maximum", "exp")
    for word in ("int", "isinf", "argmax", "cumsum", "mod"):
        assert did_you_mean(word, functions) == ""
    assert did_you_mean("din", functions) == did_you_mean("in", functions) == "did you mean `sin`?"
    assert did_you_mean("sigmod", functions) == "did you mean `sigmoid`?"
