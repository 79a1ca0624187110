"""The command line."""

from __future__ import annotations


def main() -> None:
    """Run `attndsl` with the arguments of this process, and exit."""
    import sys

    from attndsl.cli.group import run

    sys.exit(run())
