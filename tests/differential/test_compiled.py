"""Programs with loops that Numba compiles: each loop is held to what NumPy makes of the same operations."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from typing import Any

import numpy as np
import pytest

from attndsl.backends.numpy.prelude import PRELUDE
from attndsl.checking.check import check
from attndsl.driver.compile import compile_spec
from attndsl.syntax.source import Source
from attndsl.testing import Case
from attndsl.testing.stages import Form, Program, check_stages

MACHINE = "cpu:slices+numba"

SPECS = ("gqa", "document_mask", "int8_cache", "pair_bias")

LARGE = {"B": 1, "Hq": 4, "Hkv": 2, "M": 70, "N": 130, "D": 8, "E": 8}
"""Tiles have numbers enough for a loop of their own."""


def program(case: Case) -> Program:
    source = compile_spec(case.spec, case.types, "numpy", machine=MACHINE).source
    namespace: dict[str, Any] = {}
    exec(compile(source, "<compiled>", "exec"), namespace)
    return Program(source, namespace[case.spec.name])


def defined(program: Program) -> dict[str, Any]:
    """All that a program's file defines, by name."""
    function: Any = program.function
    names: dict[str, Any] = function.__wrapped__.__globals__
    return names


@pytest.mark.parametrize("name", SPECS)
def test_each_loop_agrees(name: str, spec_of: Any) -> None:
    """Python runs the loops, as tiles are tiny; every pass is held to the reference before."""
    spec = spec_of(name)
    seen: list[str] = []
    check_stages([Case.make(spec, seed=1)], form=Form(machine=MACHINE), seen=seen)
    assert "fuse-pointwise" in seen


COMPARED = """attention compared {
    dims H, M, N, E
    input  x : f32[M, N]
    input  w : f32[H]
    input  v : f32[H, N, E]
    output o : f32[H, M, E]
    output s : f32[H, M, E]
    each h in H, i in M
    over j in N
    mask = x[i,j] * w[h] <= 0.0
    o[h,i,:] = softmax(0.1 * j, mask) . v[h,j,:]
    s[h,i,:] = sum(v[h,j,:], mask)
}"""


def test_what_a_mask_compares_is_there_where_a_branch_asks_again() -> None:
    """Weights are written over it: what is left out of a product that is not finite was another's."""
    spec = check(Source(COMPARED, "compared.attn"))
    case = Case.make(spec, dims={"H": 1, "M": 4, "N": 7, "E": 2}, seed=1)
    case.arrays["v"][0, 3] = np.nan
    check_stages([case], form=Form(machine=MACHINE))


@pytest.mark.parametrize("name", ["gqa", "document_mask"])
def test_what_numba_compiles_agrees(name: str, spec_of: Any) -> None:
    pytest.importorskip("numba")
    spec = spec_of(name)
    case = Case.make(spec, dims={dim: size for dim, size in LARGE.items() if dim in spec.dims}, seed=3)
    compiled = program(case)
    case.check("numba", compiled.run(case))
    met = {name for name, each in defined(compiled).items() if getattr(each, "signatures", ())}
    assert {"_fused", "_fused_2"} <= met  # tiles were large enough, what is masked of one, too; Numba knows their types


def test_a_file_runs_without_numba(spec_of: Any) -> None:
    case = Case.make(spec_of("gqa"), dims=LARGE, seed=3)
    text = f"import sys; sys.modules['numba'] = None\n{program(case).source}\nprint(_has_numba())"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
    without = program(case)
    defined(without)["_has_numba"] = lambda: False
    case.check("numpy", without.run(case))


def test_small_tiles_do_not_wait_for_it(spec_of: Any) -> None:
    case = Case.make(spec_of("gqa"), seed=3)
    found = program(case)
    defined(found)["_has_numba"] = None  # calling it would raise
    case.check("numpy", found.run(case))


# --- the exponential


@cache
def compiled_exp() -> Any:
    """What computes the exponentials of an array as loops do."""
    numba = pytest.importorskip("numba")
    known: dict[str, Any] = {"np": np, "cache": cache}
    exec("".join(PRELUDE[name] for name in ("_compiled", "_exp", "_has_numba")), known)
    assert known["_has_numba"]()
    exp = known["_exp"]

    def each(numbers: Any, found: Any) -> None:
        for n in range(len(numbers)):
            found[n] = exp(numbers[n])

    loop = numba.njit(fastmath={"contract"})(each)

    def run(numbers: Any) -> Any:
        found = np.empty_like(numbers)
        loop(numbers, found)
        return found

    return run


def test_exponentials_are_off_by_less_than_two_units_in_the_last_place() -> None:
    bits = np.arange(0, 2**32, 1009, dtype=np.uint32)  # every 1009th of all numbers
    numbers = bits.view(np.float32)
    numbers = numbers[np.isfinite(numbers)]
    least, largest = np.float32(-87.33654), np.float32(88.72283)
    found = compiled_exp()(numbers)
    inside = (numbers >= least) & (numbers <= largest)
    with np.errstate(over="ignore"):
        wanted = np.exp(numbers.astype(np.float64))
    unit = np.spacing(wanted[inside].astype(np.float32)).astype(np.float64)
    assert (np.abs(found[inside] - wanted[inside]) < 2 * unit).all()
    assert (found[numbers < least] == 0).all()
    assert (found[numbers > largest] == np.inf).all()


def test_exponentials_of_what_is_no_usual_number() -> None:
    edge = [np.float32(88.72283), np.float32(-87.33654)]
    edge += [np.nextafter(edge[0], np.float32(100)), np.nextafter(edge[1], np.float32(-100))]
    numbers = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, *edge], np.float32)
    found = compiled_exp()(numbers)
    np.testing.assert_array_equal(found[:5], [1, 1, np.inf, 0, np.nan])
    np.testing.assert_allclose(found[5:7], np.exp(numbers[5:7].astype(np.float64)), rtol=2**-22)
    np.testing.assert_array_equal(found[7:], [np.inf, 0])
