"""Models under torch.compile: one graph, in which attention is one operator."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from attndsl.integrations.transformers import masks
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
def test_a_window_within_a_graph() -> None:
    own, ours = MISTRAL.pair()
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
