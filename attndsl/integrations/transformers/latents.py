"""Latent attention of transformers' models on the latents that their caches keep, wherever that is less work.

A layer of DeepSeek's expands the latent of each key to keys and values of all heads before it asks for attention. Here
they stay latents until attention is asked for: for few queries what expands them is absorbed into queries and outputs,
so that all heads share one key, the latent. Import this only when transformers is in use.
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable, Collection
from types import SimpleNamespace
from typing import Any

import torch
from torch.utils._pytree import tree_map_only

Expand = Callable[[Any, torch.Tensor, torch.Tensor], tuple[torch.Tensor, torch.Tensor]]
"""What expands latents [B, 1, N, R] and rotated keys [B, 1, N, P] of a layer to keys and values of its heads."""


class Latents(torch.Tensor):
    """Keys or values [B, H, N, …] that are kept as latents; whatever looks into them finds the expanded ones."""

    layer: Any
    latent: torch.Tensor
    rotated: torch.Tensor
    expanded: Callable[[], torch.Tensor]

    @classmethod
    def of(cls, layer: Any, latent: torch.Tensor, rotated: torch.Tensor, width: int, expanded: Any) -> Latents:
        """Of so many features a head, which `expanded` gives."""
        shape = (latent.shape[0], _heads(layer), latent.shape[2], width)
        made = torch.Tensor._make_wrapper_subclass(cls, shape, dtype=latent.dtype, device=latent.device)
        assert isinstance(made, cls)
        made.layer, made.latent, made.rotated, made.expanded = layer, latent, rotated, expanded
        return made

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, operator: Any, types: Any, given: Any = (), named: Any = None
    ) -> Any:
        """What an operator makes of the expanded ones."""
        given, named = tree_map_only(cls, lambda each: each.expanded(), (given, named or {}))
        return operator(*given, **named)


def keep_latents(model: torch.nn.Module, names: Collection[str]) -> None:
    """Has the layers of a model's module keep latents, where their attention is one of these; once for each class.

    It is done where a class expands them as DeepSeek V3 does, and nowhere else.
    """
    for layer in vars(sys.modules.get(type(model).__module__, object)).values():
        expand = vars(layer).get("expand_kv") if isinstance(layer, type) else None
        if expand is not None and _is_known(expand):
            layer.expand_kv = _kept(expand, names)


@torch.no_grad()
def _is_known(expand: Any) -> bool:
    """Whether it makes of latents what `absorbed` takes it to make, tried on a layer of a few numbers."""
    if hasattr(expand, "__wrapped__"):  # it keeps latents already
        return False
    weight, latent, rotated = (
        torch.arange(math.prod(shape), dtype=torch.float64, device="cpu").reshape(shape).sin()
        for shape in ((2, 4 + 3, 5), (3, 1, 6, 5), (3, 1, 6, 2))
    )
    layer = SimpleNamespace(qk_nope_head_dim=4, qk_rope_head_dim=2, v_head_dim=3)
    layer.kv_b_proj = lambda x: x @ weight.flatten(0, 1).mT
    try:
        key, value = expand(layer, latent, rotated)
    except Exception:  # it is another function, of whatever a layer of its own has
        return False
    of_keys, of_values = weight.split([4, 3], dim=1)
    found = (key, value)
    wanted = torch.cat([latent @ of_keys.mT, rotated.expand(3, 2, 6, 2)], dim=-1), latent @ of_values.mT
    return all(
        one.shape == other.shape and torch.allclose(one, other) for one, other in zip(found, wanted, strict=True)
    )


def _kept(expand: Expand, names: Collection[str]) -> Expand:
    """What expands latents only when somebody looks."""

    @functools.wraps(expand)
    def kept(layer: Any, latent: torch.Tensor, rotated: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        seen = torch.is_grad_enabled() or torch.compiler.is_compiling()  # by what knows tensors of torch alone
        if seen or layer.config._attn_implementation not in names or not _is_plain(layer.kv_b_proj, latent):
            return expand(layer, latent, rotated)
        both = functools.cache(lambda: expand(layer, latent, rotated))
        widths = (layer.qk_nope_head_dim + layer.qk_rope_head_dim, layer.v_head_dim)
        key, value = (Latents.of(layer, latent, rotated, widths[n], lambda n=n: both()[n]) for n in (0, 1))
        return key, value

    return kept


def _is_plain(linear: Any, latent: torch.Tensor) -> bool:
    """Whether a linear layer is its weights, and they are here: not quantised, adapted, hooked, sharded or away."""
    weight: Any = getattr(linear, "weight", None)
    bias = getattr(linear, "bias", None)
    if (type(linear), type(weight), bias) != (torch.nn.Linear, torch.nn.Parameter, None):
        return False
    changed = linear._forward_hooks or linear._forward_pre_hooks or "forward" in vars(linear)
    return not changed and bool((weight.dtype, weight.device) == (latent.dtype, latent.device))


def _heads(layer: Any) -> int:
    return int(layer.kv_b_proj.weight.shape[0]) // int(layer.qk_nope_head_dim + layer.v_head_dim)


def absorbed(
    key: Any, query: torch.Tensor, attend: Callable[[dict[str, Any]], torch.Tensor], given: dict[str, Any]
) -> torch.Tensor:
    """The outputs [B, M, H, E] of a layer of latents, by attention to latents of queries that what expands has met."""
    layer = key.layer
    weight = layer.kv_b_proj.weight.unflatten(0, (query.shape[1], -1))
    of_keys, of_values = weight.split([layer.qk_nope_head_dim, layer.v_head_dim], dim=1)
    plain, rotated = query.split([layer.qk_nope_head_dim, layer.qk_rope_head_dim], dim=-1)
    latents = {
        "q": torch.cat([plain @ of_keys, rotated], dim=-1),
        "k": torch.cat([key.latent, key.rotated], dim=-1),
        "v": key.latent,
        "scale": given.get("scale", query.shape[-1] ** -0.5),
    }
    return torch.einsum("bmhr,her->bmhe", attend(given | latents), of_values)


def pays(key: Any, queries: int) -> bool:
    """Whether to absorb is less work than to expand: by multiplications for each key and head."""
    rank, layer = key.latent.shape[-1], key.layer
    expanded = layer.qk_nope_head_dim + layer.v_head_dim
    return bool(queries * 2 * rank < (rank + queries) * expanded)
