"""Planted bugs that drawn specs are to catch: `python -m tests.mutants.hunt numpy`, `triton` or `calls`."""
