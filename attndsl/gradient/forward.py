"""The forward of a spec with what its backward takes besides: the text of the spec, and a write for each reduction."""

from __future__ import annotations

import re

from attndsl.checking.text import expression_text
from attndsl.checking.typed import STORAGE_KINDS, Block, Spec, Write
from attndsl.gradient.algebra import NOWHERE
from attndsl.gradient.backward import SUMS, Derived, Saved
from attndsl.gradient.text import block_lines
from attndsl.syntax import tree
from attndsl.syntax.parse import parse


def forward_text(spec: Spec, derived: Derived) -> str:
    """The text of a spec that writes what is saved, too; as it is where that is nothing."""
    if not derived.saved and not derived.kept:
        return spec.source.text
    text, statements = spec.source.text, parse(spec.source).statements
    changes: dict[tuple[int, int], str] = {}
    tensors = [s for s in statements if isinstance(s, tree.TensorDeclaration)]
    for tensor in tensors:
        if tensor.name.text in derived.kept:
            changes[tensor.span.start, tensor.span.start + len("temp")] = "output"
    elements = {saved.tensor.element for saved in derived.saved} - spec.types.keys() - STORAGE_KINDS.keys()
    for element in elements:
        place, before, after = _types(statements)
        changes[place, place] = f"{before}{element} = {' | '.join(SUMS)}{after}"
    ends = {max(s.span.end for s in tensors): [_declared(saved) for saved in derived.saved]}
    taken = {*re.findall(r"\w+", text)}
    for saved in derived.saved:
        ends.setdefault(_end(spec, statements, saved), []).append(_written(spec, saved, taken))
    for place, lines in ends.items():
        changes[place, place] = "".join(f"\n    {line}" for line in lines)
    for start, stop in sorted(changes, reverse=True):
        text = text[:start] + changes[start, stop] + text[stop:]
    return text


def _types(statements: tuple[tree.Statement, ...]) -> tuple[int, str, str]:
    """Where one more type is declared, and what stands before and after it."""
    for statement in statements:
        if isinstance(statement, tree.Types):
            return statement.span.end, ", ", ""
    return statements[0].span.start, "types ", "\n    "


def _declared(saved: Saved) -> str:
    extents = ", ".join(map(expression_text, saved.tensor.extents))
    return f"output {saved.tensor.name} : {saved.tensor.element}[{extents}]"


def _written(spec: Spec, saved: Saved, taken: set[str]) -> str:
    """A reduction, in words of tensors and variables alone, which stand for the same everywhere in its block.

    What names it needs besides are none of those that are `taken`, and are added to them.
    """
    block = spec.blocks[saved.block]
    write = Write(saved.tensor, saved.indices, saved.axes, saved.value, NOWHERE)
    *_, line = block_lines(Block(block.each, block.over, (write,)), {}, taken, lets=False)
    taken |= {*re.findall(r"\w+", line)}
    return line


def _end(spec: Spec, statements: tuple[tree.Statement, ...], saved: Saved) -> int:
    """Where the block of the text ends that a block of the spec is made of."""
    own, end = spec.blocks[saved.block].each[0].span.start, -1
    for statement in statements:
        if isinstance(statement, tree.Each) and end >= 0:
            break
        if end >= 0 or (isinstance(statement, tree.Each) and statement.span.start <= own < statement.span.end):
            end = statement.span.end
    return end
