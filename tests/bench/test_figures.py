"""Tables of docs say what the kept results do: whoever keeps a run anew is told which lines to write.

Sentences beside them, and leads of no kept file, are held by nobody but a reader.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from statistics import median

import pytest

ROOT = Path(__file__).parents[2]

Row = Mapping[str, str]


def rows_of(suite: str, *calls: tuple[str | int, ...]) -> list[Row]:
    """The rows of some calls of a suite, each told by its first columns, that were run."""
    kept = results(suite, len(calls[0]))
    return [kept[key] for key in (tuple(map(str, call)) for call in calls) if key in kept]


@cache
def results(suite: str, keys: int) -> dict[tuple[str, ...], Row]:
    """The rows of a suite that were run, by their first so many columns."""
    text = (ROOT / "benchmarks" / "results" / f"{suite}.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    return {tuple(islice(row.values(), keys)): row for row in rows if row["ours"]}


def said(rows: Sequence[Row], column: str, digits: int = 2) -> str:
    """The numbers of a column, side by side, those of ten and more to a tenth; nothing where there are none."""
    numbers = (float(row[column]) for row in rows if row[column])
    return " · ".join(f"{number:.{digits if number < 10 else min(digits, 1)}f}" for number in numbers)


def rates(rows: Sequence[Row]) -> str:
    """TFLOP/s: those of few calls, or from the first to the last of many."""
    numbers = [f"{float(row['TFLOP/s']):.0f}" for row in rows]
    return f"{numbers[0]} … {numbers[-1]}" if len(numbers) > 2 else " · ".join(numbers)


def line(*cells: str) -> str:
    """A line of a table; an empty cell has one space."""
    return "|" + "".join(f" {cell} |" if cell else " |" for cell in cells)


LENGTHS = (1024, 2048, 4096, 8192)
MASKS = {"full": "mha", "causal": "causal_end"}
PEERS = ("cuDNN / ours", "FlexAttention / ours", "FLASH / ours")
TERMS = {
    "about eight documents": "document_mask",
    "window of 1024": "sliding_window",
    "ALiBi": "alibi",
    "softcap": "softcap",
}
REQUESTS = ((128, 256, 256), (32, 1024, 1024), (16, 2048, 2048), (8, 512, 8192), (4, 4096, 4096))


def of_prefill() -> Iterator[tuple[str, list[Row]]]:
    for mask, spec in MASKS.items():
        for d in (64, 128):
            yield f"{d}, {mask}", rows_of("prefill", *((spec, 4, 32, n, d, d) for n in LENGTHS))
        yield f"128, N = 1000 · 4097, {mask}", rows_of("prefill", *((spec, 4, 32, n, 128, 128) for n in (1000, 4097)))
    yield "64, full, B × H = 32", rows_of("prefill", *(("mha", 4, 8, n, 64, 64) for n in LENGTHS))
    for d, label in (
        (256, "256, full · causal (64, 4096)"),
        (96, "96, full · causal (B × H = 64, N = 4096)"),
        (192, "keys of 192, values of 128, full · causal (64, 4096)"),
        (80, "80, full · causal (64, 4096)"),
    ):
        yield label, rows_of("prefill", *((spec, 4, 16, 4096, d, 128 if d == 192 else d) for spec in MASKS.values()))


def of_backward() -> Iterator[tuple[str, list[Row]]]:
    for mask, spec in MASKS.items():
        for d in (64, 128):
            yield f"{d}, {mask}", rows_of("backward", *((spec, 4, 32, 32, n, d, d) for n in LENGTHS[1:]))
    for label, spec, heads, d in (
        ("keys of 192, values of 128, causal", "causal_end", 32, 192),
        ("128, causal, 32 heads on 8", "gqa", 8, 128),
        ("128, window of 1024", "sliding_window", 32, 128),
        ("128, causal, about eight documents", "document_mask", 32, 128),
        ("128, softcap", "softcap", 32, 128),
    ):
        yield f"{label} (N = 4096)", rows_of("backward", (spec, 4, 32, heads, 4096, d, 128))


def middle(rows: Sequence[Row], column: str) -> str:
    """The median of what all pages of requests were timed beside."""
    numbers = [float(row[column]) for row in rows if row[column]]
    return f"{median(numbers):.0f}" if numbers else ""


def lines() -> Iterator[tuple[str, str]]:
    """What a line begins with, and all of it."""
    for label, rows in (*of_prefill(), *of_backward()):
        yield label, line(label, *(said(rows, peer) for peer in PEERS), rates(rows))
    for label, spec in TERMS.items():
        rows = rows_of("prefill", *((spec, 2, 32, n, 128, 128) for n in LENGTHS[2:]))
        ratios = ("FlexAttention / ours", "and mask / ours", "plain by tile / ours")
        yield label, line(label, *(said(rows, ratio) for ratio in ratios))
    for batches, many, keys in REQUESTS:
        label = f"{batches} of {many}" if many == keys else f"{batches} chunks of {many} behind {keys - many} keys"
        rows = rows_of("packed", *((batches, many, keys, page) for page in (16, 64, 128)))
        beside = (middle(rows, column) for column in ("ours, packed", "ours, dense", "cuDNN"))
        yield label, line(label, said(rows, "ours", 0), *beside, said(rows[1:2], "gather, SDPA", 0))


ON_CPUS = {
    "window of 512, heads of 64 · 128, beside compiled FlexAttention": "sliding_window",
    "ALiBi, beside the same": "alibi",
    "softcap, beside the same": "softcap",
    "documents, beside the same": "document_mask",
}


def of_cpus() -> Iterator[tuple[str, str, str, Sequence[tuple[str | int, ...]]]]:
    """What a line begins with, its suite and its column, and the calls that it tells of."""
    large = [(f"{mask}, large logits", 1024, 64) for mask in MASKS]
    yield "the same with large logits, heads of 64, full · causal", "prefill", "SDPA", large
    for mask in MASKS:
        label = f"prefill, 1024 keys, heads of 64 · 128, {mask}"
        yield label, "prefill", "SDPA", [(mask, 1024, d) for d in (64, 128)]
    for d in (64, 128):
        label = f"prefill, 4096 keys, heads of {d}, full · causal"
        yield label, "prefill", "SDPA", [(mask, 4096, d) for mask in MASKS]
    for label, spec in ON_CPUS.items():
        yield label, "prefill", "FlexAttention", [(spec, 4096, d) for d in (64, 128)]
    for label, work in (
        ("one query, 32 heads on 8 of 128, 4096 · 16,384 keys, dense", "GQA"),
        ("the same in pages of 16, beside gather and SDPA", "pages of 16"),
        ("the same in 8-bit integers, beside dequantise and SDPA", "int8"),
    ):
        yield label, "decode", "best peer", [(work, 32, 1, keys) for keys in (4096, 16384)]
    latents = [("MLA", heads, 1, 4096) for heads in (16, 128)]
    yield "one query over 4096 latents, 16 · 128 heads", "decode", "best peer", latents
    queries = [("MLA prefill", heads, 512, 512) for heads in (16, 128)]
    yield "512 queries of latents, expanded, 16 · 128 heads", "decode", "best peer", queries
    for n, d in ((1024, 128), (1024, 64), (4096, 64)):
        label = f"backward alone, {n} keys, heads of {d}, full · causal · 8 heads on 2"
        yield label, "backward", "SDPA", [(spec, n, d) for spec in (*MASKS.values(), "gqa")]


def on_cpus() -> Iterator[tuple[str, str]]:
    """The same of a Xeon and of an EPYC of Zen 5."""
    for label, suite, peer, calls in of_cpus():
        both = (rows_of(f"{place}cpu-{suite}", *calls) for place in ("", "epyc/"))
        yield label, line(label, *(said(rows, f"{peer} / ours") for rows in both))


LINES = [(page, *told) for page, tables in (("performance", lines()), ("benchmarks", on_cpus())) for told in tables]


@pytest.mark.parametrize(("page", "text"), [(page, text) for page, _, text in LINES], ids=[told[1] for told in LINES])
def test_a_line_of_a_table_is_what_the_kept_file_says(page: str, text: str) -> None:
    assert text in (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8").splitlines()
