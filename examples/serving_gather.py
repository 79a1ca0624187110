"""The same step, as it is written without a kernel for pages: keys are gathered for attention of torch."""

from __future__ import annotations

import torch
from torch.nn import functional

from serving_engine import Engine


class GatherEngine(Engine):
    """Decodes are padded to one call of `scaled_dot_product_attention`; each chunk of a prefill is a call of its own.

    How long things are is asked on the host, so that no CUDA graph can hold it.
    """

    def prepare(self) -> None:
        """Nothing is compiled."""

    def attend(self, layer: int, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        """Puts keys and values into the cache and attends: query [M, Hq, D], key, value [M, Hkv, D] -> [M, Hq, D]."""
        rows = self.batch.rows
        slots = self.slots[:rows]
        for pages, new in zip(self.kv[layer], (k, v), strict=True):
            pages.flatten(0, 1)[slots] = new[:rows]
        out = self.attended[: len(q)]
        first, decodes = 0, []
        for number, count in enumerate(self.batch.counts):
            if count == 1:
                decodes.append((number, first))
            else:
                out[first : first + count] = self._gathered(layer, q[None, first : first + count], [number])[0]
            first += count
        if decodes:
            numbers, places = map(list, zip(*decodes, strict=True))
            out[places] = self._gathered(layer, q[places][:, None], numbers)[:, 0]
        return out

    def _gathered(self, layer: int, q: torch.Tensor, numbers: list[int]) -> torch.Tensor:
        """The last M positions of these requests, over all their keys: query [B, M, Hq, D] -> [B, M, Hq, D]."""
        longest = max(self.batch.requests[number].cache.length for number in numbers)
        table = self.table[numbers, : self.pages.needed(longest)]
        k, v = (pages[table].flatten(1, 2).transpose(1, 2) for pages in self.kv[layer])
        ends = self.length[numbers, None, None] - q.shape[1] + torch.arange(q.shape[1], device=q.device)[:, None]
        seen = torch.arange(k.shape[2], device=q.device) <= ends
        attended = functional.scaled_dot_product_attention(
            q.transpose(1, 2), k, v, attn_mask=seen[:, None], enable_gqa=True
        )
        return attended.transpose(1, 2)
