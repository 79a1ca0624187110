"""Arrays of the right types, with integers that the spec can use, or with such as it must survive."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attndsl.checking.check import check
from attndsl.checking.typed import Spec
from attndsl.inputs import default_dims, default_params, make_inputs
from attndsl.inputs.ranges import IndexRange, integer_ranges
from attndsl.reference import dims_of, reference
from attndsl.storage import ELEMENTS, decode
from attndsl.syntax.source import Source
from attndsl.testing.case import types_with

GALLERY = sorted((Path(__file__).parents[2] / "examples").glob("*.attn"))


def gallery(name: str) -> Spec:
    path = next(path for path in GALLERY if path.stem == name)
    return check(Source(path.read_text(encoding="utf-8"), path.name))


def ranges(name: str, **sizes: int) -> dict[str, IndexRange]:
    """The ranges for these extents; those that are left out do not matter."""
    spec = gallery(name)
    return integer_ranges(spec, default_dims(spec, given=sizes), default_params(spec))


def test_indices_stay_below_what_they_index() -> None:
    found = ranges("paged_decode", P=5, S=3, L=7)
    assert found == {"table": IndexRange("index", 4), "length": IndexRange("extent", 21)}
    assert ranges("topk_sparse", N=9) == {"index": IndexRange("index", 8)}
    assert ranges("t5_bias") == {"bucket": IndexRange("index", 15)}


def test_offsets_rise_to_the_end_of_what_is_packed() -> None:
    assert ranges("packed_ragged", M=7, N=9) == {"cu_q": IndexRange("offset", 7), "cu_k": IndexRange("offset", 9)}


def test_lengths_stay_below_their_bounds() -> None:
    assert ranges("padding", M=4, N=6) == {"m": IndexRange("extent", 4), "n": IndexRange("extent", 6)}
    assert ranges("shared_prefix", P=5, N=7) == {"length": IndexRange("extent", 7)}
    assert ranges("prefix_lm", N=6) == {"prefix": IndexRange("position", 6)}


def test_integers_that_stand_for_numbers_have_no_range() -> None:
    assert ranges("int4_cache") == {}
    assert ranges("document_mask") == {}


@pytest.mark.parametrize("hostile", [False, True])
@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_the_gallery_gets_what_it_declares(path: Path, hostile: bool) -> None:
    spec = gallery(path.stem)
    dims = default_dims(spec)
    types = types_with(spec, "bf16")
    arrays = make_inputs(spec, dims, types, seed=3, hostile=hostile)
    assert list(arrays) == [tensor.name for tensor in spec.inputs]
    assert dims_of(spec, arrays, default_params(spec)) == dims
    for tensor in spec.inputs:
        element = types.get(tensor.element, tensor.element)
        assert arrays[tensor.name].dtype == ELEMENTS[element].dtype
        assert np.isfinite(decode(arrays[tensor.name], element)).all()
    again = make_inputs(spec, dims, types, seed=3, hostile=hostile)
    assert all(np.array_equal(arrays[name], again[name]) for name in arrays)


@pytest.mark.parametrize("name", ["paged_prefill", "packed_ragged", "topk_sparse", "padding", "retention"])
def test_sensible_inputs_reach_most_of_the_output(name: str) -> None:
    spec = gallery(name)
    output = reference(spec, make_inputs(spec, default_dims(spec), seed=1))["o"]
    assert np.isfinite(output).all()
    assert np.mean(output != 0) > 0.5


def integers(hostile: bool) -> dict[str, np.ndarray[Any, Any]]:
    spec = gallery("paged_prefill")
    dims = default_dims(spec, given={"B": 40, "M": 50, "P": 9, "S": 4, "L": 30})
    return make_inputs(spec, dims, seed=2, hostile=hostile)


def test_sensible_integers_fit() -> None:
    arrays = integers(hostile=False)
    assert arrays["table"].min() >= 0 and arrays["table"].max() == 8
    assert arrays["length"].min() >= 0 and arrays["length"].max() <= 120
    assert arrays["cu_q"][0] == 0 and arrays["cu_q"][-1] == 50 and (np.diff(arrays["cu_q"]) >= 0).all()


def test_hostile_integers_do_not() -> None:
    arrays = integers(hostile=True)
    assert -1 in arrays["table"] and (arrays["table"] > 8).any()
    assert 0 in arrays["length"] and (arrays["length"] > 120).any() and (arrays["length"] < 0).any()
    assert (np.diff(arrays["cu_q"].astype(np.int64)) < 0).any()
    assert (arrays["table"] >= 0).mean() > 0.5, "the rest is sensible"


def test_bytes_that_stand_for_numbers_take_all_values() -> None:
    spec = gallery("int4_cache")
    dims = default_dims(spec, given={"N": 100})
    pairs = make_inputs(spec, dims)["k_pairs"]
    assert np.unique(pairs).size == 256


def test_what_a_logarithm_is_taken_of_is_positive() -> None:
    spec = gallery("retention")
    assert (make_inputs(spec, default_dims(spec))["gamma"] > 0).all()


def test_parameters_count() -> None:
    text = """attention a(width: int) {
        dims N, K input at : i32[K] input x : f32[N] output o : f32[K]
        each i in K o[i] = x[at[i] + width]
    }"""
    assert integer_ranges(check(Source(text)), {"N": 10, "K": 2}, {"width": 4}) == {"at": IndexRange("index", 5)}


@pytest.mark.parametrize("hostile", [False, True])
def test_tensors_without_dimensions(hostile: bool) -> None:
    text = """attention a {
        dims N types T input n : i32[] input flag : bool[] input scale : T[] input x : f32[N] output o : f32[1]
        each i in 1 over j in n[]
        o[i] = sum(scale[] * x[j], flag[])
    }"""
    arrays = make_inputs(check(Source(text)), {"N": 3}, {"T": "bf16"}, hostile=hostile)
    assert {name: array.shape for name, array in arrays.items()} == {"n": (), "flag": (), "scale": (), "x": (3,)}
