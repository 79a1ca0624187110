"""Which code suits a CPU: what is measured, kept, told, and asked of the compiler."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import attndsl
from attndsl import cache
from attndsl.ir.machines import PROCESSORS
from attndsl.op import calibrate

GQA = Path(__file__).parents[2] / "examples" / "gqa.attn"

SIZES = {"B": 1, "Hq": 2, "Hkv": 1, "M": 8, "N": 16, "D": 4, "E": 4}

FAST = {"cpu": 80e9, "cpu:slices": 98e9}


@pytest.fixture
def measurements(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[dict[str, float]]]:
    """What is measured, one after the other; an empty cache, and no memory of another one."""
    monkeypatch.setenv(cache.ENVIRONMENT, str(tmp_path))
    monkeypatch.setenv(calibrate.VARIABLE, "1")
    monkeypatch.setattr(calibrate, "here", lambda: "A, NumPy 2, openblas 1")
    monkeypatch.setattr(calibrate, "find_spec", lambda name: None)
    left = [FAST, {"cpu": 80e9, "cpu:slices": 40e9}]
    monkeypatch.setattr(calibrate, "measured", lambda: left.pop(0))
    forget()
    yield left
    forget()


def forget() -> None:
    """As a new process begins."""
    calibrate._suited.cache_clear()


def test_what_is_measured_is_a_rate_of_each_way() -> None:
    rates = calibrate.measured()
    assert rates.keys() == calibrate.WAYS.keys() <= PROCESSORS.keys()
    assert all(1e6 < rate < 1e15 for rate in rates.values())


def test_it_is_measured_once_and_kept(measurements: list[dict[str, float]]) -> None:
    told = "eight rows at a time: 98 Gflop/s against 80 as a whole, measured on A, NumPy 2, openblas 1"
    for _ in range(2):
        assert calibrate.suited()[:2] == ("cpu:slices", told)
        forget()
    assert len(measurements) == 1


def test_another_cpu_or_library_is_measured_anew(
    measurements: list[dict[str, float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert calibrate.suited().machine == "cpu:slices"
    forget()
    monkeypatch.setattr(calibrate, "here", lambda: "A, NumPy 2, openblas 2")
    assert calibrate.suited().machine == "cpu"
    assert not measurements


def test_what_is_hardly_faster_suits_no_better() -> None:
    assert calibrate.by_rates({"cpu": 80e9, "cpu:slices": 81e9}, "A").machine == "cpu"


@pytest.mark.parametrize("damage", [b"damage", b"", None])
def test_what_is_damaged_is_measured_anew(
    damage: bytes | None, measurements: list[dict[str, float]], tmp_path: Path
) -> None:
    calibrate.suited()
    (entry,) = (tmp_path / cache.FOLDER / calibrate.FOLDER).iterdir()
    if damage is None:  # whole, and of another kind
        cache.DiskCache(entry.parent).put(entry.stem, {"cpu": "fast"})
    else:
        entry.write_bytes(damage)
    forget()
    assert calibrate.suited().machine == "cpu"
    assert not measurements


def test_a_folder_that_others_can_write_to_is_not_read(measurements: list[dict[str, float]], tmp_path: Path) -> None:
    calibrate.suited()
    (tmp_path / cache.FOLDER / calibrate.FOLDER).chmod(0o777)
    forget()
    with pytest.warns(cache.CacheWarning):
        assert calibrate.suited().machine == "cpu"


def test_nothing_is_measured_where_a_table_is_asked_for(
    measurements: list[dict[str, float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(calibrate.VARIABLE, "0")
    assert calibrate.suited().machine in PROCESSORS
    assert len(measurements) == 2
    assert calibrate.by_table("openblas 0.3.31 SkylakeX")[:2] == (
        "cpu:slices",
        "eight rows at a time, as with OpenBLAS and AVX-512; not measured, as $ATTNDSL_CALIBRATE is 0",
    )
    for library in ("openblas 0.3.31 Haswell", "mkl 2025"):
        assert calibrate.by_table(library)[:2] == (
            "cpu",
            "as a whole, not with OpenBLAS and AVX-512; not measured, as $ATTNDSL_CALIBRATE is 0",
        )


def test_a_call_takes_what_suits_and_a_file_what_suits_all(measurements: list[dict[str, float]]) -> None:
    op = attndsl.load(GQA)
    q, k, v = (np.ones((1, heads, n, 4), np.float32) for heads, n in ((2, 8), (1, 16), (1, 16)))
    np.testing.assert_allclose(op(q=q, k=k, v=v), 1, rtol=1e-6)
    compiled = {key[1]: artifact for key, artifact in op.binding._artifacts.items()}
    assert [*compiled] == ["cpu:slices"]
    assert "_by_eights" in compiled["cpu:slices"].source
    assert "_by_eights" not in op.source
    forget()
    slow = attndsl.load(GQA)
    measurements.clear()
    slow(q=q, k=k, v=v)  # from the cache, by what was kept
    assert [key[1] for key in slow.binding._artifacts] == ["cpu:slices"]


def test_explain_tells_what_suits_and_why(measurements: list[dict[str, float]]) -> None:
    def told(target: str) -> str:
        (line,) = (line for line in attndsl.load(GQA).explain(target, **SIZES).splitlines() if "products" in line)
        return line.split(maxsplit=1)[1]

    assert told("numpy") == calibrate.suited().why
    assert told("cpu:slices") == calibrate.suited().why
    assert told("cpu") == "as a whole, as cpu asks for"


# --- what Numba compiles


@pytest.fixture
def softmaxes(measurements: list[dict[str, float]], monkeypatch: pytest.MonkeyPatch) -> list[dict[str, float]]:
    """What is measured where Numba is installed, one after the other."""
    monkeypatch.setattr(calibrate, "find_spec", lambda name: name)
    monkeypatch.setattr(calibrate, "numba_version", lambda: "Numba 1")
    left = [{"numpy": 38e-6, "numba": 18e-6}, {"numpy": 38e-6, "numba": 40e-6}]
    monkeypatch.setattr(calibrate, "measured_tiles", lambda: left.pop(0))
    return left


def test_a_softmax_takes_some_time_in_each_way() -> None:
    pytest.importorskip("numba")
    times = calibrate.measured_tiles()
    assert times.keys() == {"numpy", "numba"}
    assert all(1e-6 < took < 1 for took in times.values())


def test_code_is_compiled_where_that_is_faster(
    softmaxes: list[dict[str, float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(2):  # measured once, and kept
        suits = calibrate.suited()
        assert suits.machine == "cpu:slices+numba"
        assert suits.tiles.startswith("compiled, 18 µs against 38 µs for a softmax, measured on ")
        assert suits.tiles.endswith("Numba 1")
        assert suits.why.startswith("eight rows at a time: ")
        forget()
    monkeypatch.setattr(calibrate, "numba_version", lambda: "Numba 2")
    suits = calibrate.suited()
    assert suits.machine == "cpu:slices"
    assert suits.tiles.startswith("not compiled: 40 µs against 38 µs")
    assert not softmaxes


def test_it_is_compiled_by_the_table_where_numba_is(
    softmaxes: list[dict[str, float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(calibrate.VARIABLE, "0")
    suits = calibrate.suited()
    assert PROCESSORS[suits.machine].compiled
    assert suits.tiles == "compiled, as Numba is installed; not measured, as $ATTNDSL_CALIBRATE is 0"
    assert len(softmaxes) == 2


def test_explain_tells_whether_tiles_are_compiled(softmaxes: list[dict[str, float]]) -> None:
    def told(target: str) -> list[str]:
        lines = attndsl.load(GQA).explain(target, **SIZES).splitlines()
        return [line.split(maxsplit=1)[1] for line in lines if line.split()[0] == "tiles"]

    assert told("numpy") == told("cpu:slices+numba") == [calibrate.suited().tiles]
    assert told("cpu:numba") == ["compiled where Numba is installed, as cpu:numba asks for"]
    assert told("cpu") == []
