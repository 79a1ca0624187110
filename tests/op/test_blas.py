"""BLAS has one thread while a program runs, and the caller's number of threads otherwise."""

from __future__ import annotations

import threading

import numpy as np  # noqa: F401  (whose BLAS it is)
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from attndsl.op.blas import on_one_thread


def _threads() -> set[int]:
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_one_thread_inside_and_the_callers_after() -> None:
    seen: list[set[int]] = []
    with threadpool_limits(2, user_api="blas"):
        on_one_thread(lambda: seen.append(_threads()))()
        assert seen == [{1}]
        assert _threads() == {2}


def test_put_back_where_the_program_fails() -> None:
    def fail() -> None:
        raise RuntimeError

    with threadpool_limits(2, user_api="blas"):
        with pytest.raises(RuntimeError):
            on_one_thread(fail)()
        assert _threads() == {2}


def test_programs_that_overlap() -> None:
    """However they overlap, the caller has its threads back when all have ended."""
    before = _threads()
    both = threading.Barrier(2, timeout=10)
    program = on_one_thread(lambda: print(both.wait()))
    threads = [threading.Thread(target=program) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert _threads() == before
