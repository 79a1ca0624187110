"""What an expression of the source stands for while it is checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from attndsl.checking.typed import Expr, Kind
from attndsl.syntax.source import Span


@dataclass(frozen=True, slots=True)
class Value:
    """A scalar, or a vector with one extent an axis: `at` gives the element at an index for each axis."""

    kind: Kind
    axes: tuple[Expr, ...]
    at: Callable[[tuple[Expr, ...]], Expr]

    @staticmethod
    def scalar(expr: Expr) -> Value:
        """A value without axes."""
        return Value(expr.kind, (), lambda _: expr)

    @property
    def expr(self) -> Expr:
        """The expression of a scalar."""
        return self.at(())

    def describe(self) -> str:
        """The value in words: `an int`, `a float vector`, `a bool array of 2 axes`."""
        article = "an" if self.kind is Kind.INT else "a"
        shape = {0: "", 1: " vector"}.get(len(self.axes), f" array of {len(self.axes)} axes")
        return f"{article} {self.kind.value}{shape}"


@dataclass(frozen=True, slots=True)
class SoftmaxWeights:
    """`softmax(score, mask, sink = …)` before a value is contracted with it."""

    score: Expr
    mask: Expr | None
    sink: Expr | None
    span: Span


Result = Value | SoftmaxWeights | None
"""What an expression gives; None where an error has been reported, so that it is not reported again."""
