"""Specs with a mask or a score of their own, in FlexAttention's words."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch.nn.functional import embedding

from attndsl.bench import peers
from attndsl.bench.contest import Contestant, Inputs

Say = Callable[[Inputs], peers.Mod | None]

TILE = 128
"""The side of the tiles by which specs with different masks are made comparable; FlexAttention's blocks have it too."""


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


def bucketed(x: Inputs) -> peers.Mod:
    """A score without its scale, and a number from a table for how far a key is, to either side."""
    bias, root, row = table(x), math.sqrt(x["q"].shape[-1]), row_of_table(x)
    return lambda score, b, h, i, j: score * root + bias[row(i, j), h]


def embedded(x: Inputs) -> peers.Mod:
    """The same in plain torch, as models have it: one embedding of all distances serves the whole batch."""
    bias, root, row = table(x), math.sqrt(x["q"].shape[-1]), row_of_table(x)
    return lambda score, b, h, i, j: score * root + embedding(row(i, j), bias).squeeze(1).movedim(-1, 1)


def row_of_table(x: Inputs) -> Callable[[Any, Any], Any]:
    """Which row of T5's table a query and a key read: the bucket of their distance, of the side on which the key is."""
    bucket, side = x["bucket"], len(x["bias"]) // 2
    last = len(bucket) - 1
    return lambda i, j: bucket[(j - i).abs().clamp(max=last)] + side * (j > i)


def by_distance(x: Inputs) -> peers.Mod:
    """A score with a number for each head and distance."""
    bias, none = table(x), x["q"].shape[2] - 1
    return lambda score, b, h, i, j: score + bias[h, j - i + none]


def table(x: Inputs) -> torch.Tensor:
    """A table of what is added to scores, in f32, so that what it gets back is added up in that."""
    return x["bias"].float()


def unchanged(_: Inputs) -> None:
    """The score as it is."""


def variants(window: int) -> dict[str, tuple[Mapping[str, Any], Say, Say]]:
    """By spec: its parameters, its mask and its score."""
    return {
        "sliding_window": ({"window": window}, windowed(window), unchanged),
        "alibi": ({}, causal, sloped),
        "softcap": ({"cap": 50.0}, causal, capped(50.0)),
        "document_mask": ({}, same_document, unchanged),
    }


def naive(mask: Say, score: Say) -> Contestant:
    """The same in plain torch, all scores in memory."""

    def bind(x: Inputs) -> Callable[[], torch.Tensor]:
        peers.hold_scores(x)
        q, k, v = x["q"], x["k"], x["v"]
        (batch, heads, rows, width), keys = q.shape, k.shape[2]
        seen, changed = mask(x), score(x)
        b, h, i, j = (torch.from_numpy(each).to(q.device) for each in np.ogrid[:batch, :heads, :rows, :keys])

        def call() -> torch.Tensor:
            scores = q @ k.mT / math.sqrt(width)
            if changed is not None:
                scores = changed(scores, b, h, i, j)
            if seen is not None:
                scores = torch.where(seen(b, h, i, j), scores, -math.inf)
            return scores.softmax(-1).to(v.dtype) @ v

        return call

    return Contestant("naive", bind)


def extra(batch: int, heads: int, n: int, device: torch.device) -> Inputs:
    """What these specs read besides q, k and v: about eight documents, the usual slopes."""
    steps = torch.rand(batch, n, device=device) < 8 / n
    slope = 2.0 ** (-8 / heads * torch.arange(1, heads + 1, device=device))
    return {"document": steps.cumsum(1).int(), "slope": slope}


def visited(x: Inputs, mask: peers.Mod | None) -> int:
    """The tiles of a head in which some key is seen, the mean of the batch."""
    blocks = peers.block_mask(x, mask)
    assert blocks is not None and blocks.full_kv_num_blocks is not None
    counts = blocks.kv_num_blocks + blocks.full_kv_num_blocks
    return round(float(counts.sum(-1).double().mean()))
