"""Models that do not ask transformers' AttentionInterface: Falcon is given a class of ours, the others are refused.

Import this only when transformers is in use.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any

import torch
from transformers import PreTrainedModel

from attndsl.integrations.transformers.errors import NoInterface, PagesWanted
from attndsl.integrations.transformers.latents import keep_latents

Attend = Callable[..., tuple[torch.Tensor, None]]

_registered: dict[str, Attend] = {}
"""What is registered with transformers, by the name that models ask for."""

_FALCON = "transformers.models.falcon.modeling_falcon"


_composed: set[str] = set()
"""Those of them whose specs are composed of what a layer asks for."""


def watch(name: str, attend: Attend, composed: bool) -> None:
    """Has models that are made with this attention looked at before they make their layers."""
    if not _registered:
        looking = _looking(PreTrainedModel.get_correct_attn_implementation)
        PreTrainedModel.get_correct_attn_implementation = looking  # type: ignore[method-assign]
        _let_batch_continuously()
    _registered[name] = attend
    (_composed.add if composed else _composed.discard)(name)


def _looking(choose: Callable[..., str]) -> Callable[..., str]:
    """The method of models that chooses their attention. Raises NoInterface where ours would not be asked."""

    @functools.wraps(choose)
    def chosen(model: PreTrainedModel, requested_attention: str | None, *given: Any, **named: Any) -> str:
        if requested_attention in _registered:
            if type(model).__module__ == _FALCON:
                _put_into_falcon(requested_attention, _registered[requested_attention])
            elif _computes_by_itself(type(model)):
                raise NoInterface(type(model).__name__, requested_attention)
            keep_latents(model, _composed)
        return choose(model, requested_attention, *given, **named)

    return chosen


def _let_batch_continuously() -> None:
    """Has continuous batching keep our attention: it knows those that read its cache by their names.

    Raises PagesWanted, when it begins, for models whose layers are told nothing of the cache.
    """
    from transformers.generation import continuous_batching

    manager = getattr(continuous_batching, "ContinuousBatchingManager", None)
    switch = getattr(manager, "switch_to_cb_friendly_attn", None)
    if manager is None or switch is None:  # of another version, whose caches are refused
        return

    @functools.wraps(switch)
    def switched(batching: Any, model: PreTrainedModel, *given: Any, **named: Any) -> None:
        if model.config._attn_implementation not in _registered:
            switch(batching, model, *given, **named)
        elif not model._supports_attention_backend:  # its layers are told nothing of the call
            raise PagesWanted(type(model).__name__)

    manager.switch_to_cb_friendly_attn = switched


def _computes_by_itself(model: type[PreTrainedModel]) -> bool:
    """Whether a model has attention that asks no interface; false where its source is nowhere to be read."""
    try:
        inspect.getsource(sys.modules[model.__module__])
    except (KeyError, OSError, TypeError):
        return False
    return not model._can_set_attn_implementation()


def _put_into_falcon(name: str, attend: Attend) -> None:
    """Falcon looks the class of its layers up by the name of the attention: there is one of this name, then."""
    from transformers.models.falcon import modeling_falcon

    class FalconCompiled(modeling_falcon.FalconAttention):
        """Falcon's attention up to the scores; the rest is computed as that of other models is."""

        def forward(  # type: ignore[override]  # it is called by names
            self,
            hidden_states: torch.Tensor,
            alibi: torch.Tensor | None,
            attention_mask: torch.Tensor,
            layer_past: Any = None,
            output_attentions: bool = False,
            position_embeddings: Any = None,
            **_: Any,
        ) -> tuple[torch.Tensor, None]:
            """hidden_states [B, M, C] -> [B, M, C]; with `alibi` the mask is one of floats, which has it already."""
            split = self._split_heads(self.query_key_value(hidden_states))
            query, key, value = (part.transpose(1, 2) for part in split)
            if alibi is None:
                query, key = modeling_falcon.apply_rotary_pos_emb(query, key, *position_embeddings)
            if layer_past is not None:
                key, value = layer_past.update(key, value, self.layer_idx)
            dropout = self.attention_dropout.p if self.training and alibi is not None else 0.0  # as Falcon's own
            heads, weights = attend(
                self, query, key, value, attention_mask, dropout, output_attentions=output_attentions
            )
            return self.dense(heads.flatten(2)), weights

    modeling_falcon.FALCON_ATTENTION_CLASSES[name] = FalconCompiled
