"""Outputs whose axes lie in memory as those of an input do, where the schedule says so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import attndsl
from attndsl.checking.layouts import Counterparts, counterparts
from attndsl.op import gpu, layouts, torch_tensors
from attndsl.op.op import Op
from attndsl.op.plan import Output

TEXT = """
attention laid(scale: f32 = 1.0 / sqrt(D)) {
    dims B, Hq, Hkv, M, N, D, E
    types T

    input  q     : T[B, Hq,  M, D]
    input  k     : T[B, Hkv, N, D]
    input  v     : T[B, Hkv, N, E]
    input  shift : f32[Hq] = 0.0
    output o     : T[B, Hq, M, E]
    output lse   : f32[B, Hq, M]

    require Hq % Hkv == 0
    schedule { layout = q }

    each b in B, h in Hq, i in M
    over j in N

    let g = h / (Hq / Hkv)
    score = scale * q[b,h,i,:] . k[b,g,j,:] + shift[h] * j
    mask  = j <= i + (N - M)

    o[b,h,i,:] = softmax(score, mask) . v[b,g,j,:]
    lse[b,h,i] = logsumexp(score, mask)
}
"""


@pytest.fixture(scope="module")
def op() -> Op:
    return attndsl.compile(TEXT)


@pytest.fixture(scope="module")
def declared() -> Op:
    """The same, whose outputs lie as they are declared."""
    return attndsl.compile(TEXT.replace("schedule { layout = q }", ""))


def inputs(rows: int = 5, batch: int = 2) -> dict[str, torch.Tensor]:
    """Queries as a projection makes them: rows before heads in memory."""
    torch.manual_seed(0)
    q = torch.randn(batch, rows, 4, 8).transpose(1, 2)
    return {"q": q, "k": torch.randn(batch, 2, 7, 8), "v": torch.randn(batch, 2, 7, 6)}


@pytest.mark.parametrize(
    ("output", "input_", "found"),
    [
        ("BHME", "BHMD", (0, 1, 2, 3)),
        ("BMHE", "BHMD", (0, 2, 1, 3)),  # an output may be declared in another order
        ("BHM", "BHMD", (0, 1, 2)),
        ("BGND", "BHMD", (0, 1, 2, 3)),
        ("BHNN", "BHND", (0, 1, 2, 3)),
        ("LBHME", "BHMD", (None, 0, 1, 2, 3)),
        ("BHMKE", "BHMD", None),
        ("BHME", "BHDM", None),
        ("BGRM", "BHMD", None),
        ("", "BHMD", None),
        ("BH", "", None),
    ],
)
def test_axes_belong_together_by_their_extents(output: str, input_: str, found: Counterparts | None) -> None:
    assert counterparts([("dim", each) for each in output], [("dim", each) for each in input_]) == found


@pytest.mark.parametrize(
    ("strides", "order"),
    [
        ((160, 40, 8, 1), (0, 1, 2, 3)),
        ((160, 8, 32, 1), (0, 2, 1, 3)),
        ((-160, -8, 32, -1), (0, 2, 1, 3)),
        ((8, 8, 8, 1), (0, 1, 2, 3)),  # extents of 1: as they are declared
        ((0, 8, 32, 1), (0, 2, 1, 3)),
        ((40, 0, 8, 1), (0, 1, 2, 3)),
        ((1, 4, 16, 64), (3, 2, 1, 0)),
    ],
)
def test_axes_lie_from_long_strides_to_short_ones(strides: tuple[int, ...], order: tuple[int, ...]) -> None:
    assert tuple(layouts._outermost_first(strides)) == order


def test_the_copy_of_attention_modules_is_none(op: Op, declared: Op) -> None:
    given = inputs()
    o, lse = op(**given)
    expected, expected_lse = declared(**given)
    assert o.shape == (2, 4, 5, 6) and torch.equal(o, expected) and torch.equal(lse, expected_lse)
    assert o.transpose(1, 2).reshape(2, 5, -1).data_ptr() == o.data_ptr()
    assert lse.stride() == (20, 1, 4)
    assert expected.is_contiguous()


def test_the_layout_is_that_of_each_call(op: Op) -> None:
    given = inputs()
    for _ in range(2):  # the second calls are those of plans
        assert op(**given)[0].stride() == (120, 6, 24, 1)
        assert op(**{**given, "q": given["q"].contiguous()})[0].is_contiguous()
        assert op(**inputs(rows=1))[0].transpose(1, 2).is_contiguous()
        assert op(**inputs(rows=0))[0].shape == (2, 4, 0, 6)


def test_arrays_lie_so_too(op: Op, declared: Op) -> None:
    given = {name: tensor.numpy() for name, tensor in inputs().items()}
    for _ in range(2):
        o, _ = op(**given)
        assert o.transpose(0, 2, 1, 3).flags.c_contiguous
        np.testing.assert_array_equal(o, declared(**given)[0])
    turned = {**given, "q": given["q"][:, ::-1, ::-1]}
    np.testing.assert_array_equal(op(**turned)[0], declared(**turned)[0])
    assert op(**turned)[0].transpose(0, 2, 1, 3).flags.c_contiguous


def test_what_a_call_gives_stays_as_it_lies(op: Op, declared: Op) -> None:
    given = inputs()
    out = torch.empty(2, 4, 6, 5).mT, torch.empty(2, 4, 5)
    assert op(**given, out=out)[0] is out[0]
    assert torch.equal(out[0], declared(**given)[0])


def test_other_calls_of_torch_give_the_same_strides(op: Op) -> None:
    given = inputs()
    strides = [each.stride() for each in op(**given)]
    meta = {name: tensor.to("meta") for name, tensor in given.items()}
    assert [each.stride() for each in op(**meta)] == strides
    with torch._subclasses.FakeTensorMode() as mode:
        fakes = {name: mode.from_tensor(tensor) for name, tensor in given.items()}
        assert [each.stride() for each in op(**fakes)] == strides
    with torch.autocast("cpu", torch.bfloat16):
        assert op(**given)[0].stride() == (120, 6, 24, 1)


def module(op: Op, x: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Any:
    o, _ = op(x.transpose(1, 2), k, v)
    return o.transpose(1, 2).reshape(*x.shape[:2], -1) + 1


@pytest.mark.parametrize(
    ("backend", "dynamic"),
    [
        ("aot_eager", True),
        pytest.param("inductor", False, marks=pytest.mark.matrix),
        pytest.param("inductor", True, marks=pytest.mark.matrix),
    ],
)
def test_compiled_functions_know_it(op: Op, declared: Op, backend: str, dynamic: bool) -> None:
    compiled = torch.compile(module, fullgraph=True, backend=backend, dynamic=dynamic)
    for rows in (5, 6):
        q, k, v = inputs(rows).values()
        assert torch.equal(compiled(op, q.transpose(1, 2), k, v), module(declared, q.transpose(1, 2), k, v))


def test_an_exported_program_keeps_it(op: Op) -> None:
    class Module(torch.nn.Module):
        def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> tuple[torch.Tensor, ...]:
            return tuple(op(q, k, v))

    given = (*inputs().values(),)
    program: Any = torch.export.export(Module(), given)
    assert [each.stride() for each in program.module()(*given)] == [(120, 6, 24, 1), (20, 1, 4)]


def test_gradients_lie_so_too(op: Op, declared: Op) -> None:
    given, others = ({n: t.clone().requires_grad_() for n, t in inputs().items()} for _ in range(2))
    assert given["q"].stride() == (160, 8, 32, 1)
    o, lse = op(**given)
    assert o.stride() == (120, 6, 24, 1)
    (o.square().sum() + lse.sum()).backward()
    o, lse = declared(**others)
    (o.square().sum() + lse.sum()).backward()
    found = [given[name].grad for name in given]
    torch.testing.assert_close(found, [others[name].grad for name in given])
    assert found[0] is not None and found[0].stride() == given["q"].stride()


def test_a_batch_of_calls_has_its_axis_outside(op: Op, declared: Op) -> None:
    q, k, v = inputs().values()
    keys = torch.stack([k, 2 * k, 3 * k])
    found, expected = (torch.vmap(each, (None, 0, None))(q, keys, v)[0] for each in (op, declared))
    assert torch.equal(found, expected) and found.stride() == (240, 120, 6, 24, 1)
    queries = torch.stack([q.transpose(1, 2)] * 3, 1).transpose(2, 3)
    found, expected = (torch.vmap(each, (1, 0, None))(queries, keys, v)[0] for each in (op, declared))
    assert torch.equal(found, expected) and found.stride() == (120, 360, 6, 24, 1)  # as that of the queries lies


def test_calls_without_the_input_lie_as_declared(declared: Op) -> None:
    text = TEXT.replace("f32[Hq] = 0.0", "f32[B, Hq, M] = 0.0").replace("shift[h]", "shift[b,h,i]")
    op = attndsl.compile(text.replace("layout = q", "layout = shift"))
    given = inputs()
    o, lse = op(**given, shift=torch.zeros(2, 5, 4).mT)
    assert lse.stride() == (20, 1, 4) and o.is_contiguous()  # of o an axis has no counterpart
    assert torch.equal(o, declared(**given)[0])
    assert all(each.is_contiguous() for each in op(**given))


@pytest.mark.parametrize("partial", [False, True])
def test_memory_on_a_gpu(op: Op, partial: bool) -> None:
    """What a plan allocates, wherever it does."""
    bound = torch_tensors.check(op.signature, [*inputs().values(), torch.zeros(4)], {"scale": 1.0})
    made = gpu.GpuCalls(op.binding).outputs([*inputs().values()], bound, ())
    assert [each.strides for each in made.values()] == [(120, 6, 24, 1), (20, 1, 4)]
    tensor = Output((2, 3), torch.float32, torch.device("cpu"), partial, (1, 2)).allocate()
    assert tensor.stride() == (1, 2) and (not partial or not tensor.any())


def test_it_is_told(op: Op) -> None:
    assert op.artifact().schedule["layout"] == "o, lse in memory as q"
    assert "layout" not in op.ir("attn")
