"""What a shell is told where a command is completed, as docs/editors.md sets it up."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = "import sys; sys.argv[0] = 'attndsl'; from attndsl.cli import main; main()"


def told(**environment: str) -> str:
    command = [sys.executable, "-c", PROGRAM]
    return subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    ("line", "completed"),
    [("attndsl ch", ["plain,check"]), ("attndsl check --j", ["plain,--json"]), ("attndsl check ", ["file,"])],
)
def test_completion(line: str, completed: list[str]) -> None:
    place = str(line.count(" "))
    assert told(_ATTNDSL_COMPLETE="bash_complete", COMP_WORDS=line, COMP_CWORD=place).splitlines() == completed


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_what_a_shell_reads_once(shell: str) -> None:
    assert f"_ATTNDSL_COMPLETE={shell}_complete" in told(_ATTNDSL_COMPLETE=f"{shell}_source")
