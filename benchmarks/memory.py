"""How much memory a call needs as its sequence grows, beside the form that keeps every score."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.progress import track

import attndsl
from attndsl.bench.machine import ROOT
from attndsl.bench.results import Column, Results, of_bytes
from benchmarks.truth import Array, verify

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SPEC = ROOT / "examples" / "causal_end.attn"
SIZES = (1024, 2048, 4096, 8192, 16384, 32768)
SMALLEST = (256, 512)
HEADS, WIDTH = 4, 64

LIMIT = 16 * 2**30
"""Bytes that the naive form may take."""

COLUMNS = (
    Column("N"),
    Column("output", of_bytes),
    Column("attndsl", of_bytes),
    Column("naive", of_bytes),
    Column("naive / attndsl", "{:.0f} ×".format),
)


def naive(q: Array, k: Array, v: Array) -> Array:
    """Causal attention that keeps every score, each step in place: no form that keeps them takes less."""
    n = q.shape[2]
    score = q @ k.swapaxes(-1, -2)
    score /= math.sqrt(q.shape[-1])
    np.copyto(score, -np.inf, where=~np.tri(n, dtype=bool))
    score -= score.max(axis=-1, keepdims=True)
    np.exp(score, out=score)
    score /= score.sum(axis=-1, keepdims=True)
    return np.asarray(score @ v)


def naive_bytes(n: int) -> int:
    """The scores and their mask in one call of `naive`."""
    return 4 * HEADS * n * n + n * n


def scratch(call: Callable[[], Array]) -> tuple[Array, int]:
    """What a call gives, and the most bytes that NumPy and Python held meanwhile, without what it gives."""
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        result = call()
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return result, most - before - result.nbytes


def run(*, smallest: bool = False) -> Results:
    """Measures every size."""
    op = attndsl.load(SPEC)
    rng = np.random.default_rng(0)
    rows: list[tuple[Any, ...]] = []
    for n in track(SMALLEST if smallest else SIZES, "memory"):
        x = {name: rng.standard_normal((1, HEADS, n, WIDTH), dtype=np.float32) for name in "qkv"}
        if not rows:
            op(**x)  # what is compiled and imported once is not the call's
        o, ours = scratch(lambda x=x: op(**x))  # type: ignore[misc]
        verify(o, **x, causal=True)
        theirs = None
        if naive_bytes(n) <= LIMIT:
            expected, theirs = scratch(lambda x=x: naive(**x))  # type: ignore[misc]
            verify(expected, **x, causal=True)
        rows.append((n, o.nbytes, ours, theirs, None if theirs is None else round(theirs / ours, 1)))
    return Results(
        title=f"Scratch memory of one call, bytes: causal, B = 1, H = {HEADS}, M = N, D = E = {WIDTH}, f32",
        columns=COLUMNS,
        rows=rows,
        remarks=(
            "Scratch is the most that a call held besides its inputs and its output.",
            "tracemalloc counts it: NumPy's arrays and Python's objects, not the fixed buffers inside the BLAS.",
            "The naive form keeps every score, and works on them in place.",
            f"It is not run where the scores and their mask do not fit in {of_bytes(LIMIT)}.",
        ),
        draw=draw,
    )


def draw(axes: Axes, rows: list[tuple[Any, ...]]) -> None:
    """Bytes over N, both logarithmic."""
    sizes, output, ours, theirs, _ = zip(*rows, strict=True)
    kept = [(n, size) for n, size in zip(sizes, theirs, strict=True) if size is not None]
    axes.loglog(*zip(*kept, strict=True), "s--", color="tab:red", label="naive")
    axes.loglog(sizes, ours, "o-", color="tab:blue", label="attndsl")
    axes.loglog(sizes, output, ":", color="tab:gray", label="the output")
    axes.axhline(LIMIT, color="tab:red", linewidth=0.5)
    axes.annotate(of_bytes(LIMIT), (sizes[-1], LIMIT), ha="right", va="bottom", fontsize="small", color="tab:red")
    axes.set_xticks(sizes, [f"{n:,}" for n in sizes])
    axes.set_yticks(ticks := [2**p for p in (18, 22, 26, 30, 34)], list(map(of_bytes, ticks)))
    axes.minorticks_off()
    axes.set_xlabel("N = M")
    axes.set_ylim(top=2 * LIMIT)
    axes.grid(alpha=0.3)
    axes.legend(loc="upper left", bbox_to_anchor=(0, 0.9))
