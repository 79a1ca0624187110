"""Contractions that are made in another order, or once for all: which form a call takes, and that each is right."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from attndsl.checking.check import check
from attndsl.checking.typed import Spec
from attndsl.ir import attn, tile
from attndsl.ir.forms import runs
from attndsl.ir.xdsl import ModuleOp
from attndsl.passes.reassociate_contractions import ReassociateContractions
from attndsl.syntax.read import read_source
from attndsl.syntax.source import Source
from attndsl.testing import Case, Disagreement, check_stages
from attndsl.testing.stages import Form, compile_program, lower
from tests.mutants import catalogue_attn
from tests.mutants.mutant import Mutant

LATENT = check(read_source(Path(__file__).parents[2] / "examples/mla_projections.attn"))

LINEAR = check(
    Source(
        """attention linear {
    dims B, H, M, N, D, E, L
    types T
    input q : T[B, H, M, D]
    input k : T[B, H, N, D]
    input v : T[B, H, N, E]
    input k_mix : T[L, N]
    input v_mix : T[L, N]
    input n : i32[B]
    output o : T[B, H, M, E]
    output total : T[B, H, M, D]
    each b in B, h in H, i in M
    over j in n[b] up to L
    let key[d in D] = sum(x in N) k_mix[j,x] * k[b,h,x,d]
    let value[e in E] = sum(x in N) v_mix[j,x] * v[b,h,x,e]
    let other[d in D] = sum(x in N) v_mix[j,x] * k[b,h,x,d]
    score = q[b,h,i,:] . key / sqrt(D)
    o[b,h,i,:] = softmax(score) . value
    total[b,h,i,:] = sum(score * other)
}
""",
        "linear.attn",
    )
)
"""Keys and values that mix those of N positions into L (Wang et al., "Linformer", 2020), of which a request has n."""

FORMS = (Form(), Form("triton", 16, 16, splits=3))

PRODUCT = check(
    Source(
        """attention product {
    dims B, H, M, N, D, E, R
    types T
    input q : T[B, H, M, D]
    input k : T[B, N, D]
    input c : T[B, N, R]
    input w : T[H, E, R]
    output o : T[B, H, M, E]
    each b in B, h in H, i in M
    over j in N
    score = q[b,h,i,:] . k[b,j,:] / sqrt(D)
    mask = j <= i + (N - M)
    o[b,h,i,:] = w[h,:,:] . (softmax(score, mask) . c[b,j,:])
}
""",
        "product.attn",
    )
)
"""What is folded over the keys, times a matrix that each head has of its own: the heads share tiles."""

FEW: Mapping[str, Mapping[str, int]] = {
    "mla_projections": {"B": 2, "H": 3, "M": 2, "N": 9, "D": 5, "E": 4, "R": 3, "P": 2},
    "linear": {"B": 2, "H": 2, "M": 2, "N": 3, "D": 5, "E": 4, "L": 7},
}
"""Extents at which it is cheaper to project the queries."""

MANY: Mapping[str, Mapping[str, int]] = {
    "mla_projections": {"B": 1, "H": 2, "M": 9, "N": 7, "D": 3, "E": 4, "R": 8, "P": 2},
    "linear": {"B": 1, "H": 2, "M": 9, "N": 8, "D": 3, "E": 2, "L": 4},
    "product": {"B": 2, "H": 3, "M": 5, "N": 4, "D": 3, "E": 2, "R": 5},
}
"""Extents at which it is cheaper to project the keys."""


def cases_of(spec: Spec, dims: Mapping[str, int]) -> list[Case]:
    """Calls whose absent memory is poisoned; of one, no row of one request sees a key."""
    case = Case.make(spec, dims=dims, seed=1)
    if "n" in case.arrays:
        case = case.given(n=np.resize(np.array([5, 0], np.int32), case.arrays["n"].shape))
    return [case.poisoned(), Case.make(spec, dims=dims, seed=2, hostile=True).poisoned()]


def ran(module: ModuleOp, dims: Mapping[str, int]) -> list[str]:
    """The kernels of a module that a call runs."""
    kernels = [op for op in module.body.block.ops if isinstance(op, attn.KernelOp | tile.KernelOp)]
    return [op.entry.data for op in kernels if runs(op, dims, {}, 1)]


@pytest.mark.parametrize("form", [FORMS[0], pytest.param(FORMS[1], marks=pytest.mark.matrix)], ids=str)
@pytest.mark.parametrize("spec", [LATENT, LINEAR], ids=lambda spec: spec.name)
def test_a_call_takes_the_cheaper_form(spec: Spec, form: Form) -> None:
    for extents, suffix in ((FEW, "_reassociated"), (MANY, "")):
        module = check_stages(cases_of(spec, extents[spec.name]), form=form)
        assert f"{spec.name}{suffix}" in ran(module, extents[spec.name])


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_what_is_folded_may_be_multiplied_with_a_matrix_of_each_row(form: Form) -> None:
    module = check_stages(cases_of(PRODUCT, MANY["product"]), form=form)
    assert ran(module, MANY["product"]) == ["product", "product_results"]


def test_what_another_kernel_has_made_may_be_split() -> None:
    """On a GPU: the absorbed form reads queries that were projected, and has most keys."""
    module = lower(cases_of(LATENT, FEW["mla_projections"])[0], Form("triton", 16, 16))
    kernels = [op for op in module.body.block.ops if isinstance(op, tile.KernelOp)]
    forms = [(kernel.entry.data.partition("_reassociated")[2], kernel.form) for kernel in kernels if kernel.when]
    told = [(name, form.data if form else "") for name, form in forms]
    assert told == [("_q_nope_w_uk", ""), ("", "whole"), ("_split", "split"), ("_merge", "split"), ("_results", "")]


@pytest.mark.parametrize("keys", [7, 8, 17])
def test_a_cpu_splits_the_keys_of_one_form(keys: int) -> None:
    """From 8 tiles of keys on; what is projected before and after it runs once."""
    dims = {**FEW["mla_projections"], "B": 1, "M": 1, "N": keys}
    module = check_stages(cases_of(LATENT, dims), form=Form(rows=4, keys=1))
    main = ["_split", "_merge"] if keys >= 8 else [""]
    found = [name.removeprefix("mla_projections_reassociated") for name in ran(module, dims)]
    assert found == ["_q_nope_w_uk", *main, "_results"]


@pytest.mark.parametrize("spec", [LATENT, LINEAR], ids=lambda spec: spec.name)
def test_each_form_is_right_where_the_other_is_cheaper(spec: Spec, monkeypatch: pytest.MonkeyPatch) -> None:
    passes = Form.passes

    def forced(self: Form, case: Case) -> tuple[object, ...]:
        always = ReassociateContractions(always=True)
        return tuple(always if isinstance(each, ReassociateContractions) else each for each in passes(self, case))

    monkeypatch.setattr(Form, "passes", forced)
    module = check_stages(cases_of(spec, MANY[spec.name]))
    assert f"{spec.name}_reassociated" in ran(module, MANY[spec.name])


@pytest.mark.parametrize("spec", [LATENT, LINEAR], ids=lambda spec: spec.name)
@pytest.mark.parametrize("element", ["f16", "bf16", "f64"])
def test_every_element_type_agrees(spec: Spec, element: str) -> None:
    cases = [Case.make(spec, element, dims=dims[spec.name], seed=3, layout="sliced") for dims in (FEW, MANY)]
    program = compile_program(spec, cases[0].types)
    for case in cases:
        case.check("numpy", program.run(case))


def test_of_many_rows_what_is_made_of_keys_is_made_once() -> None:
    case = Case.make(LATENT, dims=MANY["mla_projections"])
    stages: dict[str, ModuleOp] = {}
    lower(case, Form(), lambda name, module: stages.update({name: module.clone()}))
    kernels = [op for op in stages["materialise"].ops if isinstance(op, attn.KernelOp) and op.unless is not None]
    made, rest = kernels
    assert not any(isinstance(op, attn.OverOp) for op in made.body.ops)
    reads = {op.tensor.string_value() for op in rest.body.ops if isinstance(op, attn.ReadOp)}
    assert reads == {"q_nope", "q_rope", "k_rope", "w_uk_c", "w_uv_c"}


@pytest.mark.parametrize(
    ("mutant", "spec", "extents"),
    [
        (catalogue_attn.other_factors_forgotten, LATENT, FEW),
        (catalogue_attn.nothing_is_projected, LINEAR, FEW),
        (catalogue_attn.last_key_not_made, LINEAR, MANY),
        (catalogue_attn.last_term_left_out, PRODUCT, MANY),
    ],
    ids=lambda given: getattr(given, "name", ""),
)
def test_the_stage_that_is_wrong_is_named(
    mutant: Mutant, spec: Spec, extents: Mapping[str, Mapping[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = cases_of(spec, extents[spec.name])
    mutant.patch(monkeypatch)
    with pytest.raises(Disagreement) as caught:
        check_stages(cases, form=Form(mutant.target))
    assert {caught.value.stage} == mutant.blame
