"""Operators that the real compiler made, from the text of a spec to outputs."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import attndsl
from attndsl import cache
from attndsl.cache import CacheWarning
from attndsl.op.explain import limit_of, traffic

GALLERY = Path(__file__).parents[2] / "examples"

NAMES = """
attention names(unused: int = 3, lambda: f32, range: f32 = 1.0) {
    dims N, D
    types T
    input  is : T[N, D]
    output np : T[N, D]
    output __lse : f32[N]
    each i in N
    over j in N
    score = is[i,:] . is[j,:] * lambda * range
    np[i,:] = softmax(score) . is[j,:]
    __lse[i] = logsumexp(score)
}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(cache.ENVIRONMENT, str(tmp_path / "cache"))
    return tmp_path / "cache"


def qkv(n: int = 7) -> dict[str, Any]:
    random = np.random.default_rng(1)
    shapes = {"q": (2, 4, 5, 8), "k": (2, 2, n, 8), "v": (2, 2, n, 6)}
    return {name: random.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


def attention(q: Any, k: Any, v: Any, window: int) -> Any:
    """What `sliding_window.attn` means, by torch's own attention."""
    m, n = q.shape[2], k.shape[2]
    i, j = torch.arange(m)[:, None] + (n - m), torch.arange(n)
    mask = (j <= i) & (j > i - window)
    q, k, v = map(torch.as_tensor, (q, k, v))
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)


def test_extents_and_parameters_change_with_one_program() -> None:
    op = attndsl.load(GALLERY / "sliding_window.attn")
    for n, window in ((7, 3), (9, 2), (1300, 600)):
        given = qkv(n)
        expected = attention(**given, window=window)
        np.testing.assert_allclose(op(**given, window=window), expected, rtol=1e-5, atol=1e-6)
        tensors = {name: torch.from_numpy(array) for name, array in given.items()}
        torch.testing.assert_close(op(**tensors, window=window), expected)
    assert len(op.binding._functions) == 1


def test_names_that_mean_something_in_python_and_parameters_that_nothing_reads() -> None:
    op = attndsl.compile(NAMES)
    x = np.random.default_rng(0).standard_normal((5, 4)).astype(np.float32)
    outputs = op(**{"is": x, "lambda": 0.5, "range": 2.0})
    p = np.exp(x @ x.T)
    np.testing.assert_allclose(outputs.np, p / p.sum(1, keepdims=True) @ x, rtol=1e-5)
    np.testing.assert_allclose(outputs[1], np.log(p.sum(1)), rtol=1e-5)
    given = {"is": torch.from_numpy(x), "lambda": 0.5, "range": 2.0}
    torch.testing.assert_close(op(**given)[1], torch.from_numpy(outputs[1]))
    compiled = torch.compile(lambda given: op(**given).np, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(given), torch.from_numpy(outputs.np))


def test_a_cached_program_needs_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    given = qkv()
    first = attndsl.load(GALLERY / "gqa.attn")(**given)
    from attndsl.driver import compile as compile_module

    monkeypatch.setattr(compile_module, "compile_spec", None)
    np.testing.assert_array_equal(attndsl.load(GALLERY / "gqa.attn")(**given), first)


def test_a_damaged_cache_changes_nothing(folder: Path) -> None:
    given = qkv()
    first = attndsl.load(GALLERY / "gqa.attn")(**given)
    entries = list(cache.user_cache().folder.iterdir())
    assert len(entries) == 2
    for entry in entries:
        entry.write_bytes(b"damage")
    np.testing.assert_array_equal(attndsl.load(GALLERY / "gqa.attn")(**given), first)
    assert all(entry.read_bytes() != b"damage" for entry in entries)


def test_no_cache_at_all(folder: Path) -> None:
    folder.write_text("a file where the folder should be")
    with pytest.warns(CacheWarning):
        op = attndsl.load(GALLERY / "gqa.attn")
    assert op(**qkv()).shape == (2, 4, 5, 6)


def test_threads_share_an_operator() -> None:
    op = attndsl.load(GALLERY / "gqa.attn")
    given, results = qkv(), []
    threads = [threading.Thread(target=lambda: results.append(op(**given))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    assert all(np.array_equal(result, results[0]) for result in results)


def test_the_spec_s_mistakes_come_at_once() -> None:
    with pytest.raises(attndsl.SpecError, match=r"error\[E"):
        attndsl.compile("attention a { dims }")
    with pytest.raises(attndsl.SpecError, match="there is no file"):
        attndsl.load("nowhere.attn")


@pytest.mark.parametrize(("element", "rate"), [("f16", 989e12), ("f32", 165e12), ("f64", 67e12)])
def test_the_least_time_goes_by_the_type(element: str, rate: float) -> None:
    op = attndsl.load(GALLERY / "mha.attn")
    artifact = replace(op.artifact(T=element), machine="cuda:90")
    dims = {"B": 4, "H": 32, "M": 4096, "N": 4096, "D": 128, "E": 128}
    limit = limit_of(artifact, traffic(op.signature, artifact.types, dims))
    assert limit is not None
    assert limit.seconds == 4 * 4 * 32 * 4096**2 * 128 / rate
