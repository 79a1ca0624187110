"""Why a mod cannot be said in the language, in words."""

from __future__ import annotations


class CannotImport(ValueError):
    """What a mod or a node says cannot be said in a spec; the message names it, where it is, and the way out."""
