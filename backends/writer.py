"""Lines of Python, indented, with the spec's lines as comments."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePath

from attndsl.ir.xdsl import Attribute, FileLineColLoc


class Writer:
    """Collects the text of a file. `source` is the text of the spec that comments quote."""

    def __init__(self, source: str) -> None:
        self._source = source.splitlines()
        self._lines: list[str] = []
        self._depth = 0
        self._place = ""
        self._written = ""

    def text(self) -> str:
        """All lines so far."""
        return "\n".join(self._lines) + "\n"

    def line(self, text: str) -> None:
        """One more line, after a comment where it comes from another line of the spec than the one before."""
        if text and self._place != self._written:
            self._written = self._place
            self._lines.append(f"{'    ' * self._depth}{self._place}")
        self._lines.append(f"{'    ' * self._depth}{text}" if text else "")

    def indent(self) -> None:
        """Indents what follows, until the enclosing `saved_indentation` ends."""
        self._depth += 1

    @contextmanager
    def indented(self) -> Iterator[None]:
        """Indents what is written inside."""
        with self.saved_indentation():
            self.indent()
            yield

    @contextmanager
    def saved_indentation(self) -> Iterator[None]:
        """Puts the indentation back afterwards."""
        depth = self._depth
        yield
        self._depth = depth

    def at(self, location: Attribute) -> None:
        """What follows comes from this place of the spec."""
        if isinstance(location, FileLineColLoc):
            line = location.line.data
            place = f"# {PurePath(location.filename.data).name}:{line}"
            quoted = self._source[line - 1].strip() if 0 < line <= len(self._source) else ""
            self._place = f"{place}: {quoted}" if quoted else place
