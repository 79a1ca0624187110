"""A table of measurements: shown, kept as CSV under its circumstances, drawn."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from attndsl.files import write_atomically

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Row = tuple[Any, ...]

WIDTH = 240
"""Characters of a table that is not printed to a terminal."""

Draw = Callable[["Axes", list[Row]], None]


@dataclass(frozen=True)
class Column:
    """A column; `show` gives the cell of a table where the file has the value itself.

    None is an empty cell, and text stands as it is: why there is no value. What is not `shown` is in the file alone.
    """

    name: str
    show: Callable[[Any], str] = str
    shown: bool = True


@dataclass(frozen=True)
class Results:
    """What a benchmark found. `remarks` say what a reader must know; `failures` are the limits that were missed."""

    title: str
    columns: tuple[Column, ...]
    rows: list[Row]
    remarks: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    draw: Draw | None = None

    def report(self, folder: Path, name: str, head: Mapping[str, str]) -> None:
        """Shows the measurements and keeps them, as `save` does."""
        console = Console(width=None if sys.stdout.isatty() else WIDTH, highlight=False)
        console.print(self.table())
        for remark in self.remarks:
            console.print(remark, style="dim")
        for path in self.save(folder, name, head):
            console.print(f"kept in {path}")
        for failure in self.failures:
            console.print(failure, style="red")

    def table(self) -> Table:
        """The measurements for a terminal."""
        table = Table(title=self.title, title_justify="left")
        shown = [(number, column) for number, column in enumerate(self.columns) if column.shown]
        for number, column in shown:
            table.add_column(column.name, justify="right" if number else "left")
        for row in self.rows:
            table.add_row(*(_cell(column, row[number]) for number, column in shown))
        return table

    def csv(self, head: Mapping[str, str]) -> str:
        """The text of the file: title, remarks and circumstances as comments, names of columns, rows."""
        comments = [self.title, *self.remarks, *(f"{what}: {text}" for what, text in head.items())]
        names = [column.name for column in self.columns]
        return "".join(f"# {comment}\n" for comment in comments) + csv_lines([names, *self.rows])

    def save(self, folder: Path, name: str, head: Mapping[str, str]) -> list[Path]:
        """Writes `name`.csv under its head and, where there is a drawing, `name`.svg; gives their paths."""
        folder.mkdir(parents=True, exist_ok=True)
        table = folder / f"{name}.csv"
        write_atomically(table, self.csv(head).encode(), mode=0o644)
        return [table] if self.draw is None else [table, self._drawing(folder / f"{name}.svg")]

    def _drawing(self, path: Path) -> Path:
        import matplotlib

        matplotlib.use("svg")
        from matplotlib import pyplot

        assert self.draw is not None
        # The same results give the same file: no date, no random names; text stays text.
        with pyplot.rc_context({"svg.fonttype": "none", "svg.hashsalt": self.title}):
            figure, axes = pyplot.subplots(figsize=(7, 4), layout="constrained")
            self.draw(axes, self.rows)
            axes.set_title(self.title, loc="left", fontsize="medium")
            figure.savefig(path, metadata={"Date": None})
            pyplot.close(figure)
        return path


def csv_lines(rows: Iterable[Iterable[Any]]) -> str:
    """Rows as lines of a CSV file."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _cell(column: Column, value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else column.show(value)


def of_bytes(count: int) -> str:
    """`4.5 MiB`."""
    size, unit = float(count), "B"
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            break
        size /= 1024
    return f"{size:.0f} {unit}" if unit == "B" else f"{size:.3g} {unit}"


def milliseconds(seconds: float) -> float:
    """Seconds as milliseconds, to a microsecond's tenth."""
    return round(seconds * 1e3, 4)


def of_milliseconds(count: float) -> str:
    """At least three digits and no exponent."""
    return f"{count:.0f}" if count >= 100 else f"{count:.3g}"
