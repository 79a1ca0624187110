"""Specs that a compiler might choke on, within the limits of the language: how the time to compile them grows."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

import pytest

from attndsl.checking.check import check
from attndsl.diagnostics import SpecError
from attndsl.driver.compile import compile_spec
from attndsl.syntax.source import Source

STEPS = {
    "int": (
        "{a} * {b}",
        "{a} + {b} * i",
        "{a} * (i + j + {k})",
        "minimum({a}, c[i,{k}])",
        "minimum({a}, j + {k}) + minimum({b}, i + {k})",
        "minimum(minimum({a}, c[i,{k}]), minimum({b}, c[i,{k} + 1]))",
        "{a} / 3 + {b} % 7",
        "({a} + {k}) % (N + {k} + 1)",
        "({a} >> 1) ^ ({b} & {k})",
        "c[i, {a}] + {b}",
        "if {a} < {k} then {b} + c[i,{k}] else {a} * 2",
        "minimum({a}, {b} - c[i,{k}])",
        "({a} + {b}) / 2 + j",
    ),
    "row": (
        "minimum({a}, 2 * i + {k}) + maximum({b}, i)",
        "minimum({a}, {b} - {k}) + i",
        "if {a} < N - i then {b} else ({a} + {b}) / 2",
    ),
    "mask": (
        "{a} and j < i + {k}",
        "{a} or j < c[i,{k}]",
        "({a} or j < i + {k}) or ({b} or j < c[i,{k}])",
        "({a} and j < i + {k}) or ({b} and j < c[i,{k}])",
        "({a} and j < i + {k}) or (not {b} and j > i - {k})",
    ),
    "float": (
        "exp({a}) + sin({b})",
        "if j < i + {k} then {a} else x[i,{k}]",
        "{a} * (x[i,{k}] + {b})",
        "{a} * {b} - {a}",
    ),
    "dims": ("{a} * {b}", "{a} * (N + {k} * M)", "{a} % 7 + {b} / 3", "maximum({a}, {b} - {k})"),
}
"""What one definition may do with an earlier one, or with two, by what it gives."""

FIRST = {"int": "i + j", "row": "i", "mask": "j < i", "float": "x[i,j]", "dims": "N + M"}
LAST = {
    "int": "sum(x[i, {a}])",
    "row": "sum(x[i,j], j < {a})",
    "mask": "sum(x[i,j], {a})",
    "float": "sum({a})",
    "dims": "sum(x[i, j + {a}])",
}


def text_of(kind: str, length: int, step: Callable[[int], str]) -> str:
    """A spec of so many definitions, each made of the one before."""
    lets = [f"let a0 = {FIRST[kind]}"]
    lets += [f"let a{k + 1} = {step(k).format(a=f'a{k}', b=f'a{k}', k=k)}" for k in range(length)]
    value = LAST[kind].format(a=f"a{length}")
    body = "\n    ".join([*lets, f"o[i] = {value}"])
    return (
        "attention t {\n    dims N, M\n    input x : f32[N, M]\n    input c : i32[N, M]\n    output o : f32[N]\n"
        f"    each i in N\n    over j in M\n    {body}\n}}"
    )


def seconds(text: str, target: str) -> float:
    """How much processor time it takes to compile a spec, or to refuse it in words."""
    start, refused = time.process_time(), []
    try:
        compile_spec(check(Source(text)), {}, target)
    except SpecError as error:
        refused = [diagnostic.code for diagnostic in error.diagnostics]
    assert set(refused) <= {"E002", "E003", "E004", "E060"}, text
    return time.process_time() - start


def hold(kind: str, length: int, step: Callable[[int], str], target: str) -> None:
    """Twice the definitions take at most eight times as long: what doubles with each would take thousands."""
    seconds(text_of(kind, 2, step), target)  # what is imported, and grammars that are made, once
    once, twice = (seconds(text_of(kind, n, step), target) for n in (length, 2 * length))
    assert twice <= 8 * once + 2, text_of(kind, 2 * length, step)


FAMILIES = [(kind, step) for kind, steps in STEPS.items() for step in steps]


@pytest.mark.parametrize(("kind", "step"), FAMILIES)
def test_a_chain_of_one_step(kind: str, step: str) -> None:
    hold(kind, 6, lambda k: step, "numpy")


@pytest.mark.parametrize("step", ["c[i, {a}] + {b}", "minimum({a}, j + {k}) + minimum({b}, i + {k})"])
def test_a_chain_of_one_step_on_gpus(step: str) -> None:
    """Guards of reads in reads, and least of leasts, each of which an analysis walked through anew."""
    hold("int", 12, lambda k: step, "triton")


@pytest.mark.parametrize("kind", STEPS)
def test_a_chain_of_drawn_steps(kind: str) -> None:
    draw = random.Random(kind)
    steps = [draw.choice(STEPS[kind]) for _ in range(16)]
    hold(kind, 8, lambda k: steps[k], "triton")


def test_a_product_of_sums() -> None:
    """Multiplied out, fourteen sums of two dims are 16384 terms."""
    names = [f"A{n}, B{n}" for n in range(14)]
    inputs = " ".join(f"input a{n} : f32[{pair}]" for n, pair in enumerate(names))
    product = " * ".join(f"({pair.replace(',', ' +')})" for pair in names)
    text = (
        f"attention t {{ dims N, {', '.join(names)} input x : f32[N] {inputs} output o : f32[N] each i in N\n"
        f"let j = {product}\no[i] = x[i + j] }}"
    )
    assert seconds(text, "numpy") < 5


def test_a_launcher_s_product() -> None:
    """Launches compute what dims make: the parts of it are each looked at once, not once for each that holds them."""
    product = " * ".join(f"({'NM'[k % 2]} + {k})" for k in range(13))
    head, _, body = text_of("dims", 0, lambda k: "").partition("let a0 = N + M")
    assert seconds(f"{head}let a0 = {product}{body}", "triton") < 1.5


@pytest.mark.matrix
@pytest.mark.parametrize("target", ["numpy", "triton"])
@pytest.mark.parametrize(("kind", "step"), FAMILIES)
def test_a_long_chain_of_one_step(kind: str, step: str, target: str) -> None:
    hold(kind, 20, lambda k: step, target)


@pytest.mark.matrix
@pytest.mark.parametrize("seed", range(40))
def test_a_long_chain_of_drawn_steps(seed: int) -> None:
    draw = random.Random(seed)
    kind = draw.choice(list(STEPS))
    steps = [draw.choice(STEPS[kind]) for _ in range(48)]
    hold(kind, 24, lambda k: steps[k], draw.choice(("numpy", "triton")))
