"""A step of a server: the model over a paged cache, in memory that stays where it is.

A step copies its numbers into the same few tensors, and takes as many of their rows as the smallest of a few sizes that
holds them. So all steps of one size are the same call with the same memory: it is planned once, allocates no output,
and is what a CUDA graph wants. The host reads nothing of a GPU but the tokens that come out.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import torch

import attndsl
from serving_model import Model
from serving_pages import Pages
from serving_scheduler import Batch, Request


class Engine:
    """Computes steps of up to `seats` requests with compiled attention; on a GPU they are captured as CUDA graphs.

    A step has a number of rows that is among `sizes`, which rise: those left over are padding, whose keys go nowhere.
    `kv` [layers, 2, P, S, Hkv, D] is the cache. A step is told: of each row the token, its place in the sequence and
    the slot of its key, page * S + row, or -1; of each request the pages (`table`, -1 is none), how many keys it has
    with those of this step (`length`), and the first of its rows (`starts`, and one more for the end).
    """

    def __init__(self, model: Model, pages: Pages, seats: int, sizes: Sequence[int], device: torch.device) -> None:
        config, longest = model.config, pages.needed(model.config.length)
        numbers = partial(torch.zeros, dtype=torch.int32, device=device)
        floats = partial(torch.zeros, device=device)
        self.model, self.pages, self.seats, self.sizes = model, pages, seats, sizes
        self.kv = floats(config.layers, 2, len(pages.owners), pages.size, config.kv_heads, config.features)
        self.attended = floats(sizes[-1], config.heads, config.features)
        self.tokens, self.places, self.slots = (numbers(sizes[-1]) for _ in range(3))
        self.table, self.length, self.starts = numbers(seats, longest), numbers(seats), numbers(seats + 1)
        self.following = numbers(seats, dtype=torch.int64)
        self.op = attndsl.load("append_ragged")
        self.batch = Batch()
        self.graphs: dict[int, torch.cuda.CUDAGraph] = {}
        self.prepare()

    def prepare(self) -> None:
        """Makes a step of each size before the first request comes: all is compiled then, and a GPU has its graphs."""
        for size in self.sizes:
            request = Request([0] * size, wanted=1)
            self.pages.append(request.cache, size)
            self.write(Batch([request], [size]), size)
            self.compute(size)
            self.pages.release(request.cache)
            if self.kv.is_cuda:
                self.graphs[size] = torch.cuda.CUDAGraph()
                with torch.cuda.graph(self.graphs[size]):
                    self.compute(size)

    def step(self, batch: Batch) -> list[int]:
        """Computes a step: of each of its requests the token that follows its last row."""
        size = next(size for size in self.sizes if size >= batch.rows)
        self.write(batch, size)
        if size in self.graphs:
            self.graphs[size].replay()
        else:
            self.compute(size)
        return self.following[: len(batch.requests)].tolist()

    def write(self, batch: Batch, size: int) -> None:
        """Copies pages that are written from here on, and brings what a step is told to where it reads it."""
        self.batch = batch
        if batch.copies:
            old, new = zip(*batch.copies, strict=True)
            self.kv[:, :, list(new)] = self.kv[:, :, list(old)]
        tokens: list[int] = []
        places: list[int] = []
        slots: list[int] = []
        starts, length, table = [0], [], []
        for request, count in zip(batch.requests, batch.counts, strict=True):
            end, held = request.cache.length, request.cache.pages
            spots = range(end - count, end)
            tokens += request.tokens[end - count : end]
            places += spots
            slots += [held[spot // self.pages.size] * self.pages.size + spot % self.pages.size for spot in spots]
            starts.append(len(tokens))
            table.append(held + [-1] * (self.table.shape[1] - len(held)))
            length.append(end)
        empty = self.seats - len(batch.requests)
        _put(self.tokens, tokens + [0] * (size - len(tokens)))
        _put(self.places, places + [0] * (size - len(places)))
        _put(self.slots, slots + [-1] * (size - len(slots)))
        _put(self.starts, starts + starts[-1:] * empty)
        _put(self.length, length + [0] * empty)
        if table:
            _put(self.table, table)

    def compute(self, size: int) -> None:
        """The step that was written, of so many rows: what a CUDA graph captures."""
        states = self.model(self.tokens[:size], self.places[:size], self.attend)
        self.following.copy_(self.model.following(states[self.starts[1:] - 1]))

    def attend(self, layer: int, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        """Puts keys and values into the cache and attends: query [M, Hq, D], key, value [M, Hkv, D] -> [M, Hq, D]."""
        k_pages, v_pages = self.kv[layer]
        out = self.attended[: len(q)]
        self.op(q, k, v, k_pages, v_pages, self.slots[: len(q)], self.table, self.starts, self.length, out=out)
        return out


def _put(tensor: torch.Tensor, values: list[int] | list[list[int]]) -> None:
    """The first elements, or rows, of a tensor."""
    tensor[: len(values)].copy_(torch.tensor(values, dtype=tensor.dtype))
