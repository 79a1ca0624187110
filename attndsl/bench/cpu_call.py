"""What a call on a CPU costs beside its arithmetic: tiny arrays and tensors, and the program alone."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from torch.nn.functional import scaled_dot_product_attention

import attndsl
from attndsl.bench.launch import of_seconds
from attndsl.bench.machine import ROOT
from attndsl.bench.results import Column, Row
from attndsl.bench.suite import Effort, Job, Measured, Rig, Study

SPEC = ROOT / "examples" / "gqa.attn"
LIMIT = 60e-6
"""Seconds of a thread for a call like an earlier one, whose products are of next to nothing."""

SHAPES = ((2, 1, 4, 4), (4, 2, 4, 8))
"""Heads, heads of keys, queries and keys; all features are 8."""

COLUMNS = (
    *map(Column, ("Hq", "Hkv", "M", "N", "who")),
    *(Column(name, of_seconds) for name in ("median", "fastest")),
)


def measured(shape: tuple[int, int, int, int], calls: int, rig: Rig) -> Measured:
    """All who compute one shape, in turns."""
    heads, shared, m, n = shape
    random = np.random.default_rng()
    q, k, v = (
        random.standard_normal((1, h, length, 8), np.float32) for h, length in ((heads, m), (shared, n), (shared, n))
    )
    tensors = [torch.from_numpy(array) for array in (q, k, v)]
    op = attndsl.load(SPEC)
    who: dict[str, Callable[[], object]] = {
        "program": partial(op.binding.function({"T": "f32"}), q, k, v, np.empty_like(q)),
        "arrays": partial(op, q=q, k=k, v=v),
        "tensors": partial(op, **dict(zip("qkv", tensors, strict=True))),
        "torch SDPA": partial(scaled_dot_product_attention, *tensors, enable_gqa=True),
    }
    times: dict[str, list[float]] = {name: [] for name in who}
    for _ in range(20):
        for name, call in who.items():
            for number in range(calls + 20):
                start = time.thread_time()
                call()
                if number >= 20:  # after another's, whose code was in the caches
                    times[name].append(time.thread_time() - start)
    rows: list[Row] = [(*shape, name, statistics.median(taken), min(taken)) for name, taken in times.items()]
    late = [
        f"a call with {name} takes {of_seconds(found)}, limit {of_seconds(LIMIT)}"
        for name in ("arrays", "tensors")
        if (found := statistics.median(times[name])) > LIMIT
    ]
    return rows, late


def jobs(effort: Effort) -> list[Job]:
    """A job for each shape."""
    calls = 20 if effort is Effort.QUICK else 100
    return [Job(f"{shape[0]} heads", partial(measured, shape, calls)) for shape in SHAPES]


SUITE = Study(
    title=f"Calls of {SPEC.name} with next to nothing to compute, f32, B = 1, D = E = 8: seconds of a thread",
    columns=COLUMNS,
    jobs=jobs,
    remarks=("`program` is the generated function by itself, which writes into an output that is there.",),
)
