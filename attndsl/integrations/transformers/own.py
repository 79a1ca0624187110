"""A spec of the user's as the attention of a model. Import this only when transformers is in use."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch

from attndsl.checking.typed import Apply, Read, operands, walk
from attndsl.driver.library import checked
from attndsl.integrations.transformers import errors
from attndsl.integrations.transformers.masks import NEVER
from attndsl.integrations.transformers.spec import MASKS, TERMS
from attndsl.op.op import Op

GIVEN = ("q", "k", "v", "scale", *TERMS, "dropout", "seed")
"""What a layer gives to a spec, as far as this has it."""

COMPARED = ("ilt", "ile", "ieq", "ine")
"""The operators that compare ints."""

_WHAT = {
    "scale": "a scale of scores that is not 1 / sqrt(D)",
    "until": "keys that later queries see no more, as those of a window or of another request",
    "start": "keys of several requests side by side",
    "seen": "a mask that is no interval of queries for each key",
    "bias": "a bias of scores",
    "sink": "sinks",
    "cap": "softcapped scores",
    "dropout": "dropout in training",
}


class OwnSpec:
    """Computes layers by a spec of the user's, and what is `fixed` for all of them.

    Raises NotForModels where a model cannot give what it takes, or would not be given what it needs.
    """

    def __init__(self, op: Op, fixed: Mapping[str, Any]) -> None:
        self._op, self._fixed, signature = op, dict(fixed), op.signature
        tensors = {tensor.name: tensor for tensor in signature.inputs}
        self._names = signature.names
        self._seeded = "seed" in tensors
        if (why := _unfit(op, fixed)) is not None:
            raise errors.NotForModels(op.__name__, why)
        (output,) = signature.outputs
        self.measures = _measures(op)
        """Whether it asks how far keys lie back: whether `since` is more to it than a bound."""
        self.starts = "start" in tensors
        """Whether it takes the first query of a key's request."""
        self._heads_first = output.extents[1:3] == tensors["q"].extents[1:3]

    def __call__(self, module: torch.nn.Module, given: dict[str, Any]) -> torch.Tensor:
        """The outputs [B, M, Hq, E] of a layer. Raises SpecLacks for what it has and the spec has not."""
        query, key = given["q"], given["k"]
        keys = (key.shape[0], key.shape[2])
        if "scale" not in self._names and math.isclose(given.get("scale", 0.0), query.shape[-1] ** -0.5, rel_tol=1e-6):
            del given["scale"]
        for name in given:
            if name not in self._names:
                raise errors.SpecLacks(self._op.__name__, type(module).__name__, _WHAT[name], _declared(name))
        if "since" not in given:
            given["since"] = torch.zeros((), dtype=torch.int32, device=key.device).expand(keys)
        if "until" in self._names and "until" not in given:
            given["until"] = torch.full((), NEVER, dtype=torch.int32, device=key.device).expand(keys)
        if self.starts and "start" not in given:
            given["start"] = torch.zeros((), dtype=torch.int32, device=key.device).expand(keys)
        if "dropout" in self._names and "dropout" not in given:
            given["dropout"] = 0.0
        if self._seeded:
            given["seed"] = torch.randint(2**62, (), device=query.device)
        heads: torch.Tensor = self._op(**given, **self._fixed)
        return heads.transpose(1, 2) if self._heads_first else heads


def _unfit(op: Op, fixed: Mapping[str, Any]) -> str | None:
    """Why a spec cannot be the attention of a model; None where it can."""
    signature = op.signature
    tensors = {tensor.name: tensor for tensor in (*signature.inputs, *signature.outputs)}
    for name in ("q", "k", "v"):
        if name not in tensors or len(tensors[name].extents) != 4:
            return f"a model gives it `{name}`, of a batch, heads, rows and features, and it has no such input"
    if len(signature.outputs) != 1 or len(signature.outputs[0].extents) != 4:
        return "a model takes one output, of a batch, heads, rows and features"
    if "since" not in tensors:
        return (
            "it has no input `since : i32[B, N]`, the first query of a call that sees a key, without which it would "
            "see padding and what a cache has not been filled with yet: declare it, and let `mask = since[b,j] <= i`"
        )
    for name in fixed:
        if name not in signature.names or name in GIVEN:
            return f"it takes no `{name}` but what a model gives it" if name in GIVEN else f"it takes no `{name}`"
    for name in sorted(signature.needed - {*GIVEN, *fixed}):
        return f"no model gives it `{name}`, which it needs: give it to register() by that name"
    return None


def _measures(op: Op) -> bool:
    """Whether something is computed from `since`, and not only compared with it."""
    spec = checked(op.spec, *op.binding.left_out)
    values = [each for block in spec.blocks for write in block.writes for each in (write.value, *write.indices)]
    return any(
        isinstance(part, Read)
        and part.tensor.name == "since"
        and not (isinstance(expr, Apply) and expr.operator in COMPARED)
        for expr in walk(*values)
        for part in operands(expr)
    )


def _declared(name: str) -> str:
    """How a spec declares something that a model gives, and where a mask has it."""
    if name not in TERMS or name == "cap":
        return f"declare `{name}: f32` in it"
    used = f", and let `{MASKS[name]}` be part of the mask" if name in MASKS else ""
    return f"declare `input {name} : {TERMS[name].partition('  #')[0]}` in it{used}"
