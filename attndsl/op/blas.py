"""NumPy's BLAS on one thread while a compiled program runs, and as it was afterwards.

A tile's product is some ten million operations: less than handing it to other threads costs on a busy machine, where
they wait for each other.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import Any

from threadpoolctl import ThreadpoolController


@cache
def _libraries() -> ThreadpoolController:
    """The BLAS libraries of the process; looking for them takes milliseconds."""
    import numpy  # noqa: F401  (it brings its BLAS)

    return ThreadpoolController().select(user_api="blas")


def on_one_thread(program: Callable[..., None]) -> Callable[..., None]:
    """The program, with BLAS held to one thread while it runs.

    BLAS has one limit for the whole process. Where programs overlap in several threads, threadpoolctl lets the first
    one hold it; the others run as that one left it.
    """

    @wraps(program)
    def limited(*arrays: Any, **params: Any) -> None:
        with _libraries().limit(limits=1):
            program(*arrays, **params)

    return limited
