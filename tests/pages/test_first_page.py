"""What the first page of the site tells a stranger to do works, and the page of Python names has all of them."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

import attndsl
from attndsl.cli.group import attndsl as command

DOCS = Path(__file__).parents[2] / "docs"
FIRST = (DOCS / "index.md").read_text(encoding="utf-8")
SPEC, PROGRAM = (
    re.findall(rf"^```{kind}\n(.*?)^```$", FIRST, re.DOTALL | re.MULTILINE)[0] for kind in ("attn", "python")
)
COMMANDS = [
    pytest.param(line, marks=pytest.mark.matrix) if line.startswith("draw") else line
    for line in re.findall(r"^    attndsl (.*?)(?: *#.*)?$", FIRST, re.MULTILINE)
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One that holds the spec, from which all is run."""
    (tmp_path / "streaming.attn").write_text(SPEC, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("arguments", ["fmt --check streaming.attn", *COMMANDS])
def test_commands_succeed(folder: Path, arguments: str) -> None:
    result = CliRunner().invoke(command, shlex.split(arguments))
    assert result.exit_code == 0, result.output
    if arguments.startswith("draw"):
        assert (folder / "streaming.svg").is_file()


@pytest.mark.matrix
@pytest.mark.usefixtures("folder")
def test_the_program_learns() -> None:
    names: dict[str, object] = {}
    exec(PROGRAM, names)
    q, o = names["q"], names["o"]
    assert getattr(o, "shape") == getattr(q, "shape") == getattr(getattr(q, "grad"), "shape")  # noqa: B009
    assert getattr(q, "grad").abs().sum() > 0  # noqa: B009


def test_public_names_are_described() -> None:
    text = (DOCS / "site/api.rst").read_text(encoding="utf-8")
    assert set(attndsl.__all__) <= set(re.findall(r"^\.\. auto\w+:: (\w+)$", text, re.MULTILINE))
