"""What has no gradient, in words."""

from __future__ import annotations

import pytest

from attndsl.checking.check import check
from attndsl.gradient import NoGradient, gradient
from attndsl.gradient.presence import conditions
from attndsl.syntax.source import Source


def spec_of(body: str, inputs: str = "input x : f32[M] input k : f32[N] output o : f32[M]") -> str:
    return f"attention t {{ dims M, N {inputs} each i in M over j in N {body} }}"


PARTS = """attention t(p: int) {
    dims E
    input  x : f32[E]
    output o : f32[E, E]
    each i in E
    o[i,:] = x[i] * x[p : p + E]
}"""


@pytest.mark.parametrize(
    ("text", "of", "said"),
    [
        (spec_of("o[i] = sum(x[i] * k[j])"), ("y",), "t has no input y: its inputs are x, k."),
        (
            spec_of("o[i] = sum(x[i] * k[j])", "input x : f32[M] input k : i8[N] output o : f32[M]"),
            ("k",),
            "k has no gradient: it is stored as i8.",
        ),
        (
            spec_of("o[i] = sum(k[j], x[i] > 0.0)"),
            ("x",),
            "x reaches no output of t through numbers: it has no gradient.",
        ),
        (
            spec_of("o[i] = f32(argmax(k[j] * x[i]))"),
            (),
            "x reaches no output of t through numbers: it has no gradient.",
        ),
        (
            spec_of("o[i % 2] = sum(k[j] * x[i])"),
            (),
            "t has no gradient: rows may meet in what they write to o.",
        ),
        (
            spec_of("o[i] = f32(a[i])", "input a : i32[M] output o : f32[M] input b : i32[N]"),
            (),
            "t has no gradient: it has no input that is stored as floats.",
        ),
        (
            PARTS,
            ("x",),
            "t has no gradient yet: a sum along an axis of which elements may be absent has no rule.",
        ),
    ],
)
def test_it_is_said(text: str, of: tuple[str, ...], said: str) -> None:
    with pytest.raises(NoGradient) as error:
        gradient(check(Source(text)), of)
    assert str(error.value) == said


def test_what_conditions_alone_read_is_left_out() -> None:
    found = gradient(check(Source(spec_of("o[i] = sum(k[j], x[i] > 0.0)"))))
    assert dict(found.gradients) == {"k": "d_k"}


def test_only_what_is_asked_for() -> None:
    text = spec_of("o[i] = sum(exp(x[i] * k[j]))")
    found = gradient(check(Source(text)), ("k",))
    assert "output d_k" in found.backward
    assert "output d_x" not in found.backward


@pytest.mark.parametrize(("place", "inside"), [("h * D + d", True), ("h * D + d + D", False), ("h * D + d + 1", False)])
def test_digits_that_are_moved_may_lie_outside(place: str, inside: bool) -> None:
    text = f"""attention t {{
        dims H, D
        input  x : f32[H * D]
        input  y : f32[H, D]
        output o : f32[H]
        each h in H
        o[h] = sum(d in D) x[{place}] * y[h,d]
    }}"""
    value = check(Source(text)).blocks[0].writes[0].value
    assert (conditions(value) == set()) is inside
