"""What is read of the processor."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from attndsl import processor

TEXT = """processor\t: 0
model name\t: A 7: B
flags\t\t: fpu sse avx512f avx2 fma avx512_bf16 aes

processor\t: 1
model name\t: C
Features\t: asimd
"""


def test_name_and_vector_extensions_are_those_of_the_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(processor, "CPUINFO", tmp_path / "cpuinfo")
    processor.CPUINFO.write_text(TEXT, encoding="utf-8")
    assert processor.processor() == "A 7: B"
    assert processor.vector_extensions() == ["fma", "avx2", "avx512f", "avx512_bf16"]


def test_elsewhere_little_is_known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(processor, "CPUINFO", tmp_path / "none")
    assert processor.processor() == platform.machine()
    assert processor.vector_extensions() == []
