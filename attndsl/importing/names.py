"""Names of a mod as names of a spec."""

from __future__ import annotations

import re
from collections.abc import Iterable

from attndsl.syntax.parse import words


class SpecNames:
    """Gives each thing a name of its own, as near to the wanted one as the language lets it be."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = {*taken, *words()}
        self._given: dict[tuple[str, object], str] = {}

    def of(self, wanted: str, key: object) -> str:
        """The name of a thing, the same each time."""
        if (wanted, key) not in self._given:
            self._given[wanted, key] = self.new(plain(wanted))
        return self._given[wanted, key]

    def new(self, wanted: str) -> str:
        """A name that nothing else has."""
        name, n = wanted, 2
        while name in self._taken:
            name, n = f"{wanted}_{n}", n + 1
        self._taken.add(name)
        return name


def plain(name: str) -> str:
    """A name of Python in the characters of the language; one in capitals, which would look like a dim, in small."""
    word = re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_") or "x"
    word = word if not word[0].isdigit() else f"_{word}"
    return word.lower() if word.isupper() else word
