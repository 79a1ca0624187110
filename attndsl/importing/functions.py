"""What Python's operators and torch's functions on single numbers are in the language."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from attndsl.importing.nodes import Kind, Traced
from attndsl.importing.values import DTYPES, ModTrace

_CURVES = ("exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sin", "cos", "tan", "tanh", "erf", "sigmoid", "floor")
_ALIASES = {
    "subtract": "sub", "multiply": "mul", "div": "truediv", "divide": "truediv", "true_divide": "truediv",
    "floor_divide": "floordiv", "remainder": "mod", "absolute": "abs", "negative": "neg", "less": "lt", "clip": "clamp",
    "less_equal": "le", "greater": "gt", "greater_equal": "ge", "not_equal": "ne", "bitwise_and": "and",
    "bitwise_or": "or", "bitwise_xor": "xor", "bitwise_not": "invert", "max": "maximum", "min": "minimum",
    "bitwise_left_shift": "lshift", "bitwise_right_shift": "rshift",
}  # fmt: skip
_SAME = ("pos", "clone", "detach", "contiguous", "positive", "view", "reshape", "squeeze", "expand")
_CASTS: dict[str, torch.dtype] = {
    "long": torch.int64, "int": torch.int32, "float": torch.float32, "double": torch.float64, "bool": torch.bool
}  # fmt: skip
_CASTS_SAID = {
    torch.int32: "int",
    torch.int64: "int",
    torch.float32: "float",
    torch.float64: "float",
    torch.bool: "bool",
}
_SAYABLE = "arithmetic, comparisons, torch.where, minimum, maximum, clamp, abs, exp, log, sqrt, tanh and their like"


def apply(trace: ModTrace, called: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """A function of torch or a special method of Python, by its name, on values. Raises CannotImport."""
    name = called.strip("_")
    name = _ALIASES.get(name, name)
    in_place = called.endswith("_") and not called.startswith("__")
    if in_place or (called.startswith("__i") and name[1:] in _TABLE and name not in _TABLE):
        sign = called if in_place else "an assignment such as x += y"
        trace.refuse(f"{sign} changes a tensor in place", "a new name: x = x + y")
    if called.startswith("__r") and name[1:] in _TABLE and name not in _TABLE:
        name, args = name[1:], (args[1], args[0])
    if name not in _TABLE:
        trace.refuse(f"{called} is called, and is not known here", _SAYABLE)
    try:
        found = _TABLE[name](_Calls(trace), *args, **kwargs)
    except TypeError:
        trace.refuse(f"{called} is called with arguments that are not known here", _SAYABLE)
    return trace.value(found)


class _Calls:
    """The rules, on nodes."""

    def __init__(self, trace: ModTrace) -> None:
        self.trace, self.nodes = trace, trace.nodes

    def of(self, x: Any, kind: Kind | None = None) -> Traced:
        """A value, made one of a kind."""
        node, const = self.trace.node(x), self.nodes.const
        if kind is None or node.kind == kind:
            return node
        if node.operator == "const" and kind == "bool":
            return const(bool(node.value))
        if kind == "bool":
            return self.nodes.apply("ine" if node.kind == "int" else "fne", node, const(0))
        if kind == "int" and node.kind == "float":
            self.trace.refuse("a float is made an int", "ints all along, or a captured table that is computed before")
        if node.operator == "const":
            return const(int(node.value) if kind == "int" else float(node.value))  # type: ignore[arg-type]
        if node.kind == "bool":
            node = self.nodes.apply("iselect", node, const(1), const(0))
        return node if kind == "int" else self.nodes.apply("float", node)

    def pair(self, a: Any, b: Any) -> tuple[str, Traced, Traced]:
        """Two numbers, and the letter of the operators that join them. An int beside a float needs no conversion."""
        left, right = (self.of(x, "int" if self.of(x).kind == "bool" else None) for x in (a, b))
        return ("f" if "float" in (left.kind, right.kind) else "i"), left, right

    def two(self, name: str, a: Any, b: Any) -> Traced:
        letter, left, right = self.pair(a, b)
        return self.nodes.apply(letter + name, left, right)

    def scaled(self, name: str, a: Any, b: Any, alpha: Any = 1) -> Traced:
        return self.two(name, a, b if alpha == 1 else self.trace.value(self.two("mul", b, alpha)))

    def truediv(self, a: Any, b: Any, rounding_mode: str | None = None) -> Traced:
        if rounding_mode == "floor":
            return self.floordiv(a, b)
        if rounding_mode is not None:
            self.trace.refuse("a division that rounds to 0", "//, which goes to minus infinity")
        letter, left, right = self.pair(a, b)
        return self.nodes.apply("fdiv", self.of(self.trace.value(left), "float") if letter == "i" else left, right)

    def floordiv(self, a: Any, b: Any) -> Traced:
        letter, left, right = self.pair(a, b)
        quotient = self.nodes.apply(letter + "div", left, right)
        return quotient if letter == "i" else self.nodes.apply("floor", quotient)

    def mod(self, a: Any, b: Any) -> Traced:
        letter, left, right = self.pair(a, b)
        if letter == "i":
            return self.nodes.apply("imod", left, right)
        whole = self.nodes.apply("floor", self.nodes.apply("fdiv", left, right))
        return self.nodes.apply("fsub", left, self.nodes.apply("fmul", right, whole))

    def power(self, a: Any, b: Any) -> Traced:
        base, exponent = self.of(a), self.of(b)
        if base.operator == "const" and base.value == 2 and exponent.kind == "float":
            return self.nodes.apply("exp2", exponent)
        what = "a power whose exponent differs from key to key"
        n = self.trace.concrete(exponent, what, "torch.exp2(x), or torch.exp(x * log_of_base)")
        if n == 0.5:
            return self.curve("sqrt", a)
        if n not in (1, 2, 3, 4):
            self.trace.refuse(f"a power of {n}", "products, torch.sqrt, torch.exp2")
        found = base = self.of(a, "int" if base.kind == "bool" else None)
        for _ in range(int(n) - 1):
            found = self.nodes.apply(("f" if base.kind == "float" else "i") + "mul", found, base)
        return found if isinstance(n, int) else self.of(self.trace.value(found), "float")

    def bits(self, name: str, a: Any, b: Any) -> Traced:
        """`&`, `|` and `^`: of bools a condition, of ints bit by bit."""
        left, right = self.of(a), self.of(b)
        if left.kind == right.kind == "bool":
            return self.nodes.apply({"and": "and", "or": "or", "xor": "bne"}[name], left, right)
        return self.nodes.apply("i" + name, self.of(a, "int"), self.of(b, "int"))

    def shift(self, name: str, a: Any, b: Any) -> Traced:
        return self.nodes.apply(name, self.of(a, "int"), self.of(b, "int"))

    def logical(self, name: str, a: Any, b: Any) -> Traced:
        return self.nodes.apply(name, self.of(a, "bool"), self.of(b, "bool"))

    def compare(self, name: str, a: Any, b: Any) -> Traced:
        if name in ("eq", "ne") and self.of(a).kind == self.of(b).kind == "bool":
            return self.nodes.apply("b" + name, self.of(a), self.of(b))
        return self.two(name, a, b)

    def invert(self, a: Any) -> Traced:
        node = self.of(a)
        if node.kind == "bool":
            return self.nodes.apply("not", node)
        return self.nodes.apply("isub", self.nodes.apply("ineg", self.of(a, "int")), self.nodes.const(1))

    def one(self, name: str, a: Any) -> Traced:
        letter, node, _ = self.pair(a, 0)
        return self.nodes.apply(letter + name, node)

    def curve(self, name: str, a: Any) -> Traced:
        return self.nodes.apply(name, self.of(a, "float"))

    def clamp(self, a: Any, min: Any = None, max: Any = None) -> Traced:
        found = a
        for name, limit in (("max", min), ("min", max)):
            found = found if limit is None else self.trace.value(self.two(name, found, limit))
        return self.of(found)

    def where(self, condition: Any, a: Any, b: Any) -> Traced:
        then, otherwise = self.of(a), self.of(b)
        if then.kind == otherwise.kind == "bool":
            return self.nodes.apply("bselect", self.of(condition, "bool"), then, otherwise)
        letter, then, otherwise = self.pair(a, b)
        return self.nodes.apply(letter + "select", self.of(condition, "bool"), then, otherwise)

    def masked_fill(self, a: Any, mask: Any, value: Any) -> Traced:
        return self.where(mask, value, a)

    def cast(self, a: Any, *args: Any, **kwargs: Any) -> Traced:
        """`x.to(dtype)`, beside what says where a tensor lies."""
        given = [x for x in (*args, *kwargs.values()) if isinstance(x, torch.dtype)]
        given += [DTYPES[self.of(x).kind] for x in args if hasattr(x, "node")]
        if not given:
            return self.of(a)
        if given[0] not in _CASTS_SAID:
            self.trace.refuse(
                f"a conversion to {given[0]}", "torch.float32 or torch.int64: a spec rounds nothing in between"
            )
        return self.of(a, _CASTS_SAID[given[0]])  # type: ignore[arg-type]  # a kind

    def filled(self, value: Any, a: Any, dtype: Any = None) -> Traced:
        kind = self.of(a).kind if dtype is None else _CASTS_SAID.get(dtype, "float")
        return self.of(value, kind)  # type: ignore[arg-type]  # a kind

    def sign(self, a: Any) -> Traced:
        (letter, node, zero), const, apply = self.pair(a, 0), self.nodes.const, self.nodes.apply
        below = apply(letter + "select", apply(letter + "lt", node, zero), const(-1), const(0))
        return apply(letter + "select", apply(letter + "gt", node, zero), const(1), below)


def _named(rule: Callable[..., Traced], *names: str) -> dict[str, Callable[..., Traced]]:
    def bound(name: str) -> Callable[..., Traced]:
        return lambda calls, *args, **kwargs: rule(calls, name, *args, **kwargs)

    return {name: bound(name) for name in names}


_TABLE: dict[str, Callable[..., Traced]] = {
    **_named(_Calls.scaled, "add", "sub"),
    **_named(_Calls.two, "mul"),
    **_named(_Calls.bits, "and", "or", "xor"),
    **_named(_Calls.compare, "lt", "le", "gt", "ge", "eq", "ne"),
    **_named(_Calls.curve, *_CURVES),
    **_named(_Calls.one, "neg", "abs"),
    "maximum": lambda calls, a, b: calls.two("max", a, b),
    "minimum": lambda calls, a, b: calls.two("min", a, b),
    "rsub": lambda calls, a, b: calls.two("sub", b, a),
    "lshift": lambda calls, a, b: calls.shift("ishl", a, b),
    "rshift": lambda calls, a, b: calls.shift("ishr", a, b),
    "logical_and": lambda calls, a, b: calls.logical("and", a, b),
    "logical_or": lambda calls, a, b: calls.logical("or", a, b),
    "logical_xor": lambda calls, a, b: calls.logical("bne", a, b),
    "logical_not": lambda calls, a: calls.nodes.apply("not", calls.of(a, "bool")),
    "relu": lambda calls, a: calls.two("max", a, 0),
    "square": lambda calls, a: calls.two("mul", a, a),
    "reciprocal": lambda calls, a: calls.truediv(1.0, a),
    "truediv": _Calls.truediv,
    "floordiv": _Calls.floordiv,
    "mod": _Calls.mod,
    "pow": _Calls.power,
    "invert": _Calls.invert,
    "clamp": _Calls.clamp,
    "clamp_min": lambda calls, a, min: calls.clamp(a, min),
    "clamp_max": lambda calls, a, max: calls.clamp(a, None, max),
    "where": _Calls.where,
    "masked_fill": _Calls.masked_fill,
    "sign": _Calls.sign,
    "to": _Calls.cast,
    "type_as": _Calls.cast,
    **{name: lambda calls, a, dtype=dtype: calls.cast(a, dtype) for name, dtype in _CASTS.items()},
    **{name: lambda calls, a, *_, **__: calls.of(a) for name in _SAME},
    "new_ones": lambda calls, a, _, dtype=None, **__: calls.filled(1, a, dtype),
    "new_zeros": lambda calls, a, _, dtype=None, **__: calls.filled(0, a, dtype),
    "new_full": lambda calls, a, _, value, dtype=None, **__: calls.filled(value, a, dtype),
    "ones_like": lambda calls, a, dtype=None, **__: calls.filled(1, a, dtype),
    "zeros_like": lambda calls, a, dtype=None, **__: calls.filled(0, a, dtype),
    "full_like": lambda calls, a, value, dtype=None, **__: calls.filled(value, a, dtype),
}
"""By the name of a function or of a special method without its underscores."""
