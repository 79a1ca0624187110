"""The picture of a mask: rows by keys, the tiles that programs visit, when each starts, the parts of a split."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from attndsl.drawing.picture import Picture, Walk
from attndsl.drawing.style import FULL, HATCH, INK, SEEN, SMALL

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Box = tuple[float, float, float, float]
"""Left, top, width, height: in keys and rows."""


def draw_whole(axes: Axes, picture: Picture) -> None:
    """What each program visits where keys are not split, and, beside its rows, when it starts."""
    _mask(axes, picture, picture.whole)
    ordered = sorted(picture.whole, key=lambda walk: walk.start)
    keys = picture.seen.shape[1]
    labelled = len(ordered) <= MOST_LABELS
    for number, walk in enumerate(ordered, 1):
        for top, height in runs_of(walk.rows):
            axes.plot([0, keys], [top, top], color=INK, linewidth=0.4, linestyle=":")
            if labelled:
                axes.text(keys * 1.02, top + height / 2, str(number), fontsize=SMALL, va="center", clip_on=False)
    if labelled and ordered:
        axes.text(keys * 1.02, -0.01 * len(picture.seen), "starts", fontsize=SMALL, va="bottom", clip_on=False)
    visited = [tile for walk in picture.whole for tile in walk.tiles]
    full = [tile for tile in visited if tile.kind == "full"]
    head = ", ".join(f"{name} = {value}" for name, value in picture.fixed.items())
    if not picture.whole:
        axes.set_title(f"{head}{': ' if head else ''}what programs visit is not told", fontsize=SMALL, loc="left")
        return
    counts = (_count(ordered, "program"), _count(visited, "tile"), _count(full, "full one"))
    axes.set_title(f"{head}{': ' if head else ''}{', '.join(counts)}", fontsize=SMALL, loc="left")


def draw_split(axes: Axes, picture: Picture) -> None:
    """The same where a launch splits the keys: each part of a row's keys is folded by a program of its own."""
    _mask(axes, picture, picture.split)
    labelled = len(picture.split) <= MOST_PARTS
    for walk in picture.split:
        for top, height in runs_of(walk.rows):
            for left, width in runs_of(sorted(walk.keys)):
                outline = (left, top, width, height)
                axes.add_patch(_outlines([outline], fill=False, edgecolor=INK, linewidth=1.6))
                if not labelled:
                    continue
                x, y = left + width / 2, top + height / 2
                axes.plot(x, y, "o", markersize=7, color="white", markeredgecolor=INK, markeredgewidth=0.5)
                axes.text(x, y, str(walk.part + 1), fontsize=5, ha="center", va="center", color="black")
    parts = 1 + max((walk.part for walk in picture.split if walk.tiles), default=0)
    axes.set_title(f"a launch with few rows: keys in {parts} parts, then merged", fontsize=SMALL, loc="left")


def height_of(picture: Picture) -> float:
    """How high a picture of width 1 is: rows and keys are alike where both have room."""
    rows, keys = len(picture.seen), len(picture.seen[0])
    return min(1.0, max(0.3, rows / keys))


MOST_LABELS, MOST_PARTS = 32, 64
"""More programs, and more parts of all of them, are not numbered: nobody could read it."""


def _count(things: Sequence[Any], name: str) -> str:
    return f"{len(things) or 'no'} {name}{'s' if len(things) != 1 else ''}"


def _mask(axes: Axes, picture: Picture, walks: Sequence[Walk]) -> None:
    rows, keys = picture.seen.shape
    full, mixed = (boxes_of(walks, kind) for kind in ("full", "mixed"))
    tested = picture.seen.copy()
    for walk in walks:
        for tile in walk.tiles:
            if tile.kind == "full":
                tested[np.ix_(np.array(walk.rows), tile.keys)] = False
    if seen := list(cells_of(tested)):
        axes.add_patch(_outlines(seen, facecolor=SEEN, edgecolor="none"))
    if mixed:
        axes.add_patch(_outlines(mixed, fill=False, edgecolor=INK, linewidth=0.6, hatch=HATCH))
    if full:
        axes.add_patch(_outlines(full, facecolor=FULL, edgecolor="white", linewidth=0.4))
    axes.set_xlim(0, keys)
    axes.set_ylim(rows, 0)
    axes.set_aspect("auto")
    axes.xaxis.set_major_locator(_steps(keys))
    axes.yaxis.set_major_locator(_steps(rows))
    axes.tick_params(length=2)
    axes.set_xlabel(f"keys: {picture.keys}", fontsize=SMALL, labelpad=1)
    axes.set_ylabel(f"rows: {picture.rows}", fontsize=SMALL, labelpad=1)


def _steps(count: int) -> Any:
    from matplotlib.ticker import MultipleLocator

    step = 1
    while step * 8 < count:
        step *= 2
    return MultipleLocator(step)


def boxes_of(walks: Iterable[Walk], kind: str) -> list[Box]:
    """The tiles of a kind: a box for each run of rows and of keys."""
    return [
        (left, top, width, height)
        for walk in walks
        for top, height in runs_of(walk.rows)
        for tile in walk.tiles
        if tile.kind == kind
        for left, width in runs_of(tile.keys)
    ]


def cells_of(seen: np.ndarray[Any, Any]) -> Iterable[Box]:
    """Boxes that cover what is seen: runs of keys, of as many rows below each other as have the same."""
    top = 0
    while top < len(seen):
        bottom = top + 1
        while bottom < len(seen) and np.array_equal(seen[bottom], seen[top]):
            bottom += 1
        for left, width in runs_of(np.flatnonzero(seen[top])):
            yield left, top, width, bottom - top
        top = bottom


def runs_of(places: Iterable[int]) -> list[tuple[int, int]]:
    """Runs of places that follow each other: where each begins, and how long it is."""
    found: list[tuple[int, int]] = []
    for place in sorted({int(place) for place in places}):
        if found and sum(found[-1]) == place:
            found[-1] = (found[-1][0], found[-1][1] + 1)
        else:
            found.append((place, 1))
    return found


def _outlines(boxes: Sequence[Box], **style: Any) -> Any:
    """Boxes as one patch."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    paths = []
    for left, top, width, height in boxes:
        corners = [(left, top), (left + width, top), (left + width, top + height), (left, top + height), (left, top)]
        paths.append(Path(corners, closed=True))
    return PathPatch(Path.make_compound_path(*paths), **style)


def legend_of() -> list[Any]:
    """What the kinds of tiles look like."""
    from matplotlib.patches import Patch

    return [
        Patch(facecolor=FULL, edgecolor="white", label="full: every row sees every key, nothing is tested"),
        Patch(facecolor=SEEN, edgecolor=INK, hatch=HATCH, label="mixed: what is shaded is seen, each pair is tested"),
        Patch(facecolor="none", edgecolor=INK, linewidth=0.6, label="skipped: never read"),
    ]
