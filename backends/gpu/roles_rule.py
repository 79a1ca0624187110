"""What of a call a launch wants before it takes a kernel whose warps have roles: a rule, as far as it is numbers."""

from __future__ import annotations

LEAST_ROWS = 65
"""The rows from which on a program with roles has more than one consumer's."""

LEAST_KEYS = 512
"""The keys from which on roles pay: what a tile of rows begins and ends with costs much of few turns.

On an H200 a causal call of 32 x 4 heads took 0.85 of the time with roles at 512 keys, 0.77 at 1024 and 0.75 at 4096; at
fewer none was timed.
"""

BUSY = 0.8
"""The part of all processors' time that tiles of rows must fill: with roles each has a processor to itself, and of the
last round some have none; roles save about a fifth.
"""
