"""An Attention node of an ONNX model as the text of a spec."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

TAKEN = (
    *("B", "H", "Hq", "Hkv", "M", "N", "P", "L", "D", "E", "T", "U", "S"),
    *("q", "k", "v", "o", "attn_mask", "past_key", "past_value", "nonpad_kv_seqlen"),
    *("present_key", "present_value", "qk_matmul_output", "key_padding_mask"),
    *("seqlens_k", "head_sink", "past", "local"),
    *("heads", "kv_heads", "scale", "cap", "left", "right"),
    *("b", "h", "i", "j", "g", "p", "s", "key", "value", "capped", "biased", "seen", "score", "mask"),
)
"""The names that specs of Attention nodes have, or may have."""


@dataclass(frozen=True, slots=True)
class Mask:
    """What `attn_mask` is: its element type in the spec, how many dims it has, and whether it reaches all keys."""

    element: str
    rank: int
    whole: bool


@dataclass(frozen=True, slots=True)
class OnnxAttention:
    """What tells the specs of two nodes apart.

    `heads` are those of queries and of keys, of heads that lie side by side in flat rows; None where they are an axis.
    `left` and `right` are how far a row sees, None without a limit. `outputs` are those besides the first, by ONNX's
    names, of which `qk_matmul_output` is what `scores` says: 0 raw, 1 capped, 2 biased, 3 weights. `padding` is how
    many dims a mask of keys has: flags where there are two, lengths where there is one.
    """

    heads: tuple[int, int] | None
    grouped: bool
    value_type: Literal["T", "U"]
    mask: Mask | None
    past: bool
    counted: bool
    causal: bool
    left: int | None
    right: int | None
    scale: str | None
    cap: str | None
    outputs: tuple[str, ...]
    scores: int = 3
    padding: int = 0

    def text(self, name: str, comment: str) -> str:
        """The spec, but for its layout."""
        return "\n".join(_Lines(self).all(name, comment)) + "\n"


@dataclass(slots=True)
class _Lines:
    of: OnnxAttention
    ahead: list[str] = field(default_factory=list)  # definitions of all blocks
    within: list[str] = field(default_factory=list)  # those of the first

    def all(self, name: str, comment: str) -> Iterator[str]:
        body = [*self._block()]
        yield f"# {comment}"
        parameters = ", ".join(self._parameters())
        yield f"attention {name}{parameters and f'({parameters})'} {{"
        yield f"dims {', '.join(self._dims())}"
        mask = self.of.mask
        elements = ("T", self.of.value_type, mask.element if mask is not None else "T")
        yield f"types {', '.join(letter for letter in 'TUS' if letter in elements)}"
        yield from ("", *self._tensors())
        requires = [
            *([f"{self.queries} % {self.keys} == 0"] if self.of.grouped else []),
            *(f"{side} >= 0" for side in ("left", "right") if getattr(self.of, side) is not None),
            *([f"L <= {self.total}"] if self.short else []),
        ]
        yield ""
        yield from (f"require {condition}" for condition in requires)
        yield ""
        yield from (*self.ahead, *([""] if self.ahead else []))
        yield from body
        yield "}"

    @property
    def queries(self) -> str:
        """How many heads of queries there are."""
        return "heads" if self.of.heads else "Hq" if self.of.grouped else "H"

    @property
    def keys(self) -> str:
        """How many heads of keys there are."""
        return self.queries if not self.of.grouped else "kv_heads" if self.of.heads else "Hkv"

    @property
    def total(self) -> str:
        """How many keys there are."""
        return "P + N" if self.of.past else "N"

    @property
    def short(self) -> bool:
        """Whether the mask may end before the keys do, which are then not seen."""
        return self.of.mask is not None and not self.of.mask.whole

    def _parameters(self) -> Iterator[str]:
        if self.of.heads:
            yield f"heads: int = {self.of.heads[0]}"
            if self.of.grouped:
                yield f"kv_heads: int = {self.of.heads[1]}"
        for name, number in (("scale", self.of.scale), ("cap", self.of.cap)):
            if number is not None:
                yield f"{name}: f32 = {number}"
        for name, places in (("left", self.of.left), ("right", self.of.right)):
            if places is not None:
                yield f"{name}: int = {places}"

    def _dims(self) -> list[str]:
        heads = [] if self.of.heads else [self.queries, self.keys] if self.of.grouped else [self.queries]
        return ["B", *heads, "M", *(["P"] if self.of.past else []), "N", *(["L"] if self.short else []), "D", "E"]

    def _tensors(self) -> Iterator[str]:
        v, mask = self.of.value_type, self.of.mask

        def rows(heads: str, places: str, features: str) -> str:
            return f"B, {places}, {heads} * {features}" if self.of.heads else f"B, {heads}, {places}, {features}"

        yield f"input q : T[{rows(self.queries, 'M', 'D')}]"
        yield f"input k : T[{rows(self.keys, 'N', 'D')}]"
        yield f"input v : {v}[{rows(self.keys, 'N', 'E')}]"
        if mask is not None:
            extents = ("B?", f"{self.queries}?", "M?", self.total if mask.whole else "L")
            yield f"input attn_mask : {mask.element}[{', '.join(extents[-mask.rank :])}]"
        if self.of.past:
            yield f"input past_key : T[B, {self.keys}, P, D]"
            yield f"input past_value : {v}[B, {self.keys}, P, E]"
        if self.of.counted:
            yield "input nonpad_kv_seqlen : i64[B]  # the keys of each batch row that are there"
        if self.of.padding:
            yield f"input key_padding_mask : i32[{'B, N' if self.of.padding == 2 else 'B'}]"
        yield f"output o : T[{rows(self.queries, 'M', 'E')}]"
        declared = {
            "present_key": f"T[B, {self.keys}, {self.total}, D]",
            "present_value": f"{v}[B, {self.keys}, {self.total}, E]",
            "qk_matmul_output": f"T[B, {self.queries}, M, {self.total}]",
        }
        yield from (f"output {name} : {declared[name]}" for name in self.of.outputs)

    def _block(self) -> Iterator[str]:
        """The blocks; what they define is kept on the way."""
        scores = self.of.scores if "qk_matmul_output" in self.of.outputs else 3  # the others take a block of their own
        if self.of.past:
            self.ahead += [f"let {name}[b,g,j,:] = {self._both(name)}" for name in ("key", "value")]
        g = self._let("g", "h", f"h / ({self.queries} / {self.keys})", scores < 3) if self.of.grouped else "h"
        q = "q[b, i, h * D : h * D + D]" if self.of.heads else "q[b,h,i,:]"
        raw = f"{q} . {self._read('key', g)} {'/ sqrt(D)' if self.of.scale is None else '* scale'}"
        s = self._let("s", "b,h,i,j", raw, scores < 3) if self.of.cap is not None or scores < 3 else raw
        capped = s if self.of.cap is None else f"cap * tanh({s} / cap)"
        if self.of.cap is not None and scores in (1, 2):
            capped = self._let("capped", "b,h,i,j", capped, True)
        score, mask = self._masked(capped, scores)
        bound = self.total if self.of.mask is None or self.of.mask.whole else "L"
        bound = f"nonpad_kv_seqlen[b] up to {bound}" if self.of.counted else bound
        yield f"each b in B, h in {self.queries}, i in M"
        yield f"over j in {self.total if scores == 2 else bound}"
        yield from ("", *self.within, "")
        yield f"score = {score}"
        softmax = "softmax(score)"
        if mask:
            yield f"mask = {mask}"
            softmax = "softmax(score, mask)"
        yield ""
        o = "o[b, i, h * E : h * E + E]" if self.of.heads else "o[b,h,i,:]"
        yield f"{o} = {softmax} . {self._read('value', g)}"
        if "qk_matmul_output" in self.of.outputs and scores == 3:
            yield f"qk_matmul_output[b,h,i,j] = {softmax}"
        yield from self._presents()
        if scores < 3:
            yield from ("", f"each b in B, h in {self.queries}, i in M, j in {self.total}", "")
            found = (s, capped, f"if {mask} then {score} else -inf" if mask else score)[scores]
            yield f"qk_matmul_output[b,h,i,j] = {found}"

    def _read(self, name: str, g: str) -> str:
        """The key or value of head g at j."""
        return f"{name}[b,{g},j,:]" if self.of.past else self._new(name, g, "j")

    def _both(self, name: str) -> str:
        """The key or value of head g at j, of those before and the new ones."""
        return f"if j < P then past_{name}[b,g,j,:] else {self._new(name, 'g', 'j - P')}"

    def _new(self, name: str, g: str, j: str) -> str:
        features = "D" if name == "key" else "E"
        if self.of.heads:
            return f"{name[0]}[b, {j}, {g} * {features} : {g} * {features} + {features}]"
        return f"{name[0]}[b, {g}, {j}, :]" if " " in j else f"{name[0]}[b,{g},{j},:]"

    def _presents(self) -> Iterator[str]:
        written = [name for name in self.of.outputs if name.startswith("present")]
        if written:
            yield from ("", f"each b in B, h in {self.keys}, j in {self.total}", "")
        yield from (f"{name}[b,h,j,:] = {self._read(name.removeprefix('present_'), 'h')}" for name in written)

    def _let(self, name: str, indices: str, value: str, shared: bool) -> str:
        """Defines something, for all blocks if it is shared, and gives how it is referred to."""
        if not shared:
            self.within.append(f"let {name} = {value}")
            return name
        self.ahead.append(f"let {name}[{indices}] = {value}")
        return f"{name}[{indices}]"

    def _masked(self, score: str, scores: int) -> tuple[str, str]:
        """The score with what is added to it, and which keys count; an empty text where all do."""
        left, right, mask = self.of.left, self.of.right, self.of.mask
        offset = "P" if self.of.past else "nonpad_kv_seqlen[b] - M" if self.of.counted else ""
        p = "i" if not offset else f"i + {offset}" if self.of.past else f"i + ({offset})"
        if offset and left is not None and (self.of.causal or right is not None):
            p = self._let("p", "b,i", p, scores == 2)
        least = [] if left is None else [f"{p} - left <="]
        most = [f"<= {p}"] if self.of.causal else [] if right is None else [f"<= {p} + right"]
        terms = [" ".join((*least, "j", *most))] if least or most else []
        if self.of.padding:
            terms.append("key_padding_mask[b,j] != 0" if self.of.padding == 2 else "j < key_padding_mask[b]")
        if mask is not None:
            element = f"attn_mask[{','.join('bhij'[-mask.rank :])}]"
            if mask.element == "bool":
                terms.append(element)
            else:
                score = f"{score} + {element}"
                terms.append(f"{element} != -inf")
        if scores == 2:  # whose block walks all keys
            terms = [
                *(["j < nonpad_kv_seqlen[b]"] if self.of.counted else []),
                *(["j < L"] if self.short else []),
                *terms,
            ]
            if mask is not None and mask.element != "bool":
                score = self._let("biased", "b,h,i,j", score, True)
            return score, self._let("seen", "b,h,i,j", " and ".join(terms), True) if terms else ""
        return score, " and ".join(terms)
