"""Functions that may be approximated: what is written for them, and that bounds know how far off they may be."""

from __future__ import annotations

import re

import pytest

from attndsl.driver.compile import compile_spec
from attndsl.ir import meaning
from attndsl.ir.statements import operations
from attndsl.ir.xdsl import Context, FastMathFlag, FastMathFlagsAttr, ModuleOp, math
from attndsl.passes.approximate_functions import ApproximateFunctions
from attndsl.testing import Case, Disagreement, check_stages
from attndsl.testing.case import types_with
from attndsl.testing.stages import Form

from .test_roles import sizes_of, spec_of

FORM = Form("gluon", known=True)


def test_kernels_with_roles_take_the_instruction_and_plain_ones_compute() -> None:
    spec = spec_of("softcap")
    text = compile_spec(spec, types_with(spec, "bf16"), "gluon", sizes_of(spec, 64)).source
    functions = re.split(r"\n@\w+\.jit", text)
    (consumer,) = (each for each in functions if "def softcap_consumer(" in each)
    (kernel,) = (each for each in functions if "def softcap_kernel(" in each)
    assert "_approximate_tanh(" in consumer and "_tanh(" not in consumer.replace("_approximate_tanh(", "")
    assert "_tanh(" in kernel and "_approximate_tanh(" not in kernel
    assert text.count('"tanh.approx.f32 ') == 1
    assert "tanh.approx" not in compile_spec(spec, types_with(spec, "bf16"), "triton", sizes_of(spec, 64)).source


@pytest.mark.parametrize("element", ["bf16", "f16"])
def test_an_approximation_keeps_its_bound(element: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As far off as it may be; a bound that did not know of it, or of less, would be broken."""
    case = Case.make(spec_of("softcap"), element, 0)
    check_stages([case], form=FORM)
    monkeypatch.setattr(meaning, "APPROXIMATED", {math.TanhOp: 2.0**-4})
    with pytest.raises(Disagreement) as caught:
        check_stages([case], form=FORM)
    assert caught.value.stage == "approximate-functions"


def test_a_planted_bug_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tangents of f32 numbers' products are approximated, too."""

    def apply(marks: ApproximateFunctions, ctx: Context, op: ModuleOp) -> None:
        for each in operations(op):
            if isinstance(each, math.TanhOp):
                each.properties["fastmath"] = FastMathFlagsAttr([FastMathFlag.APPROX_FUNC])

    monkeypatch.setattr(ApproximateFunctions, "apply", apply)
    with pytest.raises(Disagreement) as caught:
        check_stages([Case.make(spec_of("softcap"), "f32", 0)], form=FORM)
    assert caught.value.stage == "approximate-functions"
