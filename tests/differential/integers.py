"""Every operator on ints at the edges of 64 bits, however an int arises; and what Python's ints say of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np

from attndsl.checking.check import check
from attndsl.checking.typed import Spec
from attndsl.syntax.source import Source
from attndsl.testing import Case
from attndsl.testing.case import Array

NEAR = (0, 1, -1, 2, 3, -5, 2**31, -(2**31) - 1, 2**32, 3**39, 2**62 - 1, 2**62, -(2**62))
"""What an `int` parameter may be."""

EDGES = (*NEAR, 63, 64, 2**62 + 1, 2**63 - 1, -(2**63), -(2**63) + 1)
"""What a tensor may hold."""


def wrap(value: int) -> int:
    """The 64 bits of an int, as a signed number."""
    low = value & (2**64 - 1)
    return low - 2**64 if low >> 63 else low


def _shifted(function: Callable[[int, int], int], gone: Callable[[int], int]) -> Callable[[int, int], int]:
    return lambda a, b: function(a, b) if 0 <= b <= 63 else gone(a)


OPERATORS: dict[str, tuple[str, Callable[[int, int], int]]] = {
    "add": ("{a} + {b}", lambda a, b: a + b),
    "subtract": ("{a} - {b}", lambda a, b: a - b),
    "multiply": ("{a} * {b}", lambda a, b: a * b),
    "divide": ("{a} / {b}", lambda a, b: a // b if b else 0),
    "remain": ("{a} % {b}", lambda a, b: a % b if b else 0),
    "negate": ("-{a} ^ {b}", lambda a, b: wrap(-a) ^ b),
    "absolute": ("abs({a}) | {b}", lambda a, b: wrap(abs(a)) | b),
    "conjoin": ("{a} & {b}", lambda a, b: a & b),
    "left": ("{a} << {b}", _shifted(lambda a, b: a << b, lambda a: 0)),
    "right": ("{a} >> {b}", _shifted(lambda a, b: a >> b, lambda a: -1 if a < 0 else 0)),
    "smaller": ("minimum({a} + 1, {b})", lambda a, b: min(wrap(a + 1), b)),
    "larger": ("maximum({a}, {b} - 1)", lambda a, b: max(a, wrap(b - 1))),
    "hash": (
        "({a} * 6364136223846793005 + {b}) / 3 * 7 % 1000003",
        lambda a, b: wrap(wrap(a * 6364136223846793005 + b) // 3 * 7) % 1000003,
    ),
    "halve": ("{a} * 4 / 4 + {b} * 2 % 2", lambda a, b: wrap(a * 4) // 4 + wrap(b * 2) % 2),
    "choose": (
        "if {a} < {b} then {a} * {a} / 2 else {b} * {b} / 2",
        lambda a, b: wrap(a * a) // 2 if a < b else wrap(b * b) // 2,
    ),
}
"""How each operator is written, and what it is. A value that is absent is 0."""

SOURCES: dict[str, tuple[str, str]] = {
    "parameter": ("p", "r"),
    "scalar tensor": ("x[]", "y[]"),
    "element": ("s[i]", "t[i]"),
    "parameter and scalar tensor": ("p", "y[]"),
    "parameter and element": ("p", "t[i]"),
    "element and scalar tensor": ("s[i]", "y[]"),
    "key": ("(p + j)", "(y[] - j)"),
    "narrow elements": ("s8[i]", "(t32[i] * u8[i])"),
    "bytes": ("s8[i]", "u8[i]"),
    "of bytes": ("(s8[i] * u8[i] * u8[i])", "(u8[i] & 31)"),
    "index and parameter": ("(i * 1000003)", "p"),
    "index and large number": ("(i * 4611686018427387904)", "(i + 3074457345618258603)"),
    "dim": ("(N * 3074457345618258603)", "r"),
    "dim alone": ("N", "(N * 4611686018427387904)"),
}
"""The two operands by where they come from."""


def spec_of(source: str) -> Spec:
    """A spec that computes every operator on operands of one source, each result as its upper and its lower half."""
    a, b = SOURCES[source]
    outputs, lines = [], []
    for name, (text, _) in OPERATORS.items():
        value = f"({text.format(a=a, b=b)})"
        for half, part in (("high", f"{value} >> 32"), ("low", f"{value} & 4294967295")):
            outputs.append(f"output {name}_{half} : f64[N]")
            lines.append(f"{name}_{half}[i] = " + (f"sum(f32({part}))" if "j" in a else f"f32({part})"))
    head = "attention integers(p: int, r: int)"
    inputs = "x : i64[] input y : i64[] input s : i64[N] input t : i64[N]"
    narrow = "input s8 : i8[N] input t32 : i32[N] input u8 : u8[N]"
    over = "over j in 1" if "j" in a else ""
    body = f"dims N input {inputs} {narrow} {' '.join(outputs)} each i in N {over} {' '.join(lines)}"
    return check(Source(f"{head} {{ {body} }}", f"{source}.attn"))


def calls(source: str, spec: Spec, count: int) -> Iterator[Case]:
    """So many calls, whose pairs of edge values are spread over all there are."""
    pairs = list(product(EDGES, EDGES))
    near = [(a, b) for a, b in product(NEAR, NEAR) if b]  # a call with a divisor of 0 is refused
    rng = np.random.default_rng(1)
    for number in rng.permutation(len(near))[:count]:
        p, r = near[number]
        rows = rng.permutation(len(pairs))[: 20 if "element" in source else 5]
        s, t = (np.array([pairs[row][n] for row in rows], np.int64) for n in (0, 1))
        x, y = pairs[rng.integers(len(pairs))]
        arrays: dict[str, Array] = {"x": np.array(x), "y": np.array(y), "s": s, "t": t}
        arrays |= {"s8": s.astype(np.int8), "t32": t.astype(np.int32), "u8": (~t).astype(np.uint8)}
        yield Case(spec, {}, {"N": len(rows)}, {"p": p, "r": r}, arrays)


def wanted(source: str, case: Case) -> dict[str, Array]:
    """What Python's ints, wrapped by hand, say of a call."""
    values: list[dict[str, int]] = []
    for i in range(case.dims["N"]):
        row = {name: int(array[i]) if array.ndim else int(array) for name, array in case.arrays.items()}
        p, r, n = int(case.params["p"]), int(case.params["r"]), case.dims["N"]
        operands = {
            "parameter": (p, r),
            "scalar tensor": (row["x"], row["y"]),
            "element": (row["s"], row["t"]),
            "parameter and scalar tensor": (p, row["y"]),
            "parameter and element": (p, row["t"]),
            "element and scalar tensor": (row["s"], row["y"]),
            "key": (p, row["y"]),
            "narrow elements": (row["s8"], row["t32"] * row["u8"]),
            "bytes": (row["s8"], row["u8"]),
            "of bytes": (row["s8"] * row["u8"] ** 2, row["u8"] & 31),
            "index and parameter": (i * 1000003, p),
            "index and large number": (wrap(i * 2**62), i + 3074457345618258603),
            "dim": (wrap(n * 3074457345618258603), r),
            "dim alone": (n, wrap(n * 2**62)),
        }[source]
        values.append({name: wrap(function(*operands)) for name, (_, function) in OPERATORS.items()})
    halves: dict[str, Callable[[int], int]] = {
        "high": lambda value: value >> 32,
        "low": lambda value: value & 0xFFFFFFFF,
    }
    return {
        f"{name}_{half}": np.array([float(part(row[name])) for row in values])
        for name in OPERATORS
        for half, part in halves.items()
    }
