"""Specs of the gallery, drawn once for all tests of a process."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from attndsl.drawing.drawing import Drawing, draw
from attndsl.driver.library import checked, signature_of
from attndsl.syntax.gallery import FOLDER
from attndsl.syntax.read import read_source


@cache
def drawn(name: str, target: str = "triton") -> Drawing:
    source = read_source(Path(FOLDER, f"{name}.attn"))
    return draw(checked(source), signature_of(source).default_types(), target)
