"""Keys cut into splits: whatever a launch chooses, every spec gives what its reference gives, at both levels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attndsl.checking.typed import Block, Reduce, walk
from attndsl.driver.passes import parse_pipeline, run_pipeline
from attndsl.driver.pipelines import SIMPLIFY, TO_ATTN, spelling
from attndsl.ir import attn, spec
from attndsl.ir.build import build
from attndsl.ir.interpret import SMALL_CHOICES, interpret
from attndsl.ir.xdsl import ModuleOp
from attndsl.testing import Case, Form, check_stages

GALLERY = sorted(path.stem for path in (Path(__file__).parents[2] / "examples").glob("*.attn"))

TO_SPLIT = f"{spelling(TO_ATTN)},stream-softmax,{spelling(SIMPLIFY)},split-reduction"

SPLITS = (1, 2, 7)
"""One; fewer splits than tiles of keys; more splits than there are tiles, so that some have no key."""


def split(case: Case) -> ModuleOp:
    """The module of a call's spec, with both forms of each kernel."""
    module = build(case.spec, case.types)
    run_pipeline(module, parse_pipeline(TO_SPLIT))
    return module


def ranks(block: Block) -> bool:
    """Whether a block ranks keys: one kernel stores its scores, and another one counts; neither folds."""
    exprs = walk(*(write.value for write in block.writes))
    return any(isinstance(expr, Reduce) and expr.function == "topk" for expr in exprs)


def check(case: Case, module: ModuleOp, level: str) -> None:
    """Raises Disagreement where a number of splits gives something else than the reference."""
    for splits in SPLITS:
        found = interpret(module, case.arrays, case.dims, case.params, {**SMALL_CHOICES, "SPLITS": splits})
        case.check(f"{level}, with {splits} splits", found)


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.matrix] if place % 3 else []) for place, n in enumerate(GALLERY)]
)
def test_any_number_of_parts_agrees(name: str, spec_of: Any) -> None:
    case = Case.make(spec_of(name), seed=1, hostile=True).poisoned()
    module = split(case)
    forms = [op.form for op in module.body.block.ops if isinstance(op, attn.KernelOp)]
    wanted = sum(2 if ranks(block) else 3 if block.over else 1 for block in case.spec.blocks)
    assert len(forms) == wanted, "every kernel of the gallery that folds keys has a form that is split"
    check(case, module, "split-reduction")
    run_pipeline(module, parse_pipeline("tile{rows=4 keys=3},canonicalize,cse"))
    check(case, module, "tile")


@pytest.mark.parametrize("dims", [{"N": 0}, {"N": 1}, {"N": 64, "M": 1}, {"M": 0}, {"M": 9, "N": 2}])
@pytest.mark.parametrize("name", ["sliding_window", "lse", "sinks", "differential"])
def test_no_keys_few_keys_and_rows_that_see_none(name: str, dims: dict[str, int], spec_of: Any) -> None:
    case = Case.make(spec_of(name), dims={"B": 1, "H": 2, "Hq": 2, "Hkv": 1, "D": 3, "E": 2, "M": 3, "N": 5} | dims)
    module = split(case)
    check(case, module, "split-reduction")
    run_pipeline(module, parse_pipeline("tile{rows=4 keys=3}"))
    check(case, module, "tile")


def test_sums_are_kept_in_f64_where_a_tensor_is(spec_of: Any) -> None:
    case = Case.make(spec_of("lse"), "f64", seed=3)
    module = split(case)
    workspaces = [op for op in module.body.block.ops if isinstance(op, spec.TensorOp) and op.role.data == "workspace"]
    assert {op.element.data for op in workspaces} == {"f64"}
    check(case, module, "split-reduction")


def test_a_workspace_holds_nothing_before_it_is_written(spec_of: Any) -> None:
    """Else the cases above would not see a state that no split writes."""
    case = Case.make(spec_of("mha"), seed=3)
    module = split(case)
    folding = next(op for op in module.body.block.ops if isinstance(op, attn.KernelOp) and op.entry.data == "mha_split")
    module.body.block.erase_op(folding)
    assert np.isnan(interpret(module, case.arrays, case.dims, case.params)["o"]).all()


@pytest.mark.parametrize(
    "dims", [{"N": 7, "M": 3}, {"N": 8, "M": 3}, {"N": 17, "M": 1}, {"N": 9, "M": 24}, {"N": 9, "M": 0}]
)
@pytest.mark.parametrize("name", ["mqa", "mla_latent"])
def test_a_cpu_splits_many_keys_of_few_programs(name: str, dims: dict[str, int], spec_of: Any) -> None:
    """From 8 tiles of keys on and with fewer than 4 programs; where rows come before all keys, splits have none."""
    case = Case.make(
        spec_of(name), dims={"B": 1, "H": 2, "D": 3, "E": 2, "R": 3, "P": 2, "M": 3} | dims, seed=2, hostile=True
    )
    check_stages([case.poisoned()], form=Form(rows=4, keys=1))


@pytest.mark.parametrize("keys", [24, 25, 26, 29, 31])
def test_no_key_is_left_between_splits(keys: int, spec_of: Any) -> None:
    """Tiles of three keys, of which splits have two or three: what is left of a tile is the last one's."""
    case = Case.make(spec_of("mqa"), dims={"B": 1, "H": 2, "D": 3, "E": 2, "M": 2, "N": keys}, seed=2, hostile=True)
    check_stages([case.poisoned()], form=Form(rows=4, keys=3))
