"""What transformers calls for the attention of one layer. Import this only when transformers is in use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from attndsl.integrations.transformers import errors
from attndsl.integrations.transformers.latents import Latents, absorbed, pays
from attndsl.integrations.transformers.masks import KeyRows
from attndsl.integrations.transformers.paged import knows_requests, read_pages
from attndsl.integrations.transformers.spec import TERMS, compares_places, measures, op_of

Call = Callable[[torch.nn.Module, dict[str, Any]], torch.Tensor]
"""Of a layer and what it gives, by the names that specs have for it: the outputs [B, M, Hq, E]."""


def attention(compute: Call, start: bool = False, refused: str = "") -> Callable[..., tuple[torch.Tensor, None]]:
    """The function that transformers calls for a layer, which has `compute` compute it.

    Over a paged cache that is given where a key's request starts, if it takes a `start`, and `since` tells then how far
    the key lies back; what asks for that and takes none is `refused`, by its name.
    """

    def attend(
        module: torch.nn.Module,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        attention_mask: torch.Tensor | None,
        dropout: float = 0.0,
        scaling: float | None = None,
        is_causal: bool | None = None,
        softcap: float | None = None,
        s_aux: torch.Tensor | None = None,
        sinks: torch.Tensor | None = None,
        position_bias: torch.Tensor | None = None,
        cache: object = None,
        **others: Any,
    ) -> tuple[torch.Tensor, None]:
        """One layer: query [B, Hq, M, D], key [B, Hkv, N, D], value [B, Hkv, N, E] -> [B, M, Hq, E], and no weights.

        Raises ModelError for what attndsl does not do.
        """
        if others.get("output_attentions"):
            raise errors.WeightsWanted(type(module).__name__)
        given: dict[str, Any] = {"q": query, "k": key, "v": value}
        if cache is not None:
            if refused:
                raise errors.StartLacks(refused, type(module).__name__)
            given |= _of_requests(module, cache, attention_mask, key, value, others, start)
        elif attention_mask is not None:
            given |= _masked(module, attention_mask)
        elif query.shape[2] > 1 and (getattr(module, "is_causal", True) if is_causal is None else is_causal):
            given["since"] = _rising(key)  # as sdpa does: no mask, of a layer that is causal
        if torch.is_autocast_enabled(query.device.type):  # of one type, as the products of torch that it casts for
            dtype = torch.get_autocast_dtype(query.device.type)
            given |= {name: given[name].to(dtype) for name in ("q", "k", "v")}
        if position_bias is not None:
            bias = position_bias[(None,) * (4 - position_bias.ndim)]
            given["bias"] = bias + given["bias"] if "bias" in given else bias
        if s_aux is not None:
            given["sink"] = s_aux[None, :, None]
        elif sinks is not None:
            given["sink"] = sinks[..., 0]  # one of each query, as a score that stands behind the others
        if softcap:
            given["cap"] = softcap
        if scaling is not None:
            given["scale"] = scaling
        if dropout:
            given["dropout"] = dropout
        return compute(module, given), None

    return attend


def composed(mask: str = "") -> Call:
    """What a layer asks for, by the spec that is made of what it gives, and of a mask of the user's."""
    measured, placed = measures(mask), compares_places(mask)

    def compute(module: torch.nn.Module, given: dict[str, Any]) -> torch.Tensor:
        """Raises DropoutWanted, DistanceUnknown, PlacesDiffer."""
        if "dropout" in given:
            raise errors.DropoutWanted(type(module).__name__, given["dropout"])
        key, query = given["k"], given["q"]
        causal = getattr(module, "is_causal", True)
        if measured and not ("since" in given and causal):
            raise errors.DistanceUnknown(type(module).__name__, mask)
        if placed and causal and query.shape[2] != key.shape[2]:
            raise errors.PlacesDiffer(type(module).__name__, mask, query.shape[2], key.shape[2])
        op = op_of(*(name for name in TERMS if name in given), mask=mask)
        if isinstance(key, Latents) and pays(key, query.shape[2]):
            return absorbed(key, query, lambda latents: op(**latents), given)
        if isinstance(key, Latents):
            given |= {name: given[name].expanded() for name in ("k", "v")}
        return op(**given)  # type: ignore[no-any-return]

    return compute


def _of_requests(
    module: torch.nn.Module,
    cache: object,
    mask: torch.Tensor | None,
    key: torch.Tensor,
    value: torch.Tensor,
    call: dict[str, Any],
    start: bool,
) -> dict[str, torch.Tensor]:
    """Keys and values from a paged cache, and who sees them. Raises PagesWanted, UnknownMask."""
    if not knows_requests(cache, call):
        raise errors.PagesWanted(type(module).__name__)
    if not (mask is None or isinstance(mask, KeyRows)):
        raise errors.UnknownMask(type(module).__name__, "no interval of queries for each key, over a paged cache")
    return read_pages(module, cache, key, value, call, start)


def _masked(module: torch.nn.Module, mask: object) -> dict[str, torch.Tensor]:
    """A layer's mask, by the names that specs have for it. Raises UnknownMask."""
    if isinstance(mask, KeyRows) and mask.looked_into is None:
        bounds = {"since": mask.since, "until": mask.until}
        return {name: bound for name, bound in bounds.items() if bound is not None}
    if not isinstance(mask, torch.Tensor):
        raise errors.UnknownMask(type(module).__name__, f"of type {type(mask).__name__}")
    if isinstance(mask, KeyRows):
        mask = mask.dense()
    if mask.ndim == 4 and mask.dtype == torch.bool:
        return {"seen": mask}
    if mask.ndim == 4 and mask.is_floating_point():
        return {"bias": mask}
    raise errors.UnknownMask(type(module).__name__, f"of {mask.dtype}, of shape {tuple(mask.shape)}")


def _rising(key: torch.Tensor) -> torch.Tensor:
    """Since when each key is seen where the first query sees the first key, and each other one more: int32 [B, N]."""
    batch, _, keys, _ = key.shape
    return torch.arange(keys, dtype=torch.int32, device=key.device).expand(batch, keys)
