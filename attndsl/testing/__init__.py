"""Specs, calls and comparisons that hold the compiler against the reference; for tests, ours and users'.

`specs()` and `inputs(spec)` are hypothesis strategies, imported when they are asked for: hypothesis is an extra. Specs
come in any order, under names that generated code may want for itself; calls with integers where their types end.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from attndsl.testing.case import Case, Disagreement
from attndsl.testing.stages import Form, Program, check_compiled, check_stages, compile_program

if TYPE_CHECKING:
    from attndsl.testing.drawn_inputs import inputs
    from attndsl.testing.drawn_specs import specs

__all__ = [
    "Case",
    "Disagreement",
    "Form",
    "Program",
    "check_compiled",
    "check_stages",
    "compile_program",
    "inputs",
    "specs",
]

_DRAWN = {"inputs": "attndsl.testing.drawn_inputs", "specs": "attndsl.testing.drawn_specs"}


def __getattr__(name: str) -> Any:
    if name not in _DRAWN:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_DRAWN[name]), name)
