"""Decoding over a paged cache, beside a dense one of the same length: the shapes of a paged-attention kernel's log."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import torch

from attndsl.bench import draw, peers
from attndsl.bench.contest import Contestant, Inputs
from attndsl.bench.ours import ours
from attndsl.bench.results import Column, of_milliseconds
from attndsl.bench.suite import Cost, Effort, Found, Suite, Work

if TYPE_CHECKING:
    from matplotlib.axes import Axes

US = 1e-6
PAGE = 16
PEERS = ("naive", "cuDNN", "FLASH")

COLUMNS = (
    *(Column(name) for name in ("Hq", "Hkv", "D", "B", "keys")),
    Column("error", "{:.1e}".format),
    Column("naive", of_milliseconds),
    Column("ours", of_milliseconds),
    Column("speed-up", "{:.1f}".format),
    Column("ours, dense", of_milliseconds),
    Column("dense / paged", "{:.2f}".format),
    Column("cuDNN", of_milliseconds),
    Column("FLASH", of_milliseconds),
    Column("best of cuDNN and FLASH / ours", "{:.2f}".format),
    Column("GB/s", "{:.0f}".format),
    Column("of limit", "{:.0%}".format),
    Column("ours, eager", of_milliseconds),
    *(Column(f"{peer}, eager", of_milliseconds, shown=False) for peer in PEERS),
    Column("notes", shown=False),
)


def dense(x: Inputs) -> Inputs:
    """The same call with keys and values side by side, [B, H, N, D]."""
    k, v = (x[name][x["table"].long()].flatten(1, 2).transpose(1, 2).contiguous() for name in ("k_pages", "v_pages"))
    return {"q": x["q"][:, :, None], "k": k, "v": v}


def naive(x: Inputs) -> Callable[[], torch.Tensor]:
    """Gather the pages, then attend, in plain torch."""

    def call() -> torch.Tensor:
        k, v = (x[name][x["table"]].flatten(1, 2).transpose(1, 2) for name in ("k_pages", "v_pages"))
        return peers.attend(x["q"][:, :, None], k, v, causal=True)[:, :, 0]

    return call


def one_query(contestant: Contestant) -> Contestant:
    """One whose output has a dimension for queries, without it."""

    def bind(x: Inputs) -> Callable[[], torch.Tensor]:
        call = contestant.bind(x)
        return lambda: call()[:, :, 0]

    return replace(contestant, bind=bind)


def decode(heads: int, kv_heads: int, width: int, batch: int, n: int) -> Work:
    """A row: every request has `n` keys, on pages that lie anywhere."""
    pages = n // PAGE

    def inputs(device: torch.device) -> Inputs:
        random = partial(torch.randn, device=device, dtype=torch.bfloat16)
        cache = (batch * pages, PAGE, kv_heads, width)
        return {
            "q": random(batch, heads, width),
            "k_pages": random(cache),
            "v_pages": random(cache),
            "table": torch.randperm(batch * pages, device=device).view(batch, pages).int(),
            "length": torch.full((batch,), n, device=device, dtype=torch.int32),
        }

    moved = 2 * batch * width * (2 * heads + 2 * kv_heads * n) + 4 * batch * (pages + 1)
    return Work(
        labels={"Hq": heads, "Hkv": kv_heads, "D": width, "B": batch, "keys": n},
        spec="paged_decode",
        element="bf16",
        inputs=inputs,
        contestants=(
            ours("paged_decode", {}),
            one_query(ours("gqa", {}, "ours, dense", of=dense)),
            Contestant("naive", naive),
            *(one_query(peer) for peer in peers.sdpa(causal=True, dense=dense) if peer.name in PEERS),
        ),
        cost=lambda _: Cost(moved, 4 * batch * heads * width * n),
    )


def works(effort: Effort) -> Iterable[Work]:
    """All rows; they are few and short."""
    heads = ((64, 1, 256), (64, 8, 128))
    batches, lengths = ((1,), (256,)) if effort is Effort.QUICK else ((1, 8, 16, 32), (256, 2048))
    for shape, batch, n in product(heads, batches, lengths):
        yield decode(*shape, batch, n)


def cells(found: Found) -> dict[str, Any]:
    """What was measured."""
    return {
        "error": found.error,
        **{name: found.time(name, US) for name in ("ours", "ours, dense", *PEERS)},
        **{f"{name}, eager": found.eager(name, US) for name in ("ours", *PEERS)},
        "speed-up": found.ratio("naive"),
        "dense / paged": found.ratio("ours, dense"),
        "best of cuDNN and FLASH / ours": found.ratio("cuDNN", "FLASH"),
        "GB/s": found.rate(found.cost.moved, 1e9),
        "of limit": found.share,
    }


def picture(axes: Axes, rows: list[dict[str, Any]]) -> None:
    """The speed-up over naive paged attention."""
    draw.bars(
        axes, rows, lambda row: f"({row['Hq']}, {row['Hkv']}, {row['D']}) B={row['B']} N={row['keys']}", "speed-up"
    )


SUITE = Suite(
    title="Decoding over a paged cache, bf16, microseconds",
    columns=COLUMNS,
    works=works,
    cells=cells,
    draw=draw.of(COLUMNS, picture),
    remarks=(
        f"Pages of {PAGE} keys in random order. 'naive' gathers them, then is plain torch; 'speed-up' is over it.",
        "cuDNN, FLASH and 'ours, dense' read a dense cache of the same length, which they did not have to gather.",
    ),
)
