"""Which programs of a kernel add to elements that no other value of their variable adds to. An analysis."""

from __future__ import annotations

from attndsl.ir import tile
from attndsl.ir.polynomial import Facts, add
from attndsl.ir.statements import of_kind, operations
from attndsl.ir.xdsl import SSAValue


def apart(kernel: tile.KernelOp) -> list[tile.ProgramOp]:
    """The variables of the programs, in their order, of which those that may meet have one value.

    A subscript that is such a variable, or the axis of its tile, tells its value from the element. So does one that is
    a multiple of it, the size of an outer loop, and the value of that.
    """
    meeting = [op for op in of_kind(kernel, tile.StoreOp) if op.meets]
    facts = Facts(kernel.body.block)
    told = [{_told(index, facts) for index in store.indices} - {*store.along} for store in meeting]
    programs = [op for op in kernel.body.block.ops if isinstance(op, tile.ProgramOp)]
    return [program for program in programs if all(program.result in each for each in told)]


def _told(index: SSAValue, facts: Facts) -> SSAValue:
    """Where the axis starts that a subscript is, or what it counts in outer loops, or the subscript itself."""
    if isinstance(index.owner, tile.RangeOp):
        return index.owner.start
    place = facts.of(index)
    for monomial, count in place.items():
        digit = monomial[0].owner if len(monomial) == 1 else None
        if isinstance(digit, tile.OuterLoopOp) and count == 1:
            above, rest = facts.divide(add(place, {monomial: 1}, -1), digit.extent)
            factors, times = next(iter(above.items()), ((), 0))
            if not rest and len(above) == 1 and len(factors) == 1 and times == 1:
                return factors[0]
    return index


def in_steps(kernel: tile.KernelOp) -> tile.ProgramOp | None:
    """The variable of the programs that may meet, if they do so in places of one loop that are the same for all.

    An element has one place then, the key's that it is of: a program that is past it adds there no more.
    """
    meeting = [op for op in of_kind(kernel, tile.StoreOp) if op.meets]
    if len(meeting) != 1 or len(meeting[0].along) != 1 or meeting[0].within is not None:
        return None
    (store,) = meeting
    program, loop = store.along[0].owner, store.parent_op()
    if not isinstance(loop, tile.LoopOp) or loop.axis is None or not isinstance(program, tile.ProgramOp):
        return None
    programs = [op for op in kernel.body.block.ops if isinstance(op, tile.ProgramOp)]
    if len(apart(kernel)) + 1 < len(programs):  # a thread would walk the loop anew for some
        return None
    facts, resting = Facts(kernel.body.block), resting_on(program.result, kernel)
    if loop.outer is not None and all(facts.of(v).get((loop.outer.result,)) != 1 for v in store.indices):
        return None
    if loop.axis.result not in store.indices or not resting.isdisjoint({*store.indices} - {loop.axis.result}):
        return None
    return program


def resting_on(value: SSAValue, kernel: tile.KernelOp) -> set[SSAValue]:
    """What operations make of a value, but for what loops carry."""
    found = {value}
    for op in operations(kernel):
        if not found.isdisjoint(op.operands):
            found.update(op.results)
    return found
