"""Forms that the gallery has not, each of which has been wrong: the result rises as gradients say."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import attndsl
from attndsl.checking.check import check
from attndsl.gradient import gradient
from attndsl.syntax.source import Source
from attndsl.testing import Case

from .differences import slopes_differ, widened

HEAD = """attention t {
    dims M, N, D
    input  x : f64[M, D]
    input  y : f64[N, D]
    input  w : f64[N]
    output o : f64[M, D]
    output p : f64[M]
"""

BODIES = {
    "a product within what is summed": """
        o[i,:] = sum(exp(0.1 * (x[i,:] . y[j,:])) * y[j,:], j <= i)
        p[i] = x[i,0]""",
    "a sum in a mask": """
        let s = x[i,:] . y[j,:]
        o[i,:] = softmax(s, s > sum(s) / N) . y[j,:]
        p[i] = x[i,0]""",
    "the largest in a mask": """
        let s = x[i,:] . y[j,:]
        o[i,:] = softmax(s, s >= max(s) - 1.0) . y[j,:]
        p[i] = x[i,0]""",
    "a position in a mask and an index": """
        let s = x[i,:] . y[j,:]
        o[i,:] = softmax(s, j != argmax(s)) . (w[argmax(s)] * y[j,:])
        p[i] = x[i,0]""",
    "what is constant along an axis": """
        let u[d in D] = x[i,0] * w[j]
        o[i,:] = softmax(x[i,:] . y[j,:]) . u
        p[i] = (sum(d in D) x[i,0]) * w[0]""",
    "terms of which some are constant along an axis": """
        o[i,:] = softmax(x[i,:] . y[j,:]) . y[j,:]
        p[i] = sum(d in D) (x[i,d] + w[0])""",
    "a term that is absent beside one that is not": """
        o[i,:] = x[i,:] * w[i + 1]
        p[i] = x[i,0]""",
    "values of which some are absent, and others not": """
        let s = x[i,:] . y[j,:]
        o[i,:] = softmax(s) . y[j,:] + softmax(s) . y[j + 1, :]
        p[i] = x[i,0]""",
    "a sink that is absent": """
        o[i,:] = softmax(x[i,:] . y[j,:], sink = w[i + 1]) . y[j,:]
        p[i] = x[i,0] * w[0]""",
    "a reduction that a branch takes": """
        o[i,:] = if x[i,0] > 0.0 then sum(sqrt(x[i,0]) * y[j,:]) else x[i,:]
        p[i] = x[i,0]""",
    "a choice for each element of a result": """
        let r = softmax(x[i,:] . y[j,:], sink = x[i,1]) . y[j,:]
        let u[d in D] = if x[i,d] > 0.0 then r[d] else 0.0
        o[i,:] = u
        p[i] = w[0] * x[i,0]""",
    "a result that two outputs have": """
        let r = softmax(x[i,:] . y[j,:]) . y[j,:]
        o[i,:] = r
        p[i] = r . r""",
    "the largest in a score": """
        let s = x[i,:] . y[j,:]
        o[i,:] = softmax(s - 0.3 * max(s)) . y[j,:]
        p[i] = x[i,0]""",
    "reductions of reductions": """
        let s = x[i,:] . y[j,:]
        let n = sum(exp(s), j <= i)
        let z = logsumexp(s * n)
        o[i,:] = softmax(s - 0.1 * z * s, sink = w[i] * n) . (y[j,:] * n)
        p[i] = x[i,0] * z""",
    "a mean and a variance": """
        let mean = sum(w[j], j <= i) / (i + 1)
        let var = sum((w[j] - mean) * (w[j] - mean), j <= i) / (i + 1)
        o[i,:] = y[i % N,:] * rsqrt(var + 0.1)
        p[i] = mean""",
    "scores of what a softmax gives": """
        let a = softmax(x[i,:] . y[j,:]) . y[j,:]
        o[i,:] = softmax(a . y[j,:], j <= i + 1) . y[j,:]
        p[i] = a . a""",
    "the largest along an axis": """
        let m = max(d in D) abs(x[i,d])
        o[i,:] = softmax(x[i,:] . y[j,:] / m) . y[j,:]
        p[i] = m""",
    "the least along an axis of pairs": """
        o[i,:] = softmax(min(d in D) (x[i,d] + y[j,d])) . y[j,:]
        p[i] = x[i,0]""",
    "places behind an offset": """
        o[i + 1,:] = softmax(x[i,:] . y[j,:]) . y[j,:]
        p[i] = x[i,0]""",
    "the largest of vectors": """
        let all[d in D] = max(x[i,d] * y[j,d], j <= i)
        let low[d in D] = min(y[j,d] - w[j])
        o[i,:] = all[:] * low[:] + exp(low[:])
        p[i] = x[i,0]""",
    "a log-sum-exp of vectors": """
        let z[d in D] = logsumexp(x[i,d] * y[j,d] + w[j], j <= i)
        let z_2[d in D] = logsumexp(x[i,d] * y[j,d] + z[d], j <= i)
        o[i,:] = z[:] + z_2[:]
        p[i] = z . z""",
}


@pytest.mark.parametrize("name", BODIES)
def test_the_result_rises_as_gradients_say(name: str) -> None:
    spec = widened(f"{HEAD}each i in M over j in N {BODIES[name]}\n}}")
    case = Case.make(spec, "f64", seed=1, dims={"M": 4, "N": 5, "D": 3})
    assert slopes_differ(spec, case) == []


def test_an_output_that_holds_some_rows() -> None:
    """It cannot stand for the reduction that others use."""
    spec = widened(
        HEAD.replace("o : f64[M, D]", "o : f64[2, D]")
        + "each i in M over j in N"
        + BODIES["a result that two outputs have"]
        + "}"
    )
    assert slopes_differ(spec, Case.make(spec, "f64", seed=1, dims={"M": 4, "N": 5, "D": 3})) == []


@pytest.mark.parametrize("keys", ["i + 1", "minimum(N, i + 2)", "N - i", "maximum(i, 2)", "2 + maximum(i, 1) - 1"])
def test_numbers_of_keys_that_depend_on_the_row(keys: str) -> None:
    """They are conditions where rows and keys have changed places."""
    spec = widened(
        f"{HEAD}each i in M over j in {keys} o[i,:] = softmax(x[i,:] . y[j,:]) . (w[j] * y[j,:]) p[i] = 1.0 }}"
    )
    assert slopes_differ(spec, Case.make(spec, "f64", seed=1, dims={"M": 4, "N": 5, "D": 3})) == []


def test_blocks_on_one_line() -> None:
    """What is saved stands in the block whose it is."""
    text = """attention t { input x : f64[3] input y : f64[5] output o : f64[3] output p : f64[3]
    each i in 3 over j in 5 o[i] = logsumexp(x[i] * y[j]) each i in 3 over j in 2 p[i] = logsumexp(x[i] * y[j]) }"""
    spec = check(Source(text))
    rng = np.random.default_rng(0)
    case = Case(spec, {}, {}, {}, {"x": rng.standard_normal(3), "y": rng.standard_normal(5)})
    assert slopes_differ(spec, case) == []


@pytest.mark.parametrize(
    "value",
    [
        "sum(exp(x[i] * k[j] * rsqrt(k[j] * k[j])), j != 1)",
        "sum(x[i] * x[i] * k[j], i != 1 and j != 1)",
        "sum(if k[j] > 0.0 then log(k[j]) * x[i] else 0.0, j != 1)",
        "(if i != 1 then logsumexp(k[j], j != 1, sink = x[i]) else k[0])",
    ],
)
def test_memory_that_is_not_seen_gives_nothing(value: str) -> None:
    head = "dims M, N input x : f64[M] input k : f64[N] output o : f64[M] each i in M over j in N"
    text = f"attention t {{ {head} o[i] = {value} }}"
    x = torch.tensor([0.5, 1.5, -0.3], dtype=torch.float64, requires_grad=True)
    k = torch.tensor([0.7, float("nan"), 0.0 if "log" in value else 0.4], dtype=torch.float64, requires_grad=True)
    with torch.no_grad():
        if "i != 1" in value:
            x[1] = float("inf")
    attndsl.compile(text)(x, k).sum().backward()
    assert x.grad is not None and k.grad is not None
    assert x.grad.isfinite().all()
    assert k.grad.isfinite().all()
    assert k.grad[1] == 0


@pytest.mark.parametrize("memory", [float("nan"), float("inf")])
def test_a_sink_of_a_row_without_keys_gets_nothing(memory: float) -> None:
    text = """attention t { dims M, N input x : f64[M] input k : f64[N] input s : f64[M] output p : f64[M, N]
    each i in M over j in N p[i,j] = softmax(x[i] * k[j], i != 1, sink = s[i]) }"""
    x, k, s = (torch.tensor([0.5, 1.5, -0.3], dtype=torch.float64, requires_grad=True) for _ in range(3))
    with torch.no_grad():
        s[1] = memory
    attndsl.compile(text)(x, k, s).sum().backward()
    assert s.grad is not None
    assert s.grad.isfinite().all()
    assert s.grad[1] == 0
    assert s.grad[0] != 0


def test_a_schedule_that_is_deterministic_stays_so() -> None:
    text = (
        HEAD
        + "schedule { deterministic = true; tile_rows = 16 } each i in M over j in N"
        + BODIES["a sum in a mask"]
        + "}"
    )
    found = gradient(check(Source(text)))
    assert "schedule { deterministic = true }" in found.backward
