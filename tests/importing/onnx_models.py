"""ONNX models of one Attention node, drawn, and calls of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st
from onnx import ModelProto, helper, parser
from onnx.reference import ReferenceEvaluator

Array = np.ndarray[Any, Any]

NAMES = ("q", "k", "v", "attn_mask", "past_key", "past_value", "nonpad_kv_seqlen")
OUTPUTS = ("o", "present_key", "present_value", "qk_matmul_output")


@dataclass
class Drawn:
    """A model, and arrays for a call of it, by the names that its spec has for them."""

    opset: int
    arrays: dict[str, Array]
    outputs: Sequence[str]
    attributes: dict[str, Any] = field(default_factory=dict)
    shown: bool = True

    @property
    def model(self) -> ModelProto:
        """The model; its extents are numbers, or names."""
        infos = [helper.make_tensor_value_info(name, *self._info(name, array)) for name, array in self.arrays.items()]
        node = helper.make_node(
            "Attention",
            [n if n in self.arrays else "" for n in NAMES],
            list(self._outputs),
            "attend",
            **self.attributes,
        )
        element = helper.np_dtype_to_tensor_dtype(self.arrays["q"].dtype)
        results = [helper.make_tensor_value_info(name, element, None) for name in self.outputs]
        graph = helper.make_graph([node], "drawn", infos, results)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)])

    @property
    def _outputs(self) -> list[str]:
        return [name if name in self.outputs else "" for name in OUTPUTS]

    def _info(self, name: str, array: Array) -> tuple[int, list[int | str]]:
        shape = list(array.shape) if self.shown else [f"{name}_{axis}" for axis in range(array.ndim)]
        return helper.np_dtype_to_tensor_dtype(array.dtype), shape

    def wanted(self) -> dict[str, Array]:
        """What ONNX's reference evaluator computes.

        In two places it does not do what ONNX says, and is asked otherwise. Of raw scores that are capped later it
        gives the capped ones. A causal mask is cut to the rows of an `attn_mask` that has one for all of them.
        """
        arrays = dict(self.arrays)
        if "attn_mask" in arrays and self.attributes.get("is_causal"):
            mask, rows = arrays["attn_mask"], arrays["q"].shape[-2]
            arrays["attn_mask"] = np.broadcast_to(mask, (*mask.shape[:-2], rows, mask.shape[-1]))
        found = _run(self.model, self.outputs, arrays)
        if "qk_matmul_output" in self.outputs and self.attributes.get("qk_matmul_output_mode", 0) == 0:
            uncapped = {name: value for name, value in self.attributes.items() if name != "softcap"}
            model = replace(self, attributes=uncapped).model
            found["qk_matmul_output"] = _run(model, self.outputs, arrays)["qk_matmul_output"]
        return found


def _run(model: ModelProto, outputs: Sequence[str], arrays: dict[str, Array]) -> dict[str, Array]:
    with np.errstate(all="ignore"):
        return dict(zip(outputs, ReferenceEvaluator(model).run(None, arrays), strict=True))


def of_text(text: str, opset: int = 25) -> ModelProto:
    """A model in the text that ONNX has for its models, without what it begins with."""
    return parser.parse_model(f'<ir_version: 11, opset_import: ["": {opset}]>\n{text}')


@st.composite
def drawn(draw: st.DrawFn) -> Drawn:
    """A node with any of the inputs and attributes that it may have, and a call."""
    dtype = np.dtype(draw(st.sampled_from(["float64", "float32"])))
    opset = draw(st.sampled_from([25, 25, 24, 23]))
    few, some = st.integers(1, 2), st.integers(1, 4)
    b, kv, group, m, n, d, e = draw(st.tuples(few, few, st.sampled_from([1, 1, 2, 3]), some, some, some, some))
    cache = draw(st.sampled_from(["", "past", "counted"] if opset >= 24 else ["", "past"]))
    past = draw(st.integers(0, 3)) if cache == "past" else 0
    numbers = np.random.default_rng(draw(st.integers(0, 2**32)))

    def floats(*shape: int) -> Array:
        return numbers.standard_normal(shape).astype(dtype)

    arrays = {"q": floats(b, kv * group, m, d), "k": floats(b, kv, n, d), "v": floats(b, kv, n, e)}
    attributes: dict[str, Any] = {}
    if draw(st.booleans()):
        arrays = {name: x.swapaxes(1, 2).reshape(b, x.shape[2], -1) for name, x in arrays.items()}
        attributes |= {"q_num_heads": kv * group, "kv_num_heads": kv}
    if draw(st.booleans()):
        keys = draw(st.integers(1, past + n)) if opset >= 24 else past + n
        shape = [draw(st.sampled_from([1, extent])) for extent in (b, kv * group, m)]
        shape = [*shape, keys][-draw(st.integers(1, 4)) :]
        seen = numbers.random(shape) < draw(st.sampled_from([0.3, 0.8]))
        kinds = [seen, np.where(seen, floats(*shape), -np.inf).astype(dtype), floats(*shape)]
        arrays["attn_mask"] = draw(st.sampled_from(kinds))
    if cache == "past":
        arrays |= {"past_key": floats(b, kv, past, d), "past_value": floats(b, kv, past, e)}
    if cache == "counted":
        arrays["nonpad_kv_seqlen"] = numbers.integers(0, n + 1, b)
    for name, values in {
        "is_causal": [0, 1],
        "scale": [0.0, 0.25, 0.5625] if dtype == np.float64 else [0.7, d**-0.5],  # a root that f32 holds, or any
        "softcap": [0.0, 0.5, 3.0],
        **({"left_window_size": [-1, 0, 1, 2], "right_window_size": [-1, 0, 1]} if opset >= 25 else {}),
        "qk_matmul_output_mode": [0, 1, 2, 3],
        "softmax_precision": [11] if dtype == np.float64 else [1],
    }.items():
        if draw(st.booleans()):
            attributes[name] = draw(st.sampled_from(values))
    outputs = [name for name in OUTPUTS if name == "o" or draw(st.booleans())]
    return Drawn(opset, arrays, outputs, attributes, draw(st.booleans()))
