"""Choices for hypothesis to make, many in one example."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

_APART = 1000
"""More options than any choice has."""

T = TypeVar("T")


class Choices:
    """Draws one of several things, each time by another strategy.

    Where one strategy is drawn from twice, hypothesis goes on with copies of the example in which both have drawn the
    same; there are so many choices in a spec and a call that it would seldom come to a new example.
    """

    def __init__(self, draw: DrawFn) -> None:
        self._draw = draw
        self._made = 0

    def of(self, options: Sequence[T]) -> T:
        """One of the options; the first is the simplest."""
        if len(options) == 1:
            return options[0]
        self._made += 1
        return options[self._draw(_numbers(self._made, len(options))) - self._made * _APART]


@cache
def _numbers(turn: int, count: int) -> SearchStrategy[int]:
    return st.sampled_from(range(turn * _APART, turn * _APART + count))
