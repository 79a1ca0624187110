"""Blocks that read what earlier blocks wrote, and where `temp` is a word of the language."""

from __future__ import annotations

import pytest

from attndsl.checking.check import check
from attndsl.checking.coverage import partial_outputs, written_between
from attndsl.checking.text import spec_text
from attndsl.diagnostics import SpecError
from attndsl.syntax.format import format_text
from attndsl.syntax.source import Source

HEAD = "attention a {\n dims M\n input x : f32[M]\n temp t : f32[M]\n output o : f32[M]\n"


def codes(text: str) -> list[str]:
    with pytest.raises(SpecError) as error:
        check(Source(text))
    return [diagnostic.code for diagnostic in error.value.diagnostics]


def test_temp_is_a_name_wherever_it_declares_nothing() -> None:
    text = (
        "attention temp(scale: f32) {\n dims M\n input temp : f32[M]\n output o : f32[M]\n each i in M\n"
        " let y = temp[i]\n o[i] = y * scale + temp[i]\n}\n"
    )
    assert "temp[i] * scale + temp[i]" in spec_text(check(Source(text))).replace("scale * temp[i]", "temp[i] * scale")


def test_comments_may_stand_in_a_declaration_of_a_temp() -> None:
    text = (
        HEAD.replace("temp t :", "temp # one\n t # two\n :") + "each i in M\n t[i] = x[i]\neach i in M\n o[i] = t[i]\n}"
    )
    (temp,) = [tensor for tensor in check(Source(text)).written if tensor.role == "temp"]
    assert temp.name == "t"
    assert format_text(Source(format_text(Source(text)))) == format_text(Source(text))


@pytest.mark.parametrize(
    "blocks",
    [
        "each i in M\n t[i] = o[i]\neach i in M\n o[i] = x[i]",
        "each i in M\n t[i] = x[i]\n o[i] = t[i]",
        "each i in M\n t[i] = t[i] + 1.0\n each i in M\n o[i] = x[i]",
        "let u[i] = t[i]\neach i in M\n o[i] = u[i]\neach i in M\n t[i] = x[i]",
    ],
    ids=["a later block", "its own block", "its own value", "through a definition"],
)
def test_what_no_earlier_block_has_written_is_not_read(blocks: str) -> None:
    assert codes(f"{HEAD}{blocks}\n}}") == ["E110"]


def test_a_definition_may_read_what_the_block_that_uses_it_may_read() -> None:
    text = f"{HEAD}let u[i] = 2.0 * t[i]\neach i in M\n t[i] = x[i]\neach i in M\n o[i] = u[i]\n}}"
    assert "o[i] = 2.0 * t[i]" in spec_text(check(Source(text)))


def test_a_temp_is_written_once_and_tells_no_dim() -> None:
    assert codes(f"{HEAD}each i in M\n o[i] = x[i]\n}}") == ["E601"]
    assert codes(f"{HEAD}each i in M\n t[i] = x[i]\neach i in M\n t[i] = x[i]\n o[i] = x[i]\n}}") == ["E602"]
    told = HEAD.replace("dims M", "dims M, N").replace("t : f32[M]", "t : f32[N]")
    assert codes(f"{told}each i in M\n o[i] = x[i]\neach i in M\n t[i] = x[i]\n}}")[:1] == ["E706"]


RAGGED = """attention a {
    dims B, M, H, D
    types I = i32 | i64
    input  x : f32[M, H, D]
    input  cu : I[B + 1]
    input  cv : I[B + 1]
    output o : f32[M, H, D]
    output l : f32[B, H, M]
    each b in B, h in H, i in cu[b + 1] - cu[b]
    o[cu[b] + i, h, :] = x[cu[b] + i, h, :]
    l[b, h, cu[b] + i] = 1.0
}"""


def test_rows_of_requests_follow_each_other() -> None:
    """Where each of them begins where the one before ends, and all that else tells rows apart is there."""
    assert written_between(check(Source(RAGGED))) == {"o": ("cu", 0)}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("o[cu[b] + i", "o[cv[b] + i"),
        ("o[cu[b] + i", "o[cu[b] + i + 1"),
        ("o[cu[b] + i", "o[cu[b + 1] + i"),
        ("i in cu[b + 1] - cu[b]", "i in cv[b + 1] - cu[b]"),
        ("i in cu[b + 1] - cu[b]", "i in cu[b + 1] - cu[b] - 1"),
        ("b in B", "b in B / 2"),
        ("h in H", "h in H / 2"),
        ("o[cu[b] + i, h, :] = x[cu[b] + i, h, :]", "o[cu[b] + i, h, :] += x[cu[b] + i, h, :]"),
    ],
)
def test_rows_that_leave_gaps_do_not(before: str, after: str) -> None:
    assert before in RAGGED
    found = check(Source(RAGGED.replace(before, after)))
    assert "o" in partial_outputs(found) and written_between(found) == {}


@pytest.mark.parametrize(
    ("extent", "place", "whole"),
    [
        ("H * D", "h * D : h * D + D", True),
        ("D * H", "h * D : h * D + D", True),
        ("H * D + 1", "h * D : h * D + D", False),
        ("D * D", "h * D : h * D + D", False),
        ("H * D", "h * D + 1 : h * D + 1 + D", False),
        ("H * D", "h * H : h * H + D", False),
    ],
)
def test_rows_that_lie_side_by_side_write_all(extent: str, place: str, whole: bool) -> None:
    text = f"attention a {{ dims H, D input x : f32[H, D] output o : f32[{extent}] each h in H o[{place}] = x[h,:] }}"
    assert (partial_outputs(check(Source(text))) == ()) is whole
