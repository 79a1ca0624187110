"""The examples of docs/models.md, run as they stand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import torch

from attndsl.integrations.transformers import errors
from attndsl.integrations.transformers.spec import TERMS, text
from tests.integrations.tiny import batch

MANUAL = (Path(__file__).parents[2] / "docs" / "models.md").read_text(encoding="utf-8")


def test_examples(capsys: Any) -> None:
    names: dict[str, Any] = {}
    for code in re.findall(r"^```python\n(.*?)^```$", MANUAL, re.DOTALL | re.MULTILINE):
        exec(code, names)
    assert capsys.readouterr().out == text(TERMS) + "\n"
    with torch.inference_mode():
        logits = names["model"](**batch()).logits
    assert logits.isfinite().all()


def test_the_spec_is_shown() -> None:
    assert text(TERMS) in MANUAL


def test_every_term_has_its_row() -> None:
    assert re.findall(r"^\| `(\w+)` \|", MANUAL, re.MULTILINE) == [*TERMS]


def test_names_that_are_told() -> None:
    assert issubclass(errors.DropoutWanted, errors.ModelError)
    assert "ModelError" in MANUAL
