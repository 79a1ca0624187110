"""The text of a spec with other text in some places: the places are those of the syntax tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields
from functools import lru_cache

from attndsl.syntax import tree
from attndsl.syntax.parse import parse
from attndsl.syntax.source import Source

Change = Callable[[tree.Node], str | None]
"""What stands in the place of a node; None where it is made of its parts."""


@lru_cache(maxsize=8)
def parsed(text: str) -> tree.AttentionNode:
    """The syntax tree of a text; one text is often asked for several things."""
    return parse(Source(text))


def written(text: str, node: tree.Node, change: Change) -> str:
    """The text of a node with what `change` says in the place of it, or of the parts of it, outermost first."""
    if (new := change(node)) is not None:
        return new
    pieces, end = [], node.span.start
    for part in parts(node):
        pieces += [text[end : part.span.start], written(text, part, change)]
        end = part.span.end
    return "".join([*pieces, text[end : node.span.end]])


def parts(node: tree.Node) -> list[tree.Node]:
    """What a node is made of, in the order of the text."""
    found: list[tree.Node] = []
    for field in fields(node):
        value = getattr(node, field.name)
        found += [each for each in (value if isinstance(value, tuple) else (value,)) if isinstance(each, tree.Node)]
    return sorted(found, key=lambda part: part.span.start)


def nodes(node: tree.Node) -> Iterator[tree.Node]:
    """A node and all that it is made of, in the order of the text."""
    yield node
    for part in parts(node):
        yield from nodes(part)


def free_names(node: tree.Node) -> set[str]:
    """The names that a node uses, and neither defines nor binds itself."""
    match node:
        case tree.Name(text=text):
            return {text}
        case tree.AxisReduction(axes=axes, body=body):
            return _free(*(axis.extent for axis in axes)) | (free_names(body) - {axis.name.text for axis in axes})
        case tree.Let(params=params, value=value):
            own = {param.name.text for param in params if not isinstance(param, tree.WholeParam)}
            extents = [param.extent for param in params if isinstance(param, tree.AxisParam)]
            return _free(*extents) | (free_names(value) - own)
        case tree.Call(arguments=arguments):
            return _free(*arguments)
        case tree.KeywordArgument(value=value) | tree.Definition(value=value):
            return free_names(value)
        case tree.Binder(extent=extent, bound=bound):
            return _free(extent) | (set() if bound is None else free_names(bound))
        case tree.Dims() | tree.Types():
            return set()
        case tree.Schedule(settings=settings):
            return _free(*(setting.value for setting in settings if isinstance(setting.value, tree.Name)))
        case tree.TensorDeclaration(element=element, extents=extents):
            return _free(element, *extents)
    return _free(*parts(node))


def _free(*given: tree.Node) -> set[str]:
    return {name for each in given for name in free_names(each)}


def defined_names(statement: tree.Statement) -> tuple[str, ...]:
    """The names that a statement defines for those after it."""
    match statement:
        case tree.Dims(names=names):
            return tuple(name.text for name in names)
        case tree.Types(variables=variables):
            return tuple(variable.name.text for variable in variables)
        case tree.TensorDeclaration(name=name) | tree.Let(name=name) | tree.Definition(name=name):
            return (name.text,)
        case tree.Each(binders=binders) | tree.Over(binders=binders):
            return tuple(binder.name.text for binder in binders)
    return ()
