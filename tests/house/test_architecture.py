"""What may know about what."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from importlinter.cli import lint_imports

ROOT = Path(__file__).parents[2]

HEAVY = ("torch", "triton", "xdsl", "lark", "numpy", "onnx")

VARIANTS = (
    *("gqa", "mqa", "mha", "mla", "paged", "causal", "window", "sliding", "alibi", "softcap", "ragged", "rotary"),
    *("flash", "retention", "differential", "dilated", "neighbourhood", "speculative", "deepseek", "gemma"),
)


def sources(*folders: str) -> list[Path]:
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


def code_texts(source: str) -> Iterator[str]:
    """Every name and string of a module that is neither a comment nor a docstring."""
    module = ast.parse(source)
    docstrings = {id(node.value) for node in ast.walk(module) if isinstance(node, ast.Expr)}
    for node in ast.walk(module):
        if id(node) not in docstrings:
            for _, field in ast.iter_fields(node):
                yield from (text for text in (field if isinstance(field, list) else [field]) if isinstance(text, str))


def variants_in(source: str) -> set[str]:
    return {variant for text in code_texts(source) for variant in VARIANTS if variant in text.lower()}


def imported(source: str) -> set[str]:
    """The top-level packages that a module imports, anywhere in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    return names


def imports_of(path: Path) -> set[str]:
    """The modules of attndsl from which a module imports, anywhere in it: for types alone, too."""
    nodes = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]
    modules = {str(node.module) for node in nodes}
    modules |= {f"{node.module}.{alias.name}" for node in nodes for alias in node.names}  # some of these are modules
    return {name.removeprefix("attndsl.") for name in modules}


def neighbours(path: Path) -> set[str]:
    """The files of its own package that a module imports."""
    package = ".".join(path.parent.relative_to(ROOT).parts)
    found = imports_of(path)
    return {name.removeprefix(f"{package}.") for name in found if name.startswith(f"{package}.")}


def test_importing_the_package_imports_nothing_heavy() -> None:
    program = f"import attndsl, sys; print(*[name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


@pytest.mark.parametrize("path", sources("passes", "backends"), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_pass_and_no_backend_names_a_variant(path: Path) -> None:
    assert variants_in(path.read_text()) == set()
    assert not any(variant in path.stem for variant in VARIANTS)


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("def is_causal(): ...", {"causal"}),
        ("x = f'{y} of the PagedCache'", {"paged"}),
        ("run(window=3)", {"window"}),
        ("import attndsl.alibi", {"alibi"}),
        ('"""About causal masks."""\nx = 1  # a window\n', set()),
        ('def f():\n    """For mla."""\n', set()),
    ],
)
def test_variants_are_found_in_code_alone(source: str, found: set[str]) -> None:
    assert variants_in(source) == found


def evaluates(source: str) -> bool:
    return any(isinstance(node, ast.Name) and node.id == "eval" for node in ast.walk(ast.parse(source)))


def test_what_is_known_as_data_is_never_evaluated_as_text() -> None:
    assert [path for path in sources("attndsl", "passes", "backends") if evaluates(path.read_text())] == []
    assert evaluates("x = eval('B + 1')") and not evaluates("evaluate('eval')")


BACKENDS = {"gpu": set[str](), "numpy": set[str](), "triton": {"gpu"}, "gluon": {"gpu", "triton"}}
"""The folders of backends, and from which others each imports.

No emitter from an emitter, but that Gluon's files are Triton's, and more."""


def test_no_emitter_imports_from_another() -> None:
    """import-linter follows no links, so that it sees no imports between backends."""
    found: dict[str, set[str]] = {folder.name: set() for folder in (ROOT / "backends").glob("[a-z]*/")}
    for path in sources("backends"):
        if path.parent.name in found:
            names = {name.split(".")[1] for name in imports_of(path) if name.startswith("backends.")}
            found[path.parent.name] |= names & found.keys() - {path.parent.name}
    assert found == BACKENDS


def circle(imports: dict[str, set[str]]) -> set[str]:
    """Modules that import each other in a circle, and what imports these; none where each comes after what it needs."""
    waiting = imports
    while free := {name for name, needed in waiting.items() if not needed & set(waiting)}:
        waiting = {name: needed for name, needed in waiting.items() if name not in free}
    return set(waiting)


def test_a_circle_is_found() -> None:
    assert circle({"a": {"b"}, "b": {"c"}, "c": set()}) == set()
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()}) == {"a", "b", "c"}


def test_the_files_of_a_pass_import_each_other_one_way() -> None:
    """import-linter follows no links, so that it sees no imports between passes."""
    files = {path.stem: neighbours(path) for path in sources("passes/tile")}
    assert "kernel" in files["__init__"]
    assert circle(files) == set()


def test_the_files_of_the_ir_import_each_other_one_way() -> None:
    """No operation imports what rests on operations, inside a function as little as at the top of its file."""
    modules = {
        ".".join(path.relative_to(ROOT / "attndsl").with_suffix("").parts): path for path in sources("attndsl/ir")
    }
    files = {name: imports_of(path) for name, path in modules.items()}
    assert {"ir.tile", "ir.axes"} <= files["ir.wellformed"]
    assert circle(files) == set()


def test_xdsl_is_imported_behind_its_seam_alone() -> None:
    paths = sources("attndsl", "passes", "backends", "examples")
    users = [path.relative_to(ROOT) for path in paths if "xdsl" in imported(path.read_text())]
    assert {path.parts[:2] for path in users} == {("attndsl", "ir")}


def test_imports_run_one_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert lint_imports(config_filename="pyproject.toml", no_cache=True) == 0
