"""Planted bugs that what is drawn for fuzzing is to catch: `python -m tests.mutants.hunt numpy`, or `triton`."""
