"""Gradients of the gallery: right in float64, and what compiled programs compute of them."""

from __future__ import annotations

from pathlib import Path

import pytest

import attndsl
from attndsl.checking.check import check
from attndsl.checking.elements import usual_element
from attndsl.gradient import NoGradient, gradient
from attndsl.syntax.source import Source
from attndsl.testing import Case, check_stages

from .differences import call_of, own, slopes_differ, widened

EXAMPLES = Path(__file__).parents[2] / "examples"

NONE = {
    "append_latent": "append_latent has no gradient: cache is written in place.",
    "append_paged": "append_paged has no gradient: k_pages is written in place.",
    "append_ragged": "append_ragged has no gradient: k_pages is written in place.",
}
"""Specs that have none, and what is said of them."""

NAMES = sorted(path.stem for path in EXAMPLES.glob("*.attn"))

EACH = pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[pytest.mark.matrix] if at % 3 else []) for at, n in enumerate(NAMES) if n not in NONE],
)


def text_of(name: str) -> str:
    return (EXAMPLES / f"{name}.attn").read_text(encoding="utf-8")


@EACH
@pytest.mark.parametrize("hostile", [False, True])
def test_the_result_rises_as_gradients_say(name: str, hostile: bool) -> None:
    """Of odd sizes; where it is hostile, with rows that see nothing, absent keys and padding."""
    spec = widened(text_of(name))
    assert slopes_differ(spec, Case.make(spec, "f64", seed=1, hostile=hostile)) == []


@EACH
def test_compiled_backwards_agree_with_the_reference(name: str) -> None:
    """In f32, within the bound that holds of any spec."""
    found = gradient(spec := check(Source(text_of(name))))
    case, backward = Case.make(spec, "f32", seed=2), check(Source(found.backward))
    types = {name: usual_element(choices) for name, choices in backward.types.items()}
    given = call_of(found, backward, case, types)
    call = Case(backward, types, case.dims, own(backward, case.params), given)
    op = attndsl.compile(found.backward)
    said = {name: types[name] for name in backward.said}
    written = op(**given, **call.params, **said)
    outputs = written if isinstance(written, tuple) else (written,)
    call.check("numpy", {tensor.name: each for tensor, each in zip(backward.outputs, outputs, strict=True)})


@pytest.mark.matrix
@pytest.mark.parametrize("name", ["gqa", "sinks", "rotary", "weights"])
def test_backwards_agree_after_each_pass(name: str) -> None:
    found = gradient(spec := check(Source(text_of(name))))
    case, backward = Case.make(spec, "f32", seed=3, hostile=True), check(Source(found.backward))
    types = {name: usual_element(choices) for name, choices in backward.types.items()}
    given = call_of(found, backward, case, types)
    check_stages([Case(backward, types, case.dims, own(backward, case.params), given).poisoned()])


@pytest.mark.parametrize("name", NONE)
def test_what_has_no_gradient_says_why(name: str) -> None:
    with pytest.raises(NoGradient) as error:
        gradient(check(Source(text_of(name))))
    assert str(error.value) == NONE[name]
