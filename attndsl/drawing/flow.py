"""The picture of the data flow: tensors, the index maps by which they are read, what is made of them and written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from attndsl.checking.text import expression_text
from attndsl.checking.typed import Block, Expr, Index, Read, Reduce, Spec, Tensor, operands, walk
from attndsl.drawing.style import INK, SMALL
from attndsl.printable import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLUMNS = ("tensors", "reads, as index maps", "made of them", "over the keys", "written")

WIDEST = 56
"""How many characters of a text are shown."""

CHARACTER, PADDING, GAP, STEP = 0.0625, 0.06, 0.45, 0.3
"""In inches: how wide a character is, what is around a text, how far apart columns are, and the lines of boxes."""

PARTS = ("score", "mask", "value", "sink")
"""The parts of a reduction that are drawn."""

Place = tuple[int, str]
"""A column, and the text of a box in it."""


@dataclass(frozen=True)
class FlowBox:
    """A box of text in a column, and the boxes from which lines lead to it."""

    column: int
    text: str
    sources: tuple[Place, ...] = ()


class _Flow:
    def __init__(self, spec: Spec, block: Block) -> None:
        self.spec = spec
        self.nodes: dict[Place, FlowBox] = {}
        for write in block.writes:
            reductions = []
            for reduce in (part for part in walk(write.value) if isinstance(part, Reduce)):
                parts = [self.part(name, part) for name in PARTS if (part := reduce.parts[name]) is not None]
                keys = ", ".join(index.name for index in block.over)
                reductions.append(self.add(3, f"{reduce.function} over {keys}", parts))
            beside = self.reads(write.value, (Read, Reduce))
            if not reductions:
                reductions, beside = [self.add(2, self.source(write.value), beside)], []
            place = expression_text(Read(write.value.kind, write.span, write.tensor, write.indices))
            self.add(4, f"{place}{' +=' if write.adds else ''}", [*reductions, *beside])

    def part(self, name: str, expr: Expr) -> Place:
        return self.add(2, f"{name} = {self.source(expr)}", self.reads(expr, (Read,)))

    def reads(self, expr: Expr, ends: tuple[type[Expr], ...]) -> list[Place]:
        """The outermost reads of an expression: those that they are read at are part of their text."""
        found = (part for part in walk(expr, through=_until(ends)) if isinstance(part, Read))
        return [self.add(1, expression_text(read), [self.add(0, declared(read.tensor))]) for read in found]

    def source(self, expr: Expr) -> str:
        """An expression as the spec has it, in one line and without comments."""
        text = re.sub("#.*", "", self.spec.source.text[expr.span.start : expr.span.end])
        return printable(" ".join(text.split()))

    def add(self, column: int, text: str, sources: Sequence[Place] = ()) -> Place:
        place = column, text
        known = self.nodes.get(place, FlowBox(column, text))
        self.nodes[place] = replace(known, sources=tuple(dict.fromkeys([*known.sources, *sources])))
        return place


def _until(ends: tuple[type[Expr], ...]) -> Callable[[Expr], tuple[Expr, ...]]:
    return lambda expr: () if isinstance(expr, ends) else operands(expr)


def nodes_of(spec: Spec, block: Block) -> list[FlowBox]:
    """What a block reads, computes and writes, from the left to the right."""
    return sorted(_Flow(spec, block).nodes.values(), key=lambda node: node.column)


def declared(tensor: Tensor) -> str:
    """A tensor as a spec declares it: `k : T[B, Hkv, N, D]`."""
    return f"{tensor.name} : {tensor.element}[{', '.join(map(expression_text, tensor.extents))}]"


def title_of(block: Block) -> str:
    """The loops of a block: `each b in B, … over j in N`."""
    over = f"   over {', '.join(map(_binder, block.over))}" if block.over else ""
    return f"each {', '.join(map(_binder, block.each))}{over}"


def _binder(index: Index) -> str:
    return f"{index.name} in {expression_text(index.extent)}"


@dataclass(frozen=True)
class FlowLayout:
    """Where the boxes of a block stand, in inches: left, middle and width of each; and the size of it all."""

    lefts: tuple[float, ...]
    boxes: Mapping[Place, tuple[float, float, float]]
    width: float
    height: float


def layout_of(spec: Spec, block: Block) -> FlowLayout:
    """Columns as wide as their widest text, each in the middle of the picture's height."""
    columns = [[node for node in nodes_of(spec, block) if node.column == n] for n in range(len(COLUMNS))]
    height = STEP * (max(map(len, columns)) + 2)
    boxes, lefts, left = {}, [], 0.0
    for name, nodes in zip(COLUMNS, columns, strict=True):
        lefts.append(left)
        width = 2 * PADDING + CHARACTER * max([len(name) if nodes else 0, *(len(shown(node.text)) for node in nodes)])
        for node, middle in zip(nodes, _spread(len(nodes), height), strict=True):
            boxes[node.column, node.text] = left, middle, width
        left += width + GAP
    return FlowLayout(tuple(lefts), boxes, left - GAP, height)


def draw_flow(axes: Axes, spec: Spec, block: Block) -> None:
    """Boxes in columns, and lines from what is taken to what takes it. The axes have the size of the layout."""
    from matplotlib.patches import Rectangle

    layout = layout_of(spec, block)
    axes.set_xlim(0, layout.width)
    axes.set_ylim(layout.height, 0)
    axes.axis("off")
    axes.text(0, STEP * 0.4, title_of(block), fontsize=SMALL + 1, va="center", family="monospace")
    for name, left in zip(COLUMNS, layout.lefts, strict=True):
        if any(box[0] == left for box in layout.boxes.values()):
            axes.text(left, STEP * 1.3, name, fontsize=SMALL - 1, va="center", style="italic")
    for node in nodes_of(spec, block):
        left, middle, width = layout.boxes[node.column, node.text]
        axes.text(left + PADDING, middle, shown(node.text), fontsize=SMALL, va="center", family="monospace")
        outline = Rectangle((left, middle - 0.1), width, 0.2, fill=False, edgecolor=INK, linewidth=0.7, clip_on=False)
        axes.add_patch(outline)
        for source in node.sources:
            start, at, wide = layout.boxes[source]
            line = {"arrowstyle": "-|>", "color": INK, "linewidth": 0.7, "shrinkA": 0, "shrinkB": 0}
            axes.annotate("", xy=(left, middle), xytext=(start + wide, at), arrowprops=line)


def shown(text: str) -> str:
    """A text, cut where it is too wide."""
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…"


def _spread(count: int, height: float) -> Iterator[float]:
    """Where boxes of a column stand: below each other, in the middle of the height."""
    top = STEP * 2 + (height - STEP * 2 - STEP * count) / 2
    for number in range(count):
        yield top + STEP * (number + 0.5)
