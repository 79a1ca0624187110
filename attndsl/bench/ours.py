"""The gallery's specs as contestants: the operator that a user loads, and its generated file with another schedule."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch

from attndsl.bench import unfused
from attndsl.bench.contest import Contestant, Inputs, Outputs, Refused, lent
from attndsl.bench.machine import ROOT
from attndsl.calling import Arguments
from attndsl.checking.typed import Spec
from attndsl.driver.library import checked
from attndsl.driver.module import load_function
from attndsl.op.op import Op, load
from attndsl.op.torch_tensors import check, empty

GALLERY = ROOT / "examples"

Params = Mapping[str, Any]


def gallery() -> list[Path]:
    """The specs of the gallery."""
    return sorted(GALLERY.glob("*.attn"))


@cache
def operator(name: str) -> Op:
    """The operator of a spec of the gallery."""
    return load(GALLERY / f"{name}.attn")


def spec(name: str) -> Spec:
    """A spec of the gallery, typed."""
    return checked(operator(name).spec)


def truth(name: str, inputs: Inputs, params: Params) -> Outputs:
    """What a spec writes, in float64: outputs, and inouts as a call leaves them."""
    return unfused.truth(spec(name), only(name, inputs), params)


def only(name: str, inputs: Inputs) -> Inputs:
    """Of some inputs, those of a spec."""
    return {tensor.name: inputs[tensor.name] for tensor in operator(name).signature.inputs}


def ours(
    name: str,
    params: Params,
    label: str = "ours",
    of: Callable[[Inputs], Inputs] = lambda x: x,
    truth: Callable[[Inputs], Outputs] | None = None,
) -> Contestant:
    """A spec as a user calls it, on what `of` makes of the row's inputs; what it writes of these is compared too."""

    def bind(inputs: Inputs) -> Callable[[], Any]:
        op = operator(name)
        given, written = lent(op.signature, only(name, of(inputs)))
        call = partial(op, **given, **params)
        if not written:
            return call
        count = len(op.signature.outputs)
        return lambda: (*(call() if count > 1 else (call(),) * count), *written)

    return Contestant(label, bind, ours=True, truth=truth)


def scheduled(name: str, params: Params, label: str, schedule: Mapping[str, int]) -> Contestant:
    """A spec's generated Triton file, where a choice of its schedule is made otherwise."""

    def bind(inputs: Inputs) -> Callable[[], Any]:
        op = operator(name)
        given, written = lent(op.signature, only(name, inputs))
        tensors = list(given.values())
        if not tensors[0].is_cuda:
            raise Refused("the file is for a GPU")
        bound = check(op.signature, tensors, params)
        function = program(op, tuple(bound.types.items()), tuple((d, bound.dims[d]) for d in op.signature.features))
        launched = partial(function, schedule=schedule)

        def call() -> list[torch.Tensor]:
            outputs = [
                empty(shape, element, tensors[0].device)
                for shape, element in zip(bound.shapes, op.binding.output_elements(bound), strict=True)
            ]
            Arguments(tuple(tensors), tuple(outputs)).passed_to(launched, params)
            return [*outputs, *written]

        return call

    return Contestant(label, bind)


@cache
def program(op: Op, types: tuple[tuple[str, str], ...], sizes: tuple[tuple[str, int], ...]) -> Callable[..., None]:
    """The function of a generated Triton file."""
    return load_function(op.artifact("triton", dict(sizes), **dict(types)))
