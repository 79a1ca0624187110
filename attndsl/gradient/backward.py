"""The backward of a spec while it is made: its tensors, and what the blocks of the forward give back to them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial, reduce

from attndsl.checking.layouts import LAYOUT, following
from attndsl.checking.text import expression_text
from attndsl.checking.typed import (
    Apply,
    Block,
    Constant,
    DimValue,
    Expr,
    Index,
    IndexValue,
    Kind,
    Param,
    ParamValue,
    Read,
    Reduce,
    ReduceAxis,
    Spec,
    Tensor,
    Write,
    walk,
)
from attndsl.gradient.algebra import NOWHERE, Algebra, Moving
from attndsl.gradient.distances import by_distance
from attndsl.gradient.nests import Nest, variables_of
from attndsl.gradient.places import is_inside, slice_of, told_apart
from attndsl.gradient.presence import conditions
from attndsl.syntax import tree
from attndsl.syntax.parse import parse
from attndsl.syntax.source import Span

SUMS = ("f32", "f64")
"""What log-sum-exps, and sums of rows, are stored as: f64 in a call of f64."""

APART = 8
"""How many sums further the next row adds to: so many keys of so many rows beside them add to different ones."""

MOST_SHARED = 2**22
"""Numbers that the sums of a table may be: 16 MiB in f32."""


@dataclass(frozen=True)
class Saved:
    """What the forward writes for the backward beside its outputs: an expression of a block, one for each row.

    Of a vector there is one for each value of its `axes`, too.
    """

    block: int
    tensor: Tensor
    indices: tuple[Expr, ...]
    axes: tuple[Index, ...]
    value: Expr


@dataclass(frozen=True)
class Derived:
    """The backward of a spec, and what the forward keeps for it."""

    backward: Spec
    saved: tuple[Saved, ...]
    kept: tuple[str, ...]
    """The temps of the forward that the backward reads."""
    names: Mapping[Expr, str]
    """What expressions of the backward are called."""
    cotangents: Mapping[str, str]
    """The inputs of the backward by the outputs whose cotangents they are."""
    gradients: Mapping[str, str]
    """The outputs of the backward by the inputs whose gradients they are."""


@dataclass
class _GivenBack:
    """What a block gives back to a tensor in one nest."""

    block: int
    nest: Nest
    indices: tuple[Expr, ...]
    axes: tuple[Index, ...]
    value: Expr


class Backward:
    """The backward of a spec, with the gradients of the inputs `wanted`, of cotangents of its float `outputs`."""

    def __init__(self, spec: Spec, wanted: Iterable[str], outputs: Collection[str]) -> None:
        self.spec = spec
        self.algebra = Algebra()
        self._wanted = tuple(wanted)
        self._taken = {*re.findall(r"\w+", spec.source.text), *spec.tensors, *_axis_names(spec)}
        self._called = _called(spec)
        self._sums = self.fresh("A")
        self._names: dict[Expr, str] = {}
        self._saved: dict[Tensor, Saved] = {}
        self._workspaces: dict[tuple[int, Nest], list[Write]] = defaultdict(list)
        between = _between(spec)
        self.tensors = {tensor: self._left(tensor) for tensor in between if tensor.is_computed}
        floats = [tensor for tensor in spec.outputs if spec.kind(tensor) is Kind.FLOAT]
        self._cotangents = {t.name: self._named_after(t, "input") for t in floats if t.name in outputs}
        self._results = {name: self._named_after(spec.tensors[name], "output") for name in self._wanted}
        for tensor in between:
            if spec.kind(tensor) is Kind.FLOAT:
                mine = self.tensors.get(tensor, tensor)
                self._results[mine.name] = replace(self._named_after(mine, "temp"), element=self._sums)
        self._parts: dict[str, list[_GivenBack]] = {name: [] for name in self._results}

    # --- elements

    def is_differentiated(self, expr: Expr) -> bool:
        """Whether an expression is an element of what is differentiated by: an input, or what another block wrote."""
        return isinstance(expr, Read) and expr.tensor.name in self._parts

    def reaches(self, name: str) -> bool:
        """Whether an input has something given back."""
        return bool(self._parts[name])

    def read(self, tensor: Tensor, indices: tuple[Expr, ...]) -> Expr:
        """An element of a tensor of floats."""
        return self.algebra.graph.read(tensor, Kind.FLOAT, indices, NOWHERE)

    def cotangent(self, tensor: Tensor, indices: tuple[Expr, ...]) -> Expr | None:
        """The adjoint of an element that is written: what a call gives, and what later blocks have given back."""
        name = self.tensors.get(tensor, tensor).name
        later = self._results[name] if self._parts.get(name) else None
        total: Expr | None = None
        for each in (self._cotangents.get(name), later):
            total = total if each is None else self.algebra.add(total, self.read(each, indices))
        return total

    def keeps_what_is_absent(self, tensor: Tensor) -> bool:
        """Whether the gradient of a temp that the compiler made is 0 where later blocks gave back what is absent."""
        mine = self.tensors.get(tensor)
        return mine is not None and any(conditions(part.value) for part in self._parts.get(mine.name, ()))

    # --- names

    def name(self, expr: Expr, name: str) -> Expr:
        """An expression that is called so in the text, unless it has a name."""
        self._names.setdefault(expr, name)
        return expr

    def name_of(self, expr: Expr) -> str | None:
        """What an expression is called, if it is."""
        return self._names.get(expr)

    def name_as_written(self, written: Iterable[Expr], moved: Moving) -> None:
        """What the author of the spec named keeps its name."""
        found = {span: expr for expr in written if (span := expr.span) in self._called}  # the whole comes last
        for span, expr in found.items():
            if isinstance(made := moved(expr), Apply | Reduce | ReduceAxis):
                self.name(made, self._called[span])

    # --- what is kept

    def save(self, block: int, rows: tuple[Index, ...], name: str, value: Reduce) -> Expr:
        """An element of what the forward keeps, of a row: a reduction to a float, or to a position."""
        axes = self._axes(value)
        places = tuple(map(self.algebra.index, (*rows, *axes)))
        tensor = next((t for t, saved in self._saved.items() if saved.value is value and saved.block == block), None)
        if tensor is None:
            element = self._sums if value.kind is Kind.FLOAT else "i64"
            tensor = Tensor(self.fresh(name), "input", element, self._room((*rows, *axes)), NOWHERE)
            self._saved[tensor] = Saved(block, tensor, places, axes, value)
        return self.algebra.graph.read(tensor, value.kind, places, NOWHERE)

    def keep(self, block: int, nest: Nest, name: str, value: Expr) -> Expr:
        """An element of a workspace that a nest of loops fills."""
        axes = self._axes(value)
        places = tuple(map(self.algebra.index, (*nest.each, *axes)))
        writes = self._workspaces[block, nest]
        for write in writes:
            if write.value is value:
                return self.read(write.tensor, places)
        tensor = Tensor(self.fresh(name), "temp", self._sums, self._room((*nest.each, *axes)), NOWHERE)
        writes.append(Write(tensor, places, axes, value, NOWHERE))
        return self.read(tensor, places)

    def _axes(self, value: Expr) -> tuple[Index, ...]:
        """The axes of a vector."""
        return tuple(sorted((i for i in self.algebra.free(value) if i.role == "axis"), key=lambda index: index.name))

    def give_back(self, block: int, nest: Nest, read: Read, value: Expr) -> None:
        """Adds to the gradient of what `read` reads. An axis that is no subscript of its own is a row."""
        axes = {index for place in read.indices for index in self.algebra.free(place) if index.role == "axis"}
        result, indices = self._results[read.tensor.name], read.indices
        whole = tuple(axis for axis in _in_places(axes, indices) if _runs(result, indices, axis))
        if rest := sorted(axes - {*whole}, key=lambda axis: axis.name):
            rows = {axis: replace(axis, role="each", name=self.fresh(axis.name)) for axis in rest}
            moved = Moving(self.algebra, rows)
            indices, value = tuple(map(moved, indices)), moved(value)
            nest = replace(nest, each=(*nest.each, *rows.values()))
        parts = self._parts[read.tensor.name]
        for part in parts:
            same = (part.block, part.nest, part.indices) == (block, nest, indices)
            if same and conditions(part.value) == conditions(value):  # else one could be absent, and the other with it
                part.value = self.algebra.add(part.value, value)
                return
        parts.append(_GivenBack(block, nest, indices, whole, value))

    # --- the spec

    def finished(self) -> Derived:
        """The spec of all that was given back."""
        blocks: list[Block] = []
        for number in reversed(range(len(self.spec.blocks))):
            blocks += self._blocks(number)
        blocks = _needed(blocks)
        used = _tensors(blocks)
        spec = self.spec
        tensors = [tensor for tensor in spec.inputs if tensor in used]
        between = [tensor for tensor in spec.written if tensor in used]
        tensors += [replace(tensor, role="input") for tensor in between]
        tensors += [tensor for tensor in (*self._saved, *self._cotangents.values()) if tensor in used]
        written = dict.fromkeys(write.tensor for block in blocks for write in block.writes)
        results = [t for t in self._results.values() if t in written and t.role == "output"]
        tensors += [tensor for tensor in written if tensor not in results] + results
        params = self._params(blocks)
        tensors = self._telling(tensors, blocks, params) + tensors
        elements = {tensor.element for tensor in tensors}
        types = {name: choices for name, choices in spec.types.items() if name in elements}
        backward = replace(
            spec,
            name=self.fresh(f"{spec.name}_backward"),
            dims=tuple(dim for dim in spec.dims if dim in (told := _dims(*_extents(tensors)))),
            params=params,
            requires=tuple(r for r in spec.requires if _dims(r) <= told and _params(r) <= {p.name for p in params}),
            types={**types, self._sums: SUMS} if self._sums in elements else types,
            tensors={tensor.name: tensor for tensor in tensors},
            blocks=tuple(blocks),
            schedule=_schedule(spec, {tensor.name: tensor for tensor in tensors}),
        )
        return Derived(
            backward=backward,
            saved=tuple(saved for tensor, saved in self._saved.items() if tensor in used),
            kept=tuple(tensor.name for tensor in between if tensor.role == "temp"),
            names=self._names,
            cotangents={name: tensor.name for name, tensor in self._cotangents.items() if tensor in used},
            gradients={name: self._results[name].name for name in self._wanted if self._parts[name]},
        )

    def _params(self, blocks: Iterable[Block]) -> tuple[Param, ...]:
        """The parameters that blocks use, and those that their defaults, and extents of tensors, are made of."""
        exprs = [e for b in blocks for e in (*_exprs(b), *(i.bound for i in (*b.each, *b.over)))]
        used = _params(*exprs, *_extents(_tensors(blocks)), *_extents(t for t in self._results.values()))
        for param in reversed(self.spec.params):
            if param.name in used and param.formula is not None:
                used |= _params(param.formula)
        return tuple(param for param in self.spec.params if param.name in used)

    def _telling(self, tensors: list[Tensor], blocks: list[Block], params: Iterable[Param]) -> list[Tensor]:
        """Inputs of the forward that tell dims which no input of the backward tells."""
        exprs = [e for b in blocks for e in (*_exprs(b), *(i.bound for i in (*b.each, *b.over)))]
        formulas = [param.formula for param in params if param.formula is not None]
        needed = _dims(*exprs, *formulas, *_extents(tensors))
        told = _told(tensor for tensor in tensors if tensor.role == "input")
        found: list[Tensor] = []
        for tensor in self.spec.inputs:
            if tensor not in tensors and not _told([tensor]).isdisjoint(needed - told):
                found.append(tensor)
                told |= _told([tensor])
        return found

    def _blocks(self, number: int) -> list[Block]:
        """What a block of the forward gives back: workspaces first, each before what reads it, then gradients."""
        writes: dict[Nest, list[Write]] = defaultdict(list)
        for (block, nest), made in self._workspaces.items():
            writes[nest] += made if block == number else []
        for name, parts in self._parts.items():
            for part in parts:
                if part.block == number:
                    several = len(parts) > 1
                    adds = several or not {*part.nest.each} <= told_apart(part.indices)
                    made_of = Write(self._results[name], part.indices, part.axes, part.value, NOWHERE, adds)
                    for nest, write in self._shared_out(number, part.nest, made_of, several):
                        writes[nest].append(write)
        return _in_order(writes)

    def _shared_out(self, block: int, nest: Nest, write: Write, several: bool) -> list[tuple[Nest, Write]]:
        """A write, or two where pairs of rows and keys add to elements of which data say which; one of `several`.

        A table has few elements, and all pairs would wait for each other to add to them. Where data say it by how far
        a row and a key are apart, as buckets of distances do, what is added up first is an element for each distance.
        Else each has as many sums as there are keys, where memory allows, and one nest more adds these up. Where each
        element asks all pairs what it gets of them, for the same bits each time, there is nothing to wait for.
        """
        places = [place for place in write.indices if any(isinstance(expr, Read) for expr in walk(place))]
        pairs = [index for index in nest.each if any(index in self.algebra.free(place) for place in places)]
        summed = nest.over or not self.spec.blocks[block].over
        if not write.adds or write.axes or summed or len(pairs) != 2 or self.spec.schedule.get("deterministic"):
            return [(nest, write)]
        if (apart := self._by_distance(nest, write, *pairs)) is not None:
            return apart
        algebra, one = self.algebra, self.algebra.number(1)
        row, key = map(algebra.index, pairs)
        diagonal = algebra.apply("iadd", algebra.apply("imul", row, algebra.number(APART)), key)
        elements = reduce(partial(algebra.apply, "imul"), map(Moving(algebra), write.tensor.extents))
        room = algebra.apply("idiv", algebra.number(MOST_SHARED), algebra.apply("iadd", one, elements))
        shares = algebra.apply("iadd", one, algebra.apply("imin", self._most(pairs[1]), room))
        name, extents = self.fresh(f"{write.tensor.name}_shares"), (*write.tensor.extents, shares)
        shared = Tensor(name, "temp", self._sums, extents, NOWHERE)
        share = algebra.apply("imod", diagonal, shares)
        each = tuple(
            place.index
            if isinstance(place, IndexValue) and is_inside(place, expression_text(extent))
            else self._running("at", "each", extent)
            for place, extent in zip(write.indices, write.tensor.extents, strict=True)
        )
        axis = self._running("share", "axis", shares)
        found = self.read(shared, tuple(map(algebra.index, (*each, axis))))
        total = replace(
            write,
            indices=tuple(map(algebra.index, each)),
            value=algebra.sum_over(frozenset([axis]), found),
            adds=several,
        )
        return [
            (nest, replace(write, tensor=shared, indices=(*write.indices, share))),
            (Nest(each, (), Moving(algebra), None), total),
        ]

    def _by_distance(self, nest: Nest, write: Write, row: Index, key: Index) -> list[tuple[Nest, Write]] | None:
        """A write of a row and a key as a sum for each distance, and one of these; None where more tells them apart."""
        algebra = self.algebra
        places = variables_of(algebra, write.indices)
        others = tuple(index for index in nest.each if index in places and index not in (row, key))
        if any(isinstance(part, IndexValue) for index in others for part in walk(index.extent)):
            return None
        rows, keys = self._most(row), self._most(key)
        at = self._running("at", "each", algebra.apply("iadd", rows, keys))
        moved = by_distance(algebra, write.indices, row, key, rows, algebra.index(at))
        if moved is None:
            return None
        name = self.fresh(f"{write.tensor.name}_by_distance")
        summed = Tensor(name, "temp", self._sums, (*self._room(others), at.extent), NOWHERE)
        place = algebra.apply("iadd", algebra.index(key), rows)
        place = algebra.apply("isub", place, algebra.index(row))
        known = tuple(map(algebra.index, others))
        sums = self.read(summed, (*known, algebra.index(at)))
        return [
            (nest, replace(write, tensor=summed, indices=(*known, place))),
            (Nest((*others, at), (), Moving(algebra), None), replace(write, indices=moved, value=sums)),
        ]

    def _running(self, name: str, role: str, extent: Expr) -> Index:
        """A variable that runs through an extent."""
        return Index(self.fresh(name), role, extent, extent, NOWHERE)  # type: ignore[arg-type]  # of its roles

    def _left(self, tensor: Tensor) -> Tensor:
        """What the forward saves in place of a workspace that no text declares."""
        number, write = next((n, w) for n, b in enumerate(self.spec.blocks) for w in b.writes if w.tensor is tensor)
        element = {Kind.FLOAT: self._sums, Kind.INT: "i64", Kind.BOOL: "bool"}[self.spec.kind(tensor)]
        self._taken.discard(tensor.name)
        mine = replace(tensor, name=self.fresh(tensor.name), role="input", element=element)
        moved = Moving(self.algebra)
        self._saved[mine] = Saved(number, mine, tuple(map(moved, write.indices)), write.axes, moved(write.value))
        return mine

    def _named_after(self, tensor: Tensor, role: str) -> Tensor:
        """A tensor for what is given back to another, of all its extents."""
        name = self.fresh(f"d_{tensor.name}")
        return replace(tensor, name=name, role=role, default=None, broadcast=())  # type: ignore[arg-type]

    def fresh(self, name: str) -> str:
        """A name that nothing has yet: this one, or with a number."""
        found, number = name, 1
        while found in self._taken:
            number += 1
            found = f"{name}_{number}"
        self._taken.add(found)
        return found

    def _room(self, indices: Iterable[Index]) -> tuple[Expr, ...]:
        """The extents of a tensor with an element for each of some variables' values."""
        return tuple(map(self._most, indices))

    def _most(self, index: Index) -> Expr:
        bound = Moving(self.algebra)(index.bound)
        if isinstance(bound, DimValue | Constant):
            return bound
        return self.algebra.apply("imax", self.algebra.number(0), bound)


def _in_order(writes: Mapping[Nest, list[Write]]) -> list[Block]:
    """Blocks in which writes stand behind those of what they read; as few as that takes, sums over keys apart."""
    left = [(nest, _sums(write), write) for nest, found in writes.items() for write in found]
    blocks: list[Block] = []
    while left:
        unwritten = {write.tensor for *_, write in left}
        ready = [each for each in left if not _reads(each[-1]) & unwritten]
        awaited = [each for each in ready if each[-1].tensor.role == "temp"] or ready
        for nest, sums in dict.fromkeys((nest, sums) for nest, sums, _ in awaited):
            found = [each for each in ready if each[:2] == (nest, sums)]
            blocks.append(Block(nest.each, nest.over if sums else (), tuple(write for *_, write in found)))
            left = [each for each in left if each not in found]
    return blocks


def _needed(blocks: list[Block]) -> list[Block]:
    """Blocks without the workspaces that nothing reads."""
    while True:
        read = {tensor for block in blocks for write in block.writes for tensor in _reads(write)}
        kept = [
            replace(b, writes=tuple(w for w in b.writes if w.tensor.role == "output" or w.tensor in read))
            for b in blocks
        ]
        kept = [block for block in kept if block.writes]
        if kept == blocks:
            return blocks
        blocks = kept


def _between(spec: Spec) -> list[Tensor]:
    """The tensors that some block writes and a later one reads."""
    exprs = [expr for block in spec.blocks for expr in _exprs(block)]
    read = {expr.tensor for expr in walk(*exprs) if isinstance(expr, Read)}
    return [tensor for tensor in spec.written if tensor in read]


def _exprs(block: Block) -> list[Expr]:
    extents = [index.extent for index in (*block.each, *block.over)]
    return extents + [expr for write in block.writes for expr in (*write.indices, write.value)]


def _tensors(blocks: Iterable[Block]) -> set[Tensor]:
    exprs = [expr for block in blocks for expr in _exprs(block)]
    return {expr.tensor for expr in walk(*exprs) if isinstance(expr, Read)}


def _reads(write: Write) -> set[Tensor]:
    return {expr.tensor for expr in walk(*write.indices, write.value) if isinstance(expr, Read)}


def _sums(write: Write) -> bool:
    return any(isinstance(expr, Reduce) for expr in walk(*write.indices, write.value))


def _extents(tensors: Iterable[Tensor]) -> list[Expr]:
    return [extent for tensor in tensors for extent in tensor.extents]


def _told(tensors: Iterable[Tensor]) -> set[str]:
    """The dims that tensors tell: those that are the only one of an extent."""
    return {dim for extent in _extents(tensors) if len(dims := _dims(extent)) == 1 for dim in dims}


def _dims(*exprs: Expr) -> set[str]:
    return {expr.name for expr in walk(*exprs) if isinstance(expr, DimValue)}


def _params(*exprs: Expr) -> set[str]:
    return {expr.name for expr in walk(*exprs) if isinstance(expr, ParamValue)}


def _in_places(axes: Iterable[Index], places: tuple[Expr, ...]) -> list[Index]:
    """Axis variables in the order of the subscripts that have them."""
    order = [expr.index for place in places for expr in walk(place) if isinstance(expr, IndexValue)]
    return sorted(axes, key=order.index)


def _runs(tensor: Tensor, places: tuple[Expr, ...], axis: Index) -> bool:
    """Whether an axis is in one subscript alone, which is a slice for all of it."""
    found = [
        n for n, place in enumerate(places) if any(isinstance(e, IndexValue) and e.index is axis for e in walk(place))
    ]
    return len(found) == 1 and slice_of(tensor, found[0], places[found[0]], axis) is not None


def _called(spec: Spec) -> dict[Span, str]:
    """What values are called in a spec's text, by the places where they are written."""
    return {
        statement.value.span: statement.name.text
        for statement in parse(spec.source).statements
        if isinstance(statement, tree.Let | tree.Definition)
    }


def _axis_names(spec: Spec) -> set[str]:
    exprs = [expr for block in spec.blocks for expr in _exprs(block)]
    return {expr.index.name for expr in walk(*exprs) if isinstance(expr, IndexValue)}


def _schedule(spec: Spec, tensors: Mapping[str, Tensor]) -> dict[str, int | str]:
    """What a spec pins of its backward too, which has these tensors: gradients lie as outputs do."""
    pinned = {name: value for name, value in spec.schedule.items() if name in ("deterministic", LAYOUT)}
    if pinned.get(LAYOUT) not in tensors or not following(tensors, pinned):
        pinned.pop(LAYOUT, None)
    return pinned
