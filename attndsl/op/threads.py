"""The threads of the process that compute the tiles of a call while the thread that makes it waits.

Tiles are claimed one by one, in order, so that a thread with short ones claims more. Which thread computes a tile
changes no bit of it. The caller computes none, since its place among the processors is not ours to choose.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from itertools import count
from queue import SimpleQueue
from typing import Protocol

import numpy as np

from attndsl.op.blas import on_one_thread
from attndsl.op.errors import ThreadsUnclear
from attndsl.op.placement import shares, stay

VARIABLE = "ATTNDSL_NUM_THREADS"

PATIENCE = 0.1
"""How long a tile waits, in seconds, before it looks whether the call has been given up meanwhile."""

Place = int | tuple[int, int]
"""Where a loop over keys has come to: a key, or the value of an outer loop and a key."""


class Mine(Protocol):
    """What tells a thread which tiles are its own."""

    def __call__(self, span: range, /) -> Iterable[int]:
        """Those of a range of tiles; it is asked for each range, in order."""

    def steps(self, span: range, /) -> Iterable[int]:
        """Steps, each of as many tiles, which follow each other in what they add to elements."""

    def wait(self, place: Place, /) -> None:
        """Returns when the tile of the step before is past a place, to which it then adds no more."""

    def past(self, place: Place, /) -> None:
        """This tile is."""


Tiles = Callable[[Mine], None]
"""What computes tiles: all of a kernel that are a thread's own."""


def threads() -> int:
    """How many threads a call may have: no more than processors, than the environment says, than torch has.

    Raises ThreadsUnclear where the environment says what is no number of threads.
    """
    processors = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    limits = [len(processors)]
    if (chosen := os.environ.get(VARIABLE)) is not None:
        if not (chosen.isascii() and chosen.isdecimal() and int(chosen) > 0):
            raise ThreadsUnclear("any operator", VARIABLE, chosen)
        limits.append(int(chosen))
    if (of_torch := getattr(sys.modules.get("torch"), "get_num_threads", None)) is not None:
        limits.append(of_torch())
    return min(limits)


def run(tiles: Tiles, worth: bool) -> None:
    """Computes all tiles: in several threads where that is worth it, there are several tiles, and the threads are free.

    They are not while they compute for another call, nor for a call that one of them makes.
    """
    most = threads() if worth and not hasattr(_this, "helps") else 1
    number = min(most, _number_of(tiles)) if most > 1 else 1
    if number > 1:
        _Call(tiles, number).run()
    else:
        tiles(_All())


def _number_of(tiles: Tiles) -> int:
    """How many tiles there are: each range is asked for, and none computed."""
    counted = _Counted()
    tiles(counted)
    return counted.found


class _All:
    """Tells who computes all tiles that they are its own, and has nothing to wait for."""

    def __call__(self, span: range) -> Iterable[int]:
        return span

    def steps(self, span: range) -> Iterable[int]:
        """All of them."""
        return span

    def wait(self, place: Place) -> None:
        """Steps are computed one after another."""

    def past(self, place: Place) -> None:
        """Nobody asks."""


class _Counted(_All):
    """Counts tiles, of which none is anybody's own."""

    def __init__(self) -> None:
        self.found = 0

    def __call__(self, span: range) -> Iterable[int]:
        self.found += len(span)
        return ()


class _Call:
    """The tiles of a call that several threads compute.

    Each helper has a seat, a lock that it holds while it computes. Whoever makes the call takes all seats at the end:
    those that are free at once, so that nobody begins any more, the others when their helper is ready. They are
    RLocks, which can be taken once more where an interruption came between.
    """

    def __init__(self, tiles: Tiles, helpers: int) -> None:
        self.tiles = tiles
        self.seats = [threading.RLock() for _ in range(helpers)]
        self.shares = shares(helpers)
        self.ready = SimpleQueue[None]()
        self.claims = count()
        self.places: dict[int, Place | None] = {}  # what tiles are past, by their number; None: they have ended
        self.passed = threading.Condition()
        self.ended = False
        self.failures: list[BaseException] = []
        self.errors = np.geterr()

    def run(self) -> None:
        """Has helpers compute all tiles, or does so where none is to be had. Raises what one of them raises."""
        try:
            try:
                helpers = _helpers.ask(self)
                for _ in range(helpers):
                    self.ready.get()
                if not helpers:
                    self.tiles(_Own(self))
            except BaseException:
                self.ended = True
                raise
            finally:
                self.leave()
        finally:  # once more, as a KeyboardInterrupt may come before it has left
            self.leave()
        if self.failures:
            raise self.failures[0]

    def help(self, number: int) -> None:
        """Computes tiles in another thread, if there are any left."""
        try:
            if not self.ended and self.seats[number].acquire(blocking=False):
                try:
                    stay(self.shares[number])
                    with np.errstate(**self.errors):
                        on_one_thread(self.tiles)(_Own(self))
                except BaseException as failure:
                    self.failures.append(failure)
                    self.ended = True
                finally:
                    self.seats[number].release()
        finally:
            self.ready.put(None)

    def leave(self) -> None:
        """Returns when no other thread computes tiles, and none will, however often it is interrupted."""
        try:
            for seat in self.seats:
                seat.acquire()
            self.ended = True
            _helpers.free(self)
        except BaseException:
            self.ended = True
            self.leave()
            raise


class _Own:
    """What tells one thread its tiles: it claims the next when it has computed one.

    Tiles of one step are claimed before those of the next. So what a tile waits for is under way, or computed.
    """

    def __init__(self, call: _Call) -> None:
        self.call = call
        self.before, self.claimed = 0, next(call.claims)
        self.in_steps = False
        self.first = self.step_begins = self.distance = 0

    def __call__(self, span: range) -> Iterator[int]:
        call, first = self.call, self.before
        self.before += len(span)
        while self.claimed < self.before and not call.ended:
            yield span[self.claimed - first]
            if self.in_steps:
                self.past(None)
            self.claimed = next(call.claims)

    def steps(self, span: range) -> Iterator[int]:
        """All steps; the tile of the step before was claimed as much earlier as a step has tiles."""
        self.in_steps, self.first = True, self.before
        for number, step in enumerate(span):
            self.distance = self.before - self.step_begins if number else 0
            self.step_begins = self.before
            yield step
        self.in_steps = False

    def wait(self, place: Place) -> None:
        """Returns when the tile of the step before is past a place, or the call has ended."""
        if self.distance:
            with self.call.passed:
                while not self.call.ended and not self.is_past(self.claimed - self.distance, place):
                    self.call.passed.wait(PATIENCE)

    def is_past(self, tile: int, place: Place) -> bool:
        """Whether a tile, and all of its place in the steps before, are past a place.

        Who is past a place has waited there for the step before. Who has ended may not have come so far.
        """
        while tile >= self.first:
            if tile not in self.call.places:
                return False
            reached = self.call.places[tile]
            if reached is not None:
                return reached >= place  # type: ignore[operator]
            tile -= self.distance
        return True

    def past(self, place: Place | None) -> None:
        """This tile is past a place, or has ended."""
        with self.call.passed:
            self.call.places[self.claimed] = place
            self.call.passed.notify_all()


class _Helpers:
    """Threads that wait for something to do, as many as were ever asked for at once; they serve one call at a time."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begins anew, in a process that has been forked and has none of these threads."""
        self.asked: list[SimpleQueue[Callable[[], None]]] = []
        self.serving: dict[str, _Call] = {}
        self.lock = threading.RLock()

    def ask(self, call: _Call) -> int:
        """How many threads help a call: as many as it wants and the system gives, none while they serve another."""
        if self.serving.setdefault("now", call) is not call:
            return 0
        with self.lock, suppress(RuntimeError):
            while len(self.asked) < len(call.seats):
                tasks = SimpleQueue[Callable[[], None]]()
                threading.Thread(target=self.serve, args=(tasks,), name="attndsl", daemon=True).start()
                self.asked.append(tasks)
        helpers = self.asked[: len(call.seats)]
        for number, tasks in enumerate(helpers):
            tasks.put(partial(call.help, number))
        return len(helpers)

    def free(self, call: _Call) -> None:
        """Lets the next call have the threads."""
        if self.serving.get("now") is call:
            del self.serving["now"]

    @staticmethod
    def serve(tasks: SimpleQueue[Callable[[], None]]) -> None:
        """What each thread does."""
        _this.helps = True
        while True:
            tasks.get()()


_this = threading.local()
_helpers = _Helpers()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_helpers.forget)
