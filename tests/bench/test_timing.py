"""What a GPU's clock counts, told by a device that is made up: each call takes it a second more than the one before."""

from __future__ import annotations

import pytest
import torch

from attndsl.bench.timing import Loop, Turn


class Device:
    """What is queued, in order, and the seconds of all of it."""

    def __init__(self) -> None:
        self.queued: list[str] = []
        self.seconds = 0.0

    def call(self) -> None:
        """One call."""
        self.queued.append("call")
        self.seconds += self.queued.count("call")

    def hold(self) -> None:
        """A hundred seconds in which nothing else runs."""
        self.queued.append("hold")
        self.seconds += 100


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Device:
    """One whose events are told when they come."""
    made = Device()

    class Event:
        def __init__(self, enable_timing: bool) -> None:
            assert enable_timing
            self.at = 0.0

        def record(self) -> None:
            made.queued.append("event")
            self.at = made.seconds

        def synchronize(self) -> None:
            """It is over."""

        def elapsed_time(self, end: Event) -> float:
            return 1e3 * (end.at - self.at)

    monkeypatch.setattr(torch.cuda, "Event", Event)
    return made


def test_calls_that_are_measured_come_behind_as_many(device: Device) -> None:
    """Neither what holds the device counts, nor the calls that come before."""
    turn = Turn([device.call, device.call])
    assert Loop(turn, device.hold).seconds(2) == (5 + 6 + 7 + 8) / 4
    assert device.queued == ["hold", *["call"] * 4, "event", *["call"] * 4, "event"]


def test_a_call_from_python_counts_at_once(device: Device) -> None:
    assert Loop(Turn([device.call])).seconds(2) == (1 + 2) / 2
    assert device.queued == ["event", "call", "call", "event"]
