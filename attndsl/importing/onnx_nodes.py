"""What an Attention node of an ONNX model says. Import this only when onnx is in use."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

import numpy as np
from onnx import AttributeProto, NodeProto, TensorProto, TypeProto, defs

from attndsl.importing.onnx_text import Mask, OnnxAttention

FLOATS = (TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.FLOAT, TensorProto.DOUBLE)

_REAL = ("scale", "softcap", "mask_filter_value", "qk_norm_epsilon")
"""The attributes that are no ints."""

_SAME = {"Q": "Q", "K": "Q", "V": "V", "past_key": "Q", "past_value": "V"}
"""The inputs of floats, each with one that has its element type."""

INPUTS = ("Q", "K", "V", "attn_mask", "past_key", "past_value", "nonpad_kv_seqlen")
OUTPUTS = ("Y", "present_key", "present_value", "qk_matmul_output")


class Unsaid(Exception):
    """What a node says that a spec cannot, or that ONNX gives no meaning."""


@dataclass(frozen=True, slots=True)
class KnownTensor:
    """What a model says of a tensor: its element type, 0 where it does not, and its shape, of names and numbers."""

    element: int = 0
    shape: tuple[int | str | None, ...] | None = None

    @classmethod
    def of(cls, type_: TypeProto) -> KnownTensor:
        """What a type says."""
        tensor = type_.tensor_type
        if not tensor.HasField("shape"):
            return cls(tensor.elem_type)
        dims = (d.dim_value if d.HasField("dim_value") else d.dim_param or None for d in tensor.shape.dim)
        return cls(tensor.elem_type, tuple(dims))

    def dim(self, axis: int) -> int | str | None:
        """An extent, where it is known."""
        return self.shape[axis] if self.shape is not None and -len(self.shape) <= axis < len(self.shape) else None


def said_by(
    node: NodeProto, opset: int, known: Callable[[str], KnownTensor], read: Callable[[str], bool]
) -> OnnxAttention:
    """What a node says. `known` tells of tensors by name, `read` whether anything reads one. Raises Unsaid."""
    schema = defs.get_schema("Attention", opset, "")
    for what, given, most in (
        ("inputs", node.input, len(schema.inputs)),
        ("outputs", node.output, len(schema.outputs)),
    ):
        if any(given[most:]):
            raise Unsaid(f"has {len(given)} {what}: in opset {opset} there are {most}")
    names = {name: given for name, given in zip(INPUTS, node.input, strict=False) if given}
    for name in ("Q", "K", "V"):
        if name not in names:
            raise Unsaid(f"has no {name}")
    attributes = numbers_of(node, schema.attributes, f"Attention of opset {schema.since_version}")
    inputs = {name: known(given) for name, given in names.items()}
    heads, grouped = _heads(inputs, attributes, opset)
    outputs = [name for name, given in zip(OUTPUTS, node.output, strict=False) if given and read(given) and name != "Y"]
    past = past_of(inputs)
    q, v = types_of(inputs)
    _precise(attributes, q)
    causal = one_of(attributes, "is_causal", (0, 1)) == 1
    left, right = (_window(attributes, name) for name in ("left_window_size", "right_window_size"))
    return OnnxAttention(
        heads=heads,
        grouped=grouped,
        value_type="U" if _differ(q, v) else "T",
        mask=_mask(inputs, q, v, opset) if "attn_mask" in inputs else None,
        past=past,
        counted="nonpad_kv_seqlen" in inputs,
        causal=causal,
        left=left,
        right=None if causal else right,
        scale=scale_of(attributes, inputs["Q"], heads),
        cap=cap_of(attributes),
        outputs=tuple(outputs),
        scores=one_of(attributes, "qk_matmul_output_mode", (0, 1, 2, 3)) if "qk_matmul_output" in outputs else 3,
    )


def numbers_of(node: NodeProto, known: Collection[str], called: str) -> dict[str, int | float]:
    """The numbers of a node's attributes, all of which are ints or floats; `known` are those that there are."""
    found: dict[str, int | float] = {}
    for attribute in node.attribute:
        if attribute.name not in known:
            raise Unsaid(f"has an attribute {attribute.name}, which {called} has not")
        if attribute.ref_attr_name:
            raise Unsaid(f"{attribute.name} refers to an attribute of a function")
        if attribute.type != (AttributeProto.FLOAT if attribute.name in _REAL else AttributeProto.INT):
            raise Unsaid(f"{attribute.name} is of type {AttributeProto.AttributeType.Name(attribute.type)}")
        found[attribute.name] = attribute.i if attribute.type == AttributeProto.INT else attribute.f
    return found


def one_of(attributes: Mapping[str, int | float], name: str, values: tuple[int, ...]) -> int:
    """A number that is one of these, 0 where it is not given."""
    value = int(attributes.get(name, 0))
    if value not in values:
        raise Unsaid(f"{name}={value}: it is {', '.join(map(str, values[:-1]))} or {values[-1]}")
    return value


def _window(attributes: Mapping[str, int | float], name: str) -> int | None:
    value = int(attributes.get(name, -1))
    if value < -1:
        raise Unsaid(f"{name}={value}: it is a number of places, or -1 for no limit")
    return None if value == -1 else value


def cap_of(attributes: Mapping[str, int | float]) -> str | None:
    """Where scores are capped; None where they are not."""
    cap = attributes.get("softcap", 0.0)
    if not 0 <= cap < math.inf:
        raise Unsaid(f"softcap={cap}: it is a number above 0, or 0 for none")
    return _number(cap) if cap else None


def scale_of(attributes: Mapping[str, int | float], q: KnownTensor, heads: tuple[int, int] | None) -> str | None:
    """The scale; None where it is 1 over the root of the features, as far as f32 can hold it."""
    scale = attributes.get("scale")
    if scale is None:
        return None
    if not 0 <= scale < math.inf:
        raise Unsaid(f"scale={scale}: ONNX takes its root")
    features = q.dim(-1)
    if isinstance(features, int) and features > 0 and q.element != TensorProto.DOUBLE:
        each = features // heads[0] if heads else features
        if each and scale == np.float32(each**-0.5):
            return None
    return _number(scale)


def _number(value: float) -> str:
    """The shortest text of a number of f32."""
    return str(float(str(np.float32(value))))


def types_of(inputs: Mapping[str, KnownTensor]) -> tuple[int, int]:
    """The element types of queries and of values, 0 where one is not known."""
    for name in inputs:
        element = inputs[name].element
        if name == "nonpad_kv_seqlen" and element not in (0, TensorProto.INT64):
            raise Unsaid(f"{name} is {called(element)}: lengths are int64")
        if name in _SAME and element not in (0, *FLOATS):
            raise Unsaid(f"{name} is {called(element)}: attention is of floats")
        if _differ(element, inputs[_SAME.get(name, name)].element):
            raise Unsaid(f"{name} is {called(element)}, and {_SAME[name]} {called(inputs[_SAME[name]].element)}")
    return inputs["Q"].element, inputs["V"].element


def _differ(one: int, other: int) -> bool:
    """Whether two element types are known, and not the same."""
    return 0 not in (one, other) and one != other


def called(element: int) -> str:
    """The name of an element type."""
    return (
        TensorProto.DataType.Name(element).lower() if element in TensorProto.DataType.values() else f"of type {element}"
    )


def _heads(
    inputs: Mapping[str, KnownTensor], attributes: Mapping[str, int | float], opset: int
) -> tuple[tuple[int, int] | None, bool]:
    """The heads of flat rows, if they are flat, and whether queries may have more of them than keys."""
    given = [name for name in ("q_num_heads", "kv_num_heads") if name in attributes]
    ranks = {name: len(shape) for name in ("Q", "K", "V") if (shape := inputs[name].shape) is not None}
    if len({*ranks.values(), *([4] if not ranks and not given else [3] if not ranks else [])}) > 1:
        raise Unsaid(f"has {' and '.join(f'{name} of {rank} dims' for name, rank in ranks.items())}")
    rank = next(iter(ranks.values()), 3 if given else 4)  # heads that lie side by side have to be counted
    if rank not in (3, 4):
        raise Unsaid(f"has Q, K and V of {rank} dims: they have 3 or 4")
    if rank == 4:
        if given and opset >= 25:
            raise Unsaid(f"{given[0]} is for Q, K and V of 3 dims, and they have 4")
        q, k = inputs["Q"].dim(1), inputs["K"].dim(1)
        if isinstance(q, int) and isinstance(k, int) and (k == 0 or q % k):
            raise Unsaid(f"has {q} heads of queries and {k} of keys")
        return None, q is None or q != k
    for name in ("q_num_heads", "kv_num_heads"):
        if attributes.get(name, 0) < 1:
            raise Unsaid(f"{name} is {attributes.get(name, 'not given')}: Q, K and V of 3 dims need a number of heads")
    heads = int(attributes["q_num_heads"]), int(attributes["kv_num_heads"])
    if heads[0] % heads[1]:
        raise Unsaid(f"q_num_heads={heads[0]} is no multiple of kv_num_heads={heads[1]}")
    return heads, heads[0] != heads[1]


def past_of(inputs: Mapping[str, KnownTensor]) -> bool:
    """Whether there are keys and values of before."""
    past = [name for name in ("past_key", "past_value") if name in inputs]
    if len(past) == 1:
        raise Unsaid(f"has {past[0]} and not {'past_value' if past[0] == 'past_key' else 'past_key'}")
    if past and "nonpad_kv_seqlen" in inputs:
        raise Unsaid("has nonpad_kv_seqlen and past_key, which ONNX gives no meaning together")
    return bool(past)


def _mask(inputs: Mapping[str, KnownTensor], q: int, v: int, opset: int) -> Mask:
    mask, dims = inputs["attn_mask"], inputs["attn_mask"].shape
    if not mask.element:
        raise Unsaid("the model does not say whether attn_mask is of truth values or of floats: give it a value_info")
    if dims is None:
        raise Unsaid("the model does not say how many dims attn_mask has: give it a value_info")
    if not 1 <= len(dims) <= 4:
        raise Unsaid(f"attn_mask has {len(dims)} dims: it has 1 to 4")
    if mask.element == TensorProto.BOOL:
        element = "bool"
    elif mask.element not in FLOATS:
        raise Unsaid(f"attn_mask is {called(mask.element)}: a mask is of truth values, or of floats that are added")
    else:
        element = "T" if not _differ(q, mask.element) else "U" if not _differ(q, v) or v == mask.element else "S"
    return Mask(element, len(dims), opset < 24 or _reaches(dims[-1], inputs))


def _reaches(last: int | str | None, inputs: Mapping[str, KnownTensor]) -> bool:
    """Whether a mask is known to reach all keys, as it has to before opset 24."""
    keys = inputs["K"].dim(-2)
    if "past_key" not in inputs:
        return last is not None and last == keys
    past = inputs["past_key"].dim(-2)
    return isinstance(past, int) and isinstance(keys, int) and last == past + keys


def _precise(attributes: Mapping[str, int | float], element: int) -> None:
    """Refuses a softmax in more bits than a spec computes in: f64 where a tensor is f64, else f32."""
    precision = attributes.get("softmax_precision")
    if precision is None:
        return
    if precision not in FLOATS:
        raise Unsaid(f"softmax_precision={precision} is no type of floats")
    if precision == TensorProto.DOUBLE and element != TensorProto.DOUBLE:
        raise Unsaid("softmax_precision=11 asks for float64, in which a spec computes only where a tensor is f64")
