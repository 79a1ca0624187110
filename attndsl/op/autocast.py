"""What `torch.autocast` makes of the inputs of a call. Import this only when torch is in use."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from attndsl.driver.signature import Signature
from attndsl.op.torch_tensors import DTYPES


def cast_as_torch_does(signature: Signature, inputs: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
    """The inputs of a call under `torch.autocast`, in the order of their declarations; as they are under none.

    Those of a type variable that may be autocast's type take it, floats of 16 and 32 bits, as they do of torch's own
    attention; where one of them is written in place, they take the type of that. What the spec stores in a type of its
    own, or the call in 64 bits, stays.
    """
    devices = {tensor.device.type for tensor in inputs}
    if not (len(devices) == 1 and torch.is_autocast_enabled(device := devices.pop())):
        return inputs
    cast = [*inputs]
    for name, choices in signature.types.items():
        places = [n for n, tensor in enumerate(signature.inputs) if tensor.element == name]
        written = [inputs[n].dtype for n in places if signature.inputs[n].in_place]
        wanted = written[0] if written else torch.get_autocast_dtype(device)
        if DTYPES.get(wanted) in choices and all(_is_cast(inputs[n]) for n in places):
            for n in places:
                cast[n] = inputs[n].to(wanted)
    return cast


def _is_cast(tensor: torch.Tensor) -> bool:
    return tensor.dtype in (torch.float16, torch.bfloat16, torch.float32)
