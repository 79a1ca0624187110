"""docs/importing.md: its mods and its model give its specs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import onnx

PAGE = (Path(__file__).parents[2] / "docs" / "importing.md").read_text(encoding="utf-8")


FENCED = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def asked(folder: Path, command: str) -> str:
    """What a command of the page prints."""
    words = [sys.executable, "-m", *command.removeprefix("$ ").split()]
    return subprocess.run(words, cwd=folder, check=True, capture_output=True, text=True).stdout


def test_the_mods(tmp_path: Path) -> None:
    (_, mods), (_, command), (_, text), *_ = FENCED
    (tmp_path / "mods.py").write_text(mods)
    assert asked(tmp_path, command) == text


def test_the_model(tmp_path: Path) -> None:
    *_, (_, model), (_, command), (_, text) = FENCED
    (tmp_path / "decoder.onnx").write_bytes(onnx.parser.parse_model(model).SerializeToString())
    assert asked(tmp_path, command) == text
