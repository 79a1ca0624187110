"""How phrases are read from text."""

from __future__ import annotations

import re

Phrases = dict[str, tuple[str, ...]]

_WEIGHTED = re.compile(r"(\d+) \| ?(.*)")


def phrases(text: str) -> Phrases:
    """The templates of each phrase of a text; one that is taken n times as often stands there n times."""
    found: dict[str, list[str]] = {}
    name = ""
    for line in text.splitlines():
        if line.startswith("    "):
            weighted = _WEIGHTED.fullmatch(line.strip())
            times, template = (int(weighted[1]), weighted[2]) if weighted else (1, line.strip())
            found[name] += [template] * times
        elif line:
            name = line
            found[name] = []
    return {name: tuple(templates) for name, templates in found.items()}


def table(text: str) -> dict[str, str]:
    """The first word of each line, and the rest of it."""
    return {name: rest.strip() for name, _, rest in (line.partition(" ") for line in text.splitlines() if line)}


def renamed(text: str, **words: str) -> str:
    """A text with other words for some of its words, and for what names begin with: `v` is in `v_scale` too."""
    for old, new in words.items():
        text = re.sub(rf"\b{old}(?=\b|_)", new, text)
    return text
