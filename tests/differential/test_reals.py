"""An `f32` parameter is the f32 number nearest to what a call gives, whatever it is computed with, on every target."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import attndsl
from attndsl.checking.check import check
from attndsl.checking.evaluate import evaluate
from attndsl.checking.typed import Spec
from attndsl.driver.compile import compile_spec
from attndsl.ir.build import build
from attndsl.ir.interpret import interpret
from attndsl.op.errors import RequirementFails, WrongParameter
from attndsl.reference import reference
from attndsl.reference.errors import error_bounds
from attndsl.reference.rounding import rounding_of
from attndsl.syntax.source import Source
from attndsl.testing.stages import compile_program

SCALED = """attention scaled(scale: f32 = 0.1) {
    dims N
    input x : f64[N]
    output o : f64[N]
    each i in N
    o[i] = scale * x[i]
}"""

TENTH = float(np.float32(0.1))

NUMBERS: list[Any] = [
    0.1, 1e-40, -1e-46, 3.4e38, 16777217, 2**100 + 1, 7, float("inf"), float("nan"), True + 2,
    np.float64(0.1), np.float32(0.1), np.float16(0.1), np.longdouble("0.1"), np.int64(2**62 + 1), np.uint8(200),
]  # fmt: skip
"""What may be given: every kind of scalar, on the edges of f32."""


def spec_of(text: str) -> Spec:
    return check(Source(text, "scaled.attn"))


@pytest.mark.parametrize("given", NUMBERS, ids=repr)
def test_a_parameter_is_rounded_once_whatever_kind_of_number_it_is(given: Any) -> None:
    spec, arrays = spec_of(SCALED), {"x": np.ones(1)}
    wanted = float(np.float32(given))
    found = {
        "reference": reference(spec, arrays, {"scale": given})["o"],
        "IR": interpret(build(spec, {}), arrays, {"N": 1}, {"scale": given})["o"],
        "operator": attndsl.compile(SCALED)(**arrays, scale=given),
    }
    for where, output in found.items():
        np.testing.assert_equal(float(output[0]), wanted, where)


def test_a_default_is_rounded_too() -> None:
    spec, arrays = spec_of(SCALED), {"x": np.ones(1)}
    output = np.empty(1)
    compile_program(spec, {}).function(arrays["x"], output)
    assert reference(spec, arrays)["o"][0] == attndsl.compile(SCALED)(**arrays)[0] == output[0] == TENTH != 0.1


def test_rounding_a_parameter_is_no_error_of_the_program() -> None:
    spec = spec_of(SCALED.replace("scale * x[i]", "scale"))
    assert not error_bounds(spec, {"x": np.ones(2)}, {"scale": 0.1}, rounding_of({"f32"}))["o"].any()


@pytest.mark.parametrize("element", ["f32", "f64"])
def test_a_kernel_takes_an_f32(element: str) -> None:
    text = compile_spec(spec_of(SCALED.replace("f64", element)), {}, "triton").source
    assert re.search(r"\bscale: tl\.float32\b", text)
    assert ("tl.cast(tl.cast(scale, tl.float32), tl.float64)" in text) == (element == "f64")


@pytest.mark.parametrize(
    ("condition", "holds"), [("scale > 0.1", True), ("scale <= 0.1", False), ("scale < 0.25", True)]
)
def test_a_requirement_is_of_the_number_that_the_parameter_became(condition: str, holds: bool) -> None:
    text = SCALED.replace("each", f"require {condition} each")
    spec, arrays = spec_of(text), {"x": np.ones(1)}
    (typed,) = spec.requires
    assert evaluate(typed, {"N": 1}, {"scale": 0.1}) is holds
    if holds:
        assert attndsl.compile(text)(**arrays, scale=0.1)[0] == TENTH
    else:
        with pytest.raises(RequirementFails, match=r"here scale = 0\.10000000149011612"):
            attndsl.compile(text)(**arrays, scale=0.1)


@pytest.mark.parametrize("given", [1e300, -3.5e38, 2**128, 10**400])
def test_a_number_beyond_f32_is_refused_in_words(given: Any) -> None:
    with pytest.raises(WrongParameter, match=r"scale is -?[\d.e+]+, but scaled wants a number that fits in f32"):
        attndsl.compile(SCALED)(x=np.ones(1), scale=given)


def test_an_operator_of_torch_takes_what_an_operator_takes() -> None:
    torch = pytest.importorskip("torch")
    op = attndsl.compile(SCALED)
    x = torch.ones(1, dtype=torch.float64)
    assert float(op(x=x, scale=0.1)[0]) == TENTH
    with pytest.raises(WrongParameter, match="fits in f32"):
        op(x=x, scale=1e300)
