"""Each suite's rows, at tiny shapes on a CPU: the whole path from inputs to table, file and drawing."""

from __future__ import annotations

import csv
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import torch

from attndsl.bench import (
    backward,
    cpu_backward,
    cpu_decode,
    cpu_prefill,
    encoder,
    flash_decoding,
    gallery,
    gradients,
    masks,
    mla_cpu,
    mla_decode,
    packed,
    paged,
    peers,
    prefill,
)
from attndsl.bench.suite import Effort, Suite, Work

TINY: dict[str, Callable[[], list[Work]]] = {
    "prefill": lambda: [
        *(prefill.plain(1, 2, 128, 16, 16, causal, rank=0) for causal in (False, True)),
        prefill.plain(1, 2, 128, 24, 16, True, rank=0),
        prefill.variant("alibi", 2, 2, 256, 16, rank=1),
    ],
    "backward": lambda: [
        *(backward.row(name, gradients.Shape(1, 2, 2, 40, 16, 16)) for name in ("mha", "causal_end")),
        backward.row("gqa", gradients.Shape(1, 4, 2, 40, 16, 16)),
        backward.row("causal_end", gradients.Shape(1, 2, 2, 40, 24, 16)),
        *(
            backward.row(name, gradients.Shape(2, 2, 2, 30 if "bias" in name else 150, 16, 16))
            for name in backward.TERMS
        ),
        backward.row("alibi", gradients.Shape(1, 2, 2, 40, 16, 16), step=True),
    ],
    "flash-decoding": lambda: [
        flash_decoding.decode(element, (4, kv_heads, 16, 2, 64), 0, with_flex=True)
        for element, kv_heads in (("f32", 2), ("bf16", 1))
    ],
    "packed": lambda: [packed.row(2, 16, keys, page, 4, 2, 16) for keys, page in ((16, 16), (24, 8))],
    "paged": lambda: [paged.decode(4, 2, 16, 2, 64)],
    "mla-decode": lambda: [mla_decode.decode(4, 2, 128)],
    "cpu-prefill": lambda: [
        *(cpu_prefill.unmasked(64, 16, causal, large) for causal in (False, True) for large in (False, True)),
        *(cpu_prefill.variant(spec, 256, 16) for spec in ("alibi", "document_mask")),
    ],
    "cpu-backward": lambda: [cpu_backward.row(name, 64, 16) for name in (*gradients.PLAIN, *cpu_backward.TERMS)],
    "cpu-decode": lambda: [
        *(row(64) for row in (cpu_decode.shared, cpu_decode.paged, cpu_decode.integers)),
        cpu_decode.latent(2, 64),
        *(cpu_decode.smaller(2, 64, cache) for cache in ("f16", "q8_0")),
        cpu_decode.prefill(2, 16),
    ],
    "mla-cpu": lambda: [
        mla_cpu.attend("DeepSeek-V3", queries, depth, cache)
        for queries, depth, cache in ((1, 40, "f32"), (1, 40, "q8_0"), (8, 24, "f16"), (8, 0, "f32"))
    ],
    "encoder": lambda: [encoder.padded(2, 2, 8, 16)],
    "gallery": lambda: [gallery.row(name, {}) for name in ("append_paged", "f8_cache", "lse")],
}


SUITES = tuple(TINY)

PEERS = {
    "naive", "FlexAttention", "SDPA", "SDPA packed", "gather, SDPA", "dequantise, SDPA", "expanded, padded",
    "ours, f32 cache", "torch",
}  # fmt: skip
"""Contestants of which a row has at least one that runs anywhere."""


def suite(name: str) -> Suite:
    found: Suite = import_module(f"attndsl.bench.{name.replace('-', '_')}").SUITE
    return found


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.matrix] if name == "backward" else []) for name in SUITES]
)
def test_rows(name: str, measure: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gallery, "SHAPE", {"B": 2, "Hq": 4, "Hkv": 2, "D": 16, "E": 16})
    monkeypatch.setitem(mla_cpu.MODELS, "DeepSeek-V3", 2)
    of, works = suite(name), TINY[name]()
    results = measure(of, works)
    assert results.failures == ()
    names = [column.name for column in of.columns]
    for row, work in zip((dict(zip(names, row, strict=True)) for row in results.rows), works, strict=True):
        own = [contestant.name for contestant in work.contestants if contestant.ours]
        assert own and all(row[name] > 0 for name in own if name in row) and row["error"] < 1e-2, row
        peer = next(contestant.name for contestant in work.contestants[::-1] if contestant.name in PEERS)
        assert row[peer] > 0, row
    table, drawing = results.save(tmp_path, name, {"device": "a CPU"})
    lines = table.read_text().splitlines()
    head = [line for line in lines if line.startswith("# ")]
    assert f"# {of.title}" in head and "# device: a CPU" in head
    written = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    assert list(written[0]) == names and len(written) == len(works)
    assert ElementTree.parse(drawing).getroot().tag.endswith("svg")
    assert results.table().row_count == len(works)


@pytest.mark.parametrize("name", SUITES)
def test_every_effort_has_rows_and_more_effort_has_more(name: str) -> None:
    counts = [len(list(suite(name).works(effort))) for effort in Effort]
    assert 0 < counts[0] < counts[1] <= counts[2]


def test_the_original_shapes_are_all_there() -> None:
    def shapes(name: str, *labels: str) -> set[tuple[Any, ...]]:
        return {tuple(w.labels[label] for label in labels) for w in suite(name).works(Effort.FULL)}

    study = shapes("prefill", "spec", "B", "H", "N", "D")
    for b in (1, 2, 4):
        for h in (1, 2, 4, 8, 32):
            for n in (1024, 2048, 4096, 8192):
                assert {(s, b, h, n, d) for s in ("mha", "causal_end") for d in (64, 128)} <= study
    training = shapes("backward", "spec", "B", "Hq", "N", "D")
    for n in (2048, 4096, 8192):
        assert {(s, 4, 32, n, d) for s in ("mha", "causal_end") for d in (64, 128)} <= training
    decoding = shapes("flash-decoding", "type", "Hq", "Hkv", "D", "B", "keys")
    for element in ("f16", "bf16", "f32"):
        for kv_heads in (1, 2):
            assert (element, 16, kv_heads, 128, 1, 131072) in decoding
            assert {(element, 16, kv_heads, 128, 2**p, 65536 // 2**p) for p in range(9)} <= decoding
    assert ("bf16", 32, 8, 128, 64, 8192) in decoding
    pages = shapes("paged", "Hq", "Hkv", "D", "B", "keys")
    assert len(pages) == 16 and (64, 1, 256, 32, 2048) in pages
    latent = shapes("mla-decode", "H", "B", "keys")
    assert {(h, 1, 131072) for h in (8, 16, 32, 64, 128)} <= latent and len(latent) == 5 * 9 * 8
    assert mla_decode.FLASH_MLA.keys() <= latent
    usual = {tuple(w.labels.values()) for w in suite("mla-decode").works(Effort.DEFAULT)}
    assert mla_decode.FLASH_MLA.keys() <= usual


def test_a_peer_that_refuses_leaves_an_empty_cell_and_its_reason(measure: Any) -> None:
    results = measure(prefill.SUITE, [prefill.plain(1, 2, 128, 16, 16, True, rank=0)])
    (row,) = (dict(zip([c.name for c in results.columns], row, strict=True)) for row in results.rows)
    assert row["cuDNN"] is None and row["cuDNN / ours"] is None
    assert "cuDNN: RuntimeError" in row["notes"] and "stages 1: the file is for a GPU" in row["notes"]


def test_the_naive_form_is_not_run_where_its_scores_do_not_fit(monkeypatch: pytest.MonkeyPatch, measure: Any) -> None:
    monkeypatch.setattr(peers, "NAIVE_BYTES", 1e4)
    results = measure(prefill.SUITE, [prefill.plain(1, 2, 128, 16, 16, False, rank=0)])
    assert "naive: its scores take 0 GB" in results.rows[0][-1]


def test_tiles_are_counted_as_masks_are() -> None:
    """Of 4 × 4 tiles a causal mask visits the lower half; a window of a tile, two in each row but the first."""
    x = prefill.qkv(1, 1, 512, 16, 16, torch.device("cpu"))
    assert masks.visited(x, masks.causal(x)) == 10
    assert masks.visited(x, masks.windowed(128)(x)) == 7


def test_variants_are_what_their_specs_say(measure: Any) -> None:
    """FlexAttention gives what the spec does, or its cell is WRONG."""
    results = measure(prefill.SUITE, [prefill.variant(spec, 2, 2, 256, 16, rank=0) for spec in prefill.VARIANTS])
    names = [column.name for column in results.columns]
    for row in (dict(zip(names, row, strict=True)) for row in results.rows):
        assert isinstance(row["FlexAttention"], float) and isinstance(row["FlexAttention and mask"], float), row
        assert row["plain by tile / ours"] > 0
