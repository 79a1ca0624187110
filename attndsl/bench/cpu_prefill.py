"""Prefill on a CPU: plain attention beside SDPA, masks and scores of their own beside FlexAttention, large logits."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import product
from typing import Any

import torch

from attndsl.bench import cpu, draw, masks, peers
from attndsl.bench.contest import Contestant, Inputs, Outputs
from attndsl.bench.ours import ours, truth
from attndsl.bench.suite import Cost, Effort, Suite, Work

HEADS = 8
VARIANTS = masks.variants(window=512)

LARGE = 10.0
"""By how much queries are larger where logits are at their worst."""

PEERS = ("SDPA", "SDPA bf16", "FlexAttention", "naive")
COLUMNS = cpu.columns(("work", "N", "D"), PEERS)


def qkv(n: int, width: int, device: torch.device) -> dict[str, torch.Tensor]:
    """Random q, k and v."""
    return {name: torch.randn(1, HEADS, n, width, device=device) for name in "qkv"}


def in_bf16(spec: str, causal: bool) -> Contestant:
    """SDPA in bf16, compared with what is right for its inputs."""

    def rounded(x: Inputs) -> Inputs:
        return {name: x[name].bfloat16() for name in "qkv"}

    def right(x: Inputs) -> Outputs:
        return truth(spec, {name: tensor.float() for name, tensor in rounded(x).items()}, {})

    return cpu.sdpa("SDPA bf16", lambda _: {"is_causal": causal}, element="bf16", truth=right, of=rounded)


def unmasked(n: int, width: int, causal: bool, large: bool = False) -> Work:
    """A row of plain attention, its logits those of normal numbers or `large`."""
    spec = "causal_end" if causal else "mha"
    pairs = n * (n + 1) // 2 if causal else n * n

    def inputs(device: torch.device) -> Inputs:
        x = qkv(n, width, device)
        return {**x, "q": x["q"] * LARGE} if large else x

    return Work(
        labels={"work": ("causal" if causal else "full") + ", large logits" * large, "N": n, "D": width},
        spec=spec,
        element="f32",
        inputs=inputs,
        contestants=(
            ours(spec, {}),
            cpu.sdpa(options=lambda _: {"is_causal": causal}),
            in_bf16(spec, causal),
            peers.naive(causal),
        ),
        cost=lambda _: Cost(4 * 4 * HEADS * n * width, 4 * HEADS * width * pairs),
    )


def variant(spec: str, n: int, width: int) -> Work:
    """A row of a spec with a mask or a score; FlexAttention's block mask is made before, and not counted."""
    params, mask, score = VARIANTS[spec]

    def inputs(device: torch.device) -> Inputs:
        return {**qkv(n, width, device), **masks.extra(1, HEADS, n, device)}

    def cost(x: Inputs) -> Cost:
        tiles = masks.visited(x, mask(x))
        return Cost(4 * 4 * HEADS * n * width, 4 * HEADS * width * tiles * masks.TILE**2)

    return Work(
        labels={"work": spec, "N": n, "D": width},
        spec=spec,
        element="f32",
        inputs=inputs,
        contestants=(ours(spec, params), *peers.flex(mask, score)[:1], masks.naive(mask, score)),
        cost=cost,
        params=params,
        rank=1,
    )


def works(effort: Effort) -> Iterable[Work]:
    """Plain rows first: FlexAttention is compiled for each of the others."""
    few = effort is Effort.QUICK
    for n, width, causal in product((1024,) if few else (1024, 4096), (64, 128), (False, True)):
        yield unmasked(n, width, causal)
    for causal in (False, True):
        yield unmasked(1024, 64, causal, large=True)
    for spec, width in product(VARIANTS, (64,) if few else (64, 128)):
        yield variant(spec, 4096, width)


def label(row: dict[str, Any]) -> str:
    """What a row is called in the drawing."""
    return f"{row['work']}, N = {row['N']}, D = {row['D']}"


SUITE = Suite(
    title=f"Prefill on a CPU, f32, B = 1, H = {HEADS}, milliseconds",
    columns=COLUMNS,
    works=works,
    cells=partial(cpu.cells, PEERS),
    draw=draw.ratios(COLUMNS, PEERS, label),
    remarks=(
        *cpu.REMARKS,
        "Operations count the visible pairs of plain attention, the visited tiles of 128 × 128 of other masks.",
        f"Where logits are large, queries are {LARGE:.0f} times as long. FlexAttention is compiled for each row.",
    ),
)
