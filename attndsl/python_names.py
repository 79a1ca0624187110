"""Names of a spec as Python identifiers."""

from __future__ import annotations

import keyword

TAKEN = frozenset({"np", "torch", "triton", "tl", "min", "max", "range", "int", "bool", "float", "enumerate", "tuple"})
"""What generated code itself needs to mean what it means."""


def python_name(name: str) -> str:
    """The identifier that stands for a name: `lambda` and `range` are fine names in a spec, and get a `_` in Python."""
    return f"{name}_" if keyword.iskeyword(name) or name in TAKEN else name
