"""A small language model with random weights, which is told how to attend: densely, or over a cache."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional

Attend = Callable[[int, torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]
"""The layer, query [M, Hq, D], key and value [M, Hkv, D] -> [M, Hq, D]."""


@dataclass(frozen=True)
class Config:
    """The sizes of a model."""

    layers: int = 2
    width: int = 256
    heads: int = 8
    kv_heads: int = 2
    features: int = 64
    vocabulary: int = 512
    length: int = 1024


class Block(nn.Module):
    """A layer: attention, then two linear maps, each of what is normed and added to what there was."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        width = config.width
        self.split = (config.heads, config.kv_heads, config.kv_heads)
        self.first_norm, self.second_norm = nn.RMSNorm(width), nn.RMSNorm(width)
        self.qkv = nn.Linear(width, sum(self.split) * config.features, bias=False)
        self.out = nn.Linear(config.heads * config.features, width, bias=False)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
        nn.init.normal_(self.qkv.weight, std=0.15)  # so that a query tells keys apart

    def forward(self, x: torch.Tensor, layer: int, attend: Attend) -> torch.Tensor:
        """States [M, width] -> [M, width]."""
        heads = self.qkv(self.first_norm(x)).unflatten(-1, (sum(self.split), -1))
        q, k, v = heads.split(self.split, dim=1)
        x = x + self.out(attend(layer, q, k, v).flatten(1))
        mapped: torch.Tensor = self.mlp(self.second_norm(x))
        return x + mapped


class Model(nn.Module):
    """States of tokens, and what follows a state."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.token, self.place = (nn.Embedding(n, config.width) for n in (config.vocabulary, config.length))
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.norm = nn.RMSNorm(config.width)
        self.head = nn.Linear(config.width, config.vocabulary, bias=False)

    def forward(self, tokens: torch.Tensor, places: torch.Tensor, attend: Attend) -> torch.Tensor:
        """Tokens [M] and where they stand in their sequences [M] -> states [M, width]."""
        x: torch.Tensor = self.token(tokens) + self.place(places)
        for layer, block in enumerate(self.blocks):
            x = block(x, layer, attend)
        return x

    def following(self, states: torch.Tensor) -> torch.Tensor:
        """The most likely next token after each state: [M, width] -> [M]."""
        logits: torch.Tensor = self.head(self.norm(states))
        return logits.argmax(-1)

    def following_dense(self, tokens: torch.Tensor) -> torch.Tensor:
        """The most likely next token after each of one whole sequence, [M] -> [M]: no cache, and attention of torch."""

        def attend(layer: int, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
            q, k, v = (each.transpose(0, 1)[None] for each in (q, k, v))
            attended = functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
            return attended[0].transpose(0, 1)

        return self.following(self(tokens, torch.arange(len(tokens), device=tokens.device), attend))
