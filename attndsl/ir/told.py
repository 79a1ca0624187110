"""Which variables integers tell: those in which all that have the same integers agree. An analysis."""

from __future__ import annotations

from collections.abc import Iterable

from attndsl.ir import attn
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.polynomial import Facts, Monomial, Polynomial, add
from attndsl.ir.traits import Axes
from attndsl.ir.xdsl import Block, SSAValue


class Told:
    """The variables that integers of a block tell, besides those that are given; and their `digits`, if asked for."""

    def __init__(self, integers: Iterable[SSAValue], block: Block, digits: bool = False) -> None:
        self.axes = AxesAnalysis()
        self.digits = digits
        self.facts = Facts(block)
        self.integers = [self.facts.of(integer) for integer in integers]
        self.known: Axes = frozenset()
        self.learn([])

    def learn(self, variables: Iterable[SSAValue]) -> None:
        """Takes these variables as known, and finds what follows."""
        self.known = self.known.union(variables)
        before = -1
        while before < len(self.known):
            before = len(self.known)
            self.known = self.known.union(*map(self._told, self.integers))

    def _told(self, integer: Polynomial) -> Axes:
        """The variable that an integer tells, as the one factor of it that is not known; of several its digits."""
        unknown = {m: c for m, c in integer.items() if any(not self.axes(factor) <= self.known for factor in m)}
        if len(unknown) != 1:
            return self._digits(unknown) if self.digits else frozenset()
        ((monomial, _),) = unknown.items()
        variables = [factor for factor in monomial if not self.axes(factor) <= self.known]
        rest = [factor for factor in monomial if factor is not variables[0]]
        is_one = len(variables) == 1 and isinstance(variables[0].owner, attn.IndexOp)
        return frozenset(variables) if is_one and all(map(self.facts.positive, rest)) else frozenset()

    def _digits(self, unknown: Polynomial) -> Axes:
        """The variables of g * size + t, where t is one of `size` values, as the last and the rest."""
        for monomial, coefficient in unknown.items():
            last = _last_digit(monomial)
            if last is None or coefficient != 1 or not self.axes(last.extent) <= self.known:
                continue
            above, rest = self.facts.divide(add(unknown, {monomial: 1}, -1), last.extent)
            if above and not rest:
                return self._told(above) | {last.result}
        return frozenset()


def _last_digit(monomial: Monomial) -> attn.IndexOp | None:
    """The variable that a term is, if it is one that counts from 0."""
    op = monomial[0].owner if len(monomial) == 1 else None
    starts_late = isinstance(op, attn.OverOp) and op.start is not None
    return op if isinstance(op, attn.IndexOp) and not starts_late else None
