"""What measures on a CPU: the clock, what is told of the machine, caches in fewer bits."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from attndsl.bench import latents, machine, timing
from attndsl.bench.timing import CpuClock, Turn


class Machine:
    """Time as a test makes it pass: a call takes some seconds of the wall and some of each processor."""

    def __init__(self) -> None:
        self.wall = self.busy = 0.0
        self.slept: list[float] = []
        self.called: list[tuple[str, int]] = []

    def perf_counter(self) -> float:
        return self.wall

    def process_time(self) -> float:
        return self.busy

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.wall += seconds

    def turn(self, name: str, wall: float, busy: float, first: float = 0.0) -> Turn:
        """Calls on two copies; the one after another contestant's takes `first` longer."""

        def call(copy: int) -> None:
            late = not self.called or self.called[-1][0] != name
            self.called.append((name, copy))
            self.wall += wall + first * late
            self.busy += busy + first * late

        return Turn([lambda: call(0), lambda: call(1)])


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Machine:
    found = Machine()
    monkeypatch.setattr(timing, "time", found)
    return found


@pytest.mark.parametrize("by_processor", [False, True])
def test_the_clock_reads_the_wall_and_the_processors(made: Machine, by_processor: bool) -> None:
    turns = {"one": made.turn("one", 0.25, 0.25), "two": made.turn("two", 0.125, 0.25)}
    times = CpuClock(by_processor).race(turns)
    assert (times["two"].eager, times["two"].busy) == (0.125, 0.25)
    assert times["two"].seconds == (0.25 if by_processor else 0.125)
    assert times["one"].seconds == 0.25
    assert made.slept == [timing.PAUSE] * 2 * (timing.ROUNDS + 1)


def test_a_call_that_is_not_measured_comes_first_on_other_data(made: Machine) -> None:
    times = CpuClock(rounds=1).race({name: made.turn(name, 0.25, 0.25, first=0.5) for name in ("a", "b")})
    assert times["a"].seconds == times["b"].seconds == 0.25
    assert made.called == [("a", 0), ("a", 1), ("b", 0), ("b", 1), ("b", 1), ("b", 0), ("a", 1), ("a", 0)]


def test_a_long_call_is_not_made_twice(made: Machine) -> None:
    CpuClock(rounds=1).race({"a": made.turn("a", 2 * timing.LONG, 1.0)})
    assert made.called == [("a", 0), ("a", 1)]


def test_short_calls_are_measured_together(made: Machine) -> None:
    times = CpuClock(rounds=1, sample=1.0).race({"a": made.turn("a", 0.125, 0.125)})
    assert times["a"].seconds == 0.125 and len(made.called) == 2 * (1 + 8)


def test_who_else_works_is_seen_while_this_process_sleeps(monkeypatch: pytest.MonkeyPatch) -> None:
    passing = iter([0.0, 1.0])
    idle = iter([(50, 10), (100, 60)])  # of two cores in a second: half a core, then half a core

    def read(path: Path) -> str:
        first, second = next(idle)
        return f"cpu 9 9 9 {first + second} 0 0\ncpu0 9 9 9 {first} 0 0\ncpu1 9 9 9 0 {second} 0\ncpu7 9 9 9 7 7 0\n"

    monkeypatch.setattr(machine.os, "sched_getaffinity", lambda _: {0, 1})  # type: ignore[attr-defined]
    monkeypatch.setattr(machine.os, "sysconf", lambda _: 100)  # type: ignore[attr-defined]
    monkeypatch.setattr(machine.time, "sleep", lambda _: None)  # type: ignore[attr-defined]
    monkeypatch.setattr(machine.time, "perf_counter", lambda: next(passing))  # type: ignore[attr-defined]
    monkeypatch.setattr(Path, "read_text", read)
    assert machine.busy_cores() == 1.0


def test_a_cache_of_integers_holds_numbers_within_half_a_step() -> None:
    x: dict[str, Any] = {"c": torch.randn(1, 3, 64), "k_rope": torch.zeros(1, 3, 32)}
    x["c"][0, 1, 32:] *= 100
    cache = latents.cached(x, "q8_0")
    step = cache["c_scale"].float().repeat_interleave(32, -1)
    assert cache["c_int"].dtype == torch.int8 and cache["c_scale"].shape == (1, 3, 2)
    assert ((cache["c"] - x["c"]).abs() <= 0.51 * step + 1e-3 * x["c"].abs()).all()
    assert (cache["k_rope"] == 0).all()


def test_a_token_takes_what_its_tensors_do() -> None:
    x = latents.absorbed(1, 8, partial(torch.randn))
    for cache in latents.CACHES:
        kept = latents.cached(x, cache)
        of_q8_0 = {name: tensor for name, tensor in kept.items() if name not in latents.PARTS}
        held = sum(tensor.nbytes for tensor in (of_q8_0 or kept).values())
        assert held == 8 * latents.entry_bytes(cache)
