"""What loops carry, and choices give, that nothing needs: left out."""

from __future__ import annotations

from collections.abc import Sequence

from attndsl.ir.dead import remove_dead
from attndsl.ir.loop import LoopOp
from attndsl.ir.statements import of_kind, operations
from attndsl.ir.tile import STATEMENTS
from attndsl.ir.xdsl import Operation, SSAValue, scf


def remove_unneeded(kernel: Operation) -> None:
    """Removes what nothing needs, and of what loops carry and choices give all that does so only for itself."""
    remove_dead(kernel)
    for choice in of_kind(kernel, scf.IfOp):
        if choice.parent is not None and any(not result.uses for result in choice.results):
            _fewer_of_choice(choice)
            remove_dead(kernel)
    for loop in of_kind(kernel, LoopOp):
        if loop.parent is not None and not all(needed := _needed(loop)):
            _fewer_of_loop(loop, needed)
            remove_dead(kernel)


def _needed(loop: LoopOp) -> list[bool]:
    """Which of the values that a loop carries something needs beside what makes them in the next turn.

    All, where its turn has loops or choices.
    """
    if any(op.regions for op in loop.body.block.ops):
        return [True] * len(loop.res)
    needed = [bool(result.uses) for result in loop.results]
    arguments = list[SSAValue](loop.body.block.args[1:])
    kept = [op for op in operations(loop) if not op.results and op is not loop.end and not isinstance(op, STATEMENTS)]
    while True:
        waiting = [value for value, is_needed in zip(loop.end.values, needed, strict=True) if is_needed]
        waiting += [value for op in kept for value in op.operands]
        seen = set[SSAValue]()
        while waiting:
            value = waiting.pop()
            if value in seen:
                continue
            seen.add(value)
            if isinstance(owner := value.owner, Operation):
                waiting += owner.operands
        also = [is_needed or argument in seen for is_needed, argument in zip(needed, arguments, strict=True)]
        if also == needed:
            return needed
        needed = also


def _fewer_of_loop(loop: LoopOp, needed: list[bool]) -> None:
    """A loop that carries only what is needed, in the place of one that carries more."""
    body, end = loop.body.block, loop.end
    kept = [n for n, is_needed in enumerate(needed) if is_needed]
    starts, results = [loop.iter_args[n] for n in kept], [loop.results[n] for n in kept]
    end.operands = [end.values[n] for n in kept]
    for start, argument in [(loop.iter_args[n], body.args[1 + n]) for n in range(len(needed)) if n not in kept]:
        argument.replace_all_uses_with(start)  # what makes only what was carried in its place goes as well
        body.erase_arg(argument)
    fewer = LoopOp(loop.lb, loop.ub, loop.step, starts, loop.detach_region(0), loop.row_start, loop.row_stop)
    fewer.tiles, fewer.stages = loop.tiles, loop.stages
    _stands_for(fewer, loop, results)


def _fewer_of_choice(choice: scf.IfOp) -> None:
    """A choice that gives only what is needed, in the place of one that gives more."""
    kept = [n for n, result in enumerate(choice.results) if result.uses]
    ends = [region.block.last_op for region in choice.regions]
    for end in ends:
        assert end is not None
        end.operands = [end.operands[n] for n in kept]
    types = [choice.results[n].type for n in kept]
    fewer = scf.IfOp(choice.cond, types, choice.detach_region(0), choice.detach_region(0))
    _stands_for(fewer, choice, [choice.results[n] for n in kept])


def _stands_for(fewer: Operation, op: Operation, results: Sequence[SSAValue]) -> None:
    """Puts an operation in the place of another, of whose results it has these."""
    block = op.parent
    assert block is not None
    fewer.location = op.location
    block.insert_op_before(fewer, op)
    for old, new in zip(results, fewer.results, strict=True):
        new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
    block.erase_op(op)
