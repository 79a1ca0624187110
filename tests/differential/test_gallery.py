"""Every spec of the gallery beside its reference: at each stage, in each element type, at odd sizes and layouts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attndsl.checking.typed import Kind
from attndsl.inputs import relay
from attndsl.testing import Case, check_stages

GALLERY = sorted(path.stem for path in (Path(__file__).parents[2] / "examples").glob("*.attn"))

UNLIKE = GALLERY[::5]
"""Specs whose stages are tried at once; those of all others take a minute more."""


def others_in_the_matrix(names: list[str]) -> list[Any]:
    """All names; those that are not tried at once belong to the matrix."""
    return [name if name in UNLIKE else pytest.param(name, marks=pytest.mark.matrix) for name in names]


LONG = {"H": 1, "Hq": 2, "Hkv": 1, "M": 129, "N": 513, "D": 5, "E": 3}
"""Just beyond one tile of rows and one of keys, at the sizes that tiles have by default."""


@pytest.mark.parametrize("name", others_in_the_matrix(GALLERY))
def test_every_stage_agrees_whatever_absent_memory_holds(name: str, spec_of: Any) -> None:
    spec = spec_of(name)
    check_stages([Case.make(spec, seed=0).poisoned(), Case.make(spec, seed=1, hostile=True).poisoned()])


@pytest.mark.parametrize(
    ("name", "element"),
    [(n, "f16") for n in GALLERY]
    + [(n, "f64") for n in GALLERY[::3]]
    + [pytest.param(n, "bf16", marks=[pytest.mark.matrix] if place % 3 else []) for place, n in enumerate(GALLERY)],
)
def test_every_element_type_agrees(name: str, element: str, spec_of: Any, program_of: Any) -> None:
    case = Case.make(spec_of(name), element, seed=2, hostile=element == "bf16", layout="sliced")
    case.check("numpy", program_of(name, element).run(case))


@pytest.mark.parametrize("name", GALLERY)
def test_absent_memory_changes_no_bit(name: str, spec_of: Any, program_of: Any) -> None:
    program = program_of(name)
    for hostile in (False, True):
        case = Case.make(spec_of(name), seed=3, hostile=hostile)
        clean, poisoned = program.run(case), program.run(case.poisoned())
        for output in clean:
            np.testing.assert_array_equal(clean[output].view(np.uint8), poisoned[output].view(np.uint8))


@pytest.mark.parametrize("name", GALLERY)
def test_layouts_do_not_matter(name: str, spec_of: Any, program_of: Any) -> None:
    plain = Case.make(spec_of(name), seed=4)
    for layout in ("transposed", "sliced", "reversed"):
        arrays = {array: relay(values, layout) for array, values in plain.arrays.items()}
        assert any(not array.flags.c_contiguous for array in arrays.values())
        plain.check("numpy", program_of(name).run(plain.given(**arrays)))
    repeated = Case.make(spec_of(name), seed=4, layout="broadcast")
    repeated.check("numpy", program_of(name).run(repeated))


@pytest.mark.parametrize("size", [0, 1])
@pytest.mark.parametrize("name", GALLERY)
def test_a_dim_of_nothing_or_of_one(name: str, size: int, spec_of: Any, program_of: Any) -> None:
    spec, tried = spec_of(name), 0
    few = {dim: 1 for dim in ("B", "H", "Hkv") if dim in spec.dims}
    for dim in spec.dims:
        try:
            case = Case.make(spec, seed=5, dims={**few, dim: size})
        except ValueError:  # the spec asks for more of this dim
            continue
        case.check("numpy", program_of(name).run(case))
        tried += 1
    assert tried > 1


@pytest.mark.parametrize("name", ["causal_start", "dilated", "encoder", "lse", "sinks", "sliding_window"])
def test_lengths_just_beyond_the_default_tiles(name: str, spec_of: Any, program_of: Any) -> None:
    spec = spec_of(name)
    dims = {dim: size for dim, size in {"B": 1, **LONG}.items() if dim in spec.dims}
    params = {p.name: 130 for p in spec.params if p.kind is Kind.INT}
    case = Case.make(spec, dims=dims, params=params)
    case.check("numpy", program_of(name, rows=128, keys=512).run(case))
