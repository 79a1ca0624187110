"""A spec for a batch of calls: some of its inputs, and all that it writes, have one axis more, the first."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields

from attndsl.syntax import tree
from attndsl.syntax.parse import parse
from attndsl.syntax.source import Source

_BRACKET = re.compile(r"(?:\s|#[^\n]*\n)*\[\s*")
"""What opens subscripts, behind a name."""

_SEPARATOR = re.compile(r"(?:\s|#[^\n]*\n)*[;,]")
"""What may stand between settings of a schedule."""


def batched_text(source: Source, inputs: Collection[str], keeps_layout: bool = True) -> str:
    """The text of a spec whose rows are those of a batch of calls, each with its own elements of `inputs`, by name.

    Every block has an index more, which reads and writes of these inputs, and of all that blocks write, have first. So
    has a definition that stands before the first block and reads one of them. Where no output can lie as an input any
    more, since one of both has an axis more, the text is right that no longer `keeps_layout`.
    """
    statements = parse(source).statements
    words = {*re.findall(r"\w+", source.text)}
    index, dim = (_fresh(name, words) for name in ("lane", "Lanes"))
    tensors = {
        each.name.text: len(each.extents)
        for each in statements
        if isinstance(each, tree.TensorDeclaration) and (each.name.text in inputs or each.role != "input")
    }
    ranks: dict[str, int] = {**tensors, **_definitions(statements, tensors)}
    changes = {statements[0].span.start: f"dims {dim}\n    "}
    left_out: dict[int, int] = {}
    for node in (node for statement in statements for node in _nodes(statement)):
        match node:
            case tree.TensorDeclaration(name=name, element=element) if name.text in tensors:
                changes.update(_subscript(source.text, element.span.end, dim, ranks[name.text]))
            case tree.Each(binders=binders):
                changes[binders[0].span.start] = f"{index} in {dim}, "
            case tree.Let(name=name, params=params) if name.text in ranks:
                changes.update(_subscript(source.text, name.span.end, index, len(params)))
            case tree.Reference(name=name) if name.text in ranks:
                changes[name.span.end] = f"[{', '.join([index, *[':'] * ranks[name.text]])}]"
            case tree.Subscripted(name=name) | tree.WriteStatement(name=name) if name.text in ranks:
                changes.update(_subscript(source.text, name.span.end, index, len(node.subscripts)))
            case tree.Setting(name=tree.Name(text="layout")) if not keeps_layout:
                separator = _SEPARATOR.match(source.text, node.span.end)
                left_out[node.span.start] = separator.end() if separator else node.span.end
    text = source.text
    for place in sorted({**changes, **left_out}, reverse=True):
        text = text[:place] + changes.get(place, "") + text[left_out.get(place, place) :]
    return text


def _definitions(statements: tuple[tree.Statement, ...], tensors: Mapping[str, int]) -> dict[str, int]:
    """The definitions before the first block that read one of these tensors, with how many parameters they have."""
    found: dict[str, int] = {}
    for statement in statements:
        if isinstance(statement, tree.Each):
            break
        if isinstance(statement, tree.Let) and any(
            isinstance(node, tree.Name) and (node.text in tensors or node.text in found) for node in _nodes(statement)
        ):
            found[statement.name.text] = len(statement.params)
    return found


def _subscript(text: str, end: int, name: str, rank: int) -> dict[int, str]:
    """Where a name goes first among so many subscripts, behind what ends there."""
    opening = _BRACKET.match(text, end)
    if opening is None:
        return {end: f"[{name}]"}
    return {opening.end(): f"{name}, " if rank else name}


def _nodes(node: tree.Node) -> Iterator[tree.Node]:
    """A node and all that it is made of."""
    yield node
    for field in fields(node):
        value = getattr(node, field.name)
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, tree.Node):
                yield from _nodes(part)


def _fresh(name: str, taken: Collection[str]) -> str:
    while name in taken:
        name += "_"
    return name
