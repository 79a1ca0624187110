"""torch tensors as a call takes and gives them. Import this only when torch is in use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import accumulate
from math import prod
from operator import mul
from typing import Any

import numpy as np
import torch
from torch.masked import MaskedTensor
from torch.nested._internal.nested_tensor import NestedTensor

from attndsl.driver.signature import Signature
from attndsl.op import errors
from attndsl.op.checks import Bound, Given, bind
from attndsl.op.dispatch import are_memory
from attndsl.op.into import Strided, require_disjoint
from attndsl.op.layouts import Allocator, Made, Order, permuted
from attndsl.storage import ELEMENTS as STORED
from attndsl.storage import Array

DTYPES = {
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.float32: "f32",
    torch.float64: "f64",
    torch.float8_e4m3fn: "f8e4m3",
    torch.float8_e5m2: "f8e5m2",
    torch.int8: "i8",
    torch.uint8: "u8",
    torch.int16: "i16",
    torch.uint16: "u16",
    torch.int32: "i32",
    torch.uint32: "u32",
    torch.int64: "i64",
    torch.bool: "bool",
}
"""The element type of each torch dtype."""

ELEMENTS = {element: dtype for dtype, element in DTYPES.items()}

CPU = torch.device("cpu")

_BITS = {torch.bfloat16: torch.uint16, torch.float8_e4m3fn: torch.uint8, torch.float8_e5m2: torch.uint8}


SMALL = 2**14
"""The most bytes of an output that is made of an array: what computes larger ones takes longer than making them."""

PACKED = (NestedTensor, MaskedTensor)
"""The subclasses of torch's own that hold several tensors; torch asks them, and not their memory, to compute."""


def kinds(inputs: Sequence[Any]) -> tuple[object, ...] | None:
    """All that `check` asks of inputs in the memory of a CPU but their shapes.

    None where one is something else, or wants a derivative.
    """
    if not are_memory(inputs):
        return None
    derives = torch.is_grad_enabled()
    found = []
    for tensor in inputs:
        if derives and tensor.requires_grad:
            return None
        found.append(tensor.dtype)
    return (*found,)


def check(signature: Signature, tensors: Sequence[torch.Tensor], params: Mapping[str, Any]) -> Bound:
    """What a call with these inputs, in the order of their declarations, says of a spec. Raises CallError."""
    for input_, tensor in zip(signature.inputs, tensors, strict=True):
        _check_memory(signature, input_.name, tensor)
    given = {input_.name: describe(tensor) for input_, tensor in zip(signature.inputs, tensors, strict=True)}
    first = signature.inputs[0].name
    for name, argument in given.items():
        if argument.device != given[first].device:
            raise errors.DevicesDiffer(signature.name, name, argument.device, first, given[first].device)
        if tensors[0].device.type not in ("cpu", "cuda", "meta"):
            raise errors.WrongDevice(signature.name, name, argument.device)
    return bind(signature, given, params)


def empty(shape: Sequence[int], element: str, device: torch.device, order: Order | None = None) -> torch.Tensor:
    """A tensor for an output."""
    if order is None:
        return torch.empty(shape, dtype=ELEMENTS[element], device=device)
    return torch.empty_strided(shape, steps(shape, order), dtype=ELEMENTS[element], device=device)


def allocator(element: str, inputs: Sequence[torch.Tensor]) -> Allocator[torch.Tensor]:
    """What makes outputs of this element type.

    A tensor of a new array takes 3 µs, where an array of a new tensor takes 10: small ones are made so, that lie as
    they are declared. Of others torch's own memory begins where vectors do; given strides torch is quicker than by
    itself.
    """
    dtype, device = ELEMENTS[element], inputs[0].device
    held = _BITS.get(dtype, dtype)
    give = torch.from_numpy if held is dtype else lambda memory: torch.from_numpy(memory).view(dtype)

    def of(shape: tuple[int, ...], order: Order | None) -> Made[torch.Tensor]:
        if order is None and 0 < prod(shape) * held.itemsize <= SMALL:
            return partial(np.empty, shape, STORED[element].dtype), give
        *inner, _ = accumulate((max(size, 1) for size in reversed(shape)), mul, initial=1)
        stride = (*inner[::-1],) if order is None else steps(shape, order)
        if 0 in shape:  # of which an array has no strides
            new = partial(torch.empty_strided, shape, stride, dtype=dtype, device=device)
            return partial(np.empty, shape, STORED[element].dtype), lambda memory: new()
        return lambda: torch.empty_strided(shape, stride, dtype=held, device=device).numpy(), give

    return of


def steps(shape: Sequence[int], order: Order) -> tuple[int, ...]:
    """The strides of a new tensor whose axes lie in an order; extents may be symbolic."""
    contiguous, axes = permuted(shape, order)
    return torch.empty(contiguous, device="meta").permute(axes).stride()


def strides(tensor: torch.Tensor) -> tuple[int, ...]:
    """Elements from one to the next along each axis."""
    return tensor.stride()


def into(
    signature: Signature,
    elements: Sequence[str],
    shapes: Sequence[tuple[int, ...]],
    inputs: Sequence[torch.Tensor],
    memory: Sequence[np.ndarray[Any, Any]],
    outputs: Sequence[torch.Tensor] | None,
) -> list[np.ndarray[Any, Any]]:
    """The memory of outputs that a call gives, as compiled functions take it. Raises CallError."""
    outputs = outputs or ()
    if outputs:
        check_outputs(signature, elements, shapes, CPU, outputs)
    written = [_memory(tensor) for tensor in outputs]
    require_disjoint(signature, memory, written)
    mark_written([*(inputs[number] for number in signature.in_place), *outputs])
    return written


def check_outputs(
    signature: Signature,
    elements: Sequence[str],
    shapes: Sequence[tuple[int, ...]],
    device: torch.device,
    outputs: Sequence[torch.Tensor],
) -> None:
    """Raises CallError unless these are the outputs of a call but for what is in them, wherever they lie there."""
    for declared, element, shape, tensor in zip(signature.outputs, elements, shapes, outputs, strict=True):
        name = declared.name
        _check_memory(signature, name, tensor)
        if tensor.dtype is not ELEMENTS[element]:
            raise errors.WrongOutput(signature.name, name, str(tensor.dtype), str(ELEMENTS[element]))
        if tuple(tensor.shape) != tuple(shape):
            found, wanted = (f"the shape {tuple(each)}" for each in (tensor.shape, shape))
            raise errors.WrongOutput(signature.name, name, found, wanted)
        if tensor.device != device:
            wanted = f"on {device}, where its inputs are"
            raise errors.WrongOutput(signature.name, name, f"a tensor on {tensor.device}", wanted)


def strided(tensor: torch.Tensor) -> Strided:
    """Where the elements of a tensor lie."""
    size = tensor.element_size()
    return Strided(tensor.data_ptr(), tuple(tensor.shape), tuple(size * step for step in tensor.stride()), size)


def mark_written(tensors: Sequence[torch.Tensor]) -> None:
    """Says to torch that these were written to, so that no derivative is made of what they held before."""
    torch.autograd.graph.increment_version([tensor for tensor in tensors if not tensor.is_inference()])


def describe(tensor: torch.Tensor) -> Given:
    """What a tensor gives to a call."""
    element = DTYPES.get(tensor.dtype)
    return Given((element,) if element else (), str(tensor.dtype), tuple(tensor.shape), str(tensor.device))


def _check_memory(signature: Signature, name: str, tensor: torch.Tensor) -> None:
    """Raises PackedTensor unless the memory of a tensor is its elements, at strides."""
    if tensor.is_nested:
        found, plain = "a nested tensor", f"torch.nested.to_padded_tensor({name}, 0.0)"
    elif tensor.is_quantized:
        found, plain = "a quantised tensor", f"{name}.dequantize()"
    elif type(tensor) is MaskedTensor:
        found, plain = "a masked tensor", f"{name}.to_tensor(0.0)"
    elif tensor.layout is not torch.strided:
        found, plain = f"a tensor of layout {tensor.layout}", f"{name}.to_dense()"
    else:
        return
    raise errors.PackedTensor(signature.name, name, found, plain)


def reader(tensor: torch.Tensor) -> Callable[[torch.Tensor], Array]:
    """What gives the memory of CPU tensors of this dtype as compiled functions take it."""
    return _array if tensor.dtype not in _BITS else _memory


def _memory(tensor: torch.Tensor) -> Array:
    held = _BITS.get(tensor.dtype)
    return _array(tensor if held is None else tensor.view(held))


def _array(tensor: torch.Tensor) -> Array:
    return (tensor.detach() if tensor.requires_grad else tensor).numpy()
