"""Kernels whose warps have roles, on a real Hopper GPU, beside the reference: `make test-gpu`."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any
from typing import Any

import pytest

from attndsl.backends.gpu.aot import load
from attndsl.checking.check import check
from attndsl.checking.typed import Spec
from attndsl.driver.compile import compile_spec
from attndsl.driver.summarise import feature_dims
from attndsl.python_names import python_name
from attndsl.syntax.read import read_source
from attndsl.testing import Case
from attndsl.testing.case import types_with
from attndsl.testing.triton_program import TritonProgram

EXAMPLES = Path(__file__).parents[2] / "examples"

EXTENTS = [(65, 1), (129, 100), (200, 333), (384, 384), (300, 129), (1000, 257), (77, 0)]
"""Rows and keys: more rows than a tile of few has, odd ends, rows that see nothing, whole tiles, and no keys."""


@cache
def spec_of(name: str) -> Spec:
    return check(read_source(str(EXAMPLES / f"{name}.attn")))


@cache
def program(name: str, element: str, extent: int) -> TritonProgram:
    """The file that the target `gluon` has for a spec."""
    spec = spec_of(name)
    sizes = dict.fromkeys(feature_dims(spec), extent)
    source = compile_spec(spec, types_with(spec, element), "gluon", sizes).source
    return TritonProgram(source, load(source)[python_name(spec.name)], "cuda")


@pytest.mark.gpu
@pytest.mark.parametrize(("element", "extent"), [("bf16", 128), ("f16", 64)])
@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("*.attn")))
def test_the_gallery_agrees_with_the_reference(name: str, element: str, extent: int) -> None:
    """All of the gallery: kernels that get no roles stand in their files as they are without."""
    from triton import knobs

    made = program(name, element, extent)
    spec, started = spec_of(name), list[str]()

    def note(lazy: Any) -> None:
        started.append(lazy.get()["name"])

    few = {dim: size for dim, size in {"B": 1, "H": 2, "Hq": 4, "Hkv": 2}.items() if dim in spec.dims}
    features = dict.fromkeys(feature_dims(spec), extent)
    has_roles = "_roles_kernel" in made.source
    knobs.runtime.launch_enter_hook.add(note)
    try:
        for seed, (rows, keys) in enumerate(EXTENTS if has_roles else EXTENTS[1:2]):
            sizes = {"M": rows, "N": keys} if {"M", "N"} <= set(spec.dims) else {}
            case = Case.make(spec, element, seed, {**few, **features, **sizes} if has_roles else None)
            for each in (case, case.poisoned()):
                each.check(f"gluon with {rows} rows of {keys} keys", made.run(each, 1), narrowed=True)
    finally:
        knobs.runtime.launch_enter_hook.remove(note)
    assert has_roles == any("_roles_kernel" in kernel for kernel in started)


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["gqa", "sliding_window", "alibi"])
def test_every_run_gives_the_same_bits(name: str) -> None:
    """A buffer that is filled anew while some warp still reads it gives other bits now and then, and no tolerance sees it."""
    made = program(name, "bf16", 128)
    case = Case.make(spec_of(name), "bf16", 3, {"D": 128, "E": 128, "M": 1500, "N": 1500})
    first = made.run(case, 1)
    for _ in range(20):
        again = made.run(case, 1)
        assert all((again[name].view("u1") == first[name].view("u1")).all() for name in first)
