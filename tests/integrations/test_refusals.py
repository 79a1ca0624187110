"""What is not done is refused in words that say what to do."""

from __future__ import annotations

import pickle
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from attndsl.integrations.transformers import attention, errors, register
from attndsl.integrations.transformers.errors import DropoutWanted
from attndsl.packages import pip_install
from tests.integrations.tiny import DECODERS, LAYERS, LLAMA, Tiny, batch

IMPORTED = """
import sys
import attndsl, attndsl.integrations.transformers
assert not {"torch", "transformers"} & {*sys.modules}
sys.modules["transformers"] = None
attndsl.integrations.transformers.register()
"""


def test_nothing_is_imported_before_it_is_asked_for() -> None:
    """And where there is no transformers, that is said then."""
    run = subprocess.run([sys.executable, "-c", IMPORTED], capture_output=True, text=True, check=False)
    said = f"NotInstalled: transformers is not installed: {pip_install('torch', 'transformers')}"
    assert run.stderr.splitlines()[-1].endswith(said)


def test_versions_whose_masks_are_made_in_another_way(monkeypatch: pytest.MonkeyPatch) -> None:
    old = SimpleNamespace(__version__="4.53.0"), SimpleNamespace(sdpa_mask=lambda batch_size, cache_position: None)
    monkeypatch.setitem(sys.modules, "transformers", old[0])
    monkeypatch.setitem(sys.modules, "transformers.masking_utils", old[1])
    with pytest.raises(
        errors.OldTransformers, match=r"transformers 4\.53\.0 makes its masks in another way.*pip install"
    ):
        register()


@pytest.mark.parametrize(
    ("model", "config", "settings"),
    [
        ("BloomForCausalLM", "BloomConfig", {"hidden_size": 32, "n_layer": 1, "n_head": 4}),
        ("MptForCausalLM", "MptConfig", {"d_model": 32, "n_layers": 1, "n_heads": 4}),
        ("GPTJForCausalLM", "GPTJConfig", {"n_embd": 32, "n_layer": 1, "n_head": 4, "rotary_dim": 4}),
    ],
)
def test_models_that_compute_attention_by_themselves(model: str, config: str, settings: dict[str, Any]) -> None:
    register()
    with pytest.raises(errors.NoInterface, match=f'^{model} computes its attention by itself.*load it with "eager"'):
        Tiny(model, config, {"vocab_size": 64, **settings}).make("attndsl")


def test_dropout() -> None:
    _, ours = Tiny("BertModel", "BertConfig", LAYERS).pair()
    with pytest.raises(errors.DropoutWanted, match=r"BertSelfAttention drops attention weights with a rate of 0\.1"):
        ours.train()(**batch("right"))


def test_weights() -> None:
    _, ours = LLAMA.pair()
    with pytest.raises(errors.WeightsWanted, match="LlamaAttention is asked for its attention weights"):
        ours(**batch(), output_attentions=True)
    with pytest.raises(ValueError, match="output_attentions"):
        ours.config.output_attentions = True


def called(**given: Any) -> None:
    """A layer by itself."""
    q, k, v = torch.randn(3, 1, 2, 4, 8).unbind()
    attention.attention(attention.composed())(torch.nn.Identity(), q, k, v, **{"attention_mask": None, **given})


def test_paged_caches() -> None:
    """Of another transformers, and of a model that says nothing of them to its layers."""
    with pytest.raises(errors.PagesWanted, match="continuous batching"):
        called(cache=object())
    _, falcon = DECODERS["falcon"].pair()
    with pytest.raises(errors.PagesWanted, match="FalconForCausalLM"):
        falcon.generate_batch([[3, 4]])


@pytest.mark.parametrize(
    ("mask", "said"),
    [
        (torch.ones(1, 4, dtype=torch.bool), r"a mask that is of torch\.bool, of shape \(1, 4\)"),
        (torch.ones(1, 1, 4, 4, dtype=torch.int64), r"a mask that is of torch\.int64, of shape \(1, 1, 4, 4\)"),
        ("blocks", "a mask that is of type str"),
    ],
)
def test_masks_of_other_kinds(mask: Any, said: str) -> None:
    with pytest.raises(errors.UnknownMask, match=f"Identity has {said}"):
        called(attention_mask=mask)


def test_an_error_goes_to_another_process_whole() -> None:
    told = DropoutWanted("Layer", 0.1)
    assert str(pickle.loads(pickle.dumps(told))) == str(told)
