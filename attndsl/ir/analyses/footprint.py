"""What a program of a kernel holds, and which schedules a machine has room for: a small cost model. An analysis."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from attndsl.choices import KEYS, ROWS
from attndsl.ir import spec, tile
from attndsl.ir.analyses.stored import HALVES, read_of
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.machines import Machine
from attndsl.ir.rewrite import constant
from attndsl.ir.spec import enclosing_tensor
from attndsl.ir.statements import of_kind
from attndsl.ir.xdsl import Operation, SSAValue, arith, i1
from attndsl.storage import ELEMENTS

SHAPES = {
    # By rows of a tile: keys of a tile and warps, the best first.
    16: ((64, 4), (32, 4), (16, 4)),
    32: ((64, 4), (64, 8), (32, 4), (16, 4)),
    64: ((64, 4), (32, 4), (64, 8), (32, 8), (16, 4)),
    128: ((128, 8), (64, 4), (64, 8), (32, 8)),
}
"""What is tried for each number of rows. Measured: docs/performance.md, "Tiles"."""

OTHER_REGISTERS = 38
"""What a thread needs beside scores, sums and the addresses of keys: operands of products, rows' maxima."""

FEW = 64
"""The rows of a warp group's product, of which a tile of fewer rows uses a part.

Where rows see different keys, a tile of more rows computes more that its mask hides: under a causal mask, half a square
of rows x rows (the dots).

    x x x x . . .
    x x x x x . .
    x x x x x x .
    x x x x x x x
"""

WARP_ROWS = 16
"""The rows that a warp multiplies."""

GROUP = 4
"""The warps that multiply together, where warps do."""

BOTH_PARTS = 8
"""The bytes of both parts of an f32 number, whose product is made of three."""

ADDRESSES = 24
"""How many registers of a thread the addresses of a tile of keys may take, which stay there throughout the loop."""

PIECE = 16
"""The bytes that a thread reads at once."""

MAKING_REGISTERS = 70
"""What a thread needs beside scores, sums and what an operand is made of."""

ADDRESS = 2
"""The registers of an address."""

ROOMY = 64
"""Tiles of fewer keys keep a matrix unit waiting more than a second program helps, if a turn makes two products."""

MANY = 4
"""The products of a turn for which more than two programs of a processor, each with fewer registers, are faster."""

MULTIPLIED = (*HALVES, "f32", "f64")
"""The element types that products are made of."""

HELD = 72
"""How many registers of a thread a tile may take that no matrix unit multiplies, or that operands are made of."""

ADDED = (16, 32, 64, 128, 256)
"""The tiles of keys, or of splits, that may be added up in registers."""


@dataclass(frozen=True)
class Footprint:
    """What a program of a kernel holds.

    `rows` and `keys` are the sizes that are fixed, None where a launch chooses. `fixed_bytes` multiply every key.
    For each key `key_bytes` are read, of which `box_bytes` take no addresses, and `made_bytes` computed, which
    multiply rows, an operand of them of `made_words` numbers; for each row `row_bytes` multiply keys, and
    `row_words` of 32 bits are carried; for each pair `weight_bytes` multiply values, and `pair_bytes` are read.
    `parts_bytes` are made at once of what is read for a key, for products of f32 numbers that are made of three.
    `split` says whether it runs where keys are split, `multiplies` whether a matrix unit takes the tiles of keys,
    `by_three` whether some products are made of three, `uneven` whether rows of a tile see different keys. A tile's
    keys divide `divided`.
    """

    rows: int | None
    keys: int | None
    fixed_bytes: int
    key_bytes: int
    box_bytes: int
    made_bytes: int
    made_words: int
    row_bytes: int
    weight_bytes: int
    pair_bytes: int
    pair_words: int
    products: int
    parts_bytes: int
    row_words: int
    split: bool
    multiplies: bool
    by_three: bool
    uneven: bool
    divided: int

    @classmethod
    def of(cls, kernel: tile.KernelOp) -> Footprint:
        """Reads it off a kernel."""
        axes = AxesAnalysis()
        loops = of_kind(kernel, tile.LoopOp)
        ranges = of_kind(kernel, tile.RangeOp)
        keys = [op for op in ranges if tile.is_key(op.result)]
        choices = of_kind(kernel, spec.ChoiceOp)
        started = (op for op in ranges if isinstance(op.start.owner, tile.ProgramOp))
        row = next((op for op in started if not tile.is_column(op.result)), None)
        words = [sum(_width(v, axes) for v in loop.iter_args if row and row.result in axes(v)) for loop in loops]
        rows = row.result if row is not None else None
        read = [_bytes_read(loop, rows, axes) for loop in loops]
        dots = of_kind(kernel, tile.DotOp)
        by_row, by_key, fixed = _multiplied(dots, rows, axes)
        return cls(
            _fixed(row.size) if row is not None else 1,
            _fixed(keys[-1].size) if keys else 1,  # what comes before the loop over keys only looks for them
            sum(_width(v, axes) * size for v, size in fixed.items()),
            max((each[False] for each in read), default=0),
            min((_box_bytes_read(loop, rows, axes) for loop in loops if loop.axis is not None), default=0),
            sum(_width(v, axes) * size for v, size in by_key.items() if not isinstance(v.owner, tile.LoadOp)),
            max((_words_read(v, axes) for v in by_key if _is_made(v)), default=0),
            sum(_width(v, axes) * size for v, size in by_row.items() if not any(map(tile.is_key, axes(v)))),
            max((size for v, size in by_row.items() if any(map(tile.is_key, axes(v)))), default=0),
            max((each[True] for each in read), default=0),
            max((_pairs_held(loop, rows, axes) for loop in loops), default=1),
            max((_products(loop, rows, axes) for loop in loops), default=2),
            max((_parts_read(loop, by_key, axes, keys) for loop in loops for keys in (False, True)), default=0),
            max(words, default=0),
            kernel.form is not None and kernel.form.data == "split",
            bool(dots),
            any(op.rounded is not None and op.rounded.data == "tf32x3" for op in dots),
            row is not None and any(_tells_rows_apart(op, row.result, axes) for loop in loops for op in loop.walk()),
            math.gcd(*(op.divides.value.data for op in choices if op.divides is not None)),
        )

    @property
    def adds_up(self) -> bool:
        """Whether it adds up in registers what a single row has, as the merge of splits does."""
        return self.rows == 1 and not self.multiplies

    @property
    def most_rows(self) -> int:
        """The rows of the largest tile that is worth having.

        Operands that are made are made once for all its rows; but keys are only split where there are few. What is read
        for each pair no rows share, and operands of products that are made of three fill the memory with fewer.
        """
        if self.rows is not None:
            return min(SHAPES)
        narrow = self.split or ((self.pair_bytes or self.by_three) and not self.made_words)
        return FEW if self.uneven and narrow else max(SHAPES)

    def schedules(self, machine: Machine) -> Iterator[dict[str, int]]:
        """What a launch may choose between."""
        found = self.adding(machine) if self.adds_up else self.multiplying(machine)
        fixed = {ROWS: self.rows, KEYS: self.keys}
        for schedule in found:
            yield {name: value for name, value in schedule.items() if fixed.get(name) is None}

    def multiplying(self, machine: Machine) -> Iterator[dict[str, int]]:
        """Schedules of a kernel whose tiles a matrix unit takes, by their rows."""
        for rows, listed in SHAPES.items():
            if rows > self.most_rows:
                return
            shapes = tuple(shape for shape in listed if self.divided % shape[0] == 0) or ((32, 4),)
            fitting = [shape for shape in shapes if self.programs(rows, *shape, machine) >= 1]
            if not fitting and rows > min(SHAPES):
                return
            fitting = [shape for shape in fitting if self.holds_made(rows, *shape, machine)] or fitting
            roomy = [shape for shape in fitting if shape[0] * self.products >= 2 * ROOMY]
            roomy = [shape for shape in roomy if self.programs(rows, *shape, machine) >= 2]
            keys, warps = (roomy or fitting or shapes[-1:])[0]
            crowd = self.crowd(rows, keys, warps, machine)
            beside = crowd or (2 if roomy else 1)
            stages = max(1, min(machine.stages, self.stages(rows, keys, warps, machine, beside)))
            chosen = {ROWS: rows, KEYS: keys, "num_warps": warps, "num_stages": stages}
            if crowd:
                chosen["maxnreg"] = machine.register_file // (crowd * warps * machine.lanes) // 8 * 8
            yield chosen
            waits = stages < machine.stages and self.products > 2 and not self.by_three and not self.box_bytes
            if roomy and rows >= FEW and not waits and not self.made_words:
                return  # two programs wait for each other's tiles less than one with more rows does

    def crowd(self, rows: int, keys: int, warps: int, machine: Machine) -> int:
        """How many programs of this shape a processor runs at once if no thread takes more registers than it needs.

        More than two, else 0: a compiler that is not told takes some more, with which two run. A turn of four products
        waits for each of them, and programs wait in turns; for one of three they are enough.
        """
        if rows < FEW or self.products < MANY or self.by_three or not machine.warpgroup:
            return 0
        programs = machine.register_file // (self.words(rows, keys, warps, machine) * warps * machine.lanes)
        while programs > 2 and self.stages(rows, keys, warps, machine, programs) < 2:
            programs -= 1
        return programs if programs > 2 else 0

    def adding(self, machine: Machine) -> Iterator[dict[str, int]]:
        """Schedules of a kernel with one row a program, which adds up tiles in registers, by their keys."""
        sizes = ADDED if self.keys is None else (self.keys,)
        for keys in sizes:
            shapes = [{KEYS: keys, "num_warps": warps, "num_stages": 1} for warps in (4, 8)]
            fitting = [shape for shape in shapes if self.fits(shape, machine)]
            if not fitting and keys > sizes[0]:
                return
            yield (fitting or shapes[-1:])[0]

    def programs(self, rows: int, keys: int, warps: int, machine: Machine) -> int:
        """How many programs of this shape a processor can run at once."""
        words = self.words(rows, keys, warps, machine)
        if self.pieces(keys, warps, machine) > ADDRESSES:
            return 0
        if not self.splits_rows(rows, warps, machine):
            return 0
        if words > machine.registers or self.stages(rows, keys, warps, machine) < 2:
            return 0
        two = self.stages(rows, keys, warps, machine, 2) >= 2
        return min(machine.register_file // (words * warps * machine.lanes), 1 + two)

    def fits(self, schedule: dict[str, int], machine: Machine) -> bool:
        """Whether a processor can run one program of a schedule."""
        rows, keys = schedule.get(ROWS, 1), schedule.get(KEYS, 1)
        warps = schedule["num_warps"]
        if self.adds_up:
            fits = (self.keys or keys) * self.key_bytes // 4 // machine.lanes <= HELD * warps
        else:
            held = self.words(rows, keys, warps, machine) <= machine.registers
            held &= self.splits_rows(rows, warps, machine)
            fits = held and self.stages(rows, keys, warps, machine) >= schedule["num_stages"]
        return fits and self.divided % keys == 0

    def numbers(self, rows: int, keys: int, warps: int, machine: Machine) -> int:
        """The scores and sums of a thread."""
        each = (self.keys or keys) * self.pair_words + self.row_words
        return (self.rows or rows) * each // (warps * machine.lanes)

    def words(self, rows: int, keys: int, warps: int, machine: Machine) -> int:
        """The registers that a thread needs."""
        addresses = ADDRESS * self.pieces(keys, warps, machine)
        return self.numbers(rows, keys, warps, machine) + addresses + OTHER_REGISTERS

    def pieces(self, keys: int, warps: int, machine: Machine) -> int:
        """The pieces of a tile of keys that a thread reads, each at an address of its own."""
        addressed = (self.keys or keys) * (self.key_bytes - self.box_bytes)
        return -(addressed // -(PIECE * warps * machine.lanes))

    def holds_made(self, rows: int, keys: int, warps: int, machine: Machine) -> bool:
        """Whether a thread has registers for what an operand is made of, beside the others that it needs."""
        made = (self.keys or keys) * self.made_words // (warps * machine.lanes)
        held = self.numbers(rows, keys, warps, machine) + made + MAKING_REGISTERS
        return not made or (made <= HELD and held <= machine.registers)

    def splits_rows(self, rows: int, warps: int, machine: Machine) -> bool:
        """Whether each group of warps that multiply together has rows of its own, where it needs them.

        Groups that share rows are slower than one of them alone, and Triton 3.6 computes wrong sums, or reads memory
        that is not there, where a product is made of three.
        """
        rows = self.rows or rows
        return not (self.by_three and machine.warpgroup) or rows < FEW or rows // FEW >= warps // GROUP

    def stages(self, rows: int, keys: int, warps: int, machine: Machine, programs: int = 1) -> int:
        """How many stages of keys and values so many programs of a processor have memory for, beside their queries.

        Where a warp multiplies alone it takes operands to registers, so that the tile that it multiplies needs no
        memory; where there are more warps than rows for them, weights pass through memory from one to another. A warp
        group takes operands from memory, and its weights lie where queries are read through.
        """
        rows, keys = self.rows or rows, self.keys or keys
        alone = rows < FEW or not machine.warpgroup
        weights = keys * self.weight_bytes if alone and rows < WARP_ROWS * warps else 0
        shared = machine.shared // programs - self.fixed_bytes - keys * self.made_bytes
        shared -= rows * (self.row_bytes + weights)
        held = 0 if alone else keys * self.parts_bytes  # beside the tile that they are made of, which needs no other
        stages = (shared - held) // max(1, keys * (self.key_bytes + rows * self.pair_bytes))
        return stages + 1 if held or (alone and stages > 1) else stages


def _tells_rows_apart(op: Operation, row: SSAValue, axes: AxesAnalysis) -> bool:
    """Whether an operation tests if a row sees a key."""
    varying = axes(op.result) if isinstance(op, arith.CmpiOp) else frozenset()
    return row in varying and any(map(tile.is_key, varying))


def _fixed(size: SSAValue) -> int | None:
    known = constant(size)
    return None if known is None else int(known)


def _width(value: SSAValue, axes: AxesAnalysis) -> int:
    """How many elements a tile has for each row or key: those of its features and columns; 128 if that is not known."""
    width = 1
    for axis in axes(value):
        assert isinstance(axis.owner, tile.RangeOp)
        if constant(axis.owner.start) == 0 or tile.is_column(axis):
            width *= int(constant(axis.owner.size) or 128)
    return width


def _bytes_read(loop: tile.LoopOp, row: SSAValue | None, axes: AxesAnalysis) -> dict[bool, int]:
    """The bytes that a loop over tiles reads for each key, and, under True, for each pair of a row and a key."""
    total = {False: 0, True: 0}
    for op in of_kind(loop, tile.LoadOp):
        if any(tile.is_key(axis) for axis in axes(op.result)):
            total[row in axes(op.result)] += _read_width(op, axes)
    return total


def _read_width(op: tile.LoadOp, axes: AxesAnalysis) -> int:
    """The bytes that a load reads for each row or key."""
    return _width(op.result, axes) * ELEMENTS[enclosing_tensor(op, op.tensor.string_value()).element.data].itemsize


def _box_bytes_read(loop: tile.LoopOp, row: SSAValue | None, axes: AxesAnalysis) -> int:
    """The bytes for each key of what a loop over tiles reads as boxes, which no row has for itself."""
    boxes = [op for op in of_kind(loop, tile.LoadOp) if op.box is not None]
    return sum(_read_width(op, axes) for op in boxes if row not in axes(op.result))


def _pairs_held(loop: tile.LoopOp, row: SSAValue | None, axes: AxesAnalysis) -> int:
    """How many numbers of a row and a key a turn of a loop holds at once that rest on products of matrices.

    An operation writes over an operand that is read no more.
    """
    last: dict[SSAValue, int] = {}
    ops = list(loop.body.block.ops)
    resting: set[SSAValue] = set()
    for point, op in enumerate(ops):
        last.update(dict.fromkeys(op.operands, point))
        if isinstance(op, tile.DotOp) or not resting.isdisjoint(op.operands):
            resting.update(v for v in op.results if _is_of_pairs(v, row, axes) and v.type != i1)
    held, most = set[SSAValue](), 1
    for point, op in enumerate(ops):
        held -= {value for value in op.operands if last[value] == point}
        held |= resting.intersection(() if _is_term(op) else op.results)
        most = max(most, len(held))
    return most


def _products(loop: tile.LoopOp, row: SSAValue | None, axes: AxesAnalysis) -> int:
    """How many products of matrices with tiles of rows and keys a turn makes; that of features in parts is one."""
    dots = [op for op in loop.body.block.ops if isinstance(op, tile.DotOp)]
    made = {_sum_of(op) for op in dots if _is_of_pairs(op.result, row, axes)}
    folded = {v for op in dots for v in (op.lhs, op.rhs) if _is_of_pairs(v, row, axes)}
    return max(2, len(made) + len(folded))


def _sum_of(op: Operation) -> Operation:
    """What a product is a term of, or itself."""
    while isinstance(op, tile.DotOp | arith.AddfOp) and _is_term(op):
        (op,) = tile.users(op.result)
    return op


def _is_of_pairs(value: SSAValue, row: SSAValue | None, axes: AxesAnalysis) -> bool:
    """Whether a tile has a number for each row and key."""
    varying = axes(value)
    return row in varying and any(map(tile.is_key, varying))


def _is_term(op: Operation) -> bool:
    """Whether the result of an operation is used once, and added to something: a product starts from there then."""
    if not isinstance(op, tile.DotOp | arith.AddfOp):
        return False
    users = tile.users(op.result)
    return len(users) == 1 and isinstance(users[0], arith.AddfOp)


def _is_made(operand: SSAValue) -> bool:
    """Whether an operand is computed, or has another type in memory than a matrix unit can take."""
    load = read_of(operand)
    return load is None or enclosing_tensor(load, load.tensor.string_value()).element.data not in MULTIPLIED


def _words_read(operand: SSAValue, axes: AxesAnalysis) -> int:
    """The numbers that an operand is made of, for each key."""
    reads: set[tile.LoadOp] = set()
    seen, stack = {operand}, [operand]
    while stack:
        op = stack.pop().owner
        if isinstance(op, tile.LoadOp) and any(map(tile.is_key, axes(op.result))):
            reads.add(op)
        elif isinstance(op, Operation) and not isinstance(op, tile.DotOp | tile.LoadOp):
            stack.extend(v for v in op.operands if v not in seen)
            seen.update(op.operands)
    return sum(_width(op.result, axes) for op in reads)


Operands = dict[SSAValue, int]
"""Operands of products, with the bytes that a number of each has there."""


def _multiplied(
    dots: Iterable[tile.DotOp], row: SSAValue | None, axes: AxesAnalysis
) -> tuple[Operands, Operands, Operands]:
    """The operands that differ by row, those that differ by key alone, and the others."""
    found: tuple[Operands, Operands, Operands] = ({}, {}, {})
    for op in dots:
        for value in (op.lhs, op.rhs):
            varying = axes(value)
            kind = 0 if row in varying else 1 if any(map(tile.is_key, varying)) else 2
            found[kind][value] = _operand_bytes(op)
    return found


def _parts_read(loop: tile.LoopOp, by_key: Operands, axes: AxesAnalysis, over_keys: bool) -> int:
    """The bytes for each key of both parts of what a loop reads for its products over keys, or for its others."""
    dots = [op for op in of_kind(loop, tile.DotOp) if tile.is_key(op.over) is over_keys]
    read = {v for op in dots for v in op.operands if v in by_key and isinstance(v.owner, tile.LoadOp)}
    return sum(_width(v, axes) * by_key[v] for v in read if by_key[v] == BOTH_PARTS)


def _operand_bytes(op: tile.DotOp) -> int:
    rounded = "f32" if op.rounded is None else op.rounded.data
    return BOTH_PARTS if rounded == "tf32x3" else ELEMENTS[rounded].itemsize
