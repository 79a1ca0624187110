"""NumPy arrays as a call takes and gives them.

A type that NumPy lacks travels as its bits. Arrays of ml_dtypes are viewed as bits on the way in, and outputs viewed as
such arrays on the way out; nothing is copied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from operator import attrgetter
from typing import Any

import numpy as np

from attndsl.driver.signature import Signature
from attndsl.op import errors
from attndsl.op.checks import Bound, Given, bind
from attndsl.op.into import require_disjoint
from attndsl.op.layouts import Allocator, Made, Order, permuted
from attndsl.storage import ELEMENTS, Array, accepts


def is_array(value: object) -> bool:
    """Whether a value is a plain array, or a scalar of NumPy, which stands for an array of no dimensions.

    A subclass may mean more than its memory, as a masked array does.
    """
    return type(value) in (np.ndarray, np.memmap) or isinstance(value, np.generic)


def kinds(inputs: Sequence[Any]) -> tuple[object, ...] | None:
    """All that `check` asks of arrays but their shapes; None where one is something else."""
    types = (*map(type, inputs),)
    if types.count(np.ndarray) < len(types) and not all(map(is_array, inputs)):
        return None
    return (types, *[array.dtype for array in inputs])


def check(signature: Signature, inputs: Sequence[Array], params: Mapping[str, Any]) -> Bound:
    """What a call with these inputs, in the order of their declarations, says of a spec. Raises CallError."""
    given = {
        tensor.name: Given(_elements(array.dtype), str(array.dtype), array.shape)
        for tensor, array in zip(signature.inputs, inputs, strict=True)
    }
    return bind(signature, given, params)


def allocator(element: str, inputs: Iterable[Array]) -> Allocator[Array]:
    """What makes outputs of this element type: arrays of ml_dtypes where an input of that type is one."""
    row = ELEMENTS[element]
    dtype = next((array.dtype for array in inputs if array.dtype.name == row.extension), row.dtype)

    def of(shape: tuple[int, ...], order: Order | None) -> Made[Array]:
        if order is not None:
            contiguous, axes = permuted(shape, order)
            seen = None if dtype == row.dtype else lambda memory: memory.view(dtype)
            return lambda: np.empty(contiguous, row.dtype).transpose(axes), seen
        if dtype == row.dtype:
            return partial(np.empty, shape, dtype), None
        return lambda: np.empty(shape, dtype).view(row.dtype), attrgetter("base")  # which owns its memory

    return of


def strides(array: Array) -> tuple[int, ...]:
    """Bytes from element to element along each axis."""
    return array.strides


def reader(array: Array) -> Callable[[Array], Array] | None:
    """What gives the memory of arrays of this type and dtype as compiled functions take it; None where they are it."""
    held = ELEMENTS[_elements(array.dtype)[0]].dtype
    if type(array) is np.ndarray and array.dtype == held:
        return None
    return lambda other: np.asarray(other).view(held)


def into(
    signature: Signature,
    elements: Sequence[str],
    shapes: Sequence[tuple[int, ...]],
    inputs: Sequence[Array],
    memory: Sequence[Array],
    outputs: Sequence[Any] | None,
) -> list[Array]:
    """The memory of outputs that a call gives, as compiled functions take it. Raises CallError."""
    for number in signature.in_place:
        if not inputs[number].flags.writeable:
            raise errors.InoutIsReadOnly(signature.name, signature.inputs[number].name)
    if outputs is None:
        require_disjoint(signature, memory)
        return []
    for tensor, element, shape, array in zip(signature.outputs, elements, shapes, outputs, strict=True):
        if type(array) not in (np.ndarray, np.memmap):
            found = f"an object of type {type(array).__name__}"
            raise errors.WrongOutput(signature.name, tensor.name, found, "a NumPy array")
        if element not in _elements(array.dtype):
            raise errors.WrongOutput(signature.name, tensor.name, str(array.dtype), element)
        if array.shape != shape:
            raise errors.WrongOutput(signature.name, tensor.name, f"the shape {array.shape}", f"the shape {shape}")
        if not array.flags.writeable:
            raise errors.OutputIsReadOnly(signature.name, tensor.name)
    written = [
        np.asarray(array).view(ELEMENTS[element].dtype) for element, array in zip(elements, outputs, strict=True)
    ]
    require_disjoint(signature, memory, written)
    return written


@cache
def _elements(dtype: np.dtype[Any]) -> tuple[str, ...]:
    """The element types that an array of this dtype can hold."""
    return tuple(element for element in ELEMENTS if accepts(element, dtype))
