"""GroupQueryAttention of ONNX Runtime's own operators: what a node says, and its spec.

Import this only when onnx is in use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from onnx import AttributeProto, NodeProto, TensorProto

from attndsl.importing.onnx_nodes import KnownTensor, Unsaid, cap_of, numbers_of, one_of, past_of, scale_of, types_of
from attndsl.importing.onnx_runtime import check_dims

INPUTS = (
    *("query", "key", "value", "past_key", "past_value", "seqlens_k", "total_sequence_length", "cos_cache"),
    *("sin_cache", "position_ids", "attention_bias", "head_sink", "k_scale", "v_scale"),
    *("q_norm_weight", "k_norm_weight"),
)
OUTPUTS = ("output", "present_key", "present_value", "output_qk")
ATTRIBUTES = (
    *("causal", "do_rotary", "k_quant_type", "kv_cache_bit_width", "kv_num_heads", "local_window_size", "num_heads"),
    *("qk_norm_epsilon", "qk_output", "rotary_interleaved", "scale", "sliding_window_cache", "smooth_softmax"),
    *("softcap", "v_quant_type"),
)

_DIMS = {
    **dict.fromkeys(("query", "key", "value"), (3,)),
    **dict.fromkeys(("past_key", "past_value", "attention_bias"), (4,)),
    **dict.fromkeys(("seqlens_k", "head_sink"), (1,)),
}
"""How many dims an input has that is taken."""

_UNSAID = {
    "k_scale": "has quantised keys",
    "v_scale": "has quantised values",
    "q_norm_weight": "norms its queries: norm them before",
    "k_norm_weight": "norms its keys: norm them before",
}
_OFF = {
    "do_rotary": "rotates queries and keys: rotate them before",
    "sliding_window_cache": "keeps a window of the cache alone",
    "qk_output": "gives its scores besides",
}
"""The attributes that are 0 where a node is taken, and what it does else."""


@dataclass(frozen=True, slots=True)
class GroupedAttention:
    """What tells the specs of two nodes apart.

    `sink` is what stands for a score behind the others: of each head, or 0.
    """

    heads: tuple[int, int]
    past: bool
    causal: bool
    window: int | None
    bias: bool
    sink: str
    scale: str | None
    cap: str | None
    outputs: tuple[str, ...]

    def text(self, name: str, comment: str) -> str:
        """The spec, but for its layout."""
        return "\n".join(self._lines(name, comment)) + "\n"

    def _lines(self, name: str, comment: str) -> Iterator[str]:
        keys = "P + N" if self.past else "N"
        numbers = {"scale": self.scale, "cap": self.cap}
        parameters = [f"heads: int = {self.heads[0]}", f"kv_heads: int = {self.heads[1]}"]
        parameters += [f"{each}: f32 = {number}" for each, number in numbers.items() if number is not None]
        parameters += [] if self.window is None else [f"local: int = {self.window}"]
        yield from (f"# {comment}", f"attention {name}({', '.join(parameters)}) {{")
        yield f"dims B, M, {'P, ' if self.past else ''}N, {'L, ' if self.bias else ''}D"
        yield from ("types T", "", "input q : T[B, M, heads * D]")
        yield from (f"input {each} : T[B, N, kv_heads * D]" for each in "kv")
        if self.past:
            yield from (f"input past_{each} : T[B, kv_heads, P, D]" for each in ("key", "value"))
        yield "input seqlens_k : i32[B]  # the last key of each batch row"
        if self.bias:
            yield "input attn_mask : T[B?, heads?, M?, L]"
        if self.sink == "head_sink[h]":
            yield "input head_sink : T[heads]"
        yield "output o : T[B, M, heads * D]"
        yield from (f"output {each} : T[B, kv_heads, {keys}, D]" for each in self.outputs)
        yield from ("", "require heads % kv_heads == 0")
        yield from ([] if self.window is None else ["require local > 0"])
        yield ""
        if self.past or self.causal:
            yield "let past[b] = maximum(seqlens_k[b] + 1 - M, 0)  # the keys before the first query"
        for each in ("key", "value"):
            before = f"if j < past[b] then past_{each}[b,g,j,:] else " if self.past else ""
            new = f"{each[0]}[b, {'j - past[b]' if self.past else 'j'}, g * D : g * D + D]"
            yield f"let {each}[b,g,j,:] = {before}{new}"
        yield from ("", "each b in B, h in heads, i in M", f"over j in seqlens_k[b] + 1 up to {keys}", "")
        yield "let g = h / (heads / kv_heads)"
        raw = f"q[b, i, h * D : h * D + D] . key[b,g,j,:] {'/ sqrt(D)' if self.scale is None else '* scale'}"
        if self.cap is not None:
            yield f"let s = {raw}"
            raw = "cap * tanh(s / cap)"
        if self.window is not None:
            yield "let p = i + past[b]"
        yield from ("", f"score = {raw}{' + attn_mask[b,h,i,j]' if self.bias else ''}")
        mask = [] if not self.causal else ["j <= i + past[b]" if self.window is None else "p - local < j <= p"]
        mask += ["attn_mask[b,h,i,j] != -inf"] if self.bias else []
        yield from ([f"mask = {' and '.join(mask)}"] if mask else [])
        given = ", ".join(["score", *(["mask"] if mask else []), *([f"sink = {self.sink}"] if self.sink else [])])
        yield from ("", f"o[b, i, h * D : h * D + D] = softmax({given}) . value[b,g,j,:]")
        if self.outputs:
            yield from ("", f"each b in B, h in kv_heads, j in {keys}", "")
        yield from (f"{each}[b,h,j,:] = {each.removeprefix('present_')}[b,h,j,:]" for each in self.outputs)
        yield "}"


def said_by_grouped(
    node: NodeProto, known: Callable[[str], KnownTensor], read: Callable[[str], bool]
) -> GroupedAttention:
    """What a node says. `known` tells of tensors by name, `read` whether anything reads one. Raises Unsaid."""
    inputs = {name: known(given) for name, given in zip(INPUTS, node.input, strict=False) if given}
    if any(node.input[len(INPUTS) :]):
        raise Unsaid(f"has {len(node.input)} inputs: GroupQueryAttention has {len(INPUTS)}")
    for name, why in _UNSAID.items():
        if name in inputs:
            raise Unsaid(f"{why} ({name})")
    for name in ("query", "key", "value", "seqlens_k"):
        if name not in inputs:
            packed = ": queries, keys and values that are packed into one tensor are not taken"
            raise Unsaid(f"has no {name}{'' if name == 'seqlens_k' else packed}")
    for name, dims in _DIMS.items():
        check_dims(name, inputs.get(name), dims)
    attributes = _attributes(node)
    for name, why in _OFF.items():
        if attributes.get(name, 0):
            raise Unsaid(f"{why} ({name}={attributes[name]})")
    heads = int(attributes.get("num_heads", 0)), int(attributes.get("kv_num_heads", 0))
    if min(heads) < 1 or heads[0] % heads[1]:
        raise Unsaid(f"num_heads={heads[0]} is no multiple of kv_num_heads={heads[1]}")
    if attributes.get("scale", 1.0) <= 0:
        raise Unsaid(f"scale={attributes['scale']}: it is a number above 0")
    if inputs["seqlens_k"].element not in (0, TensorProto.INT32):
        raise Unsaid("seqlens_k is not of int32")
    _check_types(inputs)
    causal = one_of({"causal": 1, **attributes}, "causal", (0, 1)) == 1
    window = int(attributes.get("local_window_size", -1))
    if window != -1 and (window < 1 or not causal):
        raise Unsaid(f"local_window_size={window}: it is a number of keys, of causal attention, or -1 for none")
    cap = cap_of(attributes)
    if cap is not None and "attention_bias" in inputs:
        raise Unsaid("has a softcap and an attention_bias, of which it is not said which comes first")
    smooth = one_of(attributes, "smooth_softmax", (0, 1)) == 1
    if smooth and "head_sink" in inputs:
        raise Unsaid("has smooth_softmax and a head_sink, of which each stands behind the scores")
    outputs = [name for name, given in zip(OUTPUTS, node.output, strict=False) if given and read(given)]
    return GroupedAttention(
        heads=heads,
        past=past_of(inputs),
        causal=causal,
        window=None if window == -1 else window,
        bias="attention_bias" in inputs,
        sink="head_sink[h]" if "head_sink" in inputs else "0.0" if smooth else "",
        scale=scale_of(attributes, inputs["query"], heads),
        cap=cap,
        outputs=tuple(name for name in outputs if name.startswith("present")),
    )


def _attributes(node: NodeProto) -> dict[str, int | float]:
    """The numbers of its attributes, without texts that say that nothing is quantised."""
    plain = NodeProto()
    plain.CopyFrom(node)
    del plain.attribute[:]
    for attribute in node.attribute:
        if not (attribute.type == AttributeProto.STRING and attribute.s == b"NONE"):
            plain.attribute.append(attribute)
    return numbers_of(plain, ATTRIBUTES, "GroupQueryAttention")


def _check_types(inputs: dict[str, KnownTensor]) -> None:
    """Raises Unsaid where tensors of floats are not of one type."""
    floats = ("query", "key", "value", "past_key", "past_value", "attention_bias", "head_sink")
    q = inputs["query"].element
    for name in floats:
        if name in inputs:
            types_of({"Q": inputs["query"], "K": inputs[name], "V": inputs[name]})
            if q and inputs[name].element not in (0, q):
                raise Unsaid(f"{name} is of another type than query")
