"""Calls with tensors of a real GPU that they write in place: `make test-gpu`."""

from __future__ import annotations

import pytest
import torch

import attndsl
from attndsl.op import errors

pytestmark = pytest.mark.gpu

GROWS = """attention grows {
    dims B, M, S, D
    types T
    input  x     : T[B, M, D]
    input  past  : i32[B]
    inout  cache : T[B, S, D]
    output total : T[B, D]
    each b in B, i in M
    cache[b, past[b] + i, :] = x[b,i,:]
    each b in B, d in D
    over j in past[b] + M up to S
    total[b,d] = sum(cache[b,j,d])
}"""

SUMS = """attention sums {
    dims N, M, D
    types T
    input x     : T[N, D]
    input class : i64[N]
    inout total : T[M, D]
    each i in N
    total[class[i], :] += x[i,:]
}"""


def test_a_graph_appends_where_it_is_told_to_each_time() -> None:
    op = attndsl.compile(GROWS)
    x, cache = torch.ones(2, 1, 16, device="cuda"), torch.zeros(2, 8, 16, device="cuda")
    past = torch.zeros(2, dtype=torch.int32, device="cuda")
    op(x, past, cache)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        total = op(x, past, cache)
    for step in range(1, 8):
        past.fill_(step)
        x.fill_(step + 1)
        graph.replay()
        assert torch.equal(total, torch.full((2, 16), (step + 1) * (step + 2) / 2, device="cuda"))
    assert torch.equal(cache, torch.arange(1.0, 9, device="cuda")[:, None].expand(2, 8, 16))


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_sums_add_up_onto_what_is_there(dtype: torch.dtype) -> None:
    op = attndsl.compile(SUMS)
    x = torch.randint(-3, 4, (1000, 32), device="cuda").to(dtype)
    class_ = torch.randint(0, 7, (1000,), device="cuda")
    total = torch.randint(-3, 4, (7, 32), device="cuda").to(dtype)
    wanted = total.double().index_add(0, class_, x.double())
    for _ in range(3):
        given = total.clone()
        version = given._version
        assert op(x, class_, given) is None
        assert torch.equal(given.double(), wanted) and given._version > version


def test_memory_that_is_shared_is_refused_each_time() -> None:
    op, both = attndsl.compile(GROWS), torch.zeros(2, 8, 2, 16, device="cuda")
    past = torch.zeros(2, dtype=torch.int32, device="cuda")
    for _ in range(2):
        op(both[:, :1, 0], past, both[:, :, 1])
        with pytest.raises(errors.InoutOverlaps, match="cache is memory that is, or may be, that of x too"):
            op(both[:, :1, 1], past, both[:, :, 1])


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_torch_compile_keeps_the_writes(backend: str) -> None:
    op = attndsl.compile(GROWS)
    torch._dynamo.reset()

    def step(x: torch.Tensor, past: torch.Tensor, cache: torch.Tensor) -> torch.Tensor:
        before = cache.sum()
        return torch.as_tensor(op(2 * x, past, cache) + before + cache.sum())

    x, past = torch.randn(2, 3, 16, device="cuda"), torch.tensor([1, 4], dtype=torch.int32, device="cuda")
    eager, compiled = (torch.ones(2, 8, 16, device="cuda") for _ in range(2))
    torch.testing.assert_close(
        torch.compile(step, fullgraph=True, backend=backend)(x, past, compiled), step(x, past, eager)
    )
    assert torch.equal(eager, compiled)
