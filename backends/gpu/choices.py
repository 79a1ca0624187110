"""What a launch of a generated Triton file chooses, by the names of `spec.choice`."""

from __future__ import annotations

CHOICES = ("ROWS", "KEYS", "PARTS")
"""How many rows and keys a tile has, and into how many parts the keys are cut."""
