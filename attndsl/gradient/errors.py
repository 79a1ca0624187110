"""Why there is no gradient, in words."""

from __future__ import annotations


class NoGradient(ValueError):
    """A spec, or its `input_`, has no gradient that is known here; the message says what stands in the way."""

    def __init__(self, said: str, input_: str | None = None) -> None:
        self.input_ = input_
        super().__init__(said)


class UnknownAdjoint(Exception):
    """An expression has no rule: `what` names it."""

    def __init__(self, what: str) -> None:
        self.what = what
        super().__init__(what)
