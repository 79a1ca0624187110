"""What a launch chooses, by the names under which the IR, a schedule and a kernel know it."""

from __future__ import annotations

ROWS = "ROWS"
"""How many rows a tile has."""

KEYS = "KEYS"
"""How many keys a tile has."""

SPLITS = "SPLITS"
"""Into how many splits the keys are cut."""

FUSED = "FUSED"
"""Whether one kernel does what several do, 1 or 0, where a file holds both."""

CHOICES = (ROWS, KEYS, SPLITS)

ROLES = "ROLES"
"""Whether the warps of a program have roles, 1 or 0, where a file holds kernels of both forms."""

WIDE_ROWS = "WIDE"
"""Whether programs with roles have more rows, 1 or 0, where a file holds kernels of both kinds."""

LEAST_KEYS = "LEAST_KEYS"
"""The keys from which on a launch gives them roles by itself."""

FEWER_KEYS, ROUNDS = "FEWER_KEYS", "ROUNDS"
"""Fewer keys from which on it does where each processor has so many tiles of rows with these to do, or as much."""
