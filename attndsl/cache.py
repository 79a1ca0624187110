"""A folder of small JSON entries that many processes share and any of them may lose.

The cache never decides whether something works: an entry that is missing, damaged or cannot be written costs a
compilation, and at most one warning. Entries hold source that is later executed, so the folder belongs to the user
alone, and one that others can write to is not used. Whatever else lies in it is somebody's, and stays.
"""

from __future__ import annotations

import json
import os
import re
import stat
import time
import warnings
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from attndsl.files import TEMPORARY, write_atomically

ENVIRONMENT = "ATTNDSL_CACHE_DIR"
"""The environment variable that names another folder than the user's cache directory."""

FOLDER = "attndsl-v1"
"""Where the cache is in that folder, which may hold anything of the user's."""

ENTRY = re.compile(r"[0-9a-f]{64}\.json")
"""The name of an entry's file: its key, then what it is."""

LIMIT = 256 * 1024 * 1024
"""The bytes that entries may take together; past it the oldest go, some bytes later (`SLACK`)."""

SLACK = 64
"""A process looks at the folder at its first entry, then when it has written the limit's part of so many.

Looking takes longer than writing does where there are thousands of entries.
"""

STALE = 3600.0
"""The age in seconds at which a half-written file must be a killed writer's."""


NO_LINKS = getattr(os, "O_NOFOLLOW", 0)


class CacheWarning(UserWarning):
    """The cache cannot be used; everything works without it, more slowly."""


class DiskCache:
    """Entries by key, a SHA-256 digest in hexadecimal, in one folder, which is made at the first write."""

    def __init__(self, folder: Path, limit: int = LIMIT) -> None:
        self.folder = folder
        self.limit = limit
        self._warned = False
        self._unseen: int | None = None  # the bytes written since the folder was looked at, if ever it was

    def get(self, key: str) -> Any:
        """The entry of `key`, or None where there is none that is whole."""
        try:
            self._trust()
            digest, _, content = _read(self._path(key)).partition(b"\n")
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            self._warn(error)
            return None
        if sha256(content).hexdigest().encode() != digest:
            return None
        return json.loads(content)

    def put(self, key: str, entry: Mapping[str, Any]) -> None:
        """Keep an entry: readers see all of it or nothing, and the last of several writers wins."""
        content = json.dumps(entry).encode()
        try:
            self._trust(make=True)
            write_atomically(self._path(key), sha256(content).hexdigest().encode() + b"\n" + content, mode=0o600)
            self._unseen = None if self._unseen is None else self._unseen + len(content)
            if self._unseen is None or self._unseen * SLACK > self.limit:
                self._unseen = 0
                self._trim()
        except OSError as error:
            self._warn(error)

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}.json"

    def _trim(self) -> None:
        """Remove what killed writers left, and the oldest entries while all are larger than the limit."""
        entries = []
        with os.scandir(self.folder) as files:
            for file in files:
                try:
                    status = file.stat(follow_symlinks=False)
                except FileNotFoundError:  # another process trimmed it
                    continue
                if not stat.S_ISREG(status.st_mode):
                    continue
                if ENTRY.fullmatch(file.name):
                    entries.append((status.st_mtime, status.st_size, file.path))
                elif TEMPORARY.fullmatch(file.name) and status.st_mtime < time.time() - STALE:
                    Path(file.path).unlink(missing_ok=True)
        size = sum(entry[1] for entry in entries)
        for _, bytes_, path in sorted(entries):
            if size <= self.limit:
                break
            Path(path).unlink(missing_ok=True)
            size -= bytes_

    def _trust(self, make: bool = False) -> None:
        """Raises OSError unless there is such a folder, or one is made, that nobody else can have written to."""
        if self.folder.parts[0].startswith("~"):
            raise OSError("nobody knows whose home that is")
        if make:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = self.folder.lstat()
        if stat.S_ISLNK(status.st_mode):
            raise OSError("it is a symbolic link")
        _refuse_others(status)

    def _warn(self, reason: object) -> None:
        if not self._warned:
            self._warned = True
            message = f"attndsl goes on without its cache in {self.folder}: {reason}; ${ENVIRONMENT} names another"
            warnings.warn(message, CacheWarning, stacklevel=2)


def _read(path: Path) -> bytes:
    """A file of this user's, through no link: who can rename a folder above may have put another in the place of ours.

    Raises OSError.
    """
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | NO_LINKS)) as file:
        _refuse_others(os.fstat(file.fileno()))
        return file.read()


def _refuse_others(status: os.stat_result) -> None:
    """Raises OSError where it is of a file or folder that other users can write to."""
    if os.name == "posix" and (status.st_uid != os.geteuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)):
        raise OSError("other users can write to it")


def user_cache() -> DiskCache:
    """The cache of this user: in `$ATTNDSL_CACHE_DIR`, or in the user's cache directory."""
    return _open(os.environ.get(ENVIRONMENT))


@cache
def _open(folder: str | None) -> DiskCache:
    try:
        if folder:
            return DiskCache(Path(folder).expanduser() / FOLDER)
        from platformdirs import user_cache_path

        return DiskCache(user_cache_path("attndsl", appauthor=False) / "compiled")  # early versions leave the ~ there
    except RuntimeError:
        return DiskCache(Path(folder or "~"))
