"""fuse-loops: of two kernels that walk the same pairs of rows and keys, one does what both do.

Why: gradients of queries are sums over keys, those of keys and values sums over queries, and each of the two makes
scores and their weights anew for every pair. One kernel that makes them once has five products of matrices where two
have seven, and one exponential for two. What the other sums for its own rows, it adds to their elements: key by key.

Before:

    spec.tensor @q "input" "f32" ["M", "D"]
    spec.tensor @k "input" "f32" ["N", "D"]
    spec.tensor @d_q "output" "f32" ["M", "D"]
    spec.tensor @d_k "output" "f32" ["N", "D"]
    attn.kernel @queries {
      %M = spec.dim "M"
      %i = attn.each "i" to %M
      %N = spec.dim "N"
      %j = attn.over "j" to %N
      %D = spec.dim "D"
      %d = attn.axis "d" to %D
      %e = attn.axis "e" to %D
      %q = attn.read @q[%i, %d] : f32
      %k = attn.read @k[%j, %d] : f32
      %qk = arith.mulf %q, %k : f32
      %s = attn.sum %qk over %d : f32
      %p = math.exp %s : f32
      %v = attn.read @k[%j, %e] : f32
      %pv = arith.mulf %p, %v : f32
      %t = attn.total %pv over %j : f32
      attn.write @d_q[%i, %e] = %t : f32
    }
    attn.kernel @keys {
      %N = spec.dim "N"
      %j = attn.each "j" to %N
      %M = spec.dim "M"
      %i = attn.over "i" to %M
      %D = spec.dim "D"
      %d = attn.axis "d" to %D
      %e = attn.axis "e" to %D
      %q = attn.read @q[%i, %d] : f32
      %k = attn.read @k[%j, %d] : f32
      %qk = arith.mulf %q, %k : f32
      %s = attn.sum %qk over %d : f32
      %p = math.exp %s : f32
      %v = attn.read @q[%i, %e] : f32
      %pv = arith.mulf %p, %v : f32
      %t = attn.total %pv over %i : f32
      attn.write @d_k[%j, %e] = %t : f32
    }

After:

    spec.tensor @q "input" "f32" ["M", "D"]
    spec.tensor @k "input" "f32" ["N", "D"]
    spec.tensor @d_q "output" "f32" ["M", "D"] partial
    spec.tensor @d_k "output" "f32" ["N", "D"]
    attn.kernel @keys {
      %N = spec.dim "N"
      %j = attn.each "j" to %N
      %M = spec.dim "M"
      %i = attn.over "i" to %M
      %D = spec.dim "D"
      %d = attn.axis "d" to %D
      %e = attn.axis "e" to %D
      %q = attn.read @q[%i, %d] : f32
      %k = attn.read @k[%j, %d] : f32
      %qk = arith.mulf %q, %k : f32
      %s = attn.sum %qk over %d : f32
      %p = math.exp %s : f32
      %v = attn.read @q[%i, %e] : f32
      %pv = arith.mulf %p, %v : f32
      %t = attn.total %pv over %i : f32
      attn.write @d_k[%j, %e] = %t : f32
      %w = attn.read @k[%j, %e] : f32
      %pw = arith.mulf %p, %w : f32
      attn.scatter @d_q[%i, %e] = %pw over %i along (%j) : f32
    }

That pairs are the same is proved of their variables: those of one kernel are integers of the other's, which tell the
other's apart, stay in their ranges, and have as many values in all. What both make of a pair is compared operation by
operation, from what is summed down to what is read, and holds a contraction, or nothing would be saved. What rows add
up, of whichever keys, to elements that are no row's own, the other kernel's rows add up as well.

Programs that add to one element do so in order, and threads share those that do not. So the kernels stay as they are at
calls that have fewer than `programs` of these. Extents choose, and not threads: a call has the same bits, whoever
shares it.

Where it is to be `chosen`, as on GPUs, the other kernels stay, and what is fused stands `instead of` them where a call
asks for that, or it pays (`roles_gain`). The sums of the other kernel are added up in a workspace. Keys that its rows
do not see are taken to be finite there: the kernel that writes what the sums are scaled to takes those that are finite,
and makes others anew (`given`). A deterministic schedule has two kernels.

Requires: nest-loops, simplify-indices. Exactness: reassociates sums. Idempotent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from attndsl.checking.symbolic import Expression
from attndsl.ir import attn, spec
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.conditions import ConditionAttr
from attndsl.ir.exactness import Exactness
from attndsl.ir.forms import fused_in
from attndsl.ir.keys import KEYS, conjuncts, factors_of, made_of, over_of, reductions_of
from attndsl.ir.pairs import Matched, Moved, NotThere, Stands, matches
from attndsl.ir.rewrite import constant, copied, insert_before, remove_dead, replace, sort_block
from attndsl.ir.statements import of_kind
from attndsl.ir.told import Told
from attndsl.ir.workspaces import ELEMENTS, Workspace, room_of
from attndsl.ir.xdsl import (
    ArrayAttr,
    Context,
    ModuleOp,
    ModulePass,
    Operation,
    SSAValue,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    arith,
    math,
)


@dataclass(frozen=True)
class FuseLoops(ModulePass):
    """Lets one kernel add what another sums of the same pairs, at calls with so many `programs` that add apart.

    Or where it is `chosen` by a launch.
    """

    name = "fuse-loops"
    exactness = Exactness.REASSOCIATES

    programs: int = 1
    chosen: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        kernels = [kernel for kernel in op.body.block.ops if isinstance(kernel, attn.KernelOp)]
        fused = {name for kernel in kernels[:1] for name in fused_in(kernel)}
        left = {kernel for kernel in kernels if _is_plain(kernel) and kernel.entry.data not in fused}
        for guest in kernels:
            sums = _sums_of(guest) if guest in left else []
            if self.chosen and (len(sums) > 1 or guest.is_deterministic):
                continue  # of what is added up in no order
            for host in kernels if sums else ():
                if guest is not host and {guest, host} <= left and _may_move(guest, host, kernels):
                    first, last = sorted((guest, host), key=kernels.index)
                    beside = first if kernels.index(last) == kernels.index(first) + 1 else None
                    if self.chosen and beside is None:
                        continue  # a launch asks right before those that stay
                    if _Fused(guest, host, sums, self.programs, self.chosen).place(op, beside):
                        left -= {guest, host}
        remove_dead(op)


def _is_plain(kernel: attn.KernelOp) -> bool:
    """Whether a kernel runs at every call, and gives each row all keys that a mask leaves it."""
    over = over_of(kernel)
    if over is None or any(each is not None for each in (kernel.form, kernel.when, kernel.unless, kernel.instead)):
        return False
    kinds = {type(op) for op in kernel.body.block.ops}
    return over.start is None and not kinds & {attn.ScatterOp, attn.GridOp, attn.RowOp, attn.ColumnOp}


@dataclass(frozen=True)
class _Sum:
    """What a kernel sums over the keys of its rows, and writes, `scaled` by operations of which the inmost is first."""

    write: attn.WriteOp
    total: attn.TotalOp
    scaled: tuple[Operation, ...]

    @property
    def tensor(self) -> spec.TensorOp:
        """What it is written to."""
        return spec.enclosing_tensor(self.write, self.write.tensor.string_value())

    @property
    def scales(self) -> list[SSAValue]:
        """What it is multiplied with and divided by."""
        return [value for op in self.scaled for value in op.operands if not self.is_in(value)]

    @property
    def is_scaled_by_sizes(self) -> bool:
        """Whether terms may be scaled in the place of sums, and added up where sums go: there nothing is rounded.

        What scales is then positive and of moderate size, whatever a call has: 0, as a row has that sees no keys, stays
        0, and terms are as far from overflow as sums.
        """
        kept = self.tensor.element.data == ELEMENTS.get(self.total.result.type)
        return kept and all(map(self._is_positive, made_of(self.scales)))

    def is_in(self, value: SSAValue) -> bool:
        """Whether a value rests on the sum."""
        return self.total in made_of([value])

    def _is_positive(self, op: Operation) -> bool:
        match op:
            case spec.DimOp():  # where it is 0, the tensor has no elements
                return op.dim.data in self.tensor.extents.dims
            case arith.ConstantOp():
                number = constant(op.result)
                return number is not None and 2.0**-20 <= number <= 2.0**20
        return isinstance(op, spec.ToFloatOp | math.SqrtOp)


def _sums_of(kernel: attn.KernelOp) -> list[_Sum]:
    """What a kernel does, if that is to write a sum for each row, or to add sums to elements, and nothing else."""
    writes = [op for op in kernel.body.block.ops if isinstance(op, attn.WriteOp)]
    sums = [found for write in writes if (found := _sum_of(write)) is not None]
    totals = {each.total for each in sums}
    alone = totals == set(reductions_of(kernel)) and len(totals) == len(sums)
    own = [each for each in sums if each.write.adds is None]
    return sums if alone and len(sums) == len(writes) and len(own) == 1 else []


def _sum_of(write: attn.WriteOp) -> _Sum | None:
    value, scaled = write.value, list[Operation]()
    while not isinstance(value.owner, attn.TotalOp):
        op = value.owner
        if not isinstance(op, arith.MulfOp | arith.DivfOp | arith.NegfOp):
            return None
        inner = [v for v in op.operands if any(isinstance(each, attn.TotalOp) for each in made_of([v]))]
        if len(inner) != 1 or (isinstance(op, arith.DivfOp) and inner[0] is not op.lhs):
            return None
        scaled.insert(0, op)
        value = inner[0]
    found = _Sum(write, value.owner, tuple(scaled))
    return found if write.where is None and found.tensor.role.data != "inout" else None


def _may_move(guest: attn.KernelOp, host: attn.KernelOp, kernels: list[attn.KernelOp]) -> bool:
    """Whether what a kernel does may be done where another stands."""
    first, last = sorted((kernels.index(guest), kernels.index(host)))
    others = [kernel for kernel in kernels[first : last + 1] if kernel is not guest]
    read, written = _tensors(guest, attn.ReadOp), _tensors(guest, attn.WriteOp)
    touched = set[str]().union(*(_tensors(kernel, attn.WriteOp) for kernel in others))
    seen = set[str]().union(*(_tensors(kernel, attn.ReadOp) for kernel in others))
    return read.isdisjoint(touched) and written.isdisjoint(touched | seen)


def _tensors(kernel: attn.KernelOp, kind: type[attn.ReadOp | attn.WriteOp]) -> set[str]:
    return {op.tensor.string_value() for op in of_kind(kernel, kind)}


@dataclass(frozen=True)
class _Fused:
    """A kernel that does what `host` does, and of the same pairs what `guest` does: `sums`."""

    guest: attn.KernelOp
    host: attn.KernelOp
    sums: list[_Sum]
    programs: int
    chosen: bool

    def place(self, module: ModuleOp, first: attn.KernelOp | None) -> bool:
        """Puts it beside the two, or into their place, where there are calls that it is for; whether there are.

        Where the two stand beside each other, one of them is the `first`.
        """
        moved = self.moved(module)
        if moved is None:
            return False
        (own,) = (each for each in self.sums if each.write.adds is None)
        programs, left = self.apart(moved), None
        serves = programs is not None and (self.programs == 1 or programs != 1)
        if serves and (self.chosen or not own.is_scaled_by_sizes):
            left = Workspace.of(own.total.result, self.guest, module, AxesAnalysis())
            serves = left is not None
        if programs is None or not serves:
            module.body.block.erase_op(moved.kernel)
            return False
        for each in self.sums:
            if each is not own:
                _add_up(moved, each)
        if left is None:
            _scatter(moved, own, own.tensor, own.write.indices, _scaled(moved, own))
        else:
            _scatter(moved, own, left.tensor, left.variables, moved.value(own.total.body))
        sort_block(moved.block)
        made = [moved.kernel, *([_ending(self.guest, own, left, self.chosen)] if left is not None else [])]
        if first is not None:  # reads better: what is fused, or else the two
            for op in [moved.kernel] if left is None else [left.tensor, moved.kernel]:
                module.body.block.detach_op(op)
                module.body.block.insert_op_before(op, first)
        module.body.block.insert_ops_after(made[1:], moved.kernel)
        if self.chosen:
            for kernel in made:
                kernel.instead = ArrayAttr([SymbolRefAttr(each.entry.data) for each in (self.guest, self.host)])
                kernel.entry = StringAttr(f"{kernel.entry.data}_fused")
            return True
        if self.programs == 1:
            module.body.block.erase_op(self.guest)
            module.body.block.erase_op(self.host)
            return True
        condition = ConditionAttr(("ige", programs, self.programs))
        self.guest.unless = self.host.unless = condition
        for kernel in made:
            kernel.when = condition
            kernel.entry = StringAttr(f"{kernel.entry.data}_fused")
        return True

    def moved(self, module: ModuleOp) -> Moved | None:
        """What the guest sums, in a copy of the host behind that; None where they share no work of the same pairs."""
        factors = [factor for each in self.sums for factor in _factors(each.total.body) if self.is_worth(factor)]
        for matched in matches(list(dict.fromkeys(factors)), self.host, Matched()) if factors else ():
            copies: Stands = {}
            fused = copied(self.host, copies)
            module.body.block.insert_op_after(fused, self.host)  # where tensors are declared
            moved = Moved(matched.among(copies), fused)
            try:
                if moved.is_one_to_one(self.guest):
                    for each in self.sums:
                        _bring(moved, each)
                    return moved
            except NotThere:
                pass
            module.body.block.erase_op(fused)
        return None

    def is_worth(self, value: SSAValue) -> bool:
        """Whether a contraction for each pair is computed for a value."""
        axes, over = AxesAnalysis(), over_of(self.guest)
        assert over is not None
        return any(isinstance(op, attn.SumOp) and over.result in axes(op.result) for op in made_of([value]))

    def apart(self, moved: Moved) -> Expression | None:
        """How many programs add to elements of their own, of a call's extents; None where a call does not know."""
        told = [
            Told([moved.value(place) for place in each.write.indices], moved.block, digits=True).known
            for each in self.sums
        ]
        product: Expression = 1
        for op in moved.block.ops:
            if isinstance(op, attn.EachOp) and all(op.result in known for known in told):
                room = room_of(op, moved.facts)
                if room is None:
                    return None
                product = room if product == 1 else ("imul", product, room)
        return product


def _factors(value: SSAValue) -> list[SSAValue]:
    """The factors of a product, whatever its sign."""
    factors = factors_of(value)
    if not any(isinstance(factor.owner, arith.NegfOp) for factor in factors):
        return factors
    return [each for v in factors for each in (_factors(v.owner.operand) if isinstance(v.owner, arith.NegfOp) else [v])]


def _bring(moved: Moved, each: _Sum) -> None:
    """Computes all that adding takes. Raises NotThere, also where elements are neither a key's own nor of all keys."""
    for value in (each.total.body, *conjuncts(each.total.where), *each.scales):
        moved.value(value)
    indices = [moved.value(place) for place in each.write.indices]
    keys = {op.result for op in moved.block.ops if isinstance(op, KEYS)}
    if each.write.adds is None:
        if not keys <= Told(indices, moved.block, digits=True).known:
            raise NotThere
    elif not each.is_scaled_by_sizes or any(keys & moved.axes(index) for index in indices):
        raise NotThere


def _scaled(moved: Moved, each: _Sum) -> SSAValue:
    """What is summed, scaled as sums are; of a product that factor is, which is the same for all keys."""
    body, over = moved.value(each.total.body), over_of(moved.kernel)
    assert over is not None
    product = body.owner if isinstance(body.owner, arith.MulfOp) else None
    factors = [] if product is None else [v for v in product.operands if over.result not in moved.axes(v)]
    value = factors[0] if factors else body
    for op in each.scaled:
        scaled = copied(op, {v: value if each.is_in(v) else moved.value(v) for v in op.operands})
        moved.block.add_op(scaled)
        value = scaled.results[0]
    if not factors or product is None:
        return value
    whole = arith.MulfOp(product.lhs if product.rhs is factors[0] else product.rhs, value)
    whole.location = each.total.location
    moved.block.add_op(whole)
    return whole.result


def _scatter(moved: Moved, each: _Sum, tensor: spec.TensorOp, places: Sequence[SSAValue], value: SSAValue) -> None:
    """Adds a value of each pair to elements of a tensor, at places of the other kernel."""
    over, where = over_of(moved.kernel), each.total.where
    assert over is not None
    indices = [moved.value(place) for place in places]
    told = Told(indices, moved.block, digits=True).known
    along = [op.result for op in moved.block.ops if isinstance(op, attn.EachOp) and op.result not in told]
    here = None if where is None else moved.value(where)
    scatter = attn.ScatterOp(tensor.sym_name.data, indices, value, over.result, along, here)
    scatter.location = each.write.location
    moved.block.add_op(scatter)
    tensor.partial, tensor.ends, tensor.along = UnitAttr(), None, None


def _add_up(moved: Moved, each: _Sum) -> None:
    """Adds what the rows of this kernel sum of their keys to elements to which those of the other one did."""
    over, where = over_of(moved.kernel), each.total.where
    assert over is not None
    total = attn.TotalOp(
        _scaled(moved, each), over.result, None if where is None else moved.value(where), each.total.precise is not None
    )
    rows = [op.result for op in moved.block.ops if isinstance(op, attn.EachOp)]
    indices = [moved.value(place) for place in each.write.indices]
    write = attn.WriteOp(each.tensor.sym_name.data, indices, total.result, None, rows)
    total.location, write.location = each.total.location, each.write.location
    moved.block.add_ops([total, write])


def _ending(guest: attn.KernelOp, own: _Sum, left: Workspace, again: bool) -> attn.KernelOp:
    """A kernel that writes what a sum is scaled to, of where it was added up; what is not finite is summed `again`."""
    copies: Stands = {}
    kernel = copied(guest, copies)
    total = copies[own.total.result].owner
    assert isinstance(total, attn.TotalOp)
    added = insert_before(total, left.read(copies))
    if again:
        precise = total.precise is not None
        added = insert_before(total, attn.TotalOp(total.body, total.over, total.where, precise, added))
    replace(total, [added])
    for write in of_kind(kernel, attn.WriteOp):
        if write.adds is not None:
            kernel.body.block.erase_op(write)
    return kernel
