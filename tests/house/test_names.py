"""A name of a class means one thing."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]

DIALECTS = "attndsl/ir/"
"""Where operations are defined. Two dialects may have one of a name, as `attn.SumOp` and `tile.SumOp`: so written."""


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
