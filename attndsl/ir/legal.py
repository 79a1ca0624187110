"""Legal forms: the operations that a target takes, and of each the operands, properties and types that it takes.

Both levels of the IR are larger than what any one emitter spells: the module of one target is well formed, and may mean
nothing to another's emitter. What a target takes is data, so that it can be read, and held after the last pass.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.statements import operations
from attndsl.ir.xdsl import Attribute, FileLineColLoc, ModuleOp, Operation
from attndsl.printable import printable

MOST_TOLD = 8
"""How many kinds of illegal operations are told of at once."""


@dataclass(frozen=True, slots=True)
class IllegalForm:
    """A form that an operation may not have: what names it after the operation's name, and which have it."""

    words: str
    has: Callable[[Any, AxesAnalysis], bool]


@dataclass(frozen=True, slots=True)
class LegalForms:
    """What the emitter of `target` takes: operations, each with the forms that it may not have, and types of values."""

    target: str
    operations: Mapping[type[Operation], tuple[IllegalForm, ...]]
    types: Collection[Attribute]

    def require(self, module: ModuleOp) -> AxesAnalysis:
        """Raises IllegalModule where the emitter does not take a module; else gives the axes of its values."""
        axes = AxesAnalysis()
        places: dict[str, list[Operation]] = {}
        for op, words in self.illegal(module, axes):
            places.setdefault(f"{op.name} {words}".rstrip(), []).append(op)
        if places:
            raise IllegalModule(self.target, places)
        return axes

    def illegal(self, module: ModuleOp, axes: AxesAnalysis) -> Iterator[tuple[Operation, str]]:
        """The operations that are not legal, each with what is illegal of it; nothing where that is all of it."""
        for op in operations(module):
            forms = self.operations.get(type(op))
            if forms is None:
                yield op, ""
                continue
            for form in forms:
                if form.has(op, axes):
                    yield op, form.words
            for result in op.results:
                if result.type not in self.types:
                    yield op, f"of the type {result.type}"


class IllegalModule(ValueError):
    """A module that an emitter does not take. The message names the target, what is illegal, and where in the spec."""

    def __init__(self, target: str, places: Mapping[str, list[Operation]]) -> None:
        told = [f"no {what}{_where(ops)}" for what, ops in places.items()]
        if len(told) > MOST_TOLD:
            told[MOST_TOLD:] = ["and others"]
        super().__init__(f"{target} takes {', '.join(told)}")


def given(name: str) -> IllegalForm:
    """The form of an operation that has an optional operand, a property, or one of a list of operands, of that name."""
    return IllegalForm(f"with `{name}`", lambda op, axes: getattr(op, name) not in (None, ()))


def _where(ops: list[Operation]) -> str:
    """Where the first of some operations comes from, and how many others there are."""
    place = ops[0].location
    told = []
    if isinstance(place, FileLineColLoc):
        told.append(f"{printable(PurePath(place.filename.data).name)}:{place.line.data}")
    if len(ops) > 1:
        told.append(f"{len(ops)} of them")
    return f" ({', '.join(told)})" if told else ""
