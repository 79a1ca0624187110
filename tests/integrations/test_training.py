"""Training through compiled attention: the losses of a model with its own."""

from __future__ import annotations

import pytest
import torch

from tests.integrations.tiny import ENCODER_DECODER, GPT_OSS, LLAMA, Tiny, batch


@pytest.mark.parametrize("tiny", [LLAMA, GPT_OSS, ENCODER_DECODER], ids=lambda tiny: tiny.model)
def test_losses(tiny: Tiny) -> None:
    """Five steps; of T5 the biases by distance learn, of gpt-oss the sinks."""
    own, ours = (losses(model) for model in tiny.pair())
    assert own[0] - own[-1] > 0.01
    torch.testing.assert_close(torch.tensor(ours), torch.tensor(own), rtol=1e-4, atol=0)


def test_checkpoints() -> None:
    """What is computed again in the backward is computed with the same masks."""
    own, ours = LLAMA.pair()
    ours.activation_checkpointing_enable()
    torch.testing.assert_close(torch.tensor(losses(ours)), torch.tensor(losses(own)), rtol=1e-4, atol=0)


def losses(model: torch.nn.Module) -> list[float]:
    given, found = batch("right"), []
    labels = given["input_ids"].masked_fill(given["attention_mask"] == 0, -100)
    optimizer = torch.optim.SGD(model.train().parameters(), 0.02)
    for _ in range(5):
        loss = model(**given, labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found
