"""choose-keys: how many keys a tile has follows from the extents of a call: where a key costs little, it has more.

Why: a turn of a loop over keys is some twenty calls of NumPy, each of about a microsecond whatever it computes. Where a
tile has many rows that is nothing; with the one row of decoding, the calls take as long as the products. Tiles of more
keys have fewer turns. Of a tile of many rows they would leave the cache.

Before:

    spec.tensor @q "input" "f32" ["M", "D"]
    spec.tensor @k "input" "f32" ["N", "D"]
    spec.tensor @o "output" "f32" ["M"]
    tile.kernel @sums {
      %c0 = arith.constant 0 : index
      %rows = arith.constant 128 : index
      %keys = spec.choice "KEYS"
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
        %k = tile.load @k[%j, %d] : f32
        %s = tile.dot %q, %k over %d : f32
        %t = tile.sum %s over %j : f32 to f32
        %l1 = arith.addf %l, %t : f32
        tile.yield %l1 : f32
      }
      tile.store @o[%i] = %sum : f32
    }

After:

    spec.tensor @q "input" "f32" ["M", "D"]
    spec.tensor @k "input" "f32" ["N", "D"]
    spec.tensor @o "output" "f32" ["M"]
    tile.kernel @sums {
      %M1 = spec.dim "M"
      %rows1 = arith.constant 128 : index
      %i_size = arith.minsi %M1, %rows1 : index
      %D1 = spec.dim "D"
      %1 = arith.muli %i_size, %D1 : index
      %few = arith.constant 256 : index
      %2 = arith.maxsi %1, %few : index
      %many = arith.constant 1024 : index
      %3 = arith.floordivsi %many, %2 : index
      %one = arith.constant 1 : index
      %times = arith.maxsi %3, %one : index
      %least = arith.constant 512 : index
      %keys = arith.muli %times, %least : index
      %c0 = arith.constant 0 : index
      %rows = arith.constant 128 : index
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
        %k = tile.load @k[%j, %d] : f32
        %s = tile.dot %q, %k over %d : f32
        %t = tile.sum %s over %j : f32 to f32
        %l1 = arith.addf %l, %t : f32
        tile.yield %l1 : f32
      }
      tile.store @o[%i] = %sum : f32
    }

A tile has as many keys, a multiple of `least`, as the largest operation on keys has `products`, and no more than
`most`. Of up to `few` rows it has `longer` many, unless these are copied: where loops are compiled (`stream-products`)
keys are read once, and Python's part of a turn counts the more. Where heads lie side by side in memory behind each key,
as in pages, those that are computed together read `beside` numbers of keys in a turn, or four times as many that are
not copied: what has been read of one head is not far from what the next one reads. Rows that a table places are not
copied where up to `streamed` rows are multiplied by them. No thread and no value decides, so that a call has the same
bits wherever its code runs.

Requires: tile. Ensures: no launch chooses keys. Exactness: reassociates sums. Idempotent.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial, reduce

from attndsl.choices import KEYS
from attndsl.ir import spec, tile
from attndsl.ir.analyses.arrangement import row_axis
from attndsl.ir.analyses.beside import FEW_ROWS, programs_beside
from attndsl.ir.analyses.copies import copies_keys, copies_placed_rows
from attndsl.ir.analyses.lengths import Lengths, one_of_few
from attndsl.ir.analyses.shared import programs_of
from attndsl.ir.analyses.steps import largest_step
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.exactness import Exactness
from attndsl.ir.rewrite import index_constant, insert_before, replace
from attndsl.ir.statements import of_kind
from attndsl.ir.xdsl import Context, ModuleOp, ModulePass, Operation, SSAValue, arith


@dataclass(frozen=True)
class ChooseKeys(ModulePass):
    """Computes how many keys a tile has in each kernel that leaves it open."""

    name = "choose-keys"
    exactness = Exactness.REASSOCIATES

    least: int = 512
    most: int = 2048
    products: int = 1 << 19
    few: int = 0
    longer: int = 4096
    beside: int = 1 << 18
    fewest: int = 4
    streamed: int = 0

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.body.block.ops:
            if isinstance(kernel, tile.KernelOp):
                found = [each for each in kernel.body.block.ops if _is_of_keys(each)]
                if found:
                    keys = self.of_few_rows(kernel, self.keys(kernel))
                    keys = self.of_programs_beside(kernel, keys)
                    for choice in found:
                        replace(choice, [keys])

    def keys(self, kernel: tile.KernelOp) -> SSAValue:
        """How many keys a tile has, computed before all of a kernel."""
        begin = kernel.body.block.first_op
        assert begin is not None

        def number(value: int) -> SSAValue:
            return insert_before(begin, index_constant(value))

        most = self.most // self.least
        lengths = Lengths(begin)
        others = [op.result for op in largest_step(kernel, of_keys=True) if not tile.is_key(op.result)]
        counted, integer = lengths.product(map(lengths.of, others))
        times = self.products // (self.least * max(counted, 1))
        if integer is None or times < 2:
            return insert_before(begin, index_constant(self.least * min(max(times, 1), most)), "keys")
        integer.name_hint = integer.name_hint or "per_key"
        divisor = insert_before(begin, arith.MaxSIOp(integer, number(-(-times // most))))
        quotient = insert_before(begin, arith.FloorDivSIOp(number(times), divisor))
        whole = insert_before(begin, arith.MaxSIOp(quotient, number(1)))
        return insert_before(begin, arith.MuliOp(whole, number(self.least)), "keys")

    def of_few_rows(self, kernel: tile.KernelOp, keys: SSAValue) -> SSAValue:
        """How many keys a tile has, where one of few rows has others."""
        rows = row_axis(kernel)
        if self.few == 0 or rows is None or copies_keys(kernel):
            return keys
        assert isinstance(keys.owner, Operation)
        anchor = keys.owner.next_op
        assert anchor is not None
        put = partial(insert_before, anchor)
        size = Lengths(anchor).of(rows)
        if isinstance(size, int):
            return put(index_constant(self.longer)) if size <= self.few else keys
        often = one_of_few(anchor, size, self.few)
        longer = put(arith.MuliOp(often, put(index_constant(self.longer))))
        return put(arith.MaxSIOp(keys, longer), "keys")

    def of_programs_beside(self, kernel: tile.KernelOp, keys: SSAValue) -> SSAValue:
        """How many keys a tile has, where few rows' programs read keys beside each other: all of them have `beside`."""
        rows, programs = row_axis(kernel), programs_beside(kernel)
        if not programs:
            return keys
        assert isinstance(keys.owner, Operation)
        anchor = keys.owner.next_op
        assert anchor is not None
        put, lengths = partial(insert_before, anchor), Lengths(anchor)
        size = lengths.of(rows) if rows is not None else 1
        if isinstance(size, int) and size > FEW_ROWS:
            return keys

        def number(value: SSAValue | int) -> SSAValue:
            return put(index_constant(value)) if isinstance(value, int) else value

        def all_of(kind: type[arith.MuliOp | arith.MaxSIOp], values: Iterable[SSAValue | int]) -> SSAValue:
            return reduce(lambda a, b: put(kind(a, b)), map(number, values))

        one = number(1)
        together = all_of(arith.MuliOp, map(lengths.values, programs))
        share = put(arith.FloorDivSIOp(programs_of(kernel, anchor), number(self.fewest)))
        together = put(arith.MinSIOp(together, put(arith.MaxSIOp(share, one))))
        each = put(arith.MuliOp(together, all_of(arith.MaxSIOp, _features(kernel, lengths))))
        if not isinstance(size, int):
            each = put(arith.MuliOp(each, one_of_few(anchor, size, FEW_ROWS)))
        step = max(self.least // 8, 1)
        numbers = number((self.beside if copies_keys(kernel) else 4 * self.beside) // step)
        if self.streamed and copies_placed_rows(kernel):
            often = put(arith.MuliOp(one_of_few(anchor, number(size), self.streamed), number(4)))
            numbers = put(arith.MuliOp(put(arith.MaxSIOp(often, one)), numbers))
        steps = put(arith.FloorDivSIOp(numbers, put(arith.MaxSIOp(each, one))))
        most = put(arith.MuliOp(put(arith.MaxSIOp(steps, one)), number(step)))
        return put(arith.MinSIOp(keys, most), "keys")


def _features(kernel: tile.KernelOp, lengths: Lengths) -> list[SSAValue | int]:
    """How long the axes are along which keys have several numbers that are read."""
    axes, rows = AxesAnalysis(), row_axis(kernel)
    read = [axes(op.result) for op in of_kind(kernel, tile.LoadOp)]
    of_keys = frozenset[SSAValue]().union(*(each for each in read if any(map(tile.is_key, each))))
    found = [op.result for op in of_kind(kernel, tile.RangeOp) if op.result in of_keys and op.result is not rows]
    return [lengths.of(axis) for axis in found if not tile.is_key(axis)] or [1]


def _is_of_keys(op: object) -> bool:
    return isinstance(op, spec.ChoiceOp) and op.choice.data == KEYS
