"""The pointwise operators of the language: one row each, with its typing rule.

What an operator means stands in two other tables that must have the same rows: `attndsl.reference` (float64 NumPy)
and `attndsl.ir.build` (the IR operation). A test compares the three.
"""

from __future__ import annotations

from dataclasses import dataclass

from attndsl.checking.typed import Kind

B, I, F = Kind.BOOL, Kind.INT, Kind.FLOAT  # noqa: E741


@dataclass(frozen=True, slots=True)
class Operator:
    """The kinds that an operator takes and gives, and how it is written; `()` in `spelling` marks a function."""

    spelling: str
    takes: tuple[Kind, ...]
    gives: Kind


OPERATORS: dict[str, Operator] = {
    # integers: 64 bits, wrapping; division and modulo round towards -infinity, as in Python; by zero they are absent
    "iadd": Operator("+", (I, I), I),
    "isub": Operator("-", (I, I), I),
    "imul": Operator("*", (I, I), I),
    "idiv": Operator("/", (I, I), I),
    "imod": Operator("%", (I, I), I),
    "ineg": Operator("-", (I,), I),
    "imin": Operator("minimum()", (I, I), I),
    "imax": Operator("maximum()", (I, I), I),
    "iabs": Operator("abs()", (I,), I),
    "iand": Operator("&", (I, I), I),
    "ior": Operator("|", (I, I), I),
    "ixor": Operator("^", (I, I), I),
    "ishl": Operator("<<", (I, I), I),
    "ishr": Operator(">>", (I, I), I),
    "ieq": Operator("==", (I, I), B),
    "ine": Operator("!=", (I, I), B),
    "ilt": Operator("<", (I, I), B),
    "ile": Operator("<=", (I, I), B),
    "igt": Operator(">", (I, I), B),
    "ige": Operator(">=", (I, I), B),
    "iselect": Operator("if then else", (B, I, I), I),
    # real numbers
    "fadd": Operator("+", (F, F), F),
    "fsub": Operator("-", (F, F), F),
    "fmul": Operator("*", (F, F), F),
    "fdiv": Operator("/", (F, F), F),
    "fneg": Operator("-", (F,), F),
    "fmin": Operator("minimum()", (F, F), F),
    "fmax": Operator("maximum()", (F, F), F),
    "fabs": Operator("abs()", (F,), F),
    "feq": Operator("==", (F, F), B),
    "fne": Operator("!=", (F, F), B),
    "flt": Operator("<", (F, F), B),
    "fle": Operator("<=", (F, F), B),
    "fgt": Operator(">", (F, F), B),
    "fge": Operator(">=", (F, F), B),
    "fselect": Operator("if then else", (B, F, F), F),
    "exp": Operator("exp()", (F,), F),
    "exp2": Operator("exp2()", (F,), F),
    "log": Operator("log()", (F,), F),
    "log2": Operator("log2()", (F,), F),
    "sqrt": Operator("sqrt()", (F,), F),
    "rsqrt": Operator("rsqrt()", (F,), F),
    "sin": Operator("sin()", (F,), F),
    "cos": Operator("cos()", (F,), F),
    "tanh": Operator("tanh()", (F,), F),
    "sigmoid": Operator("sigmoid()", (F,), F),
    "relu": Operator("relu()", (F,), F),
    "floor": Operator("floor()", (F,), F),
    # truth values; `and`, `or` and every select reach only the operands that decide
    "and": Operator("and", (B, B), B),
    "or": Operator("or", (B, B), B),
    "not": Operator("not", (B,), B),
    "beq": Operator("==", (B, B), B),
    "bne": Operator("!=", (B, B), B),
    "bselect": Operator("if then else", (B, B, B), B),
    # conversion, exact up to 2^53
    "float": Operator("f32()", (I,), F),
}
