"""The cache on disk: it is fast when it can be, and harmless when it cannot."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import pytest

from attndsl.driver import cache as cache_module
from attndsl.driver.cache import CacheWarning, DiskCache, user_cache

ENTRY = {"text": "naïve ✓", "numbers": [1, 2.5, None, True], "infinite": float("inf")}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "made" / "when" / "needed"


@pytest.fixture(autouse=True)
def no_warnings() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def test_what_is_put_is_found(folder: Path) -> None:
    cache = DiskCache(folder)
    assert cache.get("a") is None
    assert not folder.exists()
    cache.put("a", ENTRY)
    assert cache.get("a") == DiskCache(folder).get("a") == ENTRY
    cache.put("a", {"other": 1})
    assert cache.get("a") == {"other": 1}
    assert cache.get("b") is None


def test_only_the_user_can_read_it(folder: Path) -> None:
    DiskCache(folder).put("a", ENTRY)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()] == [0o600]


def test_a_folder_that_others_can_write_to_is_not_used(folder: Path) -> None:
    cache = DiskCache(folder)
    cache.put("a", ENTRY)
    folder.chmod(0o777)
    with pytest.warns(CacheWarning, match=r"other users can write to it; \$ATTNDSL_CACHE_DIR names another"):
        assert cache.get("a") is None
    cache.put("b", ENTRY)  # warned already
    folder.chmod(0o700)
    assert [file.name for file in folder.iterdir()] == ["a.json"]


def test_anothers_folder_is_not_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = DiskCache(folder)
    cache.put("a", ENTRY)
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.warns(CacheWarning):
        assert cache.get("a") is None


@pytest.mark.parametrize("damage", [b"", b"\n", b"{}", b"half", None])
def test_a_damaged_entry_is_missing_and_is_mended(folder: Path, damage: bytes | None) -> None:
    cache = DiskCache(folder)
    cache.put("a", ENTRY)
    file = folder / "a.json"
    whole = file.read_bytes()
    file.write_bytes(whole[:-3] if damage is None else damage)
    assert cache.get("a") is None
    cache.put("a", ENTRY)
    assert cache.get("a") == ENTRY


def test_one_flipped_bit_is_noticed(folder: Path) -> None:
    cache = DiskCache(folder)
    cache.put("a", ENTRY)
    file = folder / "a.json"
    content = bytearray(file.read_bytes())
    for place in range(0, len(content), 7):
        content[place] ^= 1
        file.write_bytes(content)
        assert cache.get("a") is None
        content[place] ^= 1


@pytest.mark.parametrize("code", [errno.EROFS, errno.ENOSPC, errno.EACCES, errno.EDQUOT])
def test_a_disk_that_takes_nothing_is_told_of_once(folder: Path, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = DiskCache(folder)
    cache.put("a", ENTRY)

    def refuse(*_: Any, **__: Any) -> Any:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(cache_module, "write_atomically", refuse)
    with pytest.warns(CacheWarning, match=os.strerror(code)):
        cache.put("b", ENTRY)
    cache.put("c", ENTRY)  # a second warning would be an error
    assert cache.get("a") == ENTRY


def test_a_full_disk_leaves_no_half_entry(folder: Path) -> None:
    program = f"""
import resource, signal, warnings
from pathlib import Path
from attndsl.driver.cache import CacheWarning, DiskCache
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
cache = DiskCache(Path({str(folder)!r}))
cache.put("small", {{"x": 1}})
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    cache.put("large", {{"x": "x" * 100_000}})
assert [warning.category for warning in caught] == [CacheWarning]
"""
    subprocess.run([sys.executable, "-c", program], check=True)
    assert [file.name for file in folder.iterdir()] == ["small.json"]


def test_a_file_where_the_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    cache = DiskCache(tmp_path / "file" / "cache")
    assert cache.get("a") is None
    with pytest.warns(CacheWarning):
        cache.put("a", ENTRY)


def test_a_killed_writer_leaves_nothing_that_is_read_or_stays(folder: Path) -> None:
    program = f"""
import json, os, time
from pathlib import Path
from attndsl.driver import files
from attndsl.driver.cache import DiskCache
def die(*_, **__):
    print("writing", flush=True)
    time.sleep(60)
files.Path.replace = die
DiskCache(Path({str(folder)!r})).put("a", {{"x": 1}})
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"writing\n"
        writer.send_signal(signal.SIGKILL)
    left = [file for file in folder.iterdir() if file.suffix == ".tmp"]
    assert len(left) == 1
    cache = DiskCache(folder)
    assert cache.get("a") is None
    cache.put("a", ENTRY)
    assert left[0].exists()  # it could be a living writer's
    long_ago = time.time() - 2 * cache_module.STALE
    os.utime(left[0], (long_ago, long_ago))
    cache.put("b", ENTRY)
    assert sorted(file.name for file in folder.iterdir()) == ["a.json", "b.json"]


def test_many_writers_and_readers_at_once(folder: Path) -> None:
    program = f"""
import sys
from pathlib import Path
from attndsl.driver.cache import DiskCache
cache = DiskCache(Path({str(folder)!r}), limit=40_000)
for round in range(150):
    key = f"k{{round % 5}}"
    entry = cache.get(key)
    assert entry is None or entry["text"] == entry["writer"] * 5000, entry
    cache.put(key, {{"writer": sys.argv[1], "text": sys.argv[1] * 5000}})
"""
    workers = [subprocess.Popen([sys.executable, "-W", "error", "-c", program, name]) for name in "abc"]
    assert [worker.wait() for worker in workers] == [0, 0, 0]
    assert all(file.suffix == ".json" for file in folder.iterdir())


def test_the_oldest_entries_go_when_there_are_too_many(folder: Path) -> None:
    cache = DiskCache(folder, limit=5000)
    for number in range(8):
        cache.put(f"k{number}", {"text": "x" * 1000})
        os.utime(folder / f"k{number}.json", (number, number))
    assert sorted(file.name for file in folder.iterdir()) == ["k4.json", "k5.json", "k6.json", "k7.json"]


def test_the_environment_names_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTNDSL_CACHE_DIR", str(tmp_path))
    assert user_cache().folder == tmp_path
    monkeypatch.delenv("ATTNDSL_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    cache_module._open.cache_clear()
    assert user_cache().folder == tmp_path / "home" / "attndsl" / "compiled"
