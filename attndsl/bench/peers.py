"""What a user would otherwise take: plain torch, scaled_dot_product_attention by backend, FlexAttention."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cache, partial
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.flex_attention import BlockMask, create_block_mask, flex_attention
from torch.nn.functional import scaled_dot_product_attention

from attndsl.bench.contest import Contestant, Inputs, Refused

BACKENDS = {
    "cuDNN": SDPBackend.CUDNN_ATTENTION,
    "FLASH": SDPBackend.FLASH_ATTENTION,
    "EFFICIENT": SDPBackend.EFFICIENT_ATTENTION,
}
"""SDPA's backends for a GPU. FLASH is FlashAttention-2."""

NAIVE_BYTES = 20e9
"""The scores that the naive form may keep."""

RECOMPILATIONS = 4096
"""Shapes that FlexAttention may be compiled for in a process; beyond torch's own limit it would refuse."""

Mod = Callable[..., torch.Tensor]


def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool) -> torch.Tensor:
    """Attention over [B, H, N, D], each step an operation; query heads that share a key's head are its rows."""
    (batch, heads, rows, width), kv_heads = q.shape, k.shape[1]
    grouped = q.reshape(batch, kv_heads, -1, width)
    score = grouped @ k.mT / math.sqrt(width)
    if causal and rows > 1:
        later = torch.ones(rows, k.shape[2], dtype=torch.bool, device=q.device).triu(1 + k.shape[2] - rows)
        score = score.view(batch, kv_heads, -1, *later.shape).masked_fill(later, -math.inf).view_as(score)
    return (score.softmax(-1) @ v).reshape(batch, heads, rows, -1)


def hold_scores(x: Inputs) -> None:
    """Raises Refused where scores do not fit that are all in memory: where they have gradients, thrice."""
    scores = math.prod(x["q"].shape[:3]) * x["k"].shape[2] * x["q"].element_size() * (3 if x["q"].requires_grad else 1)
    if scores > NAIVE_BYTES:
        raise Refused(f"its scores take {scores / 1e9:.0f} GB")


def naive(causal: bool) -> Contestant:
    """Attention in plain torch, all scores in memory."""

    def bind(x: Inputs) -> Callable[[], torch.Tensor]:
        hold_scores(x)
        return partial(attend, x["q"], x["k"], x["v"], causal)

    return Contestant("naive", bind)


def sdpa(causal: bool, dense: Callable[[Inputs], Inputs] = lambda x: x) -> list[Contestant]:
    """torch's scaled_dot_product_attention, once for each backend, on what `dense` makes of the inputs."""

    def around(backend: SDPBackend) -> Callable[[], AbstractContextManager[Any]]:
        return lambda: sdpa_kernel(backend)

    def bind(x: Inputs) -> Callable[[], torch.Tensor]:
        x = dense(x)
        # One query sees all keys: causal is aligned to the end here, to the start in torch.
        later, gqa = causal and x["q"].shape[2] > 1, x["q"].shape[1] != x["k"].shape[1]
        return partial(scaled_dot_product_attention, x["q"], x["k"], x["v"], is_causal=later, enable_gqa=gqa)

    return [Contestant(name, bind, around=around(backend)) for name, backend in BACKENDS.items()]


@cache
def compiled(function: Any) -> Any:
    """A function by torch.compile, for fixed shapes, in which its code is best.

    What its backward takes is left as it is, so that it can be called again.
    """
    torch._dynamo.config.recompile_limit = RECOMPILATIONS
    torch._dynamo.config.accumulated_recompile_limit = RECOMPILATIONS
    torch._functorch.config.donated_buffer = False
    return torch.compile(function, fullgraph=True, dynamic=False)


def causal_mask(b: Any, h: Any, i: Any, j: Any) -> Any:
    """A key is seen from its own position on, in FlexAttention's words."""
    return j <= i


def flex(mask: Callable[[Inputs], Mod | None], score: Callable[[Inputs], Mod | None]) -> list[Contestant]:
    """Compiled FlexAttention with what `mask` and `score` make of the inputs: its block mask made before, and per call.

    The second makes it by compiled code, as torch's manual advises.
    """

    def bind(x: Inputs) -> Callable[[], torch.Tensor]:
        return partial(_flex, x, score(x), block_mask(x, mask(x)))

    def bind_both(x: Inputs) -> Callable[[], torch.Tensor]:
        mod, score_mod = mask(x), score(x)
        if mod is None:
            raise Refused("there is no mask")
        return lambda: _flex(x, score_mod, block_mask(x, mod, compiled(create_block_mask)))

    return [Contestant("FlexAttention", bind), Contestant("FlexAttention and mask", bind_both)]


def flex_plain(causal: bool) -> Contestant:
    """Compiled FlexAttention where nothing but causality is said.

    Heads are put into the batch, whose size is left open: one compilation serves them all at no cost.
    """

    def bind(x: Inputs) -> Callable[[], torch.Tensor]:
        merged = {name: x[name].reshape(-1, 1, *x[name].shape[2:]) for name in "qkv"}
        for tensor in merged.values():
            torch._dynamo.maybe_mark_dynamic(tensor, 0)
        mask = block_mask(x, causal_mask if causal else None)
        return lambda: _flex(merged, None, mask).view(*x["q"].shape[:3], -1)

    return Contestant("FlexAttention", bind)


def block_mask(x: Inputs, mod: Mod | None, create: Callable[..., BlockMask] = create_block_mask) -> BlockMask | None:
    """The block mask of a mask; one that reads no data serves the whole batch."""
    if mod is None:
        return None
    batch = None if mod is causal_mask else x["q"].shape[0]
    return create(mod, batch, None, x["q"].shape[2], x["k"].shape[2], device=str(x["q"].device))


def _flex(x: Inputs, score: Mod | None, mask: BlockMask | None) -> torch.Tensor:
    gqa = x["q"].shape[1] != x["k"].shape[1]
    call = compiled(flex_attention)
    try:
        result: torch.Tensor = call(x["q"], x["k"], x["v"], score_mod=score, block_mask=mask, enable_gqa=gqa)
    except torch._dynamo.exc.Unsupported as reason:  # its cause is what FlexAttention says
        raise Refused(str(reason.__cause__ or reason)) from reason
    return result
