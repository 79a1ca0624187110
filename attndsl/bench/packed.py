"""Prefill of batches of requests, packed end to end: their keys side by side, and on pages, beside dense batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import torch
from torch.nn.functional import scaled_dot_product_attention

from attndsl.bench import draw, peers
from attndsl.bench.contest import Contestant, Inputs, Outputs
from attndsl.bench.ours import ours, truth
from attndsl.bench.results import Column, of_milliseconds
from attndsl.bench.suite import Cost, Effort, Found, Suite, Work

if TYPE_CHECKING:
    from matplotlib.axes import Axes

US = 1e-6
HEADS, KV_HEADS, WIDTH = 32, 8, 128
OURS = ("ours", "ours, packed", "ours, dense")
PEERS = ("gather, SDPA", "cuDNN", "FLASH")

REQUESTS = ((4, 4096, 4096), (16, 2048, 2048), (8, 512, 8192), (32, 1024, 1024), (128, 256, 256))
"""How many requests, and the rows and keys of each: whole prompts, chunks behind what was computed, short prompts."""

PAGES = (16, 64, 128)

COLUMNS = (
    *(Column(name) for name in ("B", "rows", "keys", "page")),
    Column("error", "{:.1e}".format),
    *(Column(name, of_milliseconds) for name in OURS),
    Column("TFLOP/s", "{:.0f}".format),
    Column("dense / paged", "{:.2f}".format),
    Column("dense / packed", "{:.2f}".format),
    *(Column(name, of_milliseconds) for name in PEERS),
    Column("best of cuDNN and FLASH / ours", "{:.2f}".format),
    Column("of limit", "{:.0%}".format),
    Column("ours, eager", of_milliseconds, shown=False),
    Column("notes", shown=False),
)


def gathered(x: Inputs) -> Inputs:
    """Keys and values of each request side by side, [B, N, Hkv, D]."""
    return {name: x[f"{name}_pages"][x["table"].long()].flatten(1, 2) for name in "kv"}


def packed(x: Inputs) -> Inputs:
    """The same call with the keys of all requests packed, [N, Hkv, D]."""
    keys = {name: each.flatten(0, 1) for name, each in gathered(x).items()}
    ends = torch.nn.functional.pad(x["length"].cumsum(0), (1, 0)).int()
    return {"q": x["q"], **keys, "cu_q": x["cu_q"], "cu_k": ends}


def dense(x: Inputs) -> Inputs:
    """The same call as a batch, [B, H, N, D]: all requests are equally long."""
    query = x["q"].unflatten(0, (len(x["table"]), -1))
    return {name: each.transpose(1, 2).contiguous() for name, each in {"q": query, **gathered(x)}.items()}


def of_batch(x: Inputs) -> Outputs:
    """What a dense batch computes, in float64, [B, H, M, D]."""
    return truth("gqa", dense(x), {})


def of_packed(x: Inputs) -> Outputs:
    """The same with all rows packed, [M, H, D]."""
    return {"o": of_batch(x)["o"].transpose(1, 2).flatten(0, 1)}


def gather_sdpa(x: Inputs) -> Callable[[], torch.Tensor]:
    """Gather the pages, then torch's own choice of attention."""
    batch = dense(x)
    rows, keys = batch["q"].shape[2], batch["k"].shape[2]
    chunk = torch.ones(rows, keys, dtype=torch.bool, device=x["q"].device).tril(keys - rows) if rows < keys else None

    def call() -> torch.Tensor:
        k, v = (each.transpose(1, 2) for each in gathered(x).values())
        return scaled_dot_product_attention(batch["q"], k, v, chunk, is_causal=chunk is None, enable_gqa=True)

    return call


def row(
    requests: int, rows: int, keys: int, page: int, heads: int = HEADS, kv_heads: int = KV_HEADS, width: int = WIDTH
) -> Work:
    """A row: every request has as many rows, the last of its keys, which lie on pages anywhere."""
    pages = -(-keys // page)

    def inputs(device: torch.device) -> Inputs:
        random = partial(torch.randn, device=device, dtype=torch.bfloat16)
        cache = (requests * pages, page, kv_heads, width)
        return {
            "q": random(requests * rows, heads, width),
            "k_pages": random(cache),
            "v_pages": random(cache),
            "table": torch.randperm(requests * pages, device=device).view(requests, pages).int(),
            "cu_q": rows * torch.arange(requests + 1, device=device, dtype=torch.int32),
            "length": torch.full((requests,), keys, device=device, dtype=torch.int32),
        }

    pairs = rows * (keys - rows) + rows * (rows + 1) // 2
    cost = Cost(4 * requests * width * (rows * heads + keys * kv_heads), 4 * requests * heads * width * pairs)
    # torch's causal rows are aligned to the first key, and not to the last one.
    others = peers.sdpa(causal=True, dense=dense) if rows == keys else []
    return Work(
        labels={"B": requests, "rows": rows, "keys": keys, "page": page},
        spec="paged_prefill",
        element="bf16",
        inputs=inputs,
        contestants=(
            ours("paged_prefill", {}),
            ours("packed_ragged", {}, "ours, packed", of=packed),
            ours("gqa", {}, "ours, dense", of=dense, truth=of_batch),
            Contestant("gather, SDPA", gather_sdpa, truth=of_batch),
            *(replace(peer, truth=of_batch) for peer in others if peer.name in PEERS),
        ),
        cost=lambda _: cost,
        truth=of_packed,
    )


def works(effort: Effort) -> Iterable[Work]:
    """All rows; they are few."""
    shapes, pages = (REQUESTS[1:2], PAGES[1:2]) if effort is Effort.QUICK else (REQUESTS, PAGES)
    for (requests, rows, keys), page in product(shapes, pages):
        yield row(requests, rows, keys, page)


def cells(found: Found) -> dict[str, Any]:
    """What was measured."""
    return {
        "error": found.error,
        **{name: found.time(name, US) for name in (*OURS, *PEERS)},
        "TFLOP/s": found.rate(found.cost.flops, 1e12),
        "dense / paged": found.ratio("ours, dense"),
        "dense / packed": found.ratio("ours, dense", ours="ours, packed"),
        "best of cuDNN and FLASH / ours": found.ratio("cuDNN", "FLASH"),
        "of limit": found.share,
        "ours, eager": found.eager("ours", US),
    }


def picture(axes: Axes, rows: list[dict[str, Any]]) -> None:
    """How near pages come to a dense batch."""
    draw.bars(
        axes, rows, lambda row: f"{row['B']} × {row['rows']} of {row['keys']}, pages of {row['page']}", "dense / paged"
    )


SUITE = Suite(
    title=f"Prefill of packed requests, {HEADS} heads on {KV_HEADS} of {WIDTH} features, causal, bf16, microseconds",
    columns=COLUMNS,
    works=works,
    cells=cells,
    draw=draw.of(COLUMNS, picture),
    remarks=(
        "'ours' reads keys on pages, in random order; 'ours, packed' reads them end to end, 'ours, dense' as a batch.",
        "cuDNN and FLASH read the dense batch, where rows are as many as keys; 'gather, SDPA' gathers the pages first.",
    ),
)
