"""NumPy's BLAS on one thread while a compiled program runs, and as it was afterwards.

A tile's product is some ten million operations: less than handing it to other threads costs on a busy machine, where
they wait for each other.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cached_property, wraps
from typing import Any

from threadpoolctl import ThreadpoolController


class _OneThread:
    """The limit is the process's: the first program to start sets it, and the last one to end takes it away."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running = 0
        self._limits: Any = None

    @cached_property
    def _libraries(self) -> ThreadpoolController:
        """The BLAS libraries of the process; looking for them takes milliseconds."""
        import numpy  # noqa: F401  (it brings its BLAS)

        return ThreadpoolController().select(user_api="blas")

    def __enter__(self) -> None:
        with self._lock:
            if self._running == 0:
                self._limits = self._libraries.limit(limits=1)
            self._running += 1

    def __exit__(self, *failure: object) -> None:
        with self._lock:
            self._running -= 1
            if self._running == 0:
                self._limits.restore_original_limits()


_one_thread = _OneThread()


def on_one_thread(program: Callable[..., None]) -> Callable[..., None]:
    """The program, with BLAS held to one thread while any such program runs, in whichever thread of the caller's."""

    @wraps(program)
    def limited(*arrays: Any, **params: Any) -> None:
        with _one_thread:
            program(*arrays, **params)

    return limited
