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

from attndsl import cache as cache_module
from attndsl.cache import CacheWarning, DiskCache, user_cache
from attndsl.driver.tuned import Tuned

A, B, C = (letter * 64 for letter in "abc")
"""Keys."""

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
    assert cache.get(A) is None
    assert not folder.exists()
    cache.put(A, ENTRY)
    assert cache.get(A) == DiskCache(folder).get(A) == ENTRY
    cache.put(A, {"other": 1})
    assert cache.get(A) == {"other": 1}
    assert cache.get(B) is None


def test_only_the_user_can_read_it(folder: Path) -> None:
    DiskCache(folder).put(A, ENTRY)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()] == [0o600]


def test_a_folder_that_others_can_write_to_is_not_used(folder: Path) -> None:
    cache = DiskCache(folder)
    cache.put(A, ENTRY)
    folder.chmod(0o777)
    with pytest.warns(CacheWarning, match=r"other users can write to it; \$ATTNDSL_CACHE_DIR names another"):
        assert cache.get(A) is None
    cache.put(B, ENTRY)  # warned already
    folder.chmod(0o700)
    assert [file.name for file in folder.iterdir()] == [f"{A}.json"]


def test_anothers_folder_is_not_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = DiskCache(folder)
    cache.put(A, ENTRY)
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.warns(CacheWarning):
        assert cache.get(A) is None


@pytest.mark.parametrize("damage", [b"", b"\n", b"{}", b"half", None])
def test_a_damaged_entry_is_missing_and_is_mended(folder: Path, damage: bytes | None) -> None:
    cache = DiskCache(folder)
    cache.put(A, ENTRY)
    file = folder / f"{A}.json"
    whole = file.read_bytes()
    file.write_bytes(whole[:-3] if damage is None else damage)
    assert cache.get(A) is None
    cache.put(A, ENTRY)
    assert cache.get(A) == ENTRY


def test_one_flipped_bit_is_noticed(folder: Path) -> None:
    cache = DiskCache(folder)
    cache.put(A, ENTRY)
    file = folder / f"{A}.json"
    content = bytearray(file.read_bytes())
    for place in range(0, len(content), 7):
        content[place] ^= 1
        file.write_bytes(content)
        assert cache.get(A) is None
        content[place] ^= 1


@pytest.mark.parametrize("code", [errno.EROFS, errno.ENOSPC, errno.EACCES, errno.EDQUOT])
def test_a_disk_that_takes_nothing_is_told_of_once(folder: Path, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = DiskCache(folder)
    cache.put(A, ENTRY)

    def refuse(*_: Any, **__: Any) -> Any:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(cache_module, "write_atomically", refuse)
    with pytest.warns(CacheWarning, match=os.strerror(code)):
        cache.put(B, ENTRY)
    cache.put(C, ENTRY)  # a second warning would be an error
    assert cache.get(A) == ENTRY


def test_a_full_disk_leaves_no_half_entry(folder: Path) -> None:
    program = f"""
import resource, signal, warnings
from pathlib import Path
from attndsl.cache import CacheWarning, DiskCache
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
cache = DiskCache(Path({str(folder)!r}))
cache.put({A!r}, {{"x": 1}})
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    cache.put({B!r}, {{"x": "x" * 100_000}})
assert [warning.category for warning in caught] == [CacheWarning]
"""
    subprocess.run([sys.executable, "-c", program], check=True)
    assert [file.name for file in folder.iterdir()] == [f"{A}.json"]


def test_a_file_where_the_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    cache = DiskCache(tmp_path / "file" / "cache")
    assert cache.get(A) is None
    with pytest.warns(CacheWarning):
        cache.put(A, ENTRY)


def test_a_killed_writer_leaves_nothing_that_is_read_or_stays(folder: Path) -> None:
    program = f"""
import json, os, time
from pathlib import Path
from attndsl import files
from attndsl.cache import DiskCache
def die(*_, **__):
    print("writing", flush=True)
    time.sleep(60)
files.Path.replace = die
DiskCache(Path({str(folder)!r})).put({A!r}, {{"x": 1}})
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"writing\n"
        writer.send_signal(signal.SIGKILL)
    left = [file for file in folder.iterdir() if file.suffix == ".tmp"]
    assert len(left) == 1
    cache = DiskCache(folder)
    assert cache.get(A) is None
    cache.put(A, ENTRY)
    assert left[0].exists()  # it could be a living writer's
    long_ago = time.time() - 2 * cache_module.STALE
    os.utime(left[0], (long_ago, long_ago))
    DiskCache(folder).put(B, ENTRY)
    assert sorted(file.name for file in folder.iterdir()) == [f"{A}.json", f"{B}.json"]


def test_many_writers_and_readers_at_once(folder: Path) -> None:
    program = f"""
import sys
from pathlib import Path
from attndsl.cache import DiskCache
cache = DiskCache(Path({str(folder)!r}), limit=40_000)
for round in range(150):
    key = str(round % 5) * 64
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
        cache.put(str(number) * 64, {"text": "x" * 1000})
        os.utime(folder / f"{str(number) * 64}.json", (number, number))
    assert sorted(file.name[0] for file in folder.iterdir()) == ["4", "5", "6", "7"]


def test_the_folder_is_looked_at_once_in_many_entries(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked, scandir = [], os.scandir

    def look(path: Path) -> Any:
        looked.append(path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", look)
    cache = DiskCache(folder, limit=64 * 5000)
    for number in range(9):
        cache.put(str(number) * 64, {"text": "x" * 1000})
    assert looked == [folder] * 2  # at the first, and when 5000 bytes have been written


THEIRS = (
    "thesis.tmp", "data.json", "tmpab12cd34.tmp", "notes", ".json", ".tmp", "attndsl.json", "attndsl-thesis.tmp",
    "attndsl-AB12CD34.tmp", "attndsl-ab12cd345.tmp", "attndsl-ab12cd34.tmp~", "1-attndsl-ab12cd34.tmp",
    f"{A[1:]}.json", f"{A}a.json", f"{A.upper()}.json", f"{A}.JSON", f"{A}.json.bak", f"{A}.json\n", f".{A}.json", A,
    f"{'g' * 64}.json",
)  # fmt: skip
"""Names of a user's files, some of them nearly ours."""

OURS = (f"{A}.json", "attndsl-ab12cd34.tmp")
"""Names that in the cache's own folder are its, and in any other the user's."""


def snapshot(folder: Path) -> dict[str, bytes | str]:
    """What every file holds, and where every link leads."""
    found = sorted(path for path in folder.rglob("*") if path.is_symlink() or path.is_file())
    return {str(path): str(path.readlink()) if path.is_symlink() else path.read_bytes() for path in found}


def test_a_user_s_files_stay_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the folder that the environment names, and, if they are not named as entries are, in the cache's own."""
    given, elsewhere = tmp_path / "given", tmp_path / "elsewhere"
    monkeypatch.setenv("ATTNDSL_CACHE_DIR", str(given))
    cache = user_cache()
    own = cache.folder
    for folder, names in ((given, THEIRS + OURS), (own, THEIRS), (own / "tuned", THEIRS), (elsewhere, THEIRS + OURS)):
        folder.mkdir(mode=0o700, exist_ok=True)
        (folder / f"{C}.json").mkdir(exist_ok=True)
        for name in (*names, f"{C}.json/{A}.json"):
            (folder / name).write_bytes(name.encode() * 3000)
            os.utime(folder / name, (0, 0))
    for link in (own / "link.json", own / "attndsl-link1234.tmp", own / f"{'d' * 64}.json"):
        link.symlink_to(elsewhere / "data.json")
    (own / "others").symlink_to(elsewhere)
    before = snapshot(tmp_path)
    cache.limit = 3000
    for number in range(30):
        cache.put(f"{number:064}", {"text": "x" * 1000})
        Tuned("device", str(number)).put({"N": 1}, {"ROWS": 16})
    assert sum(file.name.startswith("0000") for file in own.iterdir()) == 2, "it did trim"
    after = snapshot(tmp_path)
    assert {path: after.get(path) for path in before} == before


def test_no_link_is_followed(tmp_path: Path, folder: Path) -> None:
    cache = DiskCache(folder)
    cache.put(A, ENTRY)
    elsewhere = tmp_path / "elsewhere.json"
    (folder / f"{A}.json").rename(elsewhere)
    (folder / f"{A}.json").symlink_to(elsewhere)
    with pytest.warns(CacheWarning):
        assert cache.get(A) is None
    before = elsewhere.read_bytes()
    cache.put(A, {"other": 1})
    assert cache.get(A) == {"other": 1} and elsewhere.read_bytes() == before
    (tmp_path / "link").symlink_to(folder)
    with pytest.warns(CacheWarning, match="it is a symbolic link"):
        assert DiskCache(tmp_path / "link").get(A) is None


def test_a_file_that_others_can_write_to_is_not_read(folder: Path) -> None:
    """The folder could have been swapped for another since it was looked at."""
    cache = DiskCache(folder)
    cache.put(A, ENTRY)
    (folder / f"{A}.json").chmod(0o666)
    with pytest.warns(CacheWarning, match="other users can write to it"):
        assert cache.get(A) is None


@pytest.mark.parametrize("named", ["~nobody_of_this_name/cache", None])
def test_the_home_of_nobody(named: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It goes without a cache, and makes no folder called `~`, also where the user has no name and no home."""

    def unknown(uid: int) -> Any:
        raise KeyError(uid)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("pwd.getpwuid", unknown)
    for name in ("HOME", "XDG_CACHE_HOME", "ATTNDSL_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    if named is not None:
        monkeypatch.setenv("ATTNDSL_CACHE_DIR", named)
    cache_module._open.cache_clear()
    cache = user_cache()
    with pytest.warns(CacheWarning, match="nobody knows whose home that is"):
        assert cache.get(A) is None
    cache.put(A, ENTRY)  # a second warning would be an error
    assert list(tmp_path.iterdir()) == []


def test_the_environment_names_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTNDSL_CACHE_DIR", str(tmp_path))
    assert user_cache().folder == tmp_path / "attndsl-v1"
    monkeypatch.delenv("ATTNDSL_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    cache_module._open.cache_clear()
    assert user_cache().folder == tmp_path / "home" / "attndsl" / "compiled"
