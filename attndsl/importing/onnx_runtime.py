"""What a MultiHeadAttention node of ONNX Runtime's own operators says. Import this only when onnx is in use."""

from __future__ import annotations

from collections.abc import Callable

from onnx import NodeProto, TensorProto

from attndsl.importing.onnx_nodes import KnownTensor, Unsaid, called, numbers_of, one_of, past_of, scale_of, types_of
from attndsl.importing.onnx_text import Mask, OnnxAttention

RUNTIME = "com.microsoft"
"""The domain of these operators."""

INPUTS = (
    *("query", "key", "value", "bias", "key_padding_mask", "attention_bias", "past_key", "past_value"),
    *("past_sequence_length", "cache_indirection"),
)
OUTPUTS = ("output", "present_key", "present_value", "qk")
ATTRIBUTES = ("mask_filter_value", "num_heads", "scale", "unidirectional")

_DIMS = {"query": (3,), "key": (3,), "value": (3,), "attention_bias": (4,), "key_padding_mask": (1, 2)}
"""How many dims an input has that is taken."""

_UNSAID = {
    "bias": "adds a bias to queries, keys and values: add it before",
    "past_sequence_length": "shares a buffer of past keys and present ones",
    "cache_indirection": "has beams that share keys",
}


def said_by_runtime(node: NodeProto, known: Callable[[str], KnownTensor], read: Callable[[str], bool]) -> OnnxAttention:
    """What a node says. `known` tells of tensors by name, `read` whether anything reads one. Raises Unsaid."""
    inputs = {name: known(given) for name, given in zip(INPUTS, node.input, strict=False) if given}
    if any(node.input[len(INPUTS) :]):
        raise Unsaid(f"has {len(node.input)} inputs: MultiHeadAttention has {len(INPUTS)}")
    for name, why in _UNSAID.items():
        if name in inputs:
            raise Unsaid(f"{why} ({name})")
    for name in ("query", "key", "value"):
        if name not in inputs:
            raise Unsaid(f"has no {name}: queries, keys and values that are packed into one tensor are not taken")
    for name, dims in _DIMS.items():
        check_dims(name, inputs.get(name), dims)
    attributes = numbers_of(node, ATTRIBUTES, "MultiHeadAttention")
    heads = int(attributes.get("num_heads", 0))
    if heads < 1:
        raise Unsaid(f"num_heads is {attributes.get('num_heads', 'not given')}: it is a number of heads")
    if attributes.get("scale", 1.0) <= 0:
        raise Unsaid(f"scale={attributes['scale']}: it is a number above 0")
    known_bias = inputs.get("attention_bias", KnownTensor())
    renamed = {"query": "Q", "key": "K", "value": "V"}
    q, v = types_of({renamed.get(name, name): each for name, each in inputs.items() if name not in _MASKS})
    for name, element in (("value", v), ("attention_bias", known_bias.element)):
        if element not in (0, q):
            raise Unsaid(f"{name} is {called(element)}, and query {called(q)}")
    past = past_of(inputs)
    outputs = [name for name, given in zip(OUTPUTS, node.output, strict=False) if given and read(given)]
    if "qk" in outputs:
        raise Unsaid("gives its scores besides, of which it is not said whether they are masked (qk)")
    return OnnxAttention(
        heads=(heads, heads),
        grouped=False,
        value_type="T",
        mask=Mask("T", 4, whole=True) if "attention_bias" in inputs else None,
        past=past,
        counted=False,
        causal=one_of(attributes, "unidirectional", (0, 1)) == 1,
        left=None,
        right=None,
        scale=scale_of(attributes, inputs["query"], (heads, heads)),
        cap=None,
        outputs=tuple(name for name in outputs if name != "output"),
        padding=_padding(inputs, past),
    )


_MASKS = ("attention_bias", "key_padding_mask")


def check_dims(name: str, tensor: KnownTensor | None, wanted: tuple[int, ...]) -> None:
    """Raises Unsaid for an input of another form than those that are taken."""
    if tensor is None:
        return
    if tensor.shape is None:
        raise Unsaid(f"the model does not say how many dims {name} has: give it a value_info")
    if len(tensor.shape) not in wanted:
        raise Unsaid(f"{name} has {len(tensor.shape)} dims: taken are {' or '.join(map(str, wanted))}")


def _padding(inputs: dict[str, KnownTensor], past: bool) -> int:
    """How many dims the mask of keys has, 0 where there is none."""
    mask = inputs.get("key_padding_mask")
    if mask is None or mask.shape is None:
        return 0
    if mask.element not in (0, TensorProto.INT32):
        raise Unsaid(f"key_padding_mask is {called(mask.element)}: it is of int32")
    if past:
        raise Unsaid("has key_padding_mask and past_key, of which it is not said which keys the mask has")
    batch, query = mask.shape[0], inputs["query"].shape
    if len(mask.shape) == 1 and (query is None or batch != query[0]):
        raise Unsaid("key_padding_mask has one dim, and the model does not say that it is the batch")
    return len(mask.shape)
