"""All rows of all blocks, one after another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from attndsl.checking.elements import usual_element
from attndsl.checking.evaluate import with_defaults
from attndsl.checking.numbers import single
from attndsl.checking.typed import Block, Index, Kind, Spec, Tensor, computed_in
from attndsl.reference.dims import dims_of, shape_of
from attndsl.reference.row import Environment, Row
from attndsl.storage import WIDE, decode, element_among

Arrays = Mapping[str, np.ndarray[Any, Any]]
Outputs = dict[str, np.ndarray[Any, Any]]
Params = Mapping[str, int | float | bool]


def reference(spec: Spec, arrays: Arrays, params: Params | None = None) -> Outputs:
    """What a call writes: outputs, and inouts as it leaves them; `arrays` stay as they are.

    An `f32` parameter is the f32 number that is nearest to what is given. Results are float64, int64 or bool, as what
    is written is: the numbers that the spec says, before a type stores them. `arrays` has an array for each input, in
    the dtype that holds its element type (`attndsl.storage`). An input or a parameter that is left out has its default.
    A type that no input tells is the usual one of its choices; `Spec.where` leaves one. Raises ValueError where one of
    them is missing or does not fit, or where nothing tells the extents of what is left out.
    """
    call = call_of(spec, arrays, params or {})
    run(spec, call, lambda block, row: None)
    return {tensor.name: call.tensors[tensor.name] for tensor in spec.results}


def run(spec: Spec, call: Environment, see: Callable[[Block, Row], None]) -> None:
    """Has each row of each block write its part into the tensors of a call; `see` is shown each of them then."""
    with np.errstate(all="ignore"):
        for block in spec.blocks:
            for row in rows(block, call):
                for write in block.writes:
                    row.write(write, call.tensors[write.tensor.name])
                see(block, row)


def call_of(spec: Spec, arrays: Arrays, params: Params) -> Environment:
    """What a call with these arrays and parameters gives, and zeros for what blocks write and it does not give.

    Raises ValueError as `reference` does.
    """
    dims = dims_of(spec, arrays, params)
    known = with_defaults(spec.params, dims, params)
    for param in spec.params:
        if param.kind is Kind.FLOAT and param.name in known:
            known[param.name] = single(known[param.name])
    tensors, types = {}, {name: usual_element(choices) for name, choices in spec.types.items()}
    for tensor in spec.inputs:
        if tensor.name not in arrays:
            tensors[tensor.name] = _full(tensor, dims, known)
            continue
        array = np.broadcast_to(arrays[tensor.name], shape_of(tensor, dims, known))  # along axes that may be 1
        choices = spec.types.get(tensor.element, (tensor.element,))
        element = element_among(choices, array.dtype)
        if tensor.element in spec.types:
            types[tensor.element] = element
        tensors[tensor.name] = decode(array, element)
    kinds = {write.tensor.name: write.value.kind for block in spec.blocks for write in block.writes}
    types |= computed_in([types.get(tensor.element, tensor.element) for tensor in spec.tensors.values()])
    for tensor in spec.written:
        held = tensors.get(tensor.name, np.zeros(shape_of(tensor, dims, known)))
        tensors[tensor.name] = held.astype(WIDE[kinds[tensor.name]])
    return Environment(dims, known, tensors, types)


def _full(tensor: Tensor, dims: Mapping[str, int], params: Params) -> np.ndarray[Any, Any]:
    """What an input is that a call leaves out."""
    assert tensor.default is not None
    try:
        shape = shape_of(tensor, dims, params)
    except KeyError as error:
        raise ValueError(f"nothing tells `{error.args[0]}`, as `{tensor.name}` is left out") from None
    return np.full(shape, tensor.default.value, WIDE[tensor.default.kind])


def rows(block: Block, call: Environment) -> Iterator[Row]:
    """Every row of a block, the last `each` variable varying fastest."""
    yield from _rows(block, call, {})


def _rows(block: Block, call: Environment, fixed: dict[Index, int]) -> Iterator[Row]:
    row = Row(call, fixed, block.over)
    if len(fixed) == len(block.each):
        yield row
        return
    index = block.each[len(fixed)]
    for value in range(row.size(index)):
        yield from _rows(block, call, {**fixed, index: value})
