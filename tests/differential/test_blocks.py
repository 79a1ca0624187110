"""Programs of several blocks: each stage of both targets gives what the reference gives, whatever no row wrote."""

from __future__ import annotations

import re

import pytest

from attndsl.checking.check import check
from attndsl.driver.library import artifact_of
from attndsl.ir import attn
from attndsl.ir.build import build
from attndsl.ir.context import print_module
from attndsl.ir.interpret import interpret
from attndsl.ir.xdsl import ModuleOp
from attndsl.syntax.source import Source
from attndsl.testing import Case, Disagreement, Form, check_stages

SPECS = {
    "a normaliser and what it divides": """attention p {
        dims B, M, N, D
        types T
        input  q : T[B, M, D]
        input  k : T[B, N, D]
        temp lse : f32[B, M]
        output p : T[B, M, N]
        let s[b,i,j] = q[b,i,:] . k[b,j,:]
        each b in B, i in M
        over j in N
        lse[b,i] = logsumexp(s[b,i,j], j <= i)
        each b in B, i in M, j in N
        p[b,i,j] = if j <= i and s[b,i,j] > -inf then exp(s[b,i,j] - lse[b,i]) else 0.0
    }""",
    "scores that become a mask": """attention p {
        dims B, H, M, N, D
        types T
        input  q : T[B, H, M, D]
        input  k : T[B, N, D]
        input  w : T[B, M, D]
        temp   s : f32[B, M, N]
        temp   t : f32[B, M]
        output o : T[B, H, M, D]
        each b in B, i in M, j in N
        s[b,i,j] = relu(w[b,i,:] . k[b,j,:])
        each b in B, i in M
        over j in N
        t[b,i] = sum(s[b,i,j], j <= i) / f32(i + 1)
        each b in B, h in H, i in M
        over j in N
        o[b,h,i,:] = softmax(q[b,h,i,:] . k[b,j,:], j <= i and s[b,i,j] >= t[b,i]) . k[b,j,:]
    }""",
    "places that no row writes": """attention p {
        dims B, N
        types T
        input  x : f32[B, N]
        input  at : i32[B]
        temp   t : f16[N, B]
        output u : T[N]
        input  y : T[N]
        output o : f32[B, N]
        each b in B
        t[at[b], b] = x[b,0] + x[b,1]
        each i in N
        over b in B
        u[i] = y[i] + max(t[i,b], t[i,b] > 0.0)
        each b in B, i in N
        o[b,i] = t[i,b] + (if u[i] > -inf then u[i] else 0.0)
    }""",
}

FORMS = [Form(), Form("triton"), Form("triton", splits=2)]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: f"{form.target}-{form.splits}")
@pytest.mark.parametrize("name", SPECS)
def test_every_stage_agrees(name: str, form: Form) -> None:
    spec = check(Source(SPECS[name]))
    element = {"numpy": "bf16", "triton": "f32"}[form.target] if form.splits == 1 else "f64"
    extents = [dict.fromkeys(spec.dims, 2) | {"N": size} for size in (7, 1)]
    cases = [Case.make(spec, element, seed, dims, hostile=True) for seed, dims in enumerate(extents)]
    check_stages([cases[0].poisoned(), cases[1]], form=form)


def broken(name: str, change: tuple[str, str]) -> tuple[Case, ModuleOp]:
    """A call whose module's text is changed."""
    from attndsl.ir.context import parse_module

    case = Case.make(check(Source(SPECS[name])), seed=3, dims={"B": 2, "N": 9}, hostile=False)
    text = print_module(build(case.spec, case.types))
    assert change[0] in text
    return case, parse_module(text.replace(*change))


def test_an_element_that_no_row_wrote_is_zero() -> None:
    name = "places that no row writes"
    case, module = broken(name, ('@t "workspace" "f16" ["N", "B"] partial', '@t "workspace" "f16" ["N", "B"]'))
    with pytest.raises(Disagreement):
        case.check("build", interpret(module, case.arrays, case.dims, case.params))


def test_blocks_run_in_their_order() -> None:
    case = Case.make(check(Source(SPECS["scores that become a mask"])), dims=dict.fromkeys("BHMND", 3))
    module = build(case.spec, case.types)
    case.check("build", interpret(module, case.arrays, case.dims, case.params))
    first, second, _ = (op for op in module.body.block.ops if isinstance(op, attn.KernelOp))
    module.body.block.detach_op(first)
    module.body.block.insert_op_after(first, second)
    with pytest.raises(Disagreement):
        case.check("build", interpret(module, case.arrays, case.dims, case.params))


def test_what_a_later_block_reads_is_a_workspace_of_its_type() -> None:
    case = Case.make(check(Source(SPECS["places that no row writes"])), "bf16")
    declared = re.findall(r'spec.tensor @(\w+) "(?:workspace|output)" (.*)', print_module(build(case.spec, case.types)))
    assert dict(declared) == {
        "t": '"f16" ["N", "B"] partial',
        "u": '"bf16" ["N"]',
        "o": '"f32" ["B", "N"]',
    }


@pytest.mark.parametrize(("target", "choice"), [("numpy", "    else:"), ("triton", "if SPLITS == 1:")])
def test_a_temp_that_each_form_of_a_block_writes_is_there_for_all(target: str, choice: str) -> None:
    source = artifact_of(Source(SPECS["scores that become a mask"]), {"T": "f32"}, target).source
    (allocated,) = [n for n, line in enumerate(source.splitlines()) if re.match(r"    t = \w+\.empty\(", line)]
    assert allocated < min(n for n, line in enumerate(source.splitlines()) if line.strip() == choice.strip())
