"""Blocks that read what earlier blocks wrote, and where `temp` is a word of the language."""

from __future__ import annotations

import pytest

from attndsl.checking.check import check
from attndsl.checking.coverage import partial_outputs
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
