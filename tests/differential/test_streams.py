"""Products of few rows, which a compiled loop makes as it reads what they are multiplied with."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attndsl.backends.numpy.prelude import PRELUDE
from attndsl.driver.compile import compile_spec
from attndsl.testing import Case

from .test_compiled import MACHINE, defined, program

SIZES = {"B": 1, "H": 1, "Hq": 2, "Hkv": 1, "M": 1, "N": 3000, "D": 256, "E": 256}
"""Tiles are large enough for a loop."""

HELPERS = (
    "_compiled",
    "_like",
    "_by_rows",
    "_deferred",
    "_read",
    "_fetch",
    "_row_products",
    "_row_sums",
    "_products_apart",
    "_sums_apart",
    "_dot_where",
    "_has_numba",
    "_streamed",
)


@cache
def helpers(numba: bool) -> dict[str, Any]:
    """The functions of a file, compiled or as Python runs them."""
    if numba:
        pytest.importorskip("numba")
    known: dict[str, Any] = {"np": np, "cache": cache}
    exec("".join(PRELUDE[name] for name in HELPERS), known)
    if not numba:
        known["_has_numba"] = lambda: True
    return known


def laid(array: Any, how: str) -> Any:
    """The same numbers, which lie otherwise in memory."""
    match how:
        case "turned":
            return np.ascontiguousarray(array.mT).mT
        case "with gaps":
            return np.repeat(array, 2, axis=-2)[..., ::2, :]
        case "apart":
            return np.repeat(array, 2, axis=-1)[..., ::2]
        case "back":
            return np.ascontiguousarray(array[..., ::-1, :])[..., ::-1, :]
        case "turned, apart":
            return np.repeat(np.ascontiguousarray(array.mT), 2, axis=-1)[..., ::2].mT
        case "between" if array.ndim > 2:
            return np.ascontiguousarray(array.swapaxes(-3, -2)).swapaxes(-3, -2)
        case "turned, back":
            return np.ascontiguousarray(array.mT[..., ::-1])[..., ::-1].mT
    return array


LAYOUTS = ("", "turned", "with gaps", "apart", "back", "turned, apart", "turned, back", "between")


@pytest.mark.parametrize("numba", [False, True])
@settings(deadline=None)  # the first call of each kind waits for the compiler
@given(
    batch=st.sampled_from([(), (1,), (3,), (2, 2)]),
    few=st.integers(0, 9),
    many=st.integers(0, 12),
    terms=st.sampled_from([0, 1, 2, 5, 16, 515]),
    kinds=st.tuples(*[st.sampled_from(["f4", "i1", "u1"])] * 2),
    layouts=st.tuples(*[st.sampled_from(LAYOUTS)] * 2),
    turned=st.booleans(),
    seed=st.integers(0, 99),
)
def test_a_stream_is_the_product(
    numba: bool,
    batch: tuple[int, ...],
    few: int,
    many: int,
    terms: int,
    kinds: tuple[str, str],
    layouts: tuple[str, str],
    turned: bool,
    seed: int,
) -> None:
    random = np.random.default_rng(seed)
    shapes = [(*batch, many, terms), (*batch, terms, few)]
    if turned:
        shapes = [(*batch, few, terms), (*batch, terms, many)]
    pairs = zip(shapes, kinds, layouts, strict=True)
    a, b = (laid(random.integers(0, 3, shape).astype(kind), how) for shape, kind, how in pairs)
    wanted = np.matmul(a.astype(np.float32), b.astype(np.float32))  # of small integers: exact, whatever the order
    streamed = helpers(numba)["_streamed"]
    for least in (0, 10**9):
        found = streamed(a, b, least)
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, wanted)
        out = np.full(wanted.shape, np.nan, np.float32)
        assert streamed(a, b, least, out=out) is out
        np.testing.assert_array_equal(out, wanted)


@pytest.mark.parametrize("numba", [False, True])
@settings(deadline=None)
@given(
    pages=st.integers(0, 5),
    slots=st.sampled_from([1, 3, 16]),
    heads=st.integers(1, 3),
    width=st.sampled_from([1, 5, 32, 77]),
    entries=st.lists(st.integers(-1, 7), max_size=40),
    few=st.integers(1, 5),
    kind=st.sampled_from(["f4", "i1"]),
    how=st.sampled_from([*LAYOUTS, "pages last", "one for all"]),
    ends=st.tuples(st.integers(0, 20), st.integers(0, 20)),
    seed=st.integers(0, 99),
)
def test_rows_that_a_table_places_are_those_that_are_gathered(
    numba: bool,
    pages: int,
    slots: int,
    heads: int,
    width: int,
    entries: list[int],
    few: int,
    kind: str,
    how: str,
    ends: tuple[int, int],
    seed: int,
) -> None:
    """Read where they lie, or gathered where rows are many, or where memory has no rows."""
    random = np.random.default_rng(seed)
    cache = random.integers(0, 3, (pages, slots, heads, width)).astype(kind)
    match how:
        case "pages last":
            cache = np.ascontiguousarray(cache.transpose(1, 2, 3, 0)).transpose(3, 0, 1, 2)
        case "one for all":
            cache = np.broadcast_to(cache[:, :1], cache.shape)
        case _:
            cache = laid(cache, how)
    table = np.array(entries, np.int64)
    where = (table >= 0) & (table < pages)
    known = helpers(numba)

    def rows(read: Any) -> Any:
        blocks = read(cache, where, table).transpose(2, 0, 1, 3)
        return blocks.reshape(heads, len(table) * slots, width)[:, ends[0] : len(table) * slots - ends[1]]

    gathered, deferred = rows(known["_read"]), rows(partial(known["_deferred"], few, 0))
    assert deferred.shape == gathered.shape
    np.testing.assert_array_equal(np.asarray(deferred), gathered)
    assert np.asarray(deferred.mT, np.float32).dtype == np.float32
    q, p = (random.integers(0, 3, (heads, n, few)).astype(np.float32) for n in (width, gathered.shape[1]))
    wanted = gathered.astype(np.float32)
    for least in (0, 10**9):
        np.testing.assert_array_equal(known["_streamed"](deferred, q, least), wanted @ q)
        np.testing.assert_array_equal(known["_streamed"](deferred.mT, p, least), wanted.mT @ p)
        np.testing.assert_array_equal(known["_streamed"](p.mT, deferred, least), p.mT @ wanted)


@pytest.mark.parametrize("least", [0, 1 << 20])
@pytest.mark.parametrize("slots", [1, 16])
def test_a_place_that_a_row_does_not_see_changes_no_bit_of_it(least: int, slots: int) -> None:
    """What is no number there is left out of a copy, whose rows a loop takes as it took those that lie apart."""
    random = np.random.default_rng(7)
    known = helpers(numba=True)
    cache, table = random.random((1100 // slots, slots, 8, 128), np.float32), random.permutation(1024 // slots)
    odd = np.where(np.arange(8)[:, None] == 3, np.float32(np.nan), cache)
    unseen = np.arange(1024) == table.tolist().index(5) * slots
    odd[5, 1:], odd[:5], odd[6:] = cache[5, 1:], cache[:5], cache[6:]
    for few, absent in ((1, False), (3, True), (4, False), (4, True)):
        where = np.arange(len(table)) % 5 != 2 if absent else True
        weights = np.where(unseen[:, None], np.float32(0), random.random((8, 1024, few), np.float32))
        found = []
        for tensor in (cache, odd):
            read = known["_deferred"](few, least // 4, tensor, where, table)
            rows = read.transpose(2, 0, 1, 3).reshape(8, 1024, 128)
            assert not isinstance(rows, np.ndarray)
            product = known["_streamed"](rows.mT, weights, least)
            if not np.isfinite(product).all():
                with_numbers = partial(_streamed_like, known, rows, least)
                product = known["_dot_where"](weights.mT, rows, np.broadcast_to(~unseen, (few, 1024)), with_numbers).mT
            found.append(product)
        np.testing.assert_array_equal(found[0].view(np.int32), found[1].view(np.int32))


def _streamed_like(known: dict[str, Any], rows: Any, least: int, a: Any, b: Any) -> Any:
    return known["_streamed"](a, known["_like"](rows, b), least)


@pytest.mark.parametrize("how", LAYOUTS)
def test_the_way_values_lie_is_that_of_their_copy(how: str) -> None:
    """What is made once more, without what is no number among values, is summed in the same order."""
    random = np.random.default_rng(7)
    streamed = helpers(numba=True)["_streamed"]
    for heads in (1, 3):
        weights, v = random.random((heads, 700, 3), np.float32), laid(random.random((heads, 700, 40), np.float32), how)
        for part in (v, v[::-1], v[:2]):
            again = np.ascontiguousarray(streamed(weights[: len(part)].mT, np.nan_to_num(part), 0).mT)
            found = streamed(part.mT, weights[: len(part)], 0)
            np.testing.assert_array_equal(found.view(np.int32), again.view(np.int32))


@pytest.mark.parametrize("terms", [100, 4000])
def test_long_sums_are_as_near_as_those_of_a_library(terms: int) -> None:
    """Of numbers of one sign a sum grows, and forgets what is small beside it, unless it is made of parts."""
    random = np.random.default_rng(terms)
    a, b = random.random((terms, 64), np.float32).T, random.random((terms, 4), np.float32)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    found = helpers(numba=True)["_streamed"](a, b, 0)
    assert np.abs(found / exact - 1).max() < 60 * 2**-24


def test_what_is_no_number_stays_one() -> None:
    """Loops may sum in another order, and no more: 0 times NaN or Inf is NaN."""
    for odd in (np.nan, np.inf):
        a, b = np.ones((64, 32), np.float32), np.zeros((32, 2), np.float32)
        a[3, 5] = odd
        for left, right in ((a, b), (np.asfortranarray(a), b)):
            found = helpers(numba=True)["_streamed"](left, right, 0)
            assert np.isnan(found[3]).all()
            assert (np.delete(found, 3, axis=0) == 0).all()


@pytest.mark.parametrize("name", ["gqa", "int8_cache", "causal_end"])
def test_they_agree(name: str, spec_of: Any) -> None:
    pytest.importorskip("numba")
    spec = spec_of(name)
    case = Case.make(spec, dims={dim: size for dim, size in SIZES.items() if dim in spec.dims}, seed=5)
    compiled = program(case)
    case.check("numba", compiled.run(case))
    assert all(defined(compiled)[loop].signatures for loop in ("_row_products", "_row_sums"))


@pytest.mark.parametrize("absent", [False, True])
def test_pages_are_read_where_they_lie(absent: bool, spec_of: Any) -> None:
    """Of a table that says no page of some keys as well."""
    pytest.importorskip("numba")
    dims = {"B": 1, "Hq": 4, "Hkv": 2, "D": 256, "E": 256, "P": 201, "S": 16, "L": 200}
    case = Case.make(spec_of("paged_decode"), dims=dims, seed=5)
    table = np.random.default_rng(5).permutation(201)[None, :200].astype(case.arrays["table"].dtype)
    case = case.given(table=np.where(np.arange(200) % 50 == 7, -1, table) if absent else table, length=np.array([3190]))
    compiled = program(case)
    case.check("numba", compiled.run(case))
    assert all(defined(compiled)[loop].signatures for loop in ("_products_apart", "_sums_apart"))


def test_bytes_are_multiplied_as_memory_holds_them(spec_of: Any) -> None:
    source = compile_spec(spec_of("int8_cache"), {"T": "f32"}, "numpy", machine=MACHINE).source
    assert "astype(np.float32)" not in source.split("def int8_cache")[1]


def test_a_key_that_a_row_does_not_see_changes_no_bit_of_it(spec_of: Any) -> None:
    """What is made once more, without it, is made by the same loop: the order of long sums differs."""
    pytest.importorskip("numba")
    case = Case.make(spec_of("causal_end"), dims={**SIZES, "M": 4}, seed=5)
    compiled = program(case)
    v = case.arrays["v"].copy()
    v[..., -1, :] = np.nan  # of the key that the last row alone sees
    clean, odd = (compiled.run(each)["o"][..., :-1, :] for each in (case, case.given(v=v)))
    assert defined(compiled)["_row_sums"].signatures
    np.testing.assert_array_equal(odd.view(np.uint8), clean.view(np.uint8))


def test_loops_that_numba_leaves_to_python() -> None:
    """As for who looks for a fault, or for which lines are run."""
    pytest.importorskip("numba")
    text = "import numpy as np\nfrom functools import cache\n" + "".join(PRELUDE[name] for name in HELPERS)
    text += "print(_streamed(np.ones((1, 3), np.float32), np.ones((3, 4), np.float32), 0))"
    done = subprocess.run(
        [sys.executable, "-c", text],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[[3. 3. 3. 3.]]\n"
