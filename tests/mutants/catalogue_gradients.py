"""Mutants of what derives gradients: what an operator or a reduction gives back, in which nest, and where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from attndsl.checking.typed import Expr, IndexValue, walk
from attndsl.gradient import adjoints, backward, block, sweep
from attndsl.gradient.adjoints import ADJOINTS, Adjoint
from attndsl.gradient.algebra import Algebra
from attndsl.gradient.backward import Backward
from attndsl.gradient.block import BlockBackward

from .mutant import GRADIENT, planted, wraps


@planted("reference", GRADIENT)
def slope_of_tanh_of_the_result_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is 1 less the result, not less its square."""
    monkeypatch.setattr(adjoints, "_one_less_square", lambda a, r: a.subtract(a.number(1.0), r))


@planted("reference", GRADIENT)
def branches_that_are_not_taken_get_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both branches of an `if` get the whole adjoint."""
    monkeypatch.setitem(ADJOINTS, "fselect", lambda a, x, r, g: [None, Adjoint(g), Adjoint(g)])


@planted("reference", GRADIENT)
def smaller_gets_all_of_a_maximum(monkeypatch: pytest.MonkeyPatch) -> None:
    """A `maximum` gives back as a `minimum` does."""
    monkeypatch.setitem(ADJOINTS, "fmax", ADJOINTS["fmin"])


@planted("reference", GRADIENT)
def delta_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is taken off the product of an adjoint and a value."""
    monkeypatch.setattr(BlockBackward, "_delta", lambda self, *_: self._algebra.number(0.0))


@planted("reference", GRADIENT)
def sinks_take_the_other_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sink gives back what it takes."""

    def other(original: Any, self: BlockBackward, *given: Any) -> Any:
        return [(sink, part._replace(value=self._algebra.negate(part.value))) for sink, part in original(self, *given)]

    wraps(monkeypatch, BlockBackward, "_of_sink", other)


@planted("reference", GRADIENT)
def sinks_not_in_the_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    """The log-sum-exp that is saved is that of the keys alone."""
    wraps(monkeypatch, BlockBackward, "_lse", lambda lse, self, reduce: lse(self, replace(reduce, sink=None)))


@planted("reference", GRADIENT)
def adjoints_of_reductions_are_1(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a row makes of a reduction is forgotten."""

    def one(kept: Any, self: BlockBackward, reduce: Any, adjoint: Adjoint) -> Any:
        return kept(self, reduce, adjoint._replace(value=self._algebra.number(1.0)))

    wraps(monkeypatch, BlockBackward, "_kept", one)


@planted("reference", GRADIENT)
def first_of_a_group_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the rows that share a key those of the first place in each group are summed."""

    def first(group_of: Any, algebra: Algebra, *given: Any) -> Any:
        group = group_of(algebra, *given)
        return replace(group, place=replace(group.place, extent=algebra.number(1), bound=algebra.number(1)))

    wraps(monkeypatch, block, "group_of", first)


@planted("reference", GRADIENT)
def weights_not_guarded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The weight of a score of -inf is exp(-inf - -inf) in a row that sees nothing else."""

    def power(self: BlockBackward, reduce: Any, score: Expr) -> Expr:
        return self._algebra.apply("exp", self._algebra.subtract(score, self._lse(reduce)))

    monkeypatch.setattr(BlockBackward, "_power", power)


@planted("reference", GRADIENT)
def masks_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pairs give back that a mask leaves out, and keys beyond the end of a row."""

    def unmasked(
        original: Any, a: Any, roots: Any, wanted: Any, mask: Any = None, keep: Any = None, alone: bool = False
    ) -> Any:
        return original(a, roots, wanted, None, keep, alone)

    wraps(monkeypatch, block, "sweep", unmasked)


@planted("reference", GRADIENT)
def rows_that_share_an_element_overwrite_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Heads of a group, for one, do not add up."""

    def all_of_them(places: Sequence[Expr]) -> set[Any]:
        return {expr.index for place in places for expr in walk(place) if isinstance(expr, IndexValue)}

    monkeypatch.setattr(backward, "told_apart", all_of_them)


@planted("reference", GRADIENT)
def nests_overwrite_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of an input that gets back in several nests the last one alone stays."""

    def alone(original: Any, self: Backward, number: int) -> Any:
        return [replace(b, writes=tuple(replace(w, adds=False) for w in b.writes)) for b in original(self, number)]

    wraps(monkeypatch, Backward, "_blocks", alone)


@planted("reference", GRADIENT)
def later_blocks_give_nothing_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written for a later block has the cotangent of a call alone."""

    def given(self: Backward, tensor: Any, indices: Any) -> Any:
        cotangent = self._cotangents.get(tensor.name)
        return None if cotangent is None else self.read(cotangent, indices)

    monkeypatch.setattr(Backward, "cotangent", given)


@planted("reference", GRADIENT)
def keys_without_values_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key whose value is absent is part of the sum of weights."""
    monkeypatch.setattr(BlockBackward, "_counted", lambda self, reduce: reduce.score)


@planted("reference", GRADIENT)
def parts_of_what_is_absent_get_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """A term gets the adjoint of a sum of which another term is absent."""
    monkeypatch.setattr(BlockBackward, "_where_present", lambda self, value, adjoint: Adjoint(adjoint))


@planted("reference", GRADIENT)
def conditions_of_adjoints_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of several adjoints, each under a condition, all are added up."""

    def total(original: Any, self: Any, parts: Any) -> Any:
        return original(self, [part._replace(where=None) for part in parts] if len(parts) > 1 else parts)

    wraps(monkeypatch, sweep._Sweep, "_merged", total)


@planted("reference", GRADIENT)
def turns_summed_without_a_mask(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is summed up over keys for a row is that of all keys."""
    wraps(monkeypatch, Algebra, "sum_of_keys", lambda total, self, body, _: total(self, body, None))
