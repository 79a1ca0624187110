"""The part of a generated Triton file that runs on the host: what is left without its kernels."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from attndsl.backends.gpu.launcher import schedules_name


def kernel_names(text: str) -> list[str]:
    """The functions under triton.jit that the host calls."""
    host = {node.id for node in ast.walk(ast.parse(host_text(text))) if isinstance(node, ast.Name)}
    return [node.name for node in _compiled(ast.parse(text)) if node.name in host]


def schedule_tables(text: str) -> dict[str, str]:
    """The tables of schedules that a file has, each with the kernel whose they are; some run in those of others."""
    targets = [node.targets[0] for node in ast.parse(text).body if isinstance(node, ast.Assign)]
    assigned = {target.id for target in targets if isinstance(target, ast.Name)}
    tables = {schedules_name(kernel): kernel for kernel in kernel_names(text)}
    return {table: kernel for table, kernel in tables.items() if table in assigned}


def host_text(text: str) -> str:
    """The file's text without the functions under triton.jit, without its imports of triton and its docstring."""
    tree = ast.parse(text)
    dropped: list[ast.stmt] = [*_compiled(tree), *(node for node in tree.body if _imports(node, "triton"))]
    if ast.get_docstring(tree) is not None:
        dropped.append(tree.body[0])
    lines = text.splitlines()
    for node in dropped:
        decorators = node.decorator_list if isinstance(node, ast.FunctionDef) else []
        first, last = min([node.lineno, *(d.lineno for d in decorators)]), node.end_lineno or node.lineno
        lines[first - 1 : last] = [""] * (last - first + 1)
    return re.sub(r"\n{4,}", "\n\n\n", "\n".join(lines)).strip("\n") + "\n"


def without_imports(text: str, packages: Iterable[str]) -> ast.Module:
    """A file that does not import some packages; all else stands in the lines in which it stood."""
    tree = ast.parse(text)
    tree.body = [node for node in tree.body if not any(_imports(node, package) for package in packages)]
    return tree


def every_branch(module: ast.Module, function: str) -> ast.Module:
    """A file whose function takes every branch, one after the other, whatever is chosen at a call."""
    for node in module.body:
        if isinstance(node, ast.FunctionDef) and node.name == function:
            _EveryBranch().visit(node)
    return module


class _EveryBranch(ast.NodeTransformer):
    """Puts the statements of both branches in a choice's place; what only raises is a check, and stays."""

    def visit_If(self, node: ast.If) -> ast.If | list[ast.stmt]:
        self.generic_visit(node)
        return node if isinstance(node.body[-1], ast.Raise) else [*node.body, *node.orelse]


def _compiled(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and any("triton.jit" in ast.unparse(d) for d in node.decorator_list):
            yield node


def _imports(node: ast.stmt, package: str) -> bool:
    return isinstance(node, ast.Import) and any(alias.name.startswith(package) for alias in node.names)
