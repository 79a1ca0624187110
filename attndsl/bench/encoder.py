"""A sentence encoder's attention on a CPU: batches of short and padded sentences."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import torch

from attndsl.bench import cpu, draw
from attndsl.bench.contest import Inputs
from attndsl.bench.ours import ours
from attndsl.bench.suite import Cost, Effort, Suite, Work

SHAPES = ((12, 12, 32, 32), (32, 12, 128, 32), (1, 12, 32, 32), (4, 12, 512, 32), (1, 12, 128, 32), (128, 12, 32, 32))
"""(B, H, N, D); all-MiniLM-L6-v2 has 12 heads of 32."""

PEERS = ("SDPA",)
COLUMNS = cpu.columns(("B", "H", "N", "D"), PEERS)


def padded(batch: int, heads: int, n: int, width: int) -> Work:
    """A row: sentences of 1 to `n` tokens."""

    def inputs(device: torch.device) -> Inputs:
        qkv = {name: torch.randn(batch, heads, n, width, device=device) for name in "qkv"}
        return {**qkv, "valid": torch.arange(n, device=device) < torch.randint(1, n + 1, (batch, 1), device=device)}

    return Work(
        labels={"B": batch, "H": heads, "N": n, "D": width},
        spec="encoder",
        element="f32",
        inputs=inputs,
        contestants=(ours("encoder", {}), cpu.sdpa(options=lambda x: {"attn_mask": x["valid"][:, None, None]})),
        cost=lambda _: Cost(4 * 4 * batch * heads * n * width, 4 * batch * heads * width * n * n),
    )


def works(effort: Effort) -> Iterable[Work]:
    """All rows; they are few and short."""
    return [padded(*shape) for shape in (SHAPES[:2] if effort is Effort.QUICK else SHAPES)]


def label(row: dict[str, Any]) -> str:
    """What a row is called in the drawing."""
    return f"B = {row['B']}, N = {row['N']}"


SUITE = Suite(
    title="An encoder's attention on a CPU, f32, 12 heads of 32, padded",
    columns=COLUMNS,
    works=works,
    cells=partial(cpu.cells, PEERS),
    draw=draw.ratios(COLUMNS, PEERS, label),
    remarks=cpu.REMARKS,
)
