"""`op.draw`: a picture for a notebook, of what is said of a call."""

from __future__ import annotations

import re
from typing import Any

import pytest

import attndsl
from attndsl.op import errors


def test_a_notebook_shows_it() -> None:
    op = attndsl.load("sliding_window")
    drawing = op.draw(M=8, N=16, window=3, T="bf16")
    assert drawing._repr_svg_() == drawing.svg()
    assert "M = 8, N = 16" in drawing.svg()
    assert "window = 3" in drawing.svg()
    assert drawing.png().startswith(b"\x89PNG")
    assert repr(drawing) == "<drawing of sliding_window>"
    assert [picture.seen.shape for picture in drawing.masks] == [(8, 16)]


def test_what_is_left_out_is_not_drawn() -> None:
    op = attndsl.load("sinks")
    assert "sink = " in op.draw(M=8, N=8).svg()
    assert "sink = " not in op.without("sink").draw(M=8, N=8).svg()


@pytest.mark.parametrize(
    ("target", "of", "message"),
    [
        (
            "triton",
            {"widow": 3},
            "sliding_window has no type, dim or parameter widow, did you mean window? It has T,",
        ),
        ("triton", {"M": -1}, "M = -1 is no extent: M of sliding_window is an int, 0 or more"),
        ("triton", {"Hq": 3, "Hkv": 2}, "sliding_window requires Hq % Hkv == 0, which does not hold for Hq = 3"),
        ("cuda:91", {}, "there is no target cuda:91, did you mean cuda:90? There are numpy, triton,"),
    ],
)
def test_what_cannot_be_drawn(target: str, of: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        attndsl.load("sliding_window").draw(target, **of)


def test_a_drawing_says_whose_tiles_it_shows() -> None:
    op = attndsl.load("sliding_window")
    for target in ("triton", "cuda:90", "numpy"):
        assert f"on {target}: B = " in op.draw(target, M=8, N=8).svg()


def test_a_parameter_of_a_wrong_kind() -> None:
    with pytest.raises(errors.WrongParameter, match="window"):
        attndsl.load("sliding_window").draw(window=2.5)
