"""Whether this machine can hold a call, told before anything of it is made."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import Any

import click

from attndsl.checking.symbolic import evaluate
from attndsl.driver.signature import Signature

WIDE = 8
"""The bytes of an element as inputs are made, and as the reference computes: in float64 and int64."""


def require_memory(signature: Signature, dims: Mapping[str, int], params: Mapping[str, Any]) -> None:
    """Raises click.UsageError where the tensors of a call are larger than the memory of this machine."""
    from attndsl.op.explain import quantity

    sizes = {
        tensor.name: WIDE * math.prod(max(0, evaluate(extent, dims, params)) for extent in tensor.extents)
        for tensor in (*signature.inputs, *signature.outputs)
    }
    needed, memory = sum(sizes.values()), _memory()
    if needed > memory:
        largest = max(sizes, key=sizes.__getitem__)
        shape = ", ".join(f"{name} = {size}" for name, size in dims.items())
        raise click.UsageError(
            f"{signature.name} with {shape} takes {quantity(needed, 'B', 1024)} of memory, "
            f"{quantity(sizes[largest], 'B', 1024)} for {largest} alone, and this machine has "
            f"{quantity(memory, 'B', 1024)}: give smaller extents with --shape."
        )


def _memory() -> int:
    """The bytes of memory that this machine has; where that is not known, as many as there are addresses."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 2**63
