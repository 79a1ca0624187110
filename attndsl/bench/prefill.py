"""Prefill: the shapes of a study of FlashAttention-2 on tensor cores, and specs with masks and scores of their own."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import torch

from attndsl.bench import draw, masks, peers
from attndsl.bench.contest import Inputs, Outputs
from attndsl.bench.ours import ours, scheduled, truth
from attndsl.bench.results import Column, of_milliseconds
from attndsl.bench.suite import Cost, Effort, Found, Suite, Work

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MS = 1e-3
STAGES = (1, 2, 3)
VARIANTS = masks.variants(window=1024)

LENGTHS = (1024, 2048, 4096, 8192)
SHAPES = {
    Effort.QUICK: ((4, 32),),
    Effort.DEFAULT: ((4, 32), (4, 8), (1, 32), (1, 8), (1, 1)),
    Effort.FULL: tuple((b, h) for b in (4, 2, 1) for h in (32, 8, 4, 2, 1)),
}
"""(B, H), the ones that fill a GPU first."""

OTHER_WIDTHS, OTHER_LENGTHS = ((80, 80), (96, 96), (256, 256), (192, 128)), (1000, 4097)
"""Heads that are no power of two, as wide as a processor's memory allows, or of keys wider than values; lengths that no
tile divides."""

PEERS = ("naive", "cuDNN", "FLASH", "EFFICIENT", "FlexAttention", "FlexAttention and mask")

COLUMNS = (
    *(Column(name) for name in ("spec", "B", "H", "N", "D", "E")),
    Column("error", "{:.1e}".format),
    Column("ours", of_milliseconds),
    Column("TFLOP/s", "{:.0f}".format),
    *(Column(f"stages {stages}", of_milliseconds) for stages in STAGES),
    *(Column(peer, of_milliseconds) for peer in PEERS),
    Column("FlexAttention / ours", "{:.2f}".format),
    Column("and mask / ours", "{:.2f}".format),
    Column("cuDNN / ours", "{:.2f}".format),
    Column("FLASH / ours", "{:.2f}".format),
    Column("naive / ours", "{:.1f}".format),
    Column("plain by tile / ours", "{:.2f}".format),
    Column("of limit", "{:.0%}".format),
    Column("ours, eager", of_milliseconds, shown=False),
    Column("notes", shown=False),
)


def qkv(batch: int, heads: int, n: int, width: int, values: int, device: torch.device) -> dict[str, torch.Tensor]:
    """Random q and k of `width` features, and v of `values`."""
    widths = {"q": width, "k": width, "v": values}
    return {name: torch.randn(batch, heads, n, each, device=device).bfloat16() for name, each in widths.items()}


def plain(batch: int, heads: int, n: int, width: int, values: int, causal: bool, rank: int) -> Work:
    """A row of the study."""
    spec = "causal_end" if causal else "mha"
    pairs = n * (n + 1) // 2 if causal else n * n
    features = 2 * batch * heads * (width + values)
    cost = Cost(moved=features * n * 2, flops=features * pairs)
    return Work(
        labels={"spec": spec, "B": batch, "H": heads, "N": n, "D": width, "E": values},
        spec=spec,
        element="bf16",
        inputs=partial(qkv, batch, heads, n, width, values),
        contestants=(
            ours(spec, {}),
            *(scheduled(spec, {}, f"stages {stages}", {"num_stages": stages}) for stages in STAGES),
            peers.naive(causal),
            *peers.sdpa(causal),
            peers.flex_plain(causal),
        ),
        cost=lambda _: cost,
        rank=rank,
    )


def variant(spec: str, batch: int, heads: int, n: int, width: int, rank: int) -> Work:
    """A row of a spec with a mask or a score, beside our own plain spec on the same inputs and FlexAttention."""
    params, mask, score = VARIANTS[spec]

    def inputs(device: torch.device) -> Inputs:
        return {**qkv(batch, heads, n, width, width, device), **masks.extra(batch, heads, n, device)}

    def cost(x: Inputs) -> Cost:
        tiles = masks.visited(x, mask(x))
        moved = 4 * batch * heads * n * width * 2
        return Cost(moved, flops=4 * batch * heads * width * tiles * masks.TILE**2, tiles=tiles)

    def alone(x: Inputs) -> Outputs:
        return truth("causal_end", x, {})

    return Work(
        labels={"spec": spec, "B": batch, "H": heads, "N": n, "D": width, "E": width},
        spec=spec,
        element="bf16",
        inputs=inputs,
        contestants=(ours(spec, params), ours("causal_end", {}, "plain", truth=alone), *peers.flex(mask, score)),
        cost=cost,
        params=params,
        rank=rank,
    )


def works(effort: Effort) -> Iterable[Work]:
    """The study's rows, then those with masks and scores; large and masked ones are run first."""
    for rank, (batch, heads) in enumerate(SHAPES[effort]):
        lengths = LENGTHS[2:3] if effort is Effort.QUICK else LENGTHS
        for width, causal_, n in product((64, 128), (False, True), lengths):
            yield plain(batch, heads, n, width, width, causal_, rank=2 * rank)
    if effort is not Effort.QUICK:
        for widths, causal_ in product(OTHER_WIDTHS, (False, True)):
            yield plain(4, 16, 4096, *widths, causal_, rank=1)
        for causal_, n in product((False, True), OTHER_LENGTHS):
            yield plain(4, 32, n, 128, 128, causal_, rank=1)
    for spec, n in product(VARIANTS, LENGTHS[2:3] if effort is Effort.QUICK else LENGTHS[2:]):
        yield variant(spec, 2, 32, n, 128, rank=1)


def cells(found: Found) -> dict[str, Any]:
    """What was measured."""
    names = ("ours", *(f"stages {stages}" for stages in STAGES), *PEERS)
    flex = "FlexAttention"
    return {
        "error": found.error,
        **{name: found.time(name, MS) for name in names},
        "TFLOP/s": found.rate(found.cost.flops, 1e12),
        f"{flex} / ours": found.ratio(flex),
        "and mask / ours": found.ratio(f"{flex} and mask"),
        **{f"{peer} / ours": found.ratio(peer) for peer in ("cuDNN", "FLASH", "naive")},
        "plain by tile / ours": by_tile(found),
        "of limit": found.share,
        "ours, eager": found.eager("ours", MS),
    }


def by_tile(found: Found) -> float | None:
    """The time that our plain spec takes for a tile over the time of the row's."""
    ratio, side = found.ratio("plain"), -(-found.work.labels["N"] // masks.TILE)
    return None if ratio is None else round(ratio * found.cost.tiles / (side * (side + 1) // 2), 3)


def picture(axes: Axes, rows: list[dict[str, Any]]) -> None:
    """TFLOP/s over N, of the shape that fills the GPU best."""
    best = max(((row["B"] * row["H"]) for row in rows if row["spec"] in ("mha", "causal_end")), default=0)
    for spec, style in (("mha", "-"), ("causal_end", "--")):
        wanted = (spec, 128, best)
        chosen = [row for row in rows if (row["spec"], row["D"], row["B"] * row["H"]) == wanted and row["N"] in LENGTHS]
        rates = [
            {"N": row["N"], **{name: draw.scaled(row["TFLOP/s"], row["ours"], row[name]) for name in ("ours", *PEERS)}}
            for row in chosen
        ]
        draw.lines(axes, rates, "N", ("ours", "cuDNN", "FlexAttention", "FLASH"), style, f", {spec}")
    axes.set_ylabel(f"TFLOP/s, B × H = {best}, D = 128")
    axes.set_xscale("log", base=2)
    axes.set_ylim(bottom=0)


SUITE = Suite(
    title="Prefill, bf16, milliseconds",
    columns=COLUMNS,
    works=works,
    cells=cells,
    draw=draw.of(COLUMNS, picture),
    remarks=(
        "Operations count the visible pairs of a plain spec, and the visited tiles of 128 × 128 of the others.",
        "'and mask' makes FlexAttention's block mask in each call; otherwise it is made before and not counted.",
        "'plain by tile' is our causal_end in the same turns, its time taken for as many tiles as the row visits.",
    ),
)
