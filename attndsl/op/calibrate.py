"""Which code suits the CPU at hand: measured once for each CPU and library that NumPy multiplies with, and kept.

Code that is a third faster with one library takes twice as long with another. Names of CPUs and versions of libraries
are too many for a table, and what they promise is not what a machine does; a few products tell, in some milliseconds.
Where Numba is installed, a softmax tells whether what it compiles is faster, in about a second and a half.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from attndsl.backends.numpy.prelude import PRELUDE
from attndsl.cache import DiskCache, user_cache
from attndsl.driver.fingerprint import fingerprint
from attndsl.ir.machines import ANY_CPU, PROCESSORS
from attndsl.op.blas import described, on_one_thread
from attndsl.processor import processor

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

WITH_AVX512 = ("SkylakeX", "Cooperlake", "SapphireRapids")
"""What OpenBLAS calls the processors that it has code with AVX-512 for."""

WAYS = {"cpu": "as a whole", "cpu:slices": "eight rows at a time"}
"""How products are made in code for a CPU."""

NUMBA = "numba"
"""The package that compiles what is fused, where it is installed."""

TILE = (512, 128)
"""Keys and rows of the scores whose softmax is timed: their exponentials, and the sums of these."""

SOFTMAX = """
@_compiled
def softmax(scores, sums):
    for j in range(scores.shape[0]):
        for i in range(scores.shape[1]):
            weight = _exp(scores[j, i])
            sums[i] += weight
            scores[j, i] = weight
"""
"""What is timed, as a loop over elements."""


Rates = dict[str, float]


class Suited(NamedTuple):
    """Which of PROCESSORS code should be for; why products, and why passes over tiles, are made as they are there."""

    machine: str
    why: str
    tiles: str = ""


def suited() -> Suited:
    """What suits this CPU: measured where that was not done yet, or, with `$ATTNDSL_CALIBRATE` 0, by what it is."""
    return _suited(os.environ.get(VARIABLE) != "0", user_cache())


@cache
def _suited(measures: bool, kept: DiskCache) -> Suited:
    there = find_spec(NUMBA) is not None
    if not measures:
        suits = by_table(described())
        return compiling(suits, f"as Numba is installed; not measured, as ${VARIABLE} is 0") if there else suits
    place = here()
    suits = by_rates(_found(kept, place, tuple(WAYS), measured), place)
    if not there:
        return suits
    place = f"{processor()}, NumPy {np.__version__}, {numba_version()}"
    return by_times(suits, _found(kept, place, ("numpy", "numba"), measured_tiles), place)


def _found(kept: DiskCache, place: str, ways: tuple[str, ...], measure: Callable[[], dict[str, float]]) -> Rates:
    """What was kept of a place, or is measured and kept."""
    key = sha256(f"{fingerprint()}\n{place}".encode()).hexdigest()
    cache = DiskCache(kept.folder / FOLDER)
    found = _checked(cache.get(key), ways)
    if found is None:
        found = measure()
        cache.put(key, found)
    return found


def numba_version() -> str:
    """Numba's name and version."""
    from importlib.metadata import version  # slow to import

    return f"Numba {version(NUMBA)}"


def compiling(suits: Suited, why: str) -> Suited:
    """The same, in code that Numba compiles."""
    return Suited(variant(suits.machine, compiled=True), suits.why, f"compiled, {why}")


def variant(machine: str, compiled: bool) -> str:
    """Which of PROCESSORS makes products as another one does, and has what is fused compiled, or not."""
    wanted = replace(PROCESSORS[machine], compiled=compiled)
    return next(name for name, row in PROCESSORS.items() if row == wanted)


def here() -> str:
    """What rates rest on: the CPU, NumPy and the library that it multiplies with."""
    return f"{processor()}, NumPy {np.__version__}, {described()}"


def by_table(library: str) -> Suited:
    """What is known without measuring: of OpenBLAS, whose code for AVX-512 packs no operand of small products.

    A processor may have AVX-512 and OpenBLAS not use it, as where OPENBLAS_CORETYPE names another.
    """
    fast = library.startswith("openblas") and library.endswith(WITH_AVX512)
    machine = "cpu:slices" if fast else ANY_CPU
    reason = f"{'as' if fast else 'not'} with OpenBLAS and AVX-512"
    return Suited(machine, f"{WAYS[machine]}, {reason}; not measured, as ${VARIABLE} is 0")


def by_rates(rates: Mapping[str, float], place: str) -> Suited:
    """What was faster, with the floating-point operations a second of each."""
    machine = max(rates, key=lambda name: rates[name] * (WORTH if name == ANY_CPU else 1))
    others = ", ".join(f"{rate / 1e9:.0f} {WAYS[name]}" for name, rate in rates.items() if name != machine)
    return Suited(machine, f"{WAYS[machine]}: {rates[machine] / 1e9:.0f} Gflop/s against {others}, measured on {place}")


def by_times(suits: Suited, times: Mapping[str, float], place: str) -> Suited:
    """Code that is compiled where that takes less of the seconds of each way, else what suits without."""
    numpy, numba = (f"{times[way] * 1e6:.0f} µs" for way in ("numpy", "numba"))
    if times["numba"] * WORTH > times["numpy"]:
        return suits._replace(tiles=f"not compiled: {numba} against {numpy} for a softmax, measured on {place}")
    return compiling(suits, f"{numba} against {numpy} for a softmax, measured on {place}")


def measured() -> Rates:
    """The floating-point operations a second of products of tiles, in each way."""
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


def measured_tiles() -> Rates:
    """The seconds that the exponentials of a tile and their sums take, operation by operation and compiled."""
    helpers: dict[str, Any] = {"np": np, "cache": cache}
    exec("".join([*(PRELUDE[name] for name in ("_compiled", "_exp", "_has_numba")), SOFTMAX]), helpers)
    assert helpers["_has_numba"]()
    scores, sums, ones = np.zeros(TILE, np.float32), np.zeros(TILE[1], np.float32), np.ones(TILE[0], np.float32)
    ways: dict[str, Callable[[], Any]] = {
        "numpy": lambda: np.matmul(np.exp(scores, out=scores).T, ones, out=sums),
        "numba": lambda: helpers["softmax"](scores, sums),
    }
    times: dict[str, list[float]] = {name: [] for name in ways}

    def measure() -> None:
        for _ in range(ROUNDS):
            for name, way in ways.items():
                scores[...] = 0
                start = time.perf_counter()
                way()
                times[name].append(time.perf_counter() - start)

    on_one_thread(measure)()
    return {name: min(took) for name, took in times.items()}


def _checked(entry: Any, ways: tuple[str, ...]) -> Rates | None:
    """What was kept, None where it is no positive number for each way."""
    whole = isinstance(entry, dict) and entry.keys() == {*ways}
    if not whole or not all(isinstance(rate, float) and 0 < rate < float("inf") for rate in entry.values()):
        return None
    return {name: entry[name] for name in ways}
