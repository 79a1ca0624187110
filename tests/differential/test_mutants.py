"""Planted bugs: passes and emitters that are wrong on purpose, and the spec whose comparison catches each.

A differential test that never fails proves nothing. Each mutant breaks one pass or the emitter; the comparison must
say so, and must name the stage that was broken.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from attndsl.backends.numpy import expressions, prelude
from attndsl.backends.numpy.pointwise import POINTWISE, Spelling
from attndsl.backends.writer import Writer
from attndsl.checking.check import check
from attndsl.ir import attn, build, intervals, key_loop, spec, tile
from attndsl.ir.keys import conjunction, conjuncts, reductions_of
from attndsl.ir.polynomial import add, number
from attndsl.ir.rewrite import constant, constant_op, guarded, insert_before, replace
from attndsl.ir.xdsl import ModuleOp, Operation, SSAValue, arith, scf
from attndsl.passes import canonicalize, load_pass
from attndsl.syntax.source import Source
from attndsl.testing import Case, Disagreement, check_stages

EXAMPLES = Path(__file__).parents[2] / "examples"

Patch = Callable[[pytest.MonkeyPatch], None]

INLINE = {
    "mirrored": """attention mirrored {
        dims N
        input  x : f32[N]
        output o : f32[N]
        each i in N
        o[i] = x[3 - i]
    }""",
    "far": """attention far {
        dims N
        input  x : f32[N]
        output o : f32[N]
        each i in N
        o[i] = x[i * i * 99999 % N]
    }""",
    "halves": """attention halves {
        dims N
        input  x : f32[N]
        output o : f32[N]
        each i in N
        o[i] = x[(i - 3) / 2 + 2]
    }""",
    "digits": """attention digits {
        dims N
        input  x : f32[N]
        output o : f32[N]
        each i in N
        o[i] = x[i] * 0.123456
    }""",
}
"""What no spec of the gallery needs."""


@dataclass(frozen=True)
class Mutant:
    """A bug, the spec that catches it, the stage that is to be blamed, and what the call must be like."""

    name: str
    patch: Patch
    spec: str
    stage: str
    call: dict[str, Any] = field(default_factory=dict)


# --- passes


def breaks(pass_name: str, mutate: Callable[[ModuleOp], None]) -> Patch:
    """A pass after which `mutate` is applied."""

    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        broken = load_pass(pass_name)
        original = broken.apply

        def apply(self: Any, ctx: Any, op: ModuleOp) -> None:
            original(self, ctx, op)
            mutate(op)

        monkeypatch.setattr(broken, "apply", apply)

    return patch


def named(module: ModuleOp, name: str) -> Iterator[Operation]:
    """The operations whose first result has this name."""
    return (op for op in list(module.walk()) if op.results and op.results[0].name_hint == name)


def never_rescales(module: ModuleOp) -> None:
    """What was summed under a smaller maximum is added as it is."""
    for op in named(module, "alpha"):
        replace(op, [insert_before(op, constant_op(1.0, op.results[0].type))])


def keeps_the_first_maximum(module: ModuleOp) -> None:
    """The maximum that goes on to the next tile is not the one that the sums are scaled to."""
    for loop in [op for op in module.walk() if isinstance(op, scf.ForOp)]:
        last = loop.body.block.last_op
        assert last is not None
        for n, value in enumerate(last.operands):
            if value.name_hint == "m_new":
                assert isinstance(value.owner, arith.MaximumfOp)
                last.operands[n] = value.owner.rhs


def swaps_the_digits_of_packed_rows(module: ModuleOp) -> None:
    """Reads take the row variable that varies slowest for the one that varies fastest."""
    lanes = [op.result for op in module.walk() if isinstance(op, tile.LaneOp)]
    for load in [op for op in module.walk() if isinstance(op, tile.LoadOp)]:
        owners = {v: v.owner for v in load.indices if isinstance(v.owner, Operation)}
        digits = {type(op): v for v, op in owners.items() if any(lane in op.operands for lane in lanes)}
        if {spec.ModOp, arith.FloorDivSIOp} <= digits.keys():
            slow, fast = digits[arith.FloorDivSIOp], digits[spec.ModOp]
            load.operands = [{slow: fast, fast: slow}.get(v, v) for v in load.operands]


def drops_conditions(module: ModuleOp) -> None:
    """A product trusts what lies under the mask to be a number."""
    for op in [op for op in module.walk() if isinstance(op, tile.DotOp) and op.where is not None]:
        replace(op, [insert_before(op, guarded(op, None))])


def divides_by_nothing(module: ModuleOp) -> None:
    """A row without keys becomes 0 / 0."""
    for op in [op for op in module.walk() if isinstance(op, arith.SelectOp)]:
        if isinstance(op.rhs.owner, arith.DivfOp):
            replace(op, [op.rhs])


def forgets_the_sink(module: ModuleOp) -> None:
    """The sink's weight does not reach the total."""
    for op in [op for op in module.walk() if isinstance(op, arith.AddfOp)]:
        total = op.lhs.owner
        if isinstance(total, arith.MulfOp) and total.lhs.name_hint == "l":
            replace(op, [op.lhs])


def trusts_indices(module: ModuleOp) -> None:
    """0 <= index is settled without a proof, so that -1 reads the last element."""
    for op in [op for op in module.walk() if isinstance(op, arith.CmpiOp)]:
        if constant(op.lhs) == 0 and op.predicate.value.data == 3:  # sle
            replace(op, [insert_before(op, constant_op(True, op.result.type))])


def loses_a_condition(module: ModuleOp) -> None:
    """Of a mask with several conditions the last is left out."""
    for kernel in module.body.block.ops:
        if isinstance(kernel, attn.KernelOp):
            for reduction in reductions_of(kernel):
                conditions = conjuncts(reduction.where)[:-1]
                narrowed = guarded(reduction, conjunction(conditions, reduction))
                insert_before(reduction, narrowed)
                replace(reduction, narrowed.results)


def leaves_the_last_keys_out(module: ModuleOp) -> None:
    """A loop takes whole tiles only."""
    for op in [op for op in module.walk() if isinstance(op, scf.ForOp)]:
        left = insert_before(op, arith.SubiOp(op.step, insert_before(op, constant_op(1, op.step.type))))
        op.operands[1] = insert_before(op, arith.SubiOp(op.ub, left))


def strict_for_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    """j <= i is taken for j < i."""
    right = intervals.Intervals._at_least_zero
    monkeypatch.setattr(
        intervals.Intervals, "_at_least_zero", lambda self, slack: right(self, add(slack, number(1), -1))
    )


def no_mask_in_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """What bounds did not take out of the mask is not tested."""
    monkeypatch.setattr(key_loop, "conjuncts", lambda where: [])
    monkeypatch.setattr(key_loop, "common_conjuncts", lambda reductions: [])


def differences_commute(monkeypatch: pytest.MonkeyPatch) -> None:
    """3 - x becomes x - 3."""
    monkeypatch.setattr(canonicalize, "COMMUTATIVE", (*canonicalize.COMMUTATIVE, arith.SubiOp))


def absence_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    """A value read out of range is 0 and present."""
    original = build._KernelBuilder.reduce

    def reduce(self: Any, expr: Any) -> SSAValue:
        for part in (expr.score, expr.value):
            if part is not None:
                self.scalars[id(part)] = self.scalars[id(part)]._replace(present=None)
        return original(self, expr)

    monkeypatch.setattr(build._KernelBuilder, "reduce", reduce)


# --- the emitter


def spells(op: type[Operation], text: str) -> Patch:
    """An emitter with another spelling of an operation on arrays."""

    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(POINTWISE, op, Spelling(text, POINTWISE[op].number))

    return patch


def helps(name: str, old: str, new: str) -> Patch:
    """An emitter one of whose helpers is another."""

    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        assert old in prelude.HELPERS[name]
        monkeypatch.setitem(prelude.HELPERS, name, prelude.HELPERS[name].replace(old, new))

    return patch


def short_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Constants are written with four digits."""
    monkeypatch.setattr(expressions, "literal", lambda value, type_: f"{value:.4g}".replace("inf", "np.inf"))


def narrow_indices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Index variables have 32 bits."""
    original = Writer.line

    def line(self: Writer, text: str) -> None:
        original(self, re.sub(r"(np.arange\(.*)\)$", r"\1, dtype=np.int32)", text))

    monkeypatch.setattr(Writer, "line", line)


MORE_ROWS = {"dims": {"B": 1, "H": 2, "M": 7, "N": 4}}
"""Under a mask that ends with the keys the first rows see none."""

BF16 = {"element": "bf16"}
ONE_ROW = {"dims": {"B": 1, "H": 1, "M": 1, "N": 8}, "params": {"window": 4, "dilation": 2}}
SQUARE = {"dims": {"B": 1, "H": 4, "M": 4}}
ODD = {"dims": {"B": 1, "H": 1, "N": 7}}

MASKED = spells(arith.SelectOp, "(({0}) * ({1}) + ~({0}) * ({2}))")
TRUNCATED = spells(arith.FloorDivSIOp, "np.trunc(({0}) / ({1})).astype(np.int64)")

MUTANTS = [
    Mutant("strict for at most", strict_for_at_most, "causal_end", "bound-loops"),
    Mutant("differences commute", differences_commute, "mirrored", "canonicalize"),
    Mutant("absent keys counted", absence_ignored, "topk_sparse", "build"),
    Mutant("-1 reads the last", breaks("simplify-indices", trusts_indices), "topk_sparse", "simplify-indices"),
    Mutant("condition lost", breaks("pack-rows", loses_a_condition), "document_mask", "pack-rows"),
    Mutant("0 / 0", breaks("stream-softmax", divides_by_nothing), "causal_end", "stream-softmax", MORE_ROWS),
    Mutant("sink forgotten", breaks("stream-softmax", forgets_the_sink), "softmax_plus_one", "stream-softmax"),
    Mutant("mask lost in tiles", no_mask_in_tiles, "encoder", "tile"),
    Mutant("no rescaling", breaks("tile", never_rescales), "mha", "tile"),
    Mutant("stale maximum", breaks("tile", keeps_the_first_maximum), "mha", "tile"),
    Mutant("last keys left out", breaks("tile", leaves_the_last_keys_out), "mha", "tile", ODD),
    Mutant("digits of rows swapped", breaks("tile", swaps_the_digits_of_packed_rows), "mla_latent", "tile", SQUARE),
    Mutant("unconditional products", breaks("tile", drops_conditions), "dilated", "tile", ONE_ROW),
    Mutant("mask multiplied", MASKED, "encoder", "numpy"),
    Mutant("quotient towards zero", TRUNCATED, "halves", "numpy"),
    Mutant("bf16 cut off", helps("_to_bf16", "bits + 0x7FFF + ((bits >> 16) & 1)", "bits"), "mha", "numpy", BF16),
    Mutant("subnormals halved", helps("_F8E4M3", "max(code >> 3 & 15, 1)", "(code >> 3 & 15)"), "f8_cache", "numpy"),
    Mutant("NaN times 0", helps("_dot_where", "np.isfinite(product).all()", "True"), "dilated", "numpy", ONE_ROW),
    Mutant("short constants", short_numbers, "digits", "numpy"),
    Mutant("32-bit indices", narrow_indices, "far", "numpy", {"dims": {"N": 300}}),
]
"""What goes wrong, who does it, the spec that shows it, the stage to blame."""


def call_of(mutant: Mutant) -> Case:
    text = INLINE.get(mutant.spec) or (EXAMPLES / f"{mutant.spec}.attn").read_text(encoding="utf-8")
    case = Case.make(check(Source(text, f"{mutant.spec}.attn")), seed=6, **mutant.call)
    if "index" in case.arrays:  # some that are absent, and none so far out that reading it would fail
        index = case.arrays["index"].copy()
        index.flat[1::3] = -1
        case = case.given(index=index)
    return case.poisoned()


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_is_caught_where_it_was_planted(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    case = call_of(mutant)
    check_stages([case])
    mutant.patch(monkeypatch)
    with pytest.raises(Disagreement) as caught:
        check_stages([case])
    assert caught.value.stage == mutant.stage
