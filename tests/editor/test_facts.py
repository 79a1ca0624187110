"""What is told of a place in a spec."""

from __future__ import annotations

from pathlib import Path

import pytest

from attndsl.checking.calls import FUNCTION_NAMES
from attndsl.editor.facts import CannotRename, SpecFacts, is_inside, names_before
from attndsl.editor.words import CONSTANTS, TYPES
from attndsl.syntax.gallery import names
from attndsl.syntax.parse import tokens
from attndsl.syntax.source import Source, Span

ROOT = Path(__file__).parents[2]
GQA = Source((ROOT / "examples/gqa.attn").read_text("utf-8"))


def spec(name: str) -> Source:
    return Source((ROOT / "examples" / f"{name}.attn").read_text("utf-8"))


def after(source: Source, text: str) -> int:
    """The place behind a piece of a text that stands in it once, where an editor's cursor is."""
    assert source.text.count(text) == 1, text
    return source.text.index(text) + len(text)


def hover(source: Source, text: str) -> str:
    found = SpecFacts.of(source).hover(after(source, text))
    assert found is not None
    return found[1]


@pytest.mark.parametrize("name", names())
def test_every_name_of_the_gallery_is_known(name: str) -> None:
    source = spec(name)
    facts = SpecFacts.of(source)
    assert facts.reading is not None
    known = {source.text[span.start : span.end] for span in facts.names}
    built_in = {*TYPES, *CONSTANTS, *FUNCTION_NAMES, "sink", facts.reading.attention.name.text}
    settings = {"tile_rows", "tile_keys", "split_k", "deterministic"}
    for token in tokens(source):
        place = Span(token.start_pos or 0, token.end_pos or 0)
        if token.type == "NAME" and (token in known or token not in built_in | settings):
            assert place in facts.names or token in built_in, token
    for place, binding in facts.names.items():
        assert source.text[place.start : place.end] == source.text[binding.span.start : binding.span.end]
        assert facts.hover(place.start) is not None


@pytest.mark.parametrize("name", names())
def test_every_name_of_the_gallery_can_be_another(name: str) -> None:
    source = spec(name)
    facts = SpecFacts.of(source)
    renamed = 0
    for place, binding in facts.names.items():
        if place == binding.span and source.text[place.start : place.end] not in ("score", "mask"):
            assert binding.span in facts.rename(place.start, "another_name")
            renamed += 1
    assert renamed > 3


def test_hover() -> None:
    assert hover(GQA, "dims B, Hq") == "```attn\nHq\n```\n\na dim: an int from 0 to 2^48"
    assert hover(GQA, "types T") == "```attn\nT\n```\n\nan element type: f16 or bf16 or f32 or f64"
    assert hover(GQA, "sqrt(D") == hover(GQA, "dims B, Hq").replace("Hq", "D")
    assert hover(GQA, "over j") == "```attn\nj in N\n```\n\nan index: an int from 0, below `N`"
    said = "a float array of 4 axes; T is f16 or bf16 or f32 or f64"
    assert hover(GQA, "input  k") == f"```attn\ninput k : T[B, Hkv, N, D]\n```\n\ninput: {said}"
    expands = "(sum(d in D) q[b, h, i, d] * k[b, h / (Hq / Hkv), j, d]) / sqrt(f32(D))"
    assert f"\n\na float\n\nwhich is\n\n```attn\n{expands}\n```" in hover(GQA, "softmax(score")


def test_hover_of_what_reads_and_of_what_has_parameters() -> None:
    paged = spec("append_paged")
    assert hover(paged, "over j").endswith("an index: an int from 0, below `length[b]` and `S * L`")
    assert hover(paged, "let at[b").endswith("a parameter: an int, any")
    assert hover(paged, "let at").endswith("```attn\ni + length[b] - M\n```")
    assert "a float vector, of `D`" in hover(paged, "let q_half")
    assert hover(paged, "let q_half").endswith(" for d in D\n```")


def test_what_a_reduction_stands_for() -> None:
    text = GQA.text.replace("softmax(score, mask)", "sum(score - top)")
    source = Source(text.replace("    o[b,h,i,:]", "    let top = max(score)\n\n    o[b,h,i,:]"))
    assert "max((sum(d in D) " in hover(source, "let top")


def test_a_spec_with_mistakes_is_told_of_too() -> None:
    source = Source(GQA.text.replace("h / (Hq / Hkv)", "h / (Hq / Hkw)"))
    facts = SpecFacts.of(source)
    (wrong,) = facts.diagnostics
    assert source.text[wrong.span.start : wrong.span.end] == "Hkw"
    assert hover(source, "over j").endswith("below `N`")
    broken = SpecFacts.of(Source(GQA.text.replace("over j in", "over j")))
    assert broken.reading is None and broken.diagnostics
    assert broken.hover(40) is None and broken.definition(40) is None


def test_definition() -> None:
    facts = SpecFacts.of(GQA)
    place = facts.definition(after(GQA, "softmax(score, mask"))
    assert place is not None
    assert GQA.text[place.start : place.end + 2] == "mask  "
    assert facts.definition(0) is None


@pytest.mark.parametrize(
    ("at", "name", "why"),
    [
        ("over j", "2j", "`2j` is no name."),
        ("over j", "let", "`let` is no name."),
        ("over j", "i", "`i` would mean something else here."),
        ("over j", "inf", "`inf` would mean something else here."),
        ("types T", "f32", "`f32` would mean something else here."),
        ("softmax(score", "s", "The name of a score or mask says what it is."),
        ("softmax", "hard", "Only the names that a spec defines can be changed."),
    ],
)
def test_a_name_that_would_change_the_meaning_is_refused(at: str, name: str, why: str) -> None:
    with pytest.raises(CannotRename, match="^" + why.replace(".", r"\.") + "$"):
        SpecFacts.of(GQA).rename(after(GQA, at), name)


def test_a_name_that_another_hides_is_refused() -> None:
    """A definition's own parameter may take the name of an index, which then means the parameter in it."""
    text = "    let twice[t] = t + i\n\n    score ="
    source = Source(GQA.text.replace("    score =", text, 1))
    with pytest.raises(CannotRename):
        SpecFacts.of(source).rename(after(source, "let twice[t"), "i")
    assert len(SpecFacts.of(source).rename(after(source, "let twice[t"), "j")) == 2


def test_names_in_sight_while_the_line_makes_no_sense() -> None:
    start = GQA.text.index("    score")
    typed = Source(GQA.text[:start] + "    score = q[b,h,i,:] . k[b, \n")
    sight = dict(names_before(typed, len(typed.text) - 1))
    assert {"q", "k", "v", "o", "B", "Hkv", "T", "b", "h", "i", "j", "g", "inf"} == {*sight} - {
        "M",
        "N",
        "D",
        "E",
        "Hq",
    }
    two_blocks = Source(GQA.text.rstrip().removesuffix("}") + "\n    each b in B\n\n    ")
    later = dict(names_before(two_blocks, len(two_blocks.text)))
    assert "b" in later and not {"h", "j", "g", "score"} & {*later}
    assert names_before(Source("attention x(\n"), 13) == []


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("", False),
        ("# attention {\n", False),
        ("attention x(", True),
        ("attention x {\n  ", True),
        ("attention x { schedule { } ", True),
        ("attention x { }\n", False),
    ],
)
def test_inside(text: str, inside: bool) -> None:
    assert is_inside(Source(text), len(text)) is inside


def test_the_input_that_outputs_lie_as_has_its_name() -> None:
    """A value of the schedule is a name as any other."""
    source = Source(GQA.text.replace("require", "schedule { layout = q }\n    require", 1), GQA.name)
    place = after(source, "layout = ")
    facts = SpecFacts.of(source)
    assert facts.definition(place) == facts.definition(after(source, "score = "))
    assert place in [span.start for span in facts.rename(place, "queries")]
