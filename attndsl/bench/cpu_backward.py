"""Backward on a CPU: plain attention beside SDPA, a window and learned slopes beside plain torch and FlexAttention."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import product
from typing import Any

from attndsl.bench import cpu, draw, gradients
from attndsl.bench.contest import Inputs
from attndsl.bench.gradients import Shape
from attndsl.bench.suite import Effort, Suite, Work

HEADS, KV_HEADS = 8, 2
VARIANTS = gradients.variants(window=512)
TERMS = ("sliding_window", "alibi")

PEERS = ("SDPA", "FlexAttention", "naive")
COLUMNS = cpu.columns(("spec", "N", "D"), PEERS)


def row(name: str, n: int, width: int, rank: int = 0) -> Work:
    """A row: the backward of a spec alone."""
    shape = Shape(1, HEADS, KV_HEADS if name == "gqa" else HEADS, n, width, width)

    def options(x: Inputs) -> dict[str, bool]:
        return {"is_causal": gradients.PLAIN[name], "enable_gqa": x["q"].shape[1] != x["k"].shape[1]}

    labels = {"spec": name, "N": n, "D": width}
    return gradients.row(name, VARIANTS[name], shape, "f32", labels, [cpu.sdpa(options=options)], rank=rank)


def works(effort: Effort) -> Iterable[Work]:
    """Short rows first."""
    few = effort is Effort.QUICK
    for width, name in product((64,) if few else (64, 128), gradients.PLAIN):
        yield row(name, 1024, width)
    for width, name in product((64, 128) if effort is Effort.FULL else (64,), () if few else gradients.PLAIN):
        yield row(name, 4096, width, rank=2)
    for width, name in product((64,) if few else (64, 128), TERMS):
        yield row(name, 1024 if few else 4096, width, rank=1)


def label(row: dict[str, Any]) -> str:
    """What a row is called in the drawing."""
    return f"{row['spec']}, N = {row['N']}, D = {row['D']}"


SUITE = Suite(
    title=f"Backward alone on a CPU, f32, B = 1, H = {HEADS}, milliseconds",
    columns=COLUMNS,
    works=works,
    cells=partial(cpu.cells, PEERS),
    draw=draw.ratios(COLUMNS, PEERS, label),
    remarks=(
        *cpu.REMARKS,
        "The forward is called once before, and what it saved serves each call.",
        f"Heads of gqa share {KV_HEADS} of keys; the window is of 512; alibi gives its slopes a gradient, too.",
        "Operations are those of five products: of visible pairs, and of a window's visited tiles of 128 × 128.",
    ),
)
