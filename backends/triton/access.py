"""Loads and stores as Triton text: pointers from strides, masks, and the types that memory holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from textwrap import wrap

from attndsl.backends.gpu.parameters import stride_names
from attndsl.backends.text import ATOM
from attndsl.backends.triton.expressions import TritonExpressions
from attndsl.backends.triton.pointwise import scalar_type
from attndsl.ir import spec, tile
from attndsl.ir.analyses.boxes import box_of
from attndsl.ir.rewrite import constant
from attndsl.ir.xdsl import AnyFloat, SSAValue
from attndsl.python_names import pointer_name

DECODED = {"f8e4m3": "_from_f8e4m3", "f8e5m2": "_from_f8e5m2"}
"""What makes numbers of the bytes that a launcher hands over, for each of its ENCODED."""

TRITON_STORED = {
    "f8e4m3": "_to_f8({}, 448.0, 3, -6)",
    "f8e5m2": "_to_f8({}, 57344.0, 2, -14)",
    "i8": "_nearest({}, -128.0, 127.0)",
    "u8": "_nearest({}, 0.0, 255.0)",
}
"""What makes of floats what memory holds of them, where a store does not."""

AS_STORED = {"f32": "float32", "f64": "float64", "i64": "int64", "bool": "int1"}
"""Element types that are computed with as they are, where the kernel computes in that type."""


class TritonAccess:
    """Spells the loads and stores of one kernel."""

    def __init__(self, tensors: Iterable[spec.TensorOp], text: TritonExpressions) -> None:
        self.tensors = {t.sym_name.data: t for t in tensors}
        self.text = text

    def load(self, op: tile.LoadOp) -> list[str]:
        """What a load is, in the parts between which a long line may be broken: opening, arguments, closing."""
        arguments = [self._pointer(op, op.result)]
        if op.where is not None:
            arguments += [f"mask={self._mask(op.where, op.result)}", "other=0"]
        return self._numbers(op, "tl.load(", arguments, ")")

    def copy(self, op: tile.LoadOp, name: str) -> list[str]:
        """The same of a load that copies a box, whose descriptor has a name."""
        box = box_of(op, self.text.axes)
        assert box is not None, "the legal forms say so"
        along = tuple(side.axis for side in box if side.axis is not None)
        shape = self.text.shape(along).strip("[]")
        axes = self.text.axes_of(op.result)
        order = ", ".join(str(along.index(axis)) for axis in axes)
        turned = f".reshape({shape})" if along == axes else f".reshape({shape}).permute({order})"
        corner = ", ".join(self._corner(side.start) for side in box)
        return self._numbers(op, f"{name}.load(", [f"[{corner}]"], f"){turned}")

    def _corner(self, start: Mapping[SSAValue, int]) -> str:
        """Where a box begins along an axis of its tensor, in 32 bits: longer axes have no descriptor."""
        known = sum(int(constant(value) or 0) * count for value, count in start.items())
        terms = [self._times(value, count) for value, count in start.items() if constant(value) is None]
        if not terms:
            return str(known)
        sums = " + ".join([*terms, *([str(known)] if known else [])]).replace("+ -", "- ")
        return f"_int32({sums})"

    def _numbers(self, op: tile.LoadOp, opening: str, arguments: list[str], closing: str) -> list[str]:
        """The parts of what reads memory, with what makes numbers of it around them."""
        element, wanted = self.text.stored.element(op), scalar_type(op.result.type)
        if element in DECODED:
            opening, closing = f"{DECODED[element]}({opening}", f"{closing})"
        stored = "float32" if element in DECODED else AS_STORED.get(element)
        if op.result in self.text.stored.short:
            pass
        elif op.result not in self.text.stored.halves and stored != wanted:
            narrow = self.text.runs_narrow(op.result)
            before, after = ("", ".to(INDEX)") if narrow else self.text.widening(element, wanted)
            opening, closing = f"{before}{opening}", f"{closing}{after}"
        return [opening, *arguments, closing]

    def store(self, op: tile.StoreOp) -> list[str]:
        """What a store is, in parts as those of a load."""
        value, element = self.text[op.value].code, self.text.stored.element(op)
        if element in TRITON_STORED and isinstance(op.value.type, AnyFloat):
            # A number may be one of Python's, which no function takes.
            whole = value if self.text.axes(op.value) else f"tl.cast({value}, tl.{scalar_type(op.value.type)})"
            value = TRITON_STORED[element].format(whole)
        arguments = [self._pointer(op, op.value), value]
        if op.where is not None:
            arguments.append(f"mask={self._mask(op.where, op.value)}")
        if op.meets:
            return ["tl.atomic_add(", *arguments, 'sem="relaxed"', ")"]
        return ["tl.store(" if op.adds is None else "_add(", *arguments, ")"]

    def _axes_of(self, values: Iterable[SSAValue]) -> tuple[SSAValue, ...]:
        return self.text.ordered(frozenset[SSAValue]().union(*map(self.text.axes, values)))

    def _pointer(self, op: tile.LoadOp | tile.StoreOp, tile_: SSAValue) -> str:
        axes = self.text.axes_of(tile_)
        tensor = self.tensors[op.tensor.string_value()]
        terms, near = [pointer_name(tensor.sym_name.data)], list[str]()
        for axis, (value, stride) in enumerate(zip(op.indices, stride_names(tensor), strict=True)):
            place = value.owner
            if not isinstance(place, tile.PlaceOp):
                varies = bool(self.text.axes(value))
                terms += [f"{self._wide(value, axes)} * {stride}"] if varies else self._shared({value: 1}, stride)
                continue
            terms += self._shared(place.counted, stride)
            # The last stride is given without a type, since Triton makes other code where it is 1: a place has one.
            narrow = stride if axis == len(op.indices) - 1 else f"{stride}.to(INDEX)"
            near += [f"{self.text.position(along, axes, typed=narrow is stride)} * {narrow}" for along in place.axes]
            near += [f"{self.text.operand(v, axes, narrow=True).within(7)} * {narrow}" for v in place.near]
        pointer = " + ".join([*terms, f"({' + '.join(near)})" if len(near) > 1 else near[0]] if near else terms)
        if self._axes_of(op.indices) == axes:
            return pointer
        return f"tl.broadcast_to({pointer}, {self.text.shape(axes)})"

    def _shared(self, counted: Mapping[SSAValue, int], stride: str) -> list[str]:
        """What the part of an index that is the same for a tile adds to a pointer."""
        known = sum(int(constant(value) or 0) * count for value, count in counted.items())
        values = {value: count for value, count in counted.items() if constant(value) is None}
        if not values:
            return [stride] if known == 1 else [f"{known} * {stride}"] if known else []
        sums = [f"{'-' if count < 0 else '+'} {self._times(value, abs(count))}" for value, count in values.items()]
        sums += [f"{'-' if known < 0 else '+'} {abs(known)}"] if known else []
        if len(sums) == 1 and sums[0].startswith("+ "):
            return [f"{sums[0].removeprefix('+ ')} * {stride}"]
        return [f"({' '.join(sums).removeprefix('+ ')}) * {stride}"]

    def _times(self, value: SSAValue, count: int) -> str:
        text = self._wide(value, ())
        return text if count == 1 else f"{count} * {text}"

    def _wide(self, value: SSAValue, axes: Sequence[SSAValue]) -> str:
        """An index, in 64 bits: an offset may be larger than what it is made of."""
        text = self.text.lined_up(value, axes)
        short = self.text.runs_narrow(value) or self.text.counts_turns(value)
        return f"{text.within(ATOM)}.to(tl.int64)" if short else text.within(7)

    def _mask(self, where: SSAValue, tile_: SSAValue) -> str:
        return self.text.lined_up(where, self.text.axes_of(tile_)).code


def joined(parts: Sequence[str], prefix: str, width: int) -> list[str]:
    """A call, from the parts that `TritonAccess` gives, as one line, or as several where it is longer than `width`."""
    opening, *arguments, closing = parts
    line = f"{prefix}{opening}{', '.join(arguments)}{closing}"
    if len(line) <= width:
        return [line]
    inner = [
        f"{'        ' if n else '    '}{line}"
        for argument in arguments
        for n, line in enumerate(_broken(argument, width))
    ]
    return [f"{prefix}{opening}", *inner, closing]


def _broken(argument: str, width: int) -> list[str]:
    """An argument in lines that are not too long, broken after what adds its terms or joins its conditions."""
    glue = "\N{NO-BREAK SPACE}"
    text = argument.replace(" ", glue)
    for sign in "+&|":
        text = text.replace(f"{glue}{sign}{glue}", f"{glue}{sign} ")
    lines = wrap(f"{text},", width - 12, break_long_words=False, break_on_hyphens=False)
    return [line.replace(glue, " ") for line in lines]
