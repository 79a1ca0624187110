"""Typed spec to `attn` IR.

Here absence becomes plain dataflow: each expression gives a value and, where it can be absent, an i1 that says where
it is present. Reads are guarded, reductions and writes take what is left as their `where`. Nothing is simplified
except that a condition known to hold is left out: that is the passes' work.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from attndsl.checking import typed
from attndsl.checking.coverage import partial_outputs, written_between
from attndsl.checking.layouts import LAYOUT
from attndsl.checking.plain import plain
from attndsl.checking.typed import STORAGE_KINDS, Kind
from attndsl.ir import attn, spec
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.clip import FAR
from attndsl.ir.hints import hint
from attndsl.ir.ranges import Ranges
from attndsl.ir.rankings import Left, Ranking, rankings_of, reductions_in, room
from attndsl.ir.rewrite import attribute, constant_op
from attndsl.ir.totals import Total, totals_of
from attndsl.ir.workspaces import fresh
from attndsl.ir.xdsl import (
    Attribute,
    DictionaryAttr,
    FileLineColLoc,
    IntAttr,
    IntegerAttr,
    ModuleOp,
    Operation,
    SSAValue,
    StringAttr,
    arith,
    f32,
    f64,
    i1,
    index,
    math,
)
from attndsl.printable import printable
from attndsl.syntax.source import Span

PARAMETERS: Mapping[Kind, Attribute] = {Kind.BOOL: i1, Kind.INT: index, Kind.FLOAT: f32}
"""The types of parameters: a real one is of f32, whatever it is computed with."""


ROLES = {"input": "input", "output": "output", "inout": "inout", "temp": "workspace"}
"""The roles of a spec's tensors in the IR."""


class Scalar(NamedTuple):
    """A value and where it is present; None: everywhere."""

    value: SSAValue
    present: SSAValue | None


def build(checked: typed.Spec, types: Mapping[str, str]) -> ModuleOp:
    """The module of a spec for one choice of element types; `types` maps every type variable to one.

    Sums are kept in f32, in f64 where a tensor is f64: what rows add to an output of another type in a workspace, from
    which a kernel behind the last block that adds stores it.
    """
    elements = {t.name: types.get(t.element, t.element) for t in checked.tensors.values()}
    computed = typed.computed_in(elements.values())
    elements = {name: computed.get(element, element) for name, element in elements.items()}
    compute = f64 if "f64" in computed.values() else f32
    totals = totals_of(checked, elements, str(compute))
    partial = {*partial_outputs(checked)} - {total.output.name for total in totals}
    ends = written_between(checked)
    tensors = [
        spec.TensorOp(
            t.name,
            ROLES[t.role],
            elements[t.name],
            [plain(e) for e in t.extents],
            t.name in partial,
            ends.get(t.name),
        )
        for t in checked.tensors.values()
    ]
    kinds = {Kind.BOOL: i1, Kind.INT: index, Kind.FLOAT: compute}
    parameters = [
        spec.ParameterOp(
            p.name, type_, None if p.default is None else attribute(p.default, type_), p.name in checked.sizes
        )
        for p in checked.params
        for type_ in (PARAMETERS[p.kind],)
    ]
    of_tiles = {name: value for name, value in checked.schedule.items() if name != LAYOUT}  # a kernel takes any strides
    schedule = DictionaryAttr({name: _setting(value) for name, value in of_tiles.items()})
    taken = {*checked.tensors, *checked.dims, *(p.name for p in checked.params), *(total.name for total in totals)}
    kernels, workspaces = [], []
    for number, block in enumerate(checked.blocks):
        name = checked.name if len(checked.blocks) == 1 else f"{checked.name}_{number}"

        left: dict[typed.Reduce, Left] = {}

        def builder(part: str = "", name: str = name, left: dict[typed.Reduce, Left] = left) -> _KernelBuilder:
            pinned = schedule if of_tiles and not part else None
            kernels.append(attn.KernelOp(name + part, pinned))
            names = {t.output.name: t.name for t in totals}
            return _KernelBuilder(checked, kernels[-1], elements, kinds, names, left)

        for total in totals:
            if number == total.first:
                builder(f"_clears_{total.output.name}").clear(total)
        rankings = [*rankings_of(block, taken)]
        for ranking in rankings:
            for reduce in reductions_in(ranking.reduce, left):
                kept = Left.of(reduce, block, fresh(f"{ranking.scores}_{reduce.function}", taken))
                taken.add(kept.name)
                builder(f"_{kept.name}").leave(block, reduce, kept)
                workspaces.append(workspace(kept.name, kinds[reduce.kind], kept.rows))
                left[reduce] = kept
            builder(f"_{ranking.scores}").score(block, ranking)
            block = replace(block, writes=tuple(write for write in block.writes if write not in ranking.writes))
            is_all = ranking is rankings[-1] and not block.writes  # a block has a kernel of its name
            builder("" if is_all else f"_{ranking.positions}").rank(block, ranking)
            workspaces.append(workspace(ranking.scores, compute, ranking.rows, ranking.keys))
            workspaces.append(workspace(ranking.present, i1, ranking.rows, ranking.keys, partial=not ranking.whole))
            if ranking.left:
                workspaces.append(workspace(ranking.positions, index, ranking.rows, ranking.count))
            left.update({place: Left(ranking.positions, ranking.rows) for place in ranking.places})
        if block.writes:
            builder().block(block)
        for total in totals:
            if number == total.last:
                builder(f"_stores_{total.output.name}").store(total)
    workspaces += [
        spec.TensorOp(t.name, "workspace", str(compute), [plain(e) for e in t.output.extents]) for t in totals
    ]
    return ModuleOp([*tensors, *workspaces, *parameters, *kernels])


def workspace(
    name: str, type_: Attribute, rows: Sequence[typed.Index], *more: typed.Expr, partial: bool = False
) -> spec.TensorOp:
    """A workspace of values of a type: an element for each value of `rows`, and so many `more`."""
    extents = [plain(extent) for extent in (*map(room, rows), *more)]
    element = "bool" if type_ == i1 else "i64" if type_ == index else str(type_)
    return spec.TensorOp(name, "workspace", element, extents, partial)


class _KernelBuilder:
    def __init__(
        self,
        checked: typed.Spec,
        kernel: attn.KernelOp,
        elements: Mapping[str, str],
        types: Mapping[Kind, Attribute],
        totals: Mapping[str, str],
        left: Mapping[typed.Reduce, Left],
    ) -> None:
        self.spec = checked
        self.elements = elements
        self.types = types
        self.totals = totals
        self.left = left
        self.body = kernel.body.block
        self.scalars: dict[int, Scalar] = {}
        self.variables: dict[typed.Index, SSAValue] = {}
        self.axes = AxesAnalysis()
        self.ranges = Ranges(elements)
        self.over: SSAValue | None = None
        self.location = FileLineColLoc(StringAttr(printable(checked.source.name)), IntAttr(1), IntAttr(1))

    # --- the block

    def block(self, block: typed.Block) -> None:
        self.rows(block)
        self.keys(block)
        for write in block.writes:
            self.write(write, block.each)

    def rows(self, block: typed.Block) -> None:
        """What every kernel of a block begins with: what holds at a call, and the variables of the rows."""
        for condition in self.spec.requires:
            self.at(condition.span)
            self.add(spec.AssumeOp(self.scalar(condition).value))
        for index_ in block.each:
            self.variable(index_, attn.EachOp)

    def keys(self, block: typed.Block) -> None:
        """The variable of the keys."""
        if len(block.over) == 1:
            self.over = self.variable(block.over[0], attn.OverOp)
        elif block.over:
            self.flatten(block.over)

    # --- what a block leaves for kernels of its own

    def leave(self, block: typed.Block, reduce: typed.Reduce, kept: Left) -> None:
        """Leaves a reduction over keys, an element for each row, for a kernel whose rows are the keys."""
        self.rows(block)
        self.keys(block)
        value = self.scalar(reduce).value
        self.add(attn.WriteOp(kept.name, self.places(kept.rows), value, None))

    def score(self, block: typed.Block, ranking: Ranking) -> None:
        """Leaves the scores of the keys that count, which are rows here, at their positions."""
        self.rows(block)
        for index_ in block.over:
            self.variable(index_, attn.EachOp)
        reduce = ranking.reduce
        assert reduce.value is not None, "a topk has positions"
        parts = [part for part in (reduce.score, reduce.mask, reduce.value) if part is not None]
        score, *_, position = [self.scalar(part) for part in parts]
        self.at(reduce.span)
        counts = self.counted(reduce)
        places, yes = [*self.places(ranking.rows), position.value], self.constant(Kind.BOOL, True)
        where = None if ranking.apart else counts
        self.add(attn.WriteOp(ranking.scores, places, score.value, where))
        self.add(attn.WriteOp(ranking.present, places, (counts or yes) if ranking.apart else yes, where))

    def rank(self, block: typed.Block, ranking: Ranking) -> None:
        """Leaves the positions of the keys that count, in the order of their scores."""
        self.rows(block)
        for index_ in ranking.rows[len(block.each) :]:
            self.variable(index_, attn.EachOp)
        places = self.places(ranking.rows)
        keys, count = self.scalar(ranking.keys).value, self.scalar(ranking.count).value
        self.at(ranking.reduce.span)
        key = self.value(attn.AxisOp("_".join(index_.name for index_ in block.over), keys))
        at = self.value(attn.AxisOp("place", count))
        score = self.value(attn.ReadOp(ranking.scores, [*places, key], None, self.types[Kind.FLOAT]))
        present = self.value(attn.ReadOp(ranking.present, [*places, key], None, self.types[Kind.BOOL]))
        position = self.value(attn.TopOp(score, key, at, present))
        if ranking.left:
            self.add(attn.WriteOp(ranking.positions, [*places, at], position, None))
        for write in ranking.writes:
            self.scalars[id(write.value)] = Scalar(position, None)
            self.variables[write.axes[0]] = at
            self.write(write, block.each)

    def read_left(self, reduce: typed.Reduce) -> SSAValue:
        """What an earlier kernel has left of a reduction."""
        kept, places, inside = self.left[reduce], self.places(self.left[reduce].rows), None
        if reduce.nth is not None and reduce.count is not None:
            nth, count = self.scalars[id(reduce.nth)].value, self.scalars[id(reduce.count)].value
            low = self.value(arith.CmpiOp(self.number(0), nth, "sle"))
            inside = self.both(low, self.value(arith.CmpiOp(nth, count, "slt")))
            places = [*places, nth]
        return self.value(attn.ReadOp(kept.name, places, inside, self.types[reduce.kind]))

    def places(self, rows: tuple[typed.Index, ...]) -> list[SSAValue]:
        """The values of the variables that tell rows apart, axes among them."""
        for index_ in rows:
            if index_ not in self.variables:
                self.variable(index_, attn.AxisOp)
        return [self.variables[index_] for index_ in rows]

    # --- totals

    def clear(self, total: Total) -> None:
        """Lets a total begin from 0, or from what a call gives."""
        indices, type_ = self.every_element(total), self.types[Kind.FLOAT]
        given = total.output.role == "inout"
        start = self.value(attn.ReadOp(total.output.name, indices, None, type_)) if given else self.zero(type_)
        self.add(attn.WriteOp(total.name, indices, start, None))

    def store(self, total: Total) -> None:
        """Puts a total into its output, rounded once."""
        indices = self.every_element(total)
        value = self.value(attn.ReadOp(total.name, indices, None, self.types[Kind.FLOAT]))
        self.add(attn.WriteOp(total.output.name, indices, value, None))

    def every_element(self, total: Total) -> list[SSAValue]:
        """The variables that tell the elements of a total apart: of the last that is no feature rows share tiles."""
        self.at(total.span)
        rows = [n for n, name in enumerate(total.variables) if name not in total.features]
        indices = []
        for n, (name, extent) in enumerate(zip(total.variables, total.output.extents, strict=True)):
            op = attn.AxisOp if n not in rows else attn.EachOp if n == rows[-1] else attn.GridOp
            limit = self.scalar(extent).value
            self.at(total.span)
            indices.append(self.value(op(name, limit)))
        return indices

    def flatten(self, over: tuple[typed.Index, ...]) -> None:
        """Several key variables are one whose digits they are, the last varying fastest."""
        self.at(over[0].span)
        # Two negative extents must not make a positive number of positions.
        extents = [self.value(arith.MaxSIOp(self.limit(index_), self.number(0))) for index_ in over]
        strides = [self.number(1)]
        for extent in reversed(extents):
            strides.append(self.value(arith.MuliOp(strides[-1], extent)))
        total = strides.pop()
        flat = self.value(attn.OverOp("_".join(i.name for i in over), total))
        self.over = flat
        for index_, extent, stride in zip(over, extents, reversed(strides), strict=True):
            digit = self.value(arith.FloorDivSIOp(flat, stride))
            self.variables[index_] = self.value(spec.ModOp(digit, extent))
            self.variables[index_].name_hint = hint(index_.name)

    def variable(self, index_: typed.Index, op: type[attn.IndexOp]) -> SSAValue:
        extent = self.limit(index_)
        bound = None if index_.extent is index_.bound else self.scalar(index_.bound).value
        self.at(index_.span)
        result = self.value(op(index_.name, extent, bound))
        self.variables[index_] = result
        return result

    def limit(self, index_: typed.Index) -> SSAValue:
        """How many values a variable takes: min(extent, bound), 0 where the extent is absent."""
        extent = self.scalar(index_.extent)
        value = self.select(extent.present, extent.value, self.number(0))
        if index_.extent is index_.bound:
            return value
        value = self.value(arith.MinSIOp(value, self.scalar(index_.bound).value))
        # Data may say anything: what packs or cuts ranges subtracts and multiplies their ends.
        return value if self.ranges(value).low >= -FAR else self.value(arith.MaxSIOp(value, self.number(0)))

    def write(self, write: typed.Write, each: tuple[typed.Index, ...]) -> None:
        for axis in write.axes:
            if axis not in self.variables:
                self.variable(axis, attn.AxisOp)
        indices, inside = self.access(write.tensor, write.indices)
        value, present = self.scalar(write.value)
        self.at(write.span)
        if write.keeps:
            inside = self.both(inside, present)
        else:
            value = self.select(present, value, self.zero(value.type))
        name = write.tensor.name
        along = [self.variables[index_] for index_ in each] if write.adds else None  # any two rows may meet
        self.add(attn.WriteOp(self.totals.get(name, name), indices, value, inside, along))

    # --- expressions

    def scalar(self, expr: typed.Expr) -> Scalar:
        """The value of an expression, operands first and without recursion: specs may be deep."""
        for inner in typed.walk(expr, through=self.evaluated):
            if id(inner) not in self.scalars:
                if isinstance(inner, typed.ReduceAxis) and inner.index not in self.variables:
                    self.variable(inner.index, attn.AxisOp)
                self.at(inner.span)
                self.scalars[id(inner)] = self.build(inner)
        return self.scalars[id(expr)]

    def evaluated(self, expr: typed.Expr) -> tuple[typed.Expr, ...]:
        """The expressions that one is still built of; of a reduction that is left elsewhere what says where, and if."""
        if id(expr) in self.scalars:
            return ()
        if isinstance(expr, typed.Reduce) and expr in self.left:
            return tuple(part for part in (expr.sink, expr.nth, expr.count) if part is not None)
        return typed.operands(expr)

    def build(self, expr: typed.Expr) -> Scalar:
        match expr:
            case typed.Constant():
                return Scalar(self.constant(expr.kind, expr.value), None)
            case typed.DimValue():
                return Scalar(self.value(spec.DimOp(expr.name)), None)
            case typed.ParamValue():
                given = self.value(spec.ParamOp(expr.name, PARAMETERS[expr.kind], expr.name in self.spec.sizes))
                widened = given.type == f32 and self.types[Kind.FLOAT] == f64
                return Scalar(self.value(arith.ExtFOp(given, f64)) if widened else given, None)
            case typed.IndexValue():
                if expr.index not in self.variables:
                    self.variable(expr.index, attn.AxisOp)
                return Scalar(self.variables[expr.index], None)
            case typed.Read():
                indices, inside = self.access(expr.tensor, expr.indices)
                kind = STORAGE_KINDS[self.elements[expr.tensor.name]]
                return Scalar(self.value(attn.ReadOp(expr.tensor.name, indices, inside, self.types[kind])), inside)
            case typed.Apply():
                return self.apply(expr)
            case typed.ReduceAxis():
                body = self.scalars[id(expr.body)]
                over = self.variables[expr.index]
                return Scalar(
                    self.value(FOLDS[expr.function].axis(body.value, over)), self.everywhere(body.present, over)
                )
            case typed.Reduce():
                sink = self.scalars[id(expr.sink)].present if expr.sink is not None else None
                return Scalar(self.read_left(expr) if expr in self.left else self.reduce(expr), sink)
        raise AssertionError(f"no IR for {type(expr).__name__}")

    def access(self, tensor: typed.Tensor, indices: tuple[typed.Expr, ...]) -> tuple[list[SSAValue], SSAValue | None]:
        """The indices of an access, and where all of them are present and inside the tensor."""
        values, inside = [], None
        for index_, extent in zip(indices, tensor.extents, strict=True):
            value, present = self.scalar(index_)
            limit = self.scalar(extent).value
            self.at(index_.span)
            low = self.value(arith.CmpiOp(self.number(0), value, "sle"))
            high = self.value(arith.CmpiOp(value, limit, "slt"))
            inside = self.both(self.both(inside, present), self.both(low, high))
            values.append(value)
        return values, inside

    def apply(self, expr: typed.Apply) -> Scalar:
        arguments = [self.scalars[id(a)] for a in expr.arguments]
        values = [a.value for a in arguments]
        if expr.operator in ("and", "or"):
            first, second = arguments
            combine = arith.AndIOp if expr.operator == "and" else arith.OrIOp
            reached = first.value if expr.operator == "and" else self.negate(first.value)
            needed = self.both(first.present, self.implies(reached, second.present))
            return Scalar(self.value(combine(values[0], values[1])), needed)
        if expr.operator.endswith("select"):
            condition, then, otherwise = arguments
            taken: SSAValue | None = None
            if then.present is not None or otherwise.present is not None:
                yes = then.present or self.constant(Kind.BOOL, True)
                no = otherwise.present or self.constant(Kind.BOOL, True)
                taken = self.value(arith.SelectOp(condition.value, yes, no))
            return Scalar(self.value(arith.SelectOp(*values)), self.both(condition.present, taken))
        present: SSAValue | None = None
        for argument in arguments:
            present = self.both(present, argument.present)
        if expr.operator in ("idiv", "imod") and not _is_never_zero(expr.arguments[1]):
            nonzero = self.value(arith.CmpiOp(values[1], self.number(0), "ne"))
            values[1] = self.value(arith.SelectOp(nonzero, values[1], self.number(1)))
            present = self.both(present, nonzero)
        return Scalar(OPERATIONS[expr.operator](self, *values), present)

    def reduce(self, expr: typed.Reduce) -> SSAValue:
        assert self.over is not None, "the checker refuses a reduction without `over`"
        score = self.scalars[id(expr.score)]
        if expr.function in typed.WEIGHING:
            score.value.name_hint = score.value.name_hint or "score"
        value = self.scalars[id(expr.value)] if expr.value is not None else None
        where = self.counted(expr)
        sink = self.scalars[id(expr.sink)].value if expr.sink is not None else None
        match expr.function:
            case "softmax":
                assert value is not None
                return self.value(attn.SoftmaxOp(score.value, value.value, self.over, where, sink))
            case "argmax":
                assert value is not None
                found = attn.ArgMaxOp(score.value, value.value, self.over, where)
                self.add(found)
                found.position.name_hint = "position"
                any_ = self.value(arith.CmpiOp(found.position, self.keys_end(), "slt"))
                return self.select(any_, found.position, self.number(-1))
            case "logsumexp":
                return self.value(attn.LogSumExpOp(score.value, self.over, where, sink))
            case function:
                return self.value(FOLDS[function].keys(score.value, self.over, where))

    def counted(self, expr: typed.Reduce) -> SSAValue | None:
        """Where a reduction counts a key; None: everywhere."""
        where = None
        if expr.mask is not None:
            mask = self.scalars[id(expr.mask)]
            where = self.both(mask.value, mask.present)
        for part in (expr.score, expr.value):
            if part is not None:
                where = self.both(where, self.everywhere_on_axes(self.scalars[id(part)].present))
        return where

    def keys_end(self) -> SSAValue:
        """What every position of a key is below."""
        assert self.over is not None and isinstance(self.over.owner, attn.OverOp)
        return self.over.owner.extent

    # --- presence

    def both(self, a: SSAValue | None, b: SSAValue | None) -> SSAValue | None:
        if a is None or b is None or a is b:
            return b if a is None else a
        return self.value(arith.AndIOp(a, b))

    def implies(self, a: SSAValue, b: SSAValue | None) -> SSAValue | None:
        return None if b is None else self.value(arith.OrIOp(self.negate(a), b))

    def negate(self, a: SSAValue) -> SSAValue:
        return self.value(arith.XOrIOp(a, self.constant(Kind.BOOL, True)))

    def everywhere(self, present: SSAValue | None, over: SSAValue) -> SSAValue | None:
        if present is None or over not in self.axes(present):
            return present
        return self.value(attn.AllOp(present, over))

    def everywhere_on_axes(self, present: SSAValue | None) -> SSAValue | None:
        """A key position is present or not as a whole, for every value of the feature variables."""
        if present is None:
            return None
        for axis in sorted(self.axes(present), key=lambda v: v.name_hint or ""):
            if isinstance(axis.owner, attn.AxisOp):
                present = self.everywhere(present, axis)
        return present

    # --- operations

    def at(self, span: Span) -> None:
        """What is built from here on comes from this place of the source."""
        line, column = self.spec.source.position(span.start)
        self.location = FileLineColLoc(StringAttr(printable(self.spec.source.name)), IntAttr(line), IntAttr(column))

    def add(self, op: Operation) -> None:
        op.location = self.location
        self.body.add_op(op)

    def value(self, op: Operation) -> SSAValue:
        self.add(op)
        result = op.results[0]
        result.name_hint = hint(_name(op))
        return result

    def number(self, value: int) -> SSAValue:
        return self.constant(Kind.INT, value)

    def zero(self, type_: Attribute) -> SSAValue:
        kind = next(kind for kind, other in self.types.items() if other == type_)
        return self.constant(kind, 0)

    def constant(self, kind: Kind, value: int | float | bool) -> SSAValue:
        return self.value(constant_op(value, self.types[kind]))

    def select(self, condition: SSAValue | None, then: SSAValue, otherwise: SSAValue) -> SSAValue:
        return then if condition is None else self.value(arith.SelectOp(condition, then, otherwise))


def _setting(value: int | str) -> Attribute:
    """A setting of a schedule; one that is true or false is an i1."""
    return StringAttr(value) if isinstance(value, str) else IntegerAttr(value, 1 if isinstance(value, bool) else 64)


def _name(op: Operation) -> str | None:
    """What the spec calls a value."""
    match op:
        case attn.IndexOp():
            return str(op.variable.data)
        case spec.DimOp():
            return str(op.dim.data)
        case spec.ParamOp():
            return str(op.param.data)
        case attn.ReadOp():
            return str(op.tensor.string_value())
    return None


def _is_never_zero(expr: typed.Expr) -> bool:
    """Whether it is a number other than 0 or made of dims and parameters: a call where that is 0 is refused."""
    if isinstance(expr, typed.Constant):
        return expr.value != 0
    return not any(isinstance(e, (typed.IndexValue, typed.Read, typed.Reduce)) for e in typed.walk(expr))


class Folding(NamedTuple):
    """The operations of a reduction: over keys, and over a feature variable."""

    keys: type[attn.ReduceOp]
    axis: type[attn.ReduceAxisOp]


FOLDS = {
    "sum": Folding(attn.TotalOp, attn.SumOp),
    "max": Folding(attn.MaxOp, attn.AxisMaxOp),
    "min": Folding(attn.MinOp, attn.AxisMinOp),
}
"""How each reduction of `checking.typed.FOLDS` is spelled in the IR."""

Make = Callable[..., SSAValue]


def _op(op: type[Operation], *fixed: object) -> Make:
    """One operation; what is fixed of it, a predicate, follows its operands."""
    return lambda builder, *values: builder.value(op(*values, *fixed))


def _int_abs(builder: _KernelBuilder, x: SSAValue) -> SSAValue:
    return builder.value(arith.MaxSIOp(x, builder.value(arith.SubiOp(builder.number(0), x))))


def _shift_left(builder: _KernelBuilder, x: SSAValue, by: SSAValue) -> SSAValue:
    """A shift by less than 0 or more than 63 moves all bits out."""
    inside = _shift_is_plain(builder, by)
    amount = builder.select(inside, by, builder.number(0))
    return builder.select(inside, builder.value(arith.ShLIOp(x, amount)), builder.number(0))


def _shift_right(builder: _KernelBuilder, x: SSAValue, by: SSAValue) -> SSAValue:
    """A shift by less than 0 or more than 63 leaves nothing but the sign."""
    amount = builder.select(_shift_is_plain(builder, by), by, builder.number(63))
    return builder.value(arith.ShRSIOp(x, amount))


def _shift_is_plain(builder: _KernelBuilder, by: SSAValue) -> SSAValue:
    low = builder.value(arith.CmpiOp(builder.number(0), by, "sle"))
    return builder.value(arith.AndIOp(low, builder.value(arith.CmpiOp(by, builder.number(64), "slt"))))


def _relu(builder: _KernelBuilder, x: SSAValue) -> SSAValue:
    return builder.value(arith.MaximumfOp(x, builder.constant(Kind.FLOAT, 0.0)))


def _sigmoid(builder: _KernelBuilder, x: SSAValue) -> SSAValue:
    one = builder.constant(Kind.FLOAT, 1.0)
    grown = builder.value(math.ExpOp(builder.value(arith.NegfOp(x))))
    return builder.value(arith.DivfOp(one, builder.value(arith.AddfOp(one, grown))))


OPERATIONS: dict[str, Make] = {
    "iadd": _op(arith.AddiOp),
    "isub": _op(arith.SubiOp),
    "imul": _op(arith.MuliOp),
    "idiv": _op(arith.FloorDivSIOp),
    "imod": _op(spec.ModOp),
    "ineg": lambda b, x: b.value(arith.SubiOp(b.number(0), x)),
    "imin": _op(arith.MinSIOp),
    "imax": _op(arith.MaxSIOp),
    "iabs": _int_abs,
    "iand": _op(arith.AndIOp),
    "ior": _op(arith.OrIOp),
    "ixor": _op(arith.XOrIOp),
    "ishl": _shift_left,
    "ishr": _shift_right,
    "ieq": _op(arith.CmpiOp, "eq"),
    "ine": _op(arith.CmpiOp, "ne"),
    "ilt": _op(arith.CmpiOp, "slt"),
    "ile": _op(arith.CmpiOp, "sle"),
    "igt": _op(arith.CmpiOp, "sgt"),
    "ige": _op(arith.CmpiOp, "sge"),
    "iselect": _op(arith.SelectOp),
    "fadd": _op(arith.AddfOp),
    "fsub": _op(arith.SubfOp),
    "fmul": _op(arith.MulfOp),
    "fdiv": _op(arith.DivfOp),
    "fneg": _op(arith.NegfOp),
    "fmin": _op(arith.MinimumfOp),
    "fmax": _op(arith.MaximumfOp),
    "fabs": _op(math.AbsFOp),
    "feq": _op(arith.CmpfOp, "oeq"),
    "fne": _op(arith.CmpfOp, "une"),
    "flt": _op(arith.CmpfOp, "olt"),
    "fle": _op(arith.CmpfOp, "ole"),
    "fgt": _op(arith.CmpfOp, "ogt"),
    "fge": _op(arith.CmpfOp, "oge"),
    "fselect": _op(arith.SelectOp),
    "exp": _op(math.ExpOp),
    "exp2": _op(math.Exp2Op),
    "log": _op(math.LogOp),
    "log2": _op(math.Log2Op),
    "sqrt": _op(math.SqrtOp),
    "rsqrt": _op(math.RsqrtOp),
    "sin": _op(math.SinOp),
    "cos": _op(math.CosOp),
    "tan": _op(math.TanOp),
    "tanh": _op(math.TanhOp),
    "erf": _op(math.ErfOp),
    "sigmoid": _sigmoid,
    "relu": _relu,
    "floor": _op(math.FloorOp),
    "random": lambda b, seed, offset: b.value(spec.RandomOp(seed, offset, b.types[Kind.FLOAT])),
    "and": _op(arith.AndIOp),
    "or": _op(arith.OrIOp),
    "not": lambda b, x: b.negate(x),
    "beq": _op(arith.CmpiOp, "eq"),
    "bne": _op(arith.CmpiOp, "ne"),
    "bselect": _op(arith.SelectOp),
    "float": lambda b, x: b.value(spec.ToFloatOp(x, b.types[Kind.FLOAT])),
}
"""How each operator of the language is spelled in the IR: a row each, as in `checking.operators`."""
