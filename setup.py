"""Refuses to build from a checkout without links: its packages would lack their parts. pyproject.toml has the rest."""

from pathlib import Path

from setuptools import setup

for link in ("passes", "backends", "examples"):
    if not Path(__file__).with_name("attndsl").joinpath(link).is_dir():
        raise SystemExit(
            f"attndsl/{link} should be a symbolic link to ../{link}, and this checkout has none there: a zip download, "
            "or git on Windows, makes files of links. Clone anew with: git clone -c core.symlinks=true"
        )
setup()
