"""The command line as a user meets it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from attndsl import cache
from attndsl.cli.group import run


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str


Attndsl = Callable[..., Result]


@pytest.fixture
def attndsl(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Attndsl:
    """Runs a command line in this process."""
    monkeypatch.setenv(cache.ENVIRONMENT, str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str | Path) -> Result:
        code = run([str(argument) for argument in arguments])
        return Result(code, *capfd.readouterr())

    return call


@pytest.fixture
def gallery() -> Path:
    return Path(__file__).parents[2] / "examples"


@pytest.fixture
def gqa(gallery: Path, tmp_path: Path) -> Path:
    """A copy of a spec, beside which files may be written."""
    path = tmp_path / "gqa.attn"
    path.write_bytes((gallery / "gqa.attn").read_bytes())
    return path


@pytest.fixture
def wrong(gqa: Path) -> Path:
    """A spec with a mistyped dim."""
    path = gqa.with_name("wrong.attn")
    path.write_text(gqa.read_text().replace("k : T[B, Hkv", "k : T[B, Hkw"))
    return path
