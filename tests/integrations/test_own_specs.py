"""A spec of the user's in a model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

import attndsl
import attndsl.nn
from attndsl.integrations.transformers import errors, register
from attndsl.integrations.transformers.attention import attention, composed
from attndsl.integrations.transformers.own import OwnSpec
from tests.integrations.tiny import GPT_OSS, HEADS, LLAMA, MISTRAL, Tiny, batch, difference

SPEC = """
attention mine({params}) {{
    dims B, Hq, Hkv, M, N, D
    types T

    input  q     : T[B, Hq,  M, D]
    input  k     : T[B, Hkv, N, D]
    input  v     : T[B, Hkv, N, D]
    {inputs}
    output o     : T[B, Hq,  M, D]

    require Hq % Hkv == 0

    each b in B, h in Hq, i in M
    over j in N

    let g = h / (Hq / Hkv)

    score = q[b,h,i,:] . k[b,g,j,:] / sqrt(D)
    mask  = {mask}

    o[b,h,i,:] = softmax(score, mask) . v[b,g,j,:]
}}
"""
SCALED = Tiny("GraniteForCausalLM", "GraniteConfig", {**HEADS, "attention_multiplier": 0.5})
SUNK = replace(GPT_OSS, settings={**GPT_OSS.settings, "layer_types": ["full_attention"] * 2})
SINCE = "input since : i32[B, N]"


def mine(mask: str = "since[b,j] <= i", inputs: str = SINCE, params: str = "") -> Any:
    text = SPEC.format(mask=mask, inputs=inputs, params=params)
    return attndsl.compile(text.replace("mine()", "mine"))


@torch.inference_mode()
def test_a_mask_of_ones_own(tmp_path: Path) -> None:
    """A Llama with a window is a Mistral; heads may come before rows, as in the gallery."""
    path = tmp_path / "window.attn"
    path.write_text(mine("since[b,j] <= i < since[b,j] + window", params="window: int").spec.text)
    register(path, "window", window=4)
    given = batch()
    wanted = MISTRAL.make("sdpa")(**given).logits
    assert difference(wanted, LLAMA.make("window")(**given).logits, given["attention_mask"]) < 1e-5
    assert difference(wanted, LLAMA.make("sdpa")(**given).logits, given["attention_mask"]) > 0.01


@torch.inference_mode()
def test_a_mask_is_enough() -> None:
    """It joins whatever a layer has: padding, holes, caches; and windows, sinks and caps of models that have them."""
    register(name="short", mask="far < 4")
    given = batch()
    wanted = MISTRAL.make("sdpa")(**given).logits
    assert difference(wanted, LLAMA.make("short")(**given).logits, given["attention_mask"]) < 1e-5
    few = {"max_new_tokens": 6, "do_sample": False, "pad_token_id": 0}
    tokens = [LLAMA.make("short").generate(**given, **few, cache_implementation=kind) for kind in ("static", None)]
    assert torch.equal(*tokens) and torch.equal(tokens[0], MISTRAL.make("sdpa").generate(**given, **few))
    register(name="all", mask="true")
    wanted = GPT_OSS.make("eager")(**given).logits
    assert difference(wanted, GPT_OSS.make("all")(**given).logits, given["attention_mask"]) < 1e-5


def test_masks_that_are_none() -> None:
    with pytest.raises(
        attndsl.SpecError, match=r"mask  = since\[b,j\] <= i and \(fra < 4\)\n(.|\n)*did you mean `far`"
    ):
        register(name="wrong", mask="fra < 4")
    with pytest.raises(
        errors.NotForModels, match="the composed spec cannot be the attention of a model: it takes no `step`"
    ):
        register(name="wrong", mask="far < 4", step=2)
    with pytest.raises(errors.NotForModels, match="this one has its own"):
        register(mine(), name="wrong", mask="far < 4")
    unlike: Any = lambda b, h, i, j: j <= i  # noqa: E731
    with pytest.raises(errors.NotForModels, match=r"of type function cannot be .*: a mask is a condition as text"):
        register(name="wrong", mask=unlike)
    module: Any = attndsl.nn.Attention("alibi", slope=torch.ones(4))
    with pytest.raises(errors.NotForModels, match=r"of type Attention cannot be .* is given by name"):
        register(module, "wrong")
    q = torch.zeros(1, 4, 3, 8)
    with pytest.raises(errors.DistanceUnknown, match="`far < 4` has nothing to add to"):
        attention(composed("far < 4"))(torch.nn.Identity(), q, q, q, None, is_causal=False)


def test_places_are_no_distances_in_a_cache() -> None:
    """Queries and keys are counted from the first of a call: with a cache that is not the same token."""
    register(name="places", mask="i - j < 4")
    register(name="far", mask="far < 4")
    given = batch()
    wanted = LLAMA.make("far")(**given).logits
    assert difference(wanted, LLAMA.make("places")(**given).logits, given["attention_mask"]) < 1e-5
    with pytest.raises(errors.PlacesDiffer, match=r"has 1 queries and \d+ keys, as with a cache.* `i - j < 4`.* `far`"):
        LLAMA.make("places").generate(**given, max_new_tokens=3, do_sample=False)


def test_distances_in_a_paged_cache() -> None:
    """Where the keys of a cache lie is not told by the first query that sees them."""
    assert not OwnSpec(mine("since[b,j] <= i and h < 2"), {}).measures
    assert OwnSpec(mine("since[b,j] <= i < since[b,j] + 3"), {}).measures
    assert OwnSpec(mine("since[b,j] <= i and (i - since[b,j]) % 2 == 0"), {}).measures
    register(mine("since[b,j] <= i < since[b,j] + 3"), "far")
    q = torch.zeros(1, 4, 3, 8)
    attend = transformers.AttentionInterface()["far"]
    with pytest.raises(errors.StartLacks, match="mine computes how far keys lie back, and Identity has"):
        attend(torch.nn.Identity(), q, q, q, None, cache=object())


def test_a_mask_without_distances() -> None:
    q, k, v = torch.randn(3, 1, 4, 3, 8)
    found, _ = attention(composed("i == j"))(torch.nn.Identity(), q, k, v, None, is_causal=False)
    torch.testing.assert_close(found, v.transpose(1, 2))


def test_what_lies_so_is_copied_nowhere() -> None:
    """Heads before rows in memory of rows before heads, as models take them."""
    spec = mine().spec.text.replace("require", "schedule { layout = q }\n require")
    compute = OwnSpec(attndsl.compile(spec), {})
    q, k, v = (torch.randn(2, 5, heads, 8).transpose(1, 2) for heads in (4, 2, 2))
    assert compute(torch.nn.Identity(), {"q": q, "k": k, "v": v}).is_contiguous()


@torch.inference_mode()
def test_windows_of_the_model() -> None:
    register(mine("since[b,j] <= i < until[b,j]", SINCE + "\n input until : i32[B, N]"), "mine")
    given = batch()
    for model in (MISTRAL, LLAMA):
        wanted = model.make("sdpa")(**given).logits
        assert difference(wanted, model.make("mine")(**given).logits, given["attention_mask"]) < 1e-5


@torch.inference_mode()
def test_a_model_without_a_mask() -> None:
    """`since` is given all the same, and lets all be seen."""
    register(mine(), "mine")
    own, ours = (LLAMA.make(name) for name in ("sdpa", "mine"))
    ids = batch("no")["input_ids"][:, :1]
    assert difference(own(ids).logits, ours(ids).logits) < 1e-5


def test_dropout_of_its_own() -> None:
    """Weights are dropped where a spec drops them, by other numbers at each call; not while a model is evaluated."""
    text = mine(inputs=SINCE + "\n input seed : i64[]", params="dropout: f32").spec.text
    place = "((b * Hq + h) * M + i) * N + j"
    kept = f"(if random(seed[], {place}) < dropout then 0.0 else 1.0 / (1.0 - dropout))"
    register(attndsl.compile(text.replace(". v[b,g,j,:]", f". ({kept} * v[b,g,j,:])")), "mine")
    given = batch()
    ours, own = LLAMA.make("mine", attention_dropout=0.5), LLAMA.make("sdpa")
    assert difference(own(**given).logits, ours(**given).logits, given["attention_mask"]) < 1e-5
    ours.train()
    assert difference(ours(**given).logits, ours(**given).logits, given["attention_mask"]) > 0.01


@pytest.mark.parametrize(
    ("spec", "fixed", "said"),
    [
        (attndsl.load("gqa"), {}, "gqa cannot be the attention of a model: it has no input `since"),
        (attndsl.load("fused_qkv"), {}, "a model gives it `q`, of a batch"),
        (mine(inputs=SINCE + "\n input x : T[N]", mask="since[b,j] <= i and x[j] > 0.0"), {}, "no model gives it `x`"),
        (mine(), {"window": 3}, "it takes no `window`"),
        (mine(), {"since": 3}, "it takes no `since` but what a model gives it"),
    ],
)
def test_specs_that_no_model_can_use(spec: Any, fixed: dict[str, Any], said: str) -> None:
    with pytest.raises(errors.NotForModels) as error:
        register(spec, "mine", **fixed)
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (MISTRAL, r"keys that later queries see no more.* `input until : i32\[B, N\]` .* let `i < until\[b,j\]` be"),
        (SCALED, r"a scale of scores that is not 1 / sqrt\(D\).* declare `scale: f32` in it"),
        (SUNK, r"sinks, which mine does not take: declare `input sink : S\[B\?, Hq, M\?\]` in it"),
    ],
    ids=lambda value: getattr(value, "model", ""),
)
def test_what_a_model_has_and_the_spec_has_not(model: Any, said: str) -> None:
    register(mine(), "mine")
    with pytest.raises(errors.SpecLacks, match=said):
        model.make("mine")(**batch())
