"""MultiHeadAttention and GroupQueryAttention of ONNX Runtime, imported: held to their formulas, in float64."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import ModelProto, TensorProto, helper

import attndsl
from attndsl.checking.check import check
from attndsl.importing import onnx_grouped, onnx_runtime
from attndsl.importing.errors import CannotImport
from attndsl.reference import reference
from attndsl.syntax.format import format_text
from attndsl.syntax.source import Source

Array = np.ndarray[Any, Any]

GOLDENS = Path(__file__).parent / "goldens"

CALLED = {"query": "q", "key": "k", "value": "v", "attention_bias": "attn_mask", "output": "o"}
"""What the spec calls them, where that is something else."""


@dataclass
class Call:
    """Arrays for inputs of a node, and its attributes."""

    arrays: dict[str, Array]
    attributes: dict[str, Any]
    outputs: tuple[str, ...] = ("output",)
    operator: str = "MultiHeadAttention"

    def model(self, element: int = TensorProto.FLOAT, **elements: int) -> ModelProto:
        types = {name: TensorProto.INT32 if array.dtype.kind == "i" else element for name, array in self.arrays.items()}
        types |= elements
        infos = [helper.make_tensor_value_info(n, types[n], a.shape) for n, a in self.arrays.items()]
        of = onnx_grouped if self.operator == "GroupQueryAttention" else onnx_runtime
        given = [name if name in self.arrays else "" for name in of.INPUTS]
        made = [name if name in self.outputs else "" for name in of.OUTPUTS]
        node = helper.make_node(self.operator, given, made, "layer", domain="com.microsoft", **self.attributes)
        results = [helper.make_tensor_value_info(name, element, None) for name in self.outputs]
        graph = helper.make_graph([node], "encoder", infos, results)
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets)

    def wanted(self) -> dict[str, Array]:
        """Each head by itself: the keys of before, then the new ones; a row without keys is 0."""
        heads = self.attributes["num_heads"]

        def split(x: Array) -> Array:
            return x.reshape(*x.shape[:2], heads, -1).transpose(0, 2, 1, 3)

        q, k, v = (split(self.arrays[name]) for name in ("query", "key", "value"))
        past = 0
        if "past_key" in self.arrays:
            past = self.arrays["past_key"].shape[2]
            k, v = (np.concatenate([self.arrays[f"past_{n}"], x], 2) for n, x in (("key", k), ("value", v)))
        score = q @ k.mT * self.attributes.get("scale", q.shape[-1] ** -0.5) + self.arrays.get("attention_bias", 0.0)
        i, j = np.arange(q.shape[2])[:, None], np.arange(k.shape[2])
        seen = np.ones((q.shape[0], 1, len(i), len(j)), bool)
        if self.attributes.get("unidirectional"):
            seen &= j <= i + past
        if (mask := self.arrays.get("key_padding_mask")) is not None:
            kept = mask != 0 if mask.ndim == 2 else j < mask[:, None]
            seen &= kept[:, None, None, :]
        weights = np.where(seen, np.exp(score), 0.0)
        total = weights.sum(-1, keepdims=True)
        o = np.where(total > 0, weights @ v / np.where(total > 0, total, 1.0), 0.0)
        flat = o.transpose(0, 2, 1, 3).reshape(len(o), len(i), -1)
        return {n: {"output": flat, "present_key": k, "present_value": v}[n] for n in self.outputs}


@st.composite
def calls(draw: st.DrawFn) -> Call:
    few, some = st.integers(1, 3), st.integers(1, 5)
    b, heads, m, n, d, e = draw(st.tuples(few, few, some, some, some, some))
    numbers = np.random.default_rng(draw(st.integers(0, 2**32)))
    arrays = {
        "query": numbers.standard_normal((b, m, heads * d)),
        "key": numbers.standard_normal((b, n, heads * d)),
        "value": numbers.standard_normal((b, n, heads * e)),
    }
    before = draw(st.sampled_from(["", "mask", "lengths", "past"]))
    past = draw(st.integers(0, 3)) if before == "past" else 0
    if before == "mask":
        arrays["key_padding_mask"] = numbers.integers(0, 3, (b, n)).astype(np.int32)
    if before == "lengths":
        arrays["key_padding_mask"] = numbers.integers(0, n + 1, b).astype(np.int32)
    if before == "past":
        arrays["past_key"] = numbers.standard_normal((b, heads, past, d))
        arrays["past_value"] = numbers.standard_normal((b, heads, past, e))
    if draw(st.booleans()):
        shape = draw(st.sampled_from([b, 1])), draw(st.sampled_from([heads, 1])), m, past + n
        arrays["attention_bias"] = numbers.standard_normal(shape)
    attributes: dict[str, Any] = {"num_heads": heads}
    few_values: dict[str, list[float]] = {
        "unidirectional": [0, 1],
        "scale": [0.25, 0.5625],
        "mask_filter_value": [-1e4],
    }
    for name, values in few_values.items():
        if draw(st.booleans()):
            attributes[name] = draw(st.sampled_from(values))
    outputs = ("output", "present_key", "present_value") if draw(st.booleans()) else ("output",)
    return Call(arrays, attributes, outputs)


@given(calls())
@settings(max_examples=30, deadline=None)
def test_drawn_nodes(call: Call) -> None:
    (text,) = attndsl.from_onnx(call.model()).values()
    assert format_text(Source(text)) == text
    found = reference(check(Source(text)), {CALLED.get(name, name): array for name, array in call.arrays.items()}, {})
    for name, wanted in call.wanted().items():
        np.testing.assert_allclose(found[CALLED.get(name, name)], wanted, 1e-9, 1e-9, err_msg=text)


def example(**more: Array) -> Call:
    x = np.zeros((2, 5, 24), np.float32)
    return Call({"query": x, "key": x, "value": x, **more}, {"num_heads": 4})


def test_its_text(golden: Callable[[Path, str], None]) -> None:
    call = example(key_padding_mask=np.ones((2, 5), np.int32), attention_bias=np.zeros((1, 4, 5, 5), np.float32))
    (text,) = attndsl.from_onnx(call.model()).values()
    golden(GOLDENS / "onnx_multi_head.attn", text)


X = np.zeros((2, 5, 24), np.float32)


@pytest.mark.parametrize(
    ("call", "elements", "said"),
    [
        (Call({"query": np.zeros((2, 5, 4, 3, 6))}, {"num_heads": 4}), {}, "has no key: .* packed into one tensor"),
        (Call({"query": X, "key": np.zeros((2, 5, 4, 2, 6))}, {"num_heads": 4}), {}, "has no value"),
        (Call({"query": X, "key": np.zeros((2, 4, 5, 6)), "value": X}, {"num_heads": 4}), {}, "key has 4 dims"),
        (Call({"query": X, "key": X, "value": X}, {}), {}, "num_heads is not given"),
        (Call({"query": X, "key": X, "value": X}, {"num_heads": 4, "scale": 0.0}), {}, "scale=0.0"),
        (Call({"query": X, "key": X, "value": X}, {"num_heads": 4, "rotary": 1}), {}, "an attribute rotary"),
        (Call({"query": X, "key": X, "value": X}, {"num_heads": 4, "unidirectional": 2}), {}, "unidirectional=2"),
        (Call({"query": X, "key": X, "value": X}, {"num_heads": 4}, ("output", "qk")), {}, "gives its scores"),
        (example(bias=np.zeros(72)), {}, "adds a bias to queries, keys and values"),
        (example(past_key=np.zeros((2, 4, 3, 6))), {}, "past_key and not past_value"),
        (example(key_padding_mask=np.zeros(8, np.int32)), {}, "does not say that it is the batch"),
        (example(key_padding_mask=np.zeros((2, 5, 5), np.int32)), {}, "key_padding_mask has 3 dims"),
        (example(), {"value": TensorProto.FLOAT16}, "value is float16, and query float"),
        (
            example(
                key_padding_mask=np.zeros((2, 5), np.int32),
                past_key=np.zeros((2, 4, 3, 6)),
                past_value=np.zeros((2, 4, 3, 6)),
            ),
            {},
            "of which it is not said which keys the mask has",
        ),
    ],
)
def test_what_is_not_said(call: Call, elements: dict[str, int], said: str) -> None:
    with pytest.raises(CannotImport, match=f"layer: .*{said}"):
        attndsl.from_onnx(call.model(**elements))


GROUPED = "GroupQueryAttention"


def grouped_wanted(call: Call) -> dict[str, Array]:
    """Row by row, as the operator's documentation says; of rows behind a sequence's end nothing is said."""
    heads, kv_heads = (call.attributes[name] for name in ("num_heads", "kv_num_heads"))
    q, k, v, lengths = (call.arrays[name] for name in ("query", "key", "value", "seqlens_k"))
    (b, m, width), d = q.shape, q.shape[2] // heads
    o = np.full((b, m, width), np.nan)
    window = call.attributes.get("local_window_size", -1)
    for lane, last in enumerate(lengths):
        total = last + 1
        past = max(total - m, 0)
        keys, values = (x[lane].reshape(-1, kv_heads, d) for x in (k, v))
        if "past_key" in call.arrays:
            before = (call.arrays[name][lane, :, :past].swapaxes(0, 1) for name in ("past_key", "past_value"))
            keys, values = (np.concatenate([old, new]) for old, new in zip(before, (keys, values), strict=True))
        for h in range(heads):
            for i in range(min(m, total)):
                at = past + i
                first = 0 if window == -1 else max(0, at - window + 1)
                seen = slice(first, at + 1 if call.attributes.get("causal", 1) else total)
                g = h // (heads // kv_heads)
                score = keys[seen, g] @ q[lane, i, h * d : h * d + d] * call.attributes.get("scale", d**-0.5)
                if cap := call.attributes.get("softcap", 0.0):
                    score = cap * np.tanh(score / cap)
                if "attention_bias" in call.arrays:
                    bias = call.arrays["attention_bias"]
                    score = score + np.broadcast_to(bias, (b, heads, *bias.shape[2:]))[lane, h, i, seen]
                weights, rest = np.exp(score), 0.0
                if call.attributes.get("smooth_softmax"):
                    rest = 1.0
                if "head_sink" in call.arrays:
                    rest = np.exp(call.arrays["head_sink"][h])
                o[lane, i, h * d : h * d + d] = weights @ values[seen, g] / (weights.sum() + rest)
    return {"o": o}


@st.composite
def grouped(draw: st.DrawFn) -> Call:
    few, some = st.integers(1, 2), st.integers(1, 5)
    b, kv, group, m, d = draw(st.tuples(few, few, st.sampled_from([1, 2, 3]), some, some))
    before = draw(st.sampled_from([0, 0, 3]))  # keys that there is room for
    numbers = np.random.default_rng(draw(st.integers(0, 2**32)))
    arrays: dict[str, Any] = {
        "query": numbers.standard_normal((b, m, kv * group * d)),
        "key": numbers.standard_normal((b, m, kv * d)),
        "value": numbers.standard_normal((b, m, kv * d)),
        "total_sequence_length": np.array(m + before, np.int32),
    }
    least = m if before and draw(st.booleans()) else 1  # in a prompt sequences may be shorter than there are rows
    arrays["seqlens_k"] = numbers.integers(least - 1, m + before, b).astype(np.int32)
    if before or draw(st.booleans()):
        arrays |= {f"past_{name}": numbers.standard_normal((b, kv, before, d)) for name in ("key", "value")}
    attributes: dict[str, Any] = {"num_heads": kv * group, "kv_num_heads": kv, "k_quant_type": "NONE"}
    causal = draw(st.sampled_from([1, 1, 0]))
    choices: dict[str, list[float]] = {"scale": [0.25], "softcap": [0.0, 1.5], "smooth_softmax": [0, 1]}
    choices |= {"local_window_size": [-1, 1, 2, 4]} if causal else {"causal": [0]}
    for name, values in choices.items():
        if name == "causal" or draw(st.booleans()):
            attributes[name] = draw(st.sampled_from(values))
    if draw(st.booleans()) and not attributes.get("softcap"):
        shape = draw(st.sampled_from([b, 1])), draw(st.sampled_from([kv * group, 1])), m, m + before
        arrays["attention_bias"] = numbers.standard_normal(shape)
    if draw(st.booleans()) and not attributes.get("smooth_softmax"):
        arrays["head_sink"] = numbers.standard_normal(kv * group)
    return Call(arrays, attributes, operator=GROUPED)


@given(grouped())
@settings(max_examples=40, deadline=None)
def test_drawn_grouped_nodes(call: Call) -> None:
    (text,) = attndsl.from_onnx(call.model()).values()
    assert format_text(Source(text)) == text
    spec = check(Source(text))
    arrays = {CALLED.get(name, name): array for name, array in call.arrays.items()}
    found = reference(spec, {tensor.name: arrays[tensor.name] for tensor in spec.inputs}, {})["o"]
    wanted = grouped_wanted(call)["o"]
    said = ~np.isnan(wanted)
    np.testing.assert_allclose(found[said], wanted[said], 1e-9, 1e-9, err_msg=text)


def grouped_example(attributes: dict[str, Any] | None = None, **more: Array) -> Call:
    rows, keys = np.zeros((2, 3, 32), np.float32), np.zeros((2, 3, 16), np.float32)
    numbers: dict[str, Array] = {
        "seqlens_k": np.array([4, 2], np.int32),
        "total_sequence_length": np.array(5, np.int32),
    }
    given = {"query": rows, "key": keys, "value": keys, **numbers, **more}
    return Call(given, {"num_heads": 4, "kv_num_heads": 2, **(attributes or {})}, operator=GROUPED)


def test_its_text_in_groups(golden: Callable[[Path, str], None]) -> None:
    past = np.zeros((2, 2, 4, 8), np.float32)
    call = grouped_example({"local_window_size": 128, "softcap": 30.0}, past_key=past, past_value=past)
    call.outputs = ("output", "present_key", "present_value")
    (text,) = attndsl.from_onnx(call.model()).values()
    golden(GOLDENS / "onnx_grouped.attn", text)
    arrays = {name: array for name, array in call.arrays.items() if name != "total_sequence_length"}
    arrays["past_key"] = arrays["past_key"] + 1
    arrays["key"] = arrays["key"] + 2
    op = attndsl.compile(text)
    present = op(**{CALLED.get(name, name): array for name, array in arrays.items()}).present_key
    assert present[:, 0, :, 0].tolist() == [[1, 1, 2, 2, 2, 0, 0], [2, 2, 2, 0, 0, 0, 0]]


@pytest.mark.parametrize(
    ("attributes", "more", "said"),
    [
        ({"do_rotary": 1}, {}, "rotates queries and keys"),
        ({"sliding_window_cache": 1, "local_window_size": 4}, {}, "keeps a window of the cache alone"),
        ({"qk_output": 2}, {}, "gives its scores besides"),
        ({"kv_num_heads": 3}, {}, "num_heads=4 is no multiple of kv_num_heads=3"),
        ({"local_window_size": 0}, {}, "local_window_size=0"),
        ({"local_window_size": 4, "causal": 0}, {}, "of causal attention"),
        ({"softcap": 2.0}, {"attention_bias": np.zeros((1, 1, 3, 5))}, "of which it is not said which comes first"),
        ({"smooth_softmax": 1}, {"head_sink": np.zeros(4)}, "smooth_softmax and a head_sink"),
        ({"k_quant_type": "PER_TENSOR"}, {}, "k_quant_type is of type STRING"),
        ({}, {"k_scale": np.zeros(1)}, "has quantised keys"),
        ({}, {"q_norm_weight": np.zeros(8)}, "norms its queries"),
        ({}, {"past_key": np.zeros((2, 2, 4, 8))}, "past_key and not past_value"),
    ],
)
def test_what_is_not_said_in_groups(attributes: dict[str, Any], more: dict[str, Array], said: str) -> None:
    with pytest.raises(CannotImport, match=f"layer: .*{said}"):
        attndsl.from_onnx(grouped_example(attributes, **more).model())


def test_packed_tensors_are_refused() -> None:
    call = grouped_example()
    del call.arrays["key"], call.arrays["value"]
    with pytest.raises(CannotImport, match=r"has no key: .* packed into one tensor"):
        attndsl.from_onnx(call.model())
