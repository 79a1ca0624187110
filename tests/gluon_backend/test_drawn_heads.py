"""Drawn specs whose heads share keys: all of a call, or so many of it, whose rows are boxes of some of them.

What is drawn of the whole language hardly ever has features of a product's size and rows that are packed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from attndsl.checking.check import check
from attndsl.driver.compile import lower
from attndsl.ir import spec, tile
from attndsl.ir.context import context
from attndsl.ir.xdsl import arith
from attndsl.passes.assign_roles import AssignRoles
from attndsl.syntax.source import Source
from attndsl.testing.case import types_with

from .test_roles import agree, kernels, sizes_of

TEXT = """attention heads {{
    dims {dims}
    types T
{inputs}
{require}
    each {rows}
    over j in N

    score = q[{query},:] . k[{key},:] / sqrt(D){term}
{mask}
{outputs}
}}
"""

MASKS = (
    None,
    "j <= i + (N - M)",
    "j <= i",
    "j <= i + (N - M) and j > i + (N - M) - 3",
    "j < length[{batch}]",
    "j <= i and j < length[{batch}]",
    "j % 3 != h % 2",
)
TERMS = ("", " + h * 0.25", " - slope[h] * (i - j)", " + (h % 2) * 0.5", " + i * 0.125")


@st.composite
def heads(draw: st.DrawFn) -> tuple[str, dict[str, int]]:
    """The text of a spec, and extents of a call."""
    grouped = draw(st.booleans())
    batch = draw(st.sampled_from(["b", "pack", "n"]))
    all_heads = "Hq" if grouped else "H"
    axes = {batch: "B", "h": all_heads, "i": "M"}
    query, result, each = (list(draw(st.permutations(list(axes)))) for _ in range(3))
    shared = "h / (Hq / Hkv)" if grouped else None
    keys = {batch: "B", **({shared: "Hkv"} if shared else {})}
    key = list(draw(st.permutations([*keys, "j"])))
    mask, term = draw(st.sampled_from(MASKS)), draw(st.sampled_from(TERMS))
    told = mask is not None and "length" in mask
    inputs = [_tensor("input", "q", query, axes, "D"), _tensor("input", "k", key, keys, "D")]
    inputs += [_tensor("input", "v", key, keys, "E")]
    inputs += ["input slope : f32[" + all_heads + "]"] if "slope" in term else []
    inputs += ["input length : i32[B]"] if told else []
    outputs, by = [f"o[{','.join(result)},:]"], "score" if mask is None else "score, mask"
    values = [f"softmax({by}) . v[{','.join(key)},:]"]
    inputs += [_tensor("output", "o", result, axes, "E")]
    if draw(st.booleans()):
        outputs.append(f"lse[{','.join(query)}]")
        values.append(f"logsumexp({by})")
        inputs.append(_tensor("output", "lse", query, axes, None, "f32"))
    text = TEXT.format(
        dims=", ".join(["B", "M", "N", "D", "E", *(["Hq", "Hkv"] if grouped else ["H"])]),
        inputs="\n".join(f"    {line}" for line in inputs),
        require="    require Hq % Hkv == 0\n" if grouped else "",
        rows=", ".join(f"{name} in {axes[name]}" for name in each),
        query=",".join(query),
        key=",".join(key),
        term=term,
        mask="" if mask is None else f"    mask = {mask.format(batch=batch)}\n",
        outputs="\n".join(f"    {name} = {value}" for name, value in zip(outputs, values, strict=True)),
    )
    few = draw(
        st.sampled_from([1, 2, 3, 4, 6, 7, 10, 12])
    )  # of 6 and 10 two stand beside one another, of others one or all
    dims = {"B": draw(st.integers(1, 2)), "M": draw(st.integers(1, 7)), "N": draw(st.integers(1, 9))}
    return text, dims | ({"Hq": 2 * few, "Hkv": 2} if grouped else {"H": few})


def _tensor(role: str, name: str, order: Sequence[str], axes: dict[str, str], last: str | None, kind: str = "T") -> str:
    extents = [{**axes, "j": "N"}[each] for each in order] + ([last] if last else [])
    return f"{role} {name} : {kind}[{', '.join(extents)}]"


@pytest.mark.matrix
def test_rows_of_drawn_heads_agree_with_the_reference() -> None:
    found = Counter[Any]()

    @seed(11)
    @settings(
        max_examples=60,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(heads(), st.integers(0, 3))
    def each(drawn: tuple[str, dict[str, int]], number: int) -> None:
        made = check(Source(drawn[0], "heads.attn"))
        module = lower(made, types_with(made, "bf16"), "triton", sizes_of(made, 16), "cuda:90")[0]
        AssignRoles(rows=4, keys=4).apply(context(), module)
        module.verify()
        packs = [op for kernel in kernels(module, "roles") for op in kernel.walk() if isinstance(op, tile.PackOp)]
        found[bool(kernels(module, "roles"))] += 1
        found.update({type(op.count.owner) for op in packs})
        if kernels(module, "roles"):
            agree(module, made, "bf16", drawn[1], number)

    each()
    assert found[True] > 30, found
    assert found[spec.DimOp] > 5, "hardly a drawn spec packs all heads of a call"
    assert found[arith.FloorDivSIOp] > 5, "hardly one packs a group"
