"""The gallery: the specs of examples/, which an installation holds too, by their names."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parents[1] / "examples"
"""A link to the folder at the top."""


class GallerySpec(NamedTuple):
    """A spec of the gallery: its name, the first sentence of the comment above it, and its file."""

    name: str
    about: str
    path: Path


def gallery() -> list[GallerySpec]:
    """All specs of the gallery, by name."""
    return [GallerySpec(path.stem, _about(path), path) for path in sorted(FOLDER.glob("*.attn"))]


def names() -> list[str]:
    """Their names."""
    return sorted(path.stem for path in FOLDER.glob("*.attn"))


def path_of(name: str) -> Path | None:
    """The file of a spec of the gallery; None where none is called so."""
    path = FOLDER / f"{name}.attn"
    return path if name.isidentifier() and path.is_file() else None


def _about(path: Path) -> str:
    """The first sentence of the comment that a spec begins with, in which a line break is a space."""
    comment = []
    for line in path.read_text("utf-8").splitlines():
        if not line.startswith("#"):
            break
        comment.append(line.removeprefix("#").strip())
    sentence, stop, _ = " ".join(comment).partition(". ")
    return sentence + "." if stop else sentence
