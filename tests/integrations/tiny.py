"""Models of transformers as small as they can be, with random weights that make attention matter; no network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
import transformers

from attndsl.integrations.transformers import register

TOKENS = {"vocab_size": 64, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
LAYERS = {
    **TOKENS,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 64,
}
HEADS = {**LAYERS, "num_key_value_heads": 2, "head_dim": 8}
EXPERTS = {"num_local_experts": 4, "num_experts_per_tok": 2}
LATENT = {"q_lora_rank": 16, "kv_lora_rank": 16, "qk_rope_head_dim": 4, "qk_nope_head_dim": 8, "v_head_dim": 6}
ROUTED = {"n_routed_experts": 4, "n_group": 2, "topk_group": 1, "moe_intermediate_size": 16, "first_k_dense_replace": 1}
T5 = {**TOKENS, "d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4, "decoder_start_token_id": 0}


@dataclass(frozen=True)
class Tiny:
    """An architecture, by the name of its model, with the attention of its own that it is held to."""

    model: str
    config: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    own: str = "sdpa"

    def make(self, attention: str, seed: int = 0, **more: Any) -> Any:
        """A model of this architecture; equal seeds have equal weights, whatever the attention."""
        config = getattr(transformers, self.config)(**{**self.settings, **more})
        with torch.random.fork_rng(), torch.no_grad():
            torch.manual_seed(seed)
            model = getattr(transformers, self.model)._from_config(config, attn_implementation=attention).eval()
            for weight in model.parameters():
                if weight.ndim > 1 or not weight.any():
                    weight.normal_(0, 0.3)
        return model

    def pair(self, **more: Any) -> tuple[Any, Any]:
        """The model with its own attention, and with ours."""
        register()
        return self.make(self.own, **more), self.make("attndsl", **more)


LLAMA = Tiny("LlamaForCausalLM", "LlamaConfig", HEADS)
GPT_OSS = Tiny("GptOssForCausalLM", "GptOssConfig", {**HEADS, **EXPERTS, "sliding_window": 4}, own="eager")
MISTRAL = Tiny("MistralForCausalLM", "MistralConfig", {**HEADS, "sliding_window": 4})
CAPPED = {"attn_logit_softcapping": 2.0, "query_pre_attn_scalar": 5, "sliding_window": 4}
ENCODER_DECODER = Tiny("T5ForConditionalGeneration", "T5Config", {**T5, "dropout_rate": 0.0})

DECODERS = {
    "llama": LLAMA,
    "mistral": MISTRAL,
    "qwen3": Tiny("Qwen3ForCausalLM", "Qwen3Config", HEADS),
    "gemma2": Tiny("Gemma2ForCausalLM", "Gemma2Config", {**HEADS, **CAPPED}, own="eager"),
    "gemma3": Tiny(
        "Gemma3ForCausalLM",
        "Gemma3TextConfig",
        {**HEADS, "sliding_window": 4, "layer_types": ["sliding_attention", "full_attention"]},
    ),
    "gpt_oss": GPT_OSS,
    "deepseek_v3": Tiny(
        "DeepseekV3ForCausalLM",
        "DeepseekV3Config",
        {**LAYERS, "num_key_value_heads": 4, **LATENT, **ROUTED, "num_experts_per_tok": 2},
    ),
    "falcon": Tiny("FalconForCausalLM", "FalconConfig", LAYERS),
    "falcon_alibi": Tiny("FalconForCausalLM", "FalconConfig", {**LAYERS, "alibi": True}),
    "llama4": Tiny(
        "Llama4ForCausalLM",
        "Llama4TextConfig",
        {**HEADS, "attention_chunk_size": 4, "num_local_experts": 2, "intermediate_size_mlp": 32, "moe_layers": []},
    ),
}
ENCODERS = {
    "bert": Tiny("BertModel", "BertConfig", LAYERS),
    "modernbert": Tiny(
        "ModernBertModel",
        "ModernBertConfig",
        {**LAYERS, "num_hidden_layers": 4, "local_attention": 4, "cls_token_id": 1, "sep_token_id": 2},
    ),
}


def batch(padded: str = "left") -> dict[str, torch.Tensor]:
    """Three sentences, of which two are shorter: padded on the `left`, on the `right`, with `holes`, or in `no` way."""
    ids = torch.randint(3, 64, (3, 9), generator=torch.Generator().manual_seed(1))
    mask = torch.ones_like(ids)
    if padded == "left":
        mask[1, :3] = mask[2, :5] = 0
    elif padded == "right":
        mask[1, 6:] = mask[2, 4:] = 0
    elif padded == "holes":
        mask[1, 2:4] = mask[2, 5] = 0
    return {"input_ids": ids.masked_fill(mask == 0, 0), "attention_mask": mask}


def difference(one: torch.Tensor, other: torch.Tensor, mask: torch.Tensor | None = None) -> float:
    """The largest difference at places that are no padding, as a share of the largest number."""
    found = (one - other).abs()
    return ((found if mask is None else found[mask.bool()]).max() / one.abs().max()).item()
