"""tile: `attn` to `tile`: which variables are programs, axes and loops, and what a loop carries.

Why: this is where *what* becomes *how*. Each grid variable is a program, the row variables together are one axis cut
into tiles, every feature variable is an axis, and the key variable is one inside a loop over blocks of keys. A
contraction becomes a matrix product where its factors part into two groups that share no other axis, an elementwise
product and a sum where one tile holds it, and else a loop. A reduction over keys becomes what the loop carries.

Before:

    spec.tensor @x "input" "f32" ["M", "N"]
    spec.tensor @o "output" "f32" ["M"]
    attn.kernel @k {
      %M = spec.dim "M"
      %N = spec.dim "N"
      %i = attn.row "i" to %M
      %j = attn.over "j" to %N
      %v = attn.read @x[%i, %j] : f32
      %t = attn.max %v over %j : f32
      attn.write @o[%i] = %t : f32
    }

After:

    spec.tensor @x "input" "f32" ["M", "N"]
    spec.tensor @o "output" "f32" ["M"]
    tile.kernel @k {
      %M = spec.dim "M"
      %rows = arith.constant 128 : index
      %i0 = tile.program "i" to %M step %rows
      %i = tile.range "i" from %i0 to %M size %rows
      %N = spec.dim "N"
      %start = arith.constant 0 : index
      %keys = arith.constant 512 : index
      %low = arith.constant 0xff800000 : f32  // -inf
      %t0 = tile.broadcast %low over (%i) : f32 to f32
      %t = tile.loop %j0 = %start to %N step %keys iter_args(%m = %t0) -> (f32) {
        %j = tile.range "j" from %j0 to %N size %keys
        %v = tile.load @x[%i, %j] : f32
        %largest = tile.max %v over %j : f32 to f32
        %m1 = arith.maximumf %m, %largest : f32
        tile.yield %m1 : f32
      }
      tile.store @o[%i] = %t : f32
    }

Requires: pack-rows, stream-softmax. Ensures: nothing of `attn` is left. Exactness: reassociates sums. Idempotent.
"""

from __future__ import annotations

from dataclasses import dataclass

from attndsl.ir import attn
from attndsl.ir.errors import RequirementError
from attndsl.ir.exactness import Exactness
from attndsl.ir.rewrite import remove_dead
from attndsl.ir.xdsl import Context, IntegerAttr, ModuleOp, ModulePass
from attndsl.passes.tile.kernel import lower_kernel


@dataclass(frozen=True)
class Tile(ModulePass):
    """Lowers every kernel, with tiles of `rows` rows and `keys` keys; what a spec's schedule pins goes before.

    A launch chooses where one is 0. Tiles of columns have `columns`. With `fixed`, the last tile of keys is as large as
    the others, and what lies behind the last key is absent: for targets whose tiles have fixed sizes.
    """

    name = "tile"
    exactness = Exactness.REASSOCIATES

    rows: int = 128
    keys: int = 512
    columns: int = 512
    fixed: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in list(op.body.block.ops):
            if isinstance(kernel, attn.KernelOp):
                _check_prepared(kernel)
                rows = _pinned(kernel, "tile_rows", self.rows)
                keys = _pinned(kernel, "tile_keys", self.keys)
                op.body.block.insert_op_before(lower_kernel(kernel, rows, keys, self.columns, self.fixed), kernel)
                op.body.block.erase_op(kernel)
        remove_dead(op)


def _check_prepared(kernel: attn.KernelOp) -> None:
    for op in kernel.body.block.ops:
        for kinds, name in (((attn.EachOp,), "pack-rows"), ((attn.WeighOp,), "stream-softmax")):
            if isinstance(op, kinds):
                raise RequirementError(f"tile finds {op.name}: run {name} before it")


def _pinned(kernel: attn.KernelOp, name: str, default: int) -> int:
    value = kernel.schedule.data.get(name) if kernel.schedule is not None else None
    return value.value.data if isinstance(value, IntegerAttr) else default
