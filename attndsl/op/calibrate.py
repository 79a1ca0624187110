"""Which code suits the CPU at hand: measured once for each CPU and library that NumPy multiplies with, and kept.

Code that is a third faster with one library takes twice as long with another. Names of CPUs and versions of libraries
are too many for a table, and what they promise is not what a machine does; a few products tell, in some milliseconds.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from functools import cache
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np

from attndsl.backends.numpy.prelude import PRELUDE
from attndsl.driver.cache import DiskCache, user_cache
from attndsl.driver.fingerprint import fingerprint
from attndsl.ir.machines import ANY_CPU, PROCESSORS
from attndsl.op.blas import described, on_one_thread
from attndsl.processor import processor, vector_extensions

VARIABLE = "ATTNDSL_CALIBRATE"
"""The environment variable that is 0 where nothing is to be measured."""

FOLDER = "calibrated"
"""Where rates are in the cache's folder."""

WORTH = 1.03
"""How much faster code has to be than what suits any CPU: by less, other measurements would say otherwise."""

ROUNDS = 15
"""How often each product is timed, in turns with the others; the quickest counts, which nothing disturbed."""

TILES = ((128, 512, 64), (512, 64, 128))
"""Rows, terms of each sum and columns of the products: weights by values, keys by queries."""

WAYS = {"cpu": "as a whole", "cpu:slices": "eight rows at a time"}
"""How products are made in code for each of PROCESSORS."""


class Suited(NamedTuple):
    """Which of PROCESSORS code should be for, and why."""

    machine: str
    why: str


def suited() -> Suited:
    """What suits this CPU: measured where that was not done yet, or, with `$ATTNDSL_CALIBRATE` 0, by what it is."""
    return _suited(os.environ.get(VARIABLE) != "0", user_cache())


@cache
def _suited(measures: bool, kept: DiskCache) -> Suited:
    if not measures:
        return by_table(described(), vector_extensions())
    place = here()
    key = sha256(f"{fingerprint()}\n{place}".encode()).hexdigest()
    rates = DiskCache(kept.folder / FOLDER)
    found = _checked(rates.get(key))
    if found is None:
        found = measured()
        rates.put(key, found)
    return by_rates(found, place)


def here() -> str:
    """What rates rest on: the CPU, NumPy and the library that it multiplies with."""
    return f"{processor()}, NumPy {np.__version__}, {described()}"


def by_table(library: str, extensions: list[str]) -> Suited:
    """What is known without measuring: of OpenBLAS, whose code for AVX-512 packs no operand of small products."""
    fast = library.startswith("openblas") and "avx512f" in extensions
    machine = "cpu:slices" if fast else ANY_CPU
    reason = f"{'as' if fast else 'not'} with OpenBLAS and AVX-512"
    return Suited(machine, f"{WAYS[machine]}, {reason}; not measured, as ${VARIABLE} is 0")


def by_rates(rates: Mapping[str, float], place: str) -> Suited:
    """What was faster, with the floating-point operations a second of each."""
    machine = max(rates, key=lambda name: rates[name] * (WORTH if name == ANY_CPU else 1))
    others = ", ".join(f"{rate / 1e9:.0f} {WAYS[name]}" for name, rate in rates.items() if name != machine)
    return Suited(machine, f"{WAYS[machine]}: {rates[machine] / 1e9:.0f} Gflop/s against {others}, measured on {place}")


def measured() -> dict[str, float]:
    """The floating-point operations a second of products of tiles, in the way of each of PROCESSORS."""
    helpers: dict[str, Any] = {"np": np}
    exec(PRELUDE["_by_eights"], helpers)
    ways: dict[str, Callable[..., Any]] = {"cpu": np.matmul, "cpu:slices": helpers["_by_eights"]}
    seconds = dict.fromkeys(ways, 0.0)

    def measure() -> None:
        for rows, terms, columns in TILES:
            a, b, out = (np.ones(shape, np.float32) for shape in ((rows, terms), (terms, columns), (rows, columns)))
            times: dict[str, list[float]] = {name: [] for name in ways}
            for _ in range(ROUNDS):
                for name, product in ways.items():
                    start = time.perf_counter()
                    product(a, b, out=out)
                    times[name].append(time.perf_counter() - start)
            for name in ways:
                seconds[name] += min(times[name])

    on_one_thread(measure)()
    work = sum(2 * rows * terms * columns for rows, terms, columns in TILES)
    return {name: work / took for name, took in seconds.items()}


def _checked(entry: Any) -> dict[str, float] | None:
    """What was kept, None where it is no rate of each of PROCESSORS."""
    whole = isinstance(entry, dict) and entry.keys() == PROCESSORS.keys()
    if not whole or not all(isinstance(rate, float) and 0 < rate < float("inf") for rate in entry.values()):
        return None
    return {name: entry[name] for name in PROCESSORS}
