"""Specs, cases and comparisons that hold the compiler against the reference; for tests, ours and users'."""

from attndsl.testing.case import Case, Disagreement
from attndsl.testing.stages import Program, check_compiled, check_stages, compile_program

__all__ = ["Case", "Disagreement", "Program", "check_compiled", "check_stages", "compile_program"]
