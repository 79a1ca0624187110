"""What generated text calls what: a reading of its scopes, to see that no name stands for two things."""

from __future__ import annotations

import ast
import builtins
import symtable
from collections.abc import Iterator

from attndsl.backends.numpy.prelude import PRELUDE
from attndsl.checking.typed import Spec
from attndsl.python_names import BUILTINS, python_name


def faults(text: str, spec: Spec) -> list[str]:
    """What is wrong with the names in a generated file; nothing, if it is right."""
    module = symtable.symtable(text, "generated", "exec")
    top = {symbol.get_name() for symbol in module.get_symbols() if symbol.is_assigned() or symbol.is_imported()}
    own = python_name(spec.name)
    found = [f"a spec may call something {name}, as the file does" for name in top - {own} if python_name(name) == name]
    for function in _functions(module):
        for symbol in function.get_symbols():
            name = symbol.get_name()
            if symbol.is_local() and name in (top - {own} | BUILTINS):
                found.append(f"{function.get_name()} hides {name}")
            if symbol.is_global() and name not in top | BUILTINS:
                kind = "builtin" if hasattr(builtins, name) else "thing"
                found.append(f"{function.get_name()} reads the {kind} {name}, which no list of words has")
    given = {python_name(name) for name in (*spec.dims, *(param.name for param in spec.params))}
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and node.name not in PRELUDE:
            found += [f"{node.name} gives {name} another value" for name in _bound_again(node, given)]
    return found


def _functions(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    for child in table.get_children():
        if child.get_type() == "function":
            yield child
            yield from _functions(child)


def _bound_again(function: ast.FunctionDef, given: set[str]) -> Iterator[str]:
    """The dims, parameters and arguments that a function binds though they are bound."""
    arguments = [argument.arg for argument in (*function.args.args, *function.args.kwonlyargs)]
    bound = set(arguments)
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            if node.id in bound and node.id in {*given, *arguments}:
                yield node.id
            bound.add(node.id)
