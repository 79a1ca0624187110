"""What may go wrong in the driver that is not a spec's fault."""

from __future__ import annotations


class CompilerError(Exception):
    """A pass failed, or left IR that is not well formed: a bug of the compiler, never the user's mistake."""


class PipelineError(ValueError):
    """A text that names no pipeline of passes, or one whose order leaves a pass without what it needs."""
