"""Three masks as PyTorch's FlexAttention writes them, each to be checked against the spec of the same name.

From this folder, `attndsl fuzz sliding_window.attn --against flex_mods:sliding_window` draws calls until one is found
on which the two differ. docs/fuzzing.md shows what that finds where a mask is off by one.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

Mod = Callable[[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]

warnings.filterwarnings("ignore", message="flex_attention called without torch.compile")  # it is called as it is


def masked(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mod: Mod) -> torch.Tensor:
    """FlexAttention with a mask; q is [B, Hq, M, D], k and v have Hkv heads, of which Hq is a multiple."""
    block_mask = create_block_mask(mod, q.shape[0], q.shape[1], q.shape[2], k.shape[2], device=q.device)
    return flex_attention(q, k, v, block_mask=block_mask, enable_gqa=q.shape[1] != k.shape[1])


def sliding_window(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, window: int) -> torch.Tensor:
    """A query sees its own position and the window - 1 before it."""
    offset = k.shape[2] - q.shape[2]
    return masked(q, k, v, lambda b, h, i, j: (i + offset - window < j) & (j <= i + offset))


def document_mask(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, document: torch.Tensor) -> torch.Tensor:
    """A token sees those of its own document up to itself."""
    return masked(q, k, v, lambda b, h, i, j: (j <= i) & (document[b, i] == document[b, j]))


def prefix_lm(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, prefix: torch.Tensor) -> torch.Tensor:
    """The first prefix[b] keys are seen by every query, the others causally."""
    offset = k.shape[2] - q.shape[2]
    return masked(q, k, v, lambda b, h, i, j: (j < prefix[b]) | (j <= i + offset))
