"""Latent attention on a CPU: absorbed, expanded or what the compiler chooses, over caches in f32, f16 and q8_0.

The modes are those of an inference engine: in mode 1 w_uk is absorbed into the query and w_uv is applied to the result,
in mode 2 keys and values are expanded from the cache, mode 3 is the better of both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import torch

from attndsl.bench import cpu, draw, latents
from attndsl.bench.contest import Contestant, Inputs
from attndsl.bench.latents import D_HEAD, D_NOPE, D_VALUE, LATENT, ROTARY
from attndsl.bench.ours import only, operator, ours
from attndsl.bench.results import Column, of_bytes, of_milliseconds
from attndsl.bench.suite import Cost, Effort, Found, Suite, Work

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MODELS = {"DeepSeek-V2-Lite": 16, "DeepSeek-V3": 128}
"""Heads by model; all else of the attention is the same in both."""

PREFILL = 512
DEPTHS = {
    Effort.QUICK: (0, 2048),
    Effort.DEFAULT: (0, 512, 1024, 2048, 4096, 8192, 15872),
    Effort.FULL: tuple(range(0, 16384, 512)),
}
"""Tokens in the cache before the queries."""

ABSORBED = {"f32": "mla_latent", "f16": "mla_latent", "q8_0": "mla_q8_0"}
"""The spec of mode 1, by cache."""

PROJECTED = {"f32": "mla_projections", "f16": "mla_projections", "q8_0": "mla_projections_q8_0"}
"""The spec from which the compiler chooses, by cache."""

MODES = ("mode 1", "mode 2", "mode 3")
EVERYONE = (*MODES, "torch")

COLUMNS = (
    *(Column(name) for name in ("model", "heads", "queries", "depth", "cache")),
    Column("bytes a token", of_bytes),
    Column("error", "{:.1e}".format),
    *(Column(f"{name}, tokens/s", "{:.0f}".format) for name in EVERYONE),
    Column("best of 1 and 2 / mode 3", "{:.2f}".format),
    Column("torch / best mode", "{:.2f}".format),
    Column("wall / processors", shown=False),
    *(Column(name, of_milliseconds, False) for name in EVERYONE),
    *(Column(f"{name}, {what}", of_milliseconds, False) for what in ("wall", "processors") for name in EVERYONE),
    Column("notes", shown=False),
)


def mode_1(cache: str) -> Contestant:
    """A product before the spec and one after it."""

    def bind(x: Inputs) -> Callable[[], torch.Tensor]:
        op, name = operator(ABSORBED[cache]), ABSORBED[cache]
        given = only(name, {**x, "q": x["q_rope"]})  # the query comes with the call

        def call() -> torch.Tensor:
            latent: torch.Tensor = op(**{**given, "q": x["q_nope"] @ x["w_uk"]}, d_head=D_HEAD)
            return latent @ x["w_uv"].mT

        return call

    return Contestant(MODES[0], bind, ours=True)


def mode_2(cache: str) -> Contestant:
    """Keys and values of each head by products, then a spec that takes them."""

    def bind(x: Inputs) -> Callable[[], Any]:
        op = operator("causal_end")

        def call() -> Any:
            q, k, v = latents.expanded({**x, **latents.widened(x, cache)})
            return op(q=q, k=k, v=v)

        return call

    return Contestant(MODES[1], bind, ours=True)


def mode_3(cache: str) -> Contestant:
    """A spec of projections, of which the compiler makes either."""
    return ours(PROJECTED[cache], {}, MODES[2])


def by_torch(cache: str, queries: int) -> Contestant:
    """One query absorbed and many expanded, over what the cache holds in f32."""

    def absorbed(x: Inputs) -> Callable[[], torch.Tensor]:
        def call() -> torch.Tensor:
            query = {"q": x["q_nope"] @ x["w_uk"]}
            return latents.sliced({**x, **latents.widened(x, cache), **query})() @ x["w_uv"].mT

        return call

    return Contestant("torch", absorbed if queries == 1 else partial(latents.padded, cache=cache))


def attend(model: str, queries: int, depth: int, cache: str) -> Work:
    """A row: so many queries after `depth` tokens, which with them are in the cache."""
    heads, n = MODELS[model], depth + queries

    def inputs(device: torch.device) -> Inputs:
        x = latents.projected(heads, queries, n, partial(torch.randn, device=device))
        return {**x, **latents.cached(x, cache)}

    pairs = queries * depth + queries * (queries + 1) // 2
    absorbing = queries * LATENT * (D_NOPE + D_VALUE) + pairs * (2 * LATENT + ROTARY)
    expanding = n * LATENT * (D_NOPE + D_VALUE) + pairs * (D_HEAD + D_VALUE)
    flops = 2 * heads * min(absorbing, expanding)
    return Work(
        labels={"model": model, "heads": heads, "queries": queries, "depth": depth, "cache": cache},
        spec="mla_projections",
        element="f32",
        inputs=inputs,
        contestants=(mode_1(cache), mode_2(cache), mode_3(cache), by_torch(cache, queries)),
        cost=lambda _: Cost(n * latents.entry_bytes(cache), flops),
        rank=round(math.log2(flops)),
    )


def works(effort: Effort) -> Iterable[Work]:
    """Every model, work, depth and cache; what takes long is run last."""
    for (model, heads), queries, depth, cache in product(MODELS.items(), (PREFILL, 1), DEPTHS[effort], latents.CACHES):
        if effort is not Effort.QUICK or heads * queries * (depth + 1) <= 2**25:
            yield attend(model, queries, depth, cache)


def cells(found: Found) -> dict[str, Any]:
    """What was measured."""
    queries, outcomes = found.work.labels["queries"], found.outcomes
    errors = [error for mode in MODES if (error := outcomes[mode].error) is not None]
    best = min(MODES, key=lambda mode: outcomes[mode].seconds or math.inf)
    return {
        "bytes a token": latents.entry_bytes(found.work.labels["cache"]),
        "error": float(f"{max(errors):.2e}") if errors else None,
        **{f"{name}, tokens/s": found.rate(queries, 1, name) for name in EVERYONE},
        "best of 1 and 2 / mode 3": found.ratio(*MODES[:2], ours=MODES[2]),
        "torch / best mode": found.ratio("torch", ours=best),
        **cpu.times(found, EVERYONE),
    }


LOOKS: dict[str, dict[str, dict[str, Any]]] = {
    "model": dict(zip(MODELS, ({"marker": "o"}, {"marker": "s"}), strict=True)),
    "cache": dict(zip(latents.CACHES, ({"linestyle": style} for style in ("-", "--", ":")), strict=True)),
    "mode": dict(zip(MODES, ({"color": f"tab:{colour}"} for colour in ("orange", "green", "blue")), strict=True)),
}
"""How models, caches and modes look in the drawing."""


def picture(axes: Axes, rows: list[draw.Cells]) -> None:
    """Tokens a second over the depth where one token is decoded, a line for each model, cache and mode."""
    for (model, marker), (cache, style), (mode, colour) in product(*(looks.items() for looks in LOOKS.values())):
        own = [row for row in rows if (row["model"], row["queries"], row["cache"]) == (model, 1, cache)]
        points = sorted((row["depth"], rate) for row in own if (rate := row[f"{mode}, tokens/s"]) is not None)
        if points:
            axes.plot(*zip(*points, strict=True), markersize=4, **marker, **style, **colour)
    for name, look in (item for looks in LOOKS.values() for item in looks.items()):
        axes.plot([], [], label=name, **{"color": "black", "linestyle": "-", **look})
    axes.set_yscale("log")
    axes.set_xlabel("tokens in the cache")
    axes.set_ylabel("tokens/s of one layer, decoding")


SUITE = Suite(
    title=f"Latent attention on a CPU, B = 1, one layer: latents of {LATENT} + {ROTARY}, tokens a second",
    columns=COLUMNS,
    works=works,
    cells=cells,
    draw=draw.of(COLUMNS, picture),
    remarks=(
        "Mode 1 absorbs, mode 2 expands, mode 3 is what the compiler chooses at each call, all with their projections.",
        "q8_0 is 8-bit integers in blocks of 32 with a scale in f16. Bytes are those that the cache holds of a token.",
        "'torch' absorbs one query and expands for many, with scaled_dot_product_attention, over the cache in f32.",
        *cpu.REMARKS,
    ),
)
