"""Decoding one token over a long dense cache: the shapes of a flash-decoding benchmark, and those of other models."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from attndsl.bench import draw, peers
from attndsl.bench.contest import Inputs
from attndsl.bench.limits import DTYPES
from attndsl.bench.ours import ours
from attndsl.bench.results import Column, of_bytes, of_milliseconds
from attndsl.bench.suite import Cost, Effort, Found, Suite, Work

if TYPE_CHECKING:
    from matplotlib.axes import Axes

US = 1e-6
PEERS = ("naive", "cuDNN", "FLASH", "EFFICIENT", "FlexAttention")

TOKENS = 65536
"""Batch times keys in the benchmark's own rows."""

MODELS = (
    *((16, 2, 128, 1, 131072), (16, 1, 128, 1, 131072)),
    *((32, 8, 128, batch, 8192) for batch in (1, 16, 64)),
    *((64, 1, 256, batch, 2048) for batch in (1, 32)),
    *((64, 8, 128, batch, n) for batch, n in ((1, 256), (1, 2048), (32, 2048))),
)
"""(query heads, key heads, D, B, keys) of further rows, in bf16."""

COLUMNS = (
    *(Column(name) for name in ("type", "Hq", "Hkv", "D", "B", "keys")),
    Column("bytes", of_bytes),
    Column("error", "{:.1e}".format),
    Column("ours", of_milliseconds),
    Column("GB/s", "{:.0f}".format),
    Column("of limit", "{:.0%}".format),
    *(Column(peer, of_milliseconds) for peer in PEERS),
    Column("best of cuDNN and FLASH / ours", "{:.2f}".format),
    Column("FlexAttention / ours", "{:.2f}".format),
    Column("naive / ours", "{:.1f}".format),
    Column("ours, eager", of_milliseconds),
    *(Column(f"{peer}, eager", of_milliseconds, shown=False) for peer in PEERS),
    Column("notes", shown=False),
)


def decode(element: str, shape: tuple[int, int, int, int, int], rank: int, with_flex: bool) -> Work:
    """A row: every query head of a batch has one query."""
    heads, kv_heads, width, batch, n = shape
    size = DTYPES[element].itemsize
    moved = size * batch * width * (2 * heads + 2 * kv_heads * n)

    def inputs(device: torch.device) -> Inputs:
        random = partial(torch.randn, device=device)
        cache = (batch, kv_heads, n, width)
        made = {"q": random(batch, heads, 1, width), "k": random(cache), "v": random(cache)}
        return {name: tensor.to(DTYPES[element]) for name, tensor in made.items()}

    return Work(
        labels={"type": element, "Hq": heads, "Hkv": kv_heads, "D": width, "B": batch, "keys": n},
        spec="gqa",
        element=element,
        inputs=inputs,
        contestants=(
            ours("gqa", {}),
            peers.naive(causal=True),
            *peers.sdpa(causal=True),
            *(peers.flex(lambda _: None, lambda _: None)[:1] if with_flex else ()),
        ),
        cost=lambda _: Cost(moved, 4 * batch * heads * width * n),
        rank=rank,
    )


def works(effort: Effort) -> Iterable[Work]:
    """The benchmark's rows by type and key heads, then those of models.

    FlexAttention is compiled for each shape, which takes seconds: unless all is asked for, every fourth row has it.
    """
    batches = (256, 16, 1) if effort is Effort.QUICK else tuple(2**power for power in range(8, -1, -1))
    elements = ("bf16",) if effort is Effort.QUICK else ("bf16", "f16", "f32")
    for element in elements:
        for kv_heads in (1,) if effort is Effort.QUICK else (1, 2):
            for batch in batches:
                n = TOKENS // batch
                seldom = element == "bf16" and kv_heads == 1 and batch in (256, 16, 1)
                yield decode(
                    element, (16, kv_heads, 128, batch, n), int(element != "bf16"), effort is Effort.FULL or seldom
                )
            if element != "bf16":
                yield decode(element, (16, kv_heads, 128, 1, 2 * TOKENS), 1, effort is Effort.FULL)
    for number, shape in enumerate(MODELS):
        if effort is not Effort.QUICK or number % 3 == 0:
            yield decode("bf16", shape, 0, effort is Effort.FULL or number % 3 == 0)


def cells(found: Found) -> dict[str, Any]:
    """What was measured."""
    return {
        "bytes": found.cost.moved,
        "error": found.error,
        **{name: found.time(name, US) for name in ("ours", *PEERS)},
        **{f"{name}, eager": found.eager(name, US) for name in ("ours", *PEERS)},
        "GB/s": found.rate(found.cost.moved, 1e9),
        "of limit": found.share,
        "best of cuDNN and FLASH / ours": found.ratio("cuDNN", "FLASH"),
        "FlexAttention / ours": found.ratio("FlexAttention"),
        "naive / ours": found.ratio("naive"),
    }


def picture(axes: Axes, rows: list[dict[str, Any]]) -> None:
    """GB/s over the keys of a request, of the benchmark's own rows in bf16."""
    own = [row for row in rows if (row["type"], row["Hq"], row["Hkv"]) == ("bf16", 16, 1)]
    names = ("ours", "cuDNN", "FLASH", "FlexAttention")
    rates = [{"keys": r["keys"], **{name: draw.scaled(r["GB/s"], r["ours"], r[name]) for name in names}} for r in own]
    draw.lines(axes, sorted(rates, key=lambda row: row["keys"]), "keys", names)
    axes.set_xscale("log", base=2)
    axes.set_ylim(bottom=0)
    axes.set_ylabel("GB/s, 16 query heads, 1 key head, D = 128")


SUITE = Suite(
    title="Decoding over a dense cache, microseconds",
    columns=COLUMNS,
    works=works,
    cells=cells,
    draw=draw.of(COLUMNS, picture),
    remarks=("FLASH is FlashAttention-2. 'bytes' are those of q, k, v and o.",),
)
