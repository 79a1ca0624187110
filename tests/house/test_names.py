"""A name means one thing: of a class anywhere, of a function or a table in what compiles."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]

DIALECTS = "attndsl/ir/"
"""Where operations are defined. Two dialects may have one of a name, as `attn.SumOp` and `tile.SumOp`: so written."""

COMPILER = ("attndsl/ir/", "passes/", "backends/")
"""Where functions and tables are told apart by their names, too: a pass, or an emitter, is read with its neighbours."""

TARGET = {"emit", "LEGAL"}
"""What each target has one of, by these names: CONTRIBUTING, "Add a backend"."""

Files = Mapping[str, list[ast.ClassDef | ast.ImportFrom]]
"""The classes of each file, and what it imports."""


def read(sources: Mapping[str, str]) -> Files:
    kinds = (ast.ClassDef, ast.ImportFrom)
    return {path: [n for n in ast.walk(ast.parse(text)) if isinstance(n, kinds)] for path, text in sources.items()}


@cache
def project() -> Files:
    paths = [path for folder in ("attndsl", "passes", "backends") for path in sorted((ROOT / folder).rglob("*.py"))]
    return read({path.relative_to(ROOT).as_posix(): path.read_text() for path in paths})


def repeated(files: Files) -> dict[str, list[str]]:
    """The names of several classes, each with the files that define one."""
    homes = defaultdict(list)
    for path, nodes in files.items():
        for node in nodes:
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(path)
    return {name: paths for name, paths in homes.items() if len(paths) > 1}


def of_dialects(name: str, paths: list[str]) -> bool:
    return name.endswith("Op") and len({*paths}) == len(paths) and all(path.startswith(DIALECTS) for path in paths)


def ambiguous(files: Files) -> dict[str, list[str]]:
    return {name: paths for name, paths in repeated(files).items() if not of_dialects(name, paths)}


def bare(files: Files) -> Iterator[str]:
    """Imports of an operation that two dialects have, without its dialect."""
    shared = repeated(files)
    for path, nodes in files.items():
        for node in nodes:
            if isinstance(node, ast.ImportFrom):
                yield from (f"{path}: {alias.name}" for alias in node.names if alias.name in shared)


def public(text: str) -> Iterator[str]:
    """The names of functions and tables that a file defines for others."""
    for node in ast.parse(text).body:
        match node:
            case ast.FunctionDef(name):
                yield name
            case ast.Assign() | ast.AnnAssign():
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                yield from (n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name))


def shared_names(sources: Mapping[str, str]) -> dict[str, list[str]]:
    """The functions and tables of one name, each with the files that define one."""
    homes = defaultdict(list)
    for path, text in sources.items():
        for name in public(text):
            if not name.startswith("_") and name not in TARGET:
                homes[name].append(path)
    return {name: paths for name, paths in homes.items() if len(paths) > 1}


def test_a_class_name_stands_once() -> None:
    assert ambiguous(project()) == {}


def test_an_operation_of_two_dialects_is_written_with_its_dialect() -> None:
    assert {"KernelOp", "SumOp"} <= repeated(project()).keys()
    assert list(bare(project())) == []


def test_what_stands_twice_is_found() -> None:
    one, other, third = "attndsl/ir/attn.py", "attndsl/ir/tile.py", "passes/cse.py"
    assert ambiguous(read({one: "class Place: ...", third: "class Place: ..."})) == {"Place": [one, third]}
    assert ambiguous(read({one: "class SumOp: ...", third: "class SumOp: ..."})) == {"SumOp": [one, third]}
    assert ambiguous(read({one: "class A: ...\ndef f():\n    class A: ..."})) == {"A": [one, one]}
    operations = {one: "class SumOp: ...", other: "class SumOp: ..."}
    assert ambiguous(read(operations)) == {}
    assert [*bare(read({**operations, third: "from attndsl.ir.tile import SumOp"}))] == [f"{third}: SumOp"]
    assert [*bare(read({**operations, third: "from attndsl.ir import tile\nx = tile.SumOp"}))] == []


def test_a_function_and_a_table_of_the_compiler_stand_once() -> None:
    paths = [path for folder in COMPILER for path in sorted((ROOT / folder).rglob("*.py"))]
    assert shared_names({path.relative_to(ROOT).as_posix(): path.read_text() for path in paths}) == {}


def test_functions_and_tables_that_stand_twice_are_found() -> None:
    one = "SIGNS = {}\nleft, RIGHT = 1, 2\ndef number(): ...\ndef _own(): ...\nLEGAL = ()\n"
    other = (
        one.replace("SIGNS", "SIGNS: dict[str, str]").replace("left, RIGHT", "RIGHT, up") + "def f():\n    left = 1\n"
    )
    assert shared_names({"a": one, "b": other}) == {name: ["a", "b"] for name in ("SIGNS", "RIGHT", "number")}
