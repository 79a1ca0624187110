"""What a planted bug is, and the ways of planting one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any, TypeVar

import pytest

from attndsl.backends.writer import Writer
from attndsl.ir.xdsl import ModuleOp, Operation
from attndsl.passes import load_pass

Patch = Callable[[pytest.MonkeyPatch], None]


CALL = "call"
"""The stage of what only calls of an operator go through."""

GRADIENT = "gradient"
"""The stage of what derives gradients."""


class Unsound(Exception):
    """An example at which something is wrong that nobody planted."""


@dataclass(frozen=True)
class Mutant:
    """A bug that `patch` plants in the compiler to `target`; `blame` are the stages that it reaches.

    A stage is `build`, a pass, or the target itself, which is its emitter; or CALL, which is all that a user's call
    goes through; or GRADIENT, of which the reference shows what is wrong.
    """

    name: str
    patch: Patch
    target: str
    blame: frozenset[str]

    @property
    def in_emitter(self) -> bool:
        """Whether the IR is as it should be."""
        return self.blame == {self.target}

    @property
    def in_call(self) -> bool:
        """Whether only calls of an operator show it."""
        return self.blame == {CALL}

    @property
    def in_gradient(self) -> bool:
        """Whether only gradients show it."""
        return self.blame == {GRADIENT}


def planted(target: str, *blame: str) -> Callable[[Patch], Mutant]:
    """The bug that a function plants, called what the function is."""
    return lambda patch: Mutant(_name(patch), patch, target, frozenset(blame))


def spoils(target: str, pass_name: str) -> Callable[[Callable[[ModuleOp], None]], Mutant]:
    """The bug of a pass after which a function is applied to the module."""

    def of(mutate: Callable[[ModuleOp], None]) -> Mutant:
        def patch(monkeypatch: pytest.MonkeyPatch) -> None:
            spoilt = load_pass(pass_name)
            original = spoilt.apply

            def apply(self: Any, ctx: Any, op: ModuleOp) -> None:
                original(self, ctx, op)
                mutate(op)

            monkeypatch.setattr(spoilt, "apply", apply)

        return Mutant(_name(mutate), patch, target, frozenset({pass_name}))

    return of


Made = TypeVar("Made")


def made_with(mutant: Mutant, make: Callable[[], Made]) -> Made | None:
    """What is made with a mutant planted, nothing where that fails."""
    with pytest.MonkeyPatch.context() as patching:
        mutant.patch(patching)
        try:
            return make()
        except Exception:
            return None


def _name(function: Callable[..., Any]) -> str:
    return function.__name__.replace("_", " ")


def mutants_of(*catalogues: ModuleType) -> list[Mutant]:
    """The mutants of some catalogues."""
    return [each for catalogue in catalogues for each in vars(catalogue).values() if isinstance(each, Mutant)]


def every(module: ModuleOp, *kinds: type[Operation]) -> Iterator[Any]:
    """The operations of some kinds, which may be replaced meanwhile."""
    return (op for op in list(module.walk()) if isinstance(op, kinds))


def wraps(monkeypatch: pytest.MonkeyPatch, place: Any, name: str, around: Callable[..., Any]) -> None:
    """Puts around(original, *arguments) in the place of a function."""
    original = getattr(place, name)
    monkeypatch.setattr(place, name, lambda *arguments, **options: around(original, *arguments, **options))


def misspells(
    monkeypatch: pytest.MonkeyPatch, table: dict[type[Operation], Any], op: type[Operation], text: str
) -> None:
    """Spells an operation on arrays in another way."""
    monkeypatch.setitem(table, op, table[op]._replace(array=text))


def rewords(monkeypatch: pytest.MonkeyPatch, helpers: dict[str, str], name: str, old: str, new: str) -> None:
    """Writes something else into a helper of generated code."""
    assert old in helpers[name]
    monkeypatch.setitem(helpers, name, helpers[name].replace(old, new))


def rewrites_lines(monkeypatch: pytest.MonkeyPatch, pattern: str, new: str) -> None:
    """Writes something else into the lines of generated code."""
    wraps(monkeypatch, Writer, "line", lambda line, writer, text: line(writer, re.sub(pattern, new, text)))
