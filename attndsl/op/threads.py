"""The threads of the process, which share the tiles of a call with the thread that makes it.

Tiles are claimed one by one, in order, so that a thread with short ones claims more. Which thread computes a tile
changes no bit of it.
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
    """Computes all tiles: in several threads where that is worth it, there are several tiles, and none of them asks."""
    most = threads() if worth and not hasattr(_this, "helps") else 1
    helpers = min(most, _number_of(tiles)) - 1 if most > 1 else 0
    if helpers > 0:
        _Call(tiles, helpers).run()
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
        self.claims = count()
        self.ended = False
        self.failures: list[BaseException] = []
        self.errors = np.geterr()

    def run(self) -> None:
        """Computes all tiles, with whatever helpers come. Raises what one of the threads raises."""
        try:
            try:
                _helpers.ask([partial(self.help, seat) for seat in self.seats])
                self.tiles(self.own())
            except BaseException:
                self.ended = True
                raise
            finally:
                self.wait()
        finally:  # once more, as a KeyboardInterrupt may come before it waits
            self.wait()
        if self.failures:
            raise self.failures[0]

    def help(self, seat: threading.RLock) -> None:
        """Computes tiles in another thread, if there are any left."""
        if self.ended or not seat.acquire(blocking=False):
            return
        try:
            with np.errstate(**self.errors):
                on_one_thread(self.tiles)(self.own())
        except BaseException as failure:
            self.failures.append(failure)
            self.ended = True
        finally:
            seat.release()

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

    def wait(self) -> None:
        """Returns when no other thread computes tiles, and none will, however often it is interrupted."""
        try:
            for seat in self.seats:
                seat.acquire()
            self.ended = True
        except BaseException:
            self.ended = True
            self.wait()
            raise


class _Helpers:
    """Threads that wait for something to do; as many as were ever asked for at once."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begins anew, in a process that has been forked and has none of these threads."""
        self.number = 0
        self.asked = SimpleQueue[Callable[[], None]]()
        self.lock = threading.RLock()

    def ask(self, tasks: list[Callable[[], None]]) -> None:
        """Hands tasks to threads, as many as the system gives; a task that none has time for is not begun."""
        with self.lock, suppress(RuntimeError):
            while self.number < len(tasks):
                threading.Thread(target=self.serve, name="attndsl", daemon=True).start()
                self.number += 1
        for task in tasks:
            self.asked.put(task)

    def serve(self) -> None:
        """What each thread does."""
        _this.helps = True
        while True:
            self.asked.get()()


_this = threading.local()
_helpers = _Helpers()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_helpers.forget)
