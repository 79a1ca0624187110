"""The gallery compiles for each target of CI and in each element type; what must be fast spills nothing."""

from __future__ import annotations

import resource
from itertools import product
from pathlib import Path

import pytest

from attndsl.driver.ahead import gpu_files

from .ahead import ELEMENTS, TARGETS_OF_CI, compiled, compiled_as_launched
from .lowered import GALLERY, spec_of

pytestmark = pytest.mark.matrix

FAST = {
    "mha": {"D": 128, "E": 128},
    "gqa": {"D": 128, "E": 128},
    "paged_decode": {"D": 128, "E": 128, "S": 64},
    "mla_paged": {"R": 512, "P": 64, "S": 64},
}
"""The specs that must be fast, at the extents of their feature dims there."""


LINE = [
    (name, ELEMENTS[name][row // len(TARGETS_OF_CI) % len(ELEMENTS[name])], TARGETS_OF_CI[row % len(TARGETS_OF_CI)])
    for row, name in enumerate(GALLERY)
]
"""Every spec once, in a type and for a target that follow each other: each type meets each target in several specs.

All types for all targets took nine times as long. What differs by target is in few operations, which many specs share.
"""


@pytest.mark.parametrize(("name", "element", "target"), LINE)
def test_compiles(name: str, element: str, target: str) -> None:
    for binary in compiled(name, target, element):
        assert binary.code.startswith(b"\x7fELF")


SPILLING = {
    ("mha", "cuda:80"): "2 registers with 32 rows, and in the merge",
    ("gqa", "cuda:80"): "28 registers with 64 rows",
    ("paged_decode", "cuda:80"): "2 registers in the merge",
    ("mla_paged", "cuda:80"): "28 registers with 16 rows, some 200 with more",
    ("mla_paged", "cuda:90"): "8 to 20 registers with 16 and 32 rows, 232 with 64",
}
"""What is still wrong with the schedules of some."""


@pytest.mark.parametrize(
    ("name", "target"),
    [
        pytest.param(
            *case,
            marks=pytest.mark.xfail(reason=SPILLING[case], raises=AssertionError) if case in SPILLING else (),
        )
        for case in product(FAST, TARGETS_OF_CI)
    ],
)
def test_nothing_is_spilled(name: str, target: str) -> None:
    found = {
        f"{binary.kernel} {dict(binary.constants)} {dict(binary.options)}": binary.resources.spilled
        for binary in compiled_as_launched(name, target, "bf16", FAST[name])
    }
    assert found == dict.fromkeys(found, 0)


@pytest.mark.parametrize("target", TARGETS_OF_CI)
@pytest.mark.parametrize("name", ["mha", "mla_paged"])
def test_all_that_may_be_launched_fits(name: str, target: str) -> None:
    """In f32, whose products keep most in shared memory; what is too large is not compiled but refused."""
    assert compiled_as_launched(name, target, "f32", FAST[name])


def processor_time() -> float:
    """The seconds of this process and of those that it has started and waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


@pytest.mark.parametrize("name", ["nvfp4", "five_bit"])
def test_caches_that_are_unpacked_take_seconds_to_compile(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """26 to 41 of one core where nothing else runs; beside other work the same takes half as much again."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    start = processor_time()
    gpu_files(spec_of(name), {"T": "bf16"}, "cuda:90", {"D": 128, "E": 128})
    assert processor_time() - start < 60
