"""What each spec of the gallery means, against the formula of its source written out in NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attndsl.checking.check import check
from attndsl.checking.numbers import philox
from attndsl.reference import reference
from attndsl.syntax.source import Source

Array = np.ndarray[Any, Any]
Case = tuple[dict[str, Array], dict[str, Any], dict[str, Array]]

GALLERY = Path(__file__).parents[1] / "examples"
B, H, HKV, M, N, D, E, R, ROPE = 2, 4, 2, 5, 7, 6, 3, 5, 2
ROW, KEY = np.arange(M)[:, None], np.arange(N)[None, :]
AT = ROW + (N - M)
CAUSAL = KEY <= AT
CASES: dict[str, Callable[[], Case]] = {}
RANDOM = np.random.default_rng()


def case(make: Callable[[], Case]) -> Callable[[], Case]:
    """Registers a function that gives inputs, parameters and outputs of the spec that it is named after."""
    CASES[make.__name__] = make
    return make


@pytest.mark.parametrize("path", sorted(GALLERY.glob("*.attn")), ids=lambda path: path.stem)
def test_spec_means_its_formula(path: Path) -> None:
    RANDOM.bit_generator.state = np.random.default_rng(7).bit_generator.state
    assert path.stem in CASES, "a spec of the gallery has its formula below, as a function of its name"
    inputs, params, outputs = CASES[path.stem]()
    spec = check(Source(path.read_text(encoding="utf-8"), path.name))
    assert path.stem == spec.name
    got = reference(spec, inputs, params)
    assert got.keys() == outputs.keys()
    for name, wanted in outputs.items():
        assert got[name].shape == wanted.shape
        np.testing.assert_allclose(got[name], wanted, rtol=1e-6, atol=1e-7)  # some inputs are f32


def normal(*shape: int) -> Array:
    return RANDOM.normal(size=shape)


def ints(*values: int) -> Array:
    return np.array(values, np.int32)


def qkv(heads: int = H, keys: int = N, queries: int = M) -> dict[str, Array]:
    return {"q": normal(B, H, queries, D), "k": normal(B, heads, keys, D), "v": normal(B, heads, keys, E)}


def shorter(*lengths: int, beyond: Array | int = 0) -> Array:
    """The keys within the length of each batch row, and within so many beyond it."""
    return np.array(lengths).reshape(B, 1, 1, 1) + beyond > KEY


def grouped(x: Array) -> Array:
    """Key or value heads repeated for the query heads that share them; they stand third from the end."""
    return np.repeat(x, H // x.shape[-3], axis=-3)


def scores(q: Array, k: Array) -> Array:
    return q @ np.swapaxes(k, -1, -2) / math.sqrt(q.shape[-1])


def attend(s: Array, v: Array, mask: Any = True, sink: Any = -np.inf) -> Array:
    weights = np.where(mask, np.exp(s), 0.0)
    total = weights.sum(-1, keepdims=True) + np.exp(sink)
    o = np.zeros((*s.shape[:-1], v.shape[-1]))
    np.divide(weights @ v, total, out=o, where=total > 0)
    return o


def masked(mask: Any, heads: int = H, change: Callable[[Array], Array] = lambda s: s, **params: Any) -> Case:
    """Softmax attention under a mask, with the scores changed."""
    x = qkv(heads)
    s = change(scores(x["q"], grouped(x["k"])))
    return x, params, {"o": attend(s, grouped(x["v"]), mask)}


@case
def mha() -> Case:
    return masked(True)


@case
def gqa() -> Case:
    return masked(CAUSAL, HKV)


@case
def mqa() -> Case:
    x, params, outputs = masked(CAUSAL, 1)
    return {"q": x["q"], "k": x["k"][:, 0], "v": x["v"][:, 0]}, params, outputs


@case
def causal_start() -> Case:
    return masked(KEY <= ROW)


@case
def causal_end() -> Case:
    x = qkv(queries=M, keys=3)
    mask = np.array([[0, 0, 0], [0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1]], bool)
    return x, {}, {"o": attend(scores(x["q"], x["k"]), x["v"], mask)}


@case
def sliding_window() -> Case:
    assert (((AT - KEY < 3) & CAUSAL).sum(axis=1) == 3).all()
    return masked(CAUSAL & (AT - KEY < 3), HKV, window=3)


@case
def chunked_local() -> Case:
    return masked(CAUSAL & (KEY // 3 == AT // 3), HKV, chunk=3)


@case
def softcap() -> Case:
    return masked(CAUSAL, HKV, lambda s: 0.5 * np.tanh(s / 0.5), cap=0.5)


@case
def alibi() -> Case:
    slope = 2.0 ** (-8.0 * np.arange(1, H + 1) / H)
    x, params, outputs = masked(CAUSAL, change=lambda s: s + slope[:, None, None] * (KEY - AT))
    return x | {"slope": slope.astype(np.float32)}, params, outputs


@case
def t5_bias() -> Case:
    keys = 150
    x = qkv(keys=keys) | {"bias": normal(32, H)}
    apart = np.arange(keys)[None, :] - ROW
    far = np.abs(apart)
    large = np.minimum(8 + (np.log(np.maximum(far, 1) / 8) / np.log(128 / 8) * 8).astype(int), 15)
    bucket = np.where(apart > 0, 16, 0) + np.where(far < 8, far, large)
    s = x["q"] @ np.swapaxes(x["k"], -1, -2) + x["bias"][bucket].transpose(2, 0, 1)
    table = [n if n < 8 else min(15, 8 + int(math.log(n / 8) / math.log(16) * 8)) for n in range(129)]
    return x | {"bucket": ints(*table)}, {}, {"o": attend(s, x["v"])}


@case
def relative_bias() -> Case:
    x = qkv() | {"bias": normal(H, M + N - 1)}
    s = scores(x["q"], x["k"]) + np.stack([x["bias"][:, M - 1 - i : M - 1 - i + N] for i in range(M)], 1)
    return x, {}, {"o": attend(s, x["v"])}


@case
def prefix_lm() -> Case:
    x, params, outputs = masked(CAUSAL | shorter(6, 0))
    return x | {"prefix": ints(6, 0)}, params, outputs


@case
def document_mask() -> Case:
    x = qkv(HKV, queries=N)
    document = np.array([[0, 0, 0, 1, 1, 2, 2], [5, 5, 5, 5, 5, 5, 4]], np.int32)
    mask = np.tri(N, dtype=bool) & (document[:, None, :, None] == document[:, None, None, :])
    return x | {"document": document}, {}, {"o": attend(scores(x["q"], grouped(x["k"])), grouped(x["v"]), mask)}


@case
def packed_ragged() -> Case:
    cu_q, cu_k = [0, 3, 3, 4], [0, 5, 6, 7]
    x = {"q": normal(6, H, D), "k": normal(8, HKV, D), "v": normal(8, HKV, E), "cu_q": ints(*cu_q), "cu_k": ints(*cu_k)}
    o = np.zeros((6, H, E))
    for q0, q1, k0, k1 in zip(cu_q, cu_q[1:], cu_k, cu_k[1:], strict=False):
        q, k, v = (y.swapaxes(0, 1) for y in (x["q"][q0:q1], x["k"][k0:k1], x["v"][k0:k1]))
        mask = np.arange(k1 - k0) <= np.arange(q1 - q0)[:, None] + (k1 - k0 - (q1 - q0))
        o[q0:q1] = attend(scores(q, grouped(k)), grouped(v), mask).swapaxes(0, 1)
    return x, {}, {"o": o}


@case
def padding() -> Case:
    x = qkv()
    o = attend(scores(x["q"], x["k"]), x["v"], shorter(4, 9))
    o[0, :, 2:] = 0
    return x | {"m": ints(2, M), "n": ints(4, 9)}, {}, {"o": o}


@case
def encoder() -> Case:
    x, valid = qkv(), RANDOM.random((B, N)) < 0.5
    x["v"] = normal(B, H, N, D)
    return x | {"valid": valid}, {}, {"o": attend(scores(x["q"], x["k"]), x["v"], valid[:, None, None, :])}


@case
def cross_attention() -> Case:
    x, params, outputs = masked(shorter(0, 4))
    return x | {"length": ints(0, 4)}, params, outputs


def paged(*caches: Array, size: int = 3) -> tuple[list[Array], Array]:
    """Caches [B, N, …] spread over pages [P, S, …], and the table of the pages; what no key uses is NaN."""
    count = -(-N // size)
    table = RANDOM.permutation(B * count + 1)[: B * count].reshape(B, count).astype(np.int32)
    pages = [np.full((B * count + 1, size, *cache.shape[2:]), np.nan) for cache in caches]
    for cache, page in zip(caches, pages, strict=True):
        for b in range(B):
            for j in range(N):
                page[table[b, j // size], j % size] = cache[b, j]
    return pages, table


@case
def paged_decode() -> Case:
    x, params, outputs = masked(shorter(N, 4), HKV)
    (k, v), table = paged(x["k"].swapaxes(1, 2), x["v"].swapaxes(1, 2))
    inputs = {"q": x["q"][:, :, 0], "k_pages": k, "v_pages": v, "table": table, "length": ints(N, 4)}
    return inputs, params, {"o": outputs["o"][:, :, 0]}


@case
def paged_prefill() -> Case:
    x = qkv(HKV)
    (k, v), table = paged(x["k"].swapaxes(1, 2), x["v"].swapaxes(1, 2))
    length, cu_q = [N, 4], [0, 2, 5]
    q, o = normal(5, H, D), np.zeros((5, H, E))
    for b, n in enumerate(length):
        rows = slice(cu_q[b], cu_q[b + 1])
        mask = np.tri(n, dtype=bool)[n - (cu_q[b + 1] - cu_q[b]) :]
        s = scores(q[rows].swapaxes(0, 1), grouped(x["k"][b, :, :n]))
        o[rows] = attend(s, grouped(x["v"][b, :, :n]), mask).swapaxes(0, 1)
    inputs = {"q": q, "k_pages": k, "v_pages": v, "table": table, "cu_q": ints(*cu_q), "length": ints(*length)}
    return inputs, {}, {"o": o}


def latent() -> dict[str, Array]:
    queries = {"q": normal(B, H, M, R), "q_rope": normal(B, H, M, ROPE)}
    return queries | {"c": normal(B, N, R), "k_rope": normal(B, N, ROPE)}


def latent_attend(x: dict[str, Array], mask: Any = True) -> Array:
    q = np.concatenate([x["q"], x["q_rope"]], axis=-1)
    k = np.concatenate([x["c"], x["k_rope"]], axis=-1)[:, None]
    return attend(q @ np.swapaxes(k, -1, -2) / math.sqrt(192), x["c"][:, None], mask)


def projected(heads: dict[str, Array], cache: dict[str, Array]) -> Array:
    """Attention over keys and values that are projected from a cache."""
    k = np.einsum("hdr,bjr->bhjd", heads["w_uk"], cache["c"])
    v = np.einsum("her,bjr->bhje", heads["w_uv"], cache["c"])
    rope = np.broadcast_to(cache["k_rope"][:, None], (*k.shape[:3], cache["k_rope"].shape[-1]))
    q = np.concatenate([heads["q_nope"], heads["q_rope"]], -1)
    return attend(scores(q, np.concatenate([k, rope], -1)), v, CAUSAL)


def projections(rank: int, rope: int) -> dict[str, Array]:
    queries = {"q_nope": normal(B, H, M, D), "q_rope": normal(B, H, M, rope)}
    return queries | {"w_uk": normal(H, D, rank), "w_uv": normal(H, E, rank)}


def blocks_of_32(**widths: int) -> tuple[dict[str, Array], dict[str, Array]]:
    """Caches of 8-bit integers with a scale for every 32, and the numbers that they hold."""
    inputs, real = dict[str, Array](), dict[str, Array]()
    for name, width in widths.items():
        codes = RANDOM.integers(-128, 128, (B, N, width)).astype(np.int8)
        scale = RANDOM.uniform(0.01, 0.02, (B, N, width // 32)).astype(np.float16)
        inputs |= {f"{name}_int": codes, f"{name}_scale": scale}
        real[name] = codes * np.repeat(scale.astype(float), 32, axis=-1)
    return inputs, real


@case
def mla_projections() -> Case:
    heads, cache = projections(R, ROPE), {"c": normal(B, N, R), "k_rope": normal(B, N, ROPE)}
    return heads | cache, {}, {"o": projected(heads, cache)}


@case
def mla_projections_q8_0() -> Case:
    heads, (cache, real) = projections(64, 32), blocks_of_32(c=64, k_rope=32)
    return heads | cache, {}, {"o": projected(heads, real)}


@case
def mla_latent() -> Case:
    x = latent()
    return x, {}, {"o": latent_attend(x, CAUSAL)}


@case
def mla_q8_0() -> Case:
    queries, (cache, real) = {"q": normal(B, H, M, 64), "q_rope": normal(B, H, M, 32)}, blocks_of_32(c=64, k_rope=32)
    return queries | cache, {}, {"o": latent_attend(queries | real, CAUSAL)}


@case
def mla_paged() -> Case:
    x = latent()
    (cache,), table = paged(np.concatenate([x["c"], x["k_rope"]], axis=-1))
    o = latent_attend(x, shorter(N, 6, beyond=ROW + 1 - M)).swapaxes(1, 2)
    q, q_rope = x["q"].swapaxes(1, 2), x["q_rope"].swapaxes(1, 2)
    return {"q": q, "q_rope": q_rope, "cache": cache, "table": table, "length": ints(N, 6)}, {}, {"o": o}


@case
def topk_sparse() -> Case:
    x = latent()
    index = np.stack([[RANDOM.permutation(N)[:4] for _ in range(M)] for _ in range(B)]).astype(np.int32)
    index[:, :3, 2:] = -1
    index[1, 4] = -1
    mask = (index[..., None] == np.arange(N)).any(axis=2)[:, None]
    return x | {"index": index}, {}, {"o": latent_attend(x, mask)}


@case
def flat_heads() -> Case:
    x, u = {name: normal(B, H, rows, D) for name, rows in (("q", M), ("k", N), ("v", N))}, normal(H, D)
    o = attend(scores(x["q"] + u[:, None], x["k"]), x["v"], CAUSAL)
    flat = {name: array.swapaxes(1, 2).reshape(B, -1, H * D) for name, array in (x | {"o": o}).items()}
    return {"u": u} | {name: flat[name] for name in x}, {}, {"o": flat["o"]}


@case
def fused_qkv() -> Case:
    x = {name: normal(B, heads, N, D) for name, heads in (("q", H), ("k", HKV), ("v", HKV))}
    o = attend(scores(x["q"], grouped(x["k"])), grouped(x["v"]), np.tri(N, dtype=bool))
    flat = {name: array.swapaxes(1, 2).reshape(B, N, -1) for name, array in (x | {"o": o}).items()}
    return (
        {"qkv": np.concatenate([flat["q"], flat["k"], flat["v"]], -1)},
        {"heads": H, "kv_heads": HKV},
        {"o": flat["o"]},
    )


@case
def sinks() -> Case:
    x, sink = qkv(HKV), normal(H)
    s = scores(x["q"], grouped(x["k"]))
    return x | {"sink": sink}, {}, {"o": attend(s, grouped(x["v"]), CAUSAL, sink[:, None, None])}


@case
def softmax_plus_one() -> Case:
    x = qkv()
    weights = np.where(CAUSAL, np.exp(scores(x["q"], x["k"])), 0)
    return x, {}, {"o": weights / (1 + weights.sum(-1, keepdims=True)) @ x["v"]}


@case
def sigmoid_attention() -> Case:
    x = qkv()
    s = scores(x["q"], x["k"]) - math.log(N)
    return x, {}, {"o": np.where(CAUSAL, 1 / (1 + np.exp(-s)), 0) @ x["v"]}


@case
def relu_attention() -> Case:
    x = qkv()
    return x, {}, {"o": np.maximum(scores(x["q"], x["k"]), 0) / N @ x["v"]}


@case
def retention() -> Case:
    x, gamma = qkv(), (1 - 2.0 ** (-5 - np.arange(H))).astype(np.float32)
    decay = np.where(CAUSAL, gamma.astype(float)[:, None, None] ** np.maximum(AT - KEY, 0), 0)
    return x | {"gamma": gamma}, {}, {"o": scores(x["q"], x["k"]) * decay @ x["v"]}


@case
def differential() -> Case:
    x = {"q": normal(B, H, 2, M, D), "k": normal(B, H, 2, N, D), "v": normal(B, H, N, E)}
    lam = np.array([0.8, 0.5, 0.2, -1.0], np.float32)
    first, second = (attend(scores(x["q"][:, :, n], x["k"][:, :, n]), x["v"], CAUSAL) for n in range(2))
    return x | {"lam": lam}, {}, {"o": first - lam.astype(float)[:, None, None] * second}


@case
def tree_speculative() -> Case:
    x, context = qkv(HKV), [2, 0]
    parents = [-1, 0, 0, 1, 2]
    tree = np.zeros((B, M, M), bool)
    for i in range(M):
        t = i
        while t >= 0:
            tree[:, i, t] = True
            t = parents[t]
    mask = np.zeros((B, 1, M, N), bool)
    for b in range(B):
        mask[b, 0, :, : context[b]] = True
        mask[b, 0, :, context[b] : context[b] + M] = tree[b]
    o = attend(scores(x["q"], grouped(x["k"])), grouped(x["v"]), mask)
    return x | {"context": ints(*context), "tree": tree}, {}, {"o": o}


@case
def dilated() -> Case:
    mask = np.array([[j in (p, p - 2, p - 4) for j in range(N)] for p in range(N - M, N)])
    return masked(mask, window=3, dilation=2)


@case
def neighbourhood_2d() -> Case:
    rows, columns, size = 4, 5, 3
    q, k, v = (normal(B, H, rows, columns, n) for n in (D, D, E))
    mask = np.zeros((rows, columns, rows, columns), bool)
    for y in range(rows):
        for x in range(columns):
            top = min(max(y - 1, 0), rows - size)
            left = min(max(x - 1, 0), columns - size)
            mask[y, x, top : top + size, left : left + size] = True
    flat = rows * columns
    s = scores(q.reshape(B, H, flat, D), k.reshape(B, H, flat, D))
    o = attend(s, v.reshape(B, H, flat, E), mask.reshape(flat, flat))
    return {"q": q, "k": k, "v": v}, {"size": size}, {"o": o.reshape(B, H, rows, columns, E)}


@case
def block_diffusion() -> Case:
    tokens, block = 5, 2
    x = qkv(keys=2 * tokens, queries=2 * tokens)
    part = np.arange(tokens) // block
    same, before = part[:, None] == part[None, :], part[None, :] < part[:, None]
    mask = np.block([[same, before], [np.zeros_like(same), same | before]])
    return x, {"block": block}, {"o": attend(scores(x["q"], x["k"]), x["v"], mask)}


ANGLE = np.arange(N)[:, None] / 10000.0 ** (np.arange(D // 2) * 2 / D)
TURNS = {f: np.tile(getattr(np, f)(ANGLE), 2).astype(np.float32) for f in ("cos", "sin")}


def turned(y: Array, positions: Array) -> Array:
    """Pairs of numbers, one of each half, as complex numbers times exp(i angle)."""
    z = (y[..., : D // 2] + 1j * y[..., D // 2 :]) * np.exp(1j * ANGLE[positions])
    return np.concatenate([z.real, z.imag], axis=-1)


@case
def rotary() -> Case:
    x = qkv()
    s = scores(turned(x["q"], np.arange(N - M, N)), turned(x["k"], np.arange(N)))
    return x | TURNS, {}, {"o": attend(s, x["v"], CAUSAL)}


@case
def append_paged() -> Case:
    x, new = qkv(HKV), slice(N - M, N)
    k = turned(x["k"], np.arange(N))
    after, table = paged(k.swapaxes(1, 2), x["v"].swapaxes(1, 2))
    size = after[0].shape[1]
    slot = np.stack([pages[np.arange(N)[new] // size] * size + np.arange(N)[new] % size for pages in table])
    before = [pages.copy() for pages in after]
    for pages in before:
        pages.reshape(-1, *pages.shape[2:])[slot] = RANDOM.normal(size=pages.shape[2:])
    slot[1, 0] = -1  # appends nothing, and what is there is seen
    for pages, old in zip(after, before, strict=True):
        at = divmod(table[1, (N - M) // size] * size + (N - M) % size, size)
        pages[at] = old[at]
    s = scores(turned(x["q"], np.arange(N)[new]), grouped(np.stack([along(after[0], row) for row in table])))
    o = attend(s, grouped(np.stack([along(after[1], row) for row in table])), CAUSAL)
    inputs = {"q": x["q"], "k": x["k"][:, :, new], "v": x["v"][:, :, new], "k_pages": before[0], "v_pages": before[1]}
    inputs |= {"slot": slot.astype(np.int32), "table": table, "length": ints(N, N)} | TURNS
    return inputs, {}, {"o": o, "k_pages": after[0], "v_pages": after[1]}


@case
def append_ragged() -> Case:
    """Chunks of 2 and 3 rows, the last of 7 and 4 positions; a sixth row is padding."""
    inputs, _, outputs = paged_prefill()
    table, cu_q, length = (inputs[name] for name in ("table", "cu_q", "length"))
    size = inputs["k_pages"].shape[1]
    places = [(b, length[b] - cu_q[b + 1] + row) for b in range(B) for row in range(cu_q[b], cu_q[b + 1])]
    slot = ints(*(table[b, at // size] * size + at % size for b, at in places), -1)
    inputs["q"] = np.concatenate([inputs["q"], normal(1, H, D)])
    inputs["slot"] = slot
    outputs["o"] = np.concatenate([outputs["o"], np.zeros((1, H, E))])
    for new, pages in (("k", "k_pages"), ("v", "v_pages")):
        outputs[pages] = inputs[pages]
        flat = inputs[pages].reshape(-1, *inputs[pages].shape[2:])
        inputs[new] = np.concatenate([flat[slot[:-1]], np.full_like(flat[:1], np.nan)])
        flat = flat.copy()
        flat[slot[:-1]] = np.nan
        inputs[pages] = flat.reshape(outputs[pages].shape)
    return inputs, {}, outputs


def along(pages: Array, table: Array) -> Array:
    """The first N keys that a table leads to, behind their heads."""
    return np.asarray(pages[table].reshape(-1, *pages.shape[2:])[:N].swapaxes(0, 1))


@case
def append_latent() -> Case:
    x, past = latent(), N - M
    entries = np.concatenate([x["c"], x["k_rope"]], axis=-1)
    cache = np.concatenate([entries, normal(B, 2, R + ROPE)], axis=1)
    before = cache.copy()
    before[:, past:N] = np.nan
    o = latent_attend(x, CAUSAL).swapaxes(1, 2)
    inputs = {name: x[name].swapaxes(1, 2) for name in ("q", "q_rope")}
    inputs |= {name: x[name][:, past:] for name in ("c", "k_rope")} | {"cache": before, "past": ints(past, past)}
    return inputs, {}, {"o": o, "cache": cache}


@case
def dense_bias() -> Case:
    x, bias = qkv(HKV), normal(B, 1, 1, N)
    bias[1, ..., 2:] = -np.inf
    s = scores(x["q"], grouped(x["k"])) + bias
    return x | {"bias": bias}, {}, {"o": attend(s, grouped(x["v"]), bias > -np.inf)}


@case
def qk_norm() -> Case:
    x, gains = qkv(HKV), {"q_gain": normal(D), "k_gain": normal(D)}

    def normed(y: Array, gain: Array) -> Array:
        return np.asarray(y / np.sqrt((y**2).mean(-1, keepdims=True) + 1e-6) * gain)

    s = scores(normed(x["q"], gains["q_gain"]), grouped(normed(x["k"], gains["k_gain"])))
    return x | gains, {}, {"o": attend(s, grouped(x["v"]), CAUSAL)}


@case
def int8_cache() -> Case:
    q = normal(B, H, M, D)
    k, v = (RANDOM.integers(-127, 128, (B, HKV, N, n)).astype(np.int8) for n in (D, E))
    ks, vs = (RANDOM.uniform(0.01, 0.02, (B, HKV, N)).astype(np.float32) for _ in range(2))
    s = scores(q, grouped(k * ks.astype(float)[..., None]))
    o = attend(s, grouped(v * vs.astype(float)[..., None]), CAUSAL)
    return {"q": q, "k_int": k, "v_int": v, "k_scale": ks, "v_scale": vs}, {}, {"o": o}


@case
def quantise_int8() -> Case:
    k = normal(B, HKV, N, D)
    k[0, 0, 1] = 0
    largest = np.abs(k).max(-1)
    scale = np.where(largest > 0, largest / 127, 1)
    return {"k": k}, {}, {"k_int": k / scale[..., None], "k_scale": scale}


@case
def hard_attention() -> Case:
    inputs = qkv(heads=H)
    best = np.where(CAUSAL, scores(inputs["q"], inputs["k"]), -np.inf).argmax(-1)
    taken = np.take_along_axis(inputs["v"], best[..., None], axis=-2)
    return inputs, {}, {"chosen": best, "o": taken}


@case
def dropout() -> Case:
    inputs, p = qkv(keys=N, queries=M) | {"seed": np.array(-5)}, 0.25
    inputs["k"], inputs["v"] = normal(B, H, N, D), normal(B, H, N, E)
    places = range(B * H * M * N)
    drawn = np.array([philox([place, 0, 0, 0], [2**32 - 5, 2**32 - 1])[0] / 2**32 for place in places])
    s = np.exp(scores(inputs["q"], inputs["k"]))
    kept = np.where(drawn.reshape(s.shape) < p, 0.0, s / (1 - p)) / s.sum(-1, keepdims=True)
    return inputs, {"p": p}, {"o": kept @ inputs["v"]}


@case
def int4_cache() -> Case:
    q = normal(B, H, M, 64)
    inputs, real = {"q": q}, []
    for name, width in (("k", 64), ("v", 32)):
        codes = RANDOM.integers(-8, 8, (B, HKV, N, width))
        scale = RANDOM.uniform(0.1, 0.2, (B, HKV, N, width // 32)).astype(np.float16)
        inputs[f"{name}_pairs"] = ((codes[..., ::2] + 8) + 16 * (codes[..., 1::2] + 8)).astype(np.uint8)
        inputs[f"{name}_scale"] = scale
        real.append(grouped(codes * np.repeat(scale.astype(float), 32, axis=-1)))
    return inputs, {}, {"o": attend(scores(q, real[0]), real[1], CAUSAL)}


@case
def f8_cache() -> Case:
    from ml_dtypes import float8_e4m3fn

    x = qkv(HKV)
    k, v = x["k"].astype(float8_e4m3fn), x["v"].astype(float8_e4m3fn)
    ks, vs = np.array([0.5, 2.0], np.float32), np.array([1.0, 4.0], np.float32)
    real = [grouped(y.astype(float) * z.astype(float)[:, None, None]) for y, z in ((k, ks), (v, vs))]
    inputs = {"q": x["q"], "k_f8": k, "v_f8": v, "k_scale": ks, "v_scale": vs}
    return inputs, {}, {"o": attend(scores(x["q"], real[0]), real[1], CAUSAL)}


@case
def gated_output() -> Case:
    x, gate = qkv(HKV), normal(B, H, M, E)
    o = attend(scores(x["q"], grouped(x["k"])), grouped(x["v"]), CAUSAL)
    return x | {"gate": gate}, {}, {"o": o / (1 + np.exp(-gate))}


@case
def lse() -> Case:
    x, params, outputs = masked(CAUSAL)
    s = scores(x["q"], x["k"])
    return x, params, outputs | {"lse": np.log(np.where(CAUSAL, np.exp(s), 0).sum(-1))}


@case
def key_mass() -> Case:
    x = qkv(HKV)
    s = np.where(CAUSAL, scores(x["q"], grouped(x["k"])), -np.inf)
    weights = np.exp(s) / np.exp(s).sum(-1, keepdims=True)
    return {"q": x["q"], "k": x["k"]}, {}, {"mass": weights.reshape(B, HKV, H // HKV, M, N).sum((2, 3))}


@case
def qk_clip() -> Case:
    x, params, outputs = masked(CAUSAL)
    return x, params, outputs | {"largest": np.where(CAUSAL, scores(x["q"], x["k"]), -np.inf).max(-1)}


@case
def weights() -> Case:
    x, params, outputs = masked(CAUSAL)
    powers = np.where(CAUSAL, np.exp(scores(x["q"], x["k"])), 0.0)
    return x, params, outputs | {"p": powers / powers.sum(-1, keepdims=True)}


@case
def indexer() -> Case:
    x = {"q": normal(B, H, M, D), "k": normal(B, N, D), "v": normal(B, N, E)}
    x |= {"q_index": normal(B, 3, M, R), "k_index": normal(B, N, R), "weight": normal(B, 3, M)}
    found = np.maximum(x["q_index"] @ x["k_index"][:, None].mT, 0.0)
    index = (x["weight"][..., None] * found).sum(1)
    mean = np.where(CAUSAL, index, 0.0).sum(-1, keepdims=True) / CAUSAL.sum(-1, keepdims=True)
    mask = (CAUSAL & (index >= mean))[:, None]
    return x, {}, {"o": attend(scores(x["q"], x["k"][:, None]), x["v"][:, None], mask)}


@case
def sparse_indexed() -> Case:
    x = latent() | {"q_index": normal(B, 3, M, R), "k_index": normal(B, N, R), "weight": normal(B, 3, M)}
    found = np.maximum(x["q_index"] @ x["k_index"][:, None].mT, 0.0)
    index = np.where(CAUSAL, (x["weight"][..., None] * found).sum(1), -np.inf)
    top = np.argsort(-index, axis=-1, kind="stable")[..., :4]
    chosen = (top[..., None] == np.arange(N)).any(axis=-2)
    return x, {"K": 4}, {"o": latent_attend(x, (CAUSAL & chosen)[:, None])}


@case
def pair_bias() -> Case:
    x = {name: normal(B, H, N, D) for name in ("q", "k", "v", "gate")} | {"bias": normal(H, N, N)}
    o = attend(scores(x["q"], x["k"]) + x["bias"], x["v"]) / (1 + np.exp(-x["gate"]))
    return x, {}, {"o": o}


@case
def co_attention() -> Case:
    text, image = ({name: normal(B, H, n, D) for name in "qkv"} for n in (M, N))
    inputs = {f"{name}_{side}": y for side, x in (("text", text), ("image", image)) for name, y in x.items()}
    outputs = {
        "o_text": attend(scores(text["q"], image["k"]), image["v"]),
        "o_image": attend(scores(image["q"], text["k"]), text["v"]),
    }
    return inputs, {}, outputs


@case
def cache_and_new() -> Case:
    past, x = 4, qkv(HKV, queries=N)
    k_old, v_old = normal(B, HKV, past, D), normal(B, HKV, past, E)
    keys, values = np.concatenate([k_old, x["k"]], axis=2), np.concatenate([v_old, x["v"]], axis=2)
    seen = np.arange(past + N) <= np.arange(N)[:, None] + past
    inputs = {"q": x["q"], "k_old": k_old, "v_old": v_old, "k_new": x["k"], "v_new": x["v"]}
    return inputs, {}, {"o": attend(scores(x["q"], grouped(keys)), grouped(values), seen)}


@case
def shared_prefix() -> Case:
    prefix, length = 4, [N, 2]
    q, k, v = normal(B, H, D), normal(HKV, prefix, D), normal(HKV, prefix, E)
    own_k, own_v = normal(B, HKV, N, D), normal(B, HKV, N, E)
    o = np.zeros((B, H, E))
    for b, n in enumerate(length):
        keys = np.concatenate([k, own_k[b, :, :n]], axis=1)
        values = np.concatenate([v, own_v[b, :, :n]], axis=1)
        o[b] = attend(scores(q[b, :, None], grouped(keys)), grouped(values))[:, 0]
    inputs = {"q": q, "k_shared": k, "v_shared": v, "k_own": own_k, "v_own": own_v, "length": ints(*length)}
    return inputs, {}, {"o": o}
