"""Generated Triton, run by Triton's interpreter, beside the reference."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from .lowered import GALLERY

THOROUGH = (
    ("document_mask", "gqa", "packed_ragged", "sums"),  # a first look at data, mixed tiles, rows that end, that add
    ("arithmetic", "differential", "hostile_names", "int4_cache"),  # all operators, states, names, values in registers
    ("mla_projections", "ordered_sums", "paged_prefill", "topk_sparse"),  # contractions, elements as rows, tables
)
"""Specs that are called in several ways, the first ones in `make test`; others are called once, in the matrix."""

ONCE = [name for name in GALLERY if not any(name in names for names in THOROUGH)]

TOGETHER = 9
"""Specs to a process, of those that are called once: loading Triton takes as long as running one."""


def check(count: int, *names: str, options: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Makes the first `count` calls of each spec, in a process of their own, and gives what that tells of them."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.triton_backend.interpreted", str(count), *options, *names],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
        check=False,
    )
    calls = [json.loads(line) for line in done.stdout.splitlines()]
    assert (done.returncode, done.stderr) == (0, "")
    assert [call["spec"] for call in calls] == [name for name in names for _ in range(count)]
    assert "".join(f"{call['spec']}, {call['call']}: {call['error']}" for call in calls if call["error"]) == ""
    return calls


@pytest.mark.parametrize(
    "names", [THOROUGH[0], *(pytest.param(names, marks=pytest.mark.matrix) for names in THOROUGH[1:])], ids="-".join
)
def test_several_calls_agree_with_the_reference(names: Sequence[str]) -> None:
    check(3 if names == THOROUGH[0] else 2, *names)


@pytest.mark.parametrize(
    "name", ["ragged_outputs", *(pytest.param(n, marks=pytest.mark.matrix) for n in ("packed_ragged", "paged_prefill"))]
)
def test_what_lies_outside_of_all_rows_is_0(name: str) -> None:
    """Only that is cleared, where ends ascend within an output; else all of it."""
    check(10, name, options=["--with-gaps"])


@pytest.mark.matrix
@pytest.mark.parametrize("names", [ONCE[n : n + TOGETHER] for n in range(0, len(ONCE), TOGETHER)], ids="-".join)
def test_a_hostile_call_agrees_with_the_reference(names: list[str]) -> None:
    check(1, *names)
