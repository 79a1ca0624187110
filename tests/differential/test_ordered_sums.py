"""Sums in one order: a deterministic schedule leaves nothing to be added atomically, and each stage agrees."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings

from attndsl.checking.check import check
from attndsl.checking.typed import Spec
from attndsl.driver.compile import compile_spec
from attndsl.ir import tile
from attndsl.op.explain import explain
from attndsl.syntax.source import Source
from attndsl.testing import Case, Form, check_stages
from attndsl.testing.drawn_specs import Drawn, specs
from attndsl.testing.stages import lower

ROOT = Path(__file__).parents[2]

SPECS = {
    "an index that is missing": """attention p {
        dims H, M
        types T
        input  x : T[H, M]
        output o : T[M]
        each h in H, i in M
        o[i] += x[h,i]
    }""",
    "quotients, of one index and of two": """attention p {
        dims H, M, D
        types T
        input  x : T[H, M, D]
        output o : T[H / 2 + 1, D]
        output p : f32[H / 2 + 1, M / 3 + 1]
        each h in H, i in M
        o[h / 2, :]    += x[h,i,:]
        p[h / 2, i / 3] += x[h,i,0]
    }""",
    "a remainder, and two indices in one place": """attention p {
        dims H, M, D
        types T
        input  x : T[H, M, D]
        output o : T[3, D]
        output p : T[H + M]
        each h in H, i in M
        o[i % 3, :] += x[h,i,:]
        p[h + i]    += x[h,i,0]
    }""",
    "places from data, out of range too": """attention p {
        dims B, M, C, D
        types T
        input  x     : T[B, M, D]
        input  class : i32[B, M]
        input  scale : f32[C]
        output o     : T[B, C, D]
        output n     : f32[C]
        each b in B, i in M
        o[b, class[b,i], :] += x[b,i,:]
        n[class[b,i] - 1]   += scale[class[b,i]]
    }""",
    "what is folded over keys, at places that it gives": """attention p {
        dims B, M, N, D
        types T
        input  x : T[B, M, D]
        input  k : T[N, D]
        output o : f32[M, D]
        output a : f32[N]
        output z : f32[]
        each b in B, i in M
        over j in N
        let r = softmax(x[b,i,:] . k[j,:], j <= i) . k[j,:]
        let at = argmax(x[b,i,:] . k[j,:])
        o[i + at - 1, :] += r
        a[at]            += x[b,i,0]
        z[]              += 1.5
    }""",
    "rows whose number data says": """attention p {
        dims B, M, S, D
        types T
        input  n  : i32[B]
        input  cu : i32[B]
        input  at : u8[B]
        input  x  : T[M, D]
        input  w  : T[S]
        output o  : T[S + 2, D]
        output c  : f32[M]
        output e  : T[S, M]
        require S > 0
        each b in B, i in n[b] up to M, t in i + 1 up to 2 * M
        o[cu[b] + i, :]  += x[i,:] * x[t,0]
        c[i]             += 1.0
        e[at[b] % S - 1, t] += x[t,0] * w[i]
    }""",
    "rows that read at rows whose number differs": """attention p {
        dims B, M, S, D
        types T
        input  n  : i32[B]
        input  cu : u8[M]
        input  x  : T[S, D]
        output o  : T[M, S]
        output c  : f32[M, M]
        output g  : f32[B, S]
        each b in B, i in n[b] up to M, s in cu[i] up to S
        o[i, s]         += x[s,0]
        c[i, cu[i] + s] += x[s,0]
        g[b, s]         += x[i,1]
    }""",
    "two statements, and blocks": """attention p {
        dims B, M, S, D
        types T
        input  n : i32[B]
        input  x : T[B, M, D]
        input  y : T[S, D]
        temp   m : f32[S]
        output o : f32[S]
        inout  s : T[S, D]
        each b in B, i in M
        m[n[b]]    += x[b,i,0]
        m[i]       += x[b,i,1]
        s[i / 2,:] += x[b,i,:]
        each t in S
        m[t]       += 3
        s[0,:]     += y[t,:]
        each t in S
        o[t] = m[t] + 1.0
    }""",
    "three statements, one of which is a product of matrices": """attention p {
        dims B, H, M, D, E
        types T
        input  x : T[B, H, M, D]
        input  w : T[E, D]
        input  g : f32[B, H, M, E]
        output o : T[B, M, E]
        each b in B, h in H, i in M
        o[b,i,:] += w[:,:] . x[b,h,i,:]
        o[b,i,:] += g[b,h,i,:]
        o[b,i,:] += 2.0 * g[b,h,i,:] * g[b,h,i,:]
    }""",
    "slices that overlap": """attention p {
        dims B, M, D
        types T
        input  x : T[B, M, 2 * D]
        output o : T[M, B + D]
        output p : f32[M, B * D]
        each b in B, i in M
        o[i, b : b + D]         += x[b,i,D : D + D]
        p[i, b * D : b * D + D] += x[b,i, : D]
    }""",
    "extents by a parameter": """attention p(flag: bool = true, more: int = 2) {
        dims M, S, D
        types T
        input  n : i32[S]
        input  x : T[S, D]
        input  y : T[M, D]
        output c : f32[(if flag then M else S) + more]
        each i in (if flag then M else S)
        over j in M
        c[n[i]] += logsumexp(x[i,:] . y[j,:])
        c[0]    += 1.0
    }""",
}

DIMS = ({"B": 3, "H": 5, "M": 4, "S": 4, "C": 3, "N": 5, "D": 2, "E": 3}, {"M": 0}, {"B": 1, "H": 1, "M": 1, "D": 3})


def asked(text: str) -> Spec:
    """The spec with a schedule that is deterministic."""
    return check(Source(re.sub(r"\n *each ", "\nschedule { deterministic = true }\neach ", text, count=1)))


@pytest.mark.parametrize("form", [Form(), Form("triton", splits=2)], ids=lambda form: form.target)
@pytest.mark.parametrize("name", SPECS)
def test_every_stage_agrees(name: str, form: Form) -> None:
    spec = asked(SPECS[name])
    sizes = [{**DIMS[0], **change} for change in DIMS]
    cases = [
        Case.make(spec, "f16", seed, {dim: each[dim] for dim in spec.dims}, hostile=seed == 0).poisoned()
        for seed, each in enumerate(sizes)
    ]
    seen: list[str] = []
    check_stages(cases, form=form, seen=seen)
    assert ("order-sums" in seen) == (form.target == "triton")


def meeting(spec: Spec, types: dict[str, str]) -> list[bool]:
    """Whether elements meet, of each store that adds in what a GPU runs."""
    module = lower(Case(spec, types, {}, {}, {}), Form("triton", rows=0, keys=0))
    return [op.meets for op in module.walk() if isinstance(op, tile.StoreOp) and op.adds is not None]


ADDING = [path for path in sorted((ROOT / "examples").glob("*.attn")) if "+=" in path.read_text()]
TEXTS = {**SPECS, **{path.stem: path.read_text() for path in ADDING}}


@pytest.mark.parametrize("name", TEXTS)
def test_nothing_is_added_atomically(name: str) -> None:
    spec = asked(TEXTS[name])
    types = {variable: choices[0] for variable, choices in spec.types.items()}
    assert any(meeting(check(Source(TEXTS[name])), types)) and not any(meeting(spec, types))
    source = compile_spec(spec, types, "triton").source
    defined = re.findall(r"^def (\w+)", source, re.MULTILINE)
    assert len(set(defined)) == len(defined)
    assert "tl.atomic" not in source and "tl.atomic" in compile_spec(check(Source(TEXTS[name])), types, "triton").source


def test_explain_tells_what_places_from_data_cost() -> None:
    text = SPECS["places from data, out of range too"]
    dims = {"B": 2, "M": 1000, "C": 100, "D": 64}
    told = {}
    for spec in (check(Source(text)), asked(text)):
        told[bool(spec.schedule)] = explain(spec.source, compile_spec(spec, {"T": "f16"}, "triton", dims), dims)
    assert "deterministic" not in told[False] and re.search(r"work +0 flop", told[False])
    assert re.search(r"deterministic +true\n", told[True])
    assert re.search(
        r"work +33\.6 Mflop, of which the spec needs 0 flop once", told[True]
    )  # 128 of 100 elements a tile


@settings(
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=20,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(specs())
def test_nothing_that_is_drawn_is_added_atomically(drawn: Drawn) -> None:
    assume("+=" in drawn.text)
    spec = asked(re.sub(r"schedule \{[^}]*\}", "", drawn.text))
    assert not any(meeting(spec, {variable: choices[0] for variable, choices in spec.types.items()}))
