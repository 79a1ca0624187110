"""Prefill: the shapes of a study of FlashAttention-2 on tensor cores, and specs with masks and scores of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import torch

from attndsl.bench import draw, peers
from attndsl.bench.contest import Inputs, Outputs
from attndsl.bench.ours import ours, scheduled, truth
from attndsl.bench.results import Column, of_milliseconds
from attndsl.bench.suite import Cost, Effort, Found, Suite, Work

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MS = 1e-3
STAGES = (1, 2, 3)
TILE = 128
"""The side of the tiles by which specs with different masks are made comparable; FlexAttention's blocks have it too."""

LENGTHS = (1024, 2048, 4096, 8192)
SHAPES = {
    Effort.QUICK: ((4, 32),),
    Effort.DEFAULT: ((4, 32), (4, 8), (1, 32), (1, 8), (1, 1)),
    Effort.FULL: tuple((b, h) for b in (4, 2, 1) for h in (32, 8, 4, 2, 1)),
}
"""(B, H), the ones that fill a GPU first."""

PEERS = ("naive", "cuDNN", "FLASH", "EFFICIENT", "FlexAttention", "FlexAttention and mask")

COLUMNS = (
    *(Column(name) for name in ("spec", "B", "H", "N", "D")),
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


def qkv(batch: int, heads: int, n: int, width: int, device: torch.device) -> dict[str, torch.Tensor]:
    """Random q, k and v."""
    return {name: torch.randn(batch, heads, n, width, device=device).bfloat16() for name in "qkv"}


def plain(batch: int, heads: int, n: int, width: int, causal: bool, rank: int) -> Work:
    """A row of the study."""
    spec = "causal_end" if causal else "mha"
    pairs = n * (n + 1) // 2 if causal else n * n
    cost = Cost(moved=4 * batch * heads * n * width * 2, flops=4 * batch * heads * width * pairs)
    return Work(
        labels={"spec": spec, "B": batch, "H": heads, "N": n, "D": width},
        spec=spec,
        element="bf16",
        inputs=partial(qkv, batch, heads, n, width),
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


# --- specs with a mask or a score of their own, in FlexAttention's words

Say = Callable[[Inputs], peers.Mod | None]


def causal(_: Inputs) -> peers.Mod:
    """Nothing but causality."""
    return peers.causal_mask


def windowed(size: int) -> Say:
    """The last `size` keys."""
    return lambda _: lambda b, h, i, j: (j <= i) & (j > i - size)


def same_document(x: Inputs) -> peers.Mod:
    """The keys of a query's own document."""
    document = x["document"]
    return lambda b, h, i, j: (j <= i) & (document[b, i] == document[b, j])


def sloped(x: Inputs) -> peers.Mod:
    """A score that falls with the distance."""
    slope = x["slope"]
    return lambda score, b, h, i, j: score - slope[h] * (i - j)


def capped(cap: float) -> Say:
    """A score within -cap … cap."""
    return lambda _: lambda score, b, h, i, j: cap * torch.tanh(score / cap)


def unchanged(_: Inputs) -> None:
    """The score as it is."""


VARIANTS: dict[str, tuple[Mapping[str, Any], Say, Say]] = {
    "sliding_window": ({"window": 1024}, windowed(1024), unchanged),
    "alibi": ({}, causal, sloped),
    "softcap": ({"cap": 50.0}, causal, capped(50.0)),
    "document_mask": ({}, same_document, unchanged),
}
"""By spec: its parameters, its mask and its score."""


def variant(spec: str, batch: int, heads: int, n: int, width: int, rank: int) -> Work:
    """A row of a spec with a mask or a score, beside our own plain spec on the same inputs and FlexAttention."""
    params, mask, score = VARIANTS[spec]

    def inputs(device: torch.device) -> Inputs:
        steps = torch.rand(batch, n, device=device) < 8 / n
        slope = 2.0 ** (-8 / heads * torch.arange(1, heads + 1, device=device))
        extra = {"document": steps.cumsum(1).int(), "slope": slope}
        return {**qkv(batch, heads, n, width, device), **extra}

    def cost(x: Inputs) -> Cost:
        tiles = visited(x, mask(x))
        moved = 4 * batch * heads * n * width * 2
        return Cost(moved, flops=4 * batch * heads * width * tiles * TILE**2, tiles=tiles)

    def alone(x: Inputs) -> Outputs:
        return truth("causal_end", x, {})

    return Work(
        labels={"spec": spec, "B": batch, "H": heads, "N": n, "D": width},
        spec=spec,
        element="bf16",
        inputs=inputs,
        contestants=(ours(spec, params), ours("causal_end", {}, "plain", truth=alone), *peers.flex(mask, score)),
        cost=cost,
        params=params,
        rank=rank,
    )


def visited(x: Inputs, mask: peers.Mod | None) -> int:
    """The tiles of a head in which some key is seen, the mean of the batch."""
    blocks = peers.block_mask(x, mask)
    assert blocks is not None and blocks.full_kv_num_blocks is not None
    counts = blocks.kv_num_blocks + blocks.full_kv_num_blocks
    return round(float(counts.sum(-1).double().mean()))


def works(effort: Effort) -> Iterable[Work]:
    """The study's rows, then those with masks and scores; large and masked ones are run first."""
    for rank, (batch, heads) in enumerate(SHAPES[effort]):
        lengths = LENGTHS[2:3] if effort is Effort.QUICK else LENGTHS
        for width, causal_, n in product((64, 128), (False, True), lengths):
            yield plain(batch, heads, n, width, causal_, rank=2 * rank)
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
    ratio, side = found.ratio("plain"), -(-found.work.labels["N"] // TILE)
    return None if ratio is None else round(ratio * found.cost.tiles / (side * (side + 1) // 2), 3)


def picture(axes: Axes, rows: list[dict[str, Any]]) -> None:
    """TFLOP/s over N, of the shape that fills the GPU best."""
    best = max(((row["B"] * row["H"]) for row in rows if row["spec"] in ("mha", "causal_end")), default=0)
    for spec, style in (("mha", "-"), ("causal_end", "--")):
        chosen = [row for row in rows if (row["spec"], row["D"], row["B"] * row["H"]) == (spec, 128, best)]
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
