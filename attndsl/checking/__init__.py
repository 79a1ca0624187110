"""From the syntax tree to the typed spec."""

from attndsl.checking.check import check

__all__ = ["check"]
