"""What suites of gradients share: the backward of any contestant, its inputs, and how far from float64 they are."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch.nn.functional import pad

from attndsl.bench import masks, peers, unfused
from attndsl.bench.contest import Contestant, Inputs, Outputs, paired
from attndsl.bench.ours import only, ours, spec
from attndsl.bench.suite import Cost, Work
from attndsl.op.torch_tensors import ELEMENTS

PLAIN = {"mha": False, "causal_end": True, "gqa": True}
"""Specs that say nothing but whether they are causal."""

LEARNED = {"alibi": ("slope",), "relative_bias": ("bias",), "t5_bias": ("bias",)}
"""What has a gradient beside queries, keys and values."""

NAIVE = {"t5_bias": masks.embedded}
"""Scores that plain torch says otherwise: gradients of an index go one by one to numbers that many pairs read."""

NEAR, FAR = 16, 128
"""Buckets of distances of a side, and the distance from which on all share the last."""

Differentiate = Callable[[Contestant, Sequence[str]], Contestant]


@dataclass(frozen=True)
class Shape:
    """The extents of a row."""

    batch: int
    heads: int
    kv_heads: int
    n: int
    width: int
    values: int

    def tensors(self) -> dict[str, tuple[int, ...]]:
        """Queries, keys, values, and the cotangent of the output."""
        rows, keys = (self.batch, self.heads, self.n), (self.batch, self.kv_heads, self.n)
        width, values = self.width, self.values
        return {"q": (*rows, width), "k": (*keys, width), "v": (*keys, values), "d_o": (*rows, values)}


def variants(window: int) -> dict[str, tuple[Mapping[str, Any], masks.Say, masks.Say]]:
    """By spec: its parameters, its mask and its score."""
    return {
        **{name: ({}, masks.causal if causal else masks.unchanged, masks.unchanged) for name, causal in PLAIN.items()},
        **masks.variants(window),
        "relative_bias": ({}, masks.unchanged, masks.by_distance),
        "t5_bias": ({}, masks.unchanged, masks.bucketed),
    }


def backward(forward: Contestant, of: Sequence[str]) -> Contestant:
    """The backward alone: the forward is called once before, and what it saved serves each call."""

    def bind(x: Inputs) -> Callable[[], Any]:
        leaves = leaves_of(x, of)
        with forward.around():
            output = forward.bind({**x, **leaves})()
        return partial(torch.autograd.grad, output, [*leaves.values()], x["d_o"], retain_graph=True)

    return replace(forward, bind=bind)


def step(forward: Contestant, of: Sequence[str]) -> Contestant:
    """A forward and its backward, as in a step of training."""

    def bind(x: Inputs) -> Callable[[], Any]:
        leaves = leaves_of(x, of)
        call = forward.bind({**x, **leaves})
        return lambda: torch.autograd.grad(call(), [*leaves.values()], x["d_o"])

    return replace(forward, bind=bind)


def leaves_of(x: Inputs, of: Sequence[str]) -> dict[str, torch.Tensor]:
    """Some inputs, as tensors that require a gradient."""
    return {name: x[name].detach().requires_grad_() for name in of}


def row(
    name: str,
    variant: tuple[Mapping[str, Any], masks.Say, masks.Say],
    shape: Shape,
    element: str,
    labels: Mapping[str, Any],
    sdpa: Iterable[Contestant],
    differentiate: Differentiate = backward,
    rank: int = 0,
) -> Work:
    """A row: the gradients of a spec, beside SDPA where that can say it, FlexAttention and plain torch."""
    params, mask, score = variant
    of = ("q", "k", "v", *LEARNED.get(name, ()))
    naive = peers.naive(PLAIN[name]) if name in PLAIN else masks.naive(mask, NAIVE.get(name, score))
    forwards = (ours(name, params), *(sdpa if name in PLAIN else ()), *peers.flex(mask, score)[:1], naive)

    def cost(x: Inputs) -> Cost:
        moved = 2 * sum(x[tensor].nbytes for tensor in shape.tensors())  # the output as its cotangent, and gradients
        products = 3 * shape.width + 2 * shape.values + (shape.width + shape.values) * (differentiate is step)
        return Cost(moved, flops=2 * shape.batch * shape.heads * pairs(x, mask(x)) * products)

    def truth(x: Inputs) -> Outputs:
        return unfused.true_gradients(spec(name), only(name, x), params, {"o": x["d_o"]}, of)

    return Work(
        labels=labels,
        spec=name,
        element=element,
        inputs=partial(inputs, name, shape, element),
        contestants=[differentiate(forward, of) for forward in forwards],
        cost=cost,
        params=params,
        rank=rank,
        truth=truth,
        off=by_tile,
    )


def inputs(name: str, shape: Shape, element: str, device: torch.device) -> Inputs:
    """Random inputs of a spec and a random cotangent, in this type."""
    x = {tensor: torch.randn(extents, device=device) for tensor, extents in shape.tensors().items()}
    if name == "t5_bias":  # whose scores have no scale: its queries do
        x["q"] /= math.sqrt(shape.width)
    if name == "alibi":  # of whose slopes the gradient would cancel, and be what rounding leaves
        x["v"] += torch.linspace(-0.5, 0.5, shape.n, device=device)[:, None]
        x["d_o"] += 0.5
    tables = {"t5_bias": (2 * NEAR, shape.heads), "relative_bias": (shape.heads, 2 * shape.n - 1)}
    if name in tables:
        x["bias"] = torch.randn(tables[name], device=device)
    made = {tensor: value.to(ELEMENTS[element]) for tensor, value in x.items()}
    return {**made, "bucket": buckets(device), **masks.extra(shape.batch, shape.heads, shape.n, device)}


def buckets(device: torch.device) -> torch.Tensor:
    """T5's: half of them for one distance each, half for distances that grow by a factor."""
    distance, half = torch.arange(FAR, device=device), NEAR // 2
    growing = half + half * (distance.clamp(min=half) / half).log() / math.log(FAR / half)
    return torch.where(distance < half, distance, growing.int().clamp(max=NEAR - 1)).int()


def pairs(x: Inputs, mask: peers.Mod | None) -> int:
    """The visible pairs of a head without a mask and of a causal one, those of the visited tiles of another."""
    n = x["q"].shape[2]
    if mask is None:
        return n * n
    return n * (n + 1) // 2 if mask is peers.causal_mask else masks.visited(x, mask) * masks.TILE**2


def by_tile(got: Any, wanted: Outputs) -> tuple[float, float]:
    """The relative error of gradients: of the worst of them, and of the worst tile of 128 rows of one.

    A row is no measure here. The first query of a causal mask sees one key: its gradient is 0, and all that rounding
    leaves of it is error. In a tile it counts for what it is.
    """
    wholes, tiles = [], []
    for have, right in paired(got, wanted):
        difference, size = squares(have - right), squares(right)
        wholes.append(relative(difference.sum(), size.sum()))
        tiles.append(relative(difference, size).max())
    return float(torch.stack(wholes).max()), float(torch.stack(tiles).max())


def squares(gradient: torch.Tensor) -> torch.Tensor:
    """The sum of the squares of each tile."""
    rows = torch.atleast_2d(gradient).square().sum(-1)
    tiles = pad(rows, (0, -rows.shape[-1] % masks.TILE)).reshape(*rows.shape[:-1], -1, masks.TILE)
    return tiles.sum(-1)


def relative(difference: torch.Tensor, size: torch.Tensor) -> torch.Tensor:
    """One length over another, from their squares; nothing over nothing is nothing."""
    return torch.where(difference == 0, 0.0, difference / size).sqrt().nan_to_num(nan=math.inf, posinf=math.inf)
