"""NumPy's BLAS on one thread while a compiled program runs, and as it was afterwards.

A tile's product is some ten million operations: less than handing it to other threads costs on a busy machine, where
they wait for each other.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from functools import cache, wraps
from itertools import chain
from typing import Any

from threadpoolctl import ThreadpoolController


class Hold:
    """Libraries held to one thread from when the first program enters until the last one leaves, however they overlap.

    Who is inside is one dict, which changes in single steps; the libraries are then made to agree with it, from any
    state that an interruption may have left. What someone else has set meanwhile stays, unless it is 1: that cannot be
    told from what is held.
    """

    def __init__(self, find: Callable[[], Iterable[Any]]) -> None:
        self._find = find
        self._inside: dict[object, int] = {}
        self._before: list[tuple[Any, int]] | None = None
        self._lock = threading.RLock()  # a handler of signals may call an operator

    def enter(self, run: object) -> None:
        """Begins a run of a program."""
        self._inside[run] = threading.get_ident()
        self._agree()

    def leave(self, run: object) -> None:
        """Ends a run; nothing happens where it has ended already, or has not begun."""
        self._inside.pop(run, None)
        self._agree()

    def forked(self) -> None:
        """Forgets, in a new process, the runs of threads that it does not have."""
        self._lock = threading.RLock()
        self._inside = {run: thread for run, thread in self._inside.items() if thread == threading.get_ident()}
        self._agree()

    def _agree(self) -> None:
        with self._lock:
            if self._inside:
                if self._before is None:
                    found = [(library, library.get_num_threads()) for library in self._find()]
                    self._before = [(library, number) for library, number in found if number != 1]
                    for library, _ in self._before:
                        _set_threads(library, 1)
            elif self._before is not None:
                for library, threads in self._before:
                    if library.get_num_threads() == 1:
                        _set_threads(library, threads)
                self._before = None


def on_one_thread(program: Callable[..., None]) -> Callable[..., None]:
    """The program, with BLAS held to one thread while it runs."""

    @wraps(program)
    def limited(*arrays: Any, **params: Any) -> None:
        run, holds = object(), _holds()
        try:
            try:
                for hold in holds:
                    hold.enter(run)
                program(*arrays, **params)
            finally:
                for hold in holds:
                    hold.leave(run)
        finally:  # once more, as a KeyboardInterrupt may come while it leaves
            for hold in holds:
                hold.leave(run)

    return limited


def _set_threads(library: Any, threads: int) -> None:
    """Sets a library's number of threads; threadpoolctl itself, from 3.8 on, does so for one thread of Python only."""
    getattr(library, "_real_set_num_threads", library.set_num_threads)(threads)


@cache
def _libraries() -> tuple[list[Any], list[Any]]:
    """The BLAS libraries with one number of threads for the process, and those where each thread has its own.

    The latter are OpenBLAS's builds for OpenMP. Looking for them takes milliseconds.
    """
    import numpy  # noqa: F401  (it brings its BLAS)

    shared, own = list[Any](), list[Any]()
    for library in ThreadpoolController().select(user_api="blas").lib_controllers:
        openmp = library.internal_api == "openblas" and library.threading_layer == "openmp"
        (own if openmp else shared).append(library)
    return shared, own


def described() -> str:
    """The library that NumPy multiplies with, its version, and the processors that it has chosen its code for."""
    import numpy

    found = [library.info() for library in chain(*_libraries())]
    own = [about for about in found if "numpy" in about["filepath"]] or found  # others may have brought theirs
    told = (
        " ".join(about[key] for key in ("internal_api", "version", "architecture") if about.get(key)) for about in own
    )
    built = numpy.show_config(mode="dicts")["Build Dependencies"]["blas"]
    return ", ".join(sorted(told)) or f"{built['name']} {built['version']}"


class _OfThread(threading.local):
    def __init__(self) -> None:
        self.hold = Hold(lambda: _libraries()[1])


_of_process = Hold(lambda: _libraries()[0])
_of_thread = _OfThread()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_of_process.forked)


def _holds() -> tuple[Hold, ...]:
    return (_of_process, _of_thread.hold) if _libraries()[1] else (_of_process,)
