"""What a launch chooses by itself: how many rows a tile has, and into how many splits keys are cut."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
import triton.language as tl

from attndsl.driver.library import artifact_of
from attndsl.driver.module import load_module
from attndsl.syntax.read import read_source
from attndsl.syntax.source import Source

GQA = Path(__file__).parents[2] / "examples" / "gqa.attn"

PROCESSORS = 132


class Chosen(NamedTuple):
    """The launches of a call: their kernels, how many programs each has, and what it was given by name."""

    kernels: list[str]
    programs: list[int]
    given: list[dict[str, Any]]


Choose = Callable[..., Chosen]


@pytest.fixture(scope="module")
def chosen() -> Choose:
    """The launches of a decode or prefill on a device of 132 processors, by its extents."""
    module = load_module(artifact_of(read_source(GQA), {"T": "bf16"}, "triton", {"D": 128, "E": 128}))
    module["gqa_launches"].__globals__["_processors"] = lambda device: PROCESSORS

    def choose(b: int, m: int, n: int, heads: int = 16, kv_heads: int = 1, apart: int = 128) -> Chosen:
        shapes = ((b, heads, m, 128), (b, kv_heads, n, 128), (b, kv_heads, n, 128), (b, heads, m, 128))
        tensors = [torch.empty(shape, dtype=torch.bfloat16, device="meta") for shape in shapes]
        tensors[1] = torch.empty_strided(shapes[1], (1, 1, apart, 1), dtype=torch.bfloat16, device="meta")
        launches = module["gqa_launches"](*tensors)
        names = [kernel.fn.__name__ for kernel, *_ in launches]
        given = [dict(zip(kernel.arg_names, arguments, strict=True)) for kernel, _, arguments, _ in launches]
        return Chosen(names, [programs for _, programs, *_ in launches], given)

    return choose


@pytest.mark.parametrize("n", [0, 1, 200])
def test_few_keys_are_not_cut(chosen: Choose, n: int) -> None:
    assert chosen(1, 1, n).kernels == ["gqa_kernel"]


@pytest.mark.parametrize("n", [4096, 65536, 65537, 131072, 1_000_003])
@pytest.mark.parametrize("b", [1, 3, 16])
def test_parts_fill_the_device_and_none_is_empty(chosen: Choose, b: int, n: int) -> None:
    kernels, programs, (given, _) = chosen(b, 1, n)
    assert kernels == ["gqa_split_kernel", "gqa_merge_kernel"]
    tiles, splits = -(-n // given["KEYS"]), given["SPLITS"]
    assert (splits - 1) * -(-tiles // splits) < tiles
    assert min(tiles // 4, 0.7 * PROCESSORS) <= programs[0] <= 2 * PROCESSORS


def test_enough_programs_are_not_cut(chosen: Choose) -> None:
    assert chosen(2 * PROCESSORS, 1, 65536).kernels == ["gqa_kernel"]


def test_tiles_have_few_rows_where_processors_would_idle(chosen: Choose) -> None:
    assert chosen(1, 1, 256, heads=64).given[0]["ROWS"] == 16
    assert chosen(1, 1, 65536, heads=64).given[0]["ROWS"] == 64
    assert chosen(64, 1, 2048, heads=64).given[0]["ROWS"] == 64


def test_no_tile_has_twice_the_rows_that_there_are(chosen: Choose) -> None:
    assert [chosen(64, 1, 2048, heads=heads).given[0]["ROWS"] for heads in (1, 16, 17, 33, 96)] == [16, 16, 32, 64, 64]


def test_what_a_tile_spans_decides_how_many_bits_its_offsets_have(chosen: Choose) -> None:
    # A tile has 4096 keys at most, beside 128 features; some thousands more are other tensors' and numbers of rows.
    assert chosen(1, 1, 64, apart=2**18).given[0]["INDEX"] == tl.int32
    assert chosen(1, 1, 64, apart=2**19).given[0]["INDEX"] == tl.int64


ONE_HEAD = """attention one_head {
    dims B, N, D
    input q : f32[B, D]
    input k : f32[B, N, D]
    output o : f32[B, D]
    each b in B
    over j in N
    o[b, :] = softmax(q[b, :] . k[b, j, :]) . k[b, j, :]
}
"""


@pytest.mark.parametrize("asked", [None, {"KEYS": 32}, {"KEYS": 256}])
def test_a_part_has_the_tiles_that_it_was_counted_in(asked: dict[str, int] | None) -> None:
    module = load_module(artifact_of(Source(ONE_HEAD, "one_head.attn"), {}, "triton"))
    module["one_head_launches"].__globals__["_processors"] = lambda device: PROCESSORS
    tensors = [torch.empty(shape, device="meta") for shape in ((1, 8), (1, 65536, 8), (1, 8))]
    (split, programs, arguments, _), (merge, *_) = module["one_head_launches"](*tensors, schedule=asked)
    given = dict(zip(split.arg_names, arguments, strict=True))
    assert (split.fn.__name__, merge.fn.__name__) == ("one_head_split_kernel", "one_head_merge_kernel")
    largest = module["ONE_HEAD_SCHEDULES"][-1]
    assert given["KEYS"] == (asked or largest)["KEYS"]
    assert (programs - 1) * -(-(65536 // given["KEYS"]) // programs) < 65536 // given["KEYS"], "no split is empty"


def test_a_look_is_taken_once_for_all_heads_in_the_tiles_of_what_it_is_for() -> None:
    path = GQA.with_name("document_mask.attn")
    module = load_module(artifact_of(read_source(path), {"T": "bf16", "I": "i32"}, "triton", {"D": 128, "E": 128}))
    module["document_mask_launches"].__globals__["_processors"] = lambda device: PROCESSORS

    def chosen(n: int, **schedule: int) -> list[tuple[str, int, int | None]]:
        shapes = ((2, 32, n, 128), (2, 8, n, 128), (2, 8, n, 128), (2, n), (2, 32, n, 128))
        types = [torch.bfloat16] * 3 + [torch.int32, torch.bfloat16]
        tensors = [torch.empty(shape, dtype=t, device="meta") for shape, t in zip(shapes, types, strict=True)]
        launches = module["document_mask_launches"](*tensors, schedule=schedule)
        given = [dict(zip(kernel.arg_names, arguments, strict=True)) for kernel, _, arguments, _ in launches]
        found = [(kernel.fn.__name__, programs) for kernel, programs, *_ in launches]
        return [(*each, taken.get("ROWS")) for each, taken in zip(found, given, strict=True)]

    look, kernel = "document_mask_look_kernel", "document_mask_kernel"
    assert chosen(4096) == [(look, 2 * 256, 64), (kernel, 2 * 8 * 256, 64)]
    assert chosen(4096, ROWS=32) == [(look, 2 * 512, 32), (kernel, 2 * 8 * 512, 32)]
    assert [name for name, *_ in chosen(4096, SPLITS=3)] == ["document_mask_split_kernel", "document_mask_merge_kernel"]
