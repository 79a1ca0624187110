"""Loads and stores as NumPy subscripts: views where the indices are ranges, gathers where they are computed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from attndsl.backends.names import python_text
from attndsl.backends.numpy.expressions import NumPyExpressions, dtype
from attndsl.backends.text import Text
from attndsl.checking.numbers import holds
from attndsl.ir import spec, tile
from attndsl.ir.rewrite import constant
from attndsl.ir.traits import Axis
from attndsl.ir.xdsl import AnyFloat, SSAValue, arith, f64, i1, index
from attndsl.python_names import python_name
from attndsl.storage import ELEMENTS

NUMPY_STORED = {
    "bf16": "_to_bf16({})",
    "f8e4m3": "_to_f8({}, 448, 3, -6)",
    "f8e5m2": "_to_f8({}, 57344, 2, -14)",
    "i8": "_nearest({}, -128, 127)",
    "u8": "_nearest({}, 0, 255)",
}
"""What makes of floats what memory holds of them, where an assignment does not."""


class SubscriptPart(NamedTuple):
    """One index of an access: computed values, or (where `axis` is given) an axis's range, shifted by `offset`.

    It is shifted up, or `down`.
    """

    value: SSAValue
    axis: Axis | None = None
    offset: SSAValue | None = None
    down: bool = False


class NumPyAccess:
    """Spells loads and stores."""

    def __init__(self, tensors: Iterable[spec.TensorOp], text: NumPyExpressions) -> None:
        self.tensors = {t.sym_name.data: t for t in tensors}
        self.text = text

    # --- how an access is indexed

    def places(self, op: tile.LoadOp | tile.StoreOp) -> list[SubscriptPart]:
        """The indices of an access, those that stay ranges marked as such.

        A load may mix them, where the axes of ranges come last in its tile; of a store only the last ones stay.
        """
        found = [self.place(value) for value in op.indices]
        if op.where is not None:  # of what is shifted out of a tensor nothing can be cut
            varying = self.text.axes(op.where)
            found = [SubscriptPart(p.value) if p.offset is not None and p.axis in varying else p for p in found]
        axes = [p.axis for p in found if p.axis is not None]
        ranges_only = op.where is None and all(p.axis is not None or not self.text.axes(p.value) for p in found)
        if len(set(axes)) == len(axes) and (ranges_only or (isinstance(op, tile.LoadOp) and self.are_last(op, found))):
            return found
        tail = len(found)
        while tail > 0 and found[tail - 1].axis is not None and (isinstance(op, tile.LoadOp) or op.where is None):
            tail -= 1
        head, rest = found[:tail], found[tail:]
        used = frozenset[Axis]().union(*(self.text.axes(p.value) for p in head))
        used |= self.text.axes(op.where) if op.where is not None else frozenset()
        kept = [p.axis for p in rest]
        if used.isdisjoint(axis for axis in kept if axis is not None) and len(set(kept)) == len(kept):
            return [SubscriptPart(p.value) for p in head] + rest
        return [SubscriptPart(p.value) for p in found]

    def are_last(self, op: tile.LoadOp, places: Sequence[SubscriptPart]) -> bool:
        """Whether the axes of ranges come last, in a load's tile and in what NumPy gives.

        It gives them so where computed indices begin, or are parted by ranges; `_read` does, wherever these stand.
        """
        ranges = [p.axis for p in places if p.axis is not None]
        computed = [n for n, p in enumerate(places) if p.axis is None]
        varying = frozenset[Axis]().union(*(self.text.axes(places[n].value) for n in computed))
        varying |= self.text.axes(op.where) if op.where is not None else frozenset()
        if self.text.ordered({*varying, *ranges}) != (*self.text.ordered(varying), *ranges):
            return False
        return op.where is not None or computed[0] == 0 or computed[-1] - computed[0] >= len(computed)

    def place(self, value: SSAValue) -> SubscriptPart:
        if isinstance(value.owner, tile.RangeOp):
            return SubscriptPart(value, value)
        op = value.owner
        if isinstance(op, arith.AddiOp):
            for axis, offset in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
                if isinstance(axis.owner, tile.RangeOp) and not self.text.axes(offset):
                    return SubscriptPart(value, axis, offset)
        if isinstance(op, arith.SubiOp) and isinstance(op.lhs.owner, tile.RangeOp) and not self.text.axes(op.rhs):
            return SubscriptPart(value, op.lhs, op.rhs, down=True)
        return SubscriptPart(value)

    def needs_values(self, op: tile.RangeOp) -> bool:
        """Whether something computes with an axis, and does not only cut a range from a tensor."""
        return any(self.computes(use.operation, op.result) for use in op.result.uses)

    def computes(self, user: object, value: SSAValue) -> bool:
        if isinstance(user, (tile.LoadOp, tile.StoreOp)):
            indexing = [p for p in self.places(user) if p.value is value]
            stored = isinstance(user, tile.StoreOp) and user.value is value
            return stored or user.where is value or any(p.axis is None for p in indexing)
        if isinstance(user, tile.ReduceOp):
            return user.body is value
        if isinstance(user, (tile.DotOp, tile.IntoOp)):
            return False
        if isinstance(user, tile.TopOp):
            return value in (user.score, user.present)
        if isinstance(user, (tile.BroadcastOp, tile.RepeatOp, tile.FlattenOp)):
            return user.value is value
        if isinstance(user, arith.AddiOp | arith.SubiOp) and self.place(user.result).axis is value:
            return any(self.computes(use.operation, user.result) for use in user.result.uses)
        return True

    def is_range_only(self, op: arith.AddiOp | arith.SubiOp) -> bool:
        """Whether a shifted axis is only ever a range, so that its values need not be computed."""
        axis = self.place(op.result).axis
        return axis is not None and not any(self.computes(use.operation, op.result) for use in op.result.uses)

    # --- subscripts

    def slice(self, place: SubscriptPart, extent: str) -> str:
        assert place.axis is not None
        span = self.text.span(place.axis)
        if place.offset is not None and place.down:
            offset = self.text[place.offset].within(7)
            return f"{span.start} - {offset} : {span.stop} - {offset}"
        if place.offset is not None:
            offset = self.text[place.offset].within(6)
            start = offset if span.start == "0" else f"{offset} + {span.start}"
            return f"{start} : {offset} + {span.stop}"
        if span.start == "0":
            return ":" if span.stop == extent else f":{span.stop}"
        return f"{span.start}:{span.stop}"

    def subscript(self, name: str, places: Sequence[SubscriptPart], head: Sequence[Axis]) -> str:
        extents = [*map(python_text, self.tensors[name].shape)]
        parts = [
            self.slice(place, extent) if place.axis is not None else self.text.along(place.value, head).code
            for place, extent in zip(places, extents, strict=True)
        ]
        while len(parts) > 1 and parts[-1] == ":":
            parts.pop()
        return f"[{', '.join(parts) or '()'}]"

    # --- loads

    def load(self, op: tile.LoadOp) -> Text:
        """The expression of a load, its axes in the order that all arrays keep."""
        name, places = op.tensor.string_value(), self.places(op)
        computed = [p for p in places if p.axis is None]
        ranges = [p.axis for p in places if p.axis is not None]
        axes = frozenset[Axis]().union(*(self.text.axes(p.value) for p in computed))
        axes |= self.text.axes(op.where) if op.where is not None else frozenset()
        head = self.text.ordered(axes)
        deferred = op.result in self.text.deferred and places[-1].axis is self.text.ordered([*axes, *ranges])[-1]
        if deferred:
            arguments = [self.text.along(p.value, head).code for p in computed]
            where = "True" if op.where is None else self.text.along(op.where, head).code
            few, least = self.text.size(self.text.deferred[op.result].rows), self.text.deferred[op.result].least
            code = f"_deferred({', '.join([few, str(least), self.gathered(name, places), where, *arguments])})"
        elif op.where is None:
            code = python_name(name) + self.subscript(name, places, head)
        else:
            arguments = [self.text.along(v, head).code for v in (op.where, *(p.value for p in computed))]
            code = f"_read({', '.join([self.gathered(name, places), *arguments])})"
        unsorted = [*head, *ranges]
        text = self.widened(op, Text(code), bool(unsorted))
        return self.text.turned(text, unsorted, self.text.ordered(unsorted))

    def gathered(self, name: str, places: Sequence[SubscriptPart]) -> str:
        """What of a tensor a gather reads: cut where indices are ranges, whose axes come last."""
        extents = [*map(python_text, self.tensors[name].shape)]
        cut = [":" if p.axis is None else self.slice(p, extent) for p, extent in zip(places, extents, strict=True)]
        order = sorted(range(len(places)), key=lambda n: places[n].axis is not None)
        code = python_name(name)
        written = [n for n, part in enumerate(cut) if part != ":"]
        if written:
            before = ["..."] if written[0] > 1 and written[-1] == len(cut) - 1 else cut[: written[0]]
            code += f"[{', '.join([*before, *cut[written[0] : written[-1] + 1]])}]"
        if order != [*range(len(places))]:
            code += f".transpose({', '.join(map(str, order))})"
        return code

    def widened(self, op: tile.LoadOp, text: Text, array: bool) -> Text:
        """What was read, in the type that it is computed with."""
        element, type_ = self.tensors[op.tensor.string_value()].element.data, op.result.type
        target = dtype(type_)
        if type_ == i1:
            return text if array else Text(f"bool({text.code})")
        if type_ == index:
            if array and op.result in self.text.kept:
                return text
            return Text(f"{text.code}.astype({target})" if array else f"int({text.code})")
        helper = {"bf16": "_from_bf16", "f8e4m3": "_F8E4M3", "f8e5m2": "_F8E5M2"}.get(element)
        if helper is not None:
            code = f"{helper}({text.code})" if element == "bf16" else f"{helper}[{text.code}]"
            text = Text(f"{code}.astype({target})" if type_ == f64 else code)
            return text if array else Text(f"{target}({text.code})")
        if not array:
            return Text(f"{target}({text.code})")
        if (element, target) == ("f16", "np.float32"):
            least = self.text.by_loops
            return Text(f"_from_f16({text.code})" if least is None else f"_from_many_f16({text.code}, {least})")
        same = (element, target) in (("f32", "np.float32"), ("f64", "np.float64"))
        return text if same else Text(f"{text.code}.astype({target})")

    # --- stores

    def store(self, op: tile.StoreOp) -> str:
        """The statement of a store."""
        name, places = op.tensor.string_value(), self.places(op)
        axes = [p.axis for p in places if p.axis is not None]
        used = frozenset[Axis]().union(*(self.text.axes(v) for v in (*op.indices, op.value)))
        used |= self.text.axes(op.where) if op.where is not None else frozenset()
        head = self.text.ordered(used - frozenset(axes))
        value = self.held(op, self.text.along(op.value, [*head, *axes]).code)
        if op.where is not None:
            arguments = [self.text.along(op.where, head).code, value]
            arguments += [self.text.along(v, head).code for v in op.indices]
            return f"{'_write' if op.adds is None else '_add'}({', '.join([python_name(name), *arguments])})"
        subscript = self.subscript(name, places, head)
        if op.within is not None:
            return f"np.add.at({python_name(name)}, np.s_{subscript}, {value})"
        return f"{python_name(name)}{subscript} {'=' if op.adds is None else '+='} {value}"

    def held(self, op: tile.StoreOp, value: str) -> str:
        """What is stored, as the tensor's element type holds it where NumPy does not see to that."""
        element, type_ = self.tensors[op.tensor.string_value()].element.data, op.value.type
        if isinstance(type_, AnyFloat):
            return NUMPY_STORED[element].format(value) if element in NUMPY_STORED else value
        number = constant(op.value)
        fits = number is not None and holds(element, int(number))
        if type_ == index and element != "i64" and not self.text.axes(op.value) and not fits:
            return f"np.int64({value}).astype(np.{ELEMENTS[element].dtype})"  # NumPy wraps no integer of Python
        return value
