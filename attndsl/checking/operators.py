"""The pointwise operators of the language: one row each, with its typing rule.

What an operator means stands in other tables that must have the same rows; `tests/ir/test_tables.py` compares them,
and names the file where one is missing.
"""

from __future__ import annotations

from dataclasses import dataclass

from attndsl.checking.typed import Kind

B, I, F = Kind.BOOL, Kind.INT, Kind.FLOAT  # noqa: E741


@dataclass(frozen=True, slots=True)
class Curve:
    """How a function of one real number runs: what `attndsl.reference` bounds its rounding errors by.

    `monotone`: it only rises or only falls; one that does not has values and slopes within -1 and 1, as a sine, or has
    `poles` half a turn apart, between which it rises: it is a sine by a cosine, as targets compute it.
    `exact`: it rounds nothing. `near_one`: targets compute it through others, whose results are near 1. `approximate`:
    targets may approximate it, where it is of products of 16-bit numbers.
    """

    monotone: bool = True
    exact: bool = False
    near_one: bool = False
    approximate: bool = False
    poles: bool = False


@dataclass(frozen=True, slots=True)
class Operator:
    """The kinds that an operator takes and gives, and how it is written; `()` in `spelling` marks a function.

    A `curve` marks a function that is called by the name of its row: an integer argument is promoted.
    """

    spelling: str
    takes: tuple[Kind, ...]
    gives: Kind
    curve: Curve | None = None


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
    "exp": Operator("exp()", (F,), F, Curve()),
    "exp2": Operator("exp2()", (F,), F, Curve()),
    "log": Operator("log()", (F,), F, Curve(near_one=True)),
    "log2": Operator("log2()", (F,), F, Curve(near_one=True)),
    "sqrt": Operator("sqrt()", (F,), F, Curve()),
    "rsqrt": Operator("rsqrt()", (F,), F, Curve()),
    "sin": Operator("sin()", (F,), F, Curve(monotone=False)),
    "cos": Operator("cos()", (F,), F, Curve(monotone=False)),
    "tan": Operator("tan()", (F,), F, Curve(monotone=False, poles=True)),
    "tanh": Operator("tanh()", (F,), F, Curve(near_one=True, approximate=True)),
    "erf": Operator("erf()", (F,), F, Curve()),
    "sigmoid": Operator("sigmoid()", (F,), F, Curve(near_one=True)),
    "relu": Operator("relu()", (F,), F, Curve(exact=True)),
    "floor": Operator("floor()", (F,), F, Curve(exact=True)),
    # of a seed and an offset: the first word of Philox-4x32-10, of which 24 bits make a number from 0 up to 1
    "random": Operator("random()", (I, I), F),
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
