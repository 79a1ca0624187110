"""Planted bugs that drawn specs are to catch: `python -m tests.mutants.hunt` with one of `HUNTS`."""
