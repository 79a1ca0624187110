"""simplify-indices: index arithmetic that can be settled is, by proofs over the ranges of the index variables.

Why: every read starts out with a check that its indices are inside the tensor. Most are, provably, and what is left
is what a kernel must test. A quotient or remainder of a packed index folds back to its parts.

Before:

    spec.tensor @x "input" "f32" ["H"]
    spec.tensor @o "output" "f32" ["H"]
    attn.kernel @k {
      %H = spec.dim "H"
      %c0 = arith.constant 0 : index
      %h = attn.each "h" to %H
      %low = arith.cmpi sle, %c0, %h : index
      %high = arith.cmpi slt, %h, %H : index
      %inside = arith.andi %low, %high : i1
      %v = attn.read @x[%h] where %inside : f32
      attn.write @o[%h] = %v : f32
    }

After:

    spec.tensor @x "input" "f32" ["H"]
    spec.tensor @o "output" "f32" ["H"]
    attn.kernel @k {
      %H = spec.dim "H"
      %h = attn.each "h" to %H
      %low = arith.constant true
      %high = arith.constant true
      %inside = arith.andi %low, %high : i1
      %v = attn.read @x[%h] where %inside : f32
      attn.write @o[%h] = %v : f32
    }

A read whose index was found not to depend on a key, or a feature, is executed whether there is one or not: it gets the
condition that there is, on which the proofs about its index may rest.

Requires: cse, so that equal dims are one value. Exactness: bit-exact. Idempotent.
"""

from __future__ import annotations

from dataclasses import dataclass

from attndsl.ir import attn, spec
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.exactness import Exactness
from attndsl.ir.keys import conjunction, conjuncts
from attndsl.ir.materialise import materialise
from attndsl.ir.meaning import OPPOSITES, predicate
from attndsl.ir.polynomial import Facts, Polynomial, add, number
from attndsl.ir.ranges import Ranges
from attndsl.ir.rewrite import guarded, index_constant, insert_before, replace
from attndsl.ir.xdsl import Context, IntegerAttr, ModuleOp, ModulePass, Operation, SSAValue, arith, i1


@dataclass(frozen=True)
class SimplifyIndices(ModulePass):
    """Settles comparisons, quotients, remainders, minima and maxima that the ranges of the variables decide."""

    name = "simplify-indices"
    exactness = Exactness.EXACT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in list(op.body.block.ops):
            if isinstance(kernel, attn.KernelOp):
                _simplify(kernel)


def _simplify(kernel: attn.KernelOp) -> None:
    assumed = _assumed(kernel)
    ranges = Ranges()
    compared: list[arith.CmpiOp] = []
    facts = Facts(kernel.body.block, ranges)
    read_along = _variables(kernel)
    for op in list(kernel.body.block.ops):
        if op in assumed:
            continue
        match op:
            case arith.CmpiOp():
                settled = _compare(op, facts) or _compared(op, facts, compared)
                if not settled:
                    compared.append(op)
            case arith.FloorDivSIOp() | spec.ModOp():
                settled = _divide(op, facts)
            case arith.MinSIOp() | arith.MaxSIOp():
                settled = _extreme(op, facts)
            case _:
                continue
        if settled:  # a value that was replaced by an equal one makes stale what the analysis remembers
            facts = Facts(kernel.body.block, ranges)
    for read, variables in _variables(kernel).items():
        lost = [variable for variable in read_along[read] if variable not in variables]
        if present := [condition for variable in lost for condition in _has_values(variable, read, facts)]:
            where = conjunction([*conjuncts(read.where), *present], read)
            replace(read, [insert_before(read, guarded(read, where))])


def _variables(kernel: attn.KernelOp) -> dict[attn.ReadOp, list[attn.OverOp | attn.AxisOp]]:
    """For each read the keys and features that its indices depend on, in order."""
    axes = AxesAnalysis()
    variables = [op for op in kernel.body.block.ops if isinstance(op, attn.OverOp | attn.AxisOp)]
    reads = [op for op in kernel.body.block.ops if isinstance(op, attn.ReadOp)]
    told = {op: frozenset[SSAValue]().union(*map(axes, op.indices)) for op in reads}
    return {op: [v for v in variables if v.result in told[op]] for op in reads}


def _has_values(variable: attn.OverOp | attn.AxisOp, anchor: Operation, facts: Facts) -> list[SSAValue]:
    """The conditions under which a variable has values; none where that is known."""
    start = variable.start if isinstance(variable, attn.OverOp) else None
    ends = [end for end in (variable.extent, variable.bound) if end is not None]
    asked = [end for end in ends if start is not None or not facts.positive(end)]
    first = start if start is not None else insert_before(anchor, index_constant(0))
    return [insert_before(anchor, arith.CmpiOp(first, end, "slt")) for end in asked]


def _assumed(kernel: attn.KernelOp) -> set[Operation]:
    """All that the assumptions rest on: settled by what they say, they would say nothing."""
    stack: list[Operation] = [op for op in kernel.body.block.ops if isinstance(op, spec.AssumeOp)]
    found: set[Operation] = set()
    while stack:
        op = stack.pop()
        if op not in found:
            found.add(op)
            stack += [operand.owner for operand in op.operands if isinstance(operand.owner, Operation)]
    return found


def _compare(op: arith.CmpiOp, facts: Facts) -> bool:
    """Whether a comparison was settled."""
    slack = facts.slack(op)
    if slack is None:
        return False
    if _at_least_zero(slack, facts):
        truth = True
    elif _at_least_zero(add(number(-1), slack, -1), facts):
        truth = False
    else:
        return False
    replace(op, [insert_before(op, arith.ConstantOp(IntegerAttr(int(truth), i1)))])
    return True


def _compared(op: arith.CmpiOp, facts: Facts, earlier: list[arith.CmpiOp]) -> bool:
    """Whether an earlier comparison says the same; one that says the opposite lends its operands."""
    slack = facts.slack(op)
    if slack is None:
        return False
    for other in earlier:
        found = facts.slack(other)
        if found == slack:
            replace(op, [other.result])
            return True
        if found is not None and add(found, slack) == number(-1) and (op.lhs, op.rhs) != (other.lhs, other.rhs):
            opposite = arith.CmpiOp(other.lhs, other.rhs, OPPOSITES[predicate(other)])
            replace(op, [insert_before(op, opposite)])
            return True
    return False


def _at_least_zero(slack: Polynomial, facts: Facts) -> bool:
    return facts.nonnegative(slack) or any(facts.nonnegative(s) for s in _without_quotient(slack, facts))


def _without_quotient(slack: Polynomial, facts: Facts) -> list[Polynomial]:
    """r - a / c >= 0 where r * c + c - 1 - a >= 0: the same claims, free of one quotient."""
    claims = []
    for monomial, coefficient in slack.items():
        if coefficient == -1 and len(monomial) == 1:
            op = monomial[0].owner
            if isinstance(op, arith.FloorDivSIOp) and facts.positive(op.rhs):
                rest = add(slack, {monomial: -1}, -1)
                scaled = facts.multiply(add(rest, number(1)), facts.of(op.rhs))
                claims.append(add(add(scaled, number(1), -1), facts.of(op.lhs), -1))
    return claims


def _divide(op: arith.FloorDivSIOp | spec.ModOp, facts: Facts) -> bool:
    """Whether a quotient or a remainder was."""
    parts = facts.parts(op)
    if parts is None:
        return False
    quotient, rest = parts
    if not quotient and isinstance(op, spec.ModOp):
        replace(op, [op.lhs])
        return True
    if quotient or isinstance(op, arith.FloorDivSIOp):
        replace(op, [materialise(quotient if isinstance(op, arith.FloorDivSIOp) else rest, op)])
        return True
    return False


def _extreme(op: arith.MinSIOp | arith.MaxSIOp, facts: Facts) -> bool:
    """Whether a minimum or a maximum was."""
    for smaller, larger in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
        if facts.nonnegative(add(facts.of(larger), facts.of(smaller), -1)):
            replace(op, [smaller if isinstance(op, arith.MinSIOp) else larger])
            return True
    return False
