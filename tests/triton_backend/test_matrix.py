"""Every spec of the gallery compiles for every target of CI in every element type; what must be fast spills nothing."""

from __future__ import annotations

import pytest

from .ahead import ELEMENTS, TARGETS_OF_CI, compiled, compiled_as_launched
from .lowered import GALLERY

pytestmark = pytest.mark.matrix

FAST = {
    "mha": {"D": 128, "E": 128},
    "gqa": {"D": 128, "E": 128},
    "paged_decode": {"D": 128, "E": 128},
    "mla_paged": {"R": 512, "P": 64},
}
"""The specs that must be fast, at the extents of their feature dims there."""


@pytest.mark.parametrize("target", TARGETS_OF_CI)
@pytest.mark.parametrize(("name", "element"), [(name, element) for name in GALLERY for element in ELEMENTS[name]])
def test_compiles(name: str, element: str, target: str) -> None:
    for binary in compiled(name, target, element):
        assert binary.code.startswith(b"\x7fELF")


@pytest.mark.parametrize("target", TARGETS_OF_CI)
@pytest.mark.parametrize("name", FAST)
def test_nothing_is_spilled(name: str, target: str) -> None:
    found = {
        f"{binary.kernel} {dict(binary.constants)} {dict(binary.options)}": binary.resources.spilled
        for binary in compiled_as_launched(name, target, "bf16", FAST[name])
    }
    assert found == dict.fromkeys(found, 0)
