"""Generated Triton becomes GPU code on a machine that has no GPU."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import pytest

from attndsl.backends.triton.aot import Binary, TritonMissing, compile_ahead

from .lowered import GALLERY, gallery_module, spec_of

ELF = b"\x7fELF"


def compiled(name: str, target: str, element: str = "f16", size: int = 16) -> list[Binary]:
    spec = spec_of(name)
    return compile_ahead(gallery_module(name, element), target, dict.fromkeys(spec.dims, size), spec.source.text)


@pytest.mark.parametrize("target", ["cuda:90", "hip:gfx942"])
@pytest.mark.parametrize("name", GALLERY)
def test_every_gallery_spec_compiles(name: str, target: str) -> None:
    binaries = compiled(name, target)
    assert len(binaries) == len(spec_of(name).blocks)
    for binary in binaries:
        assert binary.code.startswith(ELF)
        assert binary.kernel in binary.assembly


@pytest.mark.parametrize("target", ["cuda:80", "cuda:100", "cuda:120", "hip:gfx950"])
def test_every_kind_of_target_compiles(target: str) -> None:
    (binary,) = compiled("paged_decode", target)
    assert binary.target == target
    assert binary.code.startswith(ELF)


@pytest.mark.parametrize("element", ["bf16", "f32"])
def test_other_element_types_compile(element: str) -> None:
    (binary,) = compiled("gqa", "cuda:90", element)
    assert binary.signature["q_ptr"] == {"bf16": "*bf16", "f32": "*fp32"}[element]


def test_a_binary_says_how_it_is_launched() -> None:
    (binary,) = compiled("gqa", "cuda:90", size=40)
    assert binary.constants == {"D": 40, "E": 40, "D_PAD": 64, "E_PAD": 64}
    assert [name for name, type_ in binary.signature.items() if type_ == "constexpr"] == ["E", "D", "E_PAD", "D_PAD"]
    assert binary.signature["M"] == "i64"
    assert binary.num_warps == 4
    assert binary.shared > 0


def test_an_unknown_target_is_named() -> None:
    with pytest.raises(ValueError, match="cuda:42 is none of cuda:80"):
        compiled("mha", "cuda:42")


def test_a_missing_size_is_named() -> None:
    with pytest.raises(KeyError, match="E"):
        compile_ahead(gallery_module("mha", "f16"), "cuda:90", {"D": 16})


def test_without_triton_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    find: Callable[..., Any] = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "triton" else find(name))
    with pytest.raises(TritonMissing, match="pip install 'attndsl\\[triton\\]'"):
        compiled("mha", "cuda:90")
