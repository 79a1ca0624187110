"""`%%attn` in a notebook."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attndsl

GQA = (Path(__file__).parents[2] / "examples/gqa.attn").read_text("utf-8")


class Shell:
    """What the magic asks of IPython's shell."""

    def __init__(self) -> None:
        self.user_ns: dict[str, Any] = {}
        self.magics: dict[str, Callable[[str, str], Any]] = {}

    def register_magic_function(self, func: Callable[[str, str], Any], magic_kind: str) -> None:
        assert magic_kind == "cell"
        self.magics[func.__name__] = func

    def push(self, variables: dict[str, Any]) -> None:
        self.user_ns |= variables


@pytest.fixture
def shell() -> Shell:
    shell = Shell()
    attndsl.load_ipython_extension(shell)
    return shell


def test_a_cell_is_an_operator(shell: Shell) -> None:
    op = shell.magics["attn"]("", GQA)
    assert shell.user_ns == {"gqa": op}
    one = np.ones((1, 1, 1, 1), np.float32)
    assert op(one, one, one).tolist() == [[[[1.0]]]]
    shell.magics["attn"](" mine ", GQA)
    assert shell.user_ns.keys() == {"gqa", "mine"}


def test_a_mistake_is_shown_and_binds_nothing(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    assert shell.magics["attn"]("", GQA.replace("j in N", "j in X")) is None
    assert shell.user_ns == {}
    assert "over j in X" in capsys.readouterr().err
