"""What messages say is to be installed."""

from __future__ import annotations

import importlib.metadata
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from attndsl.packages import pip_install

ROOT = Path(__file__).parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.mark.parametrize("package", ["torch", "triton", "hypothesis", "matplotlib"])
def test_what_is_to_be_installed_is_what_an_extra_asks_for(package: str) -> None:
    asked = [Requirement(line) for lines in PROJECT["optional-dependencies"].values() for line in lines]
    pip, install, said = shlex.split(pip_install(package))
    assert (pip, install) == ("pip", "install")
    assert Requirement(said) in [requirement for requirement in asked if requirement.name == package]


def test_several_packages_are_one_command() -> None:
    assert [Requirement(said).name for said in shlex.split(pip_install("torch", "triton"))[2:]] == ["torch", "triton"]


def test_without_an_installation_the_names_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(name: str) -> list[str]:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "requires", none)
    assert pip_install("torch", "triton") == "pip install torch triton"


def test_no_message_asks_an_index_for_attndsl() -> None:
    """It is not on one: who works in a checkout, or has a wheel from a folder, would find nothing, or another thing."""
    texts = [path for folder in ("attndsl", "backends", "passes", "docs") for path in (ROOT / folder).rglob("*.*")]
    texts = [path for path in texts if path.suffix in (".py", ".md")] + [ROOT / "README.md"]
    assert len(texts) > 100
    assert [path for path in texts if "install 'attndsl" in path.read_text(encoding="utf-8")] == []
