"""Decoding with latent attention over a paged cache: the shapes of a benchmark of FA2, FA3 and FlashMLA."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import torch

from attndsl.bench import draw
from attndsl.bench.contest import Contestant, Inputs, Refused
from attndsl.bench.ours import ours
from attndsl.bench.results import Column, of_milliseconds
from attndsl.bench.suite import Cost, Effort, Found, Suite, Work

if TYPE_CHECKING:
    from matplotlib.axes import Axes

US = 1e-6
LATENT, ROTARY, PAGE, D_HEAD = 512, 64, 64, 192

HEADS = (8, 16, 32, 64, 128)
BATCHES = tuple(2**power for power in range(9))
LENGTHS = (128, 1024, 4096, 8192, 16384, 32768, 65536, 131072)
SOME = ((1, 4096), (1, 65536), (16, 4096), (128, 4096), (128, 16384), (256, 1024), (1, 128), (16, 32768))
"""(B, keys) of the rows that are measured unless all are asked for."""

GATHERED_BYTES = 20e9
"""The largest cache that the naive form may gather."""

FLASH_MLA = {
    (128, 128, 4096): 273.0,
    (16, 128, 16384): 602.0,
    (64, 16, 4096): 34.4,
    (128, 1, 4096): 19.7,
    (16, 1, 65536): 51.8,
}
"""Microseconds of FlashMLA (DeepSeek-AI, github.com/deepseek-ai/FlashMLA) by (H, B, keys): measured on an H200 in bf16
before this project began, in other runs than ours."""

COLUMNS = (
    *(Column(name) for name in ("H", "B", "keys")),
    Column("error", "{:.1e}".format),
    Column("ours", of_milliseconds),
    Column("GB/s", "{:.0f}".format),
    Column("TFLOP/s", "{:.0f}".format),
    Column("of limit", "{:.0%}".format),
    Column("naive", of_milliseconds),
    Column("naive / ours", "{:.1f}".format),
    Column("FlashMLA, other run", of_milliseconds),
    Column("FlashMLA, other run / ours", "{:.2f}".format),
    Column("ours, eager", of_milliseconds),
    Column("notes", shown=False),
)


def naive(x: Inputs) -> Callable[[], torch.Tensor]:
    """Gather the pages, then attend, in plain torch."""
    size = x["table"].numel() * PAGE * x["cache"].shape[2] * x["cache"].element_size()
    if size > GATHERED_BYTES:
        raise Refused(f"the gathered cache is {size / 1e9:.0f} GB")
    q = torch.cat([x["q"], x["q_rope"]], -1)[:, 0]

    def call() -> torch.Tensor:
        cache = x["cache"][x["table"]].flatten(1, 2)
        weight = (q @ cache.mT / math.sqrt(D_HEAD)).softmax(-1)
        return (weight @ cache[..., :LATENT])[:, None]

    return call


def decode(heads: int, batch: int, n: int) -> Work:
    """A row: one query a request, pages that lie anywhere."""
    pages = n // PAGE

    def inputs(device: torch.device) -> Inputs:
        random = partial(torch.randn, device=device, dtype=torch.bfloat16)
        return {
            "q": random(batch, 1, heads, LATENT),
            "q_rope": random(batch, 1, heads, ROTARY),
            "cache": random(batch * pages, PAGE, LATENT + ROTARY),
            "table": torch.randperm(batch * pages, device=device).view(batch, pages).int(),
            "length": torch.full((batch,), n, device=device, dtype=torch.int32),
        }

    entries = n * (LATENT + ROTARY) + heads * (2 * LATENT + ROTARY)
    return Work(
        labels={"H": heads, "B": batch, "keys": n},
        spec="mla_paged",
        element="bf16",
        inputs=inputs,
        contestants=(ours("mla_paged", {"d_head": D_HEAD}), Contestant("naive", naive)),
        cost=lambda _: Cost(
            2 * batch * entries + 4 * batch * (pages + 1), 2 * batch * heads * n * (2 * LATENT + ROTARY)
        ),
        params={"d_head": D_HEAD},
        rank=0 if (heads, batch, n) in FLASH_MLA else 1 + SOME.index((batch, n)) if (batch, n) in SOME else 99,
    )


def works(effort: Effort) -> Iterable[Work]:
    """The rows, head counts of one batch and length together; those with a reference are run first."""
    pairs = (
        SOME[:1] if effort is Effort.QUICK else SOME if effort is Effort.DEFAULT else tuple(product(BATCHES, LENGTHS))
    )
    for (batch, n), heads in product(pairs, (16, 128) if effort is Effort.QUICK else HEADS):
        yield decode(heads, batch, n)


def cells(found: Found) -> dict[str, Any]:
    """What was measured."""
    labels = found.work.labels
    reference, own = FLASH_MLA.get((labels["H"], labels["B"], labels["keys"])), found.time("ours", US)
    return {
        "error": found.error,
        "ours": own,
        "naive": found.time("naive", US),
        "naive / ours": found.ratio("naive"),
        "GB/s": found.rate(found.cost.moved, 1e9),
        "TFLOP/s": found.rate(found.cost.flops, 1e12),
        "of limit": found.share,
        "FlashMLA, other run": reference,
        "FlashMLA, other run / ours": round(reference / own, 3) if reference and isinstance(own, float) else None,
        "ours, eager": found.eager("ours", US),
    }


def picture(axes: Axes, rows: list[dict[str, Any]]) -> None:
    """Microseconds over the number of heads, a line for each batch and length; crosses are FlashMLA."""
    other = "FlashMLA, other run"
    for batch, n in dict.fromkeys((row["B"], row["keys"]) for row in rows):
        own = [row for row in rows if (row["B"], row["keys"]) == (batch, n) and isinstance(row["ours"], float)]
        (line,) = axes.plot(
            [row["H"] for row in own], [row["ours"] for row in own], marker="o", label=f"B={batch}, {n} keys"
        )
        known = [row for row in own if row[other]]
        axes.plot([row["H"] for row in known], [row[other] for row in known], "x", color=line.get_color())
    axes.plot([], [], "x", color="black", label=other)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("heads")
    axes.set_ylabel("µs")


SUITE = Suite(
    title="Latent attention, decoding, bf16, latent 512, rotary 64, pages of 64, microseconds",
    columns=COLUMNS,
    works=works,
    cells=cells,
    draw=draw.of(COLUMNS, picture),
    remarks=(
        "'FlashMLA, other run' is not measured here: DeepSeek's kernel, on an H200, before this project began.",
        "No backend of SDPA and no FlexAttention takes keys of 576. 'naive' gathers the pages, then is plain torch.",
    ),
)
