"""Backward on a GPU: plain attention beside SDPA, masks and learned scores beside FlexAttention, a step of training."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any

from attndsl.bench import draw, gradients, peers
from attndsl.bench.gradients import Shape
from attndsl.bench.results import Column, of_milliseconds
from attndsl.bench.suite import Effort, Found, Suite, Work

MS = 1e-3
BATCH, HEADS, KV_HEADS = 4, 32, 8
WINDOW = 1024
LENGTHS = (2048, 4096, 8192)
RAGGED = 4001
VARIANTS = gradients.variants(WINDOW)
TERMS = tuple(name for name in VARIANTS if name not in gradients.PLAIN)

PEERS = ("cuDNN", "FLASH", "FlexAttention", "naive")
BACKENDS = 2
"""Of SDPA's backends the first ones, which are the fastest."""

COLUMNS = (
    *(Column(name) for name in ("spec", "B", "Hq", "Hkv", "N", "D", "E")),
    Column("error", "{:.1e}".format),
    Column("ours", of_milliseconds),
    Column("TFLOP/s", "{:.0f}".format),
    *(Column(peer, of_milliseconds) for peer in PEERS),
    *(Column(f"{peer} / ours", "{:.2f}".format) for peer in PEERS),
    Column("of limit", "{:.0%}".format),
    Column("ours, eager", of_milliseconds, shown=False),
    Column("notes", shown=False),
)


def row(name: str, shape: Shape, step: bool = False, rank: int = 0) -> Work:
    """A row: the backward of a spec alone, or a `step` of training."""
    extents = (shape.batch, shape.heads, shape.kv_heads, shape.n, shape.width, shape.values)
    labels = {"spec": name + ", step" * step, **dict(zip(("B", "Hq", "Hkv", "N", "D", "E"), extents, strict=True))}
    sdpa = peers.sdpa(gradients.PLAIN.get(name, False))[:BACKENDS]
    differentiate = gradients.step if step else gradients.backward
    return gradients.row(name, VARIANTS[name], shape, "bf16", labels, sdpa, differentiate, rank)


def shaped(n: int, width: int, values: int | None = None, kv_heads: int = HEADS) -> Shape:
    """The shape of a row."""
    return Shape(BATCH, HEADS, kv_heads, n, width, values or width)


def works(effort: Effort) -> Iterable[Work]:
    """Plain rows first; those last in which FlexAttention adds up learned numbers one by one."""
    usual = LENGTHS if effort is Effort.FULL else LENGTHS[1:2]
    for n, width, name in product(usual if effort is Effort.QUICK else LENGTHS, (64, 128), ("mha", "causal_end")):
        yield row(name, shaped(n, width))
    for n in usual:
        yield row("gqa", shaped(n, 128, kv_heads=KV_HEADS))
        yield row("causal_end", shaped(n, 192, 128))
    for name in ("mha", "causal_end"):
        yield row(name, shaped(RAGGED, 128))
    for n, width, name in product(usual, (64, 128) if effort is Effort.FULL else (128,), TERMS):
        yield row(name, shaped(n, width), rank=2 if name in gradients.LEARNED else 1)
    yield row("alibi", shaped(LENGTHS[1], 128), step=True, rank=2)


def cells(found: Found) -> dict[str, Any]:
    """What was measured."""
    return {
        "error": found.error,
        "TFLOP/s": found.rate(found.cost.flops, 1e12),
        **{name: found.time(name, MS) for name in ("ours", *PEERS)},
        **{f"{peer} / ours": found.ratio(peer) for peer in PEERS},
        "of limit": found.share,
        "ours, eager": found.eager("ours", MS),
    }


def label(row: dict[str, Any]) -> str:
    """What a row is called in the drawing."""
    values = f", E = {row['E']}" if row["D"] != row["E"] else ""
    return f"{row['spec']}, N = {row['N']}, D = {row['D']}{values}"


SUITE = Suite(
    title="Backward alone, bf16, milliseconds",
    columns=COLUMNS,
    works=works,
    cells=cells,
    draw=draw.ratios(COLUMNS, PEERS, label),
    remarks=(
        "The forward is called once before, and what it saved serves each call; 'step' is a forward and its backward.",
        "The error is that of the worst gradient: of queries, keys, values, slopes or biases where they are learned.",
        "Operations are those of five products: of visible pairs, or of the visited tiles of windows and documents.",
        "FlexAttention's block mask is made before and not counted; its buffers are not donated: they are used again.",
    ),
)
