"""Element types that a call says: those that only outputs have."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from attndsl.driver.signature import Signature


def with_types(signature: Signature, arguments: Mapping[str, Any], out: Any) -> dict[str, Any]:
    """The arguments of a call with the names of element types for what it says of them, or its `out` tells."""
    found = dict(arguments)
    written = out if isinstance(out, tuple | list) else (out,)
    for name in signature.said:
        for tensor, value in zip(signature.outputs, written, strict=False):
            if name not in found and tensor.element == name and hasattr(value, "dtype"):
                found[name] = value.dtype
        if name in found:
            found[name] = element_of(found[name])
    return found


def element_of(value: Any) -> str:
    """An element type that is said by its name, or as a dtype of torch or NumPy."""
    if isinstance(value, str):
        return value
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.dtype):
        from attndsl.op.torch_tensors import DTYPES

        return DTYPES.get(value, str(value))
    import numpy as np

    from attndsl.storage import ELEMENTS

    try:
        name = "" if value is None else np.dtype(value).name
    except TypeError:
        name = ""
    return next(
        (element for element, row in ELEMENTS.items() if name == (row.extension or row.dtype.name)), repr(value)
    )
