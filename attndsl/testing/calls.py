"""Calls of a spec's operator as users make them: with arrays or tensors, numbers of NumPy, and in several threads."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.util import find_spec
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from attndsl.cache import ENVIRONMENT
from attndsl.checking.evaluate import Number, evaluate
from attndsl.checking.omission import Untold, without
from attndsl.checking.typed import Kind
from attndsl.inputs import relay
from attndsl.op.op import Op
from attndsl.storage import ELEMENTS, decode
from attndsl.syntax.source import Source
from attndsl.testing.against import given
from attndsl.testing.case import Array, Case
from attndsl.testing.choices import Choices
from attndsl.testing.triton_program import array_of

Operator = Callable[..., Any]
"""What is called: it takes inputs and parameters, as an Op does."""

ROUNDS = 8
"""Calls that a thread makes one after another."""

INTO = ("transposed", "sliced")
"""How memory of a caller for outputs may lie."""

SWITCHING = 1e-5
"""Seconds after which Python goes on with another thread while calls are to overlap."""

ANOTHER = """attention another {
    dims B, N, D
    input x : f32[B, N, D]
    output y : f32[B, N]
    each b in B, i in N
    over j in N
    y[b, i] = logsumexp(x[b, i, :] . x[b, j, :])
}"""
"""A spec whose calls overlap with those of the one that is looked at, and with each other."""

LONG = (16, 4, 4)
"""The shape of its input: so many turns of a loop that others begin and end meanwhile."""


class ThreadsLeft(AssertionError):
    """After a call BLAS has another limit of threads than before."""


class OverlapDiffers(AssertionError):
    """A call beside others gives other bits than alone."""


@dataclass(frozen=True)
class Calling:
    """How the operator of a spec is called: by whom, and beside what.

    Parameters, and inputs without dims, are numbers of NumPy if they are to be `scalars`. Inputs are `positional` or go
    by name; those that are full of their defaults are not given if the call `leaves_out` such, and those that are the
    same along axes with `?` have an extent of 1 there. Outputs are written
    `into` memory of the caller in one of the LAYOUTS, or are new. With several `threads` calls of this operator and of
    another one overlap, while BLAS has so many threads as `blas` says, or as it had.
    """

    framework: str = "numpy"
    scalars: bool = False
    positional: bool = False
    leaves_out: bool = False
    into: str | None = None
    threads: int = 1
    blas: int | None = None


def draw_calling(choices: Choices) -> Calling | None:
    """A way to call an operator; mostly none, since that takes a compilation."""
    if choices.of((True, True, True, False)):
        return None
    framework = choices.of(("numpy", "numpy", "torch") if find_spec("torch") else ("numpy",))
    scalars, positional, leaves_out = (choices.of((False, True)) for _ in range(3))
    into = choices.of((None, None, *INTO))
    threads = choices.of((1, 1, 3))
    blas = choices.of((2, 1, None)) if threads > 1 else None
    return Calling(framework, scalars, positional, leaves_out, into, threads, blas)


def operator_of(source: Source, types: Mapping[str, str]) -> Operator:
    """The operator of a spec, compiled anew for these types, past the cache of the user.

    Types that only outputs have are said already.
    """
    with TemporaryDirectory() as folder, _environment(ENVIRONMENT, folder):
        op = Op(source)
        said = {name: types[name] for name in op.signature.said}
        op.saying(**said).binding.program({**op.signature.default_types(), **types})
        return partial(op, **said)


def check_call(case: Case, calling: Calling, op: Operator) -> float:
    """The largest error of a call, as a share of its bound.

    Raises Disagreement, and an AssertionError where a call changes its inputs or what it leaves for others.
    """
    if calling.leaves_out and (absent := _left_out(case)):  # else the case keeps what the reference has computed
        case = replace(case, left_out=absent)
    call = _call(case, calling, op)
    with TemporaryDirectory() as folder, _environment(ENVIRONMENT, folder):  # a call that leaves inputs out is compiled
        alone = call()
    used = case.check(f"{calling.framework} call", alone)
    if calling.threads > 1:
        with blas_threads(calling.blas):
            for outputs in _overlapping(call, calling.threads):
                for name, found in outputs.items():
                    if found.tobytes() != alone[name].tobytes():
                        raise OverlapDiffers(f"{case.spec.name}: {name} has other bits where calls overlap")
    return used


def _call(case: Case, calling: Calling, op: Operator) -> Callable[[], dict[str, Array]]:
    """The call, which raises InputChanged."""
    convert = given if calling.framework == "torch" else lambda array, element: array
    inputs = {tensor.name: convert(case.arrays[tensor.name], case.element(tensor.name)) for tensor in case.spec.inputs}
    params: dict[str, Any] = {name: value for name, value in case.params.items() if not _may_be_left_out(case, name)}
    if calling.scalars:
        kinds = {param.name: param.kind for param in case.spec.params}
        params = {name: _numpy_number(kinds[name], value) for name, value in params.items()}
        if calling.framework == "numpy":
            inputs = {name: array if array.ndim else array[()] for name, array in inputs.items()}
    inputs = {name: _cut(value, case.spec.tensors[name].broadcast) for name, value in inputs.items()}
    inputs = {**inputs, **dict.fromkeys(case.left_out)}
    if not calling.positional:
        inputs = {name: value for name, value in inputs.items() if value is not None}
    names = [tensor.name for tensor in case.spec.outputs]
    in_place = [tensor.name for tensor in case.spec.inputs if tensor.role == "inout"]

    def call() -> dict[str, Array]:
        lent = case.lent()
        written = {name: convert(lent[name], case.element(name)) for name in in_place}
        passed = {**inputs, **written}
        placed = [*passed.values()] if calling.positional else []
        named = {**({} if calling.positional else passed), **params}
        out = [] if calling.into is None else [_memory(case, name, calling.into) for name in names]
        memory = [convert(array, case.element(name)) for name, array in zip(names, out, strict=bool(out))]
        if memory and "out" not in inputs.keys() | params.keys():
            named["out"] = tuple(memory) if len(names) > 1 else memory[0]
        with case.untouched():
            found = op(*placed, **named)
        listed = found if len(names) > 1 else (found,) * len(names)
        written.update(zip(names, listed, strict=True))
        return {name: _as_array(value, case.element(name)) for name, value in written.items()}

    return call


def _left_out(case: Case) -> list[str]:
    """The inputs that are full of their defaults, as far as others tell all that they do: two may tell it together."""
    found = list[str]()
    for tensor in case.spec.inputs:
        array = decode(case.arrays[tensor.name], case.element(tensor.name))
        if tensor.default is None or not (array == tensor.default.value).all():
            continue
        try:
            without(case.spec, [*found, tensor.name])
        except Untold:
            continue
        found.append(tensor.name)
    return found


def _cut(value: Any, axes: Collection[int]) -> Any:
    """An array or tensor as a call may give it that has the same along some axes: of an extent of 1 there."""
    if not axes:
        return value
    steps = value.strides if isinstance(value, np.ndarray) else value.stride()
    return value[tuple(slice(1) if n in axes and step == 0 else slice(None) for n, step in enumerate(steps))]


def _may_be_left_out(case: Case, name: str) -> bool:
    """Whether a parameter is what its formula makes of the dims and of the others."""
    formula = next(param.formula for param in case.spec.params if param.name == name)
    return formula is not None and repr(evaluate(formula, case.dims, case.params)) == repr(case.params[name])


def _memory(case: Case, output: str, layout: str) -> Array:
    """Memory for an output of a case, in which there is NaN."""
    dtype = ELEMENTS[case.element(output)].dtype
    others = np.iinfo(dtype).max if dtype.kind in "iu" else np.nan if dtype.kind == "f" else True
    return relay(np.full(case.wanted[output].shape, others, dtype), layout)


def _numpy_number(kind: Kind, value: Number) -> Any:
    """A parameter as NumPy's arithmetic gives it; a float of 32 bits where these hold it."""
    match kind:
        case Kind.BOOL:
            return np.bool_(value)
        case Kind.INT:
            return np.int64(value)
    return np.float32(value) if np.float32(value) == value else np.float64(value)


def _as_array(value: Any, element: str) -> Array:
    return value if isinstance(value, np.ndarray) else array_of(value, element)


# --- threads


def _overlapping(call: Callable[[], dict[str, Array]], threads: int) -> list[dict[str, Array]]:
    """What calls give that run side by side, among those of another operator; raises what one of them raises."""
    found: list[dict[str, Array]] = []
    errors: list[BaseException] = []
    start = threading.Barrier(threads)
    x = np.ones(LONG, np.float32)

    def run(number: int) -> None:
        try:
            for turn in range(ROUNDS):
                start.wait()
                if (number + turn) % 2:
                    another()(x=x)
                else:
                    found.append(call())
        except threading.BrokenBarrierError:  # another one failed
            pass
        except BaseException as error:
            errors.append(error)
            start.abort()

    workers = [threading.Thread(target=run, args=(number,)) for number in range(threads)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(SWITCHING)
    try:
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    finally:
        sys.setswitchinterval(interval)
    if errors:
        raise errors[0]
    return found


@cache
def another() -> Operator:
    """An operator to overlap with."""
    return operator_of(Source(ANOTHER), {})


@contextmanager
def blas_threads(count: int | None) -> Iterator[None]:
    """BLAS with so many threads meanwhile, as it has for None. Raises ThreadsLeft where it has others afterwards."""
    before = _threads()
    if count is not None:
        _set_threads([count] * len(before))
    limits = _threads()
    try:
        yield
        if (after := _threads()) != limits:
            raise ThreadsLeft(f"BLAS has {after} threads after calls that overlapped, and had {limits}")
    finally:
        _set_threads(before)


@cache
def _libraries() -> list[Any]:
    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


def _threads() -> list[int]:
    return [library.get_num_threads() for library in _libraries()]


def _set_threads(counts: list[int]) -> None:
    """As a user does: threadpoolctl itself would keep other threads from setting theirs, from 3.8 on."""
    for library, count in zip(_libraries(), counts, strict=True):
        getattr(library, "_real_set_num_threads", library.set_num_threads)(count)


@contextmanager
def _environment(name: str, value: str) -> Iterator[None]:
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before
