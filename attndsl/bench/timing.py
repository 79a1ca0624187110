"""How long calls take, measured in turns: one clock for GPUs, one for CPUs.

Each contestant is called on several copies of its data one after another, so that no call finds its own in the
last-level cache. On a GPU the device's time is measured and not Python's: a call that is short is captured in a CUDA
graph, others are queued ahead of the device. How long calls take as Python makes them is measured too. On a CPU the
wall and the processor are both read.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeVar

import torch

Call = Callable[[], object]

T = TypeVar("T")

ROUNDS = 5
"""Measurements of each contestant, after one that is not counted."""

SAMPLE = 2e-3
"""Seconds that a measurement on a CPU lasts at least: as many calls as that takes."""

DEVICE_SAMPLE = 20e-3
"""Seconds that a measurement on a GPU lasts at least."""

HEAD_START = 5e-3
"""Seconds that the device is held before a measurement, while Python queues calls; longer, and it would cool."""

CYCLES = 1_000_000
"""Cycles of which the time is taken, as no device tells how fast its are."""

SHORT = 400e-6
"""Seconds below which a call made from Python is captured in a graph as well: by then a kernel may be 100 µs."""

IN_A_GRAPH = 8
"""Calls that a graph holds at least, so that launching the graph does not count."""


PAUSE = 0.03
"""Seconds before each measurement on a CPU: the threads of the call before it may spin for a while."""

LONG = 1.0
"""Seconds of a call on a CPU from which on what happened just before it is nothing beside it."""


@dataclass(frozen=True, slots=True)
class Time:
    """Seconds of a call as they are compared; `eager` from one call to the next where Python makes them.

    `busy` is the time of all processors that a call on a CPU keeps busy.
    """

    seconds: float
    eager: float
    busy: float | None = None


@dataclass(frozen=True)
class Turn:
    """What is called in turns: `calls` do the same on different memory; `around` is entered around many of them."""

    calls: Sequence[Call]
    around: Callable[[], AbstractContextManager[object]] = nullcontext


class Clock(Protocol):
    """Something that times contestants."""

    def race(self, turns: Mapping[str, Turn]) -> dict[str, Time]:
        """The medians of every contestant's times, measured A B C, C B A, A B C, …"""
        ...


@dataclass(frozen=True)
class CpuClock:
    """Times calls on a CPU by the wall or, where `by_processor`, by the time of all processors that they keep busy.

    The latter counts on a busy machine. A measurement comes after a pause and a call that is not measured, on other
    data, which wakes the contestant's threads and finds its code.
    """

    by_processor: bool = False
    rounds: int = ROUNDS
    sample: float = SAMPLE
    pause: float = PAUSE

    def race(self, turns: Mapping[str, Turn]) -> dict[str, Time]:
        """The medians of every contestant's times."""
        taken = _in_turns({name: partial(self._measure, turn) for name, turn in turns.items()}, self.rounds)
        found = {}
        for name, times in taken.items():
            wall, busy = (statistics.median(each) for each in zip(*times, strict=True))
            found[name] = Time(busy if self.by_processor else wall, wall, busy)
        return found

    def _measure(self, turn: Turn, number: int) -> tuple[float, float]:
        time.sleep(self.pause)
        with turn.around():
            first = _both(turn, number, 1)
            if first[0] > LONG:
                return first
            return _both(turn, number + 1, max(1, round(self.sample / first[0])))


def _both(turn: Turn, first: int, times: int) -> tuple[float, float]:
    """The mean of the wall's and of the processors' seconds over some calls."""
    wall, busy = time.perf_counter(), time.process_time()
    for number in range(first, first + times):
        turn.calls[number % len(turn.calls)]()
    return (time.perf_counter() - wall) / times, (time.process_time() - busy) / times


@dataclass(frozen=True)
class GpuClock:
    """Times calls on the current CUDA device, by its events."""

    rounds: int = ROUNDS
    sample: float = DEVICE_SAMPLE

    def race(self, turns: Mapping[str, Turn]) -> dict[str, Time]:
        """The medians of every contestant's times."""
        eager = {name: Loop(turn) for name, turn in turns.items()}
        graphs = {name: captured(turns[name]) for name, loop in eager.items() if loop.seconds(1) < SHORT}
        short = {name: graph for name, graph in graphs.items() if graph is not None}
        hold = holding(HEAD_START)
        device = self._medians({**{name: Loop(turn, hold) for name, turn in turns.items()}, **short})
        # Of a call that lasts longer than a measurement has to, Python's part is nothing.
        python = self._medians({name: loop for name, loop in eager.items() if device[name] < self.sample})
        return {name: Time(device[name], python.get(name, device[name])) for name in turns}

    def _medians(self, loops: Mapping[str, Loop | Replay]) -> dict[str, float]:
        def measure(loop: Loop | Replay) -> Callable[[int], float]:
            times = max(1, math.ceil(self.sample / (loop.seconds(1) * loop.calls)))
            return lambda _: loop.seconds(times)

        taken = _in_turns({name: measure(loop) for name, loop in loops.items()}, self.rounds)
        return {name: statistics.median(times) for name, times in taken.items()}


def holding(seconds: float) -> Call:
    """What keeps the current device for so many seconds from what is queued behind it."""
    sleep: Callable[[int], object] = torch.cuda._sleep
    each = min(_elapsed(partial(sleep, CYCLES), 1) for _ in range(3)) / CYCLES
    return partial(sleep, round(seconds / each))


class Loop:
    """Calls made from Python, one after another.

    Where something is to `hold` the device at first, as many calls come before those that are measured: by then Python
    is ahead, and the device as warm as its contestant makes it. Python is so to the end where a call takes it no more
    than a tenth longer than the device.
    """

    def __init__(self, turn: Turn, hold: Call | None = None) -> None:
        self.turn, self.hold = turn, hold
        self.calls = len(turn.calls)

    def seconds(self, times: int) -> float:
        """The seconds of a call, of so many times all of them."""
        with self.turn.around():
            before = 0
            if self.hold is not None:
                self.hold()
                before = times
            return _elapsed(self._all, times, before) / (times * self.calls)

    def _all(self) -> None:
        for call in self.turn.calls:
            call()


class Replay:
    """The same calls as one CUDA graph; as many replays come before those that are measured."""

    def __init__(self, turn: Turn) -> None:
        rounds = -(-IN_A_GRAPH // len(turn.calls))
        self.calls = rounds * len(turn.calls)
        self.graph = torch.cuda.CUDAGraph()
        with turn.around(), torch.cuda.graph(self.graph):
            for call in [*turn.calls] * rounds:
                call()

    def seconds(self, times: int) -> float:
        """The seconds of a call, of so many replays."""
        return _elapsed(self.graph.replay, times, times) / (times * self.calls)


def captured(turn: Turn) -> Replay | None:
    """The calls as a graph, None where something in them cannot be captured."""
    try:
        with torch.cuda.stream(torch.cuda.current_stream()):  # a capture that fails leaves its own stream behind
            return Replay(turn)
    except RuntimeError:
        # Nor does it tell the random numbers that it is over: they get a generator that knows of no capture.
        device = torch.cuda.current_device()
        torch.cuda.default_generators[device].graphsafe_set_state(torch.Generator(device=f"cuda:{device}"))
        return None


def _elapsed(call: Call, times: int, before: int = 0) -> float:
    """The device's seconds of so many calls, behind some `before` them that are not measured."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    for _ in range(before):
        call()
    start.record()
    for _ in range(times):
        call()
    end.record()
    end.synchronize()
    return float(start.elapsed_time(end)) / 1e3


def _in_turns(measures: Mapping[str, Callable[[int], T]], rounds: int) -> dict[str, list[T]]:
    """What each measure found, after one that is not counted; every other round goes backwards."""
    found: dict[str, list[T]] = {name: [] for name in measures}
    for number in range(rounds + 1):
        for name in list(measures)[:: -1 if number % 2 else 1]:
            found[name].append(measures[name](number))
    return {name: each[1:] for name, each in found.items()}
