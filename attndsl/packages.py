"""How to install a package that only some of what attndsl does needs."""

from __future__ import annotations

import shlex


def pip_install(*packages: str) -> str:
    """The command that installs packages, in the versions that this installation of attndsl asks for.

    It names the packages themselves: `attndsl[extra]` is found only by those who have attndsl from an index.
    """
    return f"pip install {shlex.join(package + _versions(package) for package in packages)}"


def _versions(package: str) -> str:
    """The versions of a package that one of attndsl's extras takes: `<4,>=3.4`."""
    from importlib.metadata import PackageNotFoundError, requires  # slow to import

    try:
        asked = requires("attndsl") or []
    except PackageNotFoundError:  # imported from its folder
        return ""
    lines = (line.partition(";")[0].strip() for line in asked)
    return next((line.removeprefix(package) for line in lines if line.startswith((f"{package}<", f"{package}>"))), "")
