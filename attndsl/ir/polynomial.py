"""Integer values as polynomials over what they are made of, and what can be proved of them. An analysis.

A polynomial maps a monomial (a sorted tuple of SSA values that are not taken apart further: dims, index variables,
quotients, remainders, reads) to its coefficient. Two facts make it useful:

- a dim is never negative, an index variable runs from 0 to its extent less 1, a remainder from 0 to its divisor less 1;
- where an `assume` says that a % b == 0, the product of b and the quotient a / b is a; so it is of a divisor of b.

Proofs are about integers without bounds. So an integer that may have left 64 bits is not taken apart.
"""

from __future__ import annotations

from itertools import chain, islice
from math import lcm

from attndsl.ir import attn, spec
from attndsl.ir.meaning import TURNED, predicate
from attndsl.ir.ranges import Ranges
from attndsl.ir.rewrite import constant
from attndsl.ir.xdsl import Block, Operation, SSAValue, arith, i1

Monomial = tuple[SSAValue, ...]
Polynomial = dict[Monomial, int]

_ROUNDS = 8
"""How many variables are bounded away before a proof is given up; masks and index maps need two or three."""

_CLAIMS = 200
"""How many claims a proof may rest on before it is given up; masks and index maps need about ten."""

_DEEPEST = 40
"""How many claims a proof may rest on one below the other, each on the next."""

_BOUNDS = 8
"""How many of the numbers that a value is the least of are tried for its upper bound."""

_TERMS = 32
"""A value of more terms is not taken apart: each factor more would double them."""

_FACTORS = 8
"""Nor is one with a longer product: a square of a square of a square …"""


def number(value: int) -> Polynomial:
    """A constant polynomial."""
    return {(): value} if value else {}


def add(a: Polynomial, b: Polynomial, factor: int = 1) -> Polynomial:
    """a + factor * b."""
    result = dict(a)
    for monomial, coefficient in b.items():
        result[monomial] = result.get(monomial, 0) + factor * coefficient
        if result[monomial] == 0:
            del result[monomial]
    return result


def _is_short(a: Polynomial) -> bool:
    """Whether a polynomial is worth having; its coefficients are 64-bit integers."""
    return len(a) <= _TERMS and all(len(m) <= _FACTORS and -(2**63) <= c < 2**63 for m, c in a.items())


class Facts:
    """What is known of the integers of one kernel. Valid while the kernel does not change.

    `ranges` may be those of an earlier analysis.
    """

    def __init__(self, block: Block, ranges: Ranges | None = None) -> None:
        self.ranges = ranges or Ranges()
        self._order: dict[SSAValue, int] = {}
        self._known: tuple[dict[SSAValue, Polynomial], dict[SSAValue, Polynomial]] = ({}, {})
        self._proofs: dict[tuple[frozenset[tuple[Monomial, int]], int], bool] = {}
        self._depth = 0
        self._claims = 0
        self._exact: set[tuple[SSAValue, SSAValue]] = set()
        self._multiples: dict[SSAValue, int] = {}
        self._nonzero: set[SSAValue] = set()
        for op in block.ops:
            if type(op) is spec.AssumeOp:
                self._assume(op.condition)

    def _assume(self, condition: SSAValue) -> None:
        op = condition.owner
        if isinstance(op, arith.AndIOp):
            self._assume(op.lhs)
            self._assume(op.rhs)
        if not isinstance(op, arith.CmpiOp):
            return
        left, right, relation = op.lhs, op.rhs, predicate(op)
        if constant(left) is not None:  # 0 < x is x > 0
            left, right, relation = right, left, TURNED[relation]
        if constant(right) != 0:
            return
        if relation == "eq" and isinstance(left.owner, spec.ModOp):
            value, divisor = left.owner.operands
            self._exact.add((value, divisor))
            self._multiples[value] = lcm(self._multiples.get(value, 1), int(constant(divisor) or 1))
        if relation in ("ne", "sgt"):
            self._nonzero.add(left)

    # --- polynomials

    def of(self, value: SSAValue, free: bool = False) -> Polynomial:
        """The polynomial of an integer; where it is `free`, what may leave 64 bits is taken apart too.

        A free one is that integer but for multiples of 2^64. It serves to move the terms of a comparison from side to
        side, of which the manual says that it may be done.
        """
        known = self._known[free]
        if value not in known:
            known[value] = self._expand(value.owner, value, free)
        return known[value]

    def _expand(self, op: Operation | Block, value: SSAValue, free: bool) -> Polynomial:
        known = constant(value)
        if known is not None:
            return number(int(known))
        if isinstance(op, arith.AddiOp | arith.SubiOp | arith.MuliOp) and (free or self.ranges.fits(value)):
            left, right = (self.of(operand, free) for operand in op.operands)
            match op:
                case arith.AddiOp():
                    found = add(left, right)
                case arith.SubiOp():
                    found = add(left, right, -1)
                case arith.MuliOp():
                    found = self.multiply(left, right)
            if _is_short(found):
                return found
        return {(value,): 1}

    def multiply(self, a: Polynomial, b: Polynomial) -> Polynomial:
        """The product, with quotients that are known to be exact multiplied out."""
        result: Polynomial = {}
        for left, x in a.items():
            for right, y in b.items():
                monomial, coefficient = self._whole(self._monomial(left + right), x * y)
                result[monomial] = result.get(monomial, 0) + coefficient
        return {monomial: coefficient for monomial, coefficient in result.items() if coefficient}

    def _monomial(self, factors: Monomial) -> Monomial:
        for quotient in factors:
            op = quotient.owner
            if isinstance(op, arith.FloorDivSIOp) and op.rhs in factors and (op.lhs, op.rhs) in self._exact:
                rest = list(factors)
                rest.remove(quotient)
                rest.remove(op.rhs)
                numerator = list(self.of(op.lhs).items())
                if len(numerator) == 1 and numerator[0][1] == 1:
                    return self._monomial((*rest, *numerator[0][0]))
        for value in factors:
            self._order.setdefault(value, len(self._order))
        return tuple(sorted(factors, key=self._order.__getitem__))

    def _whole(self, monomial: Monomial, coefficient: int) -> tuple[Monomial, int]:
        """A term in which a quotient meets the number that it was divided by, with what was divided in its place."""
        for place, quotient in enumerate(monomial):
            op = quotient.owner
            if not isinstance(op, arith.FloorDivSIOp) or not (divisor := int(constant(op.rhs) or 0)):
                continue
            if coefficient % divisor == 0 and self._multiples.get(op.lhs, 1) % divisor == 0:
                numerator = list(self.of(op.lhs).items())
                if len(numerator) == 1:
                    (factors, times), rest = numerator[0], (*monomial[:place], *monomial[place + 1 :])
                    return self._whole(self._monomial((*rest, *factors)), coefficient // divisor * times)
        return monomial, coefficient

    def divide(self, a: Polynomial, divisor: SSAValue) -> tuple[Polynomial, Polynomial]:
        """Quotient and rest of the terms that the divisor divides one by one."""
        quotient: Polynomial = {}
        rest: Polynomial = {}
        for monomial, coefficient in a.items():
            part = self._quotient(monomial, coefficient, divisor)
            if part is None:
                rest = add(rest, {monomial: coefficient})
            else:
                quotient = add(quotient, part)
        return quotient, rest

    def _quotient(self, monomial: Monomial, coefficient: int, divisor: SSAValue) -> Polynomial | None:
        known = constant(divisor)
        if known:
            return {monomial: coefficient // int(known)} if coefficient % int(known) == 0 else None
        if divisor in monomial:
            rest = list(monomial)
            rest.remove(divisor)
            return {tuple(rest): coefficient}
        op = divisor.owner
        if isinstance(op, arith.FloorDivSIOp) and (op.lhs, op.rhs) in self._exact and op.lhs in monomial:
            rest = list(monomial)
            rest.remove(op.lhs)
            return {self._monomial((*rest, op.rhs)): coefficient}
        return None

    def parts(self, op: arith.FloorDivSIOp | spec.ModOp) -> tuple[Polynomial, Polynomial] | None:
        """The quotient and the remainder of a division, None where they are not known to be what terms divide to."""
        if not self.positive(op.rhs):
            return None
        divisor = self.of(op.rhs)
        quotient, rest = self.divide(self.of(op.lhs), op.rhs)
        if not self.nonnegative(rest):
            quotient, rest = add(quotient, number(1), -1), add(rest, divisor)
        below = add(add(divisor, number(1), -1), rest, -1)
        return (quotient, rest) if self.nonnegative(rest) and self.nonnegative(below) else None

    def slack(self, op: arith.CmpiOp, free: bool = False) -> Polynomial | None:
        """What is at least 0 where a comparison of integers by order holds, and only there; None for others."""
        if op.lhs.type == i1:
            return None
        lhs, rhs = self.of(op.lhs, free), self.of(op.rhs, free)
        match predicate(op):
            case "sle":
                return add(rhs, lhs, -1)
            case "slt":
                return add(add(rhs, lhs, -1), number(1), -1)
            case "sge":
                return add(lhs, rhs, -1)
            case "sgt":
                return add(add(lhs, rhs, -1), number(1), -1)
        return None

    # --- proofs

    def nonnegative(self, a: Polynomial, rounds: int = _ROUNDS) -> bool:
        """Whether it can be shown to be at least 0 wherever all index variables have values."""
        # The same variables bounded away in another order end in the same claim: without a memory the search explodes.
        key = (frozenset(a.items()), rounds)
        if key not in self._proofs:
            self._claims = self._claims + 1 if self._depth else 1
            if self._claims > _CLAIMS or self._depth == _DEEPEST:
                return False
            self._depth += 1
            self._proofs[key] = self._prove(a, rounds)
            self._depth -= 1
        return self._proofs[key]

    def _prove(self, a: Polynomial, rounds: int) -> bool:
        growing = all((c > 0 or not m) and all(self._factor_nonnegative(v) for v in m) for m, c in a.items())
        # Terms of factors that are at least 1 make up for a negative constant.
        if growing and sum(c for m, c in a.items() if all(self._surely_positive(v) for v in m)) >= 0:
            return True
        if rounds == 0:
            return False
        for monomial, coefficient in a.items():
            for variable in monomial:
                if monomial.count(variable) > 1:
                    continue
                # A positive term is at its least where the variable is 0, a negative one where it is largest.
                rest = [v for v in monomial if v is not variable]
                if not all(self._factor_nonnegative(v) for v in rest):
                    continue
                for largest in self._largest(variable) if coefficient < 0 else ():
                    bounded = add(a, {monomial: coefficient}, -1)
                    bounded = add(bounded, self.multiply({tuple(rest): coefficient}, largest))
                    if self.nonnegative(bounded, rounds - 1):
                        return True
        return False

    def positive(self, value: SSAValue) -> bool:
        """Whether an integer can be shown to be at least 1."""
        known = constant(value)
        if known is not None:
            return known > 0
        if self._surely_positive(value):
            return True
        return self.nonnegative(add(self.of(value), number(1), -1), 2)

    def _surely_positive(self, value: SSAValue) -> bool:
        return value in self._nonzero and self._factor_nonnegative(value)

    def _factor_nonnegative(self, value: SSAValue) -> bool:
        match value.owner:
            case attn.IndexOp():
                return True
            case spec.DimOp() | spec.ParamOp() as op:
                return self.ranges(op.result).low >= 0
            case spec.ModOp() as op:
                return self.positive(op.rhs)
            case arith.FloorDivSIOp() as op:
                return self.nonnegative(self.of(op.lhs), 2) and self._factor_nonnegative_or_constant(op.rhs)
            case arith.MinSIOp() as op:
                return all(self.nonnegative(self.of(v), 2) for v in op.operands)
            case arith.MaxSIOp() as op:
                return any(self.nonnegative(self.of(v), 2) for v in op.operands)
        return False

    def _factor_nonnegative_or_constant(self, value: SSAValue) -> bool:
        known = constant(value)
        return known >= 0 if known is not None else self.nonnegative(self.of(value), 2)

    def _largest(self, value: SSAValue) -> list[Polynomial]:
        """Upper bounds of a value, each a polynomial."""
        match value.owner:
            case attn.IndexOp() as op:
                extents = [op.extent, *([op.bound] if op.bound is not None else [])]
                return [add(bound, number(1), -1) for extent in extents for bound in self._at_most(extent)]
            case spec.ModOp() as op if self.positive(op.rhs):
                return [add(self.of(op.rhs), number(1), -1)]
            case arith.FloorDivSIOp() as op if self.positive(op.rhs) and self.nonnegative(self.of(op.lhs), 2):
                quotients = [self.divide(bound, op.rhs) for bound in self._at_most(op.lhs)]
                numerators = [*quotients, *(self.divide(b, op.rhs) for b in self._largest(op.lhs))]
                return [bound for q, rest in numerators for bound in self._floor(q, rest, op.rhs)]
            case arith.MinSIOp():
                return self._at_most(value)
        return []

    def _floor(self, quotient: Polynomial, rest: Polynomial, divisor: SSAValue) -> list[Polynomial]:
        """Upper bounds of (quotient * divisor + rest) / divisor."""
        if self.nonnegative(add(number(-1), rest, -1), 2):  # rest <= -1
            return [add(quotient, number(1), -1)]
        below = add(add(self.of(divisor), number(1), -1), rest, -1)
        return [quotient] if self.nonnegative(below, 2) else []

    def _at_most(self, value: SSAValue) -> list[Polynomial]:
        if isinstance(value.owner, arith.MinSIOp):
            below = chain.from_iterable(map(self._at_most, value.owner.operands))
            return list(islice(below, _BOUNDS))
        return [self.of(value)]
