"""The extents of tensors, made by every operator that takes and gives ints or truth values, on every road."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import attndsl
from attndsl.checking import symbolic
from attndsl.checking.check import check
from attndsl.checking.evaluate import evaluate
from attndsl.checking.operators import OPERATORS
from attndsl.checking.spelling import show
from attndsl.checking.typed import Kind, Spec
from attndsl.diagnostics import SpecError
from attndsl.driver.ahead import generated
from attndsl.driver.summarise import summarise
from attndsl.ir.build import build
from attndsl.ir.extents import extent_text, parse_extent
from attndsl.ir.interpret import interpret
from attndsl.reference.operators import ON_ARRAYS
from attndsl.syntax.source import Source
from attndsl.testing import Case

EXACT = {name: row for name, row in OPERATORS.items() if Kind.FLOAT not in (row.gives, *row.takes)}

EXTENTS = {
    "iadd": "B + C",
    "isub": "9 - B",
    "imul": "B * C",
    "idiv": "(B + 7) / C",
    "imod": "B % C + 1",
    "ineg": "-B + 9",
    "imin": "minimum(B, C)",
    "imax": "maximum(B, C)",
    "iabs": "abs(B - 7)",
    "iand": "B & 6",
    "ior": "B | C",
    "ixor": "B ^ C",
    "ishl": "C << 1",
    "ishr": "B >> 1",
    "ieq": "if B == C then 2 else 3",
    "ine": "if B != C then 2 else 3",
    "ilt": "if B < C then 2 else 3",
    "ile": "if B <= C then 2 else 3",
    "igt": "if B > C then 2 else 3",
    "ige": "if B >= C then 2 else 3",
    "iselect": "if B > C then C else B",
    "and": "if B > 1 and C > 5 then 2 else 3",
    "or": "if B > 1 or C > 5 then 2 else 3",
    "not": "if not B > 1 then 2 else 3",
    "beq": "if (B > 1) == (C > 5) then 2 else 3",
    "bne": "if (B > 1) != (C > 5) then 2 else 3",
    "bselect": "if if B > 1 then C > 5 else C > 6 then 2 else 3",
}
"""An extent for each of them, small and positive for small dims."""


def spec_of(*extents: str) -> str:
    """A spec whose inputs and outputs have these extents, and whose rows have them too."""
    lines = ["attention drawn {", "    dims B, C", "    input b : f32[B]", "    input c : f32[C]"]
    lines += [f"    input x{n} : f32[{extent}]" for n, extent in enumerate(extents)]
    lines += [f"    output o{n} : f32[{extent}]" for n, extent in enumerate(extents)]
    for n, extent in enumerate(extents):
        lines += [f"    each i{n} in {extent}", f"    o{n}[i{n}] = 2 * x{n}[i{n}] + b[0] + c[0]"]
    return "\n".join([*lines, "}"])


def test_each_operator_has_an_extent() -> None:
    assert EXTENTS.keys() == EXACT.keys()


@pytest.mark.parametrize("first", range(0, len(EXTENTS), 9))
def test_every_road_computes_them(first: int) -> None:
    torch = pytest.importorskip("torch")
    text = spec_of(*list(EXTENTS.values())[first : first + 9])
    spec, op = check(Source(text)), attndsl.compile(text)
    for dims in ({"B": 4, "C": 3}, {"B": 2, "C": 6}):
        case = Case.make(spec, dims=dims)
        case.check("the IR", interpret(build(spec, case.types), case.arrays, dims, {}))
        found = op(**case.arrays)
        case.check("an operator", found._asdict())
        tensors = {name: torch.from_numpy(array) for name, array in case.arrays.items()}
        for array, tensor in zip(found, op(**tensors), strict=True):
            np.testing.assert_array_equal(array, tensor)
    torch._dynamo.reset()
    traced = torch.compile(lambda given: op(**given), fullgraph=True, dynamic=True, backend="eager")
    assert [tuple(output.shape) for output in traced(tensors)] == [output.shape for output in found]


@pytest.mark.parametrize("extents", [tuple(EXTENTS.values()), ("B - 7", "B / (C - 7)")], ids=["each", "none at 7"])
def test_code_is_made_ahead_for_them(extents: tuple[str, ...]) -> None:
    pytest.importorskip("triton")
    from attndsl.backends.gpu.aot import launches

    text, tensors = generated(check(Source(spec_of(*extents))), {}, "cuda:90", {})
    assert len({launch.kernel for launch in launches(text, "drawn", tensors)}) == len(extents)


# --- drawn extents, by numbers alone


Tree = Any  # nested tuples of operators, numbers and names of dims
NUMBERS = (0, 1, 2, 3, 7, 63, 64, 2**31, 2**62, 2**63 - 1)


def drawn(rng: random.Random, kind: Kind, depth: int) -> Tree:
    """An expression of the kind."""
    if depth == 0 and kind is Kind.INT:
        return rng.choice(["B", "C", rng.choice(NUMBERS)])
    if depth == 0:
        return ("ilt", drawn(rng, Kind.INT, 0), drawn(rng, Kind.INT, 0))
    name = rng.choice([name for name, row in EXACT.items() if row.gives is kind])
    return (name, *(drawn(rng, operand, rng.randrange(depth)) for operand in EXACT[name].takes))


def written(tree: Tree) -> str:
    """It in the language, with all parentheses."""
    if not isinstance(tree, tuple):
        return str(tree)
    name, *operands = tree
    spelling, texts = EXACT[name].spelling, [written(operand) for operand in operands]
    if name.endswith("select"):
        return "(if {} then {} else {})".format(*texts)
    if spelling.endswith("()"):
        return f"{spelling[:-2]}({', '.join(texts)})"
    return f"({spelling} {texts[0]})" if len(texts) == 1 else f"({texts[0]} {spelling} {texts[1]})"


def meant(tree: Tree, dims: dict[str, int]) -> Any:
    """What the reference makes of it; raises ZeroDivisionError where a division that is reached is by zero."""
    match tree:
        case str():
            return np.int64(dims[tree])
        case int():
            return np.int64(tree)
        case (("and" | "or") as name, left, right):
            first = meant(left, dims)
            return first if bool(first) is (name == "or") else meant(right, dims)
        case (("iselect" | "bselect"), condition, then, otherwise):
            return meant(then if meant(condition, dims) else otherwise, dims)
    name, *operands = tree
    values = [meant(operand, dims) for operand in operands]
    if name in ("idiv", "imod") and values[1] == 0:
        raise ZeroDivisionError
    with np.errstate(all="ignore"):
        return ON_ARRAYS[name](*values)


def forms(spec: Spec, dims: dict[str, int]) -> Iterator[tuple[str, Any]]:
    """What the extents of the drawn tensor are in each form that they have, and how each looks."""
    typed, plain = spec.outputs[0].extents[0], summarise(spec).outputs[0].extents[0]
    shown, text = show(plain), extent_text(plain)
    yield shown, lambda: evaluate(typed, dims, {})
    yield shown, lambda: symbolic.evaluate(plain, dims, {})
    yield text, lambda: symbolic.evaluate(parse_extent(text), dims, {})
    again = check(Source(numbers(shown))).outputs[0].extents[0]
    yield f"{shown}, read again", lambda: evaluate(again, dims, {})


def numbers(extent: str) -> str:
    inputs = "dims B, C input b : f32[B] input c : f32[C]"
    return f"attention a {{ {inputs} output o : f32[{extent}] each i in B o[i] = b[i] }}"


@pytest.mark.parametrize("seed", range(20))
def test_drawn_extents_are_what_the_reference_makes_of_them(seed: int) -> None:
    rng, compared = random.Random(seed), 0
    for _ in range(40):
        tree = drawn(rng, Kind.INT, 4)
        try:
            spec = check(Source(numbers(written(tree))))
        except SpecError:  # a number below 0, a division by one that is 0
            continue
        for dims in ({"B": 1, "C": 1}, {"B": 5, "C": 3}, {"B": 64, "C": 0}):
            try:
                expected = int(meant(tree, dims))
            except ZeroDivisionError:
                continue  # a call is refused
            for shown, value in forms(spec, dims):
                assert value() == expected, (written(tree), shown, dims)
                compared += 1
    assert compared > 100
