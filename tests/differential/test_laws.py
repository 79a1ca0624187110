"""Laws that hold of every spec, over specs that hypothesis draws and over the gallery.

Each law says that a spec, or a call, and another one made of it have the same outputs. Of the reference that must hold
in float64; what the compiler makes of the other one is compared with that one's own reference.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

from attndsl.checking.check import check
from attndsl.checking.evaluate import Number, evaluate
from attndsl.checking.typed import Spec
from attndsl.driver.passes import parse_pipeline, run_pipeline
from attndsl.driver.pipelines import SIMPLIFY, TO_ATTN, spelling
from attndsl.inputs import layouts_of, relay
from attndsl.ir import attn, spec
from attndsl.ir.build import build
from attndsl.ir.interpret import SMALL_CHOICES, interpret
from attndsl.ir.keys import over_of, reductions_of
from attndsl.ir.xdsl import ModuleOp, Operation, SSAValue, StringAttr
from attndsl.syntax.source import Source
from attndsl.testing import Case, compile_program, laws
from attndsl.testing.drawn_specs import Drawn, specs
from attndsl.testing.stages import Form, lower, program_of

Array = np.ndarray[Any, Any]

GALLERY = sorted(path.stem for path in (Path(__file__).parents[2] / "examples").glob("*.attn"))

TILES = ((4, 3), (2, 5), (1, 1), (128, 512))

TO_SPLIT = f"{spelling(TO_ATTN)},stream-softmax,{spelling(SIMPLIFY)},split-reduction"

few = settings(
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate],  # to shrink what fails would take minutes
    max_examples=5,
)
"""So many that all laws together take a minute; the same ones at each run."""

Sizes = tuple[int, int]
Check = Callable[[Case, int, Sizes], None]
"""Raises AssertionError where a call does not keep a law; the number chooses what the law leaves open."""

# --- calls of another spec


def with_spec(case: Case, spec: Spec, **params: Number) -> Case:
    return replace(case, spec=spec, params={**case.params, **params})


def shifted(case: Case, seed: int) -> Case:
    spec, shift = laws.shifted_scores(case.spec)
    return with_spec(case, spec, **{shift: (-40.0, 40.0, 0.5)[seed % 3]})


def cut(case: Case, seed: int) -> Case:
    spec, place = laws.cut_reductions(case.spec)
    return with_spec(case, spec, **{place: (2, 0, 3, 1, 99)[seed % 5]})


REWRITTEN: dict[str, Callable[[Case, int], Case]] = {
    "keys stand the other way round": lambda case, seed: with_spec(case, laws.reversed_keys(case.spec)),
    "keys stand some places on": lambda case, seed: with_spec(case, laws.rotated_keys(case.spec, 1 + seed)),
    "absent keys are appended": lambda case, seed: with_spec(case, laws.with_absent_keys(case.spec)),
    "all scores are shifted": shifted,
    "reductions are cut and merged": cut,
}
"""Calls of a spec made of another, which has its outputs."""


def check_rewritten(law: str, case: Case, seed: int, sizes: Sizes) -> None:
    other = REWRITTEN[law](case, seed)
    for name, wanted in case.wanted.items():
        largest = np.abs(wanted[np.isfinite(wanted)]).max(initial=1.0)
        np.testing.assert_allclose(other.wanted[name], wanted, rtol=0, atol=1e-11 * largest)
    other.check("numpy", compile_program(other.spec, other.types, *sizes).run(other))


# --- calls that agree bit for bit


def bits(array: Array) -> Array:
    return np.ascontiguousarray(array).view(np.uint8)


def check_absent_memory(case: Case, seed: int, sizes: Sizes) -> None:
    """What no output depends on may be NaN or infinite."""
    program = compile_program(case.spec, case.types, *sizes)
    clean, poisoned = program.run(case), program.run(case.poisoned())
    for name in clean:
        np.testing.assert_array_equal(bits(poisoned[name]), bits(clean[name]))


def check_unseen_memory(case: Case, seed: int, sizes: Sizes) -> None:
    """For one row, what its outputs do not depend on may be NaN or infinite."""
    owners = laws.row_of_each_element(case)
    rows = sorted({int(n) for numbers in owners.values() for n in np.unique(numbers)} - {laws.NOBODY, laws.SEVERAL})
    row = random.Random(seed).choice(rows or [0])
    program = compile_program(case.spec, case.types, *sizes)
    clean, poisoned = program.run(case), program.run(laws.seen_by_one_row(case, row))
    for name, numbers in owners.items():
        np.testing.assert_array_equal(bits(poisoned[name][numbers == row]), bits(clean[name][numbers == row]))


def check_members(case: Case, seed: int, sizes: Sizes) -> None:
    """A batch is its members, one by one."""
    if any((numbers == laws.SEVERAL).any() for numbers in laws.row_of_each_element(case).values()):
        return  # any of the rows may be the one that stays
    spec, which = laws.member(case.spec)
    form = Form(rows=sizes[0], keys=sizes[1])
    apart: list[set[str]] = [set(), set()]
    whole_program, one_program = (
        program_of(each, lower(replace(case, spec=each), form, partial(note_grid, grid)))
        for each, grid in zip((case.spec, spec), apart, strict=True)
    )
    whole = whole_program.run(case)
    before = {name: bits(array) for name, array in case.arrays.items() if name in whole}
    together = {name: before.get(name, np.zeros_like(bits(array))).copy() for name, array in whole.items()}
    firsts = [block.each[0] for block in case.spec.blocks]
    for number in range(max(evaluate(first.bound, case.dims, case.params) for first in firsts)):
        for name, array in one_program.run(with_spec(case, spec, **{which: number})).items():
            own = bits(array) != before.get(name, 0)  # what a member does not write is 0, or as it was
            together[name][own] = bits(array)[own]
    joined = {name: array.view(whole[name].dtype) for name, array in together.items()}
    case.check("numpy, member by member", joined)
    # Rows of several members in one tile are one matrix, whose product may round otherwise than those of its rows.
    if all(first.name in grid for first in firsts for grid in apart):
        for name, array in whole.items():
            np.testing.assert_array_equal(together[name], bits(array))


def note_grid(grid: set[str], stage: str, module: ModuleOp) -> None:
    """Adds the variables of whose values no tile of rows holds two."""
    grid.update(op.variable.data for op in module.walk() if isinstance(op, attn.GridOp))


# --- other calls of the same spec


def check_layouts(case: Case, seed: int, sizes: Sizes) -> None:
    """Each input may lie in memory in its own way; `broadcast` repeats, so that the reference is that call's own."""
    choose = random.Random(seed)
    chosen = {name: choose.choice([None, *layouts_of(case.spec, name)]) for name in case.arrays}
    laid_out = case.given(**{n: relay(case.arrays[n], layout) for n, layout in chosen.items() if layout is not None})
    laid_out.check("numpy", compile_program(case.spec, case.types, *sizes).run(laid_out))


def check_parts(case: Case, seed: int, sizes: Sizes) -> None:
    """A launch may cut the keys into any number of splits."""
    module = build(case.spec, case.types)
    run_pipeline(module, parse_pipeline(TO_SPLIT))
    for level, lowering in (("attn", ""), ("tile", f"tile{{rows={sizes[0]} keys={sizes[1]}}},canonicalize,cse")):
        if lowering:
            run_pipeline(module, parse_pipeline(lowering))
        for splits in (1 + seed % 9, 3):
            found = interpret(module, case.arrays, case.dims, case.params, {**SMALL_CHOICES, "SPLITS": splits})
            case.check(f"{level}, with {splits} splits", found)


LAWS: dict[str, Check] = {
    **{law: partial(check_rewritten, law) for law in REWRITTEN},
    "absent memory changes no bit": check_absent_memory,
    "unseen memory changes no bit": check_unseen_memory,
    "a batch is its members": check_members,
    "layouts do not matter": check_layouts,
    "keys are cut into splits": check_parts,
}


def case_of(drawn: Drawn, seed: int, hostile: bool) -> Case:
    return Case.make(check(Source(drawn.text, "drawn.attn")), seed=seed, dims=drawn.dims, hostile=hostile)


cases = st.builds(case_of, specs(), st.integers(0, 9), st.booleans())


@pytest.mark.parametrize("law", LAWS)
def test_drawn_specs_keep_the_law(law: str) -> None:
    @few
    @seeded(list(LAWS).index(law))  # else all laws meet the same specs
    @given(case=cases, seed=st.integers(0, 99), sizes=st.sampled_from(TILES))
    def holds(case: Case, seed: int, sizes: Sizes) -> None:
        LAWS[law](case, seed, sizes)

    holds()


@pytest.mark.parametrize(("name", "law"), [(name, list(LAWS)[n % len(LAWS)]) for n, name in enumerate(GALLERY)])
def test_the_gallery_keeps_the_law(name: str, law: str, spec_of: Any) -> None:
    seed = GALLERY.index(name)
    LAWS[law](Case.make(spec_of(name), seed=seed), seed, TILES[seed % len(TILES)])


# --- what merges splits, as algebra

STATES = """attention states {
    dims M, N, E
    input  x     : f32[M, N]
    input  v     : f32[N, E]
    output o     : f32[M, E]
    output total : f32[M, E]
    output top   : f32[M]
    output low   : f32[M]
    each i in M
    over j in N
    o[i,:]     = softmax(x[i,j]) . v[j,:]
    total[i,:] = sum(v[j,:] * x[i,j])
    top[i]     = max(x[i,j])
    low[i]     = min(x[i,j])
}"""

State = dict[str, Array]
"""What some splits leave: an array a workspace, with a dimension for the one row, then one for the splits."""

EMPTY: State = {
    "m": np.full((1, 1), -np.inf),
    "l": np.zeros((1, 1)),
    "acc": np.zeros((1, 1, 2)),
    "sum": np.zeros((1, 1, 2)),
    "max": np.full((1, 1), -np.inf),
    "min": np.full((1, 1), np.inf),
}
"""What a split without keys leaves."""


@cache
def merging(keys: int) -> ModuleOp:
    """The kernel that merges states, in tiles of so many splits: it reads inputs and merges to outputs."""
    module = build(check(Source(STATES)), {})
    run_pipeline(module, parse_pipeline(TO_SPLIT))
    block = module.body.block
    kernels = [op for op in block.ops if isinstance(op, attn.KernelOp)]
    (merge,) = (op for op in kernels if op.entry.data.endswith("_merge"))
    merge.form = None
    over = over_of(merge)
    assert over is not None
    merged = [pair for op in reductions_of(merge) for pair in _states(op)]
    drop(op for op in merge.body.block.ops if isinstance(op, attn.WriteOp))
    drop(op for op in block.ops if op in kernels and op is not merge)
    drop(op for op in block.ops if isinstance(op, spec.TensorOp) and op.role.data == "output")
    for read, result in merged:
        name = read.tensor.string_value()
        workspace = spec.enclosing_tensor(read, name)
        workspace.role = StringAttr("input")
        extents = [extent for extent in workspace.shape if extent != ("choice", "SPLITS")]
        block.insert_op_before(spec.TensorOp(f"{name}_merged", "output", "f32", extents), merge)
        indices = [index for index in read.indices if index is not over.result]
        merge.body.block.add_op(attn.WriteOp(f"{name}_merged", indices, result, None))
    run_pipeline(module, parse_pipeline(f"canonicalize,tile{{rows=4 keys={keys}}},canonicalize,cse"))
    return module


def _states(op: Operation) -> list[tuple[attn.ReadOp, SSAValue]]:
    """The reads of the states that a reduction merges, each with what they become."""
    if isinstance(op, attn.StreamOp):
        pairs = zip((op.score, *op.values), (op.maximum, *op.sums), strict=True)
    else:
        assert isinstance(op, attn.ReduceOp)
        pairs = zip((op.body,), (op.result,), strict=True)
    return [(cast(attn.ReadOp, value.owner), result) for value, result in pairs]


def drop(ops: Iterable[Operation]) -> None:
    for op in list(ops):
        op.detach()
        op.erase()


def merge(keys: int, *states: State) -> State:
    """Several states as one."""
    arrays = {f"states_{n}": np.concatenate([s[n] for s in states], 1, dtype=np.float32) for n in EMPTY}
    splits = arrays["states_m"].shape[1]
    arrays |= {"x": np.zeros((1, splits), np.float32), "v": np.zeros((splits, 2), np.float32)}  # which tell the dims
    found = interpret(merging(keys), arrays, {"M": 1, "N": splits, "E": 2}, {}, {**SMALL_CHOICES, "SPLITS": splits})
    return {name: found[f"states_{name}_merged"][:, None] for name in EMPTY}


numbers = st.floats(-100, 100, width=32)
maxima = st.one_of(numbers, st.sampled_from([-np.inf, -3e38, -5e4, 3e38, 0.0]))


@st.composite
def states(draw: st.DrawFn) -> State:
    """The state of a split of the keys, of one whose scores all are -inf or of none, too."""
    maximum = draw(maxima)
    if maximum == -np.inf:
        return EMPTY
    pair = st.tuples(numbers, numbers)
    state = {"m": maximum, "l": draw(st.floats(1, 100, width=32)), "acc": draw(pair), "sum": draw(pair)}
    state |= {"max": draw(maxima), "min": -draw(maxima)}
    return {name: np.array(value)[None, None] for name, value in state.items()}


def check_merged(got: State, wanted: State, *states: State) -> None:
    """Raises AssertionError where rounding does not explain a difference: some steps of all that was added, by size.

    A factor of 2^-d is off by d steps where d is, so that what is small against the largest is off by less than a step
    of that.
    """
    for name, array in wanted.items():
        exact = name in ("m", "max", "min")
        size = 0.0 if exact else sum(float(np.abs(state[name]).max()) for state in states)
        np.testing.assert_allclose(got[name], array, rtol=0, atol=16 * 2.0**-24 * size)


@settings(few, max_examples=60)
@given(a=states(), b=states(), c=states(), keys=st.sampled_from([1, 2, 5]))
def test_merging_is_associative_and_commutative(a: State, b: State, c: State, keys: int) -> None:
    wanted = merge(keys, a, b, c)
    for others in (
        merge(keys, merge(keys, a, b), c),
        merge(keys, a, merge(keys, b, c)),
        merge(keys, c, a, b),
        merge(5, a, b, c),
    ):
        check_merged(others, wanted, a, b, c)


@settings(few, max_examples=60)
@given(a=states(), keys=st.sampled_from([1, 2, 5]))
def test_a_part_without_keys_changes_no_state(a: State, keys: int) -> None:
    for around in ((a,), (EMPTY, a), (a, EMPTY), (EMPTY, EMPTY, a, EMPTY)):
        for name, array in merge(keys, *around).items():
            np.testing.assert_array_equal(array, np.float32(a[name]))
