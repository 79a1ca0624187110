"""What a mod has captured: numbers become parameters, and what its own variables are called becomes names."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CellType, CodeType, FrameType, FunctionType
from typing import Any

from attndsl.importing.nodes import Traced
from attndsl.importing.values import ModTrace, Symbol, is_users

_LIBRARIES = frozenset({"torch", "numpy", "attndsl", *sys.stdlib_module_names})


class Captures:
    """Functions as they are, but for the numbers that they have from closures, globals, defaults and partial calls."""

    def __init__(self, trace: ModTrace) -> None:
        self.trace = trace
        self._functions: dict[int, FunctionType] = {}

    def open(self, value: Any, name: str, key: object) -> Any:
        """What stands for a captured value."""
        match value:
            case bool() | int() | float() if type(value) in (bool, int, float):
                return self.trace.param(name, key, value)
            case FunctionType():
                return self._function(value)
            case functools.partial():
                names = value.func.__code__.co_varnames if isinstance(value.func, FunctionType) else ()
                named = (*names, *(f"x_{n}" for n in range(len(value.args))))
                args = [self.open(each, name, (id(value), name)) for each, name in zip(value.args, named, strict=False)]
                kwargs = {name: self.open(each, name, (id(value), name)) for name, each in value.keywords.items()}
                return functools.partial(self.open(value.func, name, key), *args, **kwargs)
            case tuple() | list() if any(map(callable, value)):
                return type(value)([self.open(each, name, key) if callable(each) else each for each in value])
        return value

    def _function(self, function: FunctionType) -> FunctionType:
        if id(function) in self._functions:
            return self._functions[id(function)]
        code = function.__code__
        space = dict(function.__globals__)
        cells = tuple(CellType() for _ in function.__closure__ or ())
        opened = FunctionType(code, space, function.__name__, None, cells)
        self._functions[id(function)] = opened  # first: functions may name each other
        for name in _global_names(code):
            value = space.get(name)
            if not isinstance(value, FunctionType) or _own(value):
                space[name] = self.open(value, name, id(function.__globals__)) if name in space else None
                if name not in function.__globals__:
                    del space[name]
        for name, cell, given in zip(code.co_freevars, cells, function.__closure__ or (), strict=True):
            try:
                cell.cell_contents = self.open(given.cell_contents, name, id(given))
            except ValueError:  # the cell is empty
                continue
        first = code.co_argcount - len(function.__defaults__ or ())
        names = code.co_varnames[first:]
        defaults = zip(function.__defaults__ or (), names, strict=False)
        opened.__defaults__ = tuple(self.open(value, name, (id(function), name)) for value, name in defaults)
        opened.__kwdefaults__ = {
            name: self.open(value, name, (id(function), name))
            for name, value in (function.__kwdefaults__ or {}).items()
        }
        return opened


def _own(function: FunctionType) -> bool:
    return (function.__module__ or "").partition(".")[0] not in _LIBRARIES


def _global_names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _global_names(part)


@contextmanager
def variables(called: dict[Traced, str]) -> Iterator[None]:
    """While it is open, values are called as the variables that hold them where a function of the user's returns.

    What the function that was called last on the way out calls them counts; arguments give no names.
    """
    first: dict[Traced, int] = {}
    count = 0

    def watch(frame: FrameType, event: str, _: Any) -> None:
        nonlocal count
        if event != "return" or not is_users(frame):
            return
        count += 1
        arguments = frame.f_code.co_varnames[: frame.f_code.co_argcount]
        for name, value in frame.f_locals.items():
            if not isinstance(value, Symbol) or name in arguments or name in frame.f_code.co_freevars:
                continue
            if value.node.parts and first.get(value.node) != count:
                called[value.node], first[value.node] = name, count

    before: Callable[..., Any] | None = sys.getprofile()
    sys.setprofile(watch)
    try:
        yield
    finally:
        sys.setprofile(before)
