"""Models under torch.compile: one graph, in which attention is one operator."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from transformers import masking_utils

from attndsl.integrations.transformers import masks, register, spec
from tests.integrations.test_models import ROUNDING, generated
from tests.integrations.test_training import losses
from tests.integrations.tiny import LLAMA, MISTRAL, batch, difference


@torch.inference_mode()
def test_a_forward_as_one_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its mask is made within, and is no dense one."""
    own, ours = LLAMA.pair()
    given = batch()
    wanted = own(**given).logits
    monkeypatch.setattr(masks, "sdpa_mask", None)
    compiled: Any = torch.compile(ours, fullgraph=True, backend="aot_eager")
    assert difference(wanted, compiled(**given).logits, given["attention_mask"]) < ROUNDING


@torch.inference_mode()
def test_a_window_within_a_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    own, ours = MISTRAL.pair()
    monkeypatch.setattr(masks, "sdpa_mask", None)
    compiled: Any = torch.compile(ours, fullgraph=True, backend="aot_eager")
    given = batch()
    assert difference(own(**given).logits, compiled(**given).logits, given["attention_mask"]) < ROUNDING


def test_training_by_a_compiled_forward() -> None:
    own, ours = LLAMA.pair()
    ours.forward = torch.compile(ours.forward, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(torch.tensor(losses(ours)), torch.tensor(losses(own)), rtol=1e-4, atol=0)


@torch.inference_mode()
def test_decoding_by_a_compiled_forward() -> None:
    """Masks are made outside of it, and come in as they are."""
    own, ours = LLAMA.pair()
    given = batch()
    wanted = generated(own, given)
    ours.forward = torch.compile(ours.forward, fullgraph=True, backend="aot_eager")
    assert torch.equal(wanted, generated(ours, given, cache_implementation="static"))


@pytest.mark.matrix
@torch.inference_mode()
def test_inductor() -> None:
    own, ours = LLAMA.pair()
    compiled: Any = torch.compile(ours, fullgraph=True)
    given = batch()
    assert difference(own(**given).logits, compiled(**given).logits, given["attention_mask"]) < ROUNDING


@torch.inference_mode()
def test_two_specs_that_nobody_has_compiled_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """As those of Gemma 2, whose layers have a window in turn: both are compiled while one graph is traced."""
    given: Any = dict.fromkeys("qkv", torch.ones(1, 1, 2, 4)) | {"since": torch.zeros(1, 2, dtype=torch.int32)}

    def layers() -> torch.Tensor:
        plain: torch.Tensor = spec.op_of("since")(**given)
        capped: torch.Tensor = spec.op_of("since", "cap")(**given, cap=2.0)
        return plain + capped

    monkeypatch.setattr(spec, "_Ops", type("_Ops", (), {}))
    torch.compiler.reset()
    found = torch.compile(layers, fullgraph=True, backend="eager")()
    assert torch.equal(found, layers())


PACKED = torch.tensor([[0, 1, 2, 0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 0, 1, 0, 1], [*range(9)]])


def packed(function: Any) -> Any:
    """A mask within packed sequences, of positions as `PACKED`."""
    numbers = masking_utils.find_packed_sequence_indices(PACKED)
    assert numbers is not None
    return masking_utils.packed_sequence_compatibility_function(function, PACKED, numbers)


PADDING = torch.tensor([0, 3, 5])

MADE = {
    "window": lambda: masking_utils.sliding_window_causal_mask_function(4),
    "window_of_both_sides": lambda: masking_utils.sliding_window_bidirectional_mask_function(3),
    "chunks": lambda: masking_utils.chunked_causal_mask_function(4, PADDING),
    "two_windows": lambda: masking_utils.and_masks(
        masking_utils.sliding_window_causal_mask_function(2), masking_utils.sliding_window_causal_mask_function(5)
    ),
    "packed": lambda: packed(masking_utils.causal_mask_function),
    "packed_window": lambda: packed(masking_utils.sliding_window_causal_mask_function(3)),
}

DENSE = {
    "either": lambda: masking_utils.or_masks(masking_utils.sliding_window_causal_mask_function(2), strided),
    "both": lambda: masking_utils.and_masks(masking_utils.sliding_window_causal_mask_function(5), strided),
    "packed_chunks": lambda: packed(masking_utils.chunked_causal_mask_function(4, PADDING)),
}


def strided(batch_idx: Any, head_idx: Any, q_idx: Any, kv_idx: Any) -> Any:
    """A mask of a user's."""
    return (q_idx - kv_idx) % 2 == 0


@pytest.mark.parametrize("name", [*MADE, *DENSE])
def test_masks_that_are_made_within_a_graph(name: str) -> None:
    """They are intervals where they are outside of it, and say the same as transformers' own."""
    make: Any = {**MADE, **DENSE}[name]
    queries = 9 if "packed" in name else 6
    torch.compiler.reset()

    def made(mask: Any) -> Any:
        named = {"mask_function": make(), "allow_is_causal_skip": False, "device": "cpu"}
        return mask(batch_size=3, q_length=queries, kv_length=9, q_offset=9 - queries, kv_offset=0, **named)

    ours = torch.compile(lambda: made(masks.model_mask), fullgraph=True, backend="eager")()
    assert isinstance(ours, masks.KeyRows) == (name in MADE) == isinstance(made(masks.model_mask), masks.KeyRows)
    assert torch.equal(torch.as_tensor(ours[:]), made(masking_utils.sdpa_mask).expand(3, -1, -1, -1))


@pytest.mark.matrix
@torch.inference_mode()
def test_other_attention_is_traced_as_before() -> None:
    """What says in a graph what masks are made of is for attention of its own, too."""
    register()
    torch.compiler.reset()
    model = MISTRAL.make("sdpa")
    compiled: Any = torch.compile(model, fullgraph=True, backend="aot_eager")
    given = batch()
    assert difference(model(**given).logits, compiled(**given).logits, given["attention_mask"]) < ROUNDING
