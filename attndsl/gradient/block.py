"""What a block of the forward gives back, in two steps.

What a row makes of its reductions is differentiated first. Then each reduction, whose adjoint is one number for each of
its elements, gives back to what it folds, pair by pair of a row and a key. Scores are computed again from the
log-sum-exp that the forward saves, so that nothing is kept for a pair.

For o = sum of p v with weights p = exp(s - lse), and the adjoint g of o: the adjoint of v is p g, that of s is
p (g . v - delta) with delta = g . o (Dao et al., "FlashAttention", 2022, appendix B). A sink is a score whose v is 0.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial

from attndsl.checking.text import expression_text
from attndsl.checking.typed import FLOAT_TYPES, Block, Expr, Index, IndexValue, Kind, Read, Reduce, Write, walk
from attndsl.gradient.adjoints import Adjoint
from attndsl.gradient.algebra import NOWHERE, Moving, float_operands
from attndsl.gradient.backward import Backward
from attndsl.gradient.errors import UnknownAdjoint
from attndsl.gradient.nests import Nest, nest_of, variables_of
from attndsl.gradient.places import is_inside
from attndsl.gradient.presence import Condition, conditions, conjuncts, forgets_a_part, is_there_with
from attndsl.gradient.sweep import reaching, sweep

Roots = list[tuple[Expr, Adjoint]]


class BlockBackward:
    """What block `number` of a spec gives back."""

    def __init__(self, backward: Backward, number: int, block: Block) -> None:
        self._backward = backward
        self._algebra = backward.algebra
        self._number = number
        self._block = block
        self._moved = Moving(self._algebra, tensors=backward.tensors)
        self._values = {write: self._moved(write.value) for write in block.writes if write.value.kind is Kind.FLOAT}
        self._stored: dict[Expr, Expr] = {}
        self._nests: dict[frozenset[Index], Nest] = {}
        backward.name_as_written(walk(*(write.value for write in self._values)), self._moved)

    def add(self) -> None:
        """Adds it to the backward. Raises UnknownAdjoint where an expression has no rule."""
        roots: Roots = []
        for write, value in self._values.items():
            cotangent = self._backward.cotangent(write.tensor, tuple(map(self._moved, write.indices)))
            roots += [] if cotangent is None else [(value, self._where_present(value, cotangent))]
        reduces = [e for e in dict.fromkeys(walk(*(value for value, _ in roots))) if isinstance(e, Reduce)]
        if any(reduce.function == "topk" for reduce in reduces):
            raise UnknownAdjoint("a block with `topk` and floats")
        self._stored = {reduce: self._value(reduce) for reduce in reduces}
        active = [reduce for reduce in reduces if reduce.kind is Kind.FLOAT and self._reached(reduce)]
        pairs: dict[tuple[Expr | None, frozenset[Condition]], Roots] = defaultdict(list)
        sinks: Roots = []
        for alike in _alike(roots):
            found = sweep(self._algebra, alike, {*active, *self._differentiated(alike)})
            self._of_rows(found)
            for reduce in active:
                if reduce in found:
                    given, where = self._kept(reduce, found[reduce])
                    parts = [part for part in (reduce.score, reduce.value, reduce.mask, given) if part is not None]
                    pairs[reduce.mask, frozenset(conditions(*parts))] += self._only(
                        where, self._of_pairs(reduce, given)
                    )
                    sinks += self._only(where, self._of_sink(reduce, given))
        for (mask, _), given_back in pairs.items():
            self._over_pairs(given_back, mask)
        for alike in _alike(sinks):
            self._of_rows(sweep(self._algebra, alike, self._differentiated(alike)))

    def _where_present(self, value: Expr, adjoint: Expr) -> Adjoint:
        """The adjoint of a value, absent where that is."""
        if not forgets_a_part(value):
            return Adjoint(adjoint)
        there = self._algebra.apply("feq", value, value)
        return Adjoint(self._algebra.apply("fselect", there, adjoint, adjoint))

    def _reached(self, reduce: Reduce) -> bool:
        """Whether a reduction has a derivative by what is differentiated by."""
        parts = [part for part in (reduce.score, reduce.value, reduce.sink) if part is not None]
        inside = [*walk(*parts)]
        if any(isinstance(e, Reduce) and e.kind is Kind.FLOAT and self._reached(e) for e in inside):
            raise UnknownAdjoint("a reduction of what another one gives")
        reads = {e for e in inside if self._backward.is_differentiated(e)}
        return bool(reads & reaching(parts, reads))

    def _differentiated(self, roots: Roots) -> set[Expr]:
        return {e for root, _ in roots for e in walk(root) if self._backward.is_differentiated(e)}

    def _of_rows(self, found: Mapping[Expr, Adjoint]) -> None:
        """Gives back what a row gives to what it reads itself."""
        nest = self._nest(frozenset(self._block.each))
        for read, adjoint in found.items():
            if isinstance(read, Read):
                value = self._row(self._algebra.where(adjoint.where, adjoint.value))
                self._backward.give_back(self._number, nest, read, value)

    def _row(self, expr: Expr) -> Expr:
        """An expression of a row, with its reductions read from where they are kept."""
        return Moving(self._algebra, instead=self._stored)(expr)

    # --- reductions

    def _value(self, reduce: Reduce) -> Expr:
        """Where the value of a reduction is read from: an output, what the forward saves, or a workspace."""
        if reduce.kind is Kind.INT:
            return self._backward.save(self._number, self._block.each, "at", reduce)
        if reduce.function == "logsumexp":
            return self._lse(reduce)
        value: Expr = reduce
        if (written := self._written(reduce)) is not None:
            return written
        if reduce.function == "softmax" and reduce.value is not None:
            weighted = self._algebra.multiply(self._weight(reduce), reduce.value)
            value = self._algebra.sum_of_keys(weighted, reduce.mask)
        return self._backward.keep(self._number, self._rows(), "y", value)

    def _written(self, value: Expr) -> Expr | None:
        """An output of floats of 16 bits or more that holds a value of each row, and of each of its axes."""
        for write, expr in self._values.items():
            types = {*self._backward.spec.types.get(write.tensor.element, (write.tensor.element,))}
            fits = (
                write.tensor.role == "output" and types <= {*FLOAT_TYPES} and {*write.axes} <= self._algebra.free(value)
            )
            if expr is value and fits and _is_plain(write, self._block.each):
                return self._backward.read(write.tensor, tuple(map(self._moved, write.indices)))
        return None

    def _lse(self, reduce: Reduce) -> Expr:
        """The log-sum-exp of the scores of a reduction."""
        score = self._counted(reduce)
        found = self._algebra.graph.reduce(0, "logsumexp", score, reduce.mask, None, reduce.sink, NOWHERE)
        assert isinstance(found, Reduce)
        return self._backward.save(self._number, self._block.each, "lse", found)

    def _counted(self, reduce: Reduce) -> Expr:
        """The score of a reduction, absent where its value is: such a key does not count."""
        algebra, seen = self._algebra, [reduce.score, *(conjuncts(reduce.mask) if reduce.mask is not None else ())]
        if reduce.value is None or is_there_with(reduce.value, seen):
            return reduce.score
        axes = [e for e in walk(reduce.value) if isinstance(e, IndexValue) and e.index.role == "axis"]
        first = Moving(algebra, instead=dict.fromkeys(axes, algebra.number(0)))(reduce.value)
        return algebra.apply("fselect", algebra.apply("feq", first, first), reduce.score, reduce.score)

    def _weight(self, reduce: Reduce) -> Expr:
        """The weight of a key: exp(score - lse), and 0 where the score is -inf, of a row that sees no key too."""
        algebra, score = self._algebra, self._backward.name(reduce.score, "score")
        power = algebra.apply("exp", algebra.subtract(score, self._lse(reduce)))
        return self._backward.name(algebra.where(self._is_some(score), power), "p")

    def _is_some(self, score: Expr) -> Expr:
        return self._algebra.apply("fgt", score, self._algebra.number(float("-inf")))

    def _kept(self, reduce: Reduce, adjoint: Adjoint) -> tuple[Expr, Expr | None]:
        """The adjoint of a reduction, from a workspace where it is more than an element; and where it is not 0."""
        algebra, sink = self._algebra, reduce.sink
        value = self._row(algebra.where(adjoint.where, adjoint.value))
        if sink is not None and conditions(sink):  # where the sink is absent, the reduction is
            value = algebra.apply("fselect", algebra.apply("feq", sink, sink), value, value)
        where = None if adjoint.where is None else self._row(adjoint.where)
        if not isinstance(value, Read):
            absent = conditions(value)
            value = self._backward.keep(self._number, self._rows(), "g", value)
            where = algebra.both(where, self._is_given(value) if absent else None)
        return value, where

    def _is_given(self, kept: Expr) -> Expr:
        """Whether a workspace holds anything to give back: it holds 0 where that is absent."""
        return self._algebra.apply("fne", kept, self._algebra.number(0.0))

    def _only(self, where: Expr | None, roots: Roots) -> Roots:
        """Roots with adjoints that are 0 but where a condition holds, too: for any value of axes that they lack."""
        algebra = self._algebra
        found: Roots = []
        for root, part in roots:
            mine = where
            lacking = frozenset() if where is None else algebra.free(where) - algebra.free(part.value)
            for axis in sorted(lacking, key=lambda index: index.name):
                if mine is not None and axis.role == "axis":
                    mine = algebra.graph.reduce_axis("max", axis, mine, NOWHERE)
            found.append((root, part._replace(where=algebra.both(mine, part.where))))
        return found

    def _delta(self, reduce: Reduce, given: Expr) -> Expr:
        """The sum of a row's result times its adjoint."""
        product = self._algebra.multiply(given, self._stored[reduce])
        return self._backward.keep(self._number, self._rows(), "delta", self._over_axes(product, reduce.score))

    def _over_axes(self, expr: Expr, score: Expr) -> Expr:
        """The sum over the axes of values: those that scores do not have."""
        free = self._algebra.free
        return self._algebra.sum_over(frozenset(i for i in free(expr) - free(score) if i.role == "axis"), expr)

    def _of_pairs(self, reduce: Reduce, given: Expr) -> Roots:
        """What a reduction gives back for each key to its score, and to its value."""
        algebra = self._algebra
        match reduce.function:
            case "sum":
                return [(reduce.score, self._where_present(reduce.score, given))]
            case "logsumexp":
                return [(reduce.score, Adjoint(algebra.multiply(self._weight(reduce), given)))]
            case "softmax" if reduce.value is not None:
                weight = self._weight(reduce)
                product = self._over_axes(algebra.multiply(given, reduce.value), reduce.score)
                score = algebra.multiply(weight, algebra.subtract(product, self._delta(reduce, given)))
                back = Adjoint(self._backward.name(score, "ds"))
                return [(reduce.value, Adjoint(algebra.multiply(weight, given))), (reduce.score, back)]
            case "max" | "min":  # all to the key that has it, the first of several
                mine = algebra.apply("ieq", self._place(reduce), self._position())
                return [(reduce.score, Adjoint(given, mine))]
        raise UnknownAdjoint(f"`{reduce.function}` over keys")

    def _place(self, reduce: Reduce) -> Expr:
        """The position of the key that has the largest or least score, which the forward saves."""
        score = reduce.score if reduce.function == "max" else self._algebra.negate(reduce.score)
        graph = self._algebra.graph
        found = graph.reduce(0, "argmax", score, reduce.mask, self._position(), None, NOWHERE)
        assert isinstance(found, Reduce)
        return self._backward.save(self._number, self._block.each, f"{reduce.function}_at", found)

    def _position(self) -> Expr:
        """The position of a key among all."""
        first, *rest = self._block.over
        position = self._algebra.index(first)
        for index in rest:
            row = self._algebra.apply("imul", position, self._moved(index.extent))
            position = self._algebra.apply("iadd", row, self._algebra.index(index))
        return position

    def _of_sink(self, reduce: Reduce, given: Expr) -> Roots:
        """What a reduction gives back to its sink."""
        algebra, sink = self._algebra, reduce.sink
        if sink is None:
            return []
        weight = algebra.where(self._is_some(sink), algebra.apply("exp", algebra.subtract(sink, self._lse(reduce))))
        if reduce.function == "logsumexp":
            return [(sink, Adjoint(algebra.multiply(weight, given)))]
        delta = self._delta(reduce, given)
        back = algebra.multiply(weight, algebra.negate(delta))
        return [(sink, Adjoint(back, self._is_given(delta) if conditions(given) else None))]

    # --- pairs of a row and a key

    def _over_pairs(self, roots: Roots, mask: Expr | None) -> None:
        """Gives back what pairs give, each in the nest of what its place depends on."""
        algebra = self._algebra
        reads = self._differentiated(roots)
        found = sorted(reads & reaching([root for root, _ in roots], reads), key=self._serial)
        if mask is not None:
            self._backward.name(mask, "mask")
        for rows, mine in self._by_nest(e for e in found if isinstance(e, Read)).items():
            nest = self._nest(rows)
            moved = self._in(nest)
            self._keep_names(moved, roots, mask)
            given = [(moved(root), _moved(adjoint, moved)) for root, adjoint in roots]
            inside = algebra.both(nest.inside, None if mask is None else moved(mask))
            places = {moved(read) for read in mine}
            keep = partial(self._settled, nest, places) if nest.over else None
            for read, adjoint in sweep(algebra, given, places, inside, keep).items():
                assert isinstance(read, Read)
                self._backward.give_back(self._number, nest, read, algebra.where(adjoint.where, adjoint.value))

    def _in(self, nest: Nest) -> Callable[[Expr], Expr]:
        """What stands for an expression of a row and a key in a nest, in which no reduction is made again."""
        return lambda expr: nest.moved(self._row(expr))

    def _by_nest(self, reads: Iterable[Read]) -> dict[frozenset[Index], list[Read]]:
        """Reads by the rows of the nest in which they get back.

        What depends on part of the rows of a nest that there is, is summed up there, and then beyond.
        """
        rows, pairs = frozenset(self._block.each), frozenset((*self._block.each, *self._block.over))
        nests: dict[frozenset[Index], list[Read]] = defaultdict(list)
        for read in reads:
            held = variables_of(self._algebra, read.indices)
            nests[rows if held <= rows else held].append(read)
        found: dict[frozenset[Index], list[Read]] = {}
        for held in sorted(nests, key=len, reverse=True):
            wider = [other for other in found if held < other < pairs]
            found.setdefault(min(wider, key=len, default=held), []).extend(nests[held])
        return found

    def _settled(self, nest: Nest, reads: Collection[Expr], expr: Expr, value: Expr) -> Expr:
        """The adjoint of what is the same in all turns of a loop: from a workspace where several reads are below it."""
        below = [e for e in walk(expr, through=float_operands) if e in reads]
        return value if len(below) == 1 else self._backward.keep(self._number, nest, "g", value)

    def _keep_names(self, moved: Callable[[Expr], Expr], roots: Roots, mask: Expr | None) -> None:
        """What has a name has it in other variables too."""
        parts = [part for root, adjoint in roots for part in (root, *adjoint, mask) if part is not None]
        for expr in walk(*parts):
            if (name := self._backward.name_of(expr)) is not None:
                self._backward.name(moved(expr), name)

    def _serial(self, expr: Expr) -> int:
        return self._algebra.graph.facts(expr).serial

    def _rows(self) -> Nest:
        return self._nest(frozenset(self._block.each))

    def _nest(self, rows: frozenset[Index]) -> Nest:
        if rows not in self._nests:
            self._nests[rows] = nest_of(self._algebra, self._block, rows, self._backward.tensors)
        return self._nests[rows]


def _moved(adjoint: Adjoint, moved: Callable[[Expr], Expr]) -> Adjoint:
    return Adjoint(moved(adjoint.value), None if adjoint.where is None else moved(adjoint.where))


def _alike(roots: Roots) -> list[Roots]:
    """Roots that are absent together."""
    groups: dict[frozenset[Condition], Roots] = defaultdict(list)
    for root, adjoint in roots:
        groups[frozenset(conditions(root, *(part for part in adjoint if part is not None)))].append((root, adjoint))
    return [*groups.values()]


def _is_plain(write: Write, rows: Iterable[Index]) -> bool:
    """Whether there is an element for each row and each value of its axes, and what is written is one."""
    places = [place.index for place in write.indices if isinstance(place, IndexValue)]
    whole = all(map(is_inside, write.indices, map(expression_text, write.tensor.extents)))
    return not write.adds and whole and len(places) == len(write.indices) and {*places} == {*rows, *write.axes}
