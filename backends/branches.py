"""The statements in Python around kernels that run only where something holds of a call's extents."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from attndsl.backends.names import python_text
from attndsl.backends.writer import Writer
from attndsl.ir.conditions import ConditionAttr


class Branches:
    """Writes them to `out`."""

    def __init__(self, out: Writer) -> None:
        self.out = out
        self._last: ConditionAttr | None = None

    @contextmanager
    def branch(self, when: ConditionAttr | None, unless: ConditionAttr | None) -> Iterator[None]:
        """Kernels that run where something holds, or where it does not: those mostly stand right behind the others."""
        if when is None and unless is None:
            yield
            return
        self.out.line("")
        if unless is not None and unless == self._last:
            self.out.line("else:")
        elif unless is not None:
            self.out.line(f"if not ({python_text(unless.data)}):")
        elif when is not None:
            self._test(when)
        self._last = when
        with self.out.indented():
            yield

    def _test(self, condition: ConditionAttr) -> None:
        """An `if`, of several lines where one would be too long."""
        terms = [python_text(term) for term in condition.terms]
        if len(line := f"if {' and '.join(terms)}:") <= self.out.room:
            self.out.line(line)
            return
        self.out.line("if (")
        with self.out.indented():
            for number, term in enumerate(terms):
                self.out.line(f"and {term}" if number else term)
        self.out.line("):")
