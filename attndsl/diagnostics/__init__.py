"""Every error that a spec can have: one data class each, with a stable code.

The modules of the classes, one an area, are imported when the first of them is needed: most specs are right.
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from attndsl.diagnostics.base import MAX_ERRORS, Diagnostic, SpecError

if TYPE_CHECKING:
    from attndsl.diagnostics import (
        characters,
        declarations,
        files,
        foreign,
        forms,
        indices,
        limits,
        names,
        outputs,
        reductions,
        shapes,
        syntax,
        types,
    )

__all__ = [
    "MAX_ERRORS",
    "Diagnostic",
    "SpecError",
    "characters",
    "declarations",
    "files",
    "foreign",
    "forms",
    "indices",
    "limits",
    "names",
    "outputs",
    "reductions",
    "shapes",
    "syntax",
    "types",
]


def __getattr__(name: str) -> ModuleType:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")
