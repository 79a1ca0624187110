"""Mutants of what calls go through: faults that were there once, and that drawn specs and calls are to find again."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pytest

from attndsl.backends import dims, names, writer
from attndsl.backends.numpy import emit
from attndsl.checking.spelling import Spelled
from attndsl.ir import build, spec
from attndsl.op import blas, checks, numpy_arrays, op
from attndsl.op.op import Op
from attndsl.passes import wrap_integers

from .mutant import CALL, planted, wraps

OVERLAPPING = 1e-3
"""Seconds that a call takes at least, so that calls overlap on a machine that has little to do, too."""


@planted("numpy", CALL)
def outputs_where_they_are_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program takes its tensors as they are declared, and is given the inputs first."""

    def declared(original: Any, module: Any) -> list[Any]:
        arguments = {*original(module)}
        return [op for op in module.body.block.ops if op in arguments]

    wraps(monkeypatch, spec, "arguments", declared)


@planted("numpy", CALL)
def single_integers_have_no_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Integers of Python are computed with as they are."""
    monkeypatch.setattr(wrap_integers, "LEAVING", ())


@planted("numpy", CALL)
def numbered_names_are_made_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A value may be called `t_2` where a dim, a parameter or a tensor is."""

    def reserve(original: Any, made: Any, reserved: Iterable[str]) -> None:
        original(made, [name for name in reserved if not re.search(r"_\d+$", name)])

    wraps(monkeypatch, names.Names, "__init__", reserve)


@planted("numpy", CALL)
def words_of_python_are_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tensor called `np` or `lambda` is called so in generated code too."""
    monkeypatch.setattr(emit, "python_name", str)


@planted("numpy", CALL)
def self_is_an_argument(monkeypatch: pytest.MonkeyPatch) -> None:
    """An operator takes itself by name, so that nothing else can be called so."""
    original: Callable[..., Any] = Op.__call__

    def call(self: Op, **arguments: Any) -> Any:
        return original(self, **arguments)

    monkeypatch.setattr(Op, "__call__", call)


@planted("numpy", CALL)
def inputs_in_the_order_of_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inputs that go by position are taken in alphabetical order."""

    def by_name(original: Any, op: Op, inputs: Sequence[Any], arguments: Any) -> Any:
        names = sorted(tensor.name for tensor in op.signature.inputs)
        return {**dict(zip(names, inputs, strict=False)), **arguments}

    wraps(monkeypatch, Op, "_by_name", by_name)


@planted("numpy", CALL)
def outputs_of_the_caller_made_contiguous(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written into memory of the caller goes into a copy where its elements do not lie in order."""

    def into(original: Any, *given: Any) -> Any:
        return [*map(np.ascontiguousarray, original(*given))]

    wraps(monkeypatch, numpy_arrays, "into", into)


@planted("numpy", CALL)
def inouts_are_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is to be written in place is written to a copy, where its elements do not lie in order."""
    wraps(monkeypatch, numpy_arrays, "reader", lambda original, array: np.ascontiguousarray)


@planted("numpy", CALL)
def formulas_go_before_what_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """A parameter that may be left out always is."""

    def computed(original: Any, signature: Any, dims: Any, params: Any) -> Any:
        return original(signature, dims, {**params, **dict.fromkeys(signature.formulas)})

    wraps(monkeypatch, checks, "_computed", computed)


@planted("numpy", CALL)
def parameters_divide_no_extent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of `ways * F` the program takes all for F."""
    monkeypatch.setattr(dims, "_coefficient", lambda value: Spelled("1"))


@planted("numpy", CALL)
def one_thread_forever(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call puts back as many threads as it found, be it those of another call."""

    def on_one_thread(program: Callable[..., None]) -> Callable[..., None]:
        def limited(*arrays: Any, **params: Any) -> None:
            found = [(library, library.get_num_threads()) for library in chain(*blas._libraries())]
            for library, _ in found:
                blas._set_threads(library, 1)
            time.sleep(OVERLAPPING)
            program(*arrays, **params)
            for library, threads in found:
                blas._set_threads(library, threads)

        return limited

    monkeypatch.setattr(blas, "on_one_thread", on_one_thread)


@planted("numpy", CALL)
def names_of_files_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line break in the name of a file ends a comment."""
    monkeypatch.setattr(build, "printable", str)
    monkeypatch.setattr(writer, "printable", str)


@planted("numpy", CALL)
def numbers_of_numpy_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A number of NumPy is no array, not even of a tensor without dims."""
    monkeypatch.setattr(numpy_arrays, "is_array", lambda value: type(value) in (np.ndarray, np.memmap))


@planted("numpy", CALL)
def extents_of_one_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is given with an extent of 1 is passed on as if it had the declared one."""
    monkeypatch.setattr(op, "broadcast", lambda signature, arguments: arguments)
