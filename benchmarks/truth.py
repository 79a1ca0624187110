"""Attention in float64, for a few rows: what is measured is compared with it first."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

TOLERANCE = 1e-4
"""The largest error of an output in float32, for inputs and outputs of the size of 1."""

ROWS = 16


def attend(q: Array, k: Array, v: Array, mask: Array | bool = True) -> Array:
    """softmax(q k^T / sqrt(D)) v over the last two axes, where `mask` holds."""
    score = q.astype(np.float64) @ k.astype(np.float64).swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    score = np.where(mask, score, -np.inf)
    weight = np.exp(score - score.max(axis=-1, keepdims=True))
    return np.asarray(weight / weight.sum(axis=-1, keepdims=True) @ v.astype(np.float64))


def verify(o: Array, q: Array, k: Array, v: Array, *, causal: bool = False, valid: Array | bool = True) -> None:
    """Compares some rows of `o` with float64; raises ArithmeticError where they differ: wrong results are not timed.

    `valid` is a mask of keys that broadcasts to [B, H, 1, N]; `causal` is aligned to the end of the keys.
    """
    m, n = q.shape[2], k.shape[2]
    rows = np.unique(np.linspace(0, m - 1, ROWS).astype(int))
    mask = np.logical_and(valid, np.arange(n) <= rows[:, None] + (n - m)) if causal else valid
    error = np.abs(o[:, :, rows] - attend(q[:, :, rows], k, v, mask)).max()
    if not error < TOLERANCE:
        raise ArithmeticError(f"the output is off by {error:.1e}, {TOLERANCE:.0e} is allowed")
