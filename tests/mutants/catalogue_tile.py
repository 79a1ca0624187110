"""Mutants of the lowering to `tile` IR, and of the passes on it."""

from __future__ import annotations

from math import inf
from typing import Any

import pytest

from attndsl.ir import spec, tile
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.broadcast import keep_axes
from attndsl.ir.meaning import predicate
from attndsl.ir.monoids import MAX
from attndsl.ir.rewrite import constant, constant_op, guarded, index_constant, insert_before, replace
from attndsl.ir.xdsl import ModuleOp, Operation, SSAValue, arith, i1, math, scf
from attndsl.passes import (
    factor_scores,
    find_boxes,
    fold_extremes,
    gather_scales,
    gather_terms,
    narrow_products,
    pad_axes,
    prefetch_gathers,
    scan_keys,
    skip_maxima,
    split_loops,
    split_ranges,
)
from attndsl.passes.tile import builder, fold, key_loop

from .mutant import every, planted, spoils, wraps

# --- tile


@planted("numpy", "tile")
def mask_lost_in_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """What bounds did not take out of the mask is not tested."""
    monkeypatch.setattr(key_loop, "conjuncts", lambda where: [])
    monkeypatch.setattr(key_loop, "common_conjuncts", lambda reductions: [])


@planted("numpy", "tile")
def position_of_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the positions in a tile the largest integer is taken, which stands for none."""
    monkeypatch.setattr(fold, "MIN", MAX)


@spoils("numpy", "tile")
def nest_of_one_loop(module: ModuleOp) -> None:
    """Of a nest of two loops the inner one runs once."""
    for op in every(module, tile.OuterLoopOp):
        op.operands[0] = insert_before(op.parent_op(), index_constant(1))


@spoils("numpy", "tile")
def no_rescaling(module: ModuleOp) -> None:
    """What was summed under a smaller maximum is added as it is."""
    for op in module.walk():
        if op.results and op.results[0].name_hint == "alpha":
            replace(op, [insert_before(op, constant_op(1.0, op.results[0].type))])


@spoils("numpy", "tile")
def extreme_of_an_axis_from_zero(module: ModuleOp) -> None:
    """A largest or smallest that no tile holds starts from 0, which not all numbers are above or below."""
    for loop in every(module, tile.LoopOp):
        start = loop.iter_args[0].owner
        if constant(loop.step) == 1 and isinstance(start, tile.BroadcastOp) and constant(start.value) in (-inf, inf):
            start.operands[0] = insert_before(start, constant_op(0.0, start.value.type))


@spoils("numpy", "tile")
def stale_maximum(module: ModuleOp) -> None:
    """The maximum that goes on to the next tile is not the one that the sums are scaled to."""
    for last in every(module, tile.YieldOp):
        for n, value in enumerate(last.operands):
            if value.name_hint == "m_new":
                last.operands[n] = value.owner.rhs


@planted("numpy", "tile")
def greatest_score_of_no_keys_is_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop over keys starts from a maximum of 0, as a split without keys ends with."""

    def start(original: Any, loop: Any, op: Any) -> list[SSAValue]:
        states: list[SSAValue] = original(loop, op)
        for state in states:
            broadcast = state.owner
            if isinstance(broadcast, tile.BroadcastOp) and constant(broadcast.value) == -inf:
                broadcast.operands[0] = insert_before(broadcast, constant_op(0.0, state.type))
        return states

    wraps(monkeypatch, key_loop.KeyLoop, "start", start)


@spoils("numpy", "batch-programs")
def last_batch_left_out(module: ModuleOp) -> None:
    """Programs start below the last value of a variable of which they have several, not below its end."""
    for op in module.walk():
        if isinstance(op, tile.ProgramOp) and isinstance(op.step.owner, arith.MaxSIOp):
            one = insert_before(op, index_constant(1))
            op.operands[0] = insert_before(op, arith.SubiOp(op.extent, one))


@spoils("numpy", "tile")
def last_keys_left_out(module: ModuleOp) -> None:
    """A loop takes whole tiles only."""
    for op in every(module, tile.LoopOp):
        left = insert_before(op, arith.SubiOp(op.step, insert_before(op, constant_op(1, op.step.type))))
        op.operands[1] = insert_before(op, arith.SubiOp(op.ub, left))


@planted("triton", "tile")
def part_ends_one_key_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last key of each split of the keys is left out."""

    def split(original: Any, loop: Any, *ends: SSAValue) -> tuple[SSAValue, SSAValue]:
        start, stop = original(loop, *ends)
        if loop.over.split is not None:
            stop = loop.build.add(arith.SubiOp(stop, loop.build.number(1)), loop.outside)
        return start, stop

    wraps(monkeypatch, key_loop.KeyLoop, "split", split)


@planted("numpy", "tile")
def what_is_left_of_a_tile_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where threads share out tiles, keys behind the last whole tile are nobody's."""

    def shared_out(original: Any, loop: Any, *given: SSAValue) -> tuple[SSAValue, SSAValue]:
        first, last = original(loop, *given)
        assert isinstance(last.owner, arith.SelectOp)
        return first, last.owner.rhs

    wraps(monkeypatch, key_loop.KeyLoop, "shared_out", shared_out)


@planted("numpy", "tile")
def first_row_ends_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop stops where the first of its rows does, not the last."""

    def bounds(original: Any, loop: Any) -> tuple[SSAValue | None, ...]:
        low, high, *own = original(loop)
        if isinstance(high.owner, tile.MaxOp):
            high = loop.build.add(tile.MinOp(high.owner.body, high.owner.over), loop.outside)
        return low, high, *own

    wraps(monkeypatch, key_loop.KeyLoop, "range", bounds)


@spoils("numpy", "tile")
def fastest_digit_lost(module: ModuleOp) -> None:
    """Reads take the row variable that varies fastest for 0."""
    axes = {op.result for op in every(module, tile.RangeOp)}
    for load in every(module, tile.LoadOp):
        zero = insert_before(load, index_constant(0))
        digits = {v for v in load.indices if isinstance(v.owner, spec.ModOp) and v.owner.lhs in axes}
        load.operands = [zero if v in digits else v for v in load.operands]


@spoils("numpy", "tile")
def products_unconditional(module: ModuleOp) -> None:
    """A product trusts what lies under the mask to be a number."""
    for op in every(module, tile.DotOp):
        replace(op, [insert_before(op, guarded(op, None))])


@planted("numpy", "tile")
def absence_multiplied(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that is absent is multiplied with 0 in the place of being left out."""

    def select(original: Any, build: Any, where: Any, value: SSAValue, block: Any, otherwise: float = 0.0) -> SSAValue:
        conditions = list(where)
        if otherwise or not conditions:
            return original(build, conditions, value, block, otherwise)  # type: ignore[no-any-return]
        one = original(build, conditions, build.constant(1.0, value.type), block)
        return build.add(arith.MulfOp(value, one), block, value.name_hint)  # type: ignore[no-any-return]

    wraps(monkeypatch, builder.TileBuilder, "select", select)


@spoils("numpy", "tile")
def scale_of_the_neighbour(module: ModuleOp) -> None:
    """What is stored in few bits is scaled as the key before it is."""
    for op in every(module, tile.LoadOp):
        if op.tensor.string_value().endswith("_scale"):
            one, zero = (insert_before(op, index_constant(n)) for n in (1, 0))
            before = insert_before(op, arith.SubiOp(op.indices[-1], one))
            op.operands[len(op.indices) - 1] = insert_before(op, arith.MaxSIOp(before, zero))


# --- scan-keys


@planted("numpy", "scan-keys")
def scan_starts_one_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """The keys start behind the first that a row may see."""

    def scan(original: Any, loop: tile.LoopOp, *given: Any) -> Any:
        first, *others = original(loop, *given)
        return insert_before(loop, arith.AddiOp(first, insert_before(loop, index_constant(1)))), *others

    wraps(monkeypatch, scan_keys, "_scan", scan)


@planted("triton", "scan-keys")
def scan_stops_one_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """The keys stop before the last that a row may see."""

    def scan(original: Any, loop: tile.LoopOp, *given: Any) -> Any:
        first, past, *run = original(loop, *given)
        return first, insert_before(loop, arith.SubiOp(past, insert_before(loop, index_constant(1)))), *run

    wraps(monkeypatch, scan_keys, "_scan", scan)


# --- gather-scales, factor-scores, scale-operands


@planted("triton", "gather-scales")
def factors_gathered_as_divisors(monkeypatch: pytest.MonkeyPatch) -> None:
    """What multiplied each score divides it."""
    wraps(
        monkeypatch, gather_scales, "_chain", lambda original, *given: ((scale, True) for scale, _ in original(*given))
    )


@planted("triton", "factor-scores")
def tiles_equally_far_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row is taken to be as far from each tile's first key as from the first one's."""

    def first(original: Any, scores: Any, each: Any, type_: Any, at: Operation) -> SSAValue:
        return insert_before(at, constant_op(0.0, type_))

    wraps(monkeypatch, factor_scores._Scores, "of_first_key", first)


@spoils("triton", "factor-scores")
def caps_taken_to_be_positive(module: ModuleOp) -> None:
    """A negative cap is taken for next to nothing."""
    for op in every(module, arith.MaximumfOp):
        if isinstance(op.lhs.owner, math.AbsFOp):
            op.operands[0] = op.lhs.owner.operand


@spoils("numpy", "scale-operands")
def factors_lost(module: ModuleOp) -> None:
    """What a product's result was multiplied with multiplies nothing."""
    for op in every(module, arith.MulfOp):
        if op.result.name_hint == "scaled":
            replace(op, [op.lhs])


# --- gather-blocks


@spoils("numpy", "gather-blocks")
def blocks_laid_where_a_tile_begins(module: ModuleOp) -> None:
    """The first block of a tile of keys is taken to begin where the tile does."""
    for op in every(module, tile.FlattenOp):
        op.operands[3] = op.new.owner.start


@spoils("numpy", "gather-blocks")
def every_block_begins_like_the_first(module: ModuleOp) -> None:
    """Where a tile of keys begins within a block, the places before are left out of all blocks."""
    for op in every(module, arith.SelectOp):
        if op.result.name_hint == "j_place0":
            replace(op, [op.lhs])


# --- gather-terms


@planted("numpy", "gather-terms")
def subtracted_numbers_added(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the numbers in a sum over a tile, none is subtracted."""
    wraps(
        monkeypatch, gather_terms, "_sum", lambda original, at, terms: original(at, [(value, 1) for value, _ in terms])
    )


# --- guess-finite, mask-edges


@spoils("numpy", "guess-finite")
def guesses_trusted(module: ModuleOp) -> None:
    """A product is never made anew."""
    for op in every(module, scf.IfOp):
        replace(op, op.false_region.block.last_op.operands)


@spoils("numpy", "mask-edges")
def last_key_of_a_row_hidden(module: ModuleOp) -> None:
    """At the edge of what rows see, each loses one key more."""
    for op in every(module, tile.MaskOp):
        test = op.where.owner
        if isinstance(test, arith.CmpiOp) and predicate(test) == "sle":
            test.operands[0] = insert_before(test, arith.SubiOp(test.lhs, insert_before(test, index_constant(1))))


# --- sum-by-products


@spoils("numpy", "sum-by-products")
def squares_summed(module: ModuleOp) -> None:
    """A matrix is multiplied with itself where it is summed."""
    for op in every(module, tile.DotOp):
        if isinstance(op.rhs.owner, tile.BroadcastOp):
            op.operands[1] = op.lhs


# --- align-quotients


@spoils("triton", "align-quotients")
def page_of_the_first_key(module: ModuleOp) -> None:
    """All keys of a tile are read from the block of the first, of however many keys a block is."""
    for op in every(module, arith.FloorDivSIOp):
        if isinstance(op.lhs.owner, tile.RangeOp) and tile.is_key(op.lhs) and constant(op.rhs) is not None:
            op.operands[0] = op.lhs.owner.start
    keep_axes(module, AxesAnalysis())


# --- split-loops


@planted("triton", "split-loops")
def full_tiles_one_too_far(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tile in which a row's keys end counts as full, so that its mask is lost."""

    def covered(original: Any, loop: tile.LoopOp, *given: Any) -> SSAValue:
        found: SSAValue = original(loop, *given)
        return insert_before(loop, arith.AddiOp(found, loop.step))

    wraps(monkeypatch, split_loops, "_covered", covered)


@planted("triton", "split-loops")
def full_tiles_start_one_too_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tile in which a row's keys start counts as full."""

    def start(original: Any, loop: tile.LoopOp, starts: Any, *more: Any) -> SSAValue:
        found: SSAValue = original(loop, starts, *more)
        early = insert_before(loop, arith.SubiOp(found, loop.step))
        return insert_before(loop, arith.MaxSIOp(loop.lb, early)) if starts else found

    wraps(monkeypatch, split_loops, "_full_start", start)


@planted("triton", "split-loops")
def full_for_the_last_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tile counts as full where the row that sees most sees all of it."""
    wraps(
        monkeypatch,
        split_loops,
        "over_rows",
        lambda original, loop, ends, merge, reduce: original(loop, ends, merge, tile.MaxOp),
    )


# --- fold-extremes


@planted("triton", "fold-extremes")
def first_row_for_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last row of a tile is taken to be its first."""
    monkeypatch.setattr(fold_extremes, "_last", lambda axis, anchor, plain: axis.start)


# --- prefetch-gathers


@planted("triton", "prefetch-gathers")
def gathers_one_tile_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a turn reads for the next one is what it has itself."""

    def copies(original: Any, loop: tile.LoopOp, axis: Any, reads: Any, key: SSAValue, anchor: Operation) -> Any:
        return original(loop, axis, reads, loop.body.block.args[0] if anchor is reads[0] else key, anchor)

    wraps(monkeypatch, prefetch_gathers, "_copies", copies)


# --- assign-schedules


@spoils("triton", "assign-schedules")
def last_key_not_covered(module: ModuleOp) -> None:
    """A launch is told of a key less than there are."""
    for op in every(module, tile.CoversOp):
        if op.keys is not None:
            less = insert_before(op, arith.SubiOp(op.keys, insert_before(op, index_constant(1))))
            op.operands[list(op.operands).index(op.keys)] = less


# --- narrow-products


@planted("triton", "narrow-products")
def every_product_rounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """All products are made of 16 bits, those of numbers that have more too."""
    monkeypatch.setattr(narrow_products, "_narrow", lambda op, significands, elements: "bf16")


# --- pad-axes


@planted("triton", "pad-axes")
def pads_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is touched behind the end of an axis."""
    monkeypatch.setattr(pad_axes._Guards, "access", lambda guards, op, values: None)


@planted("triton", "pad-axes")
def pads_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """What lies behind the end of an axis is summed, and may be the largest."""
    monkeypatch.setattr(pad_axes._Guards, "select", lambda guards, op, value, axis, otherwise: value)


# --- split-ranges


def _cut_of(loop: tile.LoopOp) -> bool:
    """Whether a loop goes on with what another one carries."""
    return any(isinstance(start.owner, tile.LoopOp) for start in loop.iter_args)


@spoils("numpy", "split-ranges")
def cut_one_off(module: ModuleOp) -> None:
    """The second range begins one key late."""
    for loop in every(module, tile.LoopOp):
        if _cut_of(loop):
            loop.operands[0] = insert_before(loop, arith.AddiOp(loop.lb, insert_before(loop, index_constant(1))))


@planted("numpy", "split-ranges")
def wrong_range(monkeypatch: pytest.MonkeyPatch) -> None:
    """What holds before an end is settled the other way round."""

    def truth(original: Any, cut: Any, bounds: Any, lows: Any, highs: Any) -> bool | None:
        found: bool | None = original(cut, bounds, lows, highs)
        return not found if found is not None and bounds.upper is cut.place else found

    wraps(monkeypatch, split_ranges._Cut, "truth", truth)


@spoils("numpy", "split-ranges")
def ranges_apart(module: ModuleOp) -> None:
    """The second range begins anew, and forgets what the first one carried."""
    for loop in every(module, tile.LoopOp):
        while _cut_of(loop):
            before = loop.iter_args[0].owner
            assert isinstance(before, tile.LoopOp)
            loop.operands = [*loop.operands[:3], *before.iter_args, *loop.operands[-2:]]


@planted("numpy", "split-ranges")
def end_not_brought_near(monkeypatch: pytest.MonkeyPatch) -> None:
    """A range ends where its condition says, though the loop begins behind that, or ends before."""
    monkeypatch.setattr(split_ranges._Cut, "between", lambda cut, place, low, high, anchor: place)


# --- skip-maxima


@spoils("numpy", "skip-maxima")
def sums_never_looked_at(module: ModuleOp) -> None:
    """No maximum is ever taken."""
    for choice in every(module, scf.IfOp):
        if any(isinstance(op, tile.LoopOp) for op in choice.true_region.block.ops):
            choice.operands[0] = insert_before(choice, constant_op(False, i1))


@planted("numpy", "skip-maxima")
def sums_however_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights are right if they are infinite, too."""
    monkeypatch.setattr(skip_maxima, "MOST", inf)


@planted("triton", "find-boxes")
def boxes_that_leave_something_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tile is copied as a box though its condition leaves some of the tensor out."""
    monkeypatch.setattr(find_boxes, "lies_inside", lambda op, box: True)
