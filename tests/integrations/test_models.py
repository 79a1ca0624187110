"""Models with our attention beside the same models with their own."""

from __future__ import annotations

import pytest
import torch

from attndsl.integrations.transformers import masks, register
from attndsl.integrations.transformers.attention import attention, composed
from attndsl.integrations.transformers.masks import KeyRows
from tests.integrations.tiny import DECODERS, ENCODER_DECODER, ENCODERS, LLAMA, MISTRAL, Tiny, batch, difference

ROUNDING = 1e-5
"""What the order of sums in float32 explains in two layers, of logits."""


@pytest.mark.parametrize("name", DECODERS)
@torch.inference_mode()
def test_decoders(name: str) -> None:
    """Logits of padded batches, and the tokens of a batch whose sentences are padded on the left."""
    own, ours = DECODERS[name].pair()
    for padded in ("left", "right", "holes", "no"):
        given = batch(padded)
        assert difference(own(**given).logits, ours(**given).logits, given["attention_mask"]) < ROUNDING, padded
    given = batch()
    assert torch.equal(generated(own, given), generated(ours, given))


@pytest.mark.parametrize("name", [name for name in DECODERS if name != "falcon_alibi"])  # transformers' own fails
@torch.inference_mode()
def test_static_caches(name: str) -> None:
    """Keys beyond what is filled are there, and seen by nobody."""
    own, ours = DECODERS[name].pair()
    given = batch()
    assert torch.equal(generated(own, given), generated(ours, given, cache_implementation="static"))


@pytest.mark.parametrize("name", ENCODERS)
@torch.inference_mode()
def test_encoders(name: str) -> None:
    own, ours = ENCODERS[name].pair()
    for padded in ("right", "holes"):
        given = batch(padded)
        states = own(**given).last_hidden_state, ours(**given).last_hidden_state
        assert difference(*states, given["attention_mask"]) < ROUNDING


@torch.inference_mode()
def test_images() -> None:
    """A model that has no mask at all, and is not causal."""
    settings = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}
    own, ours = Tiny("ViTModel", "ViTConfig", {**settings, "image_size": 16, "patch_size": 4}).pair()
    pixels = torch.randn(2, 3, 16, 16, generator=torch.Generator().manual_seed(2))
    assert difference(own(pixels).last_hidden_state, ours(pixels).last_hidden_state) < ROUNDING


@torch.inference_mode()
def test_an_encoder_and_a_decoder() -> None:
    """Dense biases by position, and rows that see the keys of another sentence, of another length."""
    own, ours = ENCODER_DECODER.pair()
    given = batch("right")
    given["decoder_input_ids"] = given["input_ids"][:, :5].clamp(min=1)
    assert difference(own(**given).logits, ours(**given).logits) < ROUNDING
    del given["decoder_input_ids"]
    for more in ({}, {"cache_implementation": "static"}, {"num_beams": 2}):
        assert torch.equal(generated(own, given, **more), generated(ours, given, **more))


@torch.inference_mode()
def test_beams_and_assistants() -> None:
    """Caches that are reordered, and that are cut when what an assistant has guessed is not taken."""
    own, ours = LLAMA.pair()
    given = batch()
    assert torch.equal(generated(own, given, num_beams=3), generated(ours, given, num_beams=3))
    alone = {name: tensor[:1] for name, tensor in batch("no").items()}
    guesses = LLAMA.make("attndsl", seed=1)
    assert torch.equal(generated(own, alone), generated(ours, alone, assistant_model=guesses))


@pytest.mark.parametrize("tiny", [LLAMA, MISTRAL, DECODERS["llama4"]], ids=lambda tiny: tiny.model)
@torch.inference_mode()
def test_sentences_packed_into_one_row(tiny: Tiny) -> None:
    """Positions that begin anew begin a sentence, which sees none before it."""
    own, ours = tiny.pair()
    ids = batch("no")["input_ids"]
    positions = torch.tensor([[0, 1, 2, 0, 1, 2, 3, 4, 5], [*range(9)], [0, 0, 1, 2, 3, 4, 0, 1, 2]])
    logits = [model(ids, position_ids=positions, use_cache=False).logits for model in (own, ours)]
    assert difference(*logits) < ROUNDING


@torch.inference_mode()
def test_masks_of_the_caller() -> None:
    """Of 4 dimensions: truth values, or numbers that are added."""
    own, ours = LLAMA.pair()
    ids = batch("no")["input_ids"]
    seen = torch.rand(3, 1, 9, 9, generator=torch.Generator().manual_seed(3)) < 0.6
    seen = (seen | torch.eye(9, dtype=torch.bool)).tril()
    for mask in (seen, torch.where(seen, 0.0, -torch.inf), torch.where(seen, 0.5, torch.finfo(torch.float32).min)):
        assert difference(own(ids, attention_mask=mask).logits, ours(ids, attention_mask=mask).logits) < ROUNDING


@torch.inference_mode()
def test_half_precision() -> None:
    own, ours = (model.to(torch.bfloat16) for model in DECODERS["gemma2"].pair())
    given = batch()
    assert difference(own(**given).logits, ours(**given).logits, given["attention_mask"]) < 0.05


@torch.inference_mode()
def test_autocast() -> None:
    """Of DeepSeek, queries are joined of parts in both types, and keys are not."""
    own, ours = DECODERS["deepseek_v3"].pair()
    given = batch()
    with torch.autocast("cpu", torch.bfloat16):
        assert difference(own(**given).logits, ours(**given).logits, given["attention_mask"]) < 0.05


@torch.inference_mode()
def test_what_a_mask_does_not_say_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The differences above are small because masks are right: forget padding, or where a window ends."""
    given = batch()
    own, ours = MISTRAL.pair()
    expected = own(**given).logits
    with monkeypatch.context() as patch:
        patch.setattr(masks, "prepare_padding_mask", lambda *_: None)
        assert difference(expected, ours(**given).logits, given["attention_mask"]) > 0.01
    whole = KeyRows.of
    monkeypatch.setattr(KeyRows, "of", lambda since, until, *more: whole(since, None, *more))
    assert difference(expected, ours(**given).logits, given["attention_mask"]) > 0.01


def test_sinks_of_queries() -> None:
    """A score that stands behind the others of each query, as Inkling 2 has it."""
    random = torch.Generator().manual_seed(4)
    q, k, v = (torch.randn(2, heads, 5, 8, generator=random) for heads in (4, 2, 2))
    sinks = torch.randn(2, 4, 5, 1, generator=random)
    found, _ = attention(composed())(torch.nn.Identity(), q, k, v, None, is_causal=False, sinks=sinks)
    scores = q @ k.repeat_interleave(2, 1).mT / 8**0.5
    weights = torch.cat([scores, sinks], -1).softmax(-1)[..., :-1]
    torch.testing.assert_close(found, (weights @ v.repeat_interleave(2, 1)).transpose(1, 2))


def test_registering_again_changes_nothing() -> None:
    register()
    register()
    own, ours = LLAMA.pair()
    given = batch()
    with torch.inference_mode():
        assert difference(own(**given).logits, ours(**given).logits, given["attention_mask"]) < ROUNDING


def generated(model: torch.nn.Module, given: dict[str, torch.Tensor], **more: object) -> torch.Tensor:
    """The tokens that a model goes on with, each time the likeliest."""
    tokens: torch.Tensor = model.generate(**given, **more, max_new_tokens=8, do_sample=False, eos_token_id=None)  # type: ignore[operator]
    return tokens
