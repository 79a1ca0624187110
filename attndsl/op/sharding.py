"""How DTensor shards a call, by what is proved of the spec (`attndsl.driver.independent`).

Import this only when torch.distributed.tensor is in use.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import torch
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.distributed.tensor.experimental import register_sharding

from attndsl.driver.independent import Cut, cuts
from attndsl.driver.library import checked
from attndsl.op.binding import CompiledSpec

Placements = list[Any]


def shard(operator: torch._ops.OpOverload[..., Any], binding: CompiledSpec) -> None:
    """Tells DTensor of the ways in which it may shard the inputs and outputs of an operator, or replicate them."""

    @cache
    def ways() -> tuple[Cut, ...]:
        return cuts(checked(binding.spec, *binding.left_out))

    def strategy(*arguments: Any) -> Sequence[tuple[Placements, Placements]]:
        names = [tensor.name for tensor in binding.signature.inputs]
        fitting = [Cut({}, False), *(way for way in ways() if _fits(way, dict(zip(names, arguments, strict=False))))]
        return [_placed(binding, way) for way in fitting]

    register_sharding(operator)(strategy)


def forget(operator: torch._ops.OpOverload[..., Any]) -> None:
    """Has DTensor know no more of an operator."""
    known = DTensor._op_dispatcher.sharding_propagator
    for table in ("op_strategy_funcs", "op_to_schema_info"):
        getattr(known, table, {}).pop(operator, None)


def _fits(way: Cut, inputs: dict[str, Any]) -> bool:
    """Whether all devices of the mesh have parts, of one size where they must."""
    return not way.even or all(
        inputs[name].shape[axis] % inputs[name].mesh.size() == 0 for name, axis in way.axes.items() if name in inputs
    )


def _placed(binding: CompiledSpec, way: Cut) -> tuple[Placements, Placements]:
    def of(name: str) -> Any:
        return Shard(way.axes[name]) if name in way.axes else Replicate()

    signature = binding.signature
    inputs = [*(of(tensor.name) for tensor in signature.inputs), *(None for _ in signature.params)]
    return [of(tensor.name) for tensor in signature.outputs], inputs
