"""The axes of tensors and the variables of rows in another order, and a dim made into two."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import permutations

from attndsl.checking.typed import Spec
from attndsl.syntax import tree
from attndsl.testing.case import Array
from attndsl.testing.choices import Choices
from attndsl.testing.renaming import words_of
from attndsl.testing.rewriting import free_names, nodes, parsed, written

PARTS = (tree.Whole, tree.Slice)
"""Subscripts that keep an axis."""


def permuted(choices: Choices, spec: Spec) -> tuple[str, str, tuple[int, ...]] | None:
    """The spec with the axes of a tensor in another order, the tensor, and that order."""
    attention = parsed(spec.source.text)
    options = []
    for tensor in _tensors(attention):
        used = _subscripts(attention, tensor.name.text)
        for axes in list(permutations(range(len(tensor.extents))))[1:7]:
            if all(_keeps_parts(subscripts, axes) for subscripts in used):
                options.append((tensor.name.text, axes))
    if not options:
        return None
    name, axes = choices.of(options)

    def shuffled(written_: Sequence[str]) -> str:
        return ", ".join(written_[axis] for axis in axes)

    return _with_axes(spec, name, shuffled), name, axes


def rows_permuted(choices: Choices, spec: Spec) -> str | None:
    """The spec with the variables of each `each` in another order."""
    text, attention = spec.source.text, parsed(spec.source.text)
    orders: dict[tree.Node, Sequence[tree.Binder]] = {}
    for each in attention.statements:
        if isinstance(each, tree.Each):
            names = {binder.name.text for binder in each.binders}
            free = [binder for binder in each.binders if not free_names(binder) & names]
            orders[each] = [*free[::-1], *(binder for binder in each.binders if binder not in free)]
    if all(list(each.binders) == list(orders[each]) for each in orders if isinstance(each, tree.Each)):
        return None

    def change(node: tree.Node) -> str | None:
        if node not in orders:
            return None
        return f"each {', '.join(text[binder.span.start : binder.span.end] for binder in orders[node])}"

    return text[: attention.span.start] + written(text, attention, change) + text[attention.span.end :]


def divided(choices: Choices, spec: Spec, arrays: Mapping[str, Array]) -> tuple[str, str, int, int] | None:
    """The spec with an axis of an input made into two, the input, that axis, and the extent of the inner one."""
    attention = parsed(spec.source.text)
    options = [
        (tensor, axis)
        for tensor in _tensors(attention)
        if tensor.role == "input"
        for axis, extent in enumerate(tensor.extents)
        if isinstance(extent, tree.Reference)
        if not any(isinstance(used[axis], PARTS) for used in _subscripts(attention, tensor.name.text))
    ]
    if not options:
        return None
    tensor, axis = choices.of(options)
    name, dim = tensor.name.text, _dim(tensor.extents[axis])
    size = arrays[name].shape[axis]
    inner = choices.of([number for number in range(1, size + 1) if size % number == 0][::-1] or [1])
    taken, parts = words_of(spec.source.text), ("outer", "inner")
    while taken & {*parts}:
        parts = (f"{parts[0]}_", f"{parts[1]}_")

    def cut(extents: bool) -> Callable[[Sequence[str]], str]:
        def both(texts: Sequence[str]) -> str:
            place = texts[axis]
            new = ", ".join(parts) if extents else f"({place}) / {parts[1]}, ({place}) % {parts[1]}"
            return ", ".join([*texts[:axis], new, *texts[axis + 1 :]])

        return both

    told = (
        any(
            other is not tensor and other.role == "input" and any(_dim(extent) == dim for extent in other.extents)
            for other in _tensors(attention)
        )
        or [_dim(extent) for extent in tensor.extents].count(dim) > 1
    )
    return _with_axes(spec, name, cut(False), cut(True), parts, None if told else dim), name, axis, inner


def _with_axes(
    spec: Spec,
    name: str,
    subscripts: Callable[[Sequence[str]], str],
    extents: Callable[[Sequence[str]], str] | None = None,
    dims: Sequence[str] = (),
    replaced: str | None = None,
) -> str:
    """The spec with what these make of the subscripts and extents of a tensor; with more dims, in place of one."""
    text, attention = spec.source.text, parsed(spec.source.text)

    def change(node: tree.Node) -> str | None:
        match node:
            case tree.Reference(name=tree.Name(text=word)) if word == replaced:
                return f"({dims[0]} * {dims[1]})"
            case tree.TensorDeclaration(name=tree.Name(text=word)) if word == name:
                shape = (extents or subscripts)([written(text, extent, change) for extent in node.extents])
                return f"{node.role} {name} : {node.element.text}[{shape}]"
            case tree.Subscripted(name=tree.Name(text=word)) if word == name:
                return f"{name}[{subscripts([written(text, each, change) for each in node.subscripts])}]"
            case tree.WriteStatement(name=tree.Name(text=word)) if word == name:
                place = subscripts([written(text, each, change) for each in node.subscripts])
                return f"{name}[{place}] {'+=' if node.adds else '='} {written(text, node.value, change)}"
            case tree.Dims(names=names) if replaced in (known := [each.text for each in names]):
                return f"dims {', '.join([*(each for each in known if each != replaced), *dims])}"
        return None

    new = written(text, attention, change)
    if dims and replaced is None:
        new = new.replace("{", f"{{\n    dims {', '.join(dims)}", 1)
    return text[: attention.span.start] + new + text[attention.span.end :]


def _tensors(attention: tree.AttentionNode) -> list[tree.TensorDeclaration]:
    return [each for each in attention.statements if isinstance(each, tree.TensorDeclaration)]


def _subscripts(attention: tree.AttentionNode, name: str) -> list[tuple[tree.Subscript, ...]]:
    """The subscripts with which a tensor is read or written, each time."""
    uses = (node for node in nodes(attention) if isinstance(node, tree.Subscripted | tree.WriteStatement))
    return [node.subscripts for node in uses if node.name.text == name]


def _keeps_parts(subscripts: Sequence[tree.Subscript], axes: Sequence[int]) -> bool:
    """Whether axes that are kept keep their order."""
    kept = [axis for axis in axes if isinstance(subscripts[axis], PARTS)]
    return kept == sorted(kept)


def _dim(extent: tree.Expression) -> str | None:
    return extent.name.text if isinstance(extent, tree.Reference) else None
