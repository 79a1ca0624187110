"""stream-products: where rows are few, a product reads what they are multiplied with once, by a loop that is compiled.

Why: with one row of decoding, or the four of a group of heads, a product is as fast as keys come from memory. A BLAS
library is made for matrices that stay in the cache: it copies keys into another order first, and numbers of 8 bits have
to be widened before it is called. On one core with AVX-512, 4096 keys of 128 features by four rows take it 360 µs, a
loop that reads them 110; with keys of 8 bits it is 190 µs and 60.

Before:

    spec.tensor @q "input" "f32" ["M", "D"]
    spec.tensor @k "input" "i8" ["N", "D"]
    spec.tensor @o "output" "f32" ["M"]
    tile.kernel @sums rows last {
      %c0 = arith.constant 0 : index
      %rows = arith.constant 128 : index
      %keys = arith.constant 512 : index
      %zero = arith.constant 0.0 : f32
      %M = spec.dim "M"
      %N = spec.dim "N"
      %D = spec.dim "D"
      %i0 = tile.program "i" to %M step %rows
      %i = tile.range "i" from %i0 to %M size %rows
      %d = tile.range "d" from %c0 to %D size %D
      %q = tile.load @q[%i, %d] : f32
      %none = tile.broadcast %zero over (%i) : f32 to f32
      %sum = tile.loop %j0 = %c0 to %N step %keys iter_args(%l = %none) -> (f32) {
        %j = tile.range "j" from %j0 to %N size %keys
        %k_int = tile.load @k[%j, %d] : index
        %k = spec.to_float %k_int : f32
        %s = tile.dot %q, %k over %d : f32
        %t = tile.sum %s over %j : f32 to f32
        %l1 = arith.addf %l, %t : f32
        tile.kept %k_int : index
        tile.yield %l1 : f32
      }
      tile.store @o[%i] = %sum : f32
    }

After:

    spec.tensor @q "input" "f32" ["M", "D"]
    spec.tensor @k "input" "i8" ["N", "D"]
    spec.tensor @o "output" "f32" ["M"]
    tile.kernel @sums rows last {
      %c0 = arith.constant 0 : index
      %rows = arith.constant 128 : index
      %keys = arith.constant 512 : index
      %zero = arith.constant 0.0 : f32
      %M = spec.dim "M"
      %N = spec.dim "N"
      %D = spec.dim "D"
      %i0 = tile.program "i" to %M step %rows
      %i = tile.range "i" from %i0 to %M size %rows
      %d = tile.range "d" from %c0 to %D size %D
      %q = tile.load @q[%i, %d] : f32
      %none = tile.broadcast %zero over (%i) : f32 to f32
      %sum = tile.loop %j0 = %c0 to %N step %keys iter_args(%l = %none) -> (f32) {
        %j = tile.range "j" from %j0 to %N size %keys
        %k_int = tile.load @k[%j, %d] : index
        %k = spec.to_float %k_int : f32
        %s = tile.dot %q, %k over %d streamed from 1048576 : f32
        %t = tile.sum %s over %j : f32 to f32
        %l1 = arith.addf %l, %t : f32
        tile.kept %k_int, %k : index, f32
        tile.yield %l1 : f32
      }
      tile.store @o[%i] = %sum : f32
    }

Chosen are products in f32 of rows by what does not rest on them, and lies in memory as it is multiplied: what has been
widened or computed is in the cache, where a library is as fast. Rows that a table places, as that of pages does, are
not gathered first either, where one product takes them: the loop is told where each begins (`tile.deferred`), if few
rows are multiplied by enough of them. Whether rows are few, and the rest is large enough to wait for a compiler, is
known when a call is made: `products` is the number of multiplications from which on it is. The others are multiplied as
before. What was read as an integer of 8 bits, and is only multiplied so, is not widened; f16 is, in tiles of `halves`
numbers or more by loops as well, as NumPy takes six passes over a tile for that.

Requires: tile. Exactness: bit-exact: the IR leaves the order of a product's sums to the target. Idempotent.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from attndsl.ir import spec, tile
from attndsl.ir.analyses.arrangement import batch_axes, row_axis
from attndsl.ir.analyses.copies import AS_BYTES, lies
from attndsl.ir.analyses.placed import lays, placed_rows
from attndsl.ir.analyses.stored import read_of
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.exactness import Exactness
from attndsl.ir.rewrite import say
from attndsl.ir.statements import named, of_kind, operations
from attndsl.ir.traits import Axis
from attndsl.ir.xdsl import Context, IntegerAttr, ModuleOp, ModulePass, Operation, SSAValue, f32, index


@dataclass(frozen=True)
class StreamProducts(ModulePass):
    """Sets `streamed` of the products of rows, and keeps bytes that nothing else takes."""

    name = "stream-products"
    exactness = Exactness.EXACT

    products: int = 1 << 20
    halves: int = 1 << 14

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.body.block.ops:
            if isinstance(kernel, tile.KernelOp) and (rows := row_axis(kernel)) is not None:
                deferred = self.stream(kernel, rows)
                halves = any(map(_widens_half, operations(kernel)))
                kernel.by_loops = IntegerAttr(self.halves, index) if halves else None
                kept = named(kernel, tile.KeptOp)
                results = [result for each in operations(kernel) for result in each.results]
                say(kernel, tile.KeptOp, [v for v in results if v in kept or _is_of_bytes(v, kept)])
                say(kernel, tile.DeferredOp, [v for v in results if v in deferred])

    def stream(self, kernel: tile.KernelOp, rows: Axis) -> set[SSAValue]:
        """Sets `streamed` of a kernel's products; gives what is then read when it is multiplied."""
        axes, batch = AxesAnalysis(), batch_axes(kernel)
        written = {store.tensor for store in of_kind(kernel, tile.StoreOp)}
        placed: dict[SSAValue, list[tile.DotOp]] = {}
        for dot in (each for each in operations(kernel) if isinstance(each, tile.DotOp)):
            others = [value for value in (dot.lhs, dot.rhs) if rows not in axes(value)]
            if dot.result.type != f32 or len(others) != 1 or not dot.is_of_matrices(axes, batch):
                continue
            if lies(others[0], axes):
                dot.streamed = IntegerAttr(self.products, index)
                continue
            load = placed_rows(others[0], axes)
            at_home = any(tile.into_of(each) is not None for each in lays(others[0]))
            if load is not None and load.tensor not in written and not at_home:
                placed.setdefault(others[0], []).append(dot)
        deferred = set[SSAValue]()
        for value, dots in placed.items():
            # One of them leaves no key out: those that do are made where a key is no number. Two would gather it twice.
            if len(dots) == len(tile.users(value)) and len([dot for dot in dots if dot.where is None]) == 1:
                for dot in dots:
                    dot.streamed = IntegerAttr(self.products, index)
                deferred |= {*lays(value)}
        return deferred


def _widens_half(op: Operation) -> bool:
    """Whether an operation reads f16 as f32."""
    if not isinstance(op, tile.LoadOp) or op.result.type != f32:
        return False
    return spec.enclosing_tensor(op, op.tensor.string_value()).element.data == "f16"


def _is_of_bytes(value: SSAValue, kept: Collection[SSAValue]) -> bool:
    """Whether a value is bytes as memory holds them, as floats that nothing but products takes which are streamed."""
    op = value.owner
    if not isinstance(op, spec.ToFloatOp) or op.operand not in kept or (load := read_of(op.operand)) is None:
        return False
    element = spec.enclosing_tensor(load, load.tensor.string_value()).element.data
    streamed = all(isinstance(user, tile.DotOp) and user.streamed is not None for user in tile.users(value))
    return element in AS_BYTES and streamed and tile.into_of(value) is None
