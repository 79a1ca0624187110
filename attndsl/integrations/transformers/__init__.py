"""attndsl as the attention of models of transformers.

    from attndsl.integrations.transformers import register

    register()
    model = AutoModelForCausalLM.from_pretrained(…, attn_implementation="attndsl")

Neither torch nor transformers is imported before `register` is called.
"""

from __future__ import annotations

from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attndsl.integrations.transformers.errors import ModelError, NotForModels, NotInstalled, OldTransformers

if TYPE_CHECKING:
    from attndsl.op.op import Op

__all__ = ["ModelError", "register"]


def register(spec: str | Path | Op | None = None, name: str = "attndsl", *, mask: str = "", **fixed: Any) -> None:
    """Makes `attn_implementation="attndsl"` work: models have their attention computed by compiled specs from then on.

    Without a `spec` it is composed of what a layer asks for, and of a `mask`, a condition that keys must meet besides,
    `"far < 64 or h % 2 == 0"`, where `far` is how far it lies back. With one, of a file, of the gallery or an operator,
    that computes every layer, and takes besides what `fixed` says for all of them. Models find it by `name`. Raises
    ImportError where transformers is not installed or too old, SpecError for a mask that is none, ModelError for a spec
    that no model can use.
    """
    _require_transformers()
    _require_texts(spec, mask)
    from transformers import AttentionInterface, AttentionMaskInterface

    from attndsl.integrations.transformers.attention import attention, composed
    from attndsl.integrations.transformers.masks import model_mask
    from attndsl.integrations.transformers.models import watch
    from attndsl.integrations.transformers.own import OwnSpec
    from attndsl.integrations.transformers.spec import measures, op_of
    from attndsl.op.op import Op, load

    if spec is None:
        if mask:
            op_of("since", mask=mask)  # its mistakes are told of here
        if fixed:
            raise NotForModels("the composed spec", f"it takes no `{next(iter(fixed))}`")
        attend = attention(composed(mask), start=measures(mask))
    else:
        op = spec if isinstance(spec, Op) else load(spec)
        if mask:
            raise NotForModels(op.__name__, "a `mask` is for the composed spec, and this one has its own")
        own = OwnSpec(op, fixed)
        attend = attention(own, own.starts, op.__name__ if own.measures and not own.starts else "")
    watch(name, attend, composed=spec is None)
    AttentionInterface.register(name, attend)
    AttentionMaskInterface.register(name, model_mask)


def _require_texts(spec: object, mask: object) -> None:
    """Raises NotForModels for a mask that is no text, and for a spec that is no file, name or operator."""
    from attndsl.op.op import Op

    if not isinstance(mask, str):
        raise NotForModels(_said(mask), 'a mask is a condition as text, mask="far < 64"')
    if not (spec is None or isinstance(spec, str | Path | Op)):
        why = "a spec is a file, a name of the gallery or an operator; what it holds is given by name, slope=…"
        raise NotForModels(_said(spec), why)


def _said(what: object) -> str:
    return f"what is of type {type(what).__name__}"


def _require_transformers() -> None:
    """Raises NotInstalled or OldTransformers."""
    from attndsl.packages import pip_install

    for package in ("torch", "transformers"):
        try:
            import_module(package)
        except ModuleNotFoundError:
            raise NotInstalled(package, pip_install("torch", "transformers")) from None
    try:
        known = "q_offset" in signature(import_module("transformers.masking_utils").sdpa_mask).parameters
    except ModuleNotFoundError:
        known = False
    if not known:
        raise OldTransformers(import_module("transformers").__version__, pip_install("transformers"))
