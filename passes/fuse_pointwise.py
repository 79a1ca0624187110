"""fuse-pointwise: chains of pointwise operations on a tile, and reductions of them, become one pass over its elements.

Why: NumPy computes one operation at a time, and reads and writes a tile for each: an exponential and the sums of what
it gives are two passes over 128 by 512 numbers. A loop that a compiler makes of both keeps each number in a register.

Before:

    spec.tensor @q "input" "f32" ["M", "D"]
    spec.tensor @k "input" "f32" ["N", "D"]
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
        %k = tile.load @k[%j, %d] : f32
        %s = tile.dot %q, %k over %d : f32
        %p = math.exp %s : f32
        %t = tile.sum %p over %j : f32 to f32
        %l1 = arith.addf %l, %t : f32
        tile.yield %l1 : f32
      }
      tile.store @o[%i] = %sum : f32
    }

After:

    spec.tensor @q "input" "f32" ["M", "D"]
    spec.tensor @k "input" "f32" ["N", "D"]
    spec.tensor @o "output" "f32" ["M"]
    tile.kernel @sums rows last {
      %c0 = arith.constant 0 : index
      %rows = arith.constant 128 : index
      %keys = arith.constant 512 : index
      %zero = arith.constant 0.0 : f32
      %M = spec.dim "M"
      %N = spec.dim "N"
      %D = spec.dim "D"
      %j_size = arith.minsi %N, %keys : index
      %i_size = arith.minsi %M, %rows : index
      %numbers = arith.muli %j_size, %i_size : index
      %least = arith.constant 16384 : index
      %large = arith.cmpi sge, %numbers, %least : index
      %i0 = tile.program "i" to %M step %rows
      %i = tile.range "i" from %i0 to %M size %rows
      %d = tile.range "d" from %c0 to %D size %D
      %q = tile.load @q[%i, %d] : f32
      %none = tile.broadcast %zero over (%i) : f32 to f32
      %sum = tile.loop %j0 = %c0 to %N step %keys iter_args(%l = %none) -> (f32) {
        %j = tile.range "j" from %j0 to %N size %keys
        %k = tile.load @k[%j, %d] : f32
        %s = tile.dot %q, %k over %d : f32
        %t = tile.fused where %large -> (f32) {
          %p = math.exp %s : f32
          %t_1 = tile.sum %p over %j : f32 to f32
          tile.yield %t_1 : f32
        }
        %l1 = arith.addf %l, %t : f32
        tile.yield %l1 : f32
      }
      tile.store @o[%i] = %sum : f32
    }

A chain ends where a product needs it, or something is written into a home. What takes a sum of the chain and is no part
of it follows it. Where a part of a tile is masked (`mask-edges`), that is a pass over this part, and over no condition.
Nor is a condition of few operations stored that a chain has for all heads, and some branch that is seldom taken for
itself: unless what it compares lies in a home, where something else may lie by then.
Operations whose loops no compiler makes vector instructions of stay alone, as a logarithm, and so do
reductions along the axis in which numbers lie side by side: in a loop each would wait for the one before. Of numbers in
f64 the exponential would lose digits. What `tile.present` and its like say of operations that are fused is left out:
it is for passes that come before.

Requires: tile. Exactness: bit-exact. Idempotent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from attndsl.ir import spec, tile
from attndsl.ir.allocation import begin_of
from attndsl.ir.analyses.arrangement import arrangement, axes_of_batches
from attndsl.ir.analyses.lengths import Lengths
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.exactness import Exactness
from attndsl.ir.rewrite import index_constant, insert_before, replace, uniform
from attndsl.ir.sizes import size_of
from attndsl.ir.statements import named, operations
from attndsl.ir.traits import Axes
from attndsl.ir.xdsl import (
    Block,
    Context,
    ModuleOp,
    ModulePass,
    Operation,
    Region,
    SSAValue,
    arith,
    f32,
    i1,
    index,
    math,
)

VECTORISED: tuple[type[Operation], ...] = (
    *(arith.AddfOp, arith.SubfOp, arith.MulfOp, arith.DivfOp, arith.NegfOp, arith.SelectOp, arith.CmpfOp, arith.CmpiOp),
    *(arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.MinSIOp, arith.MaxSIOp, arith.ShLIOp, arith.ShRSIOp),
    *(arith.AndIOp, arith.OrIOp, arith.XOrIOp, spec.ToFloatOp),
    *(math.AbsFOp, math.ExpOp, math.SqrtOp, math.RsqrtOp, math.FloorOp),
)
"""The pointwise operations that a compiler makes vector instructions of."""

FEW_CONDITIONS = 4
"""The most operations of a condition that are computed anew for each head: one of eleven takes longer so."""


@dataclass(frozen=True)
class FusePointwise(ModulePass):
    """Makes one pass over the elements of a tile of each chain; it is worth it where a tile has `numbers` elements.

    Those of all programs that are computed together count.
    """

    name = "fuse-pointwise"
    exactness = Exactness.EXACT

    numbers: int = 16384

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.body.block.ops:
            if isinstance(kernel, tile.KernelOp):
                tiles = _Tiles(kernel)
                worth = _Worth(kernel, self.numbers)
                for block in [block for each in [kernel, *operations(kernel)] for block in _blocks(each)]:
                    tiles.tell_apart(block)
                    for find in (tiles.masks, tiles.chains):
                        for chain in list(find(block)):
                            _fuse(chain, worth.of(tiles.ordered(chain.axes)))


def _blocks(op: Operation) -> list[Block]:
    """The blocks of an operation, none of what is fused already."""
    return [] if isinstance(op, tile.FusedOp) else [block for region in op.regions for block in region.blocks]


@dataclass
class _Chain:
    """Operations of a block on tiles with these axes, and what takes their reductions and follows them."""

    axes: Axes
    members: list[Operation] = field(default_factory=list)
    later: list[Operation] = field(default_factory=list)

    def waits(self, op: Operation) -> bool:
        """Whether an operation takes what follows the chain."""
        return any(value.owner in self.later for value in op.operands)

    @property
    def waiting(self) -> list[Operation]:
        """What stands between operations of the chain and has to follow it, with what is said of it."""
        told = {use.operation for op in self.later for use in op.results[0].uses if _is_said(use.operation)}
        between, op = list[Operation](), self.members[0].next_op
        while op is not None and op is not self.members[-1]:
            if op in told or op in self.later:
                between.append(op)
            op = op.next_op
        return between

    def feeds(self, op: Operation) -> bool:
        """Whether an operation takes what the chain makes, or what follows it."""
        return self.waits(op) or any(value.owner in self.members for value in op.operands)


class _Tiles:
    """Which operations of a kernel can be in a chain."""

    def __init__(self, kernel: tile.KernelOp) -> None:
        self.axes = AxesAnalysis()
        self._order = arrangement(kernel)
        self.batch = axes_of_batches(kernel, self.axes)
        self._kept = named(kernel, tile.KeptOp)

    def ordered(self, axes: Axes) -> list[SSAValue]:
        """Axes as tiles have them."""
        return sorted(axes, key=self._order.__getitem__)

    def tell_apart(self, block: Block) -> None:
        """Lets branches compute conditions of their own, where what else takes these can compute them, too.

        Such a branch looks at what is left out of a product that is not finite: nothing is stored for it.
        """
        for op in reversed([op for op in block.ops if self._is_of_tile(op) and op.results[0].type == i1]):
            users = tile.users(op.results[0])
            here = [user for user in users if user.parent is block]
            if not here or not all(type(user) in VECTORISED for user in here):
                continue
            if any(tile.into_of(value) is not None for value in op.operands):
                continue  # homes were assigned before: what it compares is written over where nothing else reads it
            for branch in dict.fromkeys(user.parent for user in users if user not in here):
                assert branch is not None and branch.first_op is not None
                own = insert_before(branch.first_op, op.clone(), op.results[0].name_hint)
                op.results[0].replace_uses_with_if(own, lambda use, branch=branch: use.operation.parent is branch)

    def masks(self, block: Block) -> Iterator[_Chain]:
        """The masks of a part of a tile, each with what is computed for its condition alone, along that part."""
        for op in [op for op in block.ops if isinstance(op, tile.MaskOp) and op.result.type == f32]:
            chain, before = _Chain(self.axes(op.result), [op]), op.prev_op
            while before is not None and type(before) in VECTORISED and op.over in self.axes(before.results[0]):
                alone = all(user in chain.members for user in tile.users(before.results[0]))
                if not alone or before.results[0].type not in (i1, index):
                    break
                chain.members.insert(0, before)
                before = before.prev_op
            if all(map(_has_known_size, chain.axes)):
                yield chain

    def chains(self, block: Block) -> Iterator[_Chain]:
        """The chains of a block that save a pass over a tile."""
        chain: _Chain | None = None
        for op in [op for op in block.ops if not isinstance(op, tile.STATEMENTS)]:
            if chain is not None:
                if self._extends(chain, op):
                    chain.members.append(op)
                    continue
                if not self._ends(chain, op):
                    if chain.feeds(op):
                        chain.later.append(op)
                    continue
                if len(chain.members) > 1:
                    yield chain
            chain = _Chain(self.axes(op.results[0]), [op]) if self._is_of_tile(op) else None

    def _is_of_tile(self, op: Operation) -> bool:
        """Whether an operation makes a tile of two axes or more beside those of a batch, number by number."""
        if type(op) not in VECTORISED or op.results[0].type not in (f32, i1, index) or op.results[0] in self._kept:
            return False
        axes = self.axes(op.results[0])
        return len(axes - self.batch) > 1 and all(map(_has_known_size, axes))

    def _extends(self, chain: _Chain, op: Operation) -> bool:
        """Whether an operation is computed in the same pass as a chain."""
        if chain.waits(op) or any(_is_reduced(value) for value in op.operands if value.owner in chain.members):
            return False
        if self._is_of_tile(op):
            axes = self.axes(op.results[0])
            if chain.axes < axes and self._is_condition_of(op, chain):
                chain.axes = axes
            return axes == chain.axes
        return self._reduces(op, chain)

    def _is_condition_of(self, op: Operation, chain: _Chain) -> bool:
        """Whether a chain makes a condition of an operation alone, which may have more axes: heads, say."""
        results = [member.results[0] for member in chain.members]
        alone = all(user is op or user in chain.members for result in results for user in tile.users(result))
        return alone and len(results) <= FEW_CONDITIONS and all(result.type in (i1, index) for result in results)

    def _reduces(self, op: Operation, chain: _Chain) -> bool:
        """Whether an operation is the sum of what a chain makes, or of its products with something, across its rows."""
        match op:
            case tile.SumOp():
                taken = [op.body]
            case tile.DotOp() if op.where is None and op.slices is None and op.streamed is None:
                taken = [op.lhs, op.rhs]
            case _:
                return False
        of_chain = any(value.owner in chain.members for value in taken)
        whole = frozenset[SSAValue]().union(*map(self.axes, taken)) == chain.axes
        across = op.over is not self.ordered(chain.axes)[-1]
        return of_chain and whole and across and op.result.type == f32 and tile.into_of(op.result) is None

    def _ends(self, chain: _Chain, op: Operation) -> bool:
        """Whether a chain cannot be computed behind an operation that is no part of it."""
        stays = [value for value in op.operands if value.owner in chain.members and tile.into_of(value) is not None]
        writes = any(tile.into_of(result) is not None for result in op.results)
        return bool(stays or op.regions) or writes or not op.results or self._is_of_tile(op)


def _is_reduced(value: SSAValue) -> bool:
    return isinstance(value.owner, tile.ReduceOp | tile.DotOp)


def _has_known_size(axis: SSAValue) -> bool:
    """Whether a call knows how long an axis is at most."""
    assert isinstance(axis.owner, tile.RangeOp)
    return size_of(axis.owner.size) is not None


class _Worth:
    """The conditions on calls whose tiles are large, each computed once, before the programs of a kernel."""

    def __init__(self, kernel: tile.KernelOp, numbers: int) -> None:
        ops = kernel.body.block.ops
        self._begin = next((op for op in ops if isinstance(op, tile.ThreadsOp)), begin_of(kernel))
        self._numbers = numbers
        self._lengths = Lengths(self._begin)
        self._known: dict[tuple[SSAValue | int, ...], SSAValue] = {}

    def of(self, axes: Sequence[SSAValue]) -> SSAValue:
        """Whether a tile with these axes has numbers enough."""
        lengths = (*map(self._lengths.of, axes),)
        if lengths not in self._known:
            number, integer = self._lengths.product(lengths)
            least = insert_before(self._begin, index_constant(-(-self._numbers // number)))
            size = integer if integer is not None else insert_before(self._begin, index_constant(1))
            self._known[lengths] = insert_before(self._begin, arith.CmpiOp(size, least, "sge"), "large")
        return self._known[lengths]


def _is_said(op: Operation) -> bool:
    """Whether an operation says something of a tile, other than where it lives."""
    return isinstance(op, tile.STATEMENTS) and not isinstance(op, tile.IntoOp)


def _is_only_for(op: tile.BroadcastOp, chain: _Chain) -> bool:
    """Whether a chain alone takes what is one number everywhere, as the ones that a product sums with."""
    alone = all(user in chain.members for user in tile.users(op.result))
    return uniform(op.result) is not None and alone and op.parent is _block(chain)


def _block(chain: _Chain) -> Block:
    block = chain.members[0].parent
    assert block is not None
    return block


def _fuse(chain: _Chain, worth: SSAValue) -> None:
    """Puts a chain into one operation, where its last one stands."""
    last, body, around = chain.members[-1], Block(), _block(chain)
    for said in {use.operation: None for op in chain.members for use in op.results[0].uses}:
        if _is_said(said):
            replace(said, [])
    waiting = chain.waiting
    follower = last.next_op
    while isinstance(follower, tile.IntoOp):
        follower = follower.next_op
    assert follower is not None, "a block ends with what is no part of a chain"
    owners = dict.fromkeys(value.owner for op in chain.members for value in op.operands)
    ones = [op for op in owners if isinstance(op, tile.BroadcastOp) and _is_only_for(op, chain)]
    for op in (*ones, *chain.members):
        into = tile.into_of(op.results[0])
        for moved in (op, into) if into is not None else (op,):
            moved.detach()
            body.add_op(moved)
    made = [op.results[0] for op in chain.members]
    given = [value for value in made if any(use.operation.parent is not body for use in value.uses)]
    fused = tile.FusedOp(worth, Region(body), [value.type for value in given])
    body.add_op(tile.YieldOp(*given))
    fused.location = fused.end.location = last.location
    around.insert_op_before(fused, follower)
    for value, result in zip(given, fused.res, strict=True):
        result.name_hint = value.name_hint
        value.replace_uses_with_if(result, lambda use: use.operation.parent is not body)
    for op in waiting:
        op.detach()
        around.insert_op_before(op, follower)
