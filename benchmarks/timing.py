"""How long calls take, measured in turns."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")

PAUSE = 0.03
"""Seconds before each measurement: the threads of the call before it spin for a while."""


def in_turns(calls: Mapping[str, Callable[[T], object]], data: Sequence[T]) -> dict[str, list[float]]:
    """Seconds of each call on each of `data`: A B, then B A, so that neither always finds the other's leavings.

    A pause and an unmeasured call on other data come before each measured one.
    """
    times: dict[str, list[float]] = {name: [] for name in calls}
    for number, item in enumerate(data):
        for name in list(calls)[:: 1 if number % 2 else -1]:
            time.sleep(PAUSE)
            calls[name](data[number - 1])
            start = time.perf_counter()
            calls[name](item)
            times[name].append(time.perf_counter() - start)
    return times
