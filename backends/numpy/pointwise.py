"""How each scalar operation is spelled in NumPy: one row each, on arrays and on single numbers."""

from __future__ import annotations

from typing import NamedTuple

from attndsl.ir import spec
from attndsl.ir.xdsl import Operation, arith, math


class NumPySpelling(NamedTuple):
    """A template for arrays and one for single Python or NumPy numbers; `{0}` is the first operand.

    `level` is how tightly the array form binds in Python: operands that bind less are put in parentheses. 0 marks a
    call, whose operands need none. `ufunc` is the function that does the same and writes into an array, where NumPy has
    one.
    """

    array: str
    scalar: str
    level: int = 0
    ufunc: str | None = None

    @property
    def sign(self) -> str:
        """Of a row of two operands with a sign between them, that sign."""
        return self.array.split()[1]


def _infix(sign: str, level: int, ufunc: str) -> NumPySpelling:
    text = f"{{0}} {sign} {{1}}"
    return NumPySpelling(text, text, level, ufunc=ufunc)


def _call(function: str, operands: int = 1, scalar: str | None = None) -> NumPySpelling:
    listed = ", ".join(f"{{{n}}}" for n in range(operands))
    return NumPySpelling(f"{function}({listed})", f"{scalar or function}({listed})", ufunc=function)


NUMPY_SPELLINGS: dict[type[Operation], NumPySpelling] = {
    arith.AddiOp: _infix("+", 6, "np.add"),
    arith.SubiOp: _infix("-", 6, "np.subtract"),
    arith.MuliOp: _infix("*", 7, "np.multiply"),
    arith.FloorDivSIOp: _infix("//", 7, "np.floor_divide"),
    spec.ModOp: _infix("%", 7, "np.mod"),
    arith.MinSIOp: _call("np.minimum", 2, "min"),
    arith.MaxSIOp: _call("np.maximum", 2, "max"),
    arith.AndIOp: _infix("&", 4, "np.bitwise_and"),
    arith.OrIOp: _infix("|", 2, "np.bitwise_or"),
    arith.XOrIOp: _infix("^", 3, "np.bitwise_xor"),
    arith.ShLIOp: _infix("<<", 5, "np.left_shift"),
    arith.ShRSIOp: _infix(">>", 5, "np.right_shift"),
    arith.SelectOp: NumPySpelling("np.where({0}, {1}, {2})", "({1} if {0} else {2})"),
    arith.AddfOp: _infix("+", 6, "np.add"),
    arith.SubfOp: _infix("-", 6, "np.subtract"),
    arith.MulfOp: _infix("*", 7, "np.multiply"),
    arith.DivfOp: _infix("/", 7, "np.divide"),
    arith.NegfOp: NumPySpelling("-{0}", "-{0}", 8, ufunc="np.negative"),
    arith.ExtFOp: NumPySpelling("{0}.astype(np.float64)", "np.float64({0})"),
    arith.MinimumfOp: _call("np.minimum", 2),
    arith.MaximumfOp: _call("np.maximum", 2),
    math.AbsFOp: _call("np.abs"),
    math.ExpOp: _call("np.exp"),
    math.Exp2Op: _call("np.exp2"),
    math.LogOp: _call("np.log"),
    math.Log2Op: _call("np.log2"),
    math.SqrtOp: _call("np.sqrt"),
    math.RsqrtOp: NumPySpelling("np.reciprocal(np.sqrt({0}))", "np.reciprocal(np.sqrt({0}))"),
    math.SinOp: _call("np.sin"),
    math.CosOp: _call("np.cos"),
    math.TanOp: _call("np.tan"),
    math.TanhOp: _call("np.tanh"),
    math.ErfOp: NumPySpelling("_erf({0})", "_erf({0})"),
    math.FloorOp: _call("np.floor"),
}

NUMPY_REDUCTIONS: dict[type[Operation], str] = {
    arith.AddfOp: "sum",
    arith.AddiOp: "sum",
    arith.MaximumfOp: "max",
    arith.MaxSIOp: "max",
    arith.MinimumfOp: "min",
    arith.MinSIOp: "min",
    arith.AndIOp: "all",
}
"""The methods that reduce an array along an axis, by the operation that combines two partial results."""

COMPARING = {
    "==": "np.equal",
    "!=": "np.not_equal",
    "<": "np.less",
    "<=": "np.less_equal",
    ">": "np.greater",
    ">=": "np.greater_equal",
}
"""The function that compares as a sign does, and writes into an array."""
