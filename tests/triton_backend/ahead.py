"""Specs, compiled ahead of time for tests."""

from __future__ import annotations

from itertools import islice

from attndsl.backends.gpu.aot import CompiledKernel, KernelLaunch, compile_launch, launches, load
from attndsl.backends.gpu.targets import TARGETS
from attndsl.driver.ahead import generated
from attndsl.driver.summarise import summarise
from attndsl.python_names import python_name
from attndsl.testing.case import types_with

from .lowered import GALLERY, spec_of

TARGETS_OF_CI = ("cuda:80", "cuda:90", "hip:gfx942")

ON_GPUS = ("f16", "bf16", "f32")

ELEMENTS = {
    name: tuple(dict.fromkeys(e for choices in spec_of(name).types.values() for e in choices if e in ON_GPUS)) or ("",)
    for name in GALLERY
}
"""The element types that each spec of the gallery is compiled for, "" where it leaves no choice."""


def sizes_of(name: str, extent: int) -> dict[str, int]:
    """One extent for all feature dims of a spec."""
    return dict.fromkeys(summarise(spec_of(name)).features, extent)


def compiled(name: str, target: str, element: str, kernels: int | None = None) -> list[CompiledKernel]:
    """The usual code of a spec's kernels, or the first so many: small tiles and extents, the quickest to compile."""
    text, tensors = generated(spec_of(name), types_of(name, element), target, sizes_of(name, 16))
    first: dict[str, KernelLaunch] = {}
    for launch in launches(text, python_name(name), tensors):
        tiles = {size: 16 for size in ("ROWS", "KEYS") if size in launch.values}
        first.setdefault(launch.kernel, launch._replace(values={**launch.values, **tiles}))
    functions = load(text)
    return [
        compile_launch(functions[kernel], launch, "usual", TARGETS[target])
        for kernel, launch in islice(first.items(), kernels)
    ]


def compiled_as_launched(name: str, target: str, element: str, sizes: dict[str, int]) -> list[CompiledKernel]:
    """The usual code of all that a spec may launch."""
    text, tensors = generated(spec_of(name), types_of(name, element), target, sizes)
    functions = load(text)
    return [
        compile_launch(functions[launch.kernel], launch, "usual", TARGETS[target])
        for launch in launches(text, python_name(name), tensors)
    ]


def types_of(name: str, element: str) -> dict[str, str]:
    """That element type for each type variable of a spec that allows it, the usual one for others."""
    return types_with(spec_of(name), element)
