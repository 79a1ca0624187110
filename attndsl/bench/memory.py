"""How much memory a call and its backward need as the sequence grows, beside the form that keeps every score."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from attndsl.bench.contest import TOLERANCE, Outputs, error
from attndsl.bench.gradients import by_tile
from attndsl.bench.ours import operator, spec, truth
from attndsl.bench.results import Column, Row, of_bytes
from attndsl.bench.suite import Effort, Job, Measured, Rig, Study
from attndsl.bench.unfused import true_gradients
from attndsl.gradient import gradient
from attndsl.op.op import Op
from attndsl.syntax.source import Source

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
    Column("call"),
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

    def of(self, call: Callable[..., Any], **inputs: Array) -> tuple[Any, int]:
        """What a call gives and the bytes that it held; the inputs were made since, and nothing else is left."""
        tracemalloc.reset_peak()
        result = call(**inputs)
        _, most = tracemalloc.get_traced_memory()
        outputs = result if isinstance(result, tuple) else (result,)
        return result, most - self.floor - sum(array.nbytes for array in (*outputs, *inputs.values()))


def off(o: Array, x: dict[str, Array]) -> str | None:
    """What is wrong with an output, compared with float64 in some rows; None where nothing is."""
    n = o.shape[2]
    for first in {0, (n - CHECKED) // 2, n - CHECKED}:
        last = first + CHECKED
        some = {"q": x["q"][:, :, first:last], "k": x["k"][:, :, :last], "v": x["v"][:, :, :last]}
        wanted = truth(SPEC, tensors(some), {})
        typical, worst = error(torch.from_numpy(o[:, :, first:last]), wanted)
        if not (typical <= TOLERANCE["f32"] and worst <= 4 * TOLERANCE["f32"]):
            return f"off by {typical:.1e}, by {worst:.1e} in the worst row"
    return None


def off_backward(found: Sequence[Array], x: dict[str, Array]) -> str | None:
    """What is wrong with gradients, compared with float64 in the last rows: they alone see the last keys."""
    given = tensors({**{name: x[name][:, :, -CHECKED:] for name in ("q", "d_o")}, "k": x["k"], "v": x["v"]})
    right = true_gradients(spec(SPEC), given, {}, {"o": given["d_o"]}, ("q", "k", "v"))
    last: Outputs = {name: gradient[:, :, -CHECKED:] for name, gradient in right.items()}
    typical, worst = by_tile([torch.from_numpy(array[:, :, -CHECKED:]) for array in found], last)
    if not (typical <= TOLERANCE["f32"] and worst <= 4 * TOLERANCE["f32"]):
        return f"off by {typical:.1e}, by {worst:.1e} in the worst tile"
    return None


def tensors(arrays: dict[str, Array]) -> dict[str, torch.Tensor]:
    """Arrays as tensors of the same memory."""
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


def random(*names: str, n: int) -> dict[str, Array]:
    """Random numbers for whole sequences."""
    rng = np.random.default_rng(0)
    return {name: rng.standard_normal((1, HEADS, n, WIDTH), dtype=np.float32) for name in names}


def warm(sizes: Sequence[int]) -> int:
    """The size of a call before those that are measured: what is compiled and imported once is not theirs.

    It has full tiles and mixed ones: code for either is compiled when it is first run.
    """
    return sizes[:2][-1]


def measured(sizes: Sequence[int], rig: Rig) -> Measured:
    """A row for each size."""
    op = operator(SPEC)
    x = random(*"qkv", n=warm(sizes))
    off(op(**x), x)
    rows: list[Row] = []
    failures: list[str] = []
    with Meter() as meter:
        for n in sizes:
            x = random(*"qkv", n=n)
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
            rows.append(("forward", n, x["q"].nbytes, ours, theirs, ratio))
            del x
    return rows, failures


def measured_backward(sizes: Sequence[int], rig: Rig) -> Measured:
    """A row for each size: the backward, of what the forward saved."""
    derived = gradient(spec(SPEC))
    forward, backward = Op(Source(derived.forward)), Op(Source(derived.backward))
    rows: list[Row] = []
    failures: list[str] = []

    def saved(n: int) -> dict[str, Array]:
        x = random(*"qkv", "d_o", n=n)
        return {**x, **forward(**{name: x[name] for name in "qkv"}, A="f32")._asdict()}

    x = saved(warm(sizes))
    off_backward(backward(**x), x)
    with Meter() as meter:
        for n in sizes:
            x = saved(n)
            found, held = meter.of(backward, **x)
            wrong = off_backward(found, x)
            failures += [f"N = {n}: backward: {wrong}"] if wrong else []
            rows.append(("backward", n, 3 * x["q"].nbytes, "WRONG" if wrong else held, None, None))
            del x, found
    return rows, failures


def jobs(effort: Effort) -> list[Job]:
    """All sizes of a call together: what it keeps for a later one counts in both."""
    sizes = SIZES[:3] if effort is Effort.QUICK else SIZES
    name = f"N {sizes[0]} … {sizes[-1]}"
    return [Job(name, partial(measured, sizes)), Job(f"backward, {name}", partial(measured_backward, sizes), rank=1)]


def draw(axes: Axes, rows: list[Row]) -> None:
    """Bytes over N, both logarithmic."""
    sizes, output, ours, theirs, _ = zip(*(row[1:] for row in rows if row[0] == "forward"), strict=True)
    backward = [(n, held) for call, n, _, held, *_ in rows if call == "backward"]
    kept = [(n, size) for n, size in zip(sizes, theirs, strict=True) if size is not None]
    axes.loglog(*zip(*kept, strict=True), "s--", color="tab:red", label="naive")
    axes.loglog(sizes, ours, "o-", color="tab:blue", label="ours")
    if backward:
        axes.loglog(*zip(*backward, strict=True), "^-", color="tab:cyan", label="ours, backward")
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
        "The backward is a call of the gradient's spec, which takes what the forward saved, too.",
        "The naive form keeps every score, and works on them in place.",
        f"It is not run where the scores and their mask do not fit in {of_bytes(LIMIT)}.",
    ),
)
