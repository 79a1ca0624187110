"""What a block of the forward gives back, in two steps.

What a row makes of its reductions is differentiated first. Then each reduction, whose adjoint is one number for each of
its elements, gives back to what it folds, pair by pair of a row and a key. Scores are computed again from the
log-sum-exp that the forward saves, so that nothing is kept for a pair.

For o = sum of p v with weights p = exp(s - lse), and the adjoint g of o: the adjoint of v is p g, that of s is
p (g . v - delta) with delta = g . o (Dao et al., "FlashAttention", 2022, appendix B). A sink is a score whose v is 0.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from functools import partial

from attndsl.checking.text import expression_text
from attndsl.checking.typed import (
    FLOAT_TYPES,
    Apply,
    Block,
    Expr,
    Index,
    IndexValue,
    Kind,
    Read,
    Reduce,
    ReduceAxis,
    Write,
    operands,
    walk,
)
from attndsl.gradient.adjoints import Adjoint
from attndsl.gradient.algebra import NOWHERE, Moving, float_operands
from attndsl.gradient.backward import Backward
from attndsl.gradient.errors import UnknownAdjoint
from attndsl.gradient.groups import Group, count_of, group_of, quotient_of, shapes
from attndsl.gradient.nests import Nest, nest_of, variables_of
from attndsl.gradient.places import is_inside, joined
from attndsl.gradient.presence import Condition, conditions, forgets_a_part, is_there_with, rests_on_axis
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
        self._given: dict[Reduce, list[Adjoint]] = {}
        self._nests: dict[tuple[frozenset[Index], tuple[Group, ...]], Nest] = {}
        self._groups: dict[Expr, Group] = {}
        backward.name_as_written(walk(*(write.value for write in self._values)), self._moved)

    def add(self) -> None:
        """Adds it to the backward. Raises UnknownAdjoint where an expression has no rule."""
        roots: Roots = []
        for write, value in self._values.items():
            cotangent = self._backward.cotangent(write.tensor, tuple(map(self._moved, write.indices)))
            if cotangent is not None:
                given = [(value, self._where_present(value, cotangent))]
                some = self._backward.keeps_what_is_absent(write.tensor)
                roots += self._only(self._algebra.is_some(cotangent) if some else None, given)
        reduces = [e for e in dict.fromkeys(walk(*(value for value, _ in roots))) if isinstance(e, Reduce)]
        if any(reduce.function == "topk" for reduce in reduces):
            raise UnknownAdjoint("a block with `topk` and floats")
        self._stored = {reduce: self._value(reduce) for reduce in reduces}
        active: list[Reduce] = []  # what stands in others comes first
        for reduce in reduces:
            if reduce.kind is Kind.FLOAT and self._reached(reduce, active):
                active.append(reduce)
        self._given = {reduce: [] for reduce in active}
        for alike in _alike(roots):
            self._of_rows(alike)
        while self._given:
            self._of_reductions(_outermost(self._given))

    def _of_reductions(self, reduces: Iterable[Reduce]) -> None:
        """Gives back what reductions do whose adjoints are known whole: those that stand in no other one."""
        pairs: dict[tuple[Expr | None, frozenset[Condition]], Roots] = defaultdict(list)
        sinks: Roots = []
        for reduce in reduces:
            for adjoint in self._given.pop(reduce):
                given, where = self._kept(reduce, adjoint)
                parts = [part for part in (reduce.score, reduce.value, reduce.mask, given) if part is not None]
                pairs[reduce.mask, frozenset(conditions(*parts))] += self._only(where, self._of_pairs(reduce, given))
                sinks += self._only(where, self._of_sink(reduce, given))
        for (mask, _), given_back in pairs.items():
            self._over_pairs(given_back, mask)
        for alike in _alike(sinks):
            self._of_rows(alike)

    def _where_present(self, value: Expr, adjoint: Expr) -> Adjoint:
        """The adjoint of a value, absent where that is."""
        if not forgets_a_part(value):
            return Adjoint(adjoint)
        there = self._algebra.apply("feq", value, value)
        return Adjoint(self._algebra.apply("fselect", there, adjoint, adjoint))

    def _reached(self, reduce: Reduce, active: Collection[Expr]) -> bool:
        """Whether a reduction has a derivative by what is differentiated by, or by one that has."""
        parts = [part for part in (reduce.score, reduce.value, reduce.sink) if part is not None]
        wanted = {e for e in walk(*parts) if e in active or self._backward.is_differentiated(e)}
        return bool(wanted & reaching(parts, wanted))

    def _differentiated(self, roots: Roots) -> set[Expr]:
        return {e for root, _ in roots for e in walk(root) if e in self._given or self._backward.is_differentiated(e)}

    def _of_rows(self, roots: Roots) -> None:
        """Gives back what a row gives to what it reads itself, and to its reductions."""
        nest = self._nest(frozenset(self._block.each))
        for expr, adjoint in sweep(self._algebra, roots, self._differentiated(roots), alone=True).items():
            if isinstance(expr, Reduce):
                self._given[expr].append(adjoint)
            elif isinstance(expr, Read):
                value = self._row(self._algebra.where(adjoint.where, adjoint.value))
                self._backward.give_back(self._number, nest, expr, value)

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
        algebra, seen = self._algebra, [reduce.score, *(joined("and", reduce.mask) if reduce.mask is not None else ())]
        if reduce.value is None or is_there_with(reduce.value, seen):
            return reduce.score
        axes = {e.index for e in walk(reduce.value) if isinstance(e, IndexValue) and e.index.role == "axis"}
        same = [algebra.index(axis) for axis in axes if not rests_on_axis(reduce.value, axis)]
        there = self._is_there(Moving(algebra, instead=dict.fromkeys(same, algebra.number(0)))(reduce.value))
        return algebra.apply("fselect", there, reduce.score, reduce.score)

    def _is_there(self, value: Expr) -> Expr:
        """A truth value that is absent where a number is, or any element of it along axes that differ in that."""
        there = self._algebra.apply("feq", value, value)
        free = sorted(self._algebra.free(value), key=lambda index: index.name)
        for axis in (index for index in free if index.role == "axis" and rests_on_axis(value, index)):
            there = self._algebra.graph.reduce_axis("min", axis, there, NOWHERE)
        return there

    def _where_whole(self, value: Expr, adjoint: Expr) -> Adjoint:
        """The adjoint of what a reduction folds of a key, absent where any element of it is."""
        free = self._algebra.free(value)
        if not forgets_a_part(value) and not any(i.role == "axis" and rests_on_axis(value, i) for i in free):
            return Adjoint(adjoint)
        return Adjoint(self._algebra.apply("fselect", self._is_there(value), adjoint, adjoint))

    def _weight(self, reduce: Reduce) -> Expr:
        """The weight of a key, exp(score - lse): 0 where the score is -inf, of a row that sees nothing else too."""
        return self._backward.name(self._power(reduce, self._backward.name(reduce.score, "score")), "p")

    def _power(self, reduce: Reduce, score: Expr) -> Expr:
        """exp(score - lse) of a reduction; 0 stands for lse where all scores are -inf."""
        algebra, lse = self._algebra, self._lse(reduce)
        nothing = algebra.apply("feq", lse, algebra.number(float("-inf")))
        shift = self._backward.name(algebra.apply("fselect", nothing, algebra.number(0.0), lse), "shift")
        return algebra.apply("exp", algebra.subtract(score, shift))

    def _kept(self, reduce: Reduce, adjoint: Adjoint) -> tuple[Expr, Expr | None]:
        """The adjoint of a reduction, from a workspace where it is more than an element; and where it is not 0."""
        algebra, sink = self._algebra, reduce.sink
        value = self._row(algebra.where(adjoint.where, adjoint.value))
        if sink is not None and conditions(sink):  # where the sink is absent, the reduction is
            value = algebra.apply("fselect", algebra.apply("feq", sink, sink), value, value)
        where, in_value = adjoint.where, False
        if where is not None:
            in_value = any(isinstance(e, Reduce) and e not in self._stored for e in walk(where))  # a sum over pairs
            where = None if in_value else self._row(where)
        if not isinstance(value, Read):
            in_value |= bool(conditions(value))
            value = self._backward.keep(self._number, self._rows(), "g", value)
        return value, algebra.both(where, algebra.is_some(value) if in_value else None)

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
                return [(reduce.score, self._where_whole(reduce.score, given))]
            case "logsumexp":
                return [(reduce.score, Adjoint(algebra.multiply(self._weight(reduce), given)))]
            case "softmax" if reduce.value is not None:
                weight = self._weight(reduce)
                product = self._over_axes(algebra.multiply(given, reduce.value), reduce.score)
                score = algebra.multiply(weight, algebra.subtract(product, self._delta(reduce, given)))
                back = Adjoint(self._backward.name(score, "ds"))
                return [
                    (reduce.value, self._where_whole(reduce.value, algebra.multiply(weight, given))),
                    (reduce.score, back),
                ]
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
        weight = self._power(reduce, sink)  # of a row without keys the sink may be anything in memory
        if reduce.function == "logsumexp":
            return [(sink, Adjoint(algebra.multiply(weight, given), algebra.is_some(given)))]
        delta = self._delta(reduce, given)
        return [(sink, Adjoint(algebra.multiply(weight, algebra.negate(delta)), algebra.is_some(delta)))]

    # --- pairs of a row and a key

    def _over_pairs(self, roots: Roots, mask: Expr | None) -> None:
        """Gives back what pairs give, each in the nest of what its place depends on."""
        algebra = self._algebra
        wanted = self._differentiated(roots)
        found = sorted(wanted & reaching([root for root, _ in roots], wanted), key=self._serial)
        if mask is not None:
            self._backward.name(mask, "mask")
        for rows, mine in self._by_nest(found, self._batches(roots)).items():
            nest = self._nest(rows, self._grouped(rows, mine, mask))
            moved = self._in(nest)
            self._keep_names(moved, roots, mask)
            given = [(moved(root), _moved(adjoint, moved)) for root, adjoint in roots]
            inside = algebra.both(nest.inside, None if mask is None else moved(mask))
            places = {moved(expr): expr for expr in mine}
            keep = partial(self._settled, nest, places) if nest.over else None
            for read, adjoint in sweep(algebra, given, places, inside, keep).items():
                if isinstance(reduce := places[read], Reduce):
                    self._given[reduce].append(adjoint)
                else:
                    assert isinstance(read, Read)
                    self._backward.give_back(self._number, nest, read, algebra.where(adjoint.where, adjoint.value))

    def _in(self, nest: Nest) -> Callable[[Expr], Expr]:
        """What stands for an expression of a row and a key in a nest, in which no reduction is made again."""
        return lambda expr: nest.moved(self._row(expr))

    def _batches(self, roots: Roots) -> frozenset[Index]:
        """The variables that both factors of a contraction have: a sum over them is no product of matrices."""
        factors = [
            body.arguments
            for e in walk(*(root for root, _ in roots))
            if isinstance(e, ReduceAxis) and isinstance(body := e.body, Apply) and body.operator == "fmul"
        ]
        sides = [[variables_of(self._algebra, [side]) for side in each] for each in factors]
        return frozenset[Index]().union(*(left & right for left, right in sides))

    def _by_nest(self, exprs: Iterable[Expr], batches: frozenset[Index]) -> dict[frozenset[Index], list[Expr]]:
        """Reads by the rows of the nest in which they get back; a reduction of each row does in the spec's own.

        What depends on part of the rows of a nest that there is, is summed up there, and then beyond. Where batches
        alone are left to sum over, all variables are rows: pairs of rows and keys are products of matrices then.
        """
        rows, pairs = frozenset(self._block.each), frozenset((*self._block.each, *self._block.over))
        nests: dict[frozenset[Index], list[Expr]] = defaultdict(list)
        for expr in exprs:
            held = variables_of(self._algebra, expr.indices) if isinstance(expr, Read) else rows
            nests[rows if held <= rows else pairs if pairs - held <= batches else held].append(expr)
        found: dict[frozenset[Index], list[Expr]] = {}
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
            name, made = self._backward.name_of(expr), moved(expr)
            if name is not None and not isinstance(made, IndexValue):  # a quotient may be a variable there
                self._backward.name(made, name)

    def _serial(self, expr: Expr) -> int:
        return self._algebra.graph.facts(expr).serial

    def _rows(self) -> Nest:
        return self._nest(frozenset(self._block.each))

    def _grouped(self, rows: frozenset[Index], exprs: Iterable[Expr], mask: Expr | None) -> tuple[Group, ...]:
        """Of which rows of a nest that sums over others those that get back know a quotient alone.

        A mask that tells the rows of a group apart has bounds for each of them, and none for all.
        """
        if rows == {*self._block.each, *self._block.over}:
            return ()
        places: list[Expr] = []
        for expr in exprs:
            if not isinstance(expr, Read):
                return ()
            places += expr.indices
        found = []
        for variable in (index for index in self._block.each if index in rows):
            quotient = quotient_of(self._algebra, variable, places)
            if quotient is None or shapes(self._block, variable):
                continue
            alone = mask is None or quotient_of(self._algebra, variable, [quotient, mask]) is quotient
            if alone and (group := self._group(quotient)) is not None:
                found.append(group)
        return tuple(found)

    def _group(self, quotient: Apply) -> Group | None:
        """What stands for the variable of a quotient; the groups are called what the quotient is."""
        count = count_of(self._algebra, quotient, self._backward.spec.requires)
        if count is not None and quotient not in self._groups:
            (variable,) = self._algebra.free(quotient)
            row = self._backward.name_of(quotient) or self._backward.fresh(f"{variable.name}_group")
            group = group_of(self._algebra, quotient, count, (row, self._backward.fresh("t")))
            self._backward.name(group.value, variable.name)
            self._groups[quotient] = group
        return self._groups.get(quotient)

    def _nest(self, rows: frozenset[Index], groups: tuple[Group, ...] = ()) -> Nest:
        if (rows, groups) not in self._nests:
            self._nests[rows, groups] = nest_of(self._algebra, self._block, rows, self._backward.tensors, groups)
        return self._nests[rows, groups]


def _moved(adjoint: Adjoint, moved: Callable[[Expr], Expr]) -> Adjoint:
    return Adjoint(moved(adjoint.value), None if adjoint.where is None else moved(adjoint.where))


def _alike(roots: Roots) -> list[Roots]:
    """Roots that are absent together."""
    groups: dict[frozenset[Condition], Roots] = defaultdict(list)
    for root, adjoint in roots:
        groups[frozenset(conditions(root, *(part for part in adjoint if part is not None)))].append((root, adjoint))
    return [*groups.values()]


def _outermost(reduces: Iterable[Reduce]) -> list[Reduce]:
    """The reductions that stand in no other one."""
    inner = {e for reduce in reduces for part in operands(reduce) for e in walk(part)}
    return [reduce for reduce in reduces if reduce not in inner]


def _is_plain(write: Write, rows: Iterable[Index]) -> bool:
    """Whether there is an element for each row and each value of its axes, and what is written is one."""
    places = [place.index for place in write.indices if isinstance(place, IndexValue)]
    whole = all(map(is_inside, write.indices, map(expression_text, write.tensor.extents)))
    return not write.adds and whole and len(places) == len(write.indices) and {*places} == {*rows, *write.axes}
