"""DeepSeek V3 on the latents of its cache."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from attndsl.integrations.transformers import attention, latents
from tests.integrations.test_models import ROUNDING, generated
from tests.integrations.tiny import DECODERS, batch, difference

DEEPSEEK = DECODERS["deepseek_v3"]


@pytest.fixture
def absorbed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of queries of the calls that were computed on latents."""
    calls: list[int] = []

    def counted(key: Any, query: torch.Tensor, *given: Any) -> torch.Tensor:
        calls.append(query.shape[2])
        return latents.absorbed(key, query, *given)

    monkeypatch.setattr(attention, "absorbed", counted)
    return calls


@torch.inference_mode()
def test_decoding(absorbed: list[int]) -> None:
    own, ours = DEEPSEEK.pair()
    given = batch()
    tokens = generated(ours, given)
    assert torch.equal(generated(own, given), tokens)
    new = tokens.shape[1] - given["input_ids"].shape[1]
    assert absorbed == [9, 9] + [1, 1] * (new - 1)  # of two layers


@torch.inference_mode()
def test_many_queries(absorbed: list[int]) -> None:
    """For which latents are expanded."""
    own, ours = DEEPSEEK.pair()
    given = {"input_ids": torch.randint(3, 64, (2, 30), generator=torch.Generator().manual_seed(0))}
    assert difference(own(**given).logits, ours(**given).logits) < ROUNDING
    assert not absorbed


@pytest.mark.matrix
def test_training(absorbed: list[int]) -> None:
    own, ours = DEEPSEEK.pair()
    given = batch()
    for model in (own, ours):
        model(**given).logits[given["attention_mask"].bool()].square().sum().backward()
    for one, other in zip(own.parameters(), ours.parameters(), strict=True):
        assert (one.grad is None) == (other.grad is None)
        if one.grad is not None and other.grad is not None:
            assert difference(one.grad, other.grad) < 1e-4
    assert not absorbed


@torch.inference_mode()
def test_weights_that_are_more_than_weights(absorbed: list[int]) -> None:
    own, ours = DEEPSEEK.pair()
    given = batch()
    for model in (own, ours):
        for layer in model.model.layers:
            layer.self_attn.kv_b_proj.register_forward_hook(lambda _, __, found: 1.5 * found)
    assert difference(own(**given).logits, ours(**given).logits, given["attention_mask"]) < ROUNDING
    assert not absorbed


@torch.no_grad()
def test_who_looks_into_them_finds_keys() -> None:
    _, ours = DEEPSEEK.pair()
    layer = ours.model.layers[0].self_attn
    latent, rotated = torch.randn(2, 1, 5, layer.kv_lora_rank), torch.randn(2, 1, 5, layer.qk_rope_head_dim)
    found = layer.expand_kv(latent, rotated)
    wanted = type(layer).expand_kv.__wrapped__(layer, latent, rotated)
    for one, other in zip(found, wanted, strict=True):
        assert isinstance(one, latents.Latents) and one.shape == other.shape
        assert torch.equal(one + 0.0, other) and torch.equal(one.transpose(1, 2)[:, 1:], other.transpose(1, 2)[:, 1:])


def test_what_expands_them_otherwise_is_left_alone() -> None:
    _, ours = DEEPSEEK.pair()
    own: Any = type(ours.model.layers[0].self_attn).expand_kv.__wrapped__

    def scaled(layer: Any, latent: torch.Tensor, rotated: torch.Tensor) -> Any:
        key, value = own(layer, latent, rotated)
        return key, 2 * value

    def swapped(layer: Any, latent: torch.Tensor, rotated: torch.Tensor) -> Any:
        key, value = own(layer, latent, rotated)
        return key.roll(1, -1), value

    def of_more(layer: Any, latent: torch.Tensor, rotated: torch.Tensor) -> Any:
        return own(layer, layer.norm(latent), rotated)

    assert latents._is_known(own)
    assert not any(map(latents._is_known, (scaled, swapped, of_more)))
