"""`attndsl explain` for code of which a launch chooses the tiles."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

GALLERY = Path(__file__).parents[2] / "examples"
SHAPE = ("--shape", "D=64", "--types", "T=bf16")


def test_ranges_of_keys(attndsl: Any) -> None:
    told = json.loads(attndsl("explain", GALLERY / "cache_and_new.attn", "--json").out)["schedule"]
    assert told["ranges"] == "2, a loop for each: what is read changes from one to the next"
    tested = "tested for the keys of a tile that some rows do not see"
    assert told["mask"] == f"none is left to test; in another range {tested}"


def test_a_launch_chooses(attndsl: Any, gqa: Path) -> None:
    told = json.loads(attndsl("explain", gqa, "--target", "triton", *SHAPE, "--json").out)["schedule"]
    assert told["rows (gqa)"] == "i_h, chosen at launch: these rows read the same keys"
    assert told["keys (gqa_merge)"] == "split, chosen at launch"
    assert told["mask (gqa)"] == "none is left to test in full tiles; in others tested for every row and key of a tile"
    first, *others = told["schedules (gqa)"].split("; or ")
    assert first.startswith("ROWS 16, KEYS ")
    assert others
    assert "tile_rows" not in told


def test_where_keys_begin_and_end(attndsl: Any) -> None:
    def told(name: str) -> str:
        path = GALLERY / f"{name}.attn"
        found: dict[str, Any] = json.loads(attndsl("explain", path, "--target", "triton", *SHAPE, "--json").out)
        return str(found["schedule"][f"range ({name})"])

    cut = "cut to the keys that some row of the tile can see"
    assert told("cross_attention") == "the same for all rows of a tile"
    assert told("causal_end") == cut
    assert told("document_mask") == f"{cut}, by a first look at what the mask reads"


DECODE = ("--shape", "B=8,Hq=32,Hkv=8,M=1,N=4096,D=128,E=128", "--types", "T=bf16")


def test_the_least_time_on_a_gpu(attndsl: Any, gqa: Path) -> None:
    def told(*more: str) -> str:
        title, *_, limit = attndsl("explain", gqa, *DECODE, *more).out.splitlines()
        return f"{title}: {limit.split(maxsplit=1)[1]}"

    # 134,348,800 bytes in and out, 2^29 operations; four rows share keys, and tiles have sixteen
    assert told("--target", "cuda:90") == told("--target", "triton")
    assert told("--target", "cuda:90") == (
        "gqa for triton on cuda:90: 28 µs on H200 SXM, were nothing masked: "
        "28 µs for bytes at 4.8 TB/s, 2.17 µs for products at 989 Tflop/s"
    )
    assert "on hip:gfx942: 25.3 µs on Instinct MI300X" in told("--target", "hip:gfx942")
    assert told() == "gqa for numpy: 4.0 flop/B"  # nothing is known of this machine's CPU


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The pages that a browser was asked to show."""
    found: list[str] = []

    def show(uri: str) -> bool:
        found.append(uri)
        return True

    monkeypatch.setattr("webbrowser.open", show)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return found


def test_a_page_in_a_browser(attndsl: Any, gqa: Path, opened: list[str]) -> None:
    result = attndsl("explain", gqa, *DECODE, "--target", "cuda:90", "--open")
    assert (result.code, result.err) == (0, "")
    path = Path(result.out.strip())
    assert (opened, path.name) == ([path.as_uri()], "gqa.html")
    page = path.read_text()
    assert "<h1>gqa for triton on cuda:90</h1>" in page
    assert page.count("<svg") == 2
    assert "M = 1, N = 64" in page, "the rows of the call, and as many keys as can be shown"
    for row in ("limit", "rows", "schedules", "bytes", "work"):
        assert f"<th>{row}" in page
    assert "28 µs at 4.8 TB/s" in page
    assert "http" not in re.sub(r"xmlns[:=\w]*=?\"[^\"]*\"", "", page), "it holds all that it shows"


def test_a_page_where_there_is_no_browser(
    attndsl: Any, gallery: Path, opened: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webbrowser.open", lambda uri: False)
    result = attndsl("explain", gallery / "quantise_int8.attn", "--open")
    assert (result.code, result.err) == (0, "no browser was found to open it with\n")
    page = Path(result.out.strip()).read_text()
    assert page.count("<svg") == 1, "there are no rows and keys to draw"
    assert "against the limits" not in page, "nothing is known of this CPU"


def test_a_page_draws_parameters(attndsl: Any, gallery: Path, opened: list[str]) -> None:
    result = attndsl("explain", gallery / "sliding_window.attn", "--param", "window=5", "--open")
    assert (result.code, result.err) == (0, "")
    assert "window = 5" in Path(result.out.strip()).read_text()
    result = attndsl("explain", gallery / "sliding_window.attn", "--param", "window=5")
    assert (result.code, result.out) == (2, "")
    assert "--param is for the drawings of --open." in result.err
    result = attndsl("explain", gallery / "dilated.attn", "--param", "dilation=0", "--open")
    assert (result.code, result.out) == (2, "")
    assert "dilated requires dilation > 0, which does not hold for dilation = 0." in result.err


def test_a_page_is_no_json(attndsl: Any, gqa: Path) -> None:
    result = attndsl("explain", gqa, "--json", "--open")
    assert (result.code, result.out) == (2, "")
    assert "--json prints, and --open shows a page: one of them." in result.err


def test_what_is_done_and_what_is_needed(attndsl: Any, gqa: Path) -> None:
    found = json.loads(attndsl("explain", gqa, *DECODE, "--json").out)
    assert (found["work"], found["needed"]) == (2**29, 2**29)
    found = json.loads(attndsl("explain", gqa, *DECODE, "--target", "cuda:90", "--json").out)
    assert (found["work"], found["needed"]) == (2**31, 2**29)
    assert (
        "2.15 Gflop, of which the spec needs 537 Mflop once, were no position masked"
        in attndsl("explain", gqa, *DECODE, "--target", "cuda:90").out
    )


def test_the_least_time_as_a_number(attndsl: Any, gqa: Path) -> None:
    def limit(*arguments: str) -> float | None:
        found: float | None = json.loads(attndsl("explain", gqa, *DECODE, *arguments, "--json").out)["limit"]
        return found

    assert limit("--target", "cuda:90") == (2 * 8 * 32 * 128 * 2 + 2 * 8 * 8 * 4096 * 128 * 2) / 4.8e12
    assert limit() is None
