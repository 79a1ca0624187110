"""The schedules that `attndsl tune` found faster than those of a generated file's tables, kept from process to process.

They are kept by device and generated code, for calls of about the size that was measured: a schedule rests on how many
rows and keys there are, and what was best for 65,536 keys says little of 500.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path

from attndsl.cache import DiskCache, user_cache

FOLDER = "tuned"
"""Where they are in the cache's folder: what a minute of measuring found goes with nothing that is made in a second."""


@dataclass(frozen=True, slots=True)
class Tuned:
    """What was tuned of one generated program on one kind of device, whose name says all that the speed rests on."""

    device: str
    source: str

    def get(self, dims: Mapping[str, int]) -> dict[str, int]:
        """The schedule of calls with these dims; empty where the tables are to choose."""
        kept = _opened(user_cache().folder).get(self._key(dims))
        return {} if kept is None else dict(kept["schedule"])

    def put(self, dims: Mapping[str, int], schedule: Mapping[str, int]) -> None:
        """Keeps a schedule, or, where it is empty, that the tables are to choose."""
        _opened(user_cache().folder).put(self._key(dims), {"schedule": dict(schedule)})

    def _key(self, dims: Mapping[str, int]) -> str:
        """The same for dims between the same powers of two: a cache that grows by a key a call keeps its schedule."""
        sizes = (f"{dim} {(max(1, size) - 1).bit_length()}" for dim, size in sorted(dims.items()))
        return sha256("\n".join((self.device, *sizes, self.source)).encode("utf-8", "surrogatepass")).hexdigest()


@cache
def _opened(folder: Path) -> DiskCache:
    return DiskCache(folder / FOLDER)
