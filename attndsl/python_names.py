"""Names of a spec as Python identifiers."""

from __future__ import annotations

import keyword

TAKEN = frozenset(
    {"np", "torch", "triton", "tl", "min", "max", "range", "int", "bool", "float", "enumerate", "tuple"}
    | {
        "ROWS",
        "KEYS",
        "PARTS",
        "INDEX",
        "launches",
        "arguments",
        "chosen",
        "choose",
        "choose_rows",
        "choose_parts",
        "most_parts",
    }
    | {"processors", "options"}
)
"""What generated code itself needs to mean what it means."""


def python_name(name: str) -> str:
    """The identifier that stands for a name, another one for each.

    `lambda` and `range` are fine names in a spec, and get a `_` in Python; so do names that begin with one, as those
    of what generated code defines for itself do.
    """
    plain = name.rstrip("_")
    return f"{name}_" if keyword.iskeyword(plain) or plain in TAKEN or name.startswith("_") else name
