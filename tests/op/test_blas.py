"""BLAS has one thread while a program runs, and the caller's number otherwise, whatever overlaps or ends it."""

from __future__ import annotations

import ctypes
import os
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import permutations
from types import FrameType
from typing import Any

import numpy as np  # noqa: F401  (whose BLAS it is)
import pytest
from threadpoolctl import ThreadpoolController, threadpool_info

from attndsl.op import blas
from attndsl.op.blas import Hold, on_one_thread


def _threads() -> set[int]:
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.fixture(params=[1, 2])
def callers(request: pytest.FixtureRequest) -> Iterator[set[int]]:
    """The number of threads that the caller has chosen, by no means that makes one thread of Python answer for it."""
    libraries = ThreadpoolController().select(user_api="blas").lib_controllers
    before = [library.get_num_threads() for library in libraries]
    for library in libraries:
        getattr(library, "_real_set_num_threads", library.set_num_threads)(request.param)
    yield {request.param}
    for library, threads in zip(libraries, before, strict=True):
        getattr(library, "_real_set_num_threads", library.set_num_threads)(threads)


def test_one_thread_inside_and_the_callers_after(callers: set[int]) -> None:
    seen: list[set[int]] = []
    nested = on_one_thread(on_one_thread(lambda: seen.append(_threads())))
    nested()
    assert seen == [{1}]
    assert _threads() == callers


def test_put_back_where_the_program_fails(callers: set[int]) -> None:
    def fail() -> None:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        on_one_thread(fail)()
    assert _threads() == callers


class Library:
    """A BLAS library with a number of threads for the process."""

    def __init__(self, threads: int) -> None:
        self.threads = threads

    def get_num_threads(self) -> int:
        return self.threads

    def set_num_threads(self, threads: int) -> None:
        self.threads = threads


@pytest.mark.parametrize("threads", [1, 4])
def test_runs_that_overlap_in_any_order(threads: int) -> None:
    """Each of three runs enters and leaves once; the caller sets another number where none is inside."""
    for order in set(permutations("aabbcc")):
        libraries = [Library(threads), Library(threads + 1)]
        hold = Hold(lambda libraries=libraries: libraries)  # type: ignore[misc]
        inside: set[str] = set()
        chosen = [library.threads for library in libraries]
        for run in order:
            (hold.leave if run in inside else hold.enter)(run)
            inside ^= {run}
            assert [library.threads for library in libraries] == ([1, 1] if inside else chosen)
            if not inside:
                chosen = [number + 1 for number in chosen]
                for library, number in zip(libraries, chosen, strict=True):
                    library.threads = number


def test_what_is_set_meanwhile_stays() -> None:
    library = Library(4)
    hold = Hold(lambda: [library])
    hold.enter("run")
    library.threads = 3
    hold.leave("run")
    assert library.threads == 3


@pytest.mark.parametrize("first", [0, 1], ids=["last in first out", "first in first out"])
def test_threads_that_overlap(callers: set[int], first: int) -> None:
    """However two overlap, the caller has its threads back when both have ended."""
    inside, leave = threading.Barrier(3, timeout=10), [threading.Event(), threading.Event()]
    threads = [threading.Thread(target=on_one_thread(_stay), args=(inside, event)) for event in leave]
    for thread in threads:
        thread.start()
    inside.wait()
    for number in (first, 1 - first):
        leave[number].set()
        threads[number].join()
    assert _threads() == callers


def _stay(inside: threading.Barrier, leave: threading.Event) -> None:
    inside.wait()
    assert leave.wait(10)


def test_many_threads_of_which_some_fail(callers: set[int]) -> None:
    def program(seed: int) -> None:
        time.sleep(random.Random(seed).random() / 1000)
        if seed % 3 == 0:
            raise KeyError(seed)

    def calls(seed: int) -> None:
        for number in range(20):
            with suppress(KeyError):
                on_one_thread(program)(seed + number)

    threads = [threading.Thread(target=calls, args=(100 * n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert _threads() == callers


def _interrupted(call: Callable[[], object], at: int) -> bool:
    """Makes a call with a KeyboardInterrupt before the `at`th line of the module's; False where it has fewer lines.

    Where a `with` ends, its line comes a second time: there CPython takes no interruption before the lock is free.
    """
    lines, entered = 0, set[tuple[int, int]]()

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal lines
        if frame.f_code.co_filename != blas.__file__:
            return None
        if event == "line":
            place = (id(frame), frame.f_lineno)
            ends = frame.f_code.co_name == "_agree" and frame.f_lineno == frame.f_code.co_firstlineno + 1
            if not (ends and place in entered):
                lines += 1
                if lines == at:
                    raise KeyboardInterrupt
            entered.add(place)
        if event == "return":
            entered.difference_update({place for place in entered if place[0] == id(frame)})
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


def test_an_interruption_before_any_line(callers: set[int]) -> None:
    program = on_one_thread(lambda: None)
    program()
    lines = 1
    while _interrupted(program, lines):
        assert _threads() == callers, f"after an interruption before line {lines}"
        program()
        assert _threads() == callers
        lines += 1
    assert lines > 20


def test_interruptions_at_any_moment(callers: set[int]) -> None:
    """Interruptions as Python itself makes them, of a thread that does nothing else than call."""
    ended, taken = threading.Event(), 0

    def calls() -> None:
        nonlocal taken
        program = on_one_thread(lambda: None)
        while not ended.is_set():
            try:
                while not ended.is_set():
                    program()
            except KeyboardInterrupt:
                taken += 1

    thread = threading.Thread(target=calls)
    thread.start()
    for _ in range(50):
        time.sleep(0.004)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(thread.ident or 0), ctypes.py_object(KeyboardInterrupt)
        )
    time.sleep(0.05)
    ended.set()
    thread.join()
    assert taken > 10
    assert _threads() == callers


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_fork_while_another_thread_is_inside(callers: set[int]) -> None:
    inside, leave = threading.Barrier(2, timeout=10), threading.Event()
    thread = threading.Thread(target=on_one_thread(_stay), args=(inside, leave))
    thread.start()
    inside.wait()
    child = os.fork()
    if not child:
        os._exit(_threads() != callers)
    _, status = os.waitpid(child, 0)
    assert _threads() == {1}
    leave.set()
    thread.join()
    assert status == 0
    assert _threads() == callers


class LibraryOfThreads(threading.local):
    """A BLAS library where each thread has a number of its own, as OpenMP has it."""

    threads = 4
    get_num_threads, set_num_threads = Library.get_num_threads, Library.set_num_threads


def test_each_thread_has_its_own_number_back(monkeypatch: pytest.MonkeyPatch) -> None:
    library = LibraryOfThreads()
    monkeypatch.setattr(blas, "_libraries", lambda: ([], [library]))
    monkeypatch.setattr(blas, "_of_thread", blas._OfThread())
    inside, seen = threading.Barrier(2, timeout=10), set[tuple[int, int, int]]()

    def program() -> None:
        inside.wait()  # both are inside
        seen.add((chosen.number, library.threads, 0))

    chosen = threading.local()

    def calls(number: int) -> None:
        chosen.number = library.threads = number
        on_one_thread(program)()
        seen.add((number, 1, library.threads))

    threads = [threading.Thread(target=calls, args=(number,)) for number in (3, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {(3, 1, 0), (5, 1, 0), (3, 1, 3), (5, 1, 5)}
