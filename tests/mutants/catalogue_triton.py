"""Mutants of the emitter of Triton, and of the launchers that it writes."""

from __future__ import annotations

import re

import pytest

from attndsl.backends.gpu import launcher
from attndsl.backends.triton import access, emit, expressions
from attndsl.backends.triton.helpers import HELPERS

from .mutant import planted, rewords, rewrites_lines, wraps


@planted("triton", "triton")
def absent_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a load leaves out is 1."""
    rewrites_lines(monkeypatch, r"other=0", "other=1")


@planted("triton", "triton")
def one_of_those_that_meet_added(monkeypatch: pytest.MonkeyPatch) -> None:
    """What may meet in one element is read, added to and written, all of a tile at once."""
    rewrites_lines(monkeypatch, r"tl\.atomic_add\(", "_added(")
    rewrites_lines(monkeypatch, r',? ?sem="relaxed",?', "")
    added = HELPERS["_add"].replace("_add(", "_added(")
    wraps(monkeypatch, emit, "helpers_text", lambda original, text: f"{original(text)}\n\n@triton.jit{added}")


@planted("triton", "triton")
def indices_always_of_32_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows and keys are computed in 32 bits, however large what is added to them."""
    monkeypatch.setattr(launcher, "terms", lambda bound: ["0"])


@planted("triton", "triton")
def summed_along_another_axis(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tile of rows and keys is summed over the rows."""
    rewrites_lines(monkeypatch, r"tl\.sum\((.*), 1\)", r"tl.sum(\1, 0)")


@planted("triton", "triton")
def stored_floats_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """A float that is written to 8 bits is not rounded, but cut off."""
    rewords(monkeypatch, HELPERS, "_to_f8", "rest > 0.5", "rest > 1.0")


@planted("triton", "triton")
def random_numbers_without_a_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The seed makes no difference."""
    rewords(monkeypatch, HELPERS, "_random", "tl.philox(seed, ", "tl.philox(seed * 0, ")


@planted("triton", "triton")
def quotients_of_negative_numbers_truncated(monkeypatch: pytest.MonkeyPatch) -> None:
    """All integers are taken to be at least 0, which are divided as Triton does."""
    monkeypatch.setattr(expressions, "Unsigned", lambda kernel: lambda value: True)


@planted("triton", "triton")
def last_axis_taken_for_dense(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stride of the last axis is 1, whatever it is."""
    wraps(
        monkeypatch,
        access,
        "stride_names",
        lambda original, tensor: [*original(tensor)[:-1], "1"] if len(tensor.shape) else [],
    )


@planted("triton", "triton")
def matrix_not_turned(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tile of keys is multiplied as it lies."""
    monkeypatch.setattr(expressions.TritonExpressions, "turned", lambda text, value, axes: text[value])


@planted("triton", "triton")
def last_rows_not_launched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiles of rows are counted rounded down."""
    wraps(
        monkeypatch,
        launcher.HostText,
        "count",
        lambda original, text, program: re.sub(r"triton\.cdiv\((.*), (\w+)\)$", r"(\1) // \2", original(text, program)),
    )


@planted("triton", "triton")
def one_part_less(monkeypatch: pytest.MonkeyPatch) -> None:
    """A launch merges the splits of the keys but the last."""
    rewrites_lines(monkeypatch, r"^chosen = _choose\((\w+_MERGE_SCHEDULES)", r"SPLITS -= 1; chosen = _choose(\1")


@planted("triton", "triton")
def outputs_not_cleared(monkeypatch: pytest.MonkeyPatch) -> None:
    """What no program writes is left as it was."""
    rewrites_lines(monkeypatch, r"\.zero_\(\)", "")
