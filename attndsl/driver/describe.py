"""The schedule that `tile` IR holds, in words: what a program is, what shares a tile, and what a mask still costs."""

from __future__ import annotations

from attndsl.choices import LEAST_KEYS
from attndsl.ir import tile
from attndsl.ir.analyses.looks import found_before
from attndsl.ir.analyses.role_loads import tensors_of
from attndsl.ir.analyses.role_parts import NoRoles, features_of
from attndsl.ir.analyses.role_room import widened
from attndsl.ir.analyses.roled import roled
from attndsl.ir.analyses.roles_gain import NoGain, enough_for
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.extents import extent_text
from attndsl.ir.forms import kernels_beside
from attndsl.ir.rewrite import number_in
from attndsl.ir.rings import RingOp
from attndsl.ir.roles import ConsumersOp
from attndsl.ir.sizes import size_of
from attndsl.ir.statements import of_kind
from attndsl.ir.traits import Axes
from attndsl.ir.walks import ShareOp
from attndsl.ir.xdsl import AnyFloat, Block, ModuleOp, Operation, arith, i1

ONLY_ASKED = "only where they are asked for"
"""How it begins what is told of roles that no launch takes by itself."""


def describe(module: ModuleOp, gives_roles: bool = False) -> dict[str, str]:
    """What was chosen and why, by name; the names of several kernels have the kernel's after them.

    Where the pipeline `gives_roles` to warps, it is told too whether and why they have some.
    """
    kernels = [op for op in module.body.block.ops if isinstance(op, tile.KernelOp)]
    told: dict[str, str] = {}
    for kernel in kernels:
        suffix = f" ({kernel.entry.data})" if len(kernels) > 1 else ""
        form = kernel.form.data if kernel.form is not None else ""
        if not kernel.with_roles:  # whose roles are told of the plain kernel
            told.update({f"{name}{suffix}": text for name, text in _kernel(kernel).items()})
        if form == "whole" and gives_roles and kernel.scheduled_as is None:
            told[f"roles{suffix}"] = _roles(kernel)
        if form == "roles" and kernel.instead is not None and kernel.scheduled_as is None:
            told[f"roles{suffix}"] = _instead(kernel)
    return told


def _instead(kernel: tile.KernelOp) -> str:
    """The roles of a kernel that stands in the place of others, of which there is no plain one."""
    (consumers,) = (op for op in kernel.walk() if isinstance(op, ConsumersOp))
    ring = next(op for op in kernel.walk() if isinstance(op, RingOp))
    rows = next(op.rows.value.data for op in kernel.walk() if isinstance(op, ShareOp))
    listed = {each.string_value() for each in kernel.instead or ()}
    whole = [op for op in kernels_beside(kernel) if op.form is not None and op.form.data == "whole"]
    names = " and ".join(op.entry.data for op in whole if op.entry.data in listed)
    keys, _ = ring.box.values()
    folding = (
        f"{consumers.count.value.data} groups of four fold {rows} rows each and add up, in no order, what all have"
    )
    stages = ring.stages.value.data
    taken = ONLY_ASKED
    if kernel.schedules:
        taken = f"where a launch can, from {number_in(kernel.schedules.data[0].data[LEAST_KEYS])} keys on"
    return f"{taken}, instead of {names}: one warp copies, {folding}, {keys} keys a tile, {stages} stages"


def _roles(kernel: tile.KernelOp) -> str:
    """The roles of a kernel's warps, and whether a launch takes them by itself; or why there are none."""
    try:
        found = roled(kernel)
    except NoRoles as reason:
        return f"none: {reason}"
    try:
        taken, least = "where a launch can", enough_for(found)
        if found.rows.bound is None:
            taken += f", from {least.keys} keys on"
            if least.rounds:
                taken += (
                    f", or from {least.fewer} keys and {least.rounds} tiles of rows with so many for each processor"
                )
    except NoGain as lost:
        taken = f"{ONLY_ASKED}, since {lost}"
    folding = f"{found.consumers} groups of four fold {found.part_rows} rows each"
    if found.shares:
        sums = " and ".join(str(features_of(share)) for share in found.shares)
        folding = f"{found.consumers} groups of four have {sums} sums of the same {found.part_rows} rows"
    if tensors := tensors_of(found):
        folding = f"four load {', '.join(tensors)}, {folding}"
    if (wide := widened(found)) is not None:
        folding += f", or {wide.consumers} in {wide.stages} stages where all tiles of rows are done as soon"
    return f"{taken}: one warp copies, {folding}, {found.tile_keys} keys a tile, {found.stages} stages"


def _kernel(kernel: tile.KernelOp) -> dict[str, str]:
    programs = of_kind(kernel, tile.ProgramOp)
    if kernel.scheduled_as is not None:
        variables = ", ".join(op.variable.data for op in programs)
        return {
            "programs": f"{variables}: each looks through data for {kernel.scheduling.entry.data}, in the same tiles"
        }
    loops = [op for op in kernel.body.block.ops if isinstance(op, tile.LoopOp) and _folds(op)]
    told = {"programs": ", ".join(op.variable.data for op in programs) or "one"}
    for op in of_kind(kernel, tile.RangeOp):
        if tile.is_column(op.result):
            told["columns"] = f"{op.variable.data}, {_size(op)}: rows are multiplied with these"
        elif isinstance(op.start.owner, tile.ProgramOp):
            told["rows"] = f"{op.variable.data}, {_size(op)}: these rows read the same keys"
    for loop in loops:
        axis = loop.axis
        told["keys"] = f"{axis.variable.data}, {_size(axis)}" if axis else "one at a time"
        if loop.outer is not None:
            told["keys"] += f", all of them for each {loop.outer.variable.data}"
        told["range"] = _range(loop)
    later = [op for op in loops if not op.is_mixed and any(isinstance(v.owner, tile.LoopOp) for v in op.iter_args)]
    if later:
        told["ranges"] = f"{len(later) + 1}, a loop for each: what is read changes from one to the next"
    # A loop that was split is two: one over full tiles, and one over the others.
    masks = list(dict.fromkeys(map(_mask, loops)))
    if masks and any(op.is_full for op in loops):
        told["mask"] = masks[0] if len(masks) == 1 else f"{masks[0]} in full tiles; in others {masks[-1]}"
    elif masks:
        told["mask"] = "; in another range ".join(masks)
    if (threads := _threads(kernel)) is not None:
        told["threads"] = threads
    if sums := [_sum(op) for op in of_kind(kernel, tile.StoreOp) if op.adds is not None]:
        told["sums"] = "; ".join(sums)
    if kernel.schedules is not None:
        told["schedules"] = "; or ".join(
            ", ".join(f"{name} {number_in(value)}" for name, value in each.data.items()) for each in kernel.schedules
        )
    return told


def _threads(kernel: tile.KernelOp) -> str | None:
    """Of which calls threads share the programs; None where nothing says that they do."""
    if not any(isinstance(op, tile.ThreadsOp) for op in kernel.body.block.ops):
        return None
    return "share the programs where a product of tiles is large, and the call; few rows count up to threefold"


def _sum(op: tile.StoreOp) -> str:
    """What adds to one element of an output, besides the rows that a tile has summed up."""
    meeting = ["rows of a tile"] if op.within is not None else []
    along = [value.owner.variable.data for value in op.along if isinstance(value.owner, tile.ProgramOp)]
    meeting += [f"programs of {' and '.join(along)}"] if along else []
    return f"{op.tensor.string_value()}: {' and '.join(meeting) or 'no two programs'} may add to one element"


def _folds(loop: tile.LoopOp) -> bool:
    """Whether a loop folds keys into sums, and does not only look for them."""
    return any(isinstance(result.type, AnyFloat) for result in loop.results)


def _size(axis: tile.RangeOp) -> str:
    size = size_of(axis.size)
    return f"{extent_text(size)} a tile" if size is not None else "chosen at launch"


def _range(loop: tile.LoopOp) -> str:
    """Whether where a loop starts or stops rests on what the rows of a tile see, and whether data say that."""
    axes = AxesAnalysis()
    if _rests_on_a_look(loop):
        return "cut to the keys that some row of the tile can see, by a first look at what the mask reads"
    if axes(loop.row_start) or axes(loop.row_stop):
        return "cut to the keys that some row of the tile can see"
    return "the same for all rows of a tile"


def _rests_on_a_look(loop: tile.LoopOp) -> bool:
    """Whether an earlier loop, or kernel, which only looks for keys, found where a loop starts or stops."""
    stack, seen = [loop.lb.owner, loop.ub.owner], set[Operation | Block]()
    while stack:
        owner = stack.pop()
        if owner in seen:
            continue
        seen.add(owner)
        match owner:
            case tile.LoopOp() as earlier if not _folds(earlier):
                return True
            case tile.LoadOp() as load if found_before(load) is not None:
                return True
            case tile.LoopOp() | tile.ProgramOp() | Block():
                pass
            case op:
                stack.extend(operand.owner for operand in op.operands)
    return False


def _mask(loop: tile.LoopOp) -> str:
    """For which keys of a tile a loop asks whether rows see them."""
    told = []
    if conditions := tested(loop):
        by_row = any(len(axes) > 1 for axes in conditions)
        told.append(f"tested for every {'row and key' if by_row else 'key'} of a tile")
    if of_kind(loop, tile.MaskOp):
        told.append("tested for the keys of a tile that some rows do not see")
    return "; ".join(told) or "none is left to test"


def tested(loop: tile.LoopOp) -> list[Axes]:
    """The axes of each condition that a turn of a loop tests for all keys of its tile."""
    axes, axis = AxesAnalysis(), loop.axis
    return [
        axes(op.cond)
        for op in loop.body.block.ops
        if isinstance(op, arith.SelectOp) and op.cond.type == i1 and axis and axis.result in axes(op.cond)
    ]
