"""Generated Triton, run by Triton's interpreter, beside the reference."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from .lowered import GALLERY

THOROUGH = (
    *("arithmetic", "differential", "f8_cache", "int4_cache", "int8_cache", "mla_latent", "mla_paged"),
    *("mla_projections", "neighbourhood_2d", "packed_ragged", "paged_decode", "paged_prefill", "qk_clip", "rotary"),
    *("shared_prefix", "sinks", "topk_sparse", "tree_speculative"),
)
"""Specs that are called in several ways; every other one is called once."""


@cache
def interpreted(count: int, names: tuple[str, ...]) -> dict[str, dict[str, str]]:
    """What went wrong in each call of each spec, empty where nothing did."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.triton_backend.interpreted", str(count), *names],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
        check=False,
    )
    errors: dict[str, dict[str, str]] = {}
    for line in done.stdout.splitlines():
        found = json.loads(line)
        errors.setdefault(found["spec"], {})[found["call"]] = found["error"]
    assert done.returncode == 0, done.stderr
    return errors


@pytest.mark.parametrize("name", THOROUGH)
def test_several_calls_agree_with_the_reference(name: str) -> None:
    errors = interpreted(3, THOROUGH)[name]
    assert len(errors) == 3
    assert "".join(errors.values()) == ""


@pytest.mark.parametrize("name", [name for name in GALLERY if name not in THOROUGH])
def test_a_hostile_call_agrees_with_the_reference(name: str) -> None:
    errors = interpreted(1, tuple(name for name in GALLERY if name not in THOROUGH))[name]
    assert errors == {"hostile": ""}
