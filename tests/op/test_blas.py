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
    """The first to end must not take the limit from the other, nor the last one leave it behind."""
    inside, go_on = threading.Event(), threading.Event()
    seen: list[set[int]] = []

    def slow() -> None:
        inside.set()
        go_on.wait(10)
        seen.append(_threads())

    with threadpool_limits(2, user_api="blas"):
        thread = threading.Thread(target=on_one_thread(slow))
        thread.start()
        inside.wait(10)
        on_one_thread(lambda: None)()
        go_on.set()
        thread.join()
        assert seen == [{1}]
        assert _threads() == {2}
