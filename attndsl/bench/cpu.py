"""What the suites on a CPU share: the columns of their tables, and torch's scaled_dot_product_attention as a peer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch.nn.functional import scaled_dot_product_attention

from attndsl.bench import draw
from attndsl.bench.contest import Contestant, Inputs, Outputs
from attndsl.bench.results import Column, Draw, of_milliseconds
from attndsl.bench.suite import Found

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MS = 1e-3

REMARKS = (
    "Milliseconds; a ratio is a peer's time over ours. The head says which time that is; the file holds the wall's and",
    "the processors' for each: the wall's over the processors' is near 1 where one core works, 0.5 where two do.",
)


def columns(labels: Sequence[str], peers: Sequence[str], apart: bool = True) -> tuple[Column, ...]:
    """Those of a table in which peers are compared with ours, `apart` or the best; times are in the file."""
    everyone = ("ours", *peers)
    return (
        *map(Column, labels),
        Column("error", "{:.1e}".format),
        Column("ours", of_milliseconds),
        Column("GFLOP/s", "{:.0f}".format),
        *(() if apart else (Column("best peer"), Column("best peer / ours", "{:.2f}".format))),
        *(Column(f"{peer} / ours", "{:.2f}".format, apart) for peer in peers),
        Column("wall / processors"),
        *(Column(peer, of_milliseconds, shown=False) for peer in peers),
        *(Column(f"{name}, {what}", of_milliseconds, False) for what in ("wall", "processors") for name in everyone),
        Column("notes", shown=False),
    )


def cells(peers: Sequence[str], found: Found) -> dict[str, Any]:
    """What was measured, for these columns."""
    everyone = ("ours", *peers)
    ratios = {peer: found.ratio(peer) for peer in peers}
    known = {peer: ratio for peer, ratio in ratios.items() if ratio is not None}
    return {
        "error": found.error,
        "GFLOP/s": found.rate(found.cost.flops, 1e9),
        "best peer": min(known, key=known.__getitem__, default=None),
        "best peer / ours": min(known.values(), default=None),
        **{f"{peer} / ours": ratio for peer, ratio in ratios.items()},
        **times(found, everyone),
    }


def times(found: Found, names: Sequence[str]) -> dict[str, Any]:
    """What clocks say of contestants, and the wall's time over the processors'."""
    walls, busy = ({name: read(name, MS) for name in names} for read in (found.eager, found.busy))
    ratios = {name: wall / cpu for name in names if (wall := walls[name]) and (cpu := busy[name])}
    return {
        **{name: found.time(name, MS) for name in names},
        **{f"{name}, wall": walls[name] for name in names},
        **{f"{name}, processors": busy[name] for name in names},
        "wall / processors": ", ".join(f"{name} {ratio:.2f}" for name, ratio in ratios.items()),
    }


def drawing(of: Sequence[Column], peers: Sequence[str], label: Callable[[draw.Cells], str]) -> Draw:
    """A line for each row, on which each peer is a dot where its time over ours is."""

    def picture(axes: Axes, rows: list[draw.Cells]) -> None:
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

    return draw.of(of, picture)


def sdpa(
    name: str = "SDPA",
    options: Callable[[Inputs], Mapping[str, Any]] = lambda _: {},
    element: str | None = None,
    truth: Callable[[Inputs], Outputs] | None = None,
    of: Callable[[Inputs], Inputs] = lambda x: x,
) -> Contestant:
    """torch's scaled_dot_product_attention on what `of` makes of the inputs before."""

    def bind(x: Inputs) -> Callable[[], torch.Tensor]:
        x = of(x)
        return partial(scaled_dot_product_attention, x["q"], x["k"], x["v"], **options(x))

    return Contestant(name, bind, element=element, truth=truth)
