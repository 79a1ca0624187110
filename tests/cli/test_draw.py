"""`attndsl draw`, and what it says where it cannot."""

from __future__ import annotations

import builtins
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest


def test_an_svg_beside_the_caller(attndsl: Any, gqa: Path) -> None:
    result = attndsl("draw", gqa, "--shape", "M=8,N=16")
    assert (result.code, result.out, result.err) == (0, "gqa.svg\n", "")
    drawn = gqa.with_name("gqa.svg").read_text()
    assert ElementTree.fromstring(drawn).tag.endswith("svg")
    assert "M = 8, N = 16" in drawn
    assert attndsl("draw", gqa, "--shape", "M=8,N=16", "-o", "again.svg").code == 0
    assert gqa.with_name("again.svg").read_text() == drawn


def test_a_png_where_it_is_asked_for(attndsl: Any, gqa: Path) -> None:
    result = attndsl("draw", gqa, "--shape", "M=8,N=16", "-o", "pictures/gqa.png")
    assert (result.code, result.out) == (0, "pictures/gqa.png\n")
    assert gqa.with_name("pictures").joinpath("gqa.png").read_bytes().startswith(b"\x89PNG")


def test_a_parameter_and_an_input_that_is_left_out(attndsl: Any, gallery: Path, tmp_path: Path) -> None:
    asked = ("--shape", "M=8,N=8", "--param", "window=3", "-o", "window.svg")
    assert attndsl("draw", gallery / "sliding_window.attn", *asked).code == 0
    assert "window = 3" in (tmp_path / "window.svg").read_text()
    assert attndsl("draw", gallery / "sinks.attn", "--without", "sink", "--shape", "M=8,N=8").code == 0
    assert "sink" not in (tmp_path / "sinks.svg").read_text().replace(">sinks<", "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("-o gqa.pdf", "gqa.pdf is no picture: its name ends in .svg or .png."),
        ("--shape Hq=3,Hkv=2", "gqa requires Hq % Hkv == 0, which does not hold for Hq = 3 and Hkv = 2."),
        (
            "--shape M=65536",
            "a drawing of gqa with 262144 rows and 64 keys is more than can be shown: give smaller extents.",
        ),
        ("--shape MM=3", "gqa has no dim MM, did you mean M? It has B, Hq, Hkv, M, N, D, E."),
        ("--param window=3", "gqa has no parameter window. It has none."),
        ("--target cuda:91", "'cuda:91' is not one of 'numpy', 'triton', "),
    ],
)
def test_what_cannot_be_drawn(attndsl: Any, gqa: Path, arguments: str, message: str) -> None:
    result = attndsl("draw", gqa, *arguments.split())
    assert message in result.err
    assert (result.code, result.out) == (2, "")


def test_a_place_that_cannot_be_written(attndsl: Any, gqa: Path) -> None:
    result = attndsl("draw", gqa, "--shape", "M=8,N=8", "-o", "/proc/nowhere/x.svg")
    assert (result.code, result.out) == (1, "")
    assert "/proc/nowhere/x.svg cannot be written: " in result.err
    assert "-o takes another file." in result.err


def test_without_matplotlib(attndsl: Any, gqa: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    imported = builtins.__import__

    def none(name: str, *rest: Any) -> Any:
        if name.partition(".")[0] == "matplotlib":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return imported(name, *rest)

    monkeypatch.setattr(builtins, "__import__", none)
    result = attndsl("draw", gqa)
    assert (result.code, result.out) == (2, "")
    assert "attndsl draw: a drawing needs matplotlib: pip install 'matplotlib<4,>=3.9'" in result.err
