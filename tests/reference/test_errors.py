"""The error bound: no program that computes as it should exceeds it, and one that rounds more often does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from attndsl.checking.check import check
from attndsl.reference.errors import error_bounds
from attndsl.reference.rounding import rounding_of
from attndsl.storage import decode, encode
from attndsl.syntax.source import Source
from attndsl.testing import Case, Disagreement

Array = np.ndarray[Any, Any]

TOTALS = """attention totals {
    dims M, N
    types T
    input  x : T[M, N]
    output o : T[M]
    each i in M
    over j in N
    o[i] = sum(x[i,j])
}"""

ATTENTION = """attention plain {
    dims M, N, D
    types T
    input  q : T[M, D]
    input  k : T[N, D]
    input  v : T[N, D]
    output o : T[M, D]
    each i in M
    over j in N
    o[i,:] = softmax(q[i,:] . k[j,:] / sqrt(D)) . v[j,:]
}"""


def case_of(text: str, element: str, **dims: int) -> Case:
    return Case.make(check(Source(text)), element, seed=3, dims=dims)


def summed(terms: Array, kept: Callable[[Array], Array]) -> Array:
    """Sums of rows, each partial sum kept as `kept` has it."""
    total = np.zeros(len(terms))
    for column in terms.T:
        total = kept(total + column)
    return total


def as_stored(element: str) -> Callable[[Array], Array]:
    return lambda array: decode(encode(array, element), element)


@pytest.mark.parametrize("element", ["f16", "bf16"])
def test_a_sum_kept_in_the_storage_type_is_not_explained(element: str) -> None:
    case = case_of(TOTALS, element, M=20, N=100)
    terms = decode(case.arrays["x"], element)
    single = summed(terms, as_stored("f32"))
    assert 0 < case.check("f32", {"o": encode(single, element)}) <= 1
    with pytest.raises(Disagreement):
        case.check(element, {"o": encode(summed(terms, as_stored(element)), element)})


def test_a_sum_of_f64_kept_in_f32_is_not_explained() -> None:
    case = case_of(TOTALS, "f64", M=4, N=50)
    with pytest.raises(Disagreement):
        case.check("f32", {"o": summed(case.arrays["x"], as_stored("f32"))})


@pytest.mark.parametrize("order", [np.asarray, np.sort, lambda terms: terms[:, ::-1]])
def test_a_sum_kept_in_f32_is_explained_in_any_order(order: Callable[[Array], Array]) -> None:
    case = case_of(TOTALS, "f32", M=20, N=300)
    found = summed(order(case.arrays["x"].astype(np.float64)), as_stored("f32"))
    assert case.check("f32", {"o": found.astype(np.float32)}) <= 1


def attended(case: Case, element: str, weights: Callable[[Array], Array], kept: Callable[[Array], Array]) -> Array:
    """Attention whose weights are rounded, and whose sum of values is kept, as these say."""
    q, k, v = (decode(case.arrays[name], element) for name in ("q", "k", "v"))
    score = q @ k.T / np.sqrt(case.dims["D"])
    p = np.exp(score - score.max(axis=1, keepdims=True))
    total = p.sum(axis=1, keepdims=True)
    o = np.stack([summed(weights(p) * column, kept) for column in v.T], axis=1)
    return encode(o / total, element)


@pytest.mark.parametrize("element", ["f16", "bf16"])
def test_weights_rounded_to_16_bits_are_explained_where_a_pass_says_so(element: str) -> None:
    case = case_of(ATTENTION, element, M=16, N=120, D=8)
    single, stored = as_stored("f32"), as_stored(element)
    assert case.check("exact", {"o": attended(case, element, single, single)}) <= 1
    rounded = {"o": attended(case, element, stored, single)}
    assert case.check("narrow-products", rounded, narrowed=True) <= 1
    with pytest.raises(Disagreement):
        case.check("tile", rounded)
    with pytest.raises(Disagreement):
        case.check("narrow-products", {"o": attended(case, element, stored, stored)}, narrowed=True)


@pytest.mark.parametrize("element", ["f32", "f64"])
def test_the_bound_is_not_far_above_what_rounding_does(element: str) -> None:
    """An error of a few hundred times what f32 does would be found."""
    case = case_of(ATTENTION, element, M=8, N=40, D=4)
    unit = 2.0**-24 if element == "f32" else 2.0**-53
    assert np.all(case.bounds(False)["o"] < 1000 * unit)


def bounds(body: str, element: str = "f32", **arrays: Any) -> Array:
    """The bounds of o[i] = `body`, of x[i], y[i] and n[i]."""
    text = f"""attention bounded {{
        dims N
        input  x : {element}[N]
        input  y : {element}[N]
        input  n : i32[N]
        output o : f32[N]
        each i in N
        over j in N
        o[i] = {body}
    }}"""
    size = next(len(array) for array in arrays.values())
    given: dict[str, Any] = {"x": np.ones(size), "y": np.ones(size), "n": np.zeros(size), **arrays}
    dtypes = {"x": np.float32, "y": np.float32, "n": np.int32}
    held = {name: np.asarray(array, dtypes[name]) for name, array in given.items()}
    return error_bounds(check(Source(text)), held, {}, rounding_of({element}))["o"]


UNIT = 2.0**-24


def test_what_is_read_is_exact() -> None:
    assert bounds("x[i]", x=[1.5, np.inf, np.nan])[:2].tolist() == [0, 0]
    assert bounds("0.5", x=[1.0]).tolist() == [0]
    assert 0 < bounds("0.1", x=[1.0])[0] <= UNIT * 0.1


def test_cancellation_does_not_make_an_error_smaller() -> None:
    found = bounds("(x[i] + y[i]) - x[i]", x=[2.0**20], y=[1.0])
    assert found[0] >= 2.0**20 * UNIT


def test_a_function_passes_an_error_on_as_it_is_steep() -> None:
    flat, steep = bounds("exp(x[i] * y[i])", x=[0.1, 10.0], y=[1.1, 1.1])
    assert steep > 1e4 * flat


def test_what_rounding_may_decide_has_no_bound() -> None:
    decided, close = bounds("if x[i] * y[i] < 1.0 then 1.0 else 2.0", x=[3.0, 1 + 2**-13], y=[3.0, 1 - 2**-13])
    assert decided == 0 and close == np.inf
    assert bounds("floor(x[i] * 3.0)", x=[0.5])[0] == 0
    assert bounds("floor(x[i] * 3.0)", x=[1 / 3])[0] == 1, "it is one of two"
    assert bounds("x[i] / (y[i] - 1.0)", x=[1.0], y=[1.0])[0] == np.inf
    assert bounds("sum(x[j], x[j] * y[j] > 1.0)", x=[3.0, 1 + 2**-13], y=[3.0, 1 - 2**-13])[0] == np.inf


def test_a_place_has_no_bound_where_keys_may_change_places() -> None:
    first, second, third, fourth = ranked([5.0, 1 + 2**-13, 3.0, 1.0], [1.0, 1 - 2**-13, 1.0, 1.0])
    assert (first, second) == (0, 0), "the largest two are far apart"
    assert third == fourth == np.inf, "of the others either may be the larger"
    assert ranked([5.0, 1.0, 1.0, 1.0], None) == [0, 0, 0, 0], "what ties without an error"
    assert ranked([np.nan, np.inf, -np.inf, np.nan], None) == [0, 0, 0, 0]
    assert ranked([3e38, 1.0, 2.0, 3.0], [3e38, 1.0, 1.0, 1.0]) == [np.inf] * 4, "it may be NaN"


def ranked(x: list[float], y: list[float] | None) -> list[float]:
    """The bounds of the positions of x, or of the products of x and y."""
    text = f"""attention ranked {{
        dims N
        input  x : f32[N]
        input  y : f32[N]
        output o : i32[1, N]
        each i in 1
        over j in N
        o[i,:] = topk(x[j]{" * y[j]" if y else ""}, N)
    }}"""
    if not y:
        text = text.replace("        input  y : f32[N]\n", "")
    given = {"x": np.array(x, np.float32)} | ({"y": np.array(y, np.float32)} if y else {})
    found: list[float] = error_bounds(check(Source(text)), given, {}, rounding_of({"f32"}))["o"][0].tolist()
    return found


def test_what_may_overflow_has_no_bound() -> None:
    assert bounds("x[i] * x[i] / y[i]", x=[1e30], y=[1e30])[0] == np.inf
    assert bounds("sum(x[j])", x=[3e38, 3e38, -3e38]).tolist() == [np.inf] * 3


def test_infinities_that_are_certain_are_exact() -> None:
    assert bounds("x[i] * y[i]", x=[np.inf, np.inf], y=[2.0, -1.0]).tolist() == [0, 0]
    assert bounds("sum(x[j] * y[j])", x=[np.inf, 1.0], y=[2.0, 3.0]).tolist() == [0, 0]
    assert bounds("x[i] * (y[i] - 1.0)", x=[np.inf], y=[1.0])[0] == np.inf, "or a NaN"
    assert bounds("max(x[j])", x=[np.inf, 1.0]).tolist() == [0, 0]


def test_infinities_of_both_signs_may_be_one_factor() -> None:
    """What is taken out of a sum, in whichever words: of one sign, or beside a NaN, the sum is certain."""
    text = """attention met {
        dims N
        input  x : f32[N]
        output o : f32[2]
        each i in N
        o[0] += x[i]
        o[1] += 0.5 * x[i]
    }"""
    spec = check(Source(text))
    for x, certain in (([np.inf, np.inf], True), ([np.inf, -np.inf], False), ([np.inf, -np.inf, np.nan], True)):
        found = error_bounds(spec, {"x": np.array(x, np.float32)}, {}, rounding_of({"f32"}))["o"]
        assert found.tolist() == [0 if certain else np.inf] * 2
        assert bounds("sum(x[j])", x=x).tolist() == [0 if certain else np.inf] * len(x)


def test_a_weight_that_underflows_may_be_none_or_some() -> None:
    text = """attention weighed {
        dims N, E
        input  x : f32[N]
        input  v : f32[N, E]
        output o : f32[E, E]
        each i in E
        over j in N
        o[i,:] = softmax(x[j], j <= 1) . v[j,:]
    }"""

    def bound(x: list[float], v: list[float]) -> float:
        given = {"x": np.array(x, np.float32), "v": np.array(v, np.float32)[:, None]}
        return float(error_bounds(check(Source(text)), given, {}, rounding_of({"f32"}))["o"][0, 0])

    assert bound([0.0, -2000.0], [1.0, np.inf]) == np.inf, "in two steps neither underflows"
    assert bound([0.0, -np.inf], [1.0, np.inf]) == 0, "0 times infinity"
    assert bound([0.0, 0.0, 0.0], [1.0, 1.0, np.inf]) < 1e-5, "a key that the mask leaves out"


def test_an_index_is_exact_and_so_is_what_it_reads() -> None:
    assert bounds("x[n[i]]", x=[5.0, 6.0], n=[1, 0]).tolist() == [0, 0]
    assert bounds("f32(n[i])", n=[3, 2**24 + 1])[0] == 0
    assert bounds("f32(n[i])", n=[3, 2**24 + 1])[1] > 0
