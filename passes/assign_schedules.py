"""assign-schedules: which tiles, warps and stages a launch may choose between, and by what.

Why: the best tile depends on how many rows share keys, which only a launch knows, and on what fits a processor, which
the kernel's own tiles tell. So a kernel carries a short list, from few rows to many, of which a launch takes the first
that holds its rows; and says which rows its tiles cover, and how many keys.

Before:

    spec.tensor @x "input" "f16" ["M", "N"]
    spec.tensor @o "output" "f32" ["M"]
    tile.kernel @k {
      %rows = spec.choice "ROWS"
      %keys = spec.choice "KEYS"
      %zero = arith.constant 0 : index
      %low = arith.constant 0xff800000 : f32
      %M = spec.dim "M"
      %N = spec.dim "N"
      %i0 = tile.program "i" to %M step %rows
      %i = tile.range "i" from %i0 to %M size %rows
      %start = tile.broadcast %low over (%i) : f32 to f32
      %t = tile.loop %j0 = %zero to %N step %keys iter_args(%m = %start) -> (f32) {
        %j = tile.range "j" from %j0 to %N size %keys
        %x = tile.load @x[%i, %j] : f32
        %largest = tile.max %x over %j : f32 to f32
        %m1 = arith.maximumf %m, %largest : f32
        tile.yield %m1 : f32
      }
      tile.store @o[%i] = %t : f32
    }

After:

    spec.tensor @x "input" "f16" ["M", "N"]
    spec.tensor @o "output" "f32" ["M"]
    tile.kernel @k schedules [
      {"ROWS" = 16 : index, "KEYS" = 64 : index, "num_warps" = 4 : index, "num_stages" = 3 : index},
      {"ROWS" = 32 : index, "KEYS" = 64 : index, "num_warps" = 4 : index, "num_stages" = 3 : index},
      {"ROWS" = 64 : index, "KEYS" = 64 : index, "num_warps" = 4 : index, "num_stages" = 3 : index}
    ] {
      %rows = spec.choice "ROWS"
      %keys = spec.choice "KEYS"
      %zero = arith.constant 0 : index
      %low = arith.constant 0xff800000 : f32
      %M = spec.dim "M"
      %N = spec.dim "N"
      %i0 = tile.program "i" to %M step %rows
      %i = tile.range "i" from %i0 to %M size %rows
      %start = tile.broadcast %low over (%i) : f32 to f32
      %t = tile.loop %j0 = %zero to %N step %keys iter_args(%m = %start) -> (f32) {
        %j = tile.range "j" from %j0 to %N size %keys
        %x = tile.load @x[%i, %j] : f32
        %largest = tile.max %x over %j : f32 to f32
        %m1 = arith.maximumf %m, %largest : f32
        tile.yield %m1 : f32
      }
      tile.store @o[%i] = %t : f32
      tile.covers rows %i0 keys %N by %keys
    }

The model counts what a program holds: stages of keys and values, the rows' queries and the weights of few rows in
shared memory, scores and sums in registers. Of the shapes in `SHAPES`, for each number of rows, it takes the first of
which a processor can run two programs, which then wait for memory in turns; else the first that fits, with as many
stages as do. It goes on to more rows until two programs that fill a matrix unit fit. A loop without a matrix product,
as the merge of splits, holds its tile in registers: that decides how many keys it has.

The keys of a kernel that folds splits are those that are cut, and so are those of the form that folds them whole: a
split has the tiles that it was counted in. Of others they end where the last loop over tiles does whose end a launch
can compute, which knows no size of tiles yet.

Requires: tile. Exactness: bit-exact. Idempotent.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from attndsl.choices import KEYS, ROWS
from attndsl.ir import spec, tile
from attndsl.ir.analyses.facts import is_before_choice
from attndsl.ir.analyses.footprint import Footprint
from attndsl.ir.exactness import Exactness
from attndsl.ir.machines import DEFAULT, MACHINES, Machine
from attndsl.ir.rewrite import constant, copy_before
from attndsl.ir.statements import operations
from attndsl.ir.xdsl import (
    ArrayAttr,
    Attribute,
    Context,
    DictionaryAttr,
    IntegerAttr,
    ModuleOp,
    ModulePass,
    SSAValue,
    index,
)

SPACE = {ROWS: (16, 32, 64, 128), KEYS: (16, 32, 64, 128), "num_warps": (4, 8), "num_stages": (1, 2, 3, 4)}
"""What `candidates` tries."""


def candidates(module: ModuleOp, machine: Machine) -> list[dict[str, int]]:
    """The schedules of `SPACE` that the model says fit: what tuning may ask of a call.

    They fit all kernels at once but those that merge splits, or whose warps have roles: their tiles are their own. What
    is scheduled as another kernel multiplies nothing, and fits with it.
    """
    kernels = [op for op in module.body.block.ops if isinstance(op, tile.KernelOp)]
    plain = [kernel for kernel in kernels if not kernel.with_roles]
    asked = [Footprint.of(kernel) for kernel in plain if not kernel.merges and kernel.scheduled_as is None]
    if not asked:
        return []
    sizes: dict[str, tuple[int, ...]] = dict(SPACE)
    if all(kernel.rows is not None for kernel in asked):
        del sizes[ROWS]
    if all(kernel.keys is not None for kernel in asked):
        del sizes[KEYS]
    if all(kernel.adds_up for kernel in asked):
        sizes["num_stages"] = (1,)  # Triton brings nothing ahead where nothing is multiplied
    space = (dict(zip(sizes, values, strict=True)) for values in product(*sizes.values()))
    return [schedule for schedule in space if all(kernel.fits(schedule, machine) for kernel in asked)]


@dataclass(frozen=True)
class AssignSchedules(ModulePass):
    """Gives every kernel the schedules that suit a machine, and says what its tiles cover."""

    name = "assign-schedules"
    exactness = Exactness.EXACT

    machine: str = DEFAULT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        kernels = [op for op in op.body.block.ops if isinstance(op, tile.KernelOp) and op.scheduled_as is None]
        for kernel, following in zip(kernels, [*kernels[1:], None], strict=True):
            found = list(Footprint.of(kernel).schedules(MACHINES[self.machine]))
            kernel.schedules = ArrayAttr([DictionaryAttr({n: _number(v) for n, v in s.items()}) for s in found])
            if not any(isinstance(each, tile.CoversOp) for each in kernel.body.block.ops):
                _say_covered(kernel, following)


def _say_covered(kernel: tile.KernelOp, following: tile.KernelOp | None) -> None:
    """Says what the tiles of a kernel cover; of the form that folds all keys, another kernel is `following`."""
    block = kernel.body.block
    last = block.last_op
    assert last is not None, "a kernel writes something"
    programs = [op for op in block.ops if isinstance(op, tile.ProgramOp) and op.columns is None]
    programs = [op for op in programs if constant(op.step) != 1]
    loops = [op for op in block.ops if isinstance(op, tile.LoopOp)]
    loops = [loop for loop in loops if loop.axis is not None] or loops
    if kernel.form is not None and kernel.form.data == "whole" and following is not None:
        keys = _cut(following)
        keys = copy_before(last, keys, {}) if keys is not None else None
    else:
        keys = _cut(kernel)
    if keys is None:
        # Where rows end before where steps do: a loop may go by steps from which others have taken some.
        ends = (end for loop in loops[::-1] for end in (loop.row_stop, loop.ub))
        keys = next((end for end in ends if is_before_choice(end)), None)
    rows = programs[0].result if programs else None
    said = tile.CoversOp(rows, keys, loops[-1].step if keys is not None else None)
    said.location = last.location
    block.add_op(said)


def _cut(kernel: tile.KernelOp) -> SSAValue | None:
    """How many keys a kernel's splits are cut from, where it folds one that a launch chooses."""
    if kernel.merges:
        return None
    choices = (op for op in operations(kernel) if isinstance(op, spec.ChoiceOp))
    return next((op.most for op in choices if op.most is not None), None)


def _number(value: int) -> Attribute:
    return IntegerAttr(value, index)
