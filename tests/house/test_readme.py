"""What the README shows is what the project does."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

import attndsl
from attndsl.cli.group import attndsl as command

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SPEC, *PYTHON = re.findall(r"^```(?:python)?\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
EXCERPT = PYTHON[-1]
COMMANDS = re.findall(r"^    attndsl (.*?)(?: *#.*)?$", README, re.MULTILINE)


def without_comments(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith("#")]


def test_the_spec_is_the_gallerys() -> None:
    assert without_comments(SPEC) == without_comments((ROOT / "examples/gqa.attn").read_text())


def test_the_spec_compiles() -> None:
    assert attndsl.compile(SPEC).signature.name == "gqa"


def test_the_excerpt_is_what_the_compiler_writes() -> None:
    source = attndsl.load(ROOT / "examples/gqa.attn").source
    position = 0
    for part in re.split(r"^ *# …\n", EXCERPT, flags=re.MULTILINE):
        assert part in source[position:], f"the compiler no longer writes:\n{part}"
        position = source.index(part, position) + len(part)
    assert position, "the README shows no generated code"


@pytest.mark.parametrize("arguments", COMMANDS)
def test_commands_succeed(arguments: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(command, shlex.split(arguments))
    assert result.exit_code == 0, result.output


def test_every_command_is_shown() -> None:
    assert {arguments.split()[0] for arguments in COMMANDS} == set(command.list_commands(None))  # type: ignore[arg-type]
