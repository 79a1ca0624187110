"""What makes a kernel well formed beyond its single operations: what its values may depend on.

`VERIFIERS` has it by operation, for the trait `WellFormed`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from attndsl.ir import attn, roles, spec, tile
from attndsl.ir.analyses.arrangement import batch_axes
from attndsl.ir.analyses.facts import is_before_choice, is_launch_time
from attndsl.ir.analyses.lengths import is_long_enough
from attndsl.ir.analyses.liveness import overwrites
from attndsl.ir.analyses.meeting import apart, in_steps
from attndsl.ir.analyses.placed import placed_rows
from attndsl.ir.analyses.stored import held_by
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.bounds import bounds_of
from attndsl.ir.forms import kernels_beside
from attndsl.ir.keys import KEYS
from attndsl.ir.meaning import is_elementwise
from attndsl.ir.releases import verify_role
from attndsl.ir.rewrite import constant
from attndsl.ir.sizes import leaf_of
from attndsl.ir.statements import named, of_kind, operations
from attndsl.ir.traits import Removes
from attndsl.ir.xdsl import Operation, SSAValue, StringAttr, VerifyException, index

ROW_VARIABLES = (attn.EachOp, attn.GridOp, attn.RowOp, attn.ColumnOp)

FORMS = ("whole", "split", "roles", "wide")

Access = attn.ReadOp | attn.WriteOp | attn.ScatterOp | tile.LoadOp | tile.StoreOp
FOLDING = (tile.ReduceOp, tile.DotOp)


def _form(form: StringAttr | None) -> None:
    """Raises VerifyException where a kernel has a form that is none."""
    if form is not None and form.data not in FORMS:
        raise VerifyException(f"the form of a kernel is {', '.join(FORMS[:-1])} or {FORMS[-1]}, not {form.data}")


def _beside(kernel: tile.KernelOp) -> None:
    """Raises VerifyException where a kernel has wide programs, and no other those of which a launch takes them."""
    forms = [op.form.data for op in kernels_beside(kernel) if op.form is not None and op.entry == kernel.entry]
    if kernel.form is not None and kernel.form.data == "wide" and sorted(forms) != ["roles", "whole", "wide"]:
        raise VerifyException('a kernel of form "wide" stands beside those of its name of forms "whole" and "roles"')


def _condition(kernel: attn.KernelOp | tile.KernelOp) -> None:
    """Raises VerifyException where a kernel never runs, or has a condition of dims that its module does not declare."""
    if kernel.when is not None and kernel.when == kernel.unless:
        raise VerifyException("a kernel that runs `when` something holds, unless it does, never runs")
    others = {each.entry.data for each in kernels_beside(kernel) if each is not kernel}
    listed = None if kernel.instead is None else {each.string_value() for each in kernel.instead}
    if listed is not None and not (listed and listed <= others):
        raise VerifyException("a kernel runs instead of others of its module")
    declared = {dim for tensor in spec.declarations(kernel, spec.TensorOp) for dim in tensor.extents.dims}
    for condition in (kernel.when, kernel.unless):
        for dim in sorted(condition.dims - declared) if condition is not None else ():
            raise VerifyException(f"no tensor has an extent made of the dim {dim}")


def verify_attn(kernel: attn.KernelOp) -> None:
    """Raises VerifyException where a kernel of the `attn` level is not well formed."""
    _condition(kernel)
    _form(kernel.form)
    axes, block = AxesAnalysis(), kernel.body.block
    nested = next((op for op in block.ops if op.regions), None)
    if nested is not None:
        raise VerifyException(f"the body of a kernel is flat, and {nested.name} is not")
    if sum(isinstance(op, attn.OverOp) for op in block.ops) > 1:
        raise VerifyException("a kernel has at most one attn.over")
    if sum(isinstance(op, attn.ColumnOp) for op in block.ops) > 1:
        raise VerifyException("a kernel has at most one attn.column")
    if sum(isinstance(op, attn.OuterOp) for op in block.ops) > 1:
        raise VerifyException("a kernel has at most one attn.outer")
    _unique(op for op in block.ops if isinstance(op, (*ROW_VARIABLES, attn.OuterOp, attn.OverOp)))
    for op in block.ops:
        match op:
            case attn.AxisOp():
                _independent(axes, op, op.operands, attn.IndexOp, "the extent of a feature variable")
            case attn.OuterOp():
                _independent(axes, op, op.operands, attn.IndexOp, f"the range of {op.variable.data}")
            case attn.IndexOp():
                last = -1 if isinstance(op, attn.OverOp) and op.within is not None else None
                _independent(axes, op, op.operands[:last], (attn.AxisOp, *KEYS), f"the range of {op.variable.data}")
            case spec.AssumeOp():
                _independent(axes, op, op.operands, attn.IndexOp, "an assumption")
            case attn.WriteOp():
                _independent(axes, op, op.operands, KEYS, "what is written")
                _independent(axes, op, op.along, attn.AxisOp, "what rows differ in that meet")
                _placed(axes, op, (*op.indices, *op.along), op.value)
            case attn.ScatterOp():
                _independent(axes, op, op.along, (attn.AxisOp, *KEYS), "what rows differ in that meet")
                _placed(axes, op, (*op.indices, *op.along), op.value)
                if op.where is not None:
                    _independent(axes, op, [op.where], attn.AxisOp, "whether a key is present")
            case _ if op.has_trait(Removes) and (where := getattr(op, "where", None)) is not None:
                _independent(axes, op, [where], attn.AxisOp, "whether a key is present")
    _writes(kernel, attn.ReadOp, attn.WriteOp, attn.ScatterOp)


def _scheduled(kernel: tile.KernelOp) -> None:
    """Raises VerifyException where a kernel that is scheduled as another does not run where that does, in its tiles."""
    other = kernel.scheduling
    if other is kernel:
        return
    if kernel.schedules is not None:
        raise VerifyException("has schedules, and is scheduled as another kernel")
    mine, its = ((each.form, each.when, each.unless, each.instead) for each in (kernel, other))
    if mine != its:
        raise VerifyException(f"runs where @{other.entry.data}, which it is scheduled as, does not")
    steps = {op.variable: leaf_of(op.step) for op in operations(other) if isinstance(op, tile.ProgramOp)}
    for op in of_kind(kernel, tile.ProgramOp):
        if op.variable not in steps or leaf_of(op.step) != steps[op.variable]:
            raise VerifyException(f"@{other.entry.data} has no programs of {op.variable.data} that step as its own do")


def _bounds(kernel: tile.KernelOp) -> None:
    """Raises VerifyException where a kernel has bounds that are none, or of what its module does not declare."""
    if kernel.bounds is None:
        return
    names = {
        "dim": {name for tensor in spec.declarations(kernel, spec.TensorOp) for name in tensor.extents.dims},
        "param": {param.sym_name.data for param in spec.declarations(kernel, spec.ParameterOp)},
        "stride": {tensor.sym_name.data for tensor in spec.declarations(kernel, spec.TensorOp)},
    }
    for factor in {factor for product in bounds_of(kernel.bounds) for factor in product}:
        if factor.name not in names[factor.kind]:
            raise VerifyException(f"bounds are of what is declared, which the {factor.kind} {factor.name} is not")


def _strided(kernel: tile.KernelOp) -> None:
    """Raises VerifyException where a kernel has code made for the strides of what is no tensor."""
    for tensor in kernel.strided or ():
        spec.enclosing_tensor(kernel, tensor.string_value())


def verify_launched(op: tile.ValuesOp) -> None:
    """Raises VerifyException where a launch cannot compute what it is said to compute."""
    if any(value.type != index or not is_launch_time(value) for value in op.values):
        raise VerifyException("names integers of dims, parameters and choices")


def verify_wraps(op: tile.WrapsOp) -> None:
    """Raises VerifyException where what is said to wrap is no single integer."""
    axes = AxesAnalysis()
    if any(value.type != index or axes(value) for value in op.values):
        raise VerifyException("names integers that are the same for a whole tile")


def verify_covers(op: tile.CoversOp) -> None:
    """Raises VerifyException where what tiles are said to cover is no row of a program, or no launch can compute it."""
    if not isinstance(op.parent_op(), tile.KernelOp):
        raise VerifyException("stands in a kernel, and in no loop")
    rows = op.rows.owner if op.rows is not None else None
    if rows is not None and (not isinstance(rows, tile.ProgramOp) or constant(rows.step) == 1):
        raise VerifyException("has rows that a program steps through, several at a time")
    if op.keys is not None and not is_before_choice(op.keys):
        raise VerifyException("has keys of dims, parameters and the number of splits")
    if op.by is not None and not is_launch_time(op.by):
        raise VerifyException("has tiles of a size that a launch knows")
    if (op.keys is None) != (op.by is None):
        raise VerifyException("says of its keys how many a tile has")


def verify_threads(op: tile.ThreadsOp) -> None:
    """Raises VerifyException unless a kernel says it once, before its programs, in terms that a launch knows."""
    if not is_launch_time(op.where):
        raise VerifyException("tells calls apart by their dims and parameters")
    kernel = op.parent_op()
    if not isinstance(kernel, tile.KernelOp):
        raise VerifyException("stands in a kernel, outside of its loops")
    said, *programs = (op for op in kernel.body.block.ops if isinstance(op, tile.ThreadsOp | tile.ProgramOp))
    if said is not op or any(isinstance(other, tile.ThreadsOp) for other in programs):
        raise VerifyException("stands once, before the first program")
    named = [each.variable for each in programs if isinstance(each, tile.ProgramOp)]
    if named.count(op.variable) != 1:
        raise VerifyException("names a variable of the programs")
    outer = programs[: named.index(op.variable) + 1]  # a thread steps through what is further in, in order
    if op.steps is not None:
        steps = in_steps(kernel)
        if steps is None or steps is not programs[0] or steps.variable != op.steps or len(outer) == 1:
            raise VerifyException("steps through the programs that may meet, first, and has others to share")
        outer = outer[1:]
    if not {*outer} <= {*apart(kernel)}:
        raise VerifyException("gives threads programs that may add to one element")


def verify_fused(op: tile.FusedOp) -> None:
    """Raises VerifyException where what is fused is no pass over elements of a tile, or writes over what it reads."""
    if not is_launch_time(op.where):
        raise VerifyException("tells calls apart by their dims and parameters")
    inner = list(op.body.block.ops)
    mask = next((each for each in inner if isinstance(each, tile.MaskOp)), None)
    if mask is not None:
        others = [each for each in inner if each is not mask and not is_elementwise(each)]
        if others != [op.end] or list(op.end.values) != [mask.result] or mask.value.owner in inner:
            raise VerifyException("masks a part of a tile where that lies, and does nothing else")
    for each in inner:
        if not (
            each is mask
            or is_elementwise(each)
            or isinstance(each, (*FOLDING, tile.BroadcastOp, tile.IntoOp, tile.YieldOp))
        ):
            raise VerifyException(f"fuses pointwise operations and their reductions, not {each.name}")
        reduced = any(isinstance(value.owner, FOLDING) and value.owner in inner for value in each.operands)
        if reduced and not isinstance(each, tile.YieldOp):
            raise VerifyException(f"{each.name} takes a reduction that is whole when all elements have been passed")
    homes = {into.home: into for value in op.end.values if (into := tile.into_of(value)) is not None}
    for value in (v for each in inner for v in each.operands if v.owner not in inner):
        lives = tile.into_of(value)
        if lives is not None and lives.home in homes and tuple(lives.axes) != tuple(homes[lives.home].axes):
            raise VerifyException(f"writes over what it reads, in @{lives.home.string_value()}")


def verify_kept(op: tile.KeptOp) -> None:
    """Raises VerifyException where what is kept as memory holds it was not read from there."""
    if any(held_by(value) is None for value in op.values):
        raise VerifyException("names tiles that were read, what a select leaves of them, or what they are as floats")


def verify_deferred(op: tile.DeferredOp) -> None:
    """Raises VerifyException where something else than a product takes what is deferred, or it may change till then."""
    kernel, axes = tile.kernel_around(op), AxesAnalysis()
    written = set() if kernel is None else {store.tensor for store in of_kind(kernel, tile.StoreOp)}
    for value in op.values:
        load, users = placed_rows(value, axes), tile.users(value)
        if load is None:
            raise VerifyException("names rows in f32 that something computed places, or what lays them end to end")
        if load.tensor in written:
            raise VerifyException("names nothing of a tensor that its kernel writes")
        laid = [isinstance(user, tile.FlattenOp) and user.result in op.values for user in users]
        streamed = [isinstance(user, tile.DotOp) and user.streamed is not None for user in users]
        if not users or not (all(laid) or all(streamed)):
            raise VerifyException("names what streamed products alone take")


def _verify_into(op: tile.IntoOp, axes: AxesAnalysis) -> None:
    """Raises VerifyException where a tile does not fit into its home, or is written over what it is made of."""
    home, name = op.declaration, f"@{op.home.string_value()}"
    maker = op.prev_op
    if maker is None or op.value not in maker.results or maker.regions or isinstance(maker, tile.RangeOp):
        raise VerifyException("stands right behind the operation that makes its tile")
    if not op.axes or frozenset(op.axes) != axes(op.value) or len(set(op.axes)) != len(op.axes):
        raise VerifyException("names the axes of its tile, each once")
    owners = [axis.owner for axis in op.axes if isinstance(axis.owner, tile.RangeOp)]
    if len(owners) != len(home.sizes) or not all(map(is_long_enough, home.sizes, owners)):
        raise VerifyException(f"{name} has other sizes than its tile")
    if (op.stage is None) != (home.stages is None):
        raise VerifyException(f"says which stage of {name} it means, if that has any")
    if op.stage is not None:
        _independent(axes, op, [op.stage], tile.RangeOp, "a stage")
        return
    for value in maker.operands:
        other = tile.into_of(value)
        if other is not None and other.home == op.home and not may_overwrite(op, value, other, axes):
            raise VerifyException(f"{maker.name} writes over what it reads: its operand lives in {name}, too")


def may_overwrite(op: tile.IntoOp, value: SSAValue, lives: tile.IntoOp, axes: AxesAnalysis) -> bool:
    """Whether a tile may be written over an operand that lies where `lives` says: its axes lie the same way."""
    return overwrites(op.maker, value, axes) and tuple(lives.axes) == tuple(op.axes)


OF_TILE = frozenset(tile.TILE.operations)
"""The operations of the `tile` level, of which alone it has rules: most of a kernel's are arithmetic."""


def verify_tile(kernel: tile.KernelOp) -> None:
    """Raises VerifyException where a kernel of the `tile` level is not well formed."""
    _condition(kernel)
    _form(kernel.form)
    _beside(kernel)
    _scheduled(kernel)
    _bounds(kernel)
    _strided(kernel)
    axes, kept = AxesAnalysis(), named(kernel, tile.KeptOp)
    for op in (op for op in operations(kernel) if type(op) in OF_TILE):
        match op:
            case tile.ProgramOp():
                if op.parent_op() is not kernel:
                    raise VerifyException(f"tile.program {op.variable.data} stands in a loop")
                _independent(axes, op, op.operands, tile.RangeOp, f"the range of {op.variable.data}")
            case tile.RangeOp():
                _independent(axes, op, op.operands, tile.RangeOp, f"the range of {op.variable.data}")
            case tile.HomeOp():
                _independent(axes, op, op.sizes, tile.RangeOp, f"the size of @{op.sym_name.data}")
                if op.parent_op() is not kernel:
                    raise VerifyException(f"@{op.sym_name.data} is declared in a loop")
            case tile.IntoOp():
                _verify_into(op, axes)
            case tile.PaddedOp():
                _independent(axes, op, op.operands, tile.RangeOp, "the size of an axis")
            case tile.PackOp():
                _independent(axes, op, op.operands, tile.RangeOp, "how many heads are packed")
            case tile.WidenedOp():
                if op.value not in kept:
                    raise VerifyException("tile.widened is of a tile that tile.kept names")
            case tile.PlaceOp():
                _independent(axes, op, op.shared, tile.RangeOp, "what is the same for a tile")
            case tile.ReduceOp():
                if op.over not in axes(op.body):
                    raise VerifyException(f"{op.name} removes an axis that its operand does not vary along")
            case tile.TopOp():
                if op.over not in axes(op.score) & axes(op.present) or op.at in axes(op.score) | axes(op.present):
                    raise VerifyException("tile.top ranks what varies along one axis, and not along the other")
            case tile.DotOp():
                if op.over not in axes(op.lhs) & axes(op.rhs):
                    raise VerifyException("both operands of a product vary along the axis that it sums over")
                cut = op.slices is not None or op.streamed is not None
                if cut and not op.is_of_matrices(axes, batch_axes(kernel)):
                    raise VerifyException("a product of two matrices has rows that can be cut into slices, or streamed")
            case tile.MaskOp():
                if op.whole not in axes(op.value) or op.over not in axes(op.where) or op.whole in axes(op.where):
                    raise VerifyException("tile.mask masks a tile along one axis, by a condition along a part of it")
                if axes(op.fill):
                    raise VerifyException("tile.mask fills with one number")
            case tile.BroadcastOp():
                if any(axis in axes(op.value) for axis in op.axes):
                    raise VerifyException("tile.broadcast broadcasts along an axis that its operand already has")
            case tile.RenameAxisOp() | tile.RepeatOp():
                if op.old not in axes(op.value) or op.new in axes(op.value):
                    raise VerifyException(f"{op.name} makes of an axis of its operand one that is new to it")
            case tile.FlattenOp():
                _independent(axes, op, [op.origin], tile.RangeOp, "where blocks are laid")
                if op.blocks not in axes(op.value) or op.new in axes(op.value):
                    raise VerifyException("tile.flatten makes of an axis of blocks one that is new to its operand")
            case tile.StoreOp():
                _placed(axes, op, op.indices, op.value)
                if not all(isinstance(value.owner, tile.ProgramOp) for value in op.along):
                    raise VerifyException("tile.store adds along variables of programs")
            case tile.OuterLoopOp():
                _independent(axes, op, op.operands, tile.RangeOp, f"the range of {op.variable.data}")
            case tile.LoopOp():
                _independent(axes, op, (op.lb, op.ub, op.step), tile.RangeOp, "the range of a loop")
                _verify_loop(axes, op)
    _writes(kernel, tile.LoadOp, tile.StoreOp)


def _verify_loop(axes: AxesAnalysis, loop: tile.LoopOp) -> None:
    for n, (start, end) in enumerate(zip(loop.iter_args, loop.end.values, strict=True)):
        if axes(start) != axes(end):
            raise VerifyException(f"a loop yields a value with other axes than it starts from (value {n})")


def _independent(
    axes: AxesAnalysis,
    op: Operation,
    values: Iterable[SSAValue],
    kinds: type[Operation] | tuple[type[Operation], ...],
    what: str,
) -> None:
    """Raises where a value varies along a variable that an operation of one of `kinds` introduces."""
    for value in values:
        for variable in axes(value):
            if isinstance(variable.owner, kinds):
                raise VerifyException(f"{what} depends on {variable.owner.name} {variable.name_hint or ''}".rstrip())


def _placed(axes: AxesAnalysis, op: Operation, indices: Iterable[SSAValue], value: SSAValue) -> None:
    """Raises where a value varies along a variable that says nothing of where it is put."""
    lost = axes(value) - frozenset[SSAValue]().union(*map(axes, indices))
    if lost:
        raise VerifyException(f"{op.name} puts several values into one place")


def _unique(variables: Iterable[attn.IndexOp]) -> None:
    seen: set[str] = set()
    for op in variables:
        if op.variable.data in seen:
            raise VerifyException(f"two variables are called {op.variable.data}")
        seen.add(op.variable.data)


def _writes(kernel: Operation, read: type[Access], *writes: type[Access]) -> None:
    """Raises where a kernel writes nothing, or reads what it writes, or an output that no kernel before it writes."""
    written, taken = set[str](), set[str]()
    for op in (op for kind in writes for op in of_kind(kernel, kind)):
        written.add(op.tensor.string_value())
    written |= {op.outbox.tensor.string_value() for op in of_kind(kernel, roles.PutOp)}
    for op in of_kind(kernel, read):
        taken.add(op.tensor.string_value())
    if not written:
        raise VerifyException(f"a kernel writes something: {kernel.name} has no {writes[0].name}")
    for name in sorted(taken & written - _named(kernel, "inout")):
        raise VerifyException(f"@{name} is read by the kernel that writes it, and its programs have no order")
    missing, before = taken & _named(kernel, "output"), kernel.prev_op
    while missing and before is not None:
        missing -= {op.tensor.string_value() for kind in writes for op in of_kind(before, kind)}
        before = before.prev_op
    for name in sorted(missing):
        raise VerifyException(f"@{name} is read, and no kernel before has written it")


def _named(kernel: Operation, role: str) -> set[str]:
    tensors = spec.declarations(kernel, spec.TensorOp)
    return {tensor.sym_name.data for tensor in tensors if tensor.role.data == role}


VERIFIERS: dict[type[Operation], Callable[[Any], None]] = {
    attn.KernelOp: verify_attn,
    tile.KernelOp: verify_tile,
    tile.FusedOp: verify_fused,
    tile.CoversOp: verify_covers,
    tile.KeptOp: verify_kept,
    tile.DeferredOp: verify_deferred,
    tile.LaunchedOp: verify_launched,
    tile.ThreadsOp: verify_threads,
    tile.WrapsOp: verify_wraps,
    roles.ProducerOp: verify_role,
    roles.LoaderOp: verify_role,
    roles.ConsumersOp: verify_role,
}
"""What each operation with the trait `WellFormed` is held to."""
