"""Masks as the queries that see each key, beside transformers' own dense masks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from transformers import masking_utils
from transformers.masking_utils import (
    and_masks,
    bidirectional_mask_function,
    causal_mask_function,
    chunked_causal_mask_function,
    or_masks,
    packed_sequence_compatibility_function,
    sdpa_mask,
    sliding_window_bidirectional_mask_function,
    sliding_window_causal_mask_function,
)

from attndsl.integrations.transformers import errors
from attndsl.integrations.transformers.masks import KeyRows, model_mask

POSITIONS = torch.tensor([[0, 1, 2, 0, 1, 2, 3], [*range(7)]])
SEQUENCES = torch.tensor([[0, 0, 0, 1, 1, 1, 1], [0] * 7])
PADDED = torch.tensor([[0, 0, 1, 0, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1, 1, 0, 0]], dtype=torch.bool)


def packed(function: Callable[..., Any]) -> Callable[..., Any]:
    return packed_sequence_compatibility_function(function, POSITIONS, SEQUENCES)


FUNCTIONS = {
    "causal": causal_mask_function,
    "bidirectional": bidirectional_mask_function,
    "window": sliding_window_causal_mask_function(3),
    "window of both sides": sliding_window_bidirectional_mask_function(2),
    "chunks": chunked_causal_mask_function(3, torch.tensor([2, 0])),
    "all of several": and_masks(sliding_window_causal_mask_function(4), sliding_window_bidirectional_mask_function(2)),
}
PACKED = {
    "packed": packed(causal_mask_function),
    "packed, window": packed(sliding_window_causal_mask_function(2)),
}
CALLS: dict[str, dict[str, Any]] = {
    "prefill": {"q_length": 7, "kv_length": 7},
    "decode": {"q_length": 1, "kv_length": 7, "q_offset": 6},
    "chunk of a prefill": {"q_length": 3, "kv_length": 7, "q_offset": 4},
    "static cache": {"q_length": 3, "kv_length": 9, "q_offset": torch.tensor(2)},
    "cache of a window": {"q_length": 2, "kv_length": 4, "q_offset": 6, "kv_offset": 4},
    "padding": {"q_length": 7, "kv_length": 7, "attention_mask": PADDED[:, :7]},
    "padding before a cache": {"q_length": 2, "kv_length": 4, "q_offset": 6, "kv_offset": 4, "attention_mask": PADDED},
    "padding and a static cache": {"q_length": 7, "kv_length": 12, "attention_mask": PADDED[:, :7]},
}


def dense_mask(**call: Any) -> torch.Tensor:
    """The mask of transformers' own, which it would leave out where it says little."""
    mask = sdpa_mask(batch_size=2, allow_is_causal_skip=False, **call)
    assert mask is not None
    return mask


def check(function: Callable[..., Any], call: dict[str, Any]) -> None:
    """The mask of ours, which is no dense one, says what transformers' says."""
    ours = model_mask(batch_size=2, mask_function=function, **call)
    assert isinstance(ours, KeyRows)
    wanted = dense_mask(mask_function=function, **call)
    assert ours.shape == wanted.shape and ours.dtype == wanted.dtype
    assert torch.equal(ours.dense(), wanted)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_what_an_interval_says(function: str, call: str) -> None:
    check(FUNCTIONS[function], CALLS[call])


@pytest.mark.parametrize("function", PACKED)
def test_packed_sequences(function: str) -> None:
    check(PACKED[function], CALLS["prefill"])


@pytest.mark.parametrize(
    "function",
    [
        or_masks(causal_mask_function, FUNCTIONS["window of both sides"]),
        packed(FUNCTIONS["chunks"]),
        lambda batch, head, q, k: (q + k) % 3 > 0,
    ],
)
def test_what_no_interval_says_is_dense(function: Callable[..., Any]) -> None:
    for call in ("prefill", "padding"):
        ours = model_mask(batch_size=2, mask_function=function, **CALLS[call])
        assert not isinstance(ours, KeyRows)
        wanted = dense_mask(mask_function=function, **CALLS[call])
        assert torch.equal(ours, wanted)


def test_a_mask_is_the_dense_one_to_whom_looks_into_it() -> None:
    mask = model_mask(batch_size=2, mask_function=causal_mask_function, **CALLS["padding"])
    assert isinstance(mask, KeyRows)
    dense = dense_mask(**CALLS["padding"])
    assert torch.equal(mask[:, :, 1:, :4], dense[:, :, 1:, :4])
    assert torch.equal(torch.where(mask, 0.0, 1.0), torch.where(dense, 0.0, 1.0))
    assert torch.equal(mask & dense.flip(-1), dense & dense.flip(-1))


def test_what_is_written_into_a_mask_stays() -> None:
    mask = model_mask(batch_size=2, mask_function=causal_mask_function, **CALLS["prefill"])
    assert isinstance(mask, KeyRows)
    mask[:, :, :, 3] = False
    assert mask.looked_into is not None
    assert not mask.dense()[..., 3].any() and mask.dense()[..., 2].any()


def test_a_mask_is_nothing_to_add() -> None:
    mask = model_mask(batch_size=2, q_length=3, kv_length=3)
    with pytest.raises(errors.MaskIsAdded, match="computes attention by itself"):
        torch.zeros(2, 4, 3, 3) + mask


def test_every_mask_of_transformers_is_read_by_its_own_code() -> None:
    """Functions of the same names, but of other code, are not taken for those of transformers."""

    def sliding_window_overlay(sliding_window: int) -> Callable[..., Any]:
        return lambda batch, head, q, k: k > q - sliding_window // 2

    ours = model_mask(
        batch_size=1, q_length=7, kv_length=7, mask_function=and_masks(sliding_window_overlay(4), causal_mask_function)
    )
    assert not isinstance(ours, KeyRows)
    assert masking_utils.sliding_window_overlay(4)(0, 0, torch.tensor(3), torch.tensor(0))
