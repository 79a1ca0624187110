"""Every spec of the gallery at one realistic shape, beside itself in plain torch: to see that none is pathological."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import torch

from attndsl.bench import draw
from attndsl.bench.contest import Contestant, Inputs, Refused
from attndsl.bench.inputs import random_tensors
from attndsl.bench.ours import gallery, operator, ours, spec
from attndsl.bench.results import Column, of_bytes, of_milliseconds
from attndsl.bench.suite import Cost, Effort, Found, Suite, Work
from attndsl.bench.unfused import UnfusedCall
from attndsl.checking.typed import FLOAT_TYPES
from attndsl.inputs import default_dims, default_params
from attndsl.op.explain import traffic

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from attndsl.checking.typed import Spec

US = 1e-6

SHAPE = {
    "B": 2,
    "H": 16,
    "Hq": 16,
    "Hkv": 4,
    "M": 1024,
    "N": 1024,
    "D": 64,
    "E": 64,
    "Y": 32,
    "X": 32,
    "K": 256,
    "R": 512,
    "S": 16,
    "L": 64,
    "C": 128,
}
"""Extents by dim."""

ROTARY, PAGES, PREFIX = 64, 128, 1024
"""What P is in a spec of latents, of pages, and of a shared prefix."""

DECAYS = {"gamma"}
"""Inputs of which a spec takes the power that a distance is."""

LARGEST = 2**31
"""Elements of an intermediate of the form in plain torch."""

COLUMNS = (
    Column("spec"),
    Column("type"),
    Column("shape", shown=False),
    Column("bytes", of_bytes),
    Column("error", "{:.1e}".format),
    Column("ours", of_milliseconds),
    Column("GB/s", "{:.0f}".format),
    Column("TFLOP/s unmasked", "{:.1f}".format),
    Column("naive", of_milliseconds),
    Column("naive / ours", "{:.1f}".format),
    Column("ours, eager", of_milliseconds),
    Column("notes", shown=False),
)


def shape_of(of: Spec) -> dict[str, int]:
    """The extents of a spec's dims."""
    known = {**SHAPE, "P": ROTARY if "R" in of.dims else PAGES if "S" in of.dims else PREFIX}
    return default_dims(of, given={name: size for name, size in known.items() if name in of.dims})


def plain(name: str) -> Contestant:
    """A spec in plain torch operations, all in memory."""

    def bind(inputs: Inputs) -> Callable[[], tuple[torch.Tensor, ...]]:
        call = UnfusedCall(spec(name), inputs, {})
        if call.intermediate > LARGEST:
            raise Refused(f"an intermediate has {call.intermediate} elements")
        return lambda: tuple(call.outputs().values())

    return Contestant("naive", bind)


def row(name: str, shape: Mapping[str, int] | None = None) -> Work:
    """A row: one spec, in bf16 where it takes that."""
    of, signature = spec(name), operator(name).signature
    dims = dict(shape or shape_of(of))
    types = {variable: "bf16" if "bf16" in allowed else allowed[0] for variable, allowed in of.types.items()}
    element = next((element for element in types.values() if element in FLOAT_TYPES), "f32")
    params = default_params(of)

    moved = traffic(signature, types, dims)
    return Work(
        labels={"spec": name, "type": element, "shape": " ".join(f"{dim}={size}" for dim, size in dims.items())},
        spec=name,
        element=element,
        inputs=lambda device: _decaying(random_tensors(of, dims, types, params, device)),
        contestants=(ours(name, params), plain(name)),
        cost=lambda _: Cost(moved.read + moved.written, moved.work),
        params=params,
    )


def _decaying(made: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Random inputs, of which decays lie little below 1: their powers are taken."""
    return {name: torch.sigmoid(tensor + 4) if name in DECAYS else tensor for name, tensor in made.items()}


def works(effort: Effort) -> Iterable[Work]:
    """A row for every spec."""
    names = [path.stem for path in gallery()]
    return [row(name) for name in (names[::8] if effort is Effort.QUICK else names)]


def cells(found: Found) -> dict[str, Any]:
    """What was measured."""
    return {
        "bytes": found.cost.moved,
        "error": found.error,
        "ours": found.time("ours", US),
        "GB/s": found.rate(found.cost.moved, 1e9),
        "TFLOP/s unmasked": found.rate(found.cost.flops, 1e12),
        "naive": found.time("naive", US),
        "naive / ours": found.ratio("naive"),
        "ours, eager": found.eager("ours", US),
    }


def picture(axes: Axes, rows: list[dict[str, Any]]) -> None:
    """How much faster than plain torch each spec is."""
    draw.bars(axes, rows, lambda row: str(row["spec"]), "naive / ours")


SUITE = Suite(
    title="The gallery, each spec at one shape, microseconds",
    columns=COLUMNS,
    works=works,
    cells=cells,
    draw=draw.of(COLUMNS, picture),
    remarks=(
        "'naive' is the spec in plain torch operations, every intermediate in memory.",
        "Operations are counted as if no position were masked.",
    ),
)
