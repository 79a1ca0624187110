"""Why a mod cannot be said in the language, in words."""

from __future__ import annotations


class CannotImport(ValueError):
    """What a mod does cannot be said in a spec; the message names it, its line, and the way out."""
