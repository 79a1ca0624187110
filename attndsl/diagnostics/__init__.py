"""Every error that a spec can have: one data class each, with a stable code."""

from attndsl.diagnostics.base import Diagnostic, SpecError

__all__ = ["Diagnostic", "SpecError"]
