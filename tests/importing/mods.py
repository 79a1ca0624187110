"""Mods of FlexAttention as people write them, for a call of 2 × 4 heads, 13 queries and 21 keys."""

from __future__ import annotations

import functools
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention.flex_attention import and_masks, or_masks

B, H, M, N = 2, 4, 13, 21
CANVAS_W = 5
KERNEL = 3

_random = torch.Generator().manual_seed(7)
slopes = torch.rand(H, generator=_random)
prefix_length = torch.tensor([4, 0])
lengths = torch.tensor([11, 0], dtype=torch.int32)
document_id = torch.randint(0, 4, (B, N), generator=_random)
seen = torch.rand(B, M, N, generator=_random) < 0.5
relative = torch.randn(H, M + N, generator=_random)
clipped = torch.randn(2 * 6 + 1, H, generator=_random)
bucket = torch.tensor([0, 1, 2, 2, 3, 3, 3, -1])
offset = torch.tensor(N - M)
here = SimpleNamespace(gate=torch.randn(H, M, generator=_random))


def noop(score: Tensor, b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
    return score


def causal(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
    """A query sees the keys up to its own."""
    return q_idx >= kv_idx


def causal_end(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
    return kv_idx <= q_idx + offset


def generate_sliding_window(window: int) -> Any:
    def sliding_window(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
        in_window = q_idx - kv_idx <= window
        return in_window & (q_idx >= kv_idx)

    return sliding_window


window = generate_sliding_window(4)
windows = or_masks(generate_sliding_window(2), and_masks(generate_sliding_window(6), lambda b, h, q, kv: kv % 2 == 0))


def prefix_lm(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
    return (kv_idx < prefix_length[b]) | (q_idx >= kv_idx)


def documents(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
    return document_id[b, q_idx] == document_id[b, kv_idx]


def padding(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
    """Of the second row of the batch no key is seen."""
    return kv_idx < lengths[b]


def dense(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
    return seen[b][q_idx, kv_idx]


def dilated(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor, *, dilation: int = 3) -> Tensor:
    distance = torch.abs(q_idx - kv_idx)
    return (distance % dilation == 0) & (distance // dilation <= 2)


def some_heads(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
    return torch.where(h < 2, q_idx >= kv_idx, (q_idx ^ kv_idx) < 8)


def get_xy(flat: Tensor) -> tuple[Tensor, Tensor]:
    return flat % CANVAS_W, flat // CANVAS_W


def natten(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
    q_x, q_y = get_xy(q_idx)
    kv_x, kv_y = get_xy(kv_idx)
    kernel_x = q_x.clamp(KERNEL // 2, (CANVAS_W - 1) - KERNEL // 2)
    horizontal = (kernel_x - kv_x).abs() <= KERNEL // 2
    vertical = (q_y - kv_y).abs() <= KERNEL // 2
    return horizontal & vertical


def alibi(score: Tensor, b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
    bias = (kv_idx - q_idx) * slopes[h]
    return score + bias


def softcap(score: Tensor, b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor, cap: float = 20.0) -> Tensor:
    return cap * torch.tanh(score / cap)


halved = functools.partial(softcap, cap=0.5)


def relative_bias(score: Tensor, b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
    """Before the first key the bias is read from its end, as torch does."""
    return score + relative[h, q_idx - kv_idx]


def clipped_bias(score: Tensor, b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
    furthest = clipped.shape[0] // 2
    return score + clipped[(kv_idx - q_idx).clamp(-furthest, furthest) + furthest, h]


def bucketed(score: Tensor, b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
    near = bucket[torch.minimum((q_idx - kv_idx).abs(), torch.tensor(7))]
    return score * 2 + clipped[near + torch.where(kv_idx > q_idx, 4, 0), h]


def gated(score: Tensor, b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
    ratio = (q_idx + 1) / (kv_idx + 2)
    return score * torch.sigmoid(here.gate[h][q_idx]) + ratio.log() - torch.exp(-ratio) ** 2


def cut(score: Tensor, b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
    return torch.where((q_idx - 3 <= kv_idx) & (kv_idx <= q_idx), score, -float("inf"))


MODS: dict[str, tuple[Any, Any]] = {
    "noop": (noop, None),
    "causal": (None, causal),
    "causal_end": (None, causal_end),
    "sliding_window": (None, window),
    "windows": (None, windows),
    "prefix_lm": (None, prefix_lm),
    "documents": (None, and_masks(documents, causal)),
    "padding": (None, padding),
    "dense": (None, dense),
    "dilated": (None, dilated),
    "some_heads": (None, some_heads),
    "natten": (None, natten),
    "alibi": (alibi, causal),
    "softcap": (softcap, generate_sliding_window(7)),
    "halved": (halved, None),
    "relative_bias": (relative_bias, None),
    "relative_bias_causal": (relative_bias, causal),
    "clipped_bias": (clipped_bias, None),
    "bucketed": (bucketed, padding),
    "gated": (gated, None),
    "cut": (cut, None),
}
"""A score_mod and a mask_mod each."""
