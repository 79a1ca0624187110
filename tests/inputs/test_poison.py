"""Which elements an output depends on, and that the others may hold anything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attndsl.checking.check import check
from attndsl.checking.typed import Kind
from attndsl.inputs import default_dims, default_params, elements_read, make_inputs, poison_absent
from attndsl.reference import reference
from attndsl.storage import decode
from attndsl.syntax.source import Source
from attndsl.testing.case import types_with

GALLERY = sorted((Path(__file__).parents[2] / "examples").glob("*.attn"))


def read_by(text: str, **arrays: Any) -> dict[str, Any]:
    """The elements that `attention a` with this body depends on, as lists of 0 and 1."""
    given = {name: np.asarray(values) for name, values in arrays.items()}
    given = {n: a.astype(np.int32) if a.dtype == np.int64 else a for n, a in given.items()}
    spec = check(Source(f"attention a {{ {text} }}"))
    return {name: read.astype(int).tolist() for name, read in elements_read(spec, given).items()}


def test_a_mask_hides() -> None:
    text = """dims M, N input s : f64[M, N] input v : f64[N] output o : f64[M]
        each i in M over j in N
        o[i] = sum(s[i,j] * v[j], j < i)"""
    got = read_by(text, s=np.ones((3, 4)), v=np.ones(4))
    assert got == {"s": [[0, 0, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0]], "v": [1, 1, 0, 0]}


def test_a_mask_that_reads_is_needed_where_it_is_reached() -> None:
    text = """dims N input s : f64[N] input t : f64[N] output o : f64[1]
        each i in 1 over j in N
        o[i] = sum(s[j], j < 3 and t[j] > 0.0)"""
    assert read_by(text, s=np.ones(4), t=[1.0, -1.0, 1.0, 1.0]) == {"s": [1, 0, 1, 0], "t": [1, 1, 1, 0]}


def test_a_key_that_is_absent_is_needed_nowhere() -> None:
    text = """dims N, K input at : i32[K] input s : f64[K] input v : f64[N, 2] output o : f64[1, 2]
        each i in 1 over j in K
        o[i,:] = softmax(s[j]) . v[at[j], :]"""
    got = read_by(text, at=[1, -1, 9], s=np.ones(3), v=np.ones((3, 2)))
    assert got == {"s": [1, 0, 0], "v": [[0, 0], [1, 1], [0, 0]]}


def test_a_value_with_an_absent_element_hides_its_others() -> None:
    text = """dims N, D input v : f64[N, D] output o : f64[1, D]
        each i in 1 over j in N
        let moved[d in D] = v[j, d + j]
        o[i,:] = softmax(0.0) . moved"""
    assert read_by(text, v=np.ones((2, 2))) == {"v": [[1, 1], [0, 0]]}


def test_a_choice_needs_its_condition_and_one_branch() -> None:
    text = """dims N input c : f64[N] input x : f64[N] input y : f64[N] output o : f64[N]
        each i in N
        o[i] = if c[i] > 0.0 then x[i] else y[i]"""
    got = read_by(text, c=[1.0, -1.0], x=np.ones(2), y=np.ones(2))
    assert got == {"c": [1, 1], "x": [1, 0], "y": [0, 1]}


def test_what_decides_about_presence_is_needed() -> None:
    text = """dims N, K input c : f64[K] input x : f64[N] output o : f64[K]
        each i in K
        o[i] = x[if c[i] > 0.0 then 0 else 99]"""
    assert read_by(text, c=[1.0, -1.0], x=np.ones(2)) == {"c": [1, 1], "x": [1, 0]}


def test_an_absent_output_needs_nothing() -> None:
    text = """dims M, N input x : f64[M] input y : f64[N] output o : f64[M]
        each i in M
        o[i] = x[i] * y[i]"""
    assert read_by(text, x=np.ones(3), y=np.ones(2)) == {"x": [1, 1, 0], "y": [1, 1]}


def test_a_sink_and_an_epilogue_are_needed_by_empty_rows() -> None:
    text = """dims M, N input s : f64[N] input t : f64[M] input g : f64[M] output o : f64[M]
        each i in M over j in N
        o[i] = g[i] * logsumexp(s[j], false, sink = t[i])"""
    assert read_by(text, s=np.ones(2), t=np.ones(1), g=np.ones(1)) == {"s": [0, 0], "t": [1], "g": [1]}


@pytest.mark.parametrize("hostile", [False, True], ids=["sensible", "hostile"])
@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_poison_does_not_reach_the_gallery(path: Path, hostile: bool) -> None:
    spec = check(Source(path.read_text(encoding="utf-8"), path.name))
    few = {name: size for name, size in {"B": 2, "H": 1, "Hq": 2, "Hkv": 1, "M": 3}.items() if name in spec.dims}
    dims = default_dims(spec, given=few)
    params = {**default_params(spec), **{p.name: 2 for p in spec.params if p.kind is Kind.INT}}
    arrays = make_inputs(spec, dims, types_with(spec, "bf16"), 5, params, hostile)
    clean, poisoned = (reference(spec, a, params) for a in (arrays, poison_absent(spec, arrays, params)))
    for name, output in clean.items():
        np.testing.assert_array_equal(output, poisoned[name])


def test_poison_is_there_and_reaches_what_a_wrong_spec_would_read() -> None:
    text = """attention a {{
        dims M, N types T input s : T[N] input q : f8e4m3[M, N] output o : f64[M]
        each i in M over j in N
        o[i] = sum(s[j] + q[i,j], j < i{})
    }}"""
    right, wrong = (check(Source(text.format(more))) for more in ("", " + 1"))
    arrays = make_inputs(right, {"M": 3, "N": 5}, {"T": "bf16"})
    poisoned = poison_absent(right, arrays)
    assert np.isnan(decode(poisoned["s"], "bf16")).tolist() == [False, False, False, True, False]
    assert not np.isfinite(decode(poisoned["s"], "bf16")[2:]).any()
    assert np.isnan(decode(poisoned["q"], "f8e4m3")).sum() == 12
    assert np.isfinite(reference(right, poisoned)["o"]).all()
    assert not np.isfinite(reference(wrong, poisoned)["o"]).any()
    assert np.isfinite(decode(arrays["s"], "bf16")).all(), "the inputs themselves are left alone"
