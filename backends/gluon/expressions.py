"""Values of consumers as Gluon text: as Triton's, with layouts, which say what thread has what element of a tile.

A tile of rows has the layout of a product of so many columns: a thread then has the same rows of every tile, and a
number of each row, or of each column, is that of the elements beside it. What is read from memory, or written there, by
threads has another one, in which neighbours have neighbouring elements.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from attndsl.backends.text import ATOM, Text
from attndsl.backends.triton.expressions import HALF_TYPES, TritonExpressions
from attndsl.ir import roles, tile, walks
from attndsl.ir.meaning import is_approximate, is_elementwise
from attndsl.ir.rewrite import constant
from attndsl.ir.statements import operations
from attndsl.ir.xdsl import AnyFloat, Operation, SSAValue, arith, math

WARPS = 4
"""The warps of a consumer."""

LAYOUTS = {
    "TILE": "gl.NVMMADistributedLayout([3, 0], [4, 1], [16, {3}, 16])",
    "ROWS": "gl.SliceLayout(1, {0})",
    "COLUMNS": "gl.SliceLayout(0, {0})",
    "FACTOR": "gl.DotOperandLayout(0, {0}, 2)",
    "MEMORY": "gl.BlockedLayout([1, 8], [{1}, {2}], [4, 1], [1, 0])",
    "LINE": "gl.BlockedLayout([1], [32], [{4}], [0])",
}
"""The layouts by what they are of, in the order in which they are defined.

{0} is that of products, of {3} columns, and {4} how many warps a role has.
"""


def shared_layout(columns: int, size: int = 2) -> str:
    """The layout of tiles in shared memory from where products and copies take them, of so many bytes an element."""
    return f"gl.NVMMASharedLayout({min(128, size * columns)}, {8 * size}, 2)"


def in_shared_memory(factor: SSAValue) -> bool:
    """Whether a left factor lies in shared memory."""
    op = factor.owner
    return isinstance(op, roles.ViewOp) or (isinstance(op, roles.OperandOp) and op.shared is not None)


def lasts(product: roles.ProductOp) -> bool:
    """Whether the left factor of a product stays in registers when that is complete: some loop takes it from before."""
    made, users = product.lhs.owner, [use.operation for use in product.lhs.uses]
    products = [op for op in users if isinstance(op, roles.ProductOp)]
    return isinstance(made, Operation) and any(op.parent is not made.parent for op in products)


def goes_through_loops(factor: roles.OperandOp) -> bool:
    """Whether a role carries left factors from one loop to another."""
    role = factor.parent_op()
    while role is not None and not isinstance(role, roles.RoleOp):
        role = role.parent_op()
    loops = [] if role is None or factor.old is None else [op for op in operations(role) if isinstance(op, tile.LoopOp)]
    return any(isinstance(value.owner, tile.LoopOp) for loop in loops for value in loop.iter_args)


def found_anew(factor: SSAValue) -> bool:
    """Whether products find a left factor in shared memory anew in each turn."""
    return any(isinstance(use.operation, roles.ProductOp) and use.operation.anew is not None for use in factor.uses)


class GluonExpressions(TritonExpressions):
    """The text of the values of one role; `layouts` are those that it has named."""

    keys = 0
    """The keys of a tile: of its layout are numbers of rows."""

    memory: Mapping[str, str]
    """What shared memory is called."""

    def begin(self, keys: int, memory: Mapping[str, str]) -> None:
        """Begins the text of roles whose tiles have so many keys, and what their memory is called."""
        self.keys, self.memory = keys, memory
        self._layout_names: dict[tuple[str, int], str] = {}
        self.begin_role(loads=False)

    def begin_role(self, loads: bool, warps: int = WARPS) -> None:
        """Begins the text of a role of so many warps.

        One that loads has tiles as memory is read, and numbers of an axis in a `LINE`.
        """
        self.warps = warps
        self.layouts: set[tuple[str, int]] = set()
        self.loads = loads
        self._around = self._home = "MEMORY" if loads else "TILE"
        self._line = ""

    def layout(self, kind: str, columns: int) -> str:
        """The name of a layout."""
        self.layouts.add((kind, columns))
        if kind not in ("TILE", "MEMORY", "LINE"):
            self.layouts.add(("TILE", columns))
        return self._named(kind, columns)

    def _named(self, kind: str, columns: int) -> str:
        if (kind, columns) not in self._layout_names:
            self._layout_names[kind, columns] = self.names.like(f"{kind}_{columns}")
        return self._layout_names[kind, columns]

    def definitions(self) -> Iterator[str]:
        """The statements that define the layouts."""
        order = list(LAYOUTS)
        for kind, columns in sorted(self.layouts, key=lambda each: (order.index(each[0]), each[1])):
            beside = min(32, columns // 8)
            made = LAYOUTS[kind].format(self._named("TILE", columns), 32 // beside, beside, columns, self.warps)
            yield f"{self._named(kind, columns)}: gl.constexpr = {made}"

    @contextmanager
    def in_memory(self, kind: str = "MEMORY") -> Iterator[None]:
        """What is spelled within is lined up with tiles as memory is read and written, those of one axis a `LINE`."""
        self._around = kind
        yield
        self._around = self._home

    def width(self, axis: SSAValue) -> int:
        """How many values an axis has."""
        assert isinstance(axis.owner, tile.RangeOp)
        size = constant(axis.owner.size)
        assert size is not None, "tiles with roles have sizes that are known"
        return int(size)

    def is_row(self, axis: SSAValue) -> bool:
        """Whether an axis is that of a consumer's rows."""
        return not isinstance(axis.owner, tile.RangeOp) or self._order[axis][0] <= 1

    def is_place(self, value: SSAValue) -> bool:
        """Whether a tile only says where others lie, or are read: it is made where that is, and takes no registers."""
        made = isinstance(value.owner, arith.AddiOp | arith.AndIOp) and len(self.axes_of(value)) == 2
        users = tile.users(value) if made else []
        return made and all(isinstance(op, tile.LoadOp | tile.StoreOp) or self._places(op) for op in users)

    def _places(self, op: Operation) -> bool:
        return len(op.results) == 1 and self.is_place(op.results[0])

    def is_anew(self, value: SSAValue) -> bool:
        """Whether numbers along an axis are computed wherever they are asked for, by the role that loads.

        Threads would exchange them else: each has others for a tile of rows and keys than for one of keys and features.
        """
        op = value.owner
        if not self.loads or len(self.axes_of(value)) != 1 or isinstance(value.type, AnyFloat):
            return False
        return isinstance(op, tile.RangeOp) or (isinstance(op, Operation) and is_elementwise(op))

    def own(self, axes: Sequence[SSAValue]) -> str:
        """The layout of a tile with these axes."""
        if len(axes) == 2:
            return self.layout(self._home, self.width(axes[1]))
        (axis,) = axes
        if self.loads:
            return self._line or self.layout("LINE", self.width(axis))
        if self._around == "LINE":
            return self.layout("LINE", self.width(axis))
        return self.layout("ROWS", self.keys) if self.is_row(axis) else self.layout("COLUMNS", self.width(axis))

    def _beside(self, axis: SSAValue, axes: Sequence[SSAValue]) -> str:
        """The layout of numbers along one axis of tiles that are spelled."""
        place, columns = axes.index(axis), self.width(axes[1])
        if self._around == "MEMORY":
            return f"gl.SliceLayout({1 - place}, {self.layout('MEMORY', columns)})"
        return self.layout("COLUMNS" if place else "ROWS", columns)

    def lined_up(self, value: SSAValue, axes: Sequence[SSAValue]) -> Text:
        own = self.axes_of(value)
        if self.is_place(value):
            assert isinstance(value.owner, Operation)
            return self.make(value.owner)
        if self.loads and len(own) == 1:
            return self._loaded(value, own[0], axes)
        if len(own) == 1 and self._around == "LINE":
            return self._in_line(value, own)
        if len(own) != 1 or len(axes) != 2:
            return super().lined_up(value, axes)
        text, wanted = self[value], self._beside(own[0], axes)
        if wanted != self.own(own):
            text = Text(f"gl.convert_layout({text.code}, {wanted})")
        return Text(f"{text.within(ATOM)}[{', '.join(':' if axis in own else 'None' for axis in axes)}]")

    def _loaded(self, value: SSAValue, axis: SSAValue, axes: Sequence[SSAValue]) -> Text:
        """Numbers along an axis, lined up with what the role that loads computes."""
        wanted = self._beside(axis, axes) if len(axes) == 2 else self.own((axis,))
        if isinstance(op := value.owner, Operation) and self.is_anew(value):
            outer, self._line = self._line, wanted
            text = Text(self.range(op)) if isinstance(op, tile.RangeOp) else self.make(op)
            self._line = outer
        elif wanted == self.layout("LINE", self.width(axis)):
            text = self[value]
        else:
            text = Text(f"gl.convert_layout({self[value].code}, {wanted})")
        if len(axes) == 1:
            return text
        return Text(f"{text.within(ATOM)}[{', '.join(':' if each is axis else 'None' for each in axes)}]")

    def _in_line(self, value: SSAValue, own: Sequence[SSAValue]) -> Text:
        """Numbers along the axis of a line; those of places are made anew, as threads would exchange the others."""
        match value.owner:
            case tile.RangeOp() as op:
                return Text(self.range(op))
            case arith.CmpiOp() | arith.AndIOp() | arith.AddiOp() as op:
                return self.make(op)
        return Text(f"gl.convert_layout({self[value].code}, {self.own(own)})")

    def runs_narrow(self, value: SSAValue) -> bool:
        """Where a tile begins, and a consumer's part of it, are no more than its places."""
        first = isinstance(value.owner, walks.ProgramsOp | walks.ShareOp)
        return super().runs_narrow(value) or (first and value in self._narrow)

    def counts_turns(self, value: SSAValue) -> bool:
        """Whether a number is computed of turns, of which a loop or `roles.turns` tells: those have 32 bits."""
        stack, seen = [value], set[SSAValue]()
        while stack:
            top = stack.pop()
            owner = top.owner
            if not isinstance(owner, Operation):
                loop = owner.parent_op()
                if isinstance(loop, tile.LoopOp) and top is owner.args[0]:
                    return True
            elif isinstance(owner, walks.TurnsOp):
                return True
            elif not isinstance(owner, tile.LoadOp) and top not in seen:
                seen.add(top)
                stack += owner.operands
        return False

    def range(self, op: tile.RangeOp) -> str:
        """The index of an axis."""
        values = f"gl.arange(0, {self[op.size].code}, layout={self.own((op.result,))})"
        moved = values if constant(op.start) == 0 else f"({self[op.start].within(6)} + {values})"
        return self.as_index(op.result, Text(moved)) if self.runs_narrow(op.result) else f"{moved}.to(gl.int64)"

    def position(self, axis: SSAValue, axes: Sequence[SSAValue], typed: bool) -> str:
        layout = self._beside(axis, axes) if len(axes) > 1 else self.own(axes)
        text = f"gl.arange(0, {self.size(axis)}, layout={layout})"
        subscript = ", ".join(":" if other is axis else "None" for other in axes)
        return f"{text}{f'[{subscript}]' if len(axes) > 1 else ''}{'.to(INDEX)' if typed else ''}"

    def make(self, op: Operation) -> Text:
        match op:
            case roles.OperandOp():
                return self._factor(op)
            case math.TanhOp() if is_approximate(op):
                return Text(f"_approximate_tanh({self[op.operand].code})")
            case tile.ReduceOp():
                text, axes = super().make(op), self.axes_of(op.result)
                over = self.width(op.over)
                if len(axes) == 1 and self.is_row(axes[0]) and over != self.keys:
                    return Text(f"gl.convert_layout({text.code}, {self.own(axes)})")
                return text
        return super().make(op)

    def _broadcast(self, op: tile.BroadcastOp) -> Text:
        axes = self.axes_of(op.result)
        if not axes or self.axes_of(op.value) == axes:
            return super()._broadcast(op)
        shape, layout = self.shape(axes), self.own(axes)
        if not self.axes(op.value):
            return Text(f"gl.full({shape}, {self[op.value].code}, gl.float32, layout={layout})")
        zeros = f"gl.full({shape}, 0.0, gl.float32, layout={layout})"
        return Text(f"gl.broadcast({self.lined_up(op.value, axes).code}, {zeros})[0]")

    def rounded(self, op: roles.OperandOp) -> Text:
        """The tile that a left factor is, rounded as products take it."""
        text = self[op.value]
        if self.stored.halves.get(op.value) == op.element.data:
            return text
        return Text(f"{text.within(ATOM)}.to(gl.{HALF_TYPES[op.element.data]})")

    def _factor(self, op: roles.OperandOp) -> Text:
        factor = self.layout("FACTOR", self._columns(op.result)) if op.shared is None else ""
        if isinstance(op.value.owner, roles.ViewOp):
            return Text(f"{self[op.value].code}.load({factor})")
        text, element = self.rounded(op), HALF_TYPES[op.element.data]
        if op.shared is not None:
            rows, columns = map(self.width, self.axes_of(op.value))
            layout = shared_layout(columns)
            if found_anew(op.result):
                return Text(f"gl.allocate_shared_memory(gl.{element}, [1, {rows}, {columns}], {layout})")
            return Text(f"gl.allocate_shared_memory(gl.{element}, [{rows}, {columns}], {layout}, {text.code})")
        made = f"gl.convert_layout({text.code}, {factor})"
        return Text(f"_packed({made})" if goes_through_loops(op) else made)

    def _columns(self, factor: SSAValue) -> int:
        """How many columns the widest product has whose left factor a value is."""
        found = 0
        for user in (use.operation for use in factor.uses):
            if isinstance(user, roles.ProductOp):
                found = max(found, self.width(self.axes_of(user.result)[1]))
            elif isinstance(user, tile.LoopOp):
                found = max(found, self._columns(user.body.block.args[1 + list(user.iter_args).index(factor)]))
            elif isinstance(user, tile.YieldOp) and isinstance(loop := user.parent_op(), tile.LoopOp):
                found = max(found, self._columns(loop.results[list(user.values).index(factor)]))
        assert found, "a left factor is one of a product"
        return found

    def _left(self, op: roles.ProductOp) -> str:
        """The left factor of a product, and where one lies that is found anew: 0 is added to the stage that it has."""
        loop, left = op.parent_op(), op.lhs.owner
        if op.anew is None or not isinstance(left, roles.OperandOp | roles.ViewOp):
            return self[op.lhs].code
        added = [f"_anew({self[loop.body.block.args[0]].code})"] if isinstance(loop, tile.LoopOp) else []
        if isinstance(left, roles.OperandOp):
            return f"{self[op.lhs].code}.index({added[0] if added else 0})"
        return f"{self.memory[left.ring.string_value()]}.index({' + '.join([self[left.stage].code, *added])})"

    def product(self, op: roles.ProductOp) -> list[str]:
        """A product, in the parts between which a long line may be broken."""
        view = op.rhs.owner
        assert isinstance(view, roles.ViewOp)
        right = self[op.rhs].code + (".permute((1, 0))" if op.over is view.axes[1] else "")
        left, axes = self._left(op), self.axes_of(op.result)
        if isinstance(op.lhs.owner, roles.ViewOp) and op.over is op.lhs.owner.axes[0]:
            left += ".permute((1, 0))"
        if not in_shared_memory(op.lhs) and self._columns(op.lhs) != self.width(axes[1]):
            left = f"gl.convert_layout({left}, {self.layout('FACTOR', self.width(axes[1]))})"
        if op.onto is not None:
            return ["warpgroup_mma(", left, right, self[op.onto].code, "is_async=True", ")"]
        zeros = f"gl.zeros({self.shape(axes)}, gl.float32, {self.own(axes)})"
        return ["warpgroup_mma(", left, right, zeros, "use_acc=False", "is_async=True", ")"]
