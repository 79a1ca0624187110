"""A case that was kept on disk, read again: nothing is made of what is in the folder before it is known to fit."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any
from zipfile import ZIP_STORED, ZipFile

import numpy as np

from attndsl.checking.check import check
from attndsl.checking.evaluate import Number, evaluate, with_defaults
from attndsl.checking.typed import Kind, Param, Spec
from attndsl.driver.targets import target_of
from attndsl.inputs import default_params
from attndsl.reference.dims import dims_of
from attndsl.storage import accepts
from attndsl.syntax.read import read_source
from attndsl.syntax.source import Source
from attndsl.testing.calls import INTO, Calling
from attndsl.testing.case import MOST_ELEMENTS, Array, Case, largest
from attndsl.testing.failures import CALL, INPUTS, SPEC
from attndsl.testing.fuzz import Example
from attndsl.testing.metamorphic import RELATIONS, Twin
from attndsl.testing.stages import Form

MOST_BYTES = 2**28
"""The most that an array takes in the file, or in memory with its strides."""

MOST_TEXT = 2**20
"""The most bytes of the file that describes a call."""

MOST_OF_A_FORM = 2**12
"""The most rows, keys and splits."""

CALLING = {
    "framework": ("numpy", "torch"),
    "scalars": (False, True),
    "positional": (False, True),
    "leaves_out": (False, True),
    "into": (None, *INTO),
    "threads": range(1, 9),
    "blas": (None, 1, 2),
}
"""What describes who calls, and what it may be."""

FIELDS = {"types": dict, "dims": dict, "params": dict, "strides": dict, "forms": list, "file": str}
"""What describes a call."""


class NoCase(ValueError):
    """A folder that holds no case, or one that cannot be read."""


def load(place: Path) -> Example:
    """The example in a folder that `attndsl.testing.failures.save` wrote; raises NoCase."""
    try:
        call = _call(place / CALL)
        spec = check(Source(read_source(place / SPEC).text, str(call["file"])))
        types, params = _types(spec, call["types"]), _params(spec, call["params"])
        spec = spec.where(types)
        arrays = {
            name: with_strides(array, call["strides"].get(name))
            for name, array in _arrays(spec, types, place / INPUTS).items()
        }
        dims = dims_of(spec, arrays, params)
        _require(call["dims"] == dims, f"the arrays are of the extents {dims}")
        case, forms = Case(spec, types, dims, params, arrays), tuple(map(_form, call["forms"]))
        _check_possible(case)
        return Example(case, forms, _calling(call.get("calling")), _twin(case, call.get("twin")))
    except Exception as error:  # whatever there is to stumble over in files that anybody may have made
        said = str(error) or type(error).__name__
        raise NoCase(f"{place} holds no case of `attndsl fuzz`: {said}") from error


def with_strides(array: Array, strides: Any) -> Array:
    """The array laid out in memory with these strides in bytes, between which all bits are set. Raises ValueError."""
    whole = isinstance(strides, list) and all(type(each) is int and each % array.itemsize == 0 for each in strides)
    if not whole or len(strides) != array.ndim:
        raise ValueError(
            f"{str(strides)[:200]} are no strides of an array of the shape {array.shape} and {array.dtype}"
        )
    if not array.size or not array.ndim:
        return array
    reach = [stride * (size - 1) for stride, size in zip(strides, array.shape, strict=True)]
    low, high = sum(min(0, each) for each in reach), sum(max(0, each) for each in reach)
    _require(high - low < MOST_BYTES, f"an array with the strides {strides} takes more than {MOST_BYTES} bytes")
    memory = np.full(high - low + array.itemsize, 0xFF, np.uint8)
    laid: Array = np.ndarray(array.shape, array.dtype, memory.data, -low, tuple(strides))
    laid[...] = array
    return laid


def _check_possible(case: Case) -> None:
    """Raises ValueError for a call that the spec refuses, or that is more than the reference can do."""
    spec = case.spec
    known = with_defaults(spec.params, case.dims, {**default_params(spec), **case.params})
    _require(largest(spec, case.dims, known) <= MOST_ELEMENTS, f"a tensor has more than {MOST_ELEMENTS} elements")
    _require(all(evaluate(each, case.dims, known) for each in spec.requires), "a condition of the spec is not met")


def _require(condition: bool, otherwise: str) -> None:
    if not condition:
        raise ValueError(otherwise)


def _call(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        text = file.read(MOST_TEXT + 1)
    _require(len(text) <= MOST_TEXT, f"{CALL} has more than {MOST_TEXT} bytes")
    call = json.loads(text)
    fits = isinstance(call, dict) and all(isinstance(call.get(name), kind) for name, kind in FIELDS.items())
    _require(fits, f"{CALL} has not {', '.join(FIELDS)}")
    return dict(call)


def _types(spec: Spec, given: Mapping[str, Any]) -> dict[str, str]:
    _require(given.keys() == spec.types.keys(), f"the spec has the types {', '.join(spec.types) or 'none'}")
    for name, element in given.items():
        _require(element in spec.types[name], f"{name} is one of {', '.join(spec.types[name])}")
    return dict(given)


def _params(spec: Spec, given: Mapping[str, Any]) -> dict[str, Number]:
    """Those that are not given need a default."""
    known = {param.name: param for param in spec.params}
    needed = {name for name, param in known.items() if param.default is None and param.formula is None}
    _require(needed <= given.keys() <= known.keys(), f"the spec has the parameters {', '.join(known) or 'none'}")
    return {name: _number(known[name], value) for name, value in given.items()}


def _number(param: Param, value: Any) -> Number:
    """A parameter's value; infinities and NaN are strings in JSON."""
    match param.kind, value:
        case Kind.BOOL, bool(truth):
            return truth
        case Kind.INT, int(number) if not isinstance(value, bool) and -(2**63) <= number < 2**63:
            return number
        case Kind.FLOAT, float() | int() | "inf" | "-inf" | "nan" if not isinstance(value, bool):
            return float(value)
    raise ValueError(f"the parameter {param.name} is {repr(value)[:40]}")


def _arrays(spec: Spec, types: Mapping[str, str], path: Path) -> dict[str, Array]:
    """What `np.savez` wrote, read without trust in any of its sizes."""
    arrays = {}
    with ZipFile(path) as archive:
        names = [f"{tensor.name}.npy" for tensor in spec.inputs]
        _require(sorted(archive.namelist()) == sorted(names), f"{INPUTS} has not {', '.join(names)}")
        for tensor in spec.inputs:
            entry = archive.getinfo(f"{tensor.name}.npy")
            small = entry.compress_type == ZIP_STORED and entry.file_size <= MOST_BYTES
            _require(small, f"{entry.filename} is compressed, or has more than {MOST_BYTES} bytes")
            with archive.open(entry) as file:
                _require(np.lib.format.read_magic(file) == (1, 0), f"{entry.filename} is of another version")
                shape, by_columns, dtype = np.lib.format.read_array_header_1_0(file)
                content = file.read()
            plain = accepts(types.get(tensor.element, tensor.element), dtype) and not by_columns
            _require(plain and min(shape, default=0) >= 0, f"{entry.filename} is no plain array of its element type")
            _require(math.prod(shape) * dtype.itemsize == len(content), f"{entry.filename} has not the size it says")
            arrays[tensor.name] = np.frombuffer(content, dtype).reshape(shape).copy()
    return arrays


def _form(given: Any) -> Form:
    if isinstance(given, dict) and "splits" not in given:  # 0.1.0 called them parts
        given = {"splits" if name == "parts" else name: value for name, value in given.items()}
    if isinstance(given, dict):  # 0.1.0 knew one kind of CPU
        given = {"machine": None, **given}
    match given:
        case {
            "target": str(target),
            "rows": int(rows),
            "keys": int(keys),
            "splits": int(splits),
            "known": bool(known),
            "machine": None | str() as machine,
        }:
            row, sizes = target_of(target), (rows, keys, splits)
            row.machine(machine)
            least = 0 if row.chooses else 1
            small = min(rows, keys) >= least and splits >= 1 and max(sizes) <= MOST_OF_A_FORM
            if len(given) == len(fields(Form)) and small:
                return Form(target, *sizes, known, machine)
    raise ValueError(f"there is no form {str(given)[:200]}")


def _calling(given: Any) -> Calling | None:
    if given is None:
        return None
    _require(isinstance(given, dict) and given.keys() == CALLING.keys(), f"a calling has not {', '.join(CALLING)}")
    chosen = dict(given)
    for name, values in CALLING.items():
        value = chosen[name]
        fits = any(type(value) is type(each) and value == each for each in values)
        _require(fits, f"nobody calls an operator with {name} = {str(value)[:40]}")
    return Calling(**chosen)


def _twin(case: Case, given: Any) -> Twin | None:
    """One that takes the call and gives what it gives."""
    if given is None:
        return None
    twin = Twin.from_json(given)
    _require(twin.relation in RELATIONS and type(twin.exact) is bool, f"there is no twin {str(twin.relation)[:40]}")
    other = twin.of(case)
    _types(other.spec, other.types)
    _params(other.spec, other.params)
    _check_possible(other)
    taken = all(accepts(other.element(each.name), other.arrays[each.name].dtype) for each in other.spec.inputs)
    _require(taken, "the twin takes arrays of other types")
    for tensor in case.spec.outputs:
        name, shape = twin.names.get(tensor.name, tensor.name), _shape(case, tensor.name)
        axes = twin.axes.get(tensor.name, tuple(range(len(shape))))
        _require(any(name == each.name for each in other.spec.outputs), f"the twin has no output {str(name)[:40]}")
        fits = sorted(axes) == list(range(len(shape))) and _shape(other, name) == [shape[axis] for axis in axes]
        same = fits and other.element(name) == case.element(tensor.name)
        _require(same, f"the twin's {name} has another shape or type")
    return twin


def _shape(case: Case, tensor: str) -> list[int]:
    return [evaluate(extent, case.dims, case.params) for extent in case.spec.tensors[tensor].extents]
