"""Lines of Python, indented, with the spec's lines as comments, which nothing in a spec or its name can leave."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import PurePath

from attndsl.ir.xdsl import Attribute, FileLineColLoc
from attndsl.printable import printable

WIDTH = 100
"""How long a line may be that can be broken, its indentation included."""


class Writer:
    """Collects the text of a file. `source` is the text of the spec that comments quote."""

    def __init__(self, source: str) -> None:
        self._source = source.split("\n")
        self._lines: list[str] = []
        self._depth = 0
        self._place = ""
        self._written = ""

    @property
    def source(self) -> str:
        """The text of the spec."""
        return "\n".join(self._source)

    def append(self, other: Writer, spelled: Callable[[str], str]) -> None:
        """The lines of another file, those that are no comments as `spelled` spells them."""
        self._lines += [line if line.lstrip().startswith("#") else spelled(line) for line in other._lines]
        self._place = self._written = other._written

    def text(self) -> str:
        """All lines so far."""
        return "\n".join(self._lines) + "\n"

    def line(self, text: str) -> None:
        """One more line, after a comment where it comes from another line of the spec than the one before."""
        if text and self._place != self._written:
            self._written = self._place
            self._append(self._place)
        self._append(text)

    def gap(self) -> None:
        """An empty line, unless the last one is."""
        if self._lines[-1:] != [""]:
            self.line("")

    def _append(self, text: str) -> None:
        if not text.isprintable():  # what ends a comment or a string ends here: it would be code
            raise ValueError(f"a line of generated text holds more than can be seen: {text!r}")
        self._lines.append(f"{'    ' * self._depth}{text}" if text else "")

    @property
    def room(self) -> int:
        """How many characters fit into a line that can be broken."""
        return WIDTH - 4 * self._depth

    def listed(self, opening: str, words: Sequence[str], closing: str) -> None:
        """Words with commas between brackets, in one line where it is not too long."""
        text = f"{opening}{', '.join(words)}{closing}"
        if len(text) <= self.room:
            self.line(text)
            return
        self.line(opening)
        with self.indented():
            self.filled(words)
        self.line(closing)

    def filled(self, words: Iterable[str]) -> None:
        """Words with a comma after each, as many in a line as it holds."""
        line = ""
        for word in words:
            if line and len(line) + len(word) + 2 > self.room:
                self.line(line)
                line = ""
            line += f"{' ' if line else ''}{word},"
        if line:
            self.line(line)

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
            place = f"# {printable(PurePath(location.filename.data).name)}:{line}"
            quoted = printable(self._source[line - 1].strip()) if 0 < line <= len(self._source) else ""
            self._place = f"{place}: {quoted}" if quoted else place
