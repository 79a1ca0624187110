"""assign-schedules: which tiles, warps and stages a launch may choose between, by a small cost model.

Why: the best tile depends on how many rows share keys, which only a launch knows, and on what fits a processor, which
the kernel's own tiles tell. So a kernel carries a short list, from few rows to many, of which a launch takes the first
that holds its rows.

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
      %i = tile.lane "i" from %i0 to %M size %rows
      %start = tile.spread %low over (%i) : f32 to f32
      %t = scf.for %j0 = %zero to %N step %keys iter_args(%m = %start) -> (f32) {
        %j = tile.lane "j" from %j0 to %N size %keys
        %x = tile.load @x[%i, %j] : f32
        %largest = tile.max %x over %j : f32 to f32
        %m1 = arith.maximumf %m, %largest : f32
        scf.yield %m1 : f32
      }
      tile.store @o[%i] = %t : f32
    }

After:

    spec.tensor @x "input" "f16" ["M", "N"]
    spec.tensor @o "output" "f32" ["M"]
    tile.kernel @k schedules [
      {"ROWS" = 16 : index, "KEYS" = 64 : index, "num_warps" = 4 : index, "num_stages" = 3 : index},
      {"ROWS" = 64 : index, "KEYS" = 64 : index, "num_warps" = 4 : index, "num_stages" = 3 : index},
      {"ROWS" = 128 : index, "KEYS" = 128 : index, "num_warps" = 8 : index, "num_stages" = 3 : index}
    ] {
      %rows = spec.choice "ROWS"
      %keys = spec.choice "KEYS"
      %zero = arith.constant 0 : index
      %low = arith.constant 0xff800000 : f32
      %M = spec.dim "M"
      %N = spec.dim "N"
      %i0 = tile.program "i" to %M step %rows
      %i = tile.lane "i" from %i0 to %M size %rows
      %start = tile.spread %low over (%i) : f32 to f32
      %t = scf.for %j0 = %zero to %N step %keys iter_args(%m = %start) -> (f32) {
        %j = tile.lane "j" from %j0 to %N size %keys
        %x = tile.load @x[%i, %j] : f32
        %largest = tile.max %x over %j : f32 to f32
        %m1 = arith.maximumf %m, %largest : f32
        scf.yield %m1 : f32
      }
      tile.store @o[%i] = %t : f32
    }

The model: of the shapes in `SHAPES`, for each number of rows the first that fits: what stages of keys and values take
of the shared memory, and what scores and sums take of the registers. Whatever does not fit gets fewer stages, then
fewer keys.

Requires: tile. Exactness: bit-exact. Idempotent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from attndsl.ir import spec, tile
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.machines import MACHINES, Machine
from attndsl.ir.rewrite import constant
from attndsl.ir.spec import enclosing_tensor
from attndsl.ir.xdsl import (
    ArrayAttr,
    Attribute,
    Block,
    Context,
    DictionaryAttr,
    IntegerAttr,
    ModuleOp,
    ModulePass,
    SSAValue,
    index,
    scf,
)
from attndsl.storage import ELEMENTS

SHAPES = {
    # By rows of a tile: keys of a tile and warps, the best first.
    16: ((64, 4), (32, 4), (16, 4)),
    64: ((64, 4), (64, 8), (32, 8), (16, 8)),
    128: ((128, 8), (64, 8), (32, 8)),
}
"""What is tried for each number of rows. Measured on an H200: docs/performance.md, "Tiles"."""

OTHER_REGISTERS = 80
"""What a thread needs beside scores and sums: addresses, operands of products, rows' maxima."""


@dataclass(frozen=True)
class AssignSchedules(ModulePass):
    """Gives every kernel the schedules that suit a machine."""

    name = "assign-schedules"

    machine: str = "cuda:90"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.body.block.ops:
            if isinstance(kernel, tile.KernelOp):
                found = list(_schedules(_Footprint.of(kernel), MACHINES[self.machine]))
                kernel.schedules = ArrayAttr([DictionaryAttr({n: _number(v) for n, v in s.items()}) for s in found])


@dataclass(frozen=True)
class _Footprint:
    """What a program of a kernel holds: the sizes that are chosen, and what there is for each row and key.

    `key_bytes` are read for each key of a tile, `row_words` are kept for each row, in 32-bit words; `key_words` counts
    the tiles of rows and keys that live at once.
    """

    rows: int | None
    keys: int | None
    has_keys: bool
    key_bytes: int
    row_words: int

    @classmethod
    def of(cls, kernel: tile.KernelOp) -> _Footprint:
        """Reads it off a kernel."""
        axes = AxesAnalysis()
        loops = [op for op in kernel.walk() if isinstance(op, scf.ForOp)]
        lanes = [op for op in kernel.walk() if isinstance(op, tile.LaneOp)]
        keys = [op for op in lanes if isinstance(op.start.owner, Block)]
        row = next((op for op in lanes if isinstance(op.start.owner, tile.ProgramOp)), None)
        key_bytes = max((_read_per_key(loop, axes) for loop in loops), default=0)
        words = [sum(_width(v, axes) for v in loop.iter_args if row and row.result in axes(v)) for loop in loops]
        return cls(
            _fixed(row.size) if row is not None else 1,
            _fixed(keys[-1].size) if keys else 1,  # what comes before the loop over keys only looks for them
            bool(keys),
            key_bytes,
            max(words, default=0),
        )


def _fixed(size: SSAValue) -> int | None:
    known = constant(size)
    return None if known is None else int(known)


def _width(value: SSAValue, axes: AxesAnalysis) -> int:
    """How many elements a tile has for each row or key: the product of its features."""
    width = 1
    for lane in axes(value):
        assert isinstance(lane.owner, tile.LaneOp)
        if constant(lane.owner.start) == 0:
            width *= int(constant(lane.owner.size) or 128)
    return width


def _read_per_key(loop: scf.ForOp, axes: AxesAnalysis) -> int:
    """The bytes that a loop reads for each key."""
    total = 0
    for op in loop.walk():
        if isinstance(op, tile.LoadOp) and any(_is_key(lane) for lane in axes(op.result)):
            element = enclosing_tensor(op, op.tensor.string_value()).element.data
            total += _width(op.result, axes) * ELEMENTS[element].itemsize
    return total


def _is_key(lane: SSAValue) -> bool:
    return isinstance(lane.owner, tile.LaneOp) and isinstance(lane.owner.start.owner, Block)


def _schedules(held: _Footprint, machine: Machine) -> Iterator[dict[str, int]]:
    for rows, shapes in SHAPES.items():
        if held.rows is not None and rows != min(SHAPES):
            return
        for keys, warps in shapes if held.keys is None else [(held.keys, shapes[0][1])]:
            real_rows = held.rows or rows
            threads = warps * machine.lanes
            words = real_rows * (keys + held.row_words) // threads
            stages = min(machine.stages, (machine.shared - 2 * real_rows * held.row_words) // max(1, keys * held.key_bytes))
            smallest = (keys, warps) == shapes[-1] or held.keys is not None
            if (words + OTHER_REGISTERS <= machine.registers and stages >= 1) or (smallest and rows == min(SHAPES)):
                chosen = {"ROWS": rows, "KEYS": keys, "num_warps": warps, "num_stages": max(1, stages)}
                fixed = {"ROWS": held.rows, "KEYS": held.keys}
                yield {name: value for name, value in chosen.items() if fixed.get(name) is None}
                break


def _number(value: int) -> Attribute:
    return IntegerAttr(value, index)
