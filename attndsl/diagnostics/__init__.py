"""Every error that a spec can have: one data class each, with a stable code."""

from attndsl.diagnostics.base import MAX_ERRORS, Diagnostic, SpecError

__all__ = ["MAX_ERRORS", "Diagnostic", "SpecError"]
