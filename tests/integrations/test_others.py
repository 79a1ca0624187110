"""Architectures that nothing was written for: their logits are those of their own attention, too."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import transformers
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    MODEL_FOR_MASKED_LM_MAPPING_NAMES,
    MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
)

from tests.integrations.test_models import ROUNDING
from tests.integrations.tiny import Tiny, batch, difference

ARCHITECTURES = {
    "decoder": """
        afmoe apertus arcee bitnet cohere cohere2 deepseek_v2 deepseek_v32 diffllama doge ernie4_5 exaone4 gemma glm
        glm4 glm4_moe gpt2 gpt_neox granite helium inkling2_text jetmoe minicpm3 minimax ministral mixtral nanochat
        nemotron olmo olmo2 olmo3 opt persimmon phi phi3 phimoe qwen2 qwen2_moe qwen3_moe qwen3_next seed_oss smollm3
        stablelm starcoder2 vaultgemma
    """,
    "encoder": "albert camembert distilbert electra ernie esm eurobert mobilebert nomic_bert roberta xlm-roberta",
    "both": "bart blenderbot longt5 m2m_100 marian mbart mt5 pegasus plbart seamless_m4t switch_transformers umt5",
}

SETTINGS: dict[str, Any] = {
    **dict.fromkeys(("hidden_size", "n_embd", "d_model", "word_embed_proj_dim", "embedding_size"), 32),
    **dict.fromkeys(("intermediate_size", "ffn_dim", "d_ff", "encoder_ffn_dim", "decoder_ffn_dim"), 48),
    **dict.fromkeys(("num_hidden_layers", "n_layer", "n_layers", "num_layers", "num_decoder_layers"), 2),
    **dict.fromkeys(("encoder_layers", "decoder_layers"), 2),
    **dict.fromkeys(("num_attention_heads", "num_key_value_heads", "n_head", "n_heads", "num_heads"), 4),
    **dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads"), 4),
    **dict.fromkeys(("num_experts", "num_local_experts", "n_routed_experts"), 4),
    **dict.fromkeys(("q_lora_rank", "kv_lora_rank", "moe_intermediate_size", "shared_expert_intermediate_size"), 16),
    **dict.fromkeys(("head_dim", "d_kv", "qk_nope_head_dim", "v_head_dim"), 8),
    "vocab_size": 64,
    "max_position_embeddings": 64,
    "sliding_window": 4,
    "qk_rope_head_dim": 4,
    "num_experts_per_tok": 2,
    "n_group": 1,
    "topk_group": 1,
    "rotary_dim": 4,
    "use_cache": False,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 0,
}
"""Small, by any of the names that architectures have for it."""


@pytest.mark.parametrize(("kind", "name"), [(kind, n) for kind, names in ARCHITECTURES.items() for n in names.split()])
@torch.inference_mode()
def test_logits(kind: str, name: str) -> None:
    models = {
        "decoder": MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
        "encoder": MODEL_FOR_MASKED_LM_MAPPING_NAMES,
        "both": MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
    }[kind]
    config = transformers.CONFIG_MAPPING[name]
    default = config()
    tiny = Tiny(models[name], config.__name__, {key: value for key, value in SETTINGS.items() if hasattr(default, key)})
    given = batch("right")
    mask = given["attention_mask"]
    if kind == "both":
        given["decoder_input_ids"] = given["input_ids"].clamp(min=1)
    try:
        own, ours = tiny.pair()
    except ValueError:  # it has no sdpa
        own, ours = tiny.make("eager"), tiny.make("attndsl")
    assert difference(own(**given).logits, ours(**given).logits, mask) < ROUNDING
