"""How much memory a call needs as its sequence grows, beside the form that keeps every score."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from attndsl.bench.contest import TOLERANCE, error
from attndsl.bench.ours import operator, truth
from attndsl.bench.results import Column, Row, of_bytes
from attndsl.bench.suite import Effort, Job, Measured, Rig, Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = np.ndarray[Any, Any]

SPEC = "causal_end"
SIZES = (1024, 2048, 4096, 8192, 16384, 32768)
HEADS, WIDTH = 4, 64

CHECKED = 64
"""Rows at the beginning, in the middle and at the end that are compared with float64."""

LIMIT = 16 * 2**30
"""Bytes that the naive form may take."""

COLUMNS = (
    Column("N"),
    Column("output", of_bytes),
    Column("ours", of_bytes),
    Column("naive", of_bytes),
    Column("naive / ours", "{:.0f} ×".format),
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


class Meter:
    """The most bytes that NumPy and Python hold in calls, without what these take and give.

    It counts from when it is entered: what one call keeps for the next is part of both.
    """

    def __enter__(self) -> Meter:
        tracemalloc.start()
        self.floor, _ = tracemalloc.get_traced_memory()
        return self

    def __exit__(self, *_: object) -> None:
        tracemalloc.stop()

    def of(self, call: Callable[..., Array], **inputs: Array) -> tuple[Array, int]:
        """What a call gives and the bytes that it held; the inputs were made since, and nothing else is left."""
        tracemalloc.reset_peak()
        result = call(**inputs)
        _, most = tracemalloc.get_traced_memory()
        return result, most - self.floor - result.nbytes - sum(array.nbytes for array in inputs.values())


def off(o: Array, x: dict[str, Array]) -> str | None:
    """What is wrong with an output, compared with float64 in some rows; None where nothing is."""
    n = o.shape[2]
    for first in {0, (n - CHECKED) // 2, n - CHECKED}:
        last = first + CHECKED
        some = {"q": x["q"][:, :, first:last], "k": x["k"][:, :, :last], "v": x["v"][:, :, :last]}
        wanted = truth(SPEC, {name: torch.from_numpy(array) for name, array in some.items()}, {})
        typical, worst = error(torch.from_numpy(o[:, :, first:last]), wanted)
        if not (typical <= TOLERANCE["f32"] and worst <= 4 * TOLERANCE["f32"]):
            return f"off by {typical:.1e}, by {worst:.1e} in the worst row"
    return None


def measured(sizes: Sequence[int], rig: Rig) -> Measured:
    """A row for each size."""
    op, rng = operator(SPEC), np.random.default_rng(0)

    def qkv(n: int) -> dict[str, Array]:
        return {name: rng.standard_normal((1, HEADS, n, WIDTH), dtype=np.float32) for name in "qkv"}

    x = qkv(CHECKED)
    off(op(**x), x)  # what is compiled and imported once is not the call's
    rows: list[Row] = []
    failures: list[str] = []
    with Meter() as meter:
        for n in sizes:
            x = qkv(n)
            found: list[int | str | None] = []
            calls: dict[str, Callable[..., Array]] = {"ours": op, "naive": naive}
            for name, call in calls.items():
                if call is naive and naive_bytes(n) > LIMIT:
                    found.append(None)
                    continue
                o, held = meter.of(call, **x)
                wrong = off(o, x)
                found.append("WRONG" if wrong else held)
                failures += [f"N = {n}: {name}: {wrong}"] if wrong else []
                del o
            ours, theirs = found
            ratio = round(theirs / ours, 1) if isinstance(ours, int) and isinstance(theirs, int) else None
            rows.append((n, x["q"].nbytes, ours, theirs, ratio))
            del x
    return rows, failures


def jobs(effort: Effort) -> list[Job]:
    """All sizes together: what a call keeps for a later one counts in both."""
    sizes = SIZES[:3] if effort is Effort.QUICK else SIZES
    return [Job(f"N {sizes[0]} … {sizes[-1]}", partial(measured, sizes))]


def draw(axes: Axes, rows: list[Row]) -> None:
    """Bytes over N, both logarithmic."""
    sizes, output, ours, theirs, _ = zip(*rows, strict=True)
    kept = [(n, size) for n, size in zip(sizes, theirs, strict=True) if size is not None]
    axes.loglog(*zip(*kept, strict=True), "s--", color="tab:red", label="naive")
    axes.loglog(sizes, ours, "o-", color="tab:blue", label="ours")
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


SUITE = Study(
    title=f"Scratch memory of one call, bytes: causal, B = 1, H = {HEADS}, M = N, D = E = {WIDTH}, f32",
    columns=COLUMNS,
    jobs=jobs,
    draw=draw,
    remarks=(
        "Scratch is the most that a call held besides its inputs and its output, kept from earlier calls or not.",
        "tracemalloc counts it: NumPy's arrays and Python's objects, not the fixed buffers inside the BLAS.",
        "The naive form keeps every score, and works on them in place.",
        f"It is not run where the scores and their mask do not fit in {of_bytes(LIMIT)}.",
    ),
)
