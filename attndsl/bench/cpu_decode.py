"""Decoding on a CPU: shared heads, pages, integers and latents in the cache, each beside the best that torch does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import product
from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention

from attndsl.bench import cpu, draw, latents
from attndsl.bench.contest import Contestant, Inputs
from attndsl.bench.latents import D_HEAD, D_NOPE, D_VALUE, LATENT, ROTARY, Call
from attndsl.bench.ours import ours, truth
from attndsl.bench.suite import Cost, Effort, Suite, Work

HEADS, KV_HEADS, WIDTH = 32, 8, 128
PAGE = 16

PEERS = (
    "SDPA enable_gqa",
    "SDPA packed",
    "gather, SDPA",
    "dequantise, SDPA",
    "V = K, sliced",
    "naive",
    "expanded, padded",
)
OWN = "ours, f32 cache"
COLUMNS = cpu.columns(("work", "heads", "queries", "keys"), (*PEERS, OWN), apart=False)


def work(
    name: str,
    spec: str,
    labels: tuple[int, int, int],
    made: Callable[[partial[torch.Tensor]], Inputs],
    peers: Mapping[str, Callable[[Inputs], Call]],
    cost: Cost,
    *,
    element: str = "f32",
    params: Mapping[str, Any] | None = None,
    others: tuple[Contestant, ...] = (),
) -> Work:
    """A row; `made` gives inputs of random f32 numbers."""
    heads, queries, keys = labels

    def inputs(device: torch.device) -> Inputs:
        return made(partial(torch.randn, device=device))

    return Work(
        labels={"work": name, "heads": heads, "queries": queries, "keys": keys},
        spec=spec,
        element=element,
        inputs=inputs,
        contestants=(ours(spec, params or {}), *(Contestant(peer, bind) for peer, bind in peers.items()), *others),
        cost=lambda _: cost,
        params=params or {},
    )


# --- a cache of keys and values


def packed(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """One query a head: heads that share a key's head as its rows, which SDPA then reads once."""
    rows = q.reshape(q.shape[0], k.shape[1], -1, q.shape[-1])
    return scaled_dot_product_attention(rows, k, v).reshape(q.shape)


def shared(n: int) -> Work:
    """A row over a dense cache in f32."""

    def made(random: partial[torch.Tensor]) -> Inputs:
        cache = (1, KV_HEADS, n, WIDTH)
        return {"q": random(1, HEADS, 1, WIDTH), "k": random(cache), "v": random(cache)}

    return work(
        "GQA",
        "gqa",
        (HEADS, 1, n),
        made,
        {
            "SDPA enable_gqa": lambda x: partial(scaled_dot_product_attention, x["q"], x["k"], x["v"], enable_gqa=True),
            "SDPA packed": lambda x: partial(packed, x["q"], x["k"], x["v"]),
        },
        Cost(2 * 4 * KV_HEADS * n * WIDTH, 4 * HEADS * WIDTH * n),
    )


def paged(n: int) -> Work:
    """A row over pages in f32, which lie anywhere."""

    def made(random: partial[torch.Tensor]) -> Inputs:
        pages = (n // PAGE, PAGE, KV_HEADS, WIDTH)
        return {
            "q": random(1, HEADS, WIDTH),
            "k_pages": random(pages),
            "v_pages": random(pages),
            "table": torch.randperm(n // PAGE).view(1, -1).int(),
            "length": torch.tensor([n], dtype=torch.int32),
        }

    def gather(x: Inputs) -> Call:
        def call() -> torch.Tensor:
            k, v = (x[name][x["table"]].flatten(1, 2).transpose(1, 2) for name in ("k_pages", "v_pages"))
            return packed(x["q"][:, :, None], k, v)[:, :, 0]

        return call

    cost = Cost(2 * 4 * KV_HEADS * n * WIDTH, 4 * HEADS * WIDTH * n)
    return work(f"pages of {PAGE}", "paged_decode", (HEADS, 1, n), made, {"gather, SDPA": gather}, cost)


def integers(n: int) -> Work:
    """A row over a cache of 8-bit integers."""

    def made(random: partial[torch.Tensor]) -> Inputs:
        x: dict[str, torch.Tensor] = {"q": random(1, HEADS, 1, WIDTH)}
        for name in "kv":
            values, scale = latents.quantised(random(1, KV_HEADS, n, WIDTH), WIDTH)
            x |= {f"{name}_int": values, f"{name}_scale": scale[..., 0].float()}
        return x

    def dequantise(x: Inputs) -> Call:
        def call() -> torch.Tensor:
            return packed(x["q"], *(x[f"{name}_int"] * x[f"{name}_scale"][..., None] for name in "kv"))

        return call

    cost = Cost(2 * KV_HEADS * n * (WIDTH + 4), 4 * HEADS * WIDTH * n)
    return work("int8", "int8_cache", (HEADS, 1, n), made, {"dequantise, SDPA": dequantise}, cost)


# --- latent attention


def latent_cost(heads: int, n: int, cache: str) -> Cost:
    """Each entry is read once."""
    return Cost(n * latents.entry_bytes(cache), 2 * heads * n * (2 * LATENT + ROTARY))


def latent(heads: int, n: int) -> Work:
    """A row over a latent cache in f32."""
    peers = {"V = K, sliced": latents.sliced, "naive": latents.products}
    cost = latent_cost(heads, n, "f32")
    made = partial(latents.absorbed, heads, n)
    return work("MLA", "mla_latent", (heads, 1, n), made, peers, cost, params={"d_head": D_HEAD})


def smaller(heads: int, n: int, cache: str) -> Work:
    """A row over a latent cache in `f16` or `q8_0`, beside our own over one in f32 that holds the same numbers."""
    spec = {"f16": "mla_latent", "q8_0": "mla_q8_0"}[cache]

    def made(random: partial[torch.Tensor]) -> Inputs:
        x = latents.absorbed(heads, n, random)
        return {**x, **latents.cached(x, cache)}

    def wide(x: Inputs) -> Inputs:
        return {**x, **latents.widened(x, cache)}

    own = ours(
        "mla_latent",
        {"d_head": D_HEAD},
        OWN,
        of=wide,
        truth=lambda x: truth("mla_latent", wide(x), {"d_head": D_HEAD}),
    )
    cost = latent_cost(heads, n, cache)
    return work(f"MLA, {cache}", spec, (heads, 1, n), made, {}, cost, params={"d_head": D_HEAD}, others=(own,))


def prefill(heads: int, n: int) -> Work:
    """A row of a prefill from projections."""
    flops = heads * (2 * n * LATENT * (D_NOPE + D_VALUE) + (D_HEAD + D_VALUE) * n * (n + 1))
    made = partial(latents.projected, heads, n, n)
    peers = {"expanded, padded": latents.padded}
    return work("MLA prefill", "mla_projections", (heads, n, n), made, peers, Cost(0, flops))


def works(effort: Effort) -> Iterable[Work]:
    """Each work at 4096 keys, then at 16,384 where the cache is large."""
    few = effort is Effort.QUICK
    for n in (4096,) if few else (4096, 16384):
        yield from (shared(n), paged(n), integers(n))
    for heads in (16, 128):
        yield latent(heads, 4096)
    for heads, cache in product((16,) if few else (16, 128), ("f16", "q8_0")):
        yield smaller(heads, 4096, cache)
    yield prefill(16, 512)
    if not few:
        yield prefill(128, 512)


def label(row: dict[str, Any]) -> str:
    """What a row is called in the drawing."""
    return f"{row['work']}, {row['heads']} heads, {row['keys']} keys"


SUITE = Suite(
    title=f"Decoding on a CPU, B = 1: heads of {WIDTH} on {KV_HEADS}, or latents of {LATENT} + {ROTARY}, milliseconds",
    columns=COLUMNS,
    works=works,
    cells=partial(cpu.cells, (*PEERS, OWN)),
    draw=draw.ratios(COLUMNS, (*PEERS, OWN), label),
    remarks=(
        *cpu.REMARKS,
        "'packed': query heads that share a key's head are its rows. 'V = K, sliced': so are all heads of a latent.",
        "'expanded, padded' includes making keys and values. 'ours, f32 cache': mla_latent on the same numbers in f32.",
    ),
)
