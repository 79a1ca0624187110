"""Names and what they stand for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from attndsl.checking.typed import Expr, Kind, Tensor
from attndsl.checking.values import Result
from attndsl.syntax import tree
from attndsl.syntax.source import Span


@dataclass(frozen=True, slots=True)
class Binding:
    """Something that a name stands for; `span` is the name where it was defined."""

    span: Span


@dataclass(frozen=True, slots=True)
class ScalarBinding(Binding):
    """A dim, a parameter, an index or a built-in number; `what` says which.

    A definition's own parameters and a sum's axes may take the name of a `shadowable` one.
    """

    expr: Expr
    what: str
    shadowable: bool = False


@dataclass(frozen=True, slots=True)
class ElementType(Binding):
    """A type variable."""


@dataclass(frozen=True, slots=True)
class Storage(Binding):
    """A tensor."""

    tensor: Tensor
    kind: Kind


@dataclass(frozen=True, slots=True)
class Broken(Binding):
    """Something that was declared with an error: using it reports no other one."""


@dataclass(frozen=True, eq=False)
class LetBinding(Binding):
    """A `let`: `extents` has an entry for each parameter, None for a plain index and an extent for an axis.

    `build` makes the right-hand side's value in a scope where the names of `params` (None for `:`) are bound.
    """

    name: str
    params: tuple[str | None, ...]
    extents: tuple[Expr | None, ...]
    kind: Kind
    scope: Scope
    build: Callable[[Scope], Result] = field(repr=False)

    @property
    def axes(self) -> tuple[Expr, ...]:
        """The extents of the axes."""
        return tuple(extent for extent in self.extents if extent is not None)


class Scope:
    """Names in sight: own ones, then those of the enclosing scope.

    `met`, which is that of the whole spec, says of each place at which a name stands what it stands for there. Of a
    definition that is the first reading, in which its parameters are themselves.
    """

    def __init__(self, parent: Scope | None = None, own: Mapping[str, Binding] | None = None) -> None:
        self._parent = parent
        self._own = dict(own or {})
        self.met: dict[Span, Binding] = {} if parent is None else parent.met
        for binding in self._own.values():
            self.met.setdefault(binding.span, binding)

    def find(self, name: str) -> Binding | None:
        """What a name stands for, None where nothing in sight has it."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope._own:
                return scope._own[name]
            scope = scope._parent
        return None

    def resolve(self, name: tree.Name) -> Binding | None:
        """What a name stands for where it is used."""
        binding = self.find(name.text)
        if binding is not None:
            self.met.setdefault(name.span, binding)
        return binding

    def add(self, name: str, binding: Binding) -> None:
        """Binds a name in this scope."""
        self._own[name] = binding
        self.met.setdefault(binding.span, binding)

    def within(self, own: Mapping[str, Binding]) -> Scope:
        """A scope inside this one."""
        return Scope(self, own)

    def names(self) -> Iterator[str]:
        """All names in sight."""
        yield from self._own
        if self._parent is not None:
            yield from self._parent.names()
