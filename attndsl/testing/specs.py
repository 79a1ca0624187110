"""Whole specs for hypothesis to draw: index maps, masks, scores and reductions put together as a user might.

What is drawn is text, so that a failing one can be read, kept and run. All specs are well typed. What indices they
compute is often out of range: absence is what goes wrong first.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

SIZES = {"B": (1, 2, 2, 0), "H": (2, 4, 3, 1), "G": (2, 1, 3), "M": (3, 5, 1, 7, 0), "N": (5, 7, 1, 4, 11, 0)}
"""Extents to draw from, the first ones first; other dims have those of `OTHER_SIZES`."""

OTHER_SIZES = (3, 2, 1, 4)

NUMBERS = ("1", "2", "3", "p", "M", "N")
"""What positions are shifted and compared by; `p` is a parameter."""

COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


class Drawn(NamedTuple):
    """The text of a spec, and extents for its dims."""

    text: str
    dims: dict[str, int]


@st.composite
def specs(draw: DrawFn) -> Drawn:
    """A spec of one block with one or two outputs, and a call's extents."""
    draft = _Draft(draw)
    text = draft.text()
    dims = {name: draw(st.sampled_from(SIZES.get(name, OTHER_SIZES))) for name in draft.dims}
    return Drawn(text, dims)


@dataclass
class _Draft:
    """A spec being written: what its expressions read is declared when they are."""

    draw: DrawFn
    inputs: dict[str, str] = field(default_factory=dict)
    lets: list[str] = field(default_factory=list)
    key: str = "j"

    @property
    def dims(self) -> list[str]:
        """The names of the extents that were read."""
        found = {c for declared in self.inputs.values() for c in declared.partition("[")[2] if c.isupper()}
        return sorted(found | {"B", "H", "M", "D", "E"})

    def one(self, *choices: str) -> str:
        return self.draw(st.sampled_from(choices))

    def chance(self, strategy: SearchStrategy[bool] | None = None) -> bool:
        return self.draw(strategy or st.booleans())

    def read(self, name: str, declared: str, *indices: str) -> str:
        """A read of an input, declared with its element type and extents."""
        self.inputs[name] = declared
        return f"{name}[{', '.join(indices)}]"

    # --- the whole

    def text(self) -> str:
        rows = "i in M" if self.chance() else f"i in {self.read('rows', 'i32[B]', 'b')} up to M"
        extent = self.keys()
        query = self.read("q", "T[B, H, M, D]", "b", "h", "i", ":")
        key, value = self.stored("k", "D"), self.stored("v", "E")
        score = self.score(query, key)
        mask = self.mask(2)
        writes = self.writes(score, mask, value)
        self.read("x", "f32[B, H, M, E]", "")  # so that every extent of an output is one of an input
        lets = "".join(f"    let {each}\n" for each in self.lets)
        inputs = "".join(f"    input {name} : {declared}\n" for name, declared in self.inputs.items())
        outputs = "".join(f"    output {write.partition('[')[0]} : {declared}\n" for declared, write in writes)
        body = "".join(f"    {write}\n" for _, write in writes)
        return (
            f"attention drawn(p: int = 2, flag: bool = true, w: f32 = 0.5) {{\n    dims {', '.join(self.dims)}\n"
            f"    types T\n{inputs}{outputs}    each b in B, h in H, {rows}\n    over {extent}\n"
            f"{lets}    score = {score}\n    mask = {mask}\n{body}}}\n"
        )

    def keys(self) -> str:
        """The key variable and its extent; a gathered position takes the key's name."""
        length = self.one("N", "length", "i", "gather", "grid")
        match length:
            case "length":
                return f"j in {self.read('length', 'i32[B]', 'b')}{self.one('', ' - 1', ' + 1')} up to N"
            case "i":
                return f"j in {self.one('i + 1', 'minimum(N, i + p)', 'N - i', 'M + N')}"
            case "gather":
                self.lets.append(f"j = {self.read('place', 'i32[B, M, K]', 'b', 'i', 't')}")
                return "t in K"
            case "grid":
                self.lets.append("j = y * 3 + z")
                self.read("plane", "f32[Y]", "")
                return "y in Y, z in 3"
        return self.one("j in N", "j in N + 1", "j in N / 2")

    def stored(self, name: str, width: str) -> str:
        """A vector for each key, by some index map."""
        head = self.one("h", "h / 2", "h / 2", "h % G", "0", "G - 1 - h")
        place = self.one("j", "j", "j", "j + 1", "j - p", "N - 1 - j", "j / 2")
        self.read(f"{name}_plain", f"T[B, G, N, {width}]", "")
        match self.one("plain", "paged", "scaled", "choice", "definition", "relative", "narrow", "packed"):
            case "paged":
                page = self.read("table", "i32[B, L]", "b", f"({place}) / S")
                return self.read(f"{name}_pages", f"T[C, S, G, {width}]", page, f"({place}) % S", head, ":")
            case "scaled":
                stored = self.read(f"{name}_small", f"i8[B, G, N, {width}]", "b", head, place, ":")
                scale = self.read(f"{name}_scale", "f32[B, G, N]", "b", head, place)
                return f"({stored} * {scale} * 0.01)"
            case "relative":
                return self.read(
                    f"{name}_far", f"T[W, G, {width}]", self.one("i + j", "i - j + 1", "M - i + j"), head, ":"
                )
            case "narrow":
                return self.read(
                    f"{name}_f8", f"{self.one('f8e4m3', 'f8e5m2')}[B, G, N, {width}]", "b", head, place, ":"
                )
            case "packed":
                pair = self.read(f"{name}_u8", f"u8[B, G, N, {width}]", "b", head, place, "d / 2")
                scale = self.read(f"{name}_scale", "f16[B, G, N]", "b", head, place)
                self.lets.append(f"{name}_new[d in {width}] = (({pair} >> 4 * (d % 2) & 15) - 8) * {scale} * 0.2")
                return f"{name}_new"
            case "choice":
                shared = self.read(f"{name}_shared", f"T[G, N, {width}]", head, "j", ":")
                own = self.read(f"{name}_plain", f"T[B, G, N, {width}]", "b", head, "j - p", ":")
                return f"(if j < p then {shared} else {own})"
            case "definition":
                low = self.read(f"{name}_low", "T[B, N, R]", "b", place, "r")
                up = self.read(f"{name}_up", f"T[G, {width}, R]", head, "d", "r")
                self.lets.append(f"{name}_new[d in {width}] = sum(r in R) {up} * {low}")
                return f"{name}_new"
        return self.read(f"{name}_plain", f"T[B, G, N, {width}]", "b", head, place, ":")

    # --- scores

    def score(self, query: str, key: str) -> str:
        product = f"{query} . {key}"
        bias = self.read("bias", "f32[H, M, N]", "h", "i", self.one("j", "j - 1", "j + p"))
        return self.one(
            f"{product} / sqrt(D)",
            f"{product} * w + {bias}",
            f"tanh({product} / 3.0) * 2.0 - 0.1 * abs(i - j)",
            f"(if j <= i then {product} else {bias})",
            f"{bias} * rsqrt(1.0 + j)",
            f"-({product}) / rsqrt(D + 1.0)",
            f"maximum({product}, {bias}) - minimum(1.0, w * (j % 3))",
        )

    # --- masks

    def mask(self, depth: int) -> str:
        if depth == 0 or self.chance():
            return self.predicate()
        first = self.mask(depth - 1)
        match self.one("and", "or", "not", "if"):
            case "not":
                return f"not ({first})"
            case "if":
                return f"(if {first} then {self.mask(depth - 1)} else {self.mask(depth - 1)})"
            case combine:
                return f"({first}) {combine} ({self.mask(depth - 1)})"

    def predicate(self) -> str:
        a, b = self.one(*NUMBERS), self.one(*NUMBERS)
        affine = self.one(f"i + {a}", f"i - {a}", "i", a, f"i + N - M - {a}", f"2 * i - {a}", f"i / 2 + {a}")
        match self.one("affine", "affine", "quotient", "modulo", "chain", "equal", "valid", "tree", "length", "flag"):
            case "affine":
                left = self.one("j", "j", "-j", "j + 1", "2 * j", "j / 2", "j - i")
                return f"{left} {self.one(*COMPARISONS)} {affine}"
            case "quotient":
                return f"j / {self.one('2', '3', 'D')} {self.one(*COMPARISONS)} (i + {a}) / {self.one('2', '3', 'D')}"
            case "modulo":
                return f"(i - j) % {self.one('2', '3', 'D')} == {self.one('0', '1', '-1')}"
            case "chain":
                return f"{affine} - {b} {self.one('<', '<=')} j {self.one('<', '<=')} {affine}"
            case "equal":
                label = self.read("label", "i32[B, N]", "b", "j")
                return f"{label} {self.one('==', '<=')} {self.read('label', 'i32[B, N]', 'b', affine)}"
            case "valid":
                return self.read("valid", "bool[B, N]", "b", self.one("j", "j", "i", "j - i", "j + p"))
            case "tree":
                return self.read("tree", "bool[M, N]", "i", f"j - {a}")
            case "length":
                return f"j {self.one(*COMPARISONS)} {self.read('length', 'i32[B]', 'b')}{self.one('', ' + i')}"
        return self.one("flag", f"{self.read('bias', 'f32[H, M, N]', 'h', 'i', 'j')} > 0.0")

    # --- outputs

    def writes(self, score: str, mask: str, value: str) -> list[tuple[str, str]]:
        """Statements that write outputs, each after the output's type."""
        sink = self.one("", "", ", sink = w", f", sink = {self.read('s', 'f32[H]', 'h')}")
        vector = self.one(
            f"softmax(score, mask{sink}) . {value}",
            f"softmax(score, mask{sink}) . {value}",
            f"softmax(score) . {value}",
            f"sum(sigmoid(score) * {value}, mask)",
            f"max({value}, mask)",
            f"sum({value})",
            f"softmax(score, mask) . {value} - w * softmax(-score, j != i) . {value}",
            f"sum(exp(score - max(score, mask)) * {value}, mask)",
            f"(if i % 2 == 0 then softmax(score, mask{sink}) . {value} else sum({value}, mask) * 0.1)",
        )
        scalar = self.one(
            f"logsumexp(score, mask{sink})",
            "logsumexp(-score)",
            "max(score, mask)",
            "sum(relu(score), mask)",
            "sum(1.0, mask)",
        )
        gate = self.read("gate", "f32[B, M, E]", "b", "i", ":")
        finish = self.one("{}", "{}", f"{{}} * sigmoid({gate})", "{} + w", f"{{}} - 0.5 * (sum({value}, mask))")
        place = self.one("i", "i", "i", "M - 1 - i", "i + 1")
        written = [("T[B, H, M, E]", f"o[b, h, {place}, :] = {finish.format(vector)}")]
        if self.chance():
            written.append(("f32[B, M, H]", f"lse[b, i, h] = {scalar}"))
        return written
