"""What can mean nothing is refused, and what the message says to write instead means what was meant."""

from __future__ import annotations

import numpy as np
import pytest

from attndsl.checking.check import check
from attndsl.diagnostics import SpecError
from attndsl.reference.interpreter import reference
from attndsl.syntax.source import Source

from .specs import source


def codes(*lines: str, value: str, header: str = "") -> list[str]:
    """The errors of a spec of one number a row."""
    try:
        check(source(*lines, value=value, header=header))
    except SpecError as error:
        return [diagnostic.code for diagnostic in error.diagnostics]
    return []


# --- the largest of what is the same for every key

KEYS = ("over j in N", "let f[t] = 2.0 * q[t, 0]", "let m[d in D] = max(q[b, d])", "let top = max(k[b, j, 0])")
KEYED = ("j", "k[b, j, 0]", "(q[b, :] . k[b, j, :])", "(if flags[b, j] then 1.0 else q[b, 0])", "f[j]", "(top - j)")
KEYLESS = (
    "1.0",
    "b",
    "q[b, 0]",
    "(D * 2)",
    "(if flags[b, 0] then 1.0 else q[b, 1])",
    "(q[b, :] . q[b, :])",
    "f[b]",
    "top",
)


@pytest.mark.parametrize("mask", ["", ", j < 3", ", flags[b, 0]"])
@pytest.mark.parametrize("x", [*KEYED, *KEYLESS])
def test_only_max_wants_what_depends_on_a_key(x: str, mask: str) -> None:
    """Whatever its mask depends on: sum(1.0, mask) counts, and softmax(1.0, mask) gives a mean."""
    assert codes(*KEYS, value=f"max({x}{mask})") == (["E508"] if x in KEYLESS else [])
    assert codes(*KEYS, value=f"sum({x}{mask}) + logsumexp({x}{mask})") == []
    assert codes(*KEYS, f"let mean = softmax({x}{mask}) . k[b, j, :]", value="mean[0]") == []


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("m[0]", ["E508"]),
        ("sum(m[j] + k[b, j, 0])", []),  # the parameter is a key here
        ("(sum(d in D) max(q[b, d]))", ["E508"]),
        ("sum(exp(k[b, j, 0] - max(q[b, 0])))", ["E508"]),
        ("q[b, 0]", []),  # nothing of the sort is computed
    ],
)
def test_max_is_asked_where_it_is_used(value: str, wanted: list[str]) -> None:
    assert codes(*KEYS, value=value) == wanted


def test_what_the_message_on_max_says_to_write() -> None:
    """The number itself where the mask leaves a key; the largest feature where the features are the keys."""
    text = """attention a {
        dims M, N, D
        input q : f64[M, D]
        input s : f64[N]
        input n : i32[M]
        output some : f64[M]
        output largest : f64[M]
        each i in M
        over j in N
        mask = j < n[i] and s[j] > 0.0
        some[i] = if sum(1.0, mask) > 0.0 then q[i,0] else -inf
        each i in M
        over d in D
        largest[i] = max(q[i,d])
    }"""
    q = np.array([[1.0, 4.0], [2.0, -3.0], [5.0, 5.5]])
    got = reference(check(Source(text)), {"q": q, "s": np.array([1.0, 0.0]), "n": np.array([0, 1, 2], np.int32)})
    assert got["some"].tolist() == [-np.inf, 2.0, 5.0]
    assert got["largest"].tolist() == [4.0, 2.0, 5.5]


# --- numbers that are always out of range

INDICES = {"-1": -1, "0 - 2": -2, "-(1)": -1, "last": -1, "0": 0, "3": 3, "2 * 2": 4, "9": 9, "9 / 3": 3}
AXES = ("input x : f32[4, 2]", "let last = -1", "let u[t in 4] = 1.0 * t")


@pytest.mark.parametrize("index", INDICES)
@pytest.mark.parametrize(
    "read", ["x[{}, 0]", "u[{}]", "(x[{}, :] . x[0, :])", "u[{}] * n[b]", "(sum(r in 2) x[{}, r])"]
)
def test_a_number_that_is_always_out_of_range(read: str, index: str) -> None:
    wanted = [] if 0 <= INDICES[index] < 4 else ["E310" if INDICES[index] < 0 else "E311"]
    assert codes(*AXES, value=read.format(index)) == wanted


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("paged[-1, 0]", ["E310"]),
        ("(paged[-1, :] . q[b, :])", ["E310"]),
        ("tested[-1]", []),  # it reads nothing there
        ("half[-1] + n[0]", []),  # and this one reads nothing at all
        ("q[b - 1, 0]", []),
        ("k[b, n[b] - 9, 0]", []),
        ("q[b, p]", []),
    ],
)
def test_a_definition_is_asked_what_it_reads(value: str, wanted: list[str]) -> None:
    views = (
        "let paged[t, :] = pages[table[b, t / S], t % S, :]",
        "let tested[t] = if t < 0 then 0.0 else q[t, 0]",
        "let half[t] = t / 2",
    )
    assert codes(*views, value=value, header="(p: int = -1)") == wanted


# --- specs that compute nothing


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("", "E611"),
        ("dims N input x : f32[N]", "E611"),
        ("dims N input x : f32[N] let y = x[0] schedule { split_k = 1 }", "E611"),
        ("dims N input x : f32[N] output o : f32[N]", "E601"),
        ("dims N input x : f32[N] each i in N", "E610"),
        ("dims N input x : f32[N] output o : f32[N] each i in N", "E610"),
        ("dims N input x : f32[N] each i in N o[i] = x[i]", "E106"),
    ],
)
def test_a_spec_writes_something(body: str, code: str) -> None:
    with pytest.raises(SpecError) as raised:
        check(Source(f"attention a {{ {body} }}"))
    assert code in [diagnostic.code for diagnostic in raised.value.diagnostics]
