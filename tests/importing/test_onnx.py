"""Attention nodes of ONNX models, imported: the text is a golden, and computes what ONNX's reference evaluator does."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from onnx import ModelProto, TensorProto, checker, helper
from onnx.reference import ReferenceEvaluator

import attndsl
from attndsl.checking.check import check
from attndsl.reference import reference
from attndsl.syntax.format import format_text
from attndsl.syntax.source import Source
from tests.importing.onnx_models import Array, Drawn, drawn, of_text

GOLDENS = Path(__file__).parent / "goldens"

HEADS = "(float[B, 8, M, 16] q, float[B, 2, N, 16] k, float[B, 2, N, 12] v"
FLAT = "(float[B, M, 128] q, float[B, N, 32] k, float[B, N, 24] v"

MODELS = {
    "onnx_plain": "plain (float[B, H, M, 16] q, float[B, H, N, 16] k, float[B, H, N, 16] v) => (float[B, H, M, 16] o)"
    "{ [node] o = Attention (q, k, v) }",
    "onnx_window": f"window {HEADS}) => (float[B, 8, M, 12] o)"
    "{ [node] o = Attention <is_causal = 1, left_window_size = 3, softcap = 2.5, scale = 0.2> (q, k, v) }",
    "onnx_mask": f"mask {HEADS}, bool[B, 1, M, N] attn_mask) => (float[B, 8, M, 12] o)"
    "{ [node] o = Attention <scale = 0.25> (q, k, v, attn_mask) }",
    "onnx_bias": f"bias {HEADS}, float[8, M, K] attn_mask) => (float[B, 8, M, 12] o)"
    "{ [node] o = Attention <left_window_size = 2, right_window_size = 1> (q, k, v, attn_mask) }",
    "onnx_types": "types (float16[1, 2, M, 4] q, float16[1, 2, N, 4] k, float[1, 2, N, 4] v, double[M, N] attn_mask)"
    "=> (float16[1, 2, M, 4] o) { [node] o = Attention <softmax_precision = 1> (q, k, v, attn_mask) }",
    "onnx_cache": f"cache {FLAT}, float[B, 2, P, 16] past_key, float[B, 2, P, 12] past_value)"
    "=> (float[B, M, 96] o, float[B, 2, T, 16] present_key, float[B, 2, T, 12] present_value)"
    "{ [node] o, present_key, present_value = Attention <q_num_heads = 8, kv_num_heads = 2, is_causal = 1>"
    '(q, k, v, "", past_key, past_value) }',
    "onnx_lengths": f"lengths {HEADS}, bool[M, K] attn_mask, int64[B] nonpad_kv_seqlen) =>"
    "(float[B, 8, M, 12] o, float[B, 8, M, N] qk_matmul_output)"
    '{ [node] o, "", "", qk_matmul_output = Attention <is_causal = 1, left_window_size = 4, qk_matmul_output_mode = 2>'
    '(q, k, v, attn_mask, "", "", nonpad_kv_seqlen) }',
    "onnx_capped": f"capped {FLAT}) => (float[B, M, 96] o, float[B, 8, M, N] qk_matmul_output)"
    '{ [node] o, "", "", qk_matmul_output = Attention'
    "<q_num_heads = 8, kv_num_heads = 2, softcap = 4.0, qk_matmul_output_mode = 1> (q, k, v) }",
    "onnx_weights": f"weights {HEADS}, int64[B] nonpad_kv_seqlen) =>"
    "(float[B, 8, M, 12] o, float[B, 8, M, N] qk_matmul_output)"
    '{ [node] o, "", "", qk_matmul_output = Attention <is_causal = 1, qk_matmul_output_mode = 3>'
    '(q, k, v, "", "", "", nonpad_kv_seqlen) }',
}

SIZES: dict[str, int] = {"B": 2, "H": 3, "M": 5, "N": 9, "P": 4, "K": 7}


def call(model: ModelProto, numbers: np.random.Generator) -> dict[str, Array]:
    """Arrays for each input of a model, of the sizes that its extents are called by."""
    arrays: dict[str, Array] = {}
    for info in model.graph.input:
        tensor = info.type.tensor_type
        shape = [dim.dim_value or SIZES[dim.dim_param] for dim in tensor.shape.dim]
        array = numbers.standard_normal(shape).astype(helper.tensor_dtype_to_np_dtype(tensor.elem_type))
        arrays[info.name] = array > 0 if tensor.elem_type == TensorProto.BOOL else array
        if tensor.elem_type == TensorProto.INT64:
            arrays[info.name] = np.arange(6, 6 + len(array))
    return arrays


def results(found: Any) -> list[Array]:
    return [np.asarray(each) for each in (found if isinstance(found, tuple) else (found,))]


@pytest.mark.parametrize("name", MODELS)
def test_round_trip(name: str, golden: Callable[[Path, str], None]) -> None:
    model = of_text(MODELS[name])
    checker.check_model(model, full_check=True)
    (text,) = attndsl.from_onnx(model).values()
    golden(GOLDENS / f"{name}.attn", text)
    assert format_text(Source(text)) == text
    arrays = call(model, np.random.default_rng(0))
    evaluator = ReferenceEvaluator(model)
    wanted = dict(zip(evaluator.output_names, evaluator.run(None, arrays), strict=True))
    op = attndsl.compile(text)
    assert [tensor.name for tensor in op.signature.outputs] == list(wanted)
    assert [tensor.name for tensor in op.signature.inputs] == list(arrays)
    tolerance = 2e-3 if arrays["q"].dtype == np.float16 else 3e-5
    tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
    for found in (results(op(**arrays)), results(op(*arrays.values())), results(op(**tensors))):
        for array, of_onnx in zip(found, wanted.values(), strict=True):
            np.testing.assert_allclose(array, of_onnx, rtol=tolerance, atol=tolerance)


def agree(case: Drawn, compute: Callable[[str], dict[str, Array]]) -> None:
    (text,) = attndsl.from_onnx(case.model).values()
    tolerance = 1e-9 if case.arrays["q"].dtype == np.float64 else 3e-5
    wanted, found = case.wanted(), compute(text)
    assert list(found) == list(wanted)
    for name in wanted:
        np.testing.assert_allclose(found[name], wanted[name], tolerance, tolerance, err_msg=f"{name} of\n{text}")


@given(drawn())
@settings(max_examples=20, deadline=None)
def test_drawn_nodes(case: Drawn) -> None:
    agree(case, lambda text: reference(check(Source(text)), case.arrays))


@pytest.mark.matrix
@given(drawn())
@settings(max_examples=400, deadline=None)
def test_more_drawn_nodes(case: Drawn) -> None:
    agree(case, lambda text: reference(check(Source(text)), case.arrays))


@pytest.mark.matrix
@given(drawn())
@settings(max_examples=200, deadline=None)
def test_drawn_nodes_compiled(case: Drawn) -> None:
    def compiled(text: str) -> dict[str, Array]:
        op = attndsl.compile(text)
        return dict(zip([tensor.name for tensor in op.signature.outputs], results(op(**case.arrays)), strict=True))

    agree(case, compiled)


def test_what_is_absent_is_not_read() -> None:
    """ONNX says nothing of NaN behind the lengths: 0 times NaN is NaN there, and no key here."""
    (text,) = attndsl.from_onnx(of_text(MODELS["onnx_lengths"])).values()
    arrays = call(of_text(MODELS["onnx_lengths"]), np.random.default_rng(0))
    op = attndsl.compile(text)
    wanted = results(op(**arrays))
    arrays["k"][0, :, 6:], arrays["v"][0, :, 6:] = np.nan, np.inf
    for found, before in zip(results(op(**arrays)), wanted, strict=True):
        np.testing.assert_array_equal(found, before)


# --- models of several nodes

LAYERS = """layers (float[B, 2, M, 4] q, float[B, 2, M, 4] k, float[B, 2, M, 4] v, bool choose)
    => (float[B, 2, M, 4] o)
{
    [one] x = Attention <is_causal = 1> (q, k, v)
    y, dead, dead_too, dead_scores = Attention <is_causal = 1, softcap = 0.0, left_window_size = -1> (x, k, v)
    [one] z = Attention <is_causal = 1, left_window_size = 8, right_window_size = 3> (y, k, v)
    o = If (choose) <
        then_branch = then () => (float[B, 2, M, 4] t) { [two] t = Attention <is_causal = 1> (z, k, v) },
        else_branch = other () => (float[B, 2, M, 4] e) { e = Identity (z) }
    >
}"""


def test_nodes_that_mean_the_same_share_a_text() -> None:
    texts = attndsl.from_onnx(of_text(LAYERS))
    assert list(texts) == ["one", "y", "z", "two"]
    assert texts["one"] is texts["y"] is texts["two"] is not texts["z"]
    assert texts["one"].startswith("# From ONNX: one, y and two.\nattention layers {\n")
    assert "attention layers_2(left: int = 8) {" in texts["z"]
    assert attndsl.from_onnx(of_text(LAYERS), nodes=["z"], name="near")["z"] == texts["z"].replace("layers_2", "near")


def test_many_nodes_are_counted() -> None:
    nodes = "".join(f"[layer_{n}] x{n} = Attention (q, k, v) " for n in range(40))
    model = of_text(f"deep {HEADS}) => (float[B, 8, M, 12] x0) {{ {nodes} }}")
    texts = attndsl.from_onnx(model)
    assert len(texts) == 40
    assert texts["layer_0"].startswith("# From ONNX: layer_0, layer_1, layer_2 and 37 more.\n")


def test_functions_are_looked_into() -> None:
    text = f"""calls {HEADS}) => (float[B, 8, M, 12] o) {{ o = local.attend <wide = 0.5> (q, k, v) }}
        <domain: "local", opset_import: ["": 25]> attend <wide> (q, k, v) => (o)
        {{ [inner] o = Attention <scale: float = @wide> (q, k, v) }}"""
    model = of_text(text)
    model.opset_import.append(helper.make_opsetid("local", 1))
    (found,) = attndsl.from_onnx(model).values()
    assert "scale: f32 = 0.5" in found and "let g = h / (Hq / Hkv)" in found


# --- what a spec cannot say, or what ONNX gives no meaning

Q4 = "float[B, 8, M, 16] q, float[B, 2, N, 16] k, float[B, 2, N, 16] v"


def one(
    attributes: str = "", inputs: str = Q4, given: str = "q, k, v", op: str = "Attention", opset: int = 25
) -> ModelProto:
    """A model of one node."""
    asked = f"<{attributes}>" if attributes else ""
    return of_text(f"one ({inputs}) => (float[] o) {{ [layer_7] o = {op} {asked} ({given}) }}", opset)


def microsoft() -> ModelProto:
    model = one("num_heads = 8, kv_num_heads = 2", op="com.microsoft.PackedAttention")
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    return model


REFUSED: dict[str, Callable[[], ModelProto]] = {
    "attribute": lambda: one("window = 3"),
    "attribute_of_a_later_opset": lambda: one("left_window_size = 3", opset=24),
    "attribute_type": lambda: one("scale = 1"),
    "cap": lambda: one("softcap = -2.0"),
    "causal": lambda: one("is_causal = 2"),
    "double": lambda: one("softmax_precision = 11"),
    "flat": lambda: one(inputs="float[B, M, 64] q, float[B, N, 64] k, float[B, N, 64] v"),
    "half_a_past": lambda: one(inputs=f"{Q4}, float[B, 2, P, 16] past", given='q, k, v, "", past'),
    "heads": lambda: one(inputs="float[B, 8, M, 4] q, float[B, 3, N, 4] k, float[B, 3, N, 4] v"),
    "heads_of_four_dims": lambda: one("q_num_heads = 8, kv_num_heads = 2"),
    "inputs": lambda: one(inputs=f"{Q4}, int64[B] n", given='q, k, v, "", "", "", n', opset=23),
    "integers": lambda: one(inputs="int32[B, 8, M, 4] q, int32[B, 8, N, 4] k, int32[B, 8, N, 4] v"),
    "lengths_of_a_past": lambda: one(
        inputs=f"{Q4}, float[B, 2, P, 16] a, float[B, 2, P, 16] b, int64[B] n", given='q, k, v, "", a, b, n'
    ),
    "mask_of_integers": lambda: one(inputs=f"{Q4}, int64[M, N] m", given="q, k, v, m"),
    "mask_of_unknown_shape": lambda: one(inputs=f"{Q4}, bool[] m", given="q, k, v, m"),
    "mode": lambda: of_text(
        f'one ({Q4}) => (float[] o, float[] s) {{ o, "", "", s = Attention <qk_matmul_output_mode = 4> (q, k, v) }}'
    ),
    "no_values": lambda: one(given="q, k"),
    "old": lambda: one(opset=22),
    "other_operator": microsoft,
    "preview": lambda: one(op="FlexAttention"),
    "ranks": lambda: one(inputs="float[B, 8, M, 4] q, float[B, N, 64] k, float[B, N, 64] v"),
    "rows": lambda: one("q_num_heads = 7, kv_num_heads = 2", inputs="float[B, M, 56] q, float[B, N, 64] k, float[] v"),
    "scale": lambda: one("scale = -0.5"),
    "types": lambda: one(inputs="float[B, 8, M, 4] q, double[B, 8, N, 4] k, float[B, 8, N, 4] v"),
    "window": lambda: one("left_window_size = -2"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str, golden: Callable[[Path, str], None]) -> None:
    with pytest.raises(attndsl.CannotImport) as raised:
        attndsl.from_onnx(REFUSED[name]())
    golden(Path(__file__).parent / "refused" / f"onnx_{name}.err", f"{raised.value}\n")


def test_all_that_cannot_be_said_is_named() -> None:
    nodes = "[a] x = Attention <scale = -1.0> (q, k, v) [b] y = Attention (x, k, v)"
    nodes += " [c] o = Attention <softcap = -1.0> (y, k, v)"
    model = of_text(f"some ({Q4}) => (float[B, 8, M, 16] o) {{ {nodes} }}")
    with pytest.raises(attndsl.CannotImport) as raised:
        attndsl.from_onnx(model)
    assert str(raised.value).splitlines() == [
        "a: scale=-1.0: ONNX takes its root",
        "c: softcap=-1.0: it is a number above 0, or 0 for none",
        "The others can be imported by name: b",
    ]
    assert list(attndsl.from_onnx(model, nodes=["b"])) == ["b"]
    with pytest.raises(attndsl.CannotImport, match="there is no Attention node d: there are a, b and c"):
        attndsl.from_onnx(model, nodes=["b", "d"])


# --- files from anywhere


def refused(path: Path) -> str:
    with pytest.raises(attndsl.CannotImport) as raised:
        attndsl.from_onnx(path)
    return str(raised.value)


def test_files_that_are_no_models(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    for content in (b"no model at all\n", b"\xff" * 100, MODELS["onnx_plain"].encode()):
        path.write_bytes(content)
        assert refused(path) == f"{path} is no ONNX model"
    path.write_bytes(b"")
    assert refused(path).startswith("the model has no Attention node")
    model = of_text("add (float[M] q) => (float[M] o) { o = Add (q, q) }", 17)
    path.write_bytes(model.SerializeToString())
    assert refused(path) == "the model has no Attention node: exporters write them from opset 23 on, and this is of 17"
    with pytest.raises(FileNotFoundError):
        attndsl.from_onnx(tmp_path / "none.onnx")


def test_broken_files_are_refused_in_words(tmp_path: Path) -> None:
    """Some byte of a model is another: it is read, or refused, and nothing else is raised."""
    chance, whole = random.Random(0), of_text(MODELS["onnx_lengths"]).SerializeToString()
    refusals: set[str] = set()
    for _ in range(60):
        content = bytearray(whole)
        content[chance.randrange(len(content))] = chance.randrange(256)
        (tmp_path / "model.onnx").write_bytes(content)
        try:
            attndsl.from_onnx(tmp_path / "model.onnx")
        except attndsl.CannotImport as error:
            refusals.add(str(error))
    assert len(refusals) > 10
    assert all(line.isprintable() for said in refusals for line in said.splitlines())


def test_a_cycle_of_functions() -> None:
    text = """cycle (float[M] q) => (float[M] o) { o = local.f (q) }
        <domain: "local", opset_import: ["local": 1]> f (x) => (y) { y = local.f (x) }"""
    model = of_text(text)
    model.opset_import.append(helper.make_opsetid("local", 1))
    with pytest.raises(attndsl.CannotImport, match=r"^ONNX cannot read this model: "):
        attndsl.from_onnx(model)


def test_names_from_a_file_stay_in_their_comment() -> None:
    model = of_text(MODELS["onnx_plain"])
    model.graph.node[0].name = "a\n} attention b {\x1b[31m\u202e" + "c" * 1000
    model.graph.name = "b\n} {; " + "d" * 1000
    (text,) = attndsl.from_onnx(model).values()
    first, second = text.splitlines()[:2]
    assert first.startswith(r"# From ONNX: a\n} attention b {\x1b[31m\u202eccc") and len(first) < 120
    assert second.startswith("attention b_ddd") and len(second) < 120
    attndsl.compile(text)


def test_other_files_are_not_read(tmp_path: Path) -> None:
    model = of_text(f"external ({Q4}) => (float[B, 8, M, 16] o) {{ x = Reshape (q, w) o = Attention (q, k, v) }}")
    weights = TensorProto(name="w", data_type=TensorProto.INT64, dims=[2], data_location=TensorProto.EXTERNAL)
    for location in ("none.bin", "/etc/passwd", "../../secret"):
        del weights.external_data[:]
        weights.external_data.add(key="location", value=location)
        del model.graph.initializer[:]
        model.graph.initializer.append(weights)
        (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
        assert list(attndsl.from_onnx(tmp_path / "model.onnx")) == ["o"]


def test_weights_are_left_alone(tmp_path: Path) -> None:
    """Shapes of what large weights make are found without the weights; a model that is given stays as it is."""
    model = of_text("""weighted (float[1, 2, 3, 64] q, float[1, 2, 5, 64] k) => (float[1, 2, 3, 64] o) {
        x = MatMul (k, w) m = Slice (mask, zero, rows, axes) o = Attention (q, k, x, m) }""")
    arrays = {"w": np.eye(64, dtype=np.float32), "mask": np.ones((80, 5), bool)}
    arrays |= {"zero": np.array([0]), "rows": np.array([3]), "axes": np.array([0])}
    model.graph.initializer.extend(
        helper.make_tensor(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape, x.tobytes(), raw=True)
        for name, x in arrays.items()
    )
    before = model.SerializeToString()
    (tmp_path / "weighted.onnx").write_bytes(before)
    texts = attndsl.from_onnx(tmp_path / "weighted.onnx")
    assert texts == attndsl.from_onnx(model)
    assert "attn_mask : bool[M?, N]" in texts["o"] and "dims B, H, M" in texts["o"]
    assert model.SerializeToString() == before
