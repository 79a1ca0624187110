"""What installing a checkout gives, and from which it is refused."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

pytest.importorskip("setuptools", "77")

ROOT = Path(__file__).parents[2]


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """What installing needs of a checkout, in a folder that is called as the package is."""
    made = tmp_path / "beside" / "attndsl"
    for name in ("attndsl", "passes", "backends", "examples"):
        shutil.copytree(ROOT / name, made / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, made)
    return made


def python(program: str, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [sys.executable, *options, "-c", program]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def build(clone: Path, kind: str, out: Path) -> subprocess.CompletedProcess[str]:
    """What pip has setuptools do."""
    out.mkdir()
    return python(f"from setuptools import build_meta; build_meta.build_{kind}({str(out)!r})", clone)


def test_a_wheel_holds_all_parts(clone: Path, tmp_path: Path) -> None:
    done = build(clone, "wheel", tmp_path / "made")
    assert done.returncode == 0, done.stderr
    (wheel,) = (tmp_path / "made").iterdir()
    modules = {str(path.relative_to(ROOT)) for path in ROOT.glob("attndsl/**/*.py")}
    for linked in ("passes", "backends"):
        modules |= {f"attndsl/{path.relative_to(ROOT)}" for path in (ROOT / linked).rglob("*.py")}
    held = ZipFile(wheel).namelist()
    assert {name for name in held if name.endswith(".py")} == modules
    gallery = {f"attndsl/examples/{path.name}" for path in (ROOT / "examples").glob("*.attn")}
    assert {name for name in held if name.endswith(".attn")} == gallery


@pytest.mark.parametrize(("link", "kind"), [("passes", "wheel"), ("backends", "editable"), ("examples", "wheel")])
def test_a_checkout_without_links_is_not_built(clone: Path, tmp_path: Path, link: str, kind: str) -> None:
    (clone / "attndsl" / link).unlink()
    (clone / "attndsl" / link).write_text(f"../{link}")
    done = build(clone, kind, tmp_path / "made")
    assert done.returncode != 0
    assert f"attndsl/{link} should be a symbolic link to ../{link}, and this checkout has none there" in done.stderr


def test_beside_a_clone_the_package_is_found_and_not_the_clone(clone: Path, tmp_path: Path) -> None:
    """Python takes a folder of the working directory for a package, unless a path of its own holds a proper one."""
    done = build(clone, "editable", tmp_path / "made")
    assert done.returncode == 0, done.stderr
    (wheel,) = (tmp_path / "made").iterdir()
    installed = tmp_path / "site-packages"
    ZipFile(wheel).extractall(installed)
    program = f"import site; site.addsitedir({str(installed)!r}); import attndsl; print(attndsl.__file__)"
    done = python(program, clone.parent, "-S")
    assert done.stdout == f"{clone / 'attndsl' / '__init__.py'}\n", done.stderr
