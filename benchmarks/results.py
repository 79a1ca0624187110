"""A table of measurements: shown, kept as CSV under its circumstances, drawn."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Column:
    """A column; `show` gives the cell of a table where the file has the value itself. None is an empty cell."""

    name: str
    show: Callable[[Any], str] = str


@dataclass(frozen=True)
class Results:
    """What a benchmark found. `remarks` say what a reader must know; `failures` are the limits that were missed."""

    title: str
    columns: tuple[Column, ...]
    rows: list[tuple[Any, ...]]
    remarks: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    draw: Callable[[Axes, list[tuple[Any, ...]]], None] | None = None

    def table(self) -> Table:
        """The measurements for a terminal."""
        table = Table(title=self.title, title_justify="left")
        for number, column in enumerate(self.columns):
            table.add_column(column.name, justify="right" if number else "left")
        for row in self.rows:
            table.add_row(*("" if cell is None else c.show(cell) for c, cell in zip(self.columns, row, strict=True)))
        return table

    def save(self, folder: Path, name: str, head: Mapping[str, str]) -> list[Path]:
        """Writes `name`.csv under its head and, where there is a drawing, `name`.svg; gives their paths."""
        folder.mkdir(parents=True, exist_ok=True)
        table = folder / f"{name}.csv"
        with table.open("w", encoding="utf-8", newline="") as file:
            file.write(f"# {self.title}\n")
            file.writelines(f"# {remark}\n" for remark in self.remarks)
            file.writelines(f"# {what}: {text}\n" for what, text in head.items())
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(column.name for column in self.columns)
            writer.writerows(self.rows)
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
