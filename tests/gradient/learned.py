"""Specs of the gallery with something more that is learned: a term or a factor of scores, a sink, a gate."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from attndsl.checking.typed import FLOAT_TYPES, WEIGHING
from attndsl.syntax import tree
from attndsl.testing.choices import Choices
from attndsl.testing.renaming import words_of
from attndsl.testing.rewriting import free_names, nodes, parsed, written

REDUCTIONS = (*WEIGHING, "sum", "max", "min")
"""Reductions over keys whose first argument is a number."""


class Learned(NamedTuple):
    """A spec, and what it learns more than another one."""

    text: str
    what: str


class _Place(NamedTuple):
    """A part of a block that is to be another one, and the names of the block's rows and keys with their extents.

    Extents are those that are the same for a whole call.
    """

    node: tree.Node
    rows: dict[str, str]
    keys: dict[str, str]


Making = tuple[str, str, tree.Node]
"""What stands for the old text, `OLD`, in the place of a node; and the extents of the learned tensor."""


def draw_learned(choices: Choices, text: str, name: str = "learned") -> Learned:
    """A spec with a learned tensor: one of the ways of having it that it has a place for."""
    attention = parsed(text)
    while name in words_of(text):
        name += "_"
    kinds = {kind: [*make(attention, text, name)] for kind, make in KINDS.items()}
    kind = choices.of([kind for kind, makings in kinds.items() if makings])
    new, extents, place = choices.of(kinds[kind])

    def change(node: tree.Node) -> str | None:
        if node is place:
            return new.replace("OLD", text[node.span.start : node.span.end])
        return None

    first = next(each for each in attention.statements if isinstance(each, tree.TensorDeclaration))
    start, end = first.span.start, attention.span.end
    declared = f"input {name} : f32[{extents}]\n    "
    changed = written(text, attention, change)[start - attention.span.start :]
    return Learned(text[:start] + declared + changed + text[end:], kind)


def _term(attention: tree.AttentionNode, text: str, name: str) -> Iterator[Making]:
    """A slope by distance, as of ALiBi."""
    for place in _scores(attention, text):
        for row, extent in place.rows.items():
            first, last = next(iter(place.keys)), [*place.rows][-1]
            yield f"(OLD) + {name}[{row}] * (0.3 * ({first} - {last}))", extent, place.node


def _bias(attention: tree.AttentionNode, text: str, name: str) -> Iterator[Making]:
    """A table of distances, of which several have one place."""
    for place in _scores(attention, text):
        for row, extent in place.rows.items():
            first, last = next(iter(place.keys)), [*place.rows][-1]
            yield f"(OLD) + {name}[({first} - {last}) % 3, {row}]", f"3, {extent}", place.node


def _at_keys(attention: tree.AttentionNode, text: str, name: str) -> Iterator[Making]:
    """A bias of each key, absent beyond the last few."""
    for place in _scores(attention, text):
        yield f"(OLD) + {name}[{next(iter(place.keys))}]", "5", place.node


def _weight(attention: tree.AttentionNode, text: str, name: str) -> Iterator[Making]:
    """A temperature of each row."""
    for place in _scores(attention, text):
        extents = ", ".join(place.rows.values())
        yield f"(OLD) * {name}[{', '.join(place.rows)}]", extents, place.node


def _sink(attention: tree.AttentionNode, text: str, name: str) -> Iterator[Making]:
    """A sink of each head, or other part of the rows."""
    for place in _calls(attention, text, WEIGHING):
        call = place.node
        assert isinstance(call, tree.Call)
        if not any(isinstance(each, tree.KeywordArgument) for each in call.arguments):
            old = text[call.span.start : call.span.end].rstrip()[:-1]
            for row, extent in place.rows.items():
                yield f"{old}, sink = {name}[{row}])", extent, call


def _gate(attention: tree.AttentionNode, text: str, name: str) -> Iterator[Making]:
    """A gate of each element of an output of reals that no row makes infinite, of which a gate's gradient is none."""
    tensors = {each.name.text: each for each in attention.statements if isinstance(each, tree.TensorDeclaration)}
    variables = (v for each in attention.statements if isinstance(each, tree.Types) for v in each.variables)
    reals = {*FLOAT_TYPES, *(each.name.text for each in variables if {c.text for c in each.choices} <= {*FLOAT_TYPES})}
    for statement in attention.statements:
        if isinstance(statement, tree.WriteStatement) and not statement.adds:
            tensor = tensors[statement.name.text]
            is_weights = isinstance(statement.value, tree.Call) and statement.value.function.text == "softmax"
            calls = {each.function.text for each in nodes(statement.value) if isinstance(each, tree.Call)}
            allowed = not is_weights and calls.isdisjoint(INFINITE)
            if tensor.role == "output" and tensor.element.text in reals and allowed:
                places = ", ".join(text[each.span.start : each.span.end] for each in statement.subscripts)
                extents = ", ".join(text[each.span.start : each.span.end] for each in tensor.extents)
                yield f"(OLD) * sigmoid({name}[{places}])", extents, statement.value


INFINITE = ("logsumexp", "max", "min")
"""What is infinite for a row that sees no key."""

KINDS: dict[str, Callable[[tree.AttentionNode, str, str], Iterator[Making]]] = {
    "term": _term,
    "bias": _bias,
    "bias of keys": _at_keys,
    "weight": _weight,
    "sink": _sink,
    "gate": _gate,
}
"""Ways of learning more, by name."""


def _scores(attention: tree.AttentionNode, text: str) -> Iterator[_Place]:
    """The scores of reductions."""
    for place in _calls(attention, text, REDUCTIONS):
        assert isinstance(place.node, tree.Call)
        yield place._replace(node=place.node.arguments[0])


def _calls(attention: tree.AttentionNode, text: str, functions: tuple[str, ...]) -> Iterator[_Place]:
    """The reductions of blocks that have rows and keys."""
    rows: dict[str, str] = {}
    keys: dict[str, str] = {}
    known = {name.text for each in attention.statements if isinstance(each, tree.Dims) for name in each.names}
    known |= {param.name.text for param in attention.parameters}
    for statement in attention.statements:
        match statement:
            case tree.Each(binders=binders):
                rows, keys = _constant(binders, known, text), {}
            case tree.Over(binders=binders):
                keys = {each.name.text: text[each.extent.span.start : each.extent.span.end] for each in binders}
            case tree.WriteStatement() | tree.Definition() | tree.Let(params=()) if rows and keys:
                for node in nodes(statement):
                    if isinstance(node, tree.Call) and node.function.text in functions:
                        yield _Place(node, rows, keys)


def _constant(binders: tuple[tree.Binder, ...], known: set[str], text: str) -> dict[str, str]:
    """The variables whose extent is the same for a whole call."""
    return {
        each.name.text: text[each.extent.span.start : each.extent.span.end]
        for each in binders
        if each.bound is None and free_names(each.extent) <= known
    }
