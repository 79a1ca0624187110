"""What the drawings of several suites share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from attndsl.bench.results import Column, Draw, Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = {
    "ours": "tab:blue",
    "cuDNN": "tab:green",
    "FLASH": "tab:orange",
    "FlexAttention": "tab:purple",
    "FlashMLA": "tab:red",
    "naive": "tab:gray",
}

Cells = dict[str, Any]


def of(columns: Sequence[Column], picture: Callable[[Axes, list[Cells]], None]) -> Draw:
    """A drawing of rows whose cells are known by column."""

    def draw(axes: Axes, rows: list[Row]) -> None:
        names = [column.name for column in columns]
        picture(axes, [dict(zip(names, row, strict=True)) for row in rows])
        if axes.get_legend_handles_labels()[0]:
            axes.legend(fontsize="x-small", loc="center left", bbox_to_anchor=(1, 0.5))

    return draw


def lines(axes: Axes, rows: list[Cells], x: str, names: Sequence[str], style: str = "-", suffix: str = "") -> None:
    """A line for each name that has numbers, over the column `x`."""
    for name in names:
        points = [(row[x], row[name]) for row in rows if isinstance(row[name], int | float)]
        if points:
            axes.plot(*zip(*points, strict=True), style, marker="o", color=COLOURS.get(name), label=name + suffix)
    axes.set_xlabel(x)


def ratios(columns: Sequence[Column], peers: Sequence[str], label: Callable[[Cells], str]) -> Draw:
    """A line for each row, on which each peer is a dot where its time over ours is."""

    def picture(axes: Axes, rows: list[Cells]) -> None:
        axes.get_figure(root=True).set_size_inches(8, max(3.0, 1 + 0.22 * len(rows)))  # type: ignore[union-attr]
        for peer in peers:
            known = [(row[f"{peer} / ours"], place) for place, row in enumerate(rows)]
            points = [(ratio, place) for ratio, place in known if isinstance(ratio, int | float)]
            if points:
                axes.plot(*zip(*points, strict=True), "o", markersize=5, label=peer)
        axes.set_yticks(range(len(rows)), [label(row) for row in rows], fontsize="x-small")
        axes.axvline(1, color="black", linewidth=0.8)
        axes.grid(axis="y", alpha=0.3)
        axes.set_xscale("log")
        axes.invert_yaxis()
        axes.set_xlabel("a peer's time over ours: beyond the line ours is faster")

    return of(columns, picture)


def bars(axes: Axes, rows: list[Cells], label: Callable[[Cells], str], name: str) -> None:
    """A bar for each row that has a number in the column `name`; a line where it is 1."""
    chosen = [row for row in rows if isinstance(row[name], int | float)]
    axes.get_figure(root=True).set_size_inches(7, max(4.0, 1 + 0.18 * len(chosen)))  # type: ignore[union-attr]
    drawn = axes.barh(range(len(chosen)), [row[name] for row in chosen], color=COLOURS["ours"])
    axes.bar_label(drawn, [f"{row[name]:.2g}" for row in chosen], padding=2, fontsize="x-small")
    axes.set_yticks(range(len(chosen)), [label(row) for row in chosen], fontsize="x-small")
    axes.axvline(1, color="black", linewidth=0.8)
    axes.invert_yaxis()
    axes.set_xlabel(name)


def scaled(rate: Any, ours: Any, time: Any) -> float | None:
    """The rate of another that takes `time` for what we do at `rate` in `ours`; None where one is no number."""
    if not all(isinstance(value, int | float) for value in (rate, ours, time)):
        return None
    return float(rate * ours / time)
