"""Whatever the data of a mask are: keys that scan-keys skips count for no row of the tile, and it skips what it can.

Where it says that data hold for all rows, they do.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attndsl.backends.numpy.emit import emit
from attndsl.checking.check import check
from attndsl.checking.typed import Spec
from attndsl.driver.passes import parse_pipeline, run_pipeline
from attndsl.driver.pipelines import SIMPLIFY, TO_ATTN, spelling
from attndsl.ir import tile
from attndsl.ir.build import build
from attndsl.ir.interpret import interpret
from attndsl.ir.xdsl import ModuleOp, arith
from attndsl.syntax.source import Source
from attndsl.testing import Case

TEXT = """attention masked {{
    dims B, H, M, N, D, E
    types T
    input  q   : T[B, H, M, D]
    input  k   : T[B, H, N, D]
    input  v   : T[B, H, N, E]
    input  row : i32[B, M]
    input  key : i32[B, N]
    input  place  : i32[B, N]
    input  length : i32[B]
    output o   : T[B, H, M, E]
    output n   : f32[B, H, M]
    each b in B, h in H, i in M
    over {over}
    score = q[b,h,i,:] . k[b,h,j,:]
    mask  = {mask}
    o[b,h,i,:] = softmax(score, mask) . v[b,h,j,:]
    n[b,h,i]   = sum(1.0, {counted})
}}
"""

SCANNED = (
    "row[b,i] == key[b,j]",
    "j <= i and row[b,i] == key[b,j]",
    "i - 3 <= j and j <= i + 1 and key[b,j] == row[b,i]",
    "row[b,i] - key[b,j] < 2",
    "row[b,i] >= key[b,j] and (i - j) % 2 == 0",
    "key[b,j] > row[b,i] + i and key[b,j] != 3",
    "key[b,j] <= row[b,i] or key[b,j] == i",
    "(key[b,j] == 1 or j < 2) and row[b,i] != key[b,j]",
    "row[b,i] < 2 and key[b,j] * 2 - 1 >= row[b,i] * i",
    "key[b,j + 1] == row[b,i]",
)
"""Masks of which something is left for keys alone."""

STAYING = (
    "row[b,i] != key[b,j]",
    "key[b,j] == row[b,i] or (i - j) % 2 == 0",
    "j < row[b,i] or key[b,j] * i == 2",
    "key[b,(i + j) % N] == 1",
    "j % 3 == i % 3",
)
"""Masks of which nothing is, or nothing that reads data."""

RANGES = ("j in N", "j in length[b] up to N", "t in N\n let j = place[b,t]")
"""All keys, those before a length, and some of them in some order."""

DIMS = {"B": 1, "H": 1, "M": 6, "N": 19, "D": 3, "E": 2}

SCAN = "scan-keys{chunk=4},canonicalize,cse"


def spec_with(mask: str, counted: str = "mask", over: str = RANGES[0]) -> Spec:
    return check(Source(TEXT.format(mask=mask, counted=counted, over=over), "masked.attn"))


def tiled(spec: Spec, passes: str, fixed: bool) -> ModuleOp:
    """A spec in tiles of 4 rows and 3 keys, after `passes`."""
    module = build(spec, {"T": "f32"})
    tiles = f"tile{{rows=4 keys=3 fixed={str(fixed).lower()}}},canonicalize,cse"
    run_pipeline(module, parse_pipeline(f"{spelling(TO_ATTN)},stream-softmax,{spelling(SIMPLIFY)},{tiles},{passes}"))
    return module


@cache
def scanned(mask: str, fixed: bool, over: str = RANGES[0]) -> tuple[Case, ModuleOp, ModuleOp]:
    """A call of a spec with a mask, and its module with all tiles and without those that are skipped."""
    spec = spec_with(mask, over=over)
    return Case.make(spec, dims=DIMS), tiled(spec, "canonicalize", fixed), tiled(spec, SCAN, fixed)


@cache
def split(mask: str, over: str) -> ModuleOp:
    """The module without the tiles that are skipped, in tiles of a fixed size, the full ones in a loop of their own."""
    passes = f"{SCAN},split-loops,canonicalize,pad-axes,canonicalize,cse"
    return tiled(spec_with(mask, over=over), passes, fixed=True)


def scans(module: ModuleOp) -> list[tile.LoopOp]:
    """The loops that look for keys."""
    return [op for op in module.walk() if isinstance(op, tile.LoopOp) and op.results[0].name_hint == "seen_start"]


labels = st.integers(-1, 3)


def drawn(case: Case, data: st.DataObject) -> Case:
    """The call with other data for its masks, in no order, and partly out of range."""
    sizes = {"row": DIMS["M"], "key": DIMS["N"], "place": DIMS["N"], "length": 1}
    others = {"place": st.integers(-1, DIMS["N"]), "length": st.integers(-1, DIMS["N"])}
    arrays = {
        name: data.draw(st.lists(others.get(name, labels), min_size=size, max_size=size), name)
        for name, size in sizes.items()
    }
    shapes = {name: case.arrays[name].shape for name in arrays}
    return case.given(**{name: np.array(values, np.int32).reshape(shapes[name]) for name, values in arrays.items()})


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize(("mask", "over"), [*((m, RANGES[0]) for m in SCANNED), *((SCANNED[2], r) for r in RANGES[1:])])
@settings(max_examples=6, deadline=None)
@given(data=st.data())
def test_what_is_skipped_counts_for_no_row(mask: str, over: str, fixed: bool, data: st.DataObject) -> None:
    case, full, narrowed = scanned(mask, fixed, over)
    assert scans(narrowed)
    assert not any(isinstance(op, tile.PresentOp) for op in narrowed.walk())
    call = drawn(case, data)
    found = interpret(narrowed, call.arrays, call.dims, call.params)
    call.check("scan-keys", found)
    if fixed:
        assert any(isinstance(op, tile.HoldsOp) for op in narrowed.walk()), "which the interpreter tests"
        call.check("split-loops", interpret(split(mask, over), call.arrays, call.dims, call.params))
        for name, wanted in interpret(full, call.arrays, call.dims, call.params).items():
            np.testing.assert_array_equal(found[name], wanted)


@pytest.mark.parametrize("mask", STAYING)
def test_a_loop_stays_where_keys_alone_say_nothing(mask: str) -> None:
    assert scans(scanned(mask, True)[2]) == []


def test_a_reduction_that_counts_more_keys_sees_them_all() -> None:
    """Only what all reductions ask of a key is looked for."""
    for mask, counted, loops in (
        ("row[b,i] == key[b,j]", "row[b,i] == key[b,j] or j % 2 == 0", 0),
        ("row[b,i] == key[b,j] and key[b,j] < 2", "key[b,j] < 2", 1),
    ):
        case = Case.make(spec_with(mask, counted), dims=DIMS)
        module = tiled(case.spec, SCAN, fixed=False)
        assert len(scans(module)) == loops
        case.check("scan-keys", interpret(module, case.arrays, case.dims, case.params))


@pytest.mark.parametrize(
    ("mask", "row", "key", "runs"),
    [
        ("row[b,i] == key[b,j]", [0] * 4 + [1] * 4, [0] * 5 + [1] * 8, [(0, 5), (5, 13)]),
        ("row[b,i] == key[b,j]", [0] * 3 + [1] * 5, [0] * 5 + [1] * 8, [(13, 13), (5, 13)]),
        ("row[b,i] == key[b,j]", [2] * 2, [1, 2, 2, 1, 2, 2, 2], [(1, 3)]),
        ("row[b,i] == key[b,j]", [1, 2], [1, 2, 2, 1, 2, 2, 2], [(7, 7)]),
        ("j <= i and row[b,i] == key[b,j]", [0] * 6, [0] * 9, [(0, 4), (0, 6)]),
        ("row[b,i] <= key[b,j]", [3, 1, 2, 1], [1, 2, 3, 4, 9, 2], [(2, 5)]),
        ("row[b,i] - key[b,j] > 1", [3, 4, 5, 9], [9, 1, 0, 2], [(1, 3)]),
        ("key[b,j] == row[b,i] or key[b,j] < 1", [3, 4, 5, 9], [3, 0, 0, 4, -1], [(1, 3)]),
    ],
)
def test_the_first_run_of_keys_that_all_rows_see_is_found(
    mask: str, row: list[int], key: list[int], runs: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    case = Case.make(spec_with(mask), dims={**DIMS, "M": len(row), "N": len(key)})
    case = case.given(row=np.array([row], np.int32), key=np.array([key], np.int32))
    found: list[tuple[int, int]] = []

    def hold(run: Any, op: tile.HoldsOp) -> None:
        found.append((run.scalar(op.start), run.scalar(op.stop)))

    monkeypatch.setattr("attndsl.ir.interpret.Run.hold", hold)
    interpret(tiled(case.spec, SCAN, fixed=True), case.arrays, case.dims, case.params)
    assert set(found) == set(runs)


@pytest.mark.parametrize(
    "mask", ["row[b,i] == key[b,j]", "j <= i and row[b,i] == key[b,j]", "row[b,i] < key[b,j] or key[b,j] == 2"]
)
def test_where_all_rows_see_the_keys_no_data_are_read(mask: str) -> None:
    module = tiled(spec_with(mask), f"{SCAN},split-loops,canonicalize,cse", fixed=True)
    loops = [op for op in module.walk() if isinstance(op, tile.LoopOp) and op.results[0].name_hint != "seen_start"]
    full, mixed = loops[:2]
    assert mixed.is_mixed
    assert tensors_read(full) == {"k", "v"}
    assert tensors_read(mixed) == {"k", "v", "key"}
    assert not any(isinstance(op, arith.CmpiOp | tile.HoldsOp) for op in full.walk())


def tensors_read(loop: tile.LoopOp) -> set[str]:
    return {op.tensor.string_value() for op in loop.walk() if isinstance(op, tile.LoadOp)}


class Watched(np.ndarray[Any, Any]):
    """An array that counts the keys that are read of it."""

    read = 0

    def __getitem__(self, place: Any) -> Any:
        found = np.asarray(self)[place]
        Watched.read += found.shape[0]
        return found


def keys_read(mask: str, row: np.ndarray[Any, Any], key: np.ndarray[Any, Any]) -> int:
    """How many rows of `k` the NumPy program of a spec reads, in tiles of 4 rows and 3 keys."""
    case = Case.make(spec_with(mask), dims={**DIMS, "H": 1, "M": row.size, "N": key.size})
    case = case.given(row=row[None].astype(np.int32), key=key[None].astype(np.int32))
    namespace: dict[str, Any] = {}
    exec(emit(tiled(case.spec, "scan-keys{chunk=4}", fixed=False)), namespace)
    outputs = {name: np.zeros_like(wanted, np.float32) for name, wanted in case.wanted.items()}
    Watched.read = 0
    arrays = {**case.arrays, "k": case.arrays["k"].view(Watched)}
    namespace["masked"](*(arrays[tensor.name] for tensor in case.spec.inputs), *outputs.values())
    case.check("numpy", outputs)
    return Watched.read


def test_only_a_tiles_own_documents_are_read() -> None:
    documents = np.repeat(np.arange(8), 4)  # as many tokens each as a tile has rows
    assert keys_read("row[b,i] == key[b,j]", documents, documents) == documents.size
    assert keys_read("j <= i and row[b,i] == key[b,j]", documents, documents) == documents.size
    assert keys_read("row[b,i] == key[b,j]", documents + 9, documents) == 0
    assert keys_read("row[b,i] != key[b,j]", documents, documents) == documents.size**2 // 4


def test_keys_in_no_order_are_read_from_the_first_to_the_last() -> None:
    key = np.array([5, 5, 1, 5, 2, 1, 5, 5, 5, 5])
    assert keys_read("row[b,i] == key[b,j]", np.array([1, 1, 1]), key) == 4
    assert keys_read("row[b,i] == key[b,j]", np.array([1, 1, 3]), key) == 4
    assert keys_read("row[b,i] <= key[b,j]", np.array([5, 9, 5]), key) == 10
