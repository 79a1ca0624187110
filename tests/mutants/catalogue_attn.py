"""Mutants of what makes `attn` IR, and of the passes on it."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from attndsl.checking.typed import Kind
from attndsl.ir import attn, base_two, build, intervals
from attndsl.ir.keys import conjunction, conjuncts, reductions_of
from attndsl.ir.meaning import predicate
from attndsl.ir.polynomial import add, number
from attndsl.ir.rewrite import constant, constant_op, guarded, index_constant, insert_before, replace
from attndsl.ir.told import Told
from attndsl.ir.xdsl import ModuleOp, SSAValue, arith, i1
from attndsl.passes import (
    bound_loops,
    canonicalize,
    order_sums,
    reassociate_contractions,
    rebase_exponentials,
    simplify_indices,
    split_axes,
    stream_softmax,
)

from .mutant import every, planted, spoils, wraps

# --- build


@planted("numpy", "build")
def absent_keys_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A value read out of range is 0 and present."""

    def reduce(original: Any, builder: Any, expr: Any) -> Any:
        for part in (expr.score, expr.value):
            if part is not None:
                builder.scalars[id(part)] = builder.scalars[id(part)]._replace(present=None)
        return original(builder, expr)

    wraps(monkeypatch, build._KernelBuilder, "reduce", reduce)


@planted("numpy", "build")
def keys_of_no_tile_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of several indices only the last must be inside of the tensor."""
    wraps(monkeypatch, build._KernelBuilder, "both", lambda original, builder, a, b: b if b is not None else a)


@planted("numpy", "build")
def unwritten_places_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """What no row wrote of a temp is whatever memory holds."""

    def outputs(original: Any, spec: Any) -> Any:
        return [name for name in original(spec) if spec.tensors[name].role == "output"]

    wraps(monkeypatch, build, "partial_outputs", outputs)


@planted("numpy", "build")
def read_before_it_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """The block that reads a temp runs before the one that writes it."""

    def module(original: Any, ops: Any) -> Any:
        kernels = [op for op in ops if isinstance(op, attn.KernelOp)]
        return original([*(op for op in ops if op not in kernels), *reversed(kernels)])

    wraps(monkeypatch, build, "ModuleOp", module)


@planted("numpy", "build")
def absent_written_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row whose value is absent puts something into an inout."""

    def write(original: Any, builder: Any, written: Any, each: Any) -> None:
        if written.tensor.role == "inout":
            found = builder.scalar(written.value)
            builder.scalars[id(written.value)] = found._replace(present=None)
        original(builder, written, each)

    wraps(monkeypatch, build._KernelBuilder, "write", write)


@planted("numpy", "build")
def sums_begin_from_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """What rows add to an inout takes the place of what was there."""

    def clear(original: Any, builder: Any, total: Any) -> None:
        indices = builder.every_element(total)
        builder.add(attn.WriteOp(total.name, indices, builder.constant(Kind.FLOAT, 0.0), None))

    wraps(monkeypatch, build._KernelBuilder, "clear", clear)


def sums_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    """What rows add up to begins from 1."""

    def clear(original: Any, builder: Any, total: Any) -> None:
        indices = builder.every_element(total)
        one = builder.constant(Kind.FLOAT, 1.0)
        builder.add(attn.WriteOp(total.name, indices, one, None))

    wraps(monkeypatch, build._KernelBuilder, "clear", clear)


@planted("numpy", "build")
def keys_left_out_ranked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that the mask leaves out has a place too."""

    def score(original: Any, builder: Any, block: Any, ranking: Any) -> None:
        builder.counted = lambda reduce: None
        original(builder, block, ranking)

    wraps(monkeypatch, build._KernelBuilder, "score", score)


# --- exchange-loops


@spoils("numpy", "exchange-loops")
def first_that_meets_left_out(module: ModuleOp) -> None:
    """Of rows that have become keys the first is none."""
    for op in every(module, attn.WriteOp):
        total = op.value.owner
        if isinstance(total, attn.TotalOp) and total.precise is not None:
            over = total.over.owner
            assert isinstance(over, attn.OverOp)
            start = insert_before(over, index_constant(1))
            replace(over, [insert_before(over, attn.OverOp(over.variable.data, over.extent, over.bound, start))])


# --- find-meetings


@planted("numpy", "find-meetings")
def quotients_tell_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A place tells all variables that it is made of."""

    def told(original: Any, self: Any, place: Any) -> Any:
        return frozenset(v for m in place for factor in m for v in self.axes(factor))

    wraps(monkeypatch, Told, "_told", told)


# --- order-sums


@planted("triton", "order-sums")
def first_row_not_summed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the rows that meet in an element the first adds nothing."""

    def keys(original: Any, over: SSAValue, added: SSAValue, conditions: Any, anchor: Any) -> Any:
        later = arith.CmpiOp(insert_before(anchor, index_constant(0)), over, "slt")
        return original(over, added, [*conditions, insert_before(anchor, later)], anchor)

    wraps(monkeypatch, order_sums, "summed_over", keys)


@planted("triton", "order-sums")
def place_not_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row adds to all elements that data might send it to."""

    def keys(original: Any, over: SSAValue, added: SSAValue, conditions: Any, anchor: Any) -> Any:
        return original(over, added, [each for each in conditions if not _is_equal(each)], anchor)

    wraps(monkeypatch, order_sums, "summed_over", keys)


def _is_equal(condition: SSAValue) -> bool:
    op = condition.owner
    return isinstance(op, arith.CmpiOp) and isinstance(op.rhs.owner, attn.EachOp) and predicate(op) == "eq"


# --- canonicalize


@planted("numpy", "canonicalize")
def guards_taken_for_all_conditions(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a guarded load gives is not masked, whatever is asked beside its guard."""
    wraps(
        monkeypatch,
        canonicalize.DropGuardedSelect,
        "_holds",
        lambda original, pattern, condition, known: True,
    )


@planted("numpy", "canonicalize")
def differences_commute(monkeypatch: pytest.MonkeyPatch) -> None:
    """3 - x becomes x - 3."""
    monkeypatch.setattr(canonicalize, "COMMUTATIVE", (*canonicalize.COMMUTATIVE, arith.SubiOp))


@planted("numpy", "canonicalize")
def half_is_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """x / 2 becomes x."""
    identities = dict(canonicalize.RIGHT_IDENTITIES)
    identities[arith.FloorDivSIOp] = 2
    monkeypatch.setattr(canonicalize, "RIGHT_IDENTITIES", identities)


@planted("numpy", "canonicalize")
def guard_of_another_condition(monkeypatch: pytest.MonkeyPatch) -> None:
    """The choice between what a guarded read gives and 0 is dropped, whatever the guard says."""
    monkeypatch.setattr(canonicalize.Conjunctions, "__call__", lambda self, value, kind: frozenset())


# --- simplify-indices


@spoils("numpy", "simplify-indices")
def minus_one_reads_the_last(module: ModuleOp) -> None:
    """0 <= index is settled without a proof, so that -1 reads the last element."""
    for op in every(module, arith.CmpiOp):
        if constant(op.lhs) == 0 and op.predicate.value.data == 3:  # sle
            replace(op, [insert_before(op, constant_op(True, op.result.type))])


@planted("numpy", "simplify-indices")
def extent_is_an_index(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is at least -1 is taken for at least 0."""
    wraps(
        monkeypatch,
        simplify_indices,
        "_at_least_zero",
        lambda original, slack, facts: original(add(slack, number(1)), facts),
    )


@planted("numpy", "simplify-indices")
def larger_for_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    """A minimum or maximum that is known is taken for its other operand."""

    def settled(original: Any, op: Any, values: list[SSAValue]) -> None:
        extreme = isinstance(op, arith.MinSIOp | arith.MaxSIOp)
        original(op, [v for v in op.operands if v not in values] if extreme else values)

    wraps(monkeypatch, simplify_indices, "replace", settled)


# --- nest-loops


@spoils("numpy", "nest-loops")
def outer_digit_is_the_first(module: ModuleOp) -> None:
    """The outer of two indices is taken for 0 wherever it is read."""
    for op in every(module, attn.OuterOp):
        zero = insert_before(op, index_constant(0))
        op.result.replace_uses_with_if(zero, lambda use: not isinstance(use.operation, attn.OverOp))


@spoils("triton", "nest-loops")
def outer_index_runs_once_less(module: ModuleOp) -> None:
    """The last value of the outer of two indices is none."""
    for op in every(module, attn.OuterOp):
        less = insert_before(op, arith.SubiOp(op.extent, insert_before(op, index_constant(1))))
        op.operands[0] = less


# --- bound-loops


@planted("numpy", "bound-loops")
def strict_for_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    """j <= i is taken for j < i."""
    wraps(
        monkeypatch,
        intervals.Intervals,
        "_at_least_zero",
        lambda original, found, slack: original(found, add(slack, number(1), -1)),
    )


@planted("triton", "bound-loops", "split-loops")
def at_most_for_strict(monkeypatch: pytest.MonkeyPatch) -> None:
    """j < i is taken for j <= i, and j > i for j >= i."""
    wraps(
        monkeypatch,
        intervals.Intervals,
        "_at_least_zero",
        lambda original, found, slack: original(found, add(slack, number(1))),
    )


@planted("numpy", "bound-loops")
def one_bound_replaces_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of several upper bounds of the keys the last one stands alone."""
    wraps(monkeypatch, bound_loops, "_narrow", lambda original, over, found, *rest: original(over, found[-1:], *rest))


# --- reassociate-contractions


@planted("numpy", "reassociate-contractions")
def other_factors_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a projected value is multiplied with is left out of the sum that is made first."""
    wraps(
        monkeypatch,
        reassociate_contractions,
        "_reassociate",
        lambda original, nest: original(dataclasses.replace(nest, others=())),
    )


@planted("numpy", "reassociate-contractions")
def nothing_is_projected(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a row without keys has, which is 0, is multiplied with the projection, which may hold NaN."""
    wraps(
        monkeypatch,
        reassociate_contractions,
        "_sees_keys",
        lambda original, outer: insert_before(outer, constant_op(True, i1)),
    )


# --- materialise


@spoils("numpy", "materialise")
def last_key_not_made(module: ModuleOp) -> None:
    """Where keys are the rows of a kernel of their own, it stops before the last one."""
    names = {op.variable.data for op in every(module, attn.OverOp)}
    for op in every(module, attn.EachOp):
        if op.variable.data in names:
            one = insert_before(op, constant_op(1, op.result.type))
            op.operands[0] = insert_before(op, arith.SubiOp(op.extent, one))


# --- fold-contractions


@spoils("triton", "fold-contractions")
def last_term_left_out(module: ModuleOp) -> None:
    """Of what is contracted as keys the last term is not summed."""
    for total in every(module, attn.TotalOp):
        if total.precise is not None and isinstance(over := total.over.owner, attn.OverOp):
            one = insert_before(over, constant_op(1, over.result.type))
            over.operands[0] = insert_before(over, arith.SubiOp(over.extent, one))


# --- split-axes


@planted("triton", "split-axes")
def every_piece_is_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """All pieces of a feature axis start at 0."""
    monkeypatch.setattr(split_axes, "_moved", lambda axis, piece, start: piece.result)


# --- find-columns


@spoils("numpy", "find-columns")
def last_column_left_out(module: ModuleOp) -> None:
    """No row meets the last column."""
    for column in every(module, attn.ColumnOp):
        one = insert_before(column, constant_op(1, column.result.type))
        column.operands[0] = insert_before(column, arith.SubiOp(column.extent, one))


# --- pack-rows


@spoils("numpy", "pack-rows")
def condition_lost(module: ModuleOp) -> None:
    """Of a mask with several conditions the last is left out."""
    for kernel in every(module, attn.KernelOp):
        for reduction in reductions_of(kernel):
            narrowed = guarded(reduction, conjunction(conjuncts(reduction.where)[:-1], reduction))
            insert_before(reduction, narrowed)
            replace(reduction, narrowed.results)


@spoils("numpy", "pack-rows")
def keys_of_the_group_before(module: ModuleOp) -> None:
    """A row reads the keys of head h / group - 1."""
    rows = {op.result for op in every(module, attn.RowOp)}
    for op in every(module, arith.FloorDivSIOp):
        if isinstance(op.lhs.owner, arith.AddiOp) and rows & {*op.lhs.owner.operands}:
            one, zero = (constant_op(n, op.result.type) for n in (1, 0))
            before = arith.SubiOp(op.result, one)
            op.parent.insert_ops_after([one, zero, before, head := arith.MaxSIOp(before, zero)], op)
            op.result.replace_uses_with_if(head.result, lambda use, before=before: use.operation is not before)


# --- stream-softmax


@spoils("numpy", "stream-softmax")
def nothing_over_nothing(module: ModuleOp) -> None:
    """A row without keys becomes 0 times the reciprocal of 0."""
    for op in every(module, arith.SelectOp):
        mean = op.rhs.owner
        if isinstance(mean, arith.MulfOp) and isinstance(mean.rhs.owner, arith.DivfOp):
            replace(op, [op.rhs])


@spoils("numpy", "stream-softmax")
def sink_forgotten(module: ModuleOp) -> None:
    """The sink's weight does not reach the total."""
    for op in every(module, arith.AddfOp):
        total = op.lhs.owner
        if isinstance(total, arith.MulfOp) and total.lhs.name_hint == "l":
            replace(op, [op.lhs])


@planted("triton", "stream-softmax")
def sink_in_base_e(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sink is a power of 2 as if it were one of e."""
    wraps(
        monkeypatch,
        stream_softmax,
        "in_base_two",
        lambda original, score, anchor: score if getattr(anchor, "sink", None) is score else original(score, anchor),
    )


@planted("triton", "stream-softmax", "rebase-exponentials")
def term_in_base_e(monkeypatch: pytest.MonkeyPatch) -> None:
    """A term of an exponent that nothing scales stays as it is, as if it had no part in the change of the base."""
    wraps(
        monkeypatch,
        base_two,
        "_scaled",
        lambda original, term, anchor, axes: (
            original(term, anchor, axes) if base_two._scale(term, axes) is not None else term
        ),
    )


# --- rebase-exponentials


@planted("triton", "rebase-exponentials")
def powers_of_two_for_powers_of_e(monkeypatch: pytest.MonkeyPatch) -> None:
    """The exponent of e becomes one of 2 as it is."""
    monkeypatch.setattr(rebase_exponentials, "in_base_two", lambda exponent, anchor: exponent)


# --- split-reduction


@planted("triton", "split-reduction")
def parts_counted_for_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """The total of merged splits is that of their own weights."""

    def merging(original: Any, op: attn.StreamOp, states: list[SSAValue], split: SSAValue) -> Any:
        merged, results = original(op, states, split)
        return merged, (results[0], merged.total, *results[2:])

    wraps(monkeypatch, attn.StreamOp, "merging", merging)


@planted("triton", "split-reduction")
def parts_added(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sums of splits are added as they are, whatever maximum each was scaled to."""

    def merging(original: Any, op: attn.StreamOp, states: list[SSAValue], split: SSAValue) -> Any:
        merged, results = original(op, states, split)
        return merged, (results[0], *(insert_before(op, attn.TotalOp(state, split, None)) for state in states[1:]))

    wraps(monkeypatch, attn.StreamOp, "merging", merging)


# --- ranks


@spoils("triton", "count-ranks")
def equal_scores_have_one_rank(module: ModuleOp) -> None:
    """A key that ties with an earlier one does not come after it."""
    for above in every(module, arith.OrIOp):
        tied = above.rhs.owner
        if isinstance(tied, arith.AndIOp) and isinstance(tied.rhs.owner, arith.CmpiOp):
            replace(above, [above.lhs])
