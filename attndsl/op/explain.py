"""What a compiled spec does for a shape, told to a person."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from attndsl.checking.numbers import LARGEST_SIZE
from attndsl.checking.symbolic import evaluate
from attndsl.checking.typed import Kind
from attndsl.driver.artifact import Artifact
from attndsl.driver.hints import did_you_mean
from attndsl.driver.library import artifact_of, checked
from attndsl.driver.signature import Signature, TensorSignature
from attndsl.driver.targets import ROLES_TARGET, TARGETS, place_of, target_of
from attndsl.ir.machines import MACHINES, PROCESSORS, Device
from attndsl.op.checks import shown
from attndsl.storage import ELEMENTS
from attndsl.syntax.source import Source


@dataclass(frozen=True, slots=True)
class Traffic:
    """The bytes of all inputs and of all outputs, and the floating-point operations were no position masked.

    `traffic` counts those of the spec, each once; `explain` those of the program, which may make some of them anew.
    """

    read: int
    written: int
    work: int


def traffic(signature: Signature, types: Mapping[str, str], dims: Mapping[str, int]) -> Traffic:
    """What a call with these dims touches. Parameters have their defaults, or 1 where they have none.

    Raises ValueError where that is beyond all floats.
    """
    params = _params(signature, dims)

    def size(tensors: Iterable[TensorSignature]) -> int:
        return sum(
            math.prod(max(0, evaluate(extent, dims, params)) for extent in tensor.extents)
            * ELEMENTS[types.get(tensor.element, tensor.element)].itemsize
            for tensor in tensors
        )

    work = signature.operations(dims, params)
    found = Traffic(size(signature.inputs), size(signature.outputs), work)
    if max(found.read, found.written, found.work) > sys.float_info.max:
        raise ValueError(f"a call of {signature.name} with these dims is more than a float can count")
    return found


def _params(signature: Signature, dims: Mapping[str, int]) -> dict[str, int | float | bool]:
    found: dict[str, int | float | bool] = {}
    for param in signature.params:
        value = 1 if param.default is None else param.default
        with suppress(ZeroDivisionError):
            value = value if param.formula is None else evaluate(param.formula, dims, found)
        found[param.name] = value
    return found


@dataclass(frozen=True, slots=True)
class Limit:
    """The least time that a device takes for all of a call's bytes and operations, in seconds."""

    device: Device
    rate: float
    moving: float
    computing: float

    @property
    def seconds(self) -> float:
        """At best both overlap."""
        return max(self.moving, self.computing)

    def __str__(self) -> str:
        moving = f"{duration(self.moving)} for bytes at {quantity(self.device.read, 'B/s')}"
        computing = f"{duration(self.computing)} for products at {quantity(self.rate, 'flop/s')}"
        return f"{duration(self.seconds)} on {self.device.name}, were nothing masked: {moving}, {computing}"


def limit_of(artifact: Artifact, moved: Traffic) -> Limit | None:
    """The limit of the GPU that code is for; None for code that is for none.

    Products are made at the rate of the narrowest floats that are read: whatever their other operands, none is higher.
    """
    if artifact.machine not in MACHINES:
        return None
    device = MACHINES[artifact.machine].device
    elements = [ELEMENTS[artifact.types.get(tensor.element, tensor.element)] for tensor in artifact.signature.inputs]
    rate = device.rates[min((e.itemsize for e in elements if e.kind is Kind.FLOAT), default=1)]
    return Limit(device, rate, (moved.read + moved.written) / device.read, moved.work / rate)


def compiled_for(target: str, signature: Signature, dims: Mapping[str, int]) -> tuple[str, dict[str, int], str | None]:
    """How code for a target is asked of `artifact_of`: who emits it, the extents that it is made for, its machine.

    `numpy` is the CPU at hand, as calls take it. Raises UnknownTarget, a ValueError.
    """
    row, machine = place_of(target)
    if row.processors and target == row.name:
        from attndsl.op.calibrate import suited

        machine = suited().machine
    return row.name, {dim: dims[dim] for dim in signature.features} if row.specialised else {}, machine


def check_dims(signature: Signature, dims: Mapping[str, int]) -> None:
    """Raises ValueError unless every dim of the spec, and nothing else, has an extent that a call could have."""
    for name in dims:
        if name not in signature.dims:
            hint = did_you_mean(name, signature.dims)
            raise ValueError(f"{signature.name} has no dim {name}{hint} It has {', '.join(signature.dims)}")
    if missing := [name for name in signature.dims if name not in dims]:
        raise ValueError(f"{signature.name} needs an extent for {', '.join(missing)} too")
    for name, size in dims.items():
        if not isinstance(size, int) or not 0 <= size <= LARGEST_SIZE:
            raise ValueError(f"{name} = {shown(size)}: an extent is an int from 0 to 2^48")


def computed(source: Source, artifact: Artifact, dims: Mapping[str, int], needed: int) -> int:
    """The floating-point operations of the contractions that a program does for these dims, were no position masked.

    What the spec needs, where that is so much that the program's indices would leave 64 bits: no call is so large.
    """
    if needed >= 2**63:
        return needed
    from attndsl.driver.compile import lower
    from attndsl.driver.unmasked import unmasked
    from attndsl.ir.work import work_of

    signature = artifact.signature
    spec = unmasked(checked(source, *_left_out(source, signature)))
    sizes = {dim: dims[dim] for dim in signature.features} if target_of(artifact.target).specialised else {}
    module, _ = lower(spec, artifact.types, artifact.target, sizes, artifact.machine)
    return work_of(module, dims, _params(signature, dims))


def _left_out(source: Source, signature: Signature) -> list[str]:
    """The inputs of a spec that a signature does without."""
    given = {tensor.name for tensor in signature.inputs}
    return [tensor.name for tensor in checked(source).inputs if tensor.name not in given]


def taken(source: Source, artifact: Artifact, dims: Mapping[str, int]) -> dict[str, str]:
    """On a GPU where warps can have roles: which have some, or why none, and which form of its kernels a call takes."""
    if artifact.machine not in TARGETS[ROLES_TARGET].machines:
        return {}
    from attndsl.op.forms import form

    signature = artifact.signature
    if artifact.target != ROLES_TARGET:
        sizes = {dim: dims[dim] for dim in signature.features}
        left_out = _left_out(source, signature)
        artifact = artifact_of(source, artifact.types, ROLES_TARGET, sizes, artifact.machine, left_out)
    told = {name: str(text) for name, text in artifact.schedule.items() if name.partition(" ")[0] == "roles"}
    found = form(artifact, dims, _params(signature, dims))
    return told if found is None else {**told, "form": found}


def explain(source: Source, artifact: Artifact, dims: Mapping[str, int]) -> str:
    """The schedule of an artifact, and what it moves and computes for these dims, on a GPU at best in what time."""
    rows = explained(source, artifact, dims)
    width = max(len(name) for name, _ in rows)
    return "\n".join([heading(artifact), *(f"  {name:{width}}  {value}" for name, value in rows)])


def heading(artifact: Artifact) -> str:
    """What is explained: `gqa for triton on cuda:90`."""
    place = f" on {artifact.machine}" if artifact.machine in MACHINES else ""
    return f"{artifact.name} for {artifact.target}{place}"


def explained(source: Source, artifact: Artifact, dims: Mapping[str, int]) -> list[tuple[str, str]]:
    """What there is to say, each with its name."""
    needed = traffic(artifact.signature, artifact.types, dims)
    moved = replace(needed, work=computed(source, artifact, dims, needed.work))
    again = f", of which the spec needs {quantity(needed.work, 'flop')} once" if moved.work > needed.work else ""
    types = ", ".join(f"{name} = {element}" for name, element in artifact.types.items())
    rows = [("types", types)] if types else []
    rows += [("dims", ", ".join(f"{name} = {dims[name]}" for name in artifact.signature.dims))]
    chosen = {**artifact.schedule, **taken(source, artifact, dims)}
    rows += [(name.replace("_", " "), _said(value)) for name, value in chosen.items()]
    if artifact.machine in PROCESSORS:
        rows.append(("products", chosen_products(artifact.machine)))
        if (tiles := chosen_tiles(artifact.machine)) is not None:
            rows.append(("tiles", tiles))
    rows += [
        ("inputs", f"{quantity(moved.read, 'B', 1024)}"),
        ("outputs", f"{quantity(moved.written, 'B', 1024)}"),
        ("work", f"{quantity(moved.work, 'flop')}{again}, were no position masked"),
    ]
    if moved.read + moved.written:
        rows.append(("intensity", f"{moved.work / (moved.read + moved.written):.1f} flop/B"))
    if (limit := limit_of(artifact, moved)) is not None:
        rows.append(("limit", str(limit)))
    return rows


def _said(value: int | str) -> str:
    """A setting as a spec has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def chosen_products(machine: str) -> str:
    """How products are made in code for a CPU, and why."""
    from attndsl.op.calibrate import WAYS, suited, variant

    here, plain = suited(), variant(machine, compiled=False)
    return here.why if plain == variant(here.machine, compiled=False) else f"{WAYS[plain]}, as {machine} asks for"


def chosen_tiles(machine: str) -> str | None:
    """How passes over tiles are made in code for a CPU, and why; None where nothing is there to choose."""
    from attndsl.op.calibrate import suited

    here, compiled = suited(), PROCESSORS[machine].compiled
    if machine == here.machine:
        return here.tiles or None
    return f"compiled where Numba is installed, as {machine} asks for" if compiled else None


def quantity(value: float, unit: str, base: int = 1000) -> str:
    """A number a person can read, `1.5 GiB` or `20 Gflop`."""
    prefixes = ("", "Ki", "Mi", "Gi", "Ti", "Pi") if base == 1024 else ("", "k", "M", "G", "T", "P")
    power = 0
    while value >= base and power < len(prefixes) - 1:
        value, power = value / base, power + 1
    return f"{value:.3g} {prefixes[power]}{unit}" if value < 1000 else f"{value:.0f} {prefixes[power]}{unit}"


def duration(seconds: float) -> str:
    """A time a person can read, `12.3 µs`."""
    return f"{seconds * 1e6:.3g} µs" if seconds < 1e-3 else f"{seconds * 1e3:.4g} ms"
