"""What people write who come from Python, NumPy, C or einsum, and what is written here instead.

Tables, one a sort of word. A test puts every piece of code that they propose into a spec and checks it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple


class Ours(NamedTuple):
    """How something is written here: code with `{0}`, `{1}` … for the arguments, empty for none, and what to know."""

    written: str
    note: str = ""

    @property
    def takes(self) -> int:
        """How many arguments the code has places for."""
        return len(set(re.findall(r"\{(\d)\}", self.written)))


_EXTENTS = Ours("", "extents are dims and stand under their names, as in `f32(N)`; a tensor has no other properties")
_LAYOUT = Ours("", "nothing is laid out anew: subscripts say which element is meant, as in `k[b,j,h,:]`")
_TO_REAL = Ours("f32({0})", "it makes a float of an int; a float is one already and is rounded only at the output")
_TO_INT = Ours("", "there is no way back from a float to an int: `floor(x)` stays a float, and compares with ints")
_RANGES = (
    Ours("{0}", "`in` takes an extent: `j in N` runs through 0 … N - 1"),
    Ours("{1} - {0}", "`in` takes an extent: `j in N` runs through 0 … N - 1, and the start is added to `j`"),
)
_ORDER = Ours("", "keys have no order: there are sums and maxima of them, and `topk(s, k)`, where the largest are")


def _table(*rows: tuple[str, Ours | tuple[Ours, ...]]) -> dict[str, tuple[Ours, ...]]:
    return {word: (ours,) if isinstance(ours, Ours) else ours for words, ours in rows for word in words.split()}


FUNCTIONS: dict[str, tuple[Ours, ...]] = _table(
    ("amin fmin", (Ours("minimum({0}, {1})"), Ours("min({0})", "over keys"))),
    ("amax fmax", (Ours("maximum({0}, {1})"), Ours("max({0})", "over keys"))),
    ("clamp clip", Ours("minimum(maximum({0}, {1}), {2})")),
    ("where select cond ifelse", Ours("if {0} then {1} else {2}")),
    ("float float16 float32 float64 half double bfloat16 f16 bf16 f64", _TO_REAL),
    ("int int8 int16 int32 int64 uint8 i8 u8 i16 i32 i64 u32 long astype", _TO_INT),
    ("to type cast view_as", Ours("", "a value has no element type; `f32(x)` makes a float of an int")),
    ("bool", Ours("{0} != 0")),
    ("round rint nearbyint around", Ours("floor({0} + 0.5)")),
    ("ceil", Ours("-floor(-{0})", "ints divide rounding down; up is `(x + y - 1) / y`")),
    ("trunc fix", Ours("if {0} < 0 then -floor(-{0}) else floor({0})")),
    ("frac", Ours("{0} - floor({0})")),
    ("fabs absolute", Ours("abs({0})")),
    ("sign sgn signum", Ours("if {0} > 0 then 1 else if {0} < 0 then -1 else 0")),
    ("mod remainder", Ours("{0} % {1}", "of ints; of floats, `x - floor(x / y) * y`")),
    ("fmod", Ours("{0} - floor({0} / {1}) * {1}", "of ints, `x % y`")),
    ("idiv floordiv floor_divide", Ours("{0} / {1}", "of ints, rounded down")),
    ("div divide true_divide", Ours("{0} / {1}", "of ints, rounded down; `f32(x)` makes a float of an int")),
    ("cdiv ceil_div ceildiv", Ours("({0} + {1} - 1) / {1}")),
    ("pow power", Ours("exp({1} * log({0}))")),
    ("square", Ours("{0} * {0}")),
    ("cbrt", Ours("exp(log({0}) / 3)", "above 0")),
    ("reciprocal", Ours("1.0 / {0}")),
    ("neg negative", Ours("-{0}")),
    ("add", Ours("{0} + {1}")),
    ("sub subtract", Ours("{0} - {1}")),
    ("mul multiply", Ours("{0} * {1}")),
    ("fma mad", Ours("{0} * {1} + {2}")),
    ("log1p", Ours("log(1.0 + {0})")),
    ("expm1", Ours("exp({0}) - 1.0")),
    ("log10", Ours("log({0}) / log(10.0)")),
    ("exp10", Ours("exp({0} * log(10.0))")),
    ("ln", Ours("log({0})")),
    ("sinh", Ours("(exp({0}) - exp(-{0})) / 2")),
    ("cosh", Ours("(exp({0}) + exp(-{0})) / 2")),
    ("asin acos atan atan2 arcsin arccos arctan", Ours("", "there is no inverse of `sin()`, `cos()` or a tangent")),
    ("hypot", Ours("sqrt({0} * {0} + {1} * {1})")),
    ("erfc", Ours("1.0 - erf({0})")),
    ("gelu", Ours("0.5 * {0} * (1.0 + erf({0} / sqrt(2.0)))")),
    ("silu swish", Ours("{0} * sigmoid({0})")),
    ("softplus", Ours("log(1.0 + exp({0}))")),
    ("logsigmoid", Ours("log(sigmoid({0}))")),
    ("leaky_relu", Ours("maximum({0}, {1} * {0})")),
    ("softcap", Ours("{1} * tanh({0} / {1})")),
    ("isnan", Ours("{0} != {0}", "only a NaN differs from itself")),
    ("isinf", Ours("abs({0}) == inf")),
    ("isfinite", Ours("abs({0}) < inf")),
    ("logical_and", Ours("{0} and {1}")),
    ("logical_or", Ours("{0} or {1}")),
    ("logical_xor", Ours("{0} != {1}")),
    ("logical_not", Ours("not {0}")),
    ("dot vdot inner matmul mm bmm einsum tensordot", Ours("{0} . {1}", "the products are summed along the last axis")),
    ("norm", Ours("sqrt({0} . {0})")),
    ("mean average avg", Ours("sum({0}) / sum(1.0)", "over keys; over an axis, `sum(d in D) x[d] / D`")),
    ("amean nanmean", Ours("sum({0}) / sum(1.0)", "over keys")),
    ("log_softmax", Ours("{0} - logsumexp({0})")),
    ("count count_nonzero", Ours("sum(if {0} then 1 else 0)", "over keys")),
    ("prod product", Ours("exp(sum(log({0})))", "over keys, of numbers above 0")),
    ("argmin", Ours("argmax(-{0})")),
    ("top_k", Ours("", "`topk(s, mask, k)` has the positions of keys, at which values are read")),
    ("sort argsort unique cumsum cumprod cummax scan", _ORDER),
    ("range arange", _RANGES),
    ("iota linspace meshgrid program_id enumerate", Ours("", "`each` and `over` name the indices: `each i in M`")),
    ("len shape size numel ndim dim stride sizeof", _EXTENTS),
    ("transpose permute swapaxes t mT reshape view flatten squeeze unsqueeze expand contiguous", _LAYOUT),
    ("repeat tile broadcast broadcast_to repeat_interleave gather take index_select roll", _LAYOUT),
    (
        "concat concatenate cat stack",
        Ours("", "name the whole: `let x[d in D + E] = if d < D then a[d] else b[d - D]`"),
    ),
    ("zeros ones full zeros_like ones_like empty eye", Ours("", "numbers go with vectors as they are: `2.0 * q[i,:]`")),
    ("masked_fill triu tril causal_mask", Ours("", "which keys count says `mask = …`: `mask = j <= i`")),
    ("rand uniform", Ours("", "`random(seed[], at)` is a number from 0 up to 1, `at` the number of an element")),
    ("randn normal", Ours("", "`random(seed[], at)` is uniform from 0 up to 1: pass other numbers as an input")),
    (
        "dropout bernoulli",
        Ours("", "`random(seed[], at) < p` says what is dropped, `at` being the number of an element"),
    ),
    ("load store", Ours("", "elements are read and written by subscripts: `o[i] = x[i]`")),
    ("print assert device_print static_assert", Ours("", "a spec has no effects; `require` says what must hold")),
    ("sdpa attention scaled_dot_product_attention", Ours("", "that is `softmax(score, mask) . v[…, :]`")),
)
"""Functions that others have, each with the ways to write it, of which that fits that takes as many arguments."""

NAMES: dict[str, Ours] = {
    word: ours
    for words, ours in (
        ("True TRUE", Ours("true")),
        ("False FALSE", Ours("false")),
        ("INFINITY Infinity infinity Inf INF infty oo", Ours("inf")),
        ("nan NaN NAN", Ours("0.0 / 0.0", "it has no name")),
        ("pi PI M_PI", Ours("3.141592653589793")),
        ("M_E", Ours("exp(1.0)")),
        (
            "None null nil nullptr NULL undefined",
            Ours("", "every name has a value; a flag, `name: bool`, can choose one"),
        ),
        (
            "float double half int long uint",
            Ours("", "kinds are found, not written: `let x = 0.0` is a float, `0` an int"),
        ),
        ("np numpy torch math jnp jax tl triton nn std", Ours("", "functions belong to no module: `exp(x)`, `inf`")),
    )
    for word in words.split()
}
"""Values that others have by these names."""

MODULES = ("np", "numpy", "torch", "math", "jnp", "jax", "tl", "triton", "nn", "F", "std", "functional", "special")
"""What stands before the `.` of a function or number elsewhere."""

ATTRIBUTES: dict[str, Ours] = {
    "T": Ours("", "nothing is transposed: `.` sums along the last axis of both, subscripts may stand in any order"),
    "shape": _EXTENTS,
    **dict.fromkeys(("mT", "H"), _LAYOUT),
    **dict.fromkeys(("size", "ndim", "numel"), _EXTENTS),
    **dict.fromkeys(("dtype", "device", "data"), Ours("", "a value has a kind and nothing else: int, float or bool")),
}
"""What others ask of a tensor with a `.`."""

METHODS = {
    "sum": "over an axis, write `sum(d in D) x[d]`; over keys, `sum(x)`",
    "max": "over an axis, write `max(d in D) x[d]`; over keys, `max(x)`; of two numbers, `maximum(x, y)`",
    "min": "over an axis, write `min(d in D) x[d]`; over keys, `min(x)`; of two numbers, `minimum(x, y)`",
    "softmax": "write `softmax(score, mask) . v[b,h,j,:]`: it runs over keys",
    "mean": "over an axis, write `sum(d in D) x[d] / D`; over keys, `sum(x) / sum(1.0)`",
}
"""Methods that are no functions of the value alone."""

KEYWORDS = {
    **dict.fromkeys(
        ("axis", "dim", "axes", "dims"),
        "leave it out: it runs over keys, the index after `over`; over an axis, `sum(d in D) x[d]`",
    ),
    **dict.fromkeys(("keepdims", "keepdim"), "leave it out: a number goes with every vector"),
    **dict.fromkeys(("mask", "where", "attn_mask", "condition"), "the mask is the second argument and has no name"),
    **dict.fromkeys(("scale", "temperature", "sm_scale", "alpha", "beta"), "multiply the score itself"),
    **dict.fromkeys(("is_causal", "causal"), "write it as the mask, the second argument: `j <= i`"),
    **dict.fromkeys(("dtype", "out", "initial", "precision"), "leave it out"),
}
"""Arguments that others' functions take by these names, with the way out."""

TYPES = {
    **dict.fromkeys(("float", "float32", "single", "fp32", "real", "tf32", "float32_t"), "f32"),
    **dict.fromkeys(("float64", "double", "fp64"), "f64"),
    **dict.fromkeys(("float16", "half", "fp16", "__half"), "f16"),
    **dict.fromkeys(("bfloat16", "bfloat"), "bf16"),
    **dict.fromkeys(("float8_e4m3fn", "float8_e4m3", "f8e4m3fn", "e4m3", "fp8", "f8", "float8"), "f8e4m3"),
    **dict.fromkeys(("float8_e5m2", "e5m2"), "f8e5m2"),
    **dict.fromkeys(("int8", "char", "int8_t"), "i8"),
    **dict.fromkeys(("uint8", "byte", "uint8_t"), "u8"),
    **dict.fromkeys(("int16", "short", "int16_t"), "i16"),
    **dict.fromkeys(("uint16", "ushort", "uint16_t"), "u16"),
    **dict.fromkeys(("int", "int32", "int32_t"), "i32"),
    **dict.fromkeys(("uint32", "uint", "unsigned", "uint32_t"), "u32"),
    **dict.fromkeys(("int64", "long", "size_t", "int64_t", "u64", "uint64"), "i64"),
    **dict.fromkeys(("i4", "int4", "u4", "uint4"), "u8"),
    **dict.fromkeys(("boolean", "i1", "bool_", "bit"), "bool"),
}
"""Element types by the names that they have elsewhere, lower case; of those that are missing here, the next larger."""

PARAMETER_TYPES = {
    **dict.fromkeys(("f16", "bf16", "f64", "float", "double", "half", "scalar", "number"), "f32"),
    **dict.fromkeys(("i8", "u8", "i16", "u16", "i32", "u32", "i64", "size_t", "long"), "int"),
}
"""Types of parameters by other names; where this table has none, TYPES holds."""

STATEMENTS = {
    **dict.fromkeys(
        ("for", "foreach", "row", "rows", "grid", "parallel"), "`each i in M` for rows, `over j in N` for keys"
    ),
    **dict.fromkeys(("while", "keys", "reduce", "loop"), "`over j in N`"),
    **dict.fromkeys(("def", "fn", "func", "define", "lambda"), "`let name[i] = …`"),
    **dict.fromkeys(("var", "val", "const", "set", "auto", "mut"), "`let name = …`"),
    **dict.fromkeys(("int", "float", "double", "half", "bool", "long"), "`let name = …`: kinds are found, not written"),
    **dict.fromkeys(
        ("f16", "bf16", "f32", "f64", "i8", "u8", "i16", "u16", "i32", "u32", "i64"),
        "`input x : f32[B]`, or `let name = …`",
    ),
    **dict.fromkeys(("assert", "given", "constraint", "requires"), "`require condition`"),
    **dict.fromkeys(("where", "when", "unless", "filter"), "`mask = condition` says which keys count"),
    **dict.fromkeys(("dim", "dimension", "size", "sizes"), "`dims B, H, M`"),
    **dict.fromkeys(("type", "dtype", "typevar"), "`types T`"),
    **dict.fromkeys(("in", "tensor", "arg", "inputs"), "`input x : T[B]`"),
    **dict.fromkeys(("out", "outputs"), "`output o : T[B]`"),
    **dict.fromkeys(("return", "store", "yield"), "`o[b,h,i,:] = …`, for an output that is declared above"),
    **dict.fromkeys(("import", "from", "include", "using"), "leave it out: all functions are in sight"),
    **dict.fromkeys(("else", "elif", "elseif"), "`let name = if condition then x else y`"),
}
"""Words that other languages begin statements with, each with ours."""

WORD_OPERATORS = {
    "mod": "of ints, write `%`",
    "rem": "of ints, write `%`",
    "div": "write `/`: of ints it rounds down",
    "xor": "of bools, write `!=`; of ints, `^`",
    "is": "compare with `==`",
    "isnt": "compare with `!=`",
    "eq": "compare with `==`",
    "ne": "compare with `!=`",
    "shl": "write `<<`",
    "shr": "write `>>`",
    "dot": "write `.`",
    "for": "the index comes first: `sum(d in D) x[d]`; over keys, `sum(x)` alone",
    "where": "say which keys count: `mask = condition`",
    "lambda": "a definition has its indices in brackets: `let f[t] = t + 1`",
}
"""Words that other languages write between values, with the way out."""


_INDEXED = re.compile(r"(sum|max|min|logsumexp)_[a-zA-Z]")
"""A reduction with its index below it, as mathematics has it."""

_LONG = 60
"""Longer arguments are not shown."""


def ours(name: str, arguments: Sequence[str]) -> str:
    """What stands for a call of somebody else's function, spelt with its arguments where it has as many."""
    if any("#" in argument or len(argument) > _LONG for argument in arguments):
        arguments = ()
    if indexed := _INDEXED.fullmatch(name):
        along = "sum" if indexed[1] == "logsumexp" else indexed[1]
        way = Ours(f"{indexed[1]}({{0}})", f"`over` names the keys; over an axis, `{along}(d in D) x[d]`")
        return advice(way, arguments if len(arguments) == 1 else ("x",))
    ways = FUNCTIONS.get(name)
    if ways is None:
        return ""
    if name in ("pow", "power") and len(arguments) == 2:
        return f"write `{power(*arguments)}`"
    way = next((way for way in ways if way.takes == len(arguments)), ways[0])
    return advice(way, arguments if len(arguments) == way.takes else ("x", "y", "z"))


def advice(way: Ours, arguments: Sequence[str] = ()) -> str:
    """A way to write something, as a message says it."""
    written = f"write `{fill(way.written, arguments)}`" if way.written else ""
    return ": ".join(filter(None, (written, way.note)))


def fill(template: str, arguments: Sequence[str]) -> str:
    """A template with its arguments, in parentheses where they would not hold together."""

    def put(match: re.Match[str]) -> str:
        argument, text = arguments[int(match[1])], match.string
        before, after = text[: match.start()].rstrip(), text[match.end() :].lstrip()
        apart = re.search(r"([(,\[]|\b(if|then|else))$", before) and re.match(r"[),\]]|(then|else)\b|$", after)
        if apart:
            return _bare(argument)
        return argument if _WHOLE.fullmatch(argument) else f"({argument})"

    return re.sub(r"\{(\d)\}", put, template)


def power(base: str, exponent: str) -> str:
    """A power as this language writes it."""
    base, exponent = _bare(base), _bare(exponent)
    template = _POWERS.get(exponent.replace(" ", ""))
    if template is None:
        template = "exp2({1})" if base in ("2", "2.0") else "exp({1} * log({0}))"
    return fill(template, (base, re.sub(r"^(\d+) *(?=/ *\d+$)", r"\1.0 ", exponent)))


def _bare(text: str) -> str:
    """A text without the parentheses around all of it."""
    inner = text[1:-1]
    return inner if text[:1] == "(" and text[-1:] == ")" and "(" not in inner and ")" not in inner else text


_WHOLE = re.compile(r"[\w.]+|\w*\([^()]*\)|\w+\[[^\[\]]*\]")
"""What no operator beside it can take apart: a name, a number, a call, subscripts, parentheses."""

_POWERS = {
    **dict.fromkeys(("0.5", "1/2", ".5", "1./2", "1.0/2"), "sqrt({0})"),
    **dict.fromkeys(("-0.5", "-1/2", "-.5"), "rsqrt({0})"),
    **dict.fromkeys(("2", "2.0", "2."), "{0} * {0}"),
    **dict.fromkeys(("3", "3.0"), "{0} * {0} * {0}"),
    **dict.fromkeys(("-1", "-1.0"), "1.0 / {0}"),
    **dict.fromkeys(("-2", "-2.0"), "1.0 / ({0} * {0})"),
}
"""The powers that have a form of their own."""
