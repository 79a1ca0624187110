"""All rows of all blocks, one after another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from attndsl.checking.evaluate import evaluate
from attndsl.checking.numbers import single
from attndsl.checking.typed import COMPUTED, Block, Index, Kind, Spec, computed_in
from attndsl.reference.dims import dims_of
from attndsl.reference.row import Environment, Row
from attndsl.storage import WIDE, decode, element_among

Arrays = Mapping[str, np.ndarray[Any, Any]]
Outputs = dict[str, np.ndarray[Any, Any]]
Params = Mapping[str, int | float | bool]


def reference(spec: Spec, arrays: Arrays, params: Params | None = None) -> Outputs:
    """The outputs of a spec; an `f32` parameter is the f32 number that is nearest to what is given.

    They are float64, int64 or bool, as what is written is: the numbers that the spec says, before a type stores them.
    `arrays` has an array for each input, in the dtype that holds its element type (`attndsl.storage`); a parameter
    that `params` lacks has its default. Raises ValueError where one of them is missing or does not fit.
    """
    call = finished(spec, arrays, params)
    return {tensor.name: call.tensors[tensor.name] for tensor in spec.outputs}


def finished(spec: Spec, arrays: Arrays, params: Params | None = None) -> Environment:
    """A call whose blocks have written all that they write. Raises ValueError as `reference` does."""
    call = call_of(spec, arrays, params or {})
    run(spec, call, lambda block, row: None)
    return call


def run(spec: Spec, call: Environment, see: Callable[[Block, Row], None]) -> None:
    """Has each row of each block write its part into the tensors of a call; `see` is shown each of them then."""
    with np.errstate(all="ignore"):
        for block in spec.blocks:
            for row in rows(block, call):
                for write in block.writes:
                    row.write(write, call.tensors[write.tensor.name])
                see(block, row)


def call_of(spec: Spec, arrays: Arrays, params: Params) -> Environment:
    """What a call with these arrays and parameters gives, and zeros where blocks write.

    Raises ValueError as `reference` does.
    """
    dims = dims_of(spec, arrays)
    given = {param.name: params.get(param.name, param.default) for param in spec.params}
    known = {name: value for name, value in given.items() if value is not None}
    for param in spec.params:
        if param.kind is Kind.FLOAT and param.name in known:
            known[param.name] = single(known[param.name])
    if missing := given.keys() - known.keys():
        raise ValueError(f"no value for the parameter `{min(missing)}`")
    tensors, types = {}, {}
    for tensor in spec.inputs:
        array = arrays[tensor.name]
        choices = spec.types.get(tensor.element, (tensor.element,))
        element = element_among(choices, array.dtype)
        if tensor.element in spec.types:
            types[tensor.element] = element
        tensors[tensor.name] = decode(array, element)
    kinds = {write.tensor.name: write.value.kind for block in spec.blocks for write in block.writes}
    types[COMPUTED] = computed_in([types.get(tensor.element, tensor.element) for tensor in spec.tensors.values()])
    for tensor in spec.written:
        shape = [evaluate(extent, dims, known) for extent in tensor.extents]
        tensors[tensor.name] = np.zeros(shape, WIDE[kinds[tensor.name]])
    return Environment(dims, known, tensors, types)


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
