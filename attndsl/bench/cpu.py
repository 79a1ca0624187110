"""What the suites on a CPU share: the columns of their tables, and torch's scaled_dot_product_attention as a peer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention

from attndsl.bench.contest import Contestant, Inputs, Outputs
from attndsl.bench.results import Column, of_milliseconds
from attndsl.bench.suite import Found

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
