"""One row of a table: contestants that compute the same, each checked before it is timed, all timed in turns."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from textwrap import shorten
from typing import Any

import torch

from attndsl.bench.timing import Call, Clock, Turn
from attndsl.driver.signature import Signature

Inputs = Mapping[str, torch.Tensor]
Outputs = Mapping[str, torch.Tensor]

Off = Callable[[Any, Outputs], tuple[float, float]]
"""How far what a contestant computes is from what it should be: altogether, and where it is worst."""

CACHE = 4 * 60 * 2**20
"""Bytes that are gone through before any of them is read again: several times the last-level cache of an H200."""

NOTE = 240
"""Characters of what is told of a contestant that refuses."""

COPIES = {"cuda": 256, "cpu": 4}
"""Copies of the inputs at most, by kind of device; on a CPU few calls are made in a row."""

TOLERANCE = {"bf16": 2.0**-7, "f16": 2.0**-10, "f32": 2.0**-15}
"""The largest relative error of an output, as a root mean square over all rows; rounding explains a third of it.

A row alone may have four times as much: few keys do not even out. Where outputs are off because one key in a few
thousand is missing, or rows of one tile are wrong, one of the two is exceeded.
"""


class Refused(Exception):
    """Why a peer does not take part in a row."""


@dataclass(frozen=True)
class Contestant:
    """A way to compute a row's outputs.

    `bind` prepares what is not timed and gives the call; it, or the first call, raises whatever shows that this
    contestant cannot take part. `ours` must: it fails where a peer is merely absent. `truth` gives what it should
    compute where that is something else than the row says, `element` the type in which it does where that is another.
    """

    name: str
    bind: Callable[[Inputs], Callable[[], Any]]
    ours: bool = False
    around: Callable[[], AbstractContextManager[object]] = nullcontext
    truth: Callable[[Inputs], Outputs] | None = None
    element: str | None = None


@dataclass(frozen=True)
class Outcome:
    """What came of a contestant: `seconds` where its outputs are right, else a verdict in their place and why."""

    error: float | None = None
    seconds: float | None = None
    eager: float | None = None
    busy: float | None = None
    verdict: str | None = None
    note: str = ""


def contest(
    contestants: Sequence[Contestant],
    inputs: Inputs,
    wanted: Outputs,
    element: str,
    clock: Clock,
    off: Off | None = None,
) -> dict[str, Outcome]:
    """What came of each contestant, by name. What is wrong by `off`, or by `error`, is never timed."""
    off = off or error
    copies = copies_of(inputs)
    turns: dict[str, Turn] = {}
    outcomes: dict[str, Outcome] = {}
    for contestant in contestants:
        name = contestant.name
        right = contestant.truth(inputs) if contestant.truth is not None else wanted
        with warnings.catch_warnings(record=True) as warned:
            try:
                calls: list[Call] = [contestant.bind(copy) for copy in copies]
                with contestant.around():
                    typical, worst = off(calls[0](), right)
            except Exception as reason:
                # torch says in warnings why none of its kernels takes a call
                reasons = (str(warning.message).partition(" (Triggered internally")[0] for warning in warned)
                note = shorten(" ".join([told(reason), *reasons]), NOTE, placeholder=" …")
                verdict = "FAILED" if contestant.ours else None
                outcomes[name] = Outcome(verdict=verdict, note=f"{name}: {note}")
                continue
        allowed = TOLERANCE[contestant.element or element]
        if typical <= allowed and worst <= 4 * allowed:
            turns[name] = Turn(calls, contestant.around)
            outcomes[name] = Outcome(typical)
        else:
            note = f"{name}: off by {typical:.1e}, by {worst:.1e} in the worst row"
            outcomes[name] = Outcome(typical, verdict="WRONG", note=note)
    for name, time in clock.race(turns).items():
        outcomes[name] = Outcome(outcomes[name].error, time.seconds, time.eager, time.busy)
    return outcomes


def copies_of(inputs: Inputs) -> list[Inputs]:
    """The inputs and copies of them, together larger than the cache."""
    size = sum(tensor.nbytes for tensor in inputs.values())
    most = COPIES[next(iter(inputs.values())).device.type]
    count = min(most, max(1, -(-CACHE // max(1, size))))
    return [inputs, *({name: tensor.clone() for name, tensor in inputs.items()} for _ in range(count - 1))]


def lent(signature: Signature, inputs: Inputs) -> tuple[Inputs, list[torch.Tensor]]:
    """The inputs of a spec with copies of what it writes in place, for one who calls it, and these copies."""
    copies = {name: inputs[name].clone() for name in (signature.inputs[number].name for number in signature.in_place)}
    return {**inputs, **copies}, [*copies.values()]


def error(got: Any, wanted: Outputs) -> tuple[float, float]:
    """The relative error of outputs: a root mean square over rows, and that of the worst row.

    A row is what the last dimension of an output holds, and its error the length of the difference over the length of
    the row. A row of zeros must be one. Raises ArithmeticError where an output has another shape.
    """
    squares = []
    for have, right in paired(got, wanted):
        difference = torch.where(have == right, 0.0, have - right)
        size = torch.where(right.isfinite(), right, 0.0).square().sum(-1)
        square = difference.square().sum(-1) / size
        squares.append(torch.where(square.isnan() & (difference == 0).all(-1), 0.0, square).flatten())
    all_ = torch.cat(squares).nan_to_num(nan=math.inf, posinf=math.inf)
    return float(all_.mean().sqrt()), float(all_.max().sqrt())


def paired(got: Any, wanted: Outputs) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Outputs in the type of what they should be, beside that. Raises ArithmeticError for one of another shape."""
    given = got if isinstance(got, tuple | list) else (got,)
    for tensor, (name, right) in zip(given, wanted.items(), strict=True):
        if tensor.shape != right.shape:
            raise ArithmeticError(f"{name} is {tuple(tensor.shape)}, not {tuple(right.shape)}")
        right = right if right.is_floating_point() else right.double()
        yield tensor.to(right.dtype), right


def told(reason: Exception) -> str:
    """The first line of what an exception says, the beginning of a long one."""
    first = shorten(next(iter(str(reason).strip().splitlines()), ""), 120, placeholder=" …")
    return first if isinstance(reason, Refused) and first else f"{type(reason).__name__}: {first}"
