"""What the scalar operations mean, on NumPy arrays: one row each. Both interpreters use it; the backends do not."""

from __future__ import annotations

from collections.abc import Callable
from math import erf as error_function
from typing import Any

import numpy as np

from attndsl.ir import spec
from attndsl.ir.xdsl import FastMathFlag, FastMathFlagsAttr, Operation, arith, math

Array = np.ndarray[Any, Any]

COMPARISONS: dict[str, Callable[..., Any]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "slt": np.less,
    "sle": np.less_equal,
    "sgt": np.greater,
    "sge": np.greater_equal,
    "oeq": np.equal,
    "une": np.not_equal,
    "olt": np.less,
    "ole": np.less_equal,
    "ogt": np.greater,
    "oge": np.greater_equal,
}
"""Comparisons by the name of their predicate; the ordered ones are false, `une` true, where an operand is NaN."""

PREDICATES = {
    "eq": "ieq",
    "ne": "ine",
    "slt": "ilt",
    "sle": "ile",
    "sgt": "igt",
    "sge": "ige",
    "oeq": "feq",
    "une": "fne",
    "olt": "flt",
    "ole": "fle",
    "ogt": "fgt",
    "oge": "fge",
}
"""The same comparisons as operators of `attndsl.checking.operators`."""

OPPOSITES = {"eq": "ne", "ne": "eq", "slt": "sge", "sge": "slt", "sle": "sgt", "sgt": "sle"}
"""The predicate that holds of integers where another does not."""

TURNED = {"eq": "eq", "ne": "ne", "slt": "sgt", "sgt": "slt", "sle": "sge", "sge": "sle"}
"""The predicate that holds of two integers where another holds of them the other way round."""

POINTWISE: dict[type[Operation], Callable[..., Any]] = {
    arith.AddiOp: np.add,
    arith.SubiOp: np.subtract,
    arith.MuliOp: np.multiply,
    arith.FloorDivSIOp: np.floor_divide,
    spec.ModOp: np.mod,
    arith.MinSIOp: np.minimum,
    arith.MaxSIOp: np.maximum,
    arith.AndIOp: np.bitwise_and,
    arith.OrIOp: np.bitwise_or,
    arith.XOrIOp: np.bitwise_xor,
    arith.ShLIOp: np.left_shift,
    arith.ShRSIOp: np.right_shift,
    arith.SelectOp: np.where,
    arith.AddfOp: np.add,
    arith.SubfOp: np.subtract,
    arith.MulfOp: np.multiply,
    arith.DivfOp: np.divide,
    arith.NegfOp: np.negative,
    arith.ExtFOp: np.float64,
    arith.MinimumfOp: np.minimum,
    arith.MaximumfOp: np.maximum,
    math.AbsFOp: np.abs,
    math.ExpOp: np.exp,
    math.Exp2Op: np.exp2,
    math.LogOp: np.log,
    math.Log2Op: np.log2,
    math.SqrtOp: np.sqrt,
    math.RsqrtOp: lambda x: 1 / np.sqrt(x),
    math.SinOp: np.sin,
    math.CosOp: np.cos,
    math.TanOp: np.tan,
    math.TanhOp: np.tanh,
    math.ErfOp: lambda x: np.vectorize(error_function, otypes=[np.asarray(x).dtype])(x),
    math.FloorOp: np.floor,
}


APPROXIMATED: dict[type[Operation], float] = {math.TanhOp: 2.0**-11}
"""The functions that may be approximated where an operation says so (`fastmath<afn>`), and by how much of the result.

That is what `tanh.approx` of NVIDIA GPUs is off by at most (PTX ISA, "tanh").
"""


def approximated(op: Operation, result: Array) -> Array:
    """What an operation gives where it is as far off as it may be: here away from 0."""
    return result * (1 + APPROXIMATED[type(op)]) if is_approximate(op) else result


def is_approximate(op: Operation) -> bool:
    """Whether an operation may give an approximation."""
    flags = op.properties.get("fastmath")
    return isinstance(flags, FastMathFlagsAttr) and FastMathFlag.APPROX_FUNC in flags.data


def predicate(op: arith.CmpiOp | arith.CmpfOp) -> str:
    """The name of a comparison's predicate, `slt`, say."""
    names = (
        ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
        if isinstance(op, arith.CmpiOp)
        else (
            "false",
            "oeq",
            "ogt",
            "oge",
            "olt",
            "ole",
            "one",
            "ord",
            "ueq",
            "ugt",
            "uge",
            "ult",
            "ule",
            "une",
            "uno",
            "true",
        )
    )
    return names[op.predicate.value.data]


def is_elementwise(op: Operation) -> bool:
    """Whether each element of what an operation gives is computed of the same element of its operands."""
    return type(op) in POINTWISE or isinstance(op, arith.CmpiOp | arith.CmpfOp | spec.ToFloatOp | spec.RandomOp)


def random_numbers(seed: Array, offset: Array) -> Array:
    """What `spec.random` gives, in f32, which holds all of it."""
    word = 2**32 - 1
    keys: Array
    counters: Array
    keys, counters = (np.asarray(integers, np.int64).astype(np.uint64) for integers in (seed, offset))
    k = [keys & word, keys >> 32]
    c = [counters & word, counters >> 32, 0 * counters, 0 * counters]
    for _ in range(10):
        first, second = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
        c = [second >> 32 ^ c[1] ^ k[0], second & word, first >> 32 ^ c[3] ^ k[1], first & word]
        k = [k[0] + 0x9E3779B9 & word, k[1] + 0xBB67AE85 & word]
    return np.asarray((c[0] >> 8).astype(np.float32) * np.float32(2.0**-24))
