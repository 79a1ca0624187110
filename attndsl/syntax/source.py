"""Source text and places in it."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

MAX_BYTES = 256 * 1024
"""The longest spec that is read, in bytes. A page of text is a long spec."""


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range of character offsets, `start` up to but not including `end`."""

    start: int
    end: int

    def to(self, other: Span) -> Span:
        """The range from the start of this one to the end of `other`."""
        return Span(self.start, other.end)


@dataclass(frozen=True)
class Source:
    """A spec's text and the name it goes by in messages (a path, or `<text>`)."""

    text: str
    name: str = "<text>"

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(i + 1 for i, c in enumerate(self.text) if c == "\n")]

    def position(self, offset: int) -> tuple[int, int]:
        """The line and the column of a character offset, both counted from 1."""
        line = bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1

    def line(self, number: int) -> str:
        """The text of a line, counted from 1, without its end."""
        start = self._line_starts[number - 1]
        end = self._line_starts[number] - 1 if number < len(self._line_starts) else len(self.text)
        return self.text[start:end].rstrip("\r")
