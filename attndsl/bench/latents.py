"""Latent attention on a CPU: its inputs, its cache in fewer bits, and what torch makes of it.

Caches are f32, f16 and q8_0: 8-bit integers with an f16 scale for every 32 of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import torch
from torch.nn.functional import pad, scaled_dot_product_attention

from attndsl.bench.contest import Inputs

LATENT, ROTARY = 512, 64
D_NOPE, D_VALUE = 128, 128
D_HEAD = D_NOPE + ROTARY
BLOCK = 32

PARTS = ("c", "k_rope")
"""The tensors of a latent cache."""

CACHES = ("f32", "f16", "q8_0")

Call = Callable[[], torch.Tensor]


def absorbed(heads: int, n: int, random: partial[torch.Tensor]) -> dict[str, torch.Tensor]:
    """A query that w_uk is absorbed into, and a cache."""
    cache = {"c": random(1, n, LATENT), "k_rope": random(1, n, ROTARY)}
    return {"q": random(1, heads, 1, LATENT), "q_rope": random(1, heads, 1, ROTARY), **cache}


def projected(heads: int, m: int, n: int, random: partial[torch.Tensor]) -> dict[str, torch.Tensor]:
    """Queries, a cache and projections; what is projected is of the size of 1."""
    return {
        "q_nope": random(1, heads, m, D_NOPE),
        "q_rope": random(1, heads, m, ROTARY),
        "c": random(1, n, LATENT),
        "k_rope": random(1, n, ROTARY),
        "w_uk": random(heads, D_NOPE, LATENT) / math.sqrt(LATENT),
        "w_uv": random(heads, D_VALUE, LATENT) / math.sqrt(LATENT),
    }


# --- caches


def cached(x: Inputs, cache: str) -> dict[str, torch.Tensor]:
    """The tensors of a cache, of those in f32; of q8_0 its numbers in f32 as well."""
    if cache != "q8_0":
        return {name: x[name].to({"f32": torch.float32, "f16": torch.float16}[cache]) for name in PARTS}
    made = {}
    for name in PARTS:
        made[f"{name}_int"], made[f"{name}_scale"] = quantised(x[name])
    return {**made, **widened(made, cache)}


def widened(x: Inputs, cache: str) -> dict[str, torch.Tensor]:
    """The numbers that a cache holds, in f32."""
    if cache == "q8_0":
        return {name: _scaled(x[f"{name}_int"], x[f"{name}_scale"]) for name in PARTS}
    return {name: x[name].float() for name in PARTS}


def quantised(values: torch.Tensor, block: int = BLOCK) -> tuple[torch.Tensor, torch.Tensor]:
    """Integers in i8 and, for each block of the last dimension, their scale in f16."""
    cut = values.unflatten(-1, (-1, block))
    scale = (cut.abs().amax(-1) / 127).half()
    whole = (cut / scale.float()[..., None]).round().clamp(-127, 127)
    return whole.flatten(-2).to(torch.int8), scale


def _scaled(whole: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    wide: torch.Tensor = whole.unflatten(-1, (-1, BLOCK)) * scale.float()[..., None]
    return wide.flatten(-2)


def entry_bytes(cache: str) -> int:
    """The bytes that a cache holds of a token."""
    width = LATENT + ROTARY
    return {"f32": 4 * width, "f16": 2 * width, "q8_0": width + 2 * width // BLOCK}[cache]


# --- torch's forms


def sliced(x: Inputs) -> Call:
    """One query: keys are values too, and heads the rows of one; of what comes out the latent is taken."""
    q, k = side_by_side(x)
    shape, scale = (*x["q"].shape[:-1], LATENT), 1 / math.sqrt(D_HEAD)

    def call() -> torch.Tensor:
        latent = scaled_dot_product_attention(q[:, None], k[:, None], k[:, None], scale=scale)[..., :LATENT]
        return latent.reshape(shape)

    return call


def products(x: Inputs) -> Call:
    """One query: all heads in a product with the keys, a softmax, a product with the latents."""
    q, k = side_by_side(x)
    shape, scale = (*x["q"].shape[:-1], LATENT), 1 / math.sqrt(D_HEAD)
    return lambda: ((q @ k.mT * scale).softmax(-1) @ k[..., :LATENT]).view(shape)


def side_by_side(x: Inputs) -> tuple[torch.Tensor, torch.Tensor]:
    """The query of each head and each key, [B, H, R + P] and [B, N, R + P], as an engine keeps them."""
    q, k = (torch.cat([x[a], x[b]], -1) for a, b in (("q", "q_rope"), ("c", "k_rope")))
    return q[:, :, 0], k


def expanded(x: Inputs) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Queries, keys and values of each head, [B, H, M or N, D]."""
    c, heads = x["c"][:, None], x["w_uk"].shape[0]
    rope = x["k_rope"][:, None].expand(-1, heads, -1, -1)
    q = torch.cat([x["q_nope"], x["q_rope"]], -1)
    return q, torch.cat([c @ x["w_uk"].mT, rope], -1), c @ x["w_uv"].mT


def padded(x: Inputs, cache: str = "f32") -> Call:
    """Widen, expand, attend; values are padded to the width of keys, as SDPA's fast form on a CPU asks for."""
    m, n = x["q_nope"].shape[2], x["k_rope" if cache != "q8_0" else "k_rope_int"].shape[1]
    mask = None if m == n else torch.ones(m, n, dtype=torch.bool).tril(n - m)

    def call() -> torch.Tensor:
        q, k, v = expanded({**x, **widened(x, cache)})
        wide = pad(v, (0, D_HEAD - D_VALUE))
        return scaled_dot_product_attention(q, k, wide, attn_mask=mask, is_causal=mask is None)[..., :D_VALUE]

    return call
