"""What the commands print, and where: results to the standard output, errors to the standard error."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from attndsl.diagnostics.base import SpecError
from attndsl.driver.plain_json import to_json
from attndsl.driver.signature import Signature
from attndsl.op.checks import declaration
from attndsl.printable import printable_lines

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn

KINDS = {"int": "int", "float": "f32", "bool": "bool"}
"""The kinds of parameters as the language writes them."""


def show_errors(error: SpecError) -> None:
    """Print the mistakes of a spec, in colours on a terminal."""
    from attndsl.diagnostics.render import render_all

    colour = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
    click.echo(render_all(error.diagnostics, error.source, colour) + "\n", err=True)


def show(text: str, *, err: bool = False) -> None:
    """Print text in which there may be some from outside, as names of files: no terminal acts on it."""
    click.echo(printable_lines(text), err=err)


def live_line(*columns: str | ProgressColumn) -> Progress:
    """How far a command is, on the standard error; nothing where that is no terminal."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def show_json(value: Any) -> None:
    """Print a result for a program."""
    click.echo(to_json(value))


def errors_as_json(error: SpecError) -> list[dict[str, Any]]:
    """The mistakes of a spec for a program; lines and columns count from 1."""
    found = []
    for diagnostic in error.diagnostics:
        line, column = error.source.position(diagnostic.span.start)
        found.append(
            {
                "code": diagnostic.code,
                "line": line,
                "column": column,
                "message": diagnostic.text(diagnostic.message),
                "note": diagnostic.text(diagnostic.note),
                "fix": diagnostic.hint(),
            }
        )
    return found


def summary(signature: Signature) -> str:
    """A spec in a line: `gqa(q : T[B, Hq, M, D], …, window = 4096) -> o : T[B, Hq, M, E]`."""
    takes = [("inout " if tensor.in_place else "") + declaration(tensor) for tensor in signature.inputs]
    takes += [f"{p.name} : {KINDS[p.kind]}" + (f" = {p.default_text}" if p.optional else "") for p in signature.params]
    gives = ", ".join(map(declaration, signature.outputs)) or "nothing"
    return f"{signature.name}({', '.join(takes)}) -> {gives}"
