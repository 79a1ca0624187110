"""The command line."""

from __future__ import annotations


def main() -> None:
    """Run `attndsl` with the arguments of this process, and exit."""
    import sys

    try:
        from attndsl.cli.group import run

        code = run()
    except KeyboardInterrupt:  # while modules are imported; click catches it later
        code = 130
    sys.exit(code)
