"""What torch does with operators, on a real GPU: layouts, transforms, casts, compiled and exported programs.

`make test-gpu`. Each is held to the same call made plainly, most to the bit; of other specs and torch's own ways
`tests/op` has more, on a CPU.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.utils.cpp_extension

import attndsl
from attndsl.op import errors
from attndsl.op.op import Op

pytestmark = pytest.mark.gpu

TEXT = """
attention mannered(window: int = 4096) {
    dims B, Hq, Hkv, M, N, D, E
    types T

    input  q   : T[B, Hq,  M, D]
    input  k   : T[B, Hkv, N, D]
    input  v   : T[B, Hkv, N, E]
    output o   : T[B, Hq, M, E]
    output lse : f32[B, Hq, M]

    require Hq % Hkv == 0 and window > 0
    schedule { layout = q }

    each b in B, h in Hq, i in M
    over j in N

    let g = h / (Hq / Hkv)
    let p = i + (N - M)

    score = q[b,h,i,:] . k[b,g,j,:] / sqrt(D)
    mask  = p - window < j <= p

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


def qkv(rows: int = 200, keys: int = 300, *batch: int, dtype: torch.dtype = torch.bfloat16) -> list[torch.Tensor]:
    """Queries as a projection makes them, rows before heads in memory; keys and values."""
    random = torch.Generator("cuda").manual_seed(0)

    def some(*shape: int) -> torch.Tensor:
        return torch.randn(*batch, *shape, generator=random, device="cuda").to(dtype)

    return [some(2, rows, 8, 64).transpose(-2, -3), some(2, 2, keys, 64), some(2, 2, keys, 128)]


def module(op: Op, x: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Any:
    """What attention modules do behind it, of queries [B, M, H, D]."""
    o, lse = op(x.transpose(1, 2), k, v, window=100)
    return o.transpose(1, 2).reshape(*x.shape[:2], -1) + 1, lse


@pytest.mark.parametrize(("rows", "keys"), [(200, 300), (1, 3000), (1, 7), (0, 8)])
def test_outputs_lie_as_queries_do(op: Op, declared: Op, rows: int, keys: int) -> None:
    """In full calls, in those that split the keys, and without rows; the second time by a plan."""
    q, k, v = qkv(rows, keys)
    for _ in range(2):
        for queries in (q, q.contiguous()):
            found, wanted = op(queries, k, v), declared(queries, k, v)
            assert torch.equal(found.o, wanted.o) and torch.equal(found.lse, wanted.lse)
            assert wanted.o.is_contiguous()
            assert found.o.is_contiguous() or queries is q
        o = op(q, k, v).o
        assert o.transpose(1, 2).reshape(2, rows, 8 * 128).data_ptr() == o.data_ptr()


def test_a_graph_replays_such_a_call(op: Op) -> None:
    q, k, v = qkv()
    wanted = op(q, k, v).o
    graph: Any = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = op(q, k, v).o
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(found, wanted) and found.stride() == wanted.stride()


@pytest.mark.parametrize("dynamic", [False, True])
def test_a_compiled_function_gives_what_an_eager_one_does(op: Op, dynamic: bool) -> None:
    compiled = torch.compile(module, fullgraph=True, dynamic=dynamic)
    for rows in (200, 201):
        q, k, v = qkv(rows)
        for found, wanted in zip(
            compiled(op, q.transpose(1, 2), k, v), module(op, q.transpose(1, 2), k, v), strict=True
        ):
            assert torch.equal(found, wanted) and found.stride() == wanted.stride()


def test_gradients_lie_as_queries_do(op: Op, declared: Op) -> None:
    found, wanted = ([t.clone().requires_grad_() for t in qkv()] for _ in range(2))
    for each, inputs in ((op, found), (declared, wanted)):
        outputs = each(*inputs)
        (outputs.o.float().square().sum() + outputs.lse.sum()).backward()
    for got, expected in zip(found, wanted, strict=True):
        assert got.grad is not None and expected.grad is not None
        off = (got.grad.double() - expected.grad.double()).norm() / expected.grad.double().norm()
        assert off < 2e-2
    assert found[0].grad is not None and found[0].grad.stride() == found[0].stride()


@pytest.mark.parametrize("places", [(0, 0, 0), (0, None, None), (None, 0, 0)])
def test_a_batch_is_what_its_calls_are(op: Op, places: tuple[int | None, ...]) -> None:
    calls = qkv(20, 40, 3)
    batch = [each if place is not None else each[0] for each, place in zip(calls, places, strict=True)]
    found = torch.vmap(op, places)(*batch)
    for lane in range(3):
        one = [each if place is None else each[lane] for each, place in zip(batch, places, strict=True)]
        for got, wanted in zip(found, op(*one), strict=True):
            torch.testing.assert_close(got[lane], wanted, rtol=2e-2, atol=2e-2)


def test_a_batch_has_gradients(op: Op) -> None:
    q, k, v = (each.requires_grad_() for each in qkv(20, 40, 3))
    found = torch.autograd.grad(torch.vmap(op)(q, k, v)[0].float().square().sum(), (q, k, v))
    for lane in range(3):
        one = [each[lane].detach().requires_grad_() for each in (q, k, v)]
        for got, wanted in zip(found, torch.autograd.grad(op(*one)[0].float().square().sum(), one), strict=True):
            off = (got[lane].double() - wanted.double()).norm() / wanted.double().norm()
            assert off < 2e-2


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast_takes_floats_as_its_type(op: Op, dtype: torch.dtype) -> None:
    q, k, v = qkv(dtype=torch.float32)
    with torch.autocast("cuda", dtype):
        found = op(q, k, v.half())
    wanted = op(q.to(dtype), k.to(dtype), v.half().to(dtype))
    assert found.o.dtype is dtype and torch.equal(found.o, wanted.o)
    assert found.o.stride() == wanted.o.stride()


def test_work_is_counted(op: Op) -> None:
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter:
        op(*qkv())
    assert counter.get_total_flops() == 2 * 2 * 8 * 200 * 300 * (64 + 128)


def test_tangents_are_refused_in_words(op: Op) -> None:
    with pytest.raises(errors.TangentWanted):
        torch.func.jvp(lambda q: op(q, *qkv()[1:]).o, (qkv()[0],), (qkv()[0],))


class Exported(torch.nn.Module):
    def __init__(self, op: Op) -> None:
        super().__init__()
        self.op = op

    def forward(self, x: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Any:
        return tuple(module(self.op, x, k, v))


LOAD = {
    "program": "torch.export.load(path).module()",
    "package": "torch._inductor.aoti_load_package(path)",
}
"""How a process that has never seen the spec takes what was saved."""


@pytest.mark.parametrize("form", LOAD)
def test_a_fresh_process_loads_what_was_exported(op: Op, form: str, tmp_path: Path) -> None:
    if form == "package" and torch.utils.cpp_extension.CUDA_HOME is None:
        pytest.skip("AOTInductor compiles with CUDA's headers, and there are none")
    q, k, v = qkv()
    given = q.transpose(1, 2).contiguous(), k, v
    keys = torch.export.Dim("N", min=8, max=4096)
    program = torch.export.export(Exported(op), given, dynamic_shapes=({}, {2: keys}, {2: keys}), strict=False)
    path = str(tmp_path / "saved.pt2")
    if form == "package":
        path = torch._inductor.aoti_compile_and_package(program, package_path=path)
    else:
        torch.export.save(program, path)
    calls = [given, (given[0], *(torch.cat([each, each], 2) for each in (k, v)))]
    torch.save([(each, Exported(op)(*each)) for each in calls], tmp_path / "calls.pt")
    process = f"""
import torch, attndsl.torch
path = {path!r}
module = {LOAD[form]}
for given, wanted in torch.load({str(tmp_path / "calls.pt")!r}):
    found = tuple(module(*given))
    for one, other in zip(found, wanted, strict=True):
        assert torch.equal(one, other) and one.stride() == other.stride()
"""
    done = subprocess.run([sys.executable, "-c", process], stderr=subprocess.PIPE, text=True, check=False)
    if form == "package" and done.returncode < 0 and not loads_a_package_of_torch(tmp_path):
        pytest.skip("a process that loads a package of torch's own operators alone dies as well")
    assert done.returncode == 0, done.stderr


class Sine(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.sin()


def loads_a_package_of_torch(tmp_path: Path) -> bool:
    """Whether a fresh process loads what AOTInductor makes of a module that has nothing to do with attndsl."""
    program = torch.export.export(Sine(), (torch.ones(8, device="cuda"),))
    path = torch._inductor.aoti_compile_and_package(program, package_path=str(tmp_path / "torch.pt2"))
    load = f"import torch; torch._inductor.aoti_load_package({path!r})"
    return subprocess.run([sys.executable, "-c", load], stderr=subprocess.DEVNULL, check=False).returncode == 0


def test_a_module_moves_and_learns() -> None:
    learned = attndsl.nn.Attention("alibi", slope=torch.rand(8)).cuda()
    q, _, _ = qkv(200)
    learned(q, q, q).float().square().sum().backward()
    (slope,) = learned.parameters()
    assert slope.grad is not None and slope.grad.is_cuda and bool(slope.grad.isfinite().all())
    assert "slope=Parameter[8]" in repr(learned)
