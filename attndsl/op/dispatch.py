"""Which calls may go around the dispatcher of torch. Import this only where torch is in use."""

from __future__ import annotations

from functools import reduce

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
    """Whether anything in this thread compiles, traces, transforms, overrides or profiles what is called of torch.

    That new tensors have a device by default is no such thing: those of a call are where its inputs are.
    """
    return (
        torch.compiler.is_compiling()
        or torch._C._dispatch_tls_local_include_set().raw_repr() not in _EAGER
        or forward_ad._current_level >= 0
        or torch._C._autograd._profiler_enabled()
        or any(
            type(torch._C._get_function_stack_at(number)) is not DeviceContext
            for number in range(torch._C._len_torch_function_stack())
        )
    )


def is_memory(tensor: torch.Tensor) -> bool:
    """Whether a tensor is the elements that are at its strides in the memory of a CPU, and torch's own."""
    return type(tensor) in PLAIN and not torch._C._dispatch_keys(tensor).raw_repr() & _OTHERS
