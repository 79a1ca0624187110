"""Blocks: their index variables and what they write."""

from __future__ import annotations

from collections.abc import Sequence

from attndsl import diagnostics as errors
from attndsl.checking import slices
from attndsl.checking.bounds import infer_bound
from attndsl.checking.constants import may_be_in_range
from attndsl.checking.context import CheckedBlock, Context
from attndsl.checking.declarations import Declarations
from attndsl.checking.expressions import Expressions
from attndsl.checking.graph import MAX_PARTS, PartLimitPassed
from attndsl.checking.in_place import astray
from attndsl.checking.pointwise import axes_text
from attndsl.checking.scopes import Broken, ScalarBinding, Scope, Storage
from attndsl.checking.slices import Ends, Part, Subscripts
from attndsl.checking.typed import (
    FLOAT_TYPES,
    ROUNDED_INTS,
    STORAGE_KINDS,
    Block,
    Expr,
    Index,
    Kind,
    Reduce,
    Tensor,
    Write,
    walk,
)
from attndsl.checking.values import Result, SoftmaxWeights, Value
from attndsl.checking.weights import key_block, weight_of
from attndsl.syntax import tree
from attndsl.syntax.source import Span


class Blocks:
    """Checks the statements of blocks in order, below the scope of the declarations."""

    def __init__(
        self, context: Context, expressions: Expressions, outermost: Scope, declarations: Declarations
    ) -> None:
        self._context = context
        self._declarations = declarations
        self._tensors = declarations.tensors
        self._expressions = expressions
        self._outermost = self.scope = outermost
        self._unbounded: dict[Index, tree.Binder] = {}
        self._written: dict[str, tree.Name] = {}
        self._added: set[str] = set()
        self._astray = False  # whether a write was meant for who knows which output
        self.blocks: list[Block] = []

    def each(self, node: tree.Each) -> None:
        """Opens a block; what the one before defined is out of sight."""
        self.close()
        self.scope = self._outermost.within({})
        self._context.rows = rows = CheckedBlock(len(self.blocks), node.span, ())
        self._context.opened.append(rows)
        for binder in node.binders:
            index = self._binder(binder, "each", self.scope)
            if index is not None:
                rows.each += (index,)

    def over(self, node: tree.Over) -> None:
        """The key positions of the block that is open."""
        rows = self._context.rows
        if rows is None:
            self._context.report(errors.indices.OutsideBlock(node.span, what="`over`"))
            return
        if rows.over_span is not None:
            self._context.report(errors.indices.SecondOver(node.span, first=rows.over_span))
            return
        rows.over, rows.over_span = (), node.span
        scope = self.scope.within({})
        found = [self._binder(binder, "over", scope, self.scope) for binder in node.binders]
        for name in [binder.name.text for binder in node.binders]:
            binding = scope.find(name)
            if binding is not None and self.scope.find(name) is None:
                self.scope.add(name, binding)
        rows.over = tuple(index for index in found if index is not None)

    def write(self, node: tree.WriteStatement) -> None:
        """`o[b, h, i, :] = …`, or `+= …`."""
        name, rows = node.name, self._context.rows
        if rows is None:
            self._astray = True
            self._context.report(errors.indices.OutsideBlock(node.span, what="a write"))
            return
        value = self._value(node)
        tensor = self._target(name)
        if tensor is None:
            self._astray = True
            return
        at_key = isinstance(value, SoftmaxWeights)
        if isinstance(value, SoftmaxWeights):
            value = Value.scalar(weight_of(self._context, rows.number, value))
        subscripts = self._subscripts(node, at_key)
        if name.text in self._written and not (node.adds and name.text in self._added):
            role, first = tensor.role, self._written[name.text].span
            if node.adds or name.text in self._added:
                sign = "+=" if node.adds else "="
                error = errors.outputs.WrittenAndAdded(name.span, role=role, name=name.text, sign=sign, first=first)
                self._context.report(error)
            else:
                self._context.report(errors.outputs.WrittenTwice(name.span, role=role, name=name.text, first=first))
            return
        if node.adds and name.text in self._context.read:
            self._context.report(errors.outputs.AddedAfterRead(name.span, name=name.text))
        if node.adds:
            self._added.add(name.text)
        self._note(name)
        if subscripts is None or value is None or not self._fits(node, tensor, subscripts, value):
            return
        taken = self._parts(tensor, subscripts)
        assert taken is not None, "the value fits"
        promoted = self._held(tensor) is Kind.FLOAT
        real, index = self._context.graph.real, self._context.graph.index
        axes = [part.extent for part in taken]
        variables, body = self._context.axes.bind(
            axes, node.span, lambda where: real(value.at(where)) if promoted else value.at(where)
        )
        rest = iter(slices.places(self._context, taken, [index(each, node.span) for each in variables], node))
        places = tuple(next(rest) if isinstance(each, Ends) else each for each in subscripts)
        if self._rows_tell(node, places, body, at_key) and self._keys_tell(rows, places, body):
            written = Write(tensor, places, variables, body, node.span, node.adds)
            (rows.at_keys if at_key else rows.writes).append(written)

    def _value(self, node: tree.WriteStatement) -> Result:
        """What a statement writes; weights where its subscripts tell keys apart."""
        result = self._expressions.result(node.value, self.scope)
        if not isinstance(result, SoftmaxWeights):
            return result
        subscripts = self._expressions.subscripts(node.subscripts, self.scope)
        if subscripts is None or any(index is not None and self._over(index) for index in slices.indices(subscripts)):
            return result
        return self._context.report(errors.reductions.SoftmaxAlone(result.span))

    def writes_whole(self, node: tree.Definition) -> bool:
        """Whether `o = …` is meant to write an output; reports it."""
        match self.scope.resolve(node.name):
            case Storage(tensor=Tensor(role="output" | "inout" | "temp" as role, name=name, extents=extents)):
                subscripts = ", ".join([":"] * len(extents))
                self._context.report(
                    errors.names.BareOutput(node.name.span, role=role, name=name, subscripts=subscripts)
                )
                self._note(node.name)
                return True
        return False

    def _note(self, name: tree.Name) -> None:
        """That a statement writes a tensor: the blocks behind may read it."""
        self._written[name.text] = name
        if self._context.rows is not None:
            self._context.writers.setdefault(name.text, []).append(self._context.rows.number)

    def close(self) -> None:
        """Ends the block that is open, if there is one."""
        rows = self._context.rows
        if rows is None:
            return
        sound = not self._context.diagnostics
        writes = [*rows.writes, *rows.at_keys]
        if sound and not writes:
            self._context.report(errors.outputs.EmptyBlock(rows.span))
        spans = {index: binder.span for index, binder in self._unbounded.items()}
        if any(isinstance(expr, Reduce) and expr.nth is not None for expr in walk(*_values(writes))):
            # A row's scores are stored: a launch knows of how many keys, where it differs from row to row too.
            varying = (index for index in rows.over or () if not self._context.graph.facts(index.bound).uniform)
            spans |= {index: index.span for index in varying if index not in spans}
        for index, span in spans.items():
            if sound and writes:
                self._bound(index, span, writes)
        self._unbounded.clear()
        moved = (
            key_block(self._context, rows, self._tensors) if rows.at_keys and not self._context.diagnostics else None
        )
        left = () if moved is None else moved.left
        self._tensors.update({write.tensor.name: write.tensor for write in left})
        self.blocks.append(Block(rows.each, rows.over or (), (*rows.writes, *left)))
        if moved is not None:
            for index in moved.each[len(rows.each) :]:
                if self._context.graph.facts(index.extent).free:
                    self._bound(index, index.span, moved.writes)
            self.blocks.append(Block(moved.each, (), moved.writes))
        for block in self.blocks[rows.number :]:
            self._in_place(block)
        self._context.rows = None

    def _in_place(self, block: Block) -> None:
        """Reports what a block reads of what it writes in place, but for the element that it writes."""
        for span, write in astray(block):
            error = errors.outputs.ReadAndAdded if write.adds else errors.outputs.ReadInPlace
            self._context.report(error(span, name=write.tensor.name))

    def _bound(self, index: Index, span: Span, writes: Sequence[Write]) -> None:
        """Gives an index the bound that is found in what is written; reports where there is none."""
        bound = infer_bound(self._context, index, writes)
        if bound is None:
            self._context.report(errors.indices.NoBound(span, name=index.name))
        else:
            object.__setattr__(index, "bound", bound)  # known only now that the block has been read

    def finish(self, name: tree.Name) -> None:
        """Ends the last block and checks that the spec has outputs and all that is not given is written."""
        self.close()
        outputs = [tensor for tensor in self._tensors.values() if tensor.role in ("output", "inout")]
        if not outputs and not self._context.diagnostics:
            self._context.report(errors.outputs.NoOutput(name.span, name=name.text))
        for tensor in self._tensors.values():
            if tensor.role == "input" or tensor.is_computed:
                continue
            if tensor.name not in self._written and not self._astray:
                self._context.report(errors.outputs.NotWritten(tensor.span, role=tensor.role, name=tensor.name))

    def _binder(self, node: tree.Binder, role: str, scope: Scope, seen: Scope | None = None) -> Index | None:
        """Binds one index variable in `scope`; its extent sees the names of `seen`."""
        name, graph = node.name, self._context.graph
        extent = self._expressions.extent(node.extent, seen or scope, f"the extent of `{name.text}`")
        bound = None
        if node.bound is not None:
            bound = self._expressions.uniform(node.bound, seen or scope, f"the bound of `{name.text}`")
        before = scope.find(name.text)
        if before is not None:
            self._context.report(errors.names.Shadows(name.span, name=name.text, first=before.span))
            return None
        if extent is None or (node.bound is not None and bound is None):
            scope.add(name.text, Broken(name.span))
            return None
        facts = graph.facts(extent)
        if not facts.reads and facts.parts > MAX_PARTS:
            raise PartLimitPassed(extent.span)
        index = Index(name.text, "each" if role == "each" else "over", extent, bound or extent, node.span)
        if bound is None and (facts.reads or (role == "each" and facts.free)):
            self._unbounded[index] = node
        scope.add(name.text, ScalarBinding(name.span, graph.index(index, name.span), "an index", shadowable=True))
        return index

    def _subscripts(self, node: tree.WriteStatement, at_key: bool) -> Subscripts | None:
        found = self._expressions.subscripts(node.subscripts, self.scope)
        for subscript, written in zip(found or (), node.subscripts, strict=False):
            ends = (subscript.start, subscript.stop) if isinstance(subscript, Ends) else (subscript,)
            over = [name for end in ends if end is not None for name in self._over(end)]
            if over and (isinstance(subscript, Ends) or not at_key):
                self._context.report(errors.outputs.KeyInWrite(written.span, name=over[0]))
                found = None
        return found

    def _parts(self, tensor: Tensor, subscripts: Subscripts) -> list[Part] | None:
        axes = [e for e, s in zip(tensor.extents, subscripts, strict=True) if isinstance(s, Ends)]
        return slices.parts(self._context, subscripts, axes)

    def _target(self, name: tree.Name) -> Tensor | None:
        match self.scope.resolve(name):
            case Storage(tensor=tensor) if tensor.role != "input":
                return tensor
            case Broken():
                return None
            case None:
                known = tuple(t.name for t in self._tensors.values() if t.role != "input")
                self._context.report(errors.names.UnknownOutput(name.span, name=name.text, known=known))
                self.scope.add(name.text, Broken(name.span))
            case binding:
                self._context.report(errors.outputs.NotOutput(name.span, name=name.text, first=binding.span))
        return None

    def _fits(self, node: tree.WriteStatement, tensor: Tensor, subscripts: Subscripts, value: Value) -> bool:
        """Whether the subscripts suit the tensor and the value suits both; reports where not."""
        name, wanted = tensor.name, len(tensor.extents)
        if len(subscripts) != wanted:
            self._context.report(
                errors.outputs.WrongOutputRank(
                    node.span, role=tensor.role, name=name, wanted=wanted, got=len(subscripts), first=tensor.span
                )
            )
            return False
        spans = [subscript.span for subscript in node.subscripts]
        if not may_be_in_range(self._context, spans, slices.indices(subscripts), tensor.extents):
            return False
        taken = self._parts(tensor, subscripts)
        if taken is None:
            return False
        axes = tuple(part.extent for part in taken)
        if axes != value.axes:
            self._context.report(
                errors.outputs.WrongOutputAxes(
                    node.value.span, name=name, wanted=axes_text(axes), got=axes_text(value.axes)
                )
            )
            return False
        return self._holds(node, tensor, value.kind)

    def _held(self, tensor: Tensor) -> Kind:
        """The kind of a tensor's elements."""
        return STORAGE_KINDS.get(self._declarations.choices(tensor.element)[0], Kind.FLOAT)

    def _holds(self, node: tree.WriteStatement, tensor: Tensor, given: Kind) -> bool:
        """Whether the elements of an output can be of the kind that is written; reports where not."""
        name, held = tensor.name, self._held(tensor)
        if node.adds and not {*self._declarations.choices(tensor.element)} <= {*FLOAT_TYPES}:
            self._context.report(errors.outputs.AddsStored(node.span, role=tensor.role, name=name))
            return False
        if (given is Kind.BOOL) == (held is Kind.BOOL):
            if (
                given is not Kind.FLOAT
                or held is Kind.FLOAT
                or {*self._declarations.choices(tensor.element)} <= {*ROUNDED_INTS}
            ):
                return True
            self._context.report(errors.outputs.FloatWritten(node.value.span, role=tensor.role, name=name))
        elif given is Kind.BOOL:
            self._context.report(errors.outputs.BoolWritten(node.value.span, role=tensor.role, name=name))
        else:
            got = "a float" if given is Kind.FLOAT else "an int"
            self._context.report(errors.outputs.NumberWritten(node.value.span, role=tensor.role, name=name, got=got))
        return False

    def _rows_tell(self, node: tree.WriteStatement, places: tuple[Expr, ...], body: Expr, at_key: bool) -> bool:
        """Whether the value is one of the row, or `at_key`, and each has its own place or adds; reports where not."""
        rows = self._context.rows
        assert rows is not None
        over = self._over(body)
        if over and not at_key:
            self._context.report(errors.outputs.KeyOutsideReduction(node.value.span, name=over[0]))
            return False
        if node.adds:
            return True
        used = {index for place in places for index in self._context.graph.facts(place).free}
        for index in (*rows.each, *(rows.over or ())) if at_key else rows.each:
            if index not in used:
                self._context.report(errors.outputs.RowsCollide(node.span, output=node.name.text, name=index.name))
                return False
        return True

    def _keys_tell(self, rows: CheckedBlock, places: tuple[Expr, ...], body: Expr) -> bool:
        """Whether every max() and min() is of something that depends on a key, and no place among the largest does.

        Asked of what is written, not of definitions: their parameters may be keys where they are used.
        """
        facts, sound = self._context.graph.facts, True
        for expr in walk(*places, body):
            if isinstance(expr, Reduce) and expr.nth is not None and self._over(expr.nth):
                self._context.report(errors.reductions.PlaceOverKeys(expr.span, name=self._over(expr.nth)[0]))
                sound = False
            if isinstance(expr, Reduce) and expr.function in ("max", "min") and not self._over(expr.score):
                written = self._context.text(expr.span)  # any() and all() are a max() and a min()
                error = errors.reductions.SameForEveryKey(
                    expr.span,
                    function=written.partition("(")[0].strip(),
                    keys=" or ".join(f"`{index.name}`" for index in rows.over or ()),
                    masked=expr.mask is not None,
                    vector=any(index.role == "axis" for index in facts(expr.score).free),
                )
                self._context.report(error)
                sound = False
        return sound

    def _over(self, expr: Expr) -> list[str]:
        """The names of the key positions that an expression depends on outside a reduction."""
        return sorted(index.name for index in self._context.graph.facts(expr).free if index.role == "over")


def _values(writes: Sequence[Write]) -> list[Expr]:
    """All that is computed for some writes."""
    return [expr for write in writes for expr in (*write.indices, write.value)]
