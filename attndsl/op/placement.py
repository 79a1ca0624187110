"""On which processors the threads of a call run.

Linux wakes a thread where it ran last, or beside the one that wakes it, and may leave two on one processor for a whole
call of ten milliseconds while another has nothing to do. So each thread of a call is told its share of the processors,
which no other of them has. Where a system does not know of such shares, or refuses them, threads run wherever it says.
"""

from __future__ import annotations

import os
from contextlib import suppress


def shares(number: int) -> list[frozenset[int]]:
    """The processors that this thread may use, dealt out to so many; a share is empty where there are fewer of them."""
    if not hasattr(os, "sched_setaffinity"):
        return [frozenset()] * number
    allowed = sorted(os.sched_getaffinity(0))
    return [frozenset(allowed[each::number]) for each in range(number)]


def stay(share: frozenset[int]) -> None:
    """Has this thread run on these processors alone, if there are any and the system allows it."""
    if share:
        with suppress(OSError):  # a sandbox may refuse, and a processor may have gone since
            if os.sched_getaffinity(0) != share:
                os.sched_setaffinity(0, share)
