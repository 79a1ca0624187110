"""Operators called with tensors of a real GPU: `make test-gpu`."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.autograd import forward_ad

import attndsl
from attndsl.driver.library import checked
from attndsl.op import errors
from attndsl.testing import Case
from attndsl.testing.triton_program import array_of, tensor_of

pytestmark = pytest.mark.gpu

EXAMPLES = Path(__file__).parents[2] / "examples"

Stream: Any = torch.cuda.Stream
trace: Any = torch.jit.trace
"""Functions that torch leaves unannotated."""


def operator(name: str) -> Any:
    return attndsl.load(EXAMPLES / f"{name}.attn")


@pytest.fixture
def no_sync() -> Iterator[None]:
    """Raises where torch waits for the GPU or reads its data on the host."""
    torch.cuda.set_sync_debug_mode("error")
    yield
    torch.cuda.set_sync_debug_mode("default")


def qkv(b: int = 2, m: int = 5, n: int = 300, hq: int = 8, hkv: int = 2, d: int = 64) -> dict[str, torch.Tensor]:
    shapes = {"q": (b, hq, m, d), "k": (b, hkv, n, d), "v": (b, hkv, n, d)}
    return {name: torch.randn(shape, device="cuda").to(torch.bfloat16) for name, shape in shapes.items()}


def windowed(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, window: int) -> torch.Tensor:
    """What `sliding_window.attn` means, in f64."""
    group, (m, n) = q.shape[1] // k.shape[1], (q.shape[2], k.shape[2])
    q, k, v = q.double(), *(x.double().repeat_interleave(group, 1) for x in (k, v))
    i, j = torch.arange(m, device="cuda")[:, None] + (n - m), torch.arange(n, device="cuda")
    seen = (j <= i) & (j > i - window)
    score = (q @ k.mT / q.shape[3] ** 0.5).masked_fill(~seen, -torch.inf)
    return torch.softmax(score, -1).nan_to_num(0) @ v


def close(found: torch.Tensor, wanted: torch.Tensor) -> bool:
    """Whether a bf16 output is what f64 gives: half a step at the element, and weights rounded to bf16."""
    return torch.allclose(found.double(), wanted, rtol=2**-8, atol=2**-8 * max(1.0, wanted.abs().max().item()))


# --- the same from the same file


@pytest.mark.parametrize(
    "name",
    ["gqa", "lse", "sinks", "differential", "packed_ragged", "paged_decode", "mla_paged", "f8_cache", "int4_cache"],
)
def test_the_numpy_program_and_the_gpu_give_what_the_reference_gives(name: str) -> None:
    op = operator(name)
    spec = checked(op.spec)
    case = Case.make(spec, "bf16", seed=3).poisoned()
    inputs = {t.name: tensor_of(case.arrays[t.name], case.element(t.name), "cuda") for t in spec.inputs}
    for stage, given, narrowed in (("numpy", case.arrays, False), ("triton on a GPU", inputs, True)):
        for _ in range(2):  # the second call is the plan's
            outputs = op(**given, **case.params)
            listed = [outputs] if len(spec.outputs) == 1 else outputs
            arrays = {
                tensor.name: array_of(found, case.element(tensor.name)) if isinstance(found, torch.Tensor) else found
                for tensor, found in zip(spec.outputs, listed, strict=True)
            }
            case.check(stage, arrays, narrowed=narrowed)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_other_element_types(dtype: torch.dtype) -> None:
    op, given = operator("sliding_window"), {name: x.to(dtype) for name, x in qkv().items()}
    o = op(**given, window=70)
    assert (o.dtype, o.device) == (dtype, given["q"].device)
    torch.testing.assert_close(o.double(), windowed(**given, window=70), rtol=2**-10, atol=2**-9)


# --- compiled once


def test_nothing_is_compiled_anew_for_other_sizes_and_parameters(no_sync: None) -> None:
    op = operator("sliding_window")
    # Tiles of 16, 32 and 64 rows, whole and split, and merges of few splits and of many.
    for m, n in ((1, 64), (1, 1500), (1, 3000), (1, 9000), (1, 65537), (8, 9000), (40, 9000)):
        op(**qkv(b=1, m=m, n=n))
    op(**qkv(b=40, m=6, n=300))
    op(**qkv(b=3, m=300, n=400))
    compiled = op.compilations
    for b, m, n, window in (
        (1, 1, 1, 1),
        (3, 1, 1023, 7),
        (1, 2, 1024, 4096),
        (5, 17, 17, 5),
        (2, 300, 301, 64),
        (1, 1, 65537, 100_000),
        (2, 33, 0, 9),
        (64, 1, 129, 3),
    ):
        given = qkv(b=b, m=m, n=n)
        o = op(**given, window=window)
        torch.cuda.set_sync_debug_mode("default")
        assert close(o, windowed(**given, window=window))
        torch.cuda.set_sync_debug_mode("error")
    for n in range(1, 70):
        op(**qkv(n=n, m=1), window=n)
    assert op.compilations == compiled > 0


def paged(lengths: list[int], page: int = 16, heads: int = 4, d: int = 64) -> dict[str, torch.Tensor]:
    """Inputs of `paged_decode.attn`; what is no page of a request is far out of range."""
    longest = max(1, *(-(-n // page) for n in lengths))
    table = torch.full((len(lengths), longest), 2**30, dtype=torch.int32)
    order = iter(torch.randperm(len(lengths) * longest).tolist())
    for row, n in enumerate(lengths):
        for place in range(-(-n // page)):
            table[row, place] = next(order)
    pages = (len(lengths) * longest, page, heads, d)
    return {
        "q": torch.randn(len(lengths), 2 * heads, d, device="cuda").to(torch.bfloat16),
        "k_pages": torch.randn(pages, device="cuda").to(torch.bfloat16),
        "v_pages": torch.randn(pages, device="cuda").to(torch.bfloat16),
        "table": table.cuda(),
        "length": torch.tensor(lengths, dtype=torch.int32).cuda(),
    }


def unpaged(q: torch.Tensor, k_pages: Any, v_pages: Any, table: Any, length: Any) -> torch.Tensor:
    """What `paged_decode.attn` means, in f64."""
    rows = []
    for row, n in enumerate(length.tolist()):
        where = table[row, : -(-n // k_pages.shape[1])].long()
        k, v = (x[where].flatten(0, 1)[:n].double().repeat_interleave(2, 1) for x in (k_pages, v_pages))
        score = torch.einsum("hd,nhd->hn", q[row].double(), k) / q.shape[2] ** 0.5
        rows.append(torch.einsum("hn,nhd->hd", score.softmax(-1), v))
    return torch.stack(rows)


def test_nothing_is_compiled_anew_for_other_lengths_and_page_tables() -> None:
    op = operator("paged_decode")
    for lengths in ([100, 20], [5000], [3000] * 5, [3000] * 3):  # one split, and tiles for few, some and many of them
        op(**paged(lengths))
    compiled = op.compilations
    for lengths in ([1], [0, 33, 16], [4000, 1, 1, 1, 17], [64] * 70, [9001, 12]):
        given = paged(lengths)
        assert close(op(**given), unpaged(**given))
    assert op.compilations == compiled > 0


# --- graphs, streams, threads, devices


def test_a_graph_takes_what_its_memory_holds_when_it_is_replayed() -> None:
    op, lengths = operator("paged_decode"), ([5000, 33, 0], [17, 5000, 4999], [0, 0, 1])
    calls = [paged([*each, 5000]) for each in lengths]
    wanted = [op(**call) for call in calls]
    held = {name: tensor.clone() for name, tensor in calls[0].items()}
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        o = op(**held)
    for call, expected in zip(calls, wanted, strict=True):
        for name, tensor in call.items():
            held[name].copy_(tensor)
        graph.replay()
        assert torch.equal(o, expected)
        assert close(o, unpaged(**call))


SCATTERED = """attention scattered {
    dims M
    input  x : f32[M]
    input  at : i32[M]
    temp   t : f16[M]
    output o : f32[M]
    each i in M
    t[at[i]] = x[i]
    each i in M
    o[i] = t[i] + x[i]
}"""


def test_a_graph_clears_what_rows_leave_unwritten_each_time() -> None:
    op, x = attndsl.compile(SCATTERED), torch.ones(100, device="cuda")
    places = [torch.arange(100, dtype=torch.int32, device="cuda"), torch.full((100,), 7, dtype=torch.int32).cuda()]
    held = places[0].clone()
    op(x=x, at=held)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        o = op(x=x, at=held)
    for at in (*places, *places):
        held.copy_(at)
        graph.replay()
        assert o.tolist() == [2.0 if i in at.tolist() else 1.0 for i in range(100)]
        assert torch.equal(o, op(x=x, at=at))


def test_two_streams_at_once() -> None:
    op = operator("sliding_window")
    calls = [qkv(b=1, m=1, n=20_000), qkv(b=1, m=1, n=20_000)]  # few rows, many keys: cut into splits, with workspaces
    wanted = [op(**call, window=15_000) for call in calls]
    streams, found = [Stream(), Stream()], []
    torch.cuda.synchronize()
    for _ in range(50):
        for stream, call in zip(streams, calls, strict=True):
            with torch.cuda.stream(stream):
                found.append(op(**call, window=15_000))
    torch.cuda.synchronize()
    assert all(torch.equal(o, wanted[n % 2]) for n, o in enumerate(found))


def test_four_threads_at_once() -> None:
    text = (EXAMPLES / "sliding_window.attn").read_text(encoding="utf-8")
    op = attndsl.compile(f"# A text of its own: nothing of it is compiled yet.\n{text}")
    alone = operator("sliding_window")
    calls = [qkv(b=1, m=1, n=9000) for _ in range(4)]
    wanted = [alone(**call) for call in calls]
    torch.cuda.synchronize()
    together, right = threading.Barrier(4), [False] * 4

    def work(number: int) -> None:
        together.wait()
        with torch.cuda.stream(Stream()):
            found = [op(**calls[number]) for _ in range(30)]
            torch.cuda.current_stream().synchronize()
        right[number] = all(torch.equal(o, wanted[number]) for o in found)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert right == [True] * 4
    once = attndsl.compile(f"# Another one.\n{text}")
    once(**calls[0])
    assert op.compilations == once.compilations


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
def test_tensors_of_a_gpu_that_is_not_the_current_one() -> None:
    op = operator("sliding_window")
    given = {name: tensor.to("cuda:1") for name, tensor in qkv().items()}
    here = {name: tensor.to("cuda:0") for name, tensor in given.items()}
    for _ in range(3):
        o = op(**given, window=70)
        assert (str(o.device), torch.cuda.current_device()) == ("cuda:1", 0)
        assert torch.equal(o.to("cuda:0"), op(**here, window=70))
    with pytest.raises(errors.DevicesDiffer, match=r"^k is on cuda:1, but q is on cuda:0: give all inputs of sliding_"):
        op(**{**here, "k": given["k"]})


def test_inputs_that_are_not_all_on_the_gpu_are_refused() -> None:
    op, given = operator("sliding_window"), qkv()
    op(**given)
    with pytest.raises(errors.DevicesDiffer) as caught:
        op(**{**given, "k": given["k"].cpu()})
    assert str(caught.value) == "k is on cpu, but q is on cuda:0: give all inputs of sliding_window on one device"
    with pytest.raises(errors.MixedFrameworks):
        op(**{**given, "k": np.zeros(given["k"].shape, np.float32)})
    with forward_ad.dual_level(), pytest.raises(errors.TangentWanted):
        op(**{**given, "q": forward_ad.make_dual(given["q"], given["q"])})
    with pytest.raises(errors.PackedTensor):
        op(**{**given, "q": given["q"].to_sparse()})


# --- torch's own tools


def registered(op: Any) -> Any:
    return getattr(torch.ops.attndsl, op.key).default


def test_torch_finds_the_operator_sound() -> None:
    op, given = operator("sliding_window"), qkv(n=40)
    torch.library.opcheck(registered(op), (*given.values(), 9))


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_torch_compile_keeps_it_whole(backend: str) -> None:
    op = operator("sliding_window")
    torch._dynamo.reset()
    compiled = torch.compile(
        lambda q, k, v, window: op(q=q * 2, k=k, v=v, window=window) + 1, fullgraph=True, backend=backend
    )
    for n in (50, 70, 9001):
        given = qkv(m=1, n=n)
        assert torch.equal(compiled(**given, window=n - 3), op(**{**given, "q": given["q"] * 2}, window=n - 3) + 1)


def test_calls_under_transforms_go_through_the_dispatcher() -> None:
    op, given = operator("sliding_window"), qkv()
    wanted = op(**given)
    with torch.inference_mode():
        assert torch.equal(op(**given), wanted)
    negated = {**given, "q": torch._neg_view(-given["q"])}
    assert torch.equal(op(**negated), wanted)
    traced = trace(lambda q, k, v: op(q=q, k=k, v=v), tuple(given.values()), check_trace=False)
    others = qkv()
    assert torch.equal(traced(*others.values()), op(**others))


# --- large


def test_more_than_2_to_the_31_elements() -> None:
    """Keys and values of 4.6 GB each; each row looks for one key, most of them where 32 bits do not reach."""
    op, n, d = operator("mha"), 2**24 + 3, 136
    k, v = (torch.randn(1, 1, n, d, device="cuda", dtype=torch.float16) for _ in range(2))
    assert k.numel() > 2**31
    looked_for = [5, 2**31 // d - 1, 2**31 // d + 1, n - 2, n - 1]
    q = 6 * k[:, :, looked_for]
    o = op(q=q, k=k, v=v)
    top, total, wanted = (
        torch.full((len(looked_for), 1), start, dtype=torch.float64, device="cuda") for start in (-1e300, 0, 0)
    )
    for start in range(0, n, 2**21):  # the online softmax, in f64
        keys, values = (x[0, 0, start : start + 2**21].double() for x in (k, v))
        score = q[0, 0].double() @ keys.mT / d**0.5
        higher = torch.maximum(top, score.amax(1, keepdim=True))
        weight, rescale = (score - higher).exp(), (top - higher).exp()
        top, total, wanted = higher, total * rescale + weight.sum(1, keepdim=True), wanted * rescale + weight @ values
    wanted = wanted / total
    torch.testing.assert_close(wanted, v[0, 0, looked_for].double(), rtol=0, atol=0.1)  # each row found its key
    torch.testing.assert_close(o[0, 0].double(), wanted, rtol=2**-10, atol=2**-8)


def test_an_extent_that_may_be_1_is_not_copied() -> None:
    op = attndsl.load("dense_bias")
    q, k = (torch.randn(2, 4, n, 64, device="cuda", dtype=torch.float16) for n in (64, 96))
    for shape in ((2, 4, 64, 96), (1, 4, 1, 96), (2, 1, 64, 96), (1, 1, 1, 96)):
        bias = torch.randn(shape, device="cuda")
        whole = bias.expand(2, 4, 64, 96).contiguous()
        assert torch.equal(op(q, k, k, bias), op(q, k, k, whole))
        wanted = torch.nn.functional.scaled_dot_product_attention(q.float(), k.float(), k.float(), whole)
        torch.testing.assert_close(op(q, k, k, bias).float(), wanted, atol=4e-3, rtol=4e-3)


def test_a_call_without_rows_is_made_again() -> None:
    """By a plan, whose workspaces have no bytes."""
    op = attndsl.load("document_mask")
    q, k, v = (torch.randn(1, 2, 0, 64, device="cuda").half() for _ in range(3))
    for _ in range(2):
        assert op(q, k, v, torch.zeros(1, 0, dtype=torch.int32, device="cuda")).shape == q.shape
