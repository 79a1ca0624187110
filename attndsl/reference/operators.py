"""What the pointwise operators do to arrays of float64, int64 and bool: one row each, as in `checking.operators`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from attndsl.checking.numbers import random_number

ON_ARRAYS: dict[str, Callable[..., Any]] = {
    # integers wrap; NumPy rounds their division towards -infinity, gives 0 for one by zero, and shifts all bits out
    # where the distance is negative or above 63
    "iadd": np.add,
    "isub": np.subtract,
    "imul": np.multiply,
    "idiv": np.floor_divide,
    "imod": np.mod,
    "ineg": np.negative,
    "imin": np.minimum,
    "imax": np.maximum,
    "iabs": np.abs,
    "iand": np.bitwise_and,
    "ior": np.bitwise_or,
    "ixor": np.bitwise_xor,
    "ishl": np.left_shift,
    "ishr": np.right_shift,
    "ieq": np.equal,
    "ine": np.not_equal,
    "ilt": np.less,
    "ile": np.less_equal,
    "igt": np.greater,
    "ige": np.greater_equal,
    "iselect": np.where,
    # floats are IEEE's; the smaller and the larger of two are NaN where one of them is
    "fadd": np.add,
    "fsub": np.subtract,
    "fmul": np.multiply,
    "fdiv": np.divide,
    "fneg": np.negative,
    "fmin": np.minimum,
    "fmax": np.maximum,
    "fabs": np.abs,
    "feq": np.equal,
    "fne": np.not_equal,
    "flt": np.less,
    "fle": np.less_equal,
    "fgt": np.greater,
    "fge": np.greater_equal,
    "fselect": np.where,
    "exp": np.exp,
    "exp2": np.exp2,
    "log": np.log,
    "log2": np.log2,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "tanh": np.tanh,
    "erf": np.vectorize(math.erf, otypes=[np.float64]),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "relu": lambda x: np.maximum(x, 0.0),
    "floor": np.floor,
    "random": np.vectorize(lambda seed, offset: random_number(int(seed), int(offset)), otypes=[np.float64]),
    "and": np.logical_and,
    "or": np.logical_or,
    "not": np.logical_not,
    "beq": np.equal,
    "bne": np.not_equal,
    "bselect": np.where,
    "float": lambda x: x.astype(np.float64),
}
