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

import numpy as np

from attndsl.op.blas import on_one_thread
from attndsl.op.errors import ThreadsUnclear
from attndsl.op.placement import shares, stay

VARIABLE = "ATTNDSL_NUM_THREADS"

Mine = Callable[[range], Iterable[int]]
"""What tells a thread which of a range of tiles are its own; it is asked for each range, in order."""

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
        tiles(iter)


def _number_of(tiles: Tiles) -> int:
    """How many tiles there are: each range is asked for, and none computed."""
    found = 0

    def mine(span: range) -> Iterable[int]:
        nonlocal found
        found += len(span)
        return ()

    tiles(mine)
    return found


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
                    self.tiles(self.own())
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
                        on_one_thread(self.tiles)(self.own())
                except BaseException as failure:
                    self.failures.append(failure)
                    self.ended = True
                finally:
                    self.seats[number].release()
        finally:
            self.ready.put(None)

    def own(self) -> Mine:
        """What tells one thread its tiles: it claims the next when it has computed one."""
        before, claimed = 0, next(self.claims)

        def mine(span: range) -> Iterator[int]:
            nonlocal before, claimed
            first, before = before, before + len(span)
            while claimed < before and not self.ended:
                yield span[claimed - first]
                claimed = next(self.claims)

        return mine

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
