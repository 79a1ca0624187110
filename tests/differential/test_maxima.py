"""Softmaxes from whose scores no maximum is taken off unless sums of weights show that it is needed."""

from __future__ import annotations

import numpy as np
import pytest

from attndsl.checking.check import check
from attndsl.passes.skip_maxima import LEAST, MOST
from attndsl.reference.rounding import rounding_of
from attndsl.syntax.source import Source
from attndsl.testing import Case, check_stages
from attndsl.testing.stages import compile_program

CAUSAL = """attention causal {
    dims M, N, D, S
    input  q    : f32[M, D]
    input  k    : f32[N, D]
    input  v    : f32[N, D]
    input  sink : f32[S]
    output o    : f32[M, D]
    output lse  : f32[M]
    each i in M
    over j in N
    score = q[i,:] . k[j,:]
    mask  = j <= i + (N - M)
    o[i,:] = softmax(score, mask) . v[j,:]
    lse[i] = logsumexp(score, mask, sink = sink[0])
}"""


def causal(m: int, n: int, by: float = 1.0, sink: float = -200.0) -> Case:
    case = Case.make(check(Source(CAUSAL)), "f32", seed=5, dims={"M": m, "N": n, "D": 2, "S": 1})
    return case.given(q=case.arrays["q"] * np.float32(by), sink=np.array([sink], np.float32))


@pytest.mark.parametrize("by", [1.0, 30.0, 300.0, -300.0])
@pytest.mark.parametrize("sink", [-200.0, 0.0, 100.0])
def test_scores_may_be_of_any_size(by: float, sink: float) -> None:
    check_stages([causal(7, 7, by, sink)])


def test_rows_without_keys_have_no_maximum() -> None:
    """Beside a sink that is far below 0, 0 would be one."""
    check_stages([causal(7, 3)])


@pytest.mark.parametrize("name", ["k", "v"])
def test_a_row_keeps_every_bit_whatever_makes_another_one_take_a_maximum(name: str) -> None:
    case = causal(4, 4)
    program = compile_program(case.spec, case.types)
    usual = program.run(case)
    odd = case.arrays[name].copy()
    odd[-1] = 1e3 * np.sign(case.arrays["q"][-1]) if name == "k" else np.inf
    found = program.run(case.given(**{name: odd}))
    for output, wanted in usual.items():
        assert np.array_equal(found[output][:-1], wanted[:-1])


def test_bounds_know_between_what_sums_lie() -> None:
    rounding = rounding_of({"f32"})
    assert (rounding.least, rounding.most) == (LEAST, MOST)
