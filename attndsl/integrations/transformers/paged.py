"""Continuous batching of transformers: requests side by side in one row, over a paged cache.

Import this only when transformers is in use.
"""

from __future__ import annotations

from inspect import signature
from typing import Any

import torch

from attndsl.integrations.transformers.masks import NEVER


def knows_requests(cache: Any, given: dict[str, Any]) -> bool:
    """Whether a cache gathers the keys of all requests, as in the versions of transformers that are known."""
    update = getattr(cache, "update", None)
    return update is not None and "kwargs" in signature(update).parameters and given.get("block_table") is None


def read_pages(
    module: torch.nn.Module,
    cache: Any,
    key: torch.Tensor,
    value: torch.Tensor,
    given: dict[str, Any],
    start: bool = False,
) -> dict[str, torch.Tensor]:
    """The keys and values [1, Hkv, N, …] of all requests of a call, their new ones too, and who sees them.

    `given` is what transformers says of the call: where the requests begin among queries and keys. Of a request the
    last key is that of the last query, and each query sees the keys up to its own, or a window of them. With `start`,
    the first query of a key's request, `since` may lie before that: where the key's own query would be.
    """
    key, value = cache.update(key, value, module.layer_idx, given)
    of_queries, of_keys = given["cu_seq_lens_q"], given["cu_seq_lens_k"]
    places = torch.arange(key.shape[2], dtype=of_keys.dtype, device=key.device)
    request = torch.searchsorted(of_keys[1:], places, right=True).clamp(max=len(of_keys) - 2)
    first, end = of_queries[request], of_queries[request + 1]
    own = end - of_keys[request + 1] + places  # the query at the key's place
    since = torch.where(places < of_keys[-1], own if start else torch.maximum(own, first), NEVER)
    window = given.get("sliding_window")
    until = end if window is None else torch.minimum(end, own + window)
    bounds = {"since": since, "until": until, **({"start": first} if start else {})}
    return {"k": key, "v": value} | {name: bound.to(torch.int32)[None] for name, bound in bounds.items()}
