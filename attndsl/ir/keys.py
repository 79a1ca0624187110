"""What a kernel does with its key positions: the variable, the reductions over it, what those are of. An analysis."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from attndsl.ir import attn
from attndsl.ir.rewrite import insert_before
from attndsl.ir.xdsl import Operation, SSAValue, arith, i1

KEYS = (attn.OuterOp, attn.OverOp)
"""The operations whose variables tell key positions apart."""

Folded = attn.ReduceOp | attn.ArgMaxOp | attn.StreamOp | attn.ScatterOp
"""A reduction over keys that says how it is folded: its states, their identity elements, and how they merge."""

Reduction = attn.WeighOp | Folded


def over_of(kernel: attn.KernelOp) -> attn.OverOp | None:
    """The variable of the key positions, None where nothing is reduced."""
    return next((op for op in kernel.body.block.ops if isinstance(op, attn.OverOp)), None)


def reductions_of(kernel: attn.KernelOp) -> list[Reduction]:
    """The reductions over the key positions, in order."""
    return [op for op in kernel.body.block.ops if isinstance(op, Reduction)]


def folded_in(kernel: attn.KernelOp) -> list[Folded]:
    """The reductions over the key positions, in order, once there are no softmaxes among them."""
    reductions = reductions_of(kernel)
    folded = [op for op in reductions if isinstance(op, Folded)]
    assert len(folded) == len(reductions), "stream-softmax runs before"
    return folded


def levels(kernel: attn.KernelOp) -> list[list[Folded]]:
    """The reductions of a kernel, those that rest on others' results after them: a loop each level."""
    folded = folded_in(kernel)
    known, level = set[Operation](folded), dict[Operation, int]()
    depth: dict[SSAValue, int] = {}
    for op in kernel.body.block.ops:
        below = max((depth.get(v, 0) for v in op.operands), default=0)
        if op in known:
            level[op] = below
            below += 1
        depth.update(dict.fromkeys(op.results, below))
    return [[op for op in folded if level[op] == n] for n in sorted(set(level.values()))]


def made_of(values: Iterable[SSAValue], without: Iterable[Operation] = ()) -> set[Operation]:
    """All that values are computed from, and `without`; what they reach through those alone is not among them."""
    found = set(without)
    stack = list(values)
    while stack:
        op = stack.pop().owner
        assert isinstance(op, Operation)
        if op not in found:
            found.add(op)
            stack += op.operands
    return found


def conjuncts(where: SSAValue | None) -> list[SSAValue]:
    """The conditions that hold together where `where` does, each once; none where there is none."""
    found: dict[SSAValue, None] = {}
    stack = [] if where is None else [where]
    while stack:
        condition = stack.pop()
        op = condition.owner
        if condition in found:
            continue
        found[condition] = None
        if isinstance(op, arith.AndIOp) and condition.type == i1:
            stack += (op.rhs, op.lhs)
    return [c for c in found if not (isinstance(c.owner, arith.AndIOp) and c.type == i1)]


def common_conjuncts(reductions: Sequence[Reduction]) -> list[SSAValue]:
    """The conditions that each of some reductions has: where one fails, a key counts for none of them."""
    first, *others = (list(dict.fromkeys(conjuncts(reduction.where))) for reduction in reductions)
    return [condition for condition in first if all(condition in other for other in others)]


def conjunction(conditions: list[SSAValue], anchor: Operation) -> SSAValue | None:
    """The condition that all hold, computed before `anchor`."""
    result: SSAValue | None = None
    for condition in conditions:
        result = condition if result is None else insert_before(anchor, arith.AndIOp(result, condition))
    return result


def factors_of(value: SSAValue) -> list[SSAValue]:
    """What a value is the product of, in order."""
    found: list[SSAValue] = []
    stack = [value]
    while stack:
        factor = stack.pop()
        if isinstance(factor.owner, arith.MulfOp):
            stack += [factor.owner.rhs, factor.owner.lhs]
        else:
            found.append(factor)
    return found
