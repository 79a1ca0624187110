"""attndsl: say what an attention variant is; get an operator that computes it.

    op = attndsl.load("gqa")  # of the gallery, or a file: "my.attn"
    o = op(q, k, v)  # NumPy arrays or torch tensors

Names are imported when they are first used, so that `import attndsl` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attndsl.diagnostics.base import SpecError as SpecError
    from attndsl.importing.errors import CannotImport as CannotImport
    from attndsl.importing.flex import from_flex as from_flex
    from attndsl.importing.onnx import from_onnx as from_onnx
    from attndsl.op.errors import CallError as CallError
    from attndsl.op.op import Op as Op
    from attndsl.op.op import compile as compile
    from attndsl.op.op import load as load

_HOMES = {
    "CallError": "attndsl.op.errors",
    "CannotImport": "attndsl.importing.errors",
    "Op": "attndsl.op.op",
    "SpecError": "attndsl.diagnostics.base",
    "compile": "attndsl.op.op",
    "from_flex": "attndsl.importing.flex",
    "from_onnx": "attndsl.importing.onnx",
    "load_ipython_extension": "attndsl.editor.magic",  # IPython asks for it at `%load_ext attndsl`
    "load": "attndsl.op.op",
}

_MODULES = ("nn", "torch")
"""Those that import torch."""

__all__ = ["CallError", "CannotImport", "Op", "SpecError", "compile", "from_flex", "from_onnx", "load"]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"attndsl.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*globals(), *_HOMES, *_MODULES]
