"""Calls with torch tensors, and the operator that torch's own tools see."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import attndsl
from attndsl.op import errors

EXAMPLES = Path(__file__).parents[2] / "examples"


def tensors(m: int = 5, n: int = 7, dtype: Any = None) -> dict[str, Any]:
    random = torch.Generator().manual_seed(0)
    shapes = {"q": (2, 4, m, 8), "k": (2, 2, n, 8), "v": (2, 2, n, 6)}
    return {name: torch.randn(shape, generator=random).to(dtype or torch.float32) for name, shape in shapes.items()}


def registered(op: Any) -> Any:
    return getattr(torch.ops.attndsl, op.key).default


def test_a_tensor_for_a_tensor(gqa: Any) -> None:
    op, _ = gqa
    given = tensors()
    o = op(**given)
    assert isinstance(o, torch.Tensor)
    np.testing.assert_array_equal(o.numpy(), op(**{name: tensor.numpy() for name, tensor in given.items()}))


@pytest.mark.parametrize("shape", [(0, 2, 4, 32), (1, 2, 0, 32), (1, 2, 4, 32), (1, 2, 400, 32)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_outputs_lie_as_torch_lays_out_new_tensors(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    """Without elements, too, and whether they are small or not."""
    q = torch.zeros(shape, dtype=dtype)
    assert attndsl.load("mha")(q, q, q).stride() == torch.empty(shape).stride()


def test_strides_are_taken_as_they_are(gqa: Any) -> None:
    op, _ = gqa
    given = tensors()
    strided = {name: tensor.transpose(1, 3).contiguous().transpose(1, 3) for name, tensor in given.items()}
    strided["k"] = strided["k"][:1].expand(2, -1, -1, -1)
    given["k"] = strided["k"].contiguous()
    assert torch.equal(op(**strided), op(**given))


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_element_types(gqa: Any, name: str) -> None:
    op, compiler = gqa
    dtype = getattr(torch, name)
    o = op(**tensors(dtype=dtype))
    assert o.dtype == dtype
    torch.testing.assert_close(o.double(), op(**tensors(dtype=torch.float64)), rtol=0.05, atol=0.2)
    assert compiler.compiled[0]["T"] in ("f16", "bf16", "f32", "f64")


def test_indices_are_of_either_width() -> None:
    """Those of 64 bits are what torch makes by itself."""
    op, given = attndsl.load(EXAMPLES / "topk_sparse.attn"), tensors()
    latents = {"c": given["k"][:, 0], "k_rope": given["v"][:, 1], "q_rope": given["q"][..., :6]}
    index = torch.tensor([[[3, -1, 0]] * 5] * 2)
    assert index.dtype == torch.int64
    o = op(q=given["q"], index=index, **latents)
    assert torch.equal(o, op(q=given["q"], index=index.int(), **latents))
    with pytest.raises(errors.WrongElement, match="I, that is i32 or i64"):
        op(q=given["q"], index=index.short(), **latents)


def test_what_is_written_has_its_own_type() -> None:
    op = attndsl.load(EXAMPLES / "quantise_int8.attn")
    k = torch.randn(2, 3, 4, 5, generator=torch.Generator().manual_seed(0))
    quantised = op(k=k)
    assert (quantised.k_int.dtype, quantised.k_scale.dtype) == (torch.int8, torch.float32)
    scale = k.abs().amax(-1) / 127
    assert torch.equal(quantised.k_int, (k / scale[..., None]).round().to(torch.int8))


def test_names_that_python_reserves_and_several_outputs(odd: Any) -> None:
    op, _ = odd
    given = {
        "is": torch.tensor([1.0, 2.0]).to(torch.float8_e4m3fn),
        "cu": torch.zeros(3, dtype=torch.int32),
        "bits": torch.zeros(5, dtype=torch.uint8),
    }
    outputs = op(**given, in_=True)
    assert outputs._fields == ("_0", "lse")
    assert torch.equal(outputs.lse, torch.ones(3, dtype=torch.bfloat16))
    np.testing.assert_array_equal(outputs[0], [0x38, 0x40])
    compiled = torch.compile(lambda given: op(**given, in_=True), fullgraph=True, backend="aot_eager")
    assert torch.equal(compiled(given).lse, outputs.lse)


def test_mistakes_are_told_as_with_arrays(gqa: Any) -> None:
    op, _ = gqa
    given = tensors()
    with pytest.raises(errors.DimsDiffer, match=r"^v has N = 6 \(dimension 2\), but k says N = 7 \(dimension 2\)$"):
        op(**{**given, "v": given["v"][:, :, 1:]})
    with pytest.raises(errors.MixedFrameworks, match=r"^q is a torch tensor, but k is a NumPy array: "):
        op(**{**given, "k": given["k"].numpy()})
    with pytest.raises(errors.WrongElement, match=r"^q holds torch\.complex64, but gqa wants T, that is f16, "):
        op(**{**given, "q": given["q"].to(torch.complex64)})


def fake(shapes: dict[str, Any], **devices: str) -> dict[str, Any]:
    """Tensors without memory, on devices that this machine need not have."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        return {name: torch.empty(tensor.shape, device=devices.get(name, "cuda")) for name, tensor in shapes.items()}


def test_outputs_are_where_inputs_are(gqa: Any) -> None:
    op, compiler = gqa
    o = op(**fake(tensors()))
    assert (str(o.device), o.shape) == ("cuda:0", (2, 4, 5, 6))
    assert compiler.compiled == []


def test_inputs_on_several_devices_are_refused(gqa: Any) -> None:
    op, _ = gqa
    with pytest.raises(errors.DevicesDiffer) as caught:
        op(**fake(tensors(), k="cpu"))
    assert str(caught.value) == "k is on cpu, but q is on cuda:0: give all inputs of gqa on one device"


def test_other_devices_are_refused(gqa: Any) -> None:
    op, _ = gqa
    with pytest.raises(errors.WrongDevice) as caught:
        op(**fake(tensors(), q="mps", k="mps", v="mps"))
    message = "q is on mps:0, but gqa computes on CPUs and on GPUs that torch calls cuda; pass q.cpu()"
    assert str(caught.value) == message


def test_shapes_are_known_without_computing(gqa: Any) -> None:
    op, compiler = gqa
    o = op(**{name: tensor.to("meta") for name, tensor in tensors(dtype=torch.bfloat16).items()})
    assert (o.device.type, o.shape, o.dtype) == ("meta", (2, 4, 5, 6), torch.bfloat16)
    assert compiler.compiled == []


def test_torch_finds_the_operator_sound(gqa: Any) -> None:
    op, _ = gqa
    given = tensors()
    op(**given)
    torch.library.opcheck(registered(op), (*given.values(), 3, 2.0))


@pytest.mark.parametrize("dynamic", [False, True])
def test_torch_compile_keeps_it_whole(gqa: Any, dynamic: bool) -> None:
    from torch._dynamo.testing import CompileCounterWithBackend

    op, compiler = gqa
    torch._dynamo.reset()
    graphs = CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(
        lambda q, k, v, window: op(q=q * 2, k=k, v=v, window=window) + 1,
        fullgraph=True,
        backend=graphs,
        dynamic=dynamic or None,
    )
    for n in (7, 9, 12, 20):
        given = tensors(n=n)
        expected = op(**{**given, "q": given["q"] * 2}, window=n - 3) + 1
        assert torch.equal(compiled(**given, window=n - 3), expected)
    assert graphs.frame_count <= 2
    assert registered(op) in {node.target for graph in graphs.graphs for node in graph.graph.nodes}
    assert compiler.compiled == [{"T": "f32"}]


def test_torch_export_keeps_it_whole() -> None:
    """By its text, which another process can read, on one line: some write it into comments of generated code."""
    op = attndsl.load("gqa")

    class Attention(torch.nn.Module):
        def forward(self, q: Any, k: Any, v: Any) -> Any:
            return op(q=q, k=k, v=v)

    program = torch.export.export(Attention(), tuple(tensors().values()))
    (node,) = (node for node in program.graph.nodes if node.target is torch.ops.attndsl.call.default)
    assert node.args[0].encode().decode("unicode_escape") == op.spec.text
    assert "\n" not in node.args[0]
    assert torch.equal(program.module()(*tensors().values()), op(**tensors()))


def test_what_is_compiled_in_this_process_names_its_operator() -> None:
    """A text is for programs that leave it: Dynamo of torch 2.11 takes all that it traces for these."""
    op, seen = attndsl.load("gqa"), list[Any]()

    def backend(graph: Any, inputs: Any) -> Any:
        seen.extend(node.target for node in graph.graph.nodes if node.op == "call_function")
        return graph.forward

    torch._dynamo.reset()
    compiled = torch.compile(lambda q, k, v: op(q=q, k=k, v=v), backend=backend, fullgraph=True)
    assert torch.equal(compiled(**tensors()), op(**tensors()))
    assert seen
    assert torch.ops.attndsl.call.default not in seen


def test_torch_may_come_after_the_operator_and_first_meet_it_while_compiling() -> None:
    program = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import conftest
from attndsl.op import binding
from attndsl.op.op import Op
from attndsl.syntax.source import Source
compiler = conftest.Compiler(conftest.GQA, conftest.GQA_SOURCE)
binding.signature_of, binding.artifact_of = compiler.signature_of, compiler.artifact_of
op = Op(Source("later"))
assert "torch" not in sys.modules
import torch
from attndsl.op import torch_op
assert not torch_op._registered
q, k, v = (torch.ones(shape) for shape in ((1, 2, 3, 4), (1, 2, 5, 4), (1, 2, 5, 4)))
compiled = torch.compile(lambda q, k, v: op(q=q, k=k, v=v), fullgraph=True, backend="eager")
assert torch.equal(compiled(q, k, v), op(q=q, k=k, v=v))
"""
    subprocess.run([sys.executable, "-c", program], check=True)
