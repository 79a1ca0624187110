"""What the project's files say of versions, hosts and machines."""

from __future__ import annotations

import re
import subprocess
import tomllib
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]

FOREIGN = {
    "the host of a package registry": re.compile(r"py(pi|thonhosted)\.org|pytorch\.org/whl"),
    "a path of one machine": re.compile(r"(?<![\w.}])/(work|tmp|root|opt|home)/"),
}


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def project() -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return table


@pytest.mark.parametrize("what", FOREIGN)
def test_no_file_holds(what: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}: {match.group()}"
        for path in tracked()
        for match in FOREIGN[what].finditer(path.read_bytes().decode("utf-8", "replace"))
    ]
    assert found == []


def test_what_is_foreign_is_recognised() -> None:
    host, path = FOREIGN.values()
    assert host.search("https://" + ".".join(("pypi", "org")))
    assert path.search("at " + "/".join(("", "tmp", "x")))
    assert not path.search("build/tmp/x")


def test_the_changelog_tells_of_this_version() -> None:
    assert f"## {project()['version']}" in (ROOT / "CHANGELOG.md").read_text()


def test_every_dependency_is_pinned_within_its_range() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = {canonicalize_name(name): version for name, _, version in (line.partition("==") for line in lines)}
    tables = project()
    for text in [*tables["dependencies"], *chain(*tables["optional-dependencies"].values())]:
        requirement = Requirement(text)
        if requirement.name != tables["name"]:
            assert requirement.specifier.contains(pins[canonicalize_name(requirement.name)]), text


@pytest.mark.parametrize("name", ["passes", "backends", "examples"])
def test_top_folders_are_linked_into_the_package(name: str) -> None:
    link = ROOT / "attndsl" / name
    assert link.is_symlink()
    assert link.readlink() == Path("..", name)
