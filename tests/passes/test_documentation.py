"""What the docstring of a pass shows is what the pass does."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from textwrap import dedent

import pytest

from attndsl.driver.passes import parse_pipeline
from attndsl.ir.context import context, parse_module, print_module
from attndsl.ir.rewrite import remove_dead
from attndsl.ir.xdsl import ModuleOp, ModulePass
from attndsl.passes import PASSES, exactness_of, load_pass


def documentation(name: str) -> str:
    doc = import_module(f"attndsl.passes.{name.replace('-', '_')}").__doc__
    assert doc is not None
    return inspect.cleandoc(doc)


def block(name: str, title: str) -> ModuleOp:
    """The IR under a title of a pass's docstring."""
    found = re.search(rf"^{title}[^\n]*:\n\n((?:    .*\n|\n)+)", documentation(name), re.MULTILINE)
    assert found is not None, f"the docstring of {name} shows no IR under `{title}:`"
    module = parse_module(dedent(found[1]), f"{name}, {title}")
    module.verify()
    return module


def shown(name: str) -> ModulePass:
    """The pass as its docstring runs it: with the options that stand after `After`, or without any."""
    spelled = re.search(r"^After (.+):$", documentation(name), re.MULTILINE)
    return parse_pipeline(spelled[1] if spelled is not None else name)[0]


def plain(module: ModuleOp) -> str:
    """The text of a module whose values are numbered, whatever they were called."""
    for op in module.walk():
        for value in (*op.results, *(a for region in op.regions for b in region.blocks for a in b.args)):
            value.name_hint = None
    return print_module(module)


@pytest.mark.parametrize("name", PASSES)
def test_docstring_shows_what_the_pass_does(name: str) -> None:
    module = block(name, "Before")
    shown(name).apply(context(), module)
    module.verify()
    remove_dead(module)
    assert plain(module) == plain(block(name, "After"))


@pytest.mark.parametrize("name", PASSES)
def test_a_second_run_changes_nothing(name: str) -> None:
    module = block(name, "After")
    once = plain(module)
    shown(name).apply(context(), module)
    remove_dead(module)
    assert plain(module) == once


@pytest.mark.parametrize("name", PASSES)
def test_docstring_says_what_a_reader_asks(name: str) -> None:
    doc = documentation(name)
    assert re.match(rf"{name}: .+\.\n\n", doc), "it begins with its name and a sentence"
    assert re.search(r"^Why: ", doc, re.MULTILINE)
    assert f"Exactness: {exactness_of(name).value}" in " ".join(doc.split())
    assert "Idempotent." in doc
    kind = load_pass(name)
    assert kind.name == name
    assert kind.__doc__
