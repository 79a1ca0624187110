"""Which calls may go around the dispatcher of torch. Import this only where torch is in use."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import torch
from torch._C import DispatchKey, DispatchKeySet
from torch.autograd import forward_ad
from torch.utils._device import DeviceContext

PLAIN = (torch.Tensor, torch.nn.Parameter)
"""The types of tensors for which nobody has said what operators do."""

_INFERENCE = DispatchKeySet(DispatchKey.BackendSelect)
_EAGER = {_INFERENCE.raw_repr(), _INFERENCE.add(DispatchKey.ADInplaceOrView).raw_repr()}
"""The state of the dispatcher in a thread where nothing traces, transforms or overrides what is called."""

_OF_MEMORY = (DispatchKey.CPU, DispatchKey.ADInplaceOrView, DispatchKey.AutogradCPU, DispatchKey.AutocastCPU)
_OTHERS = ~reduce(DispatchKeySet.add, _OF_MEMORY[1:], DispatchKeySet(_OF_MEMORY[0])).raw_repr()
"""The keys that a tensor has if it is not, or not only, elements at strides in the memory of a CPU."""


def is_watched() -> bool:
    """Whether anything in this thread compiles, traces, transforms, casts, overrides or profiles calls of torch.

    That new tensors have a device by default is no such thing: those of a call are where its inputs are.
    """
    return (
        torch.compiler.is_compiling()
        or torch._C._dispatch_tls_local_include_set().raw_repr() not in _EAGER
        or forward_ad._current_level >= 0
        or torch._C._is_any_autocast_enabled()
        or torch._C._autograd._profiler_enabled()
        or (torch._C._len_torch_function_stack() > 0 and _is_overridden())
    )


def _is_overridden() -> bool:
    modes = map(torch._C._get_function_stack_at, range(torch._C._len_torch_function_stack()))
    return any(type(mode) is not DeviceContext for mode in modes)


def are_memory(values: Sequence[Any]) -> bool:
    """Whether all are tensors, torch's own, that are the elements at their strides in the memory of a CPU."""
    keys = 0
    for value in values:
        if type(value) not in PLAIN:
            return False
        keys |= torch._C._dispatch_keys(value).raw_repr()
    return not keys & _OTHERS
