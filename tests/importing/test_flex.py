"""Mods of FlexAttention, imported: the text is a golden, and computes what `flex_attention` does."""

from __future__ import annotations

import random
import sys
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

import attndsl
from attndsl.syntax.format import format_text
from attndsl.syntax.source import Source
from tests.importing import mods

GOLDENS = Path(__file__).parent / "goldens"
EXAMPLES = Path(__file__).parents[2] / "examples"

warnings.filterwarnings("ignore", message="flex_attention called without torch.compile")


def tensors(heads: int, kv_heads: int, m: int, n: int) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(m * 100 + n)
    shapes = {"q": (mods.B, heads, m, 8), "k": (mods.B, kv_heads, n, 8), "v": (mods.B, kv_heads, n, 16)}
    return {name: torch.randn(shape, generator=generator) for name, shape in shapes.items()}


compiled = cache(attndsl.compile)


def captured(text: str) -> dict[str, torch.Tensor]:
    """What the mods read, by the names of the spec's inputs."""
    known = {**vars(mods), **vars(mods.here)}
    return {t.name: known[t.name] for t in compiled(text).signature.inputs if t.name not in ("q", "k", "v")}


def agree(
    text: str, score_mod: Any, mask_mod: Any, given: dict[str, torch.Tensor], more: dict[str, Any]
) -> torch.Tensor:
    q, k, v = given["q"], given["k"], given["v"]
    block = mask_mod and create_block_mask(mask_mod, q.shape[0], q.shape[1], q.shape[2], k.shape[2], device="cpu")
    wanted = flex_attention(q, k, v, score_mod=score_mod, block_mask=block, enable_gqa=q.shape[1] != k.shape[1])
    op = compiled(text)
    got = op(**given, **more)
    assert isinstance(got, torch.Tensor) and isinstance(wanted, torch.Tensor)
    torch.testing.assert_close(got, wanted, rtol=2e-5, atol=2e-5)
    arrays = {name: x.numpy() for name, x in {**given, **more}.items()}
    torch.testing.assert_close(torch.from_numpy(op(**arrays)), wanted, rtol=2e-5, atol=2e-5)
    return wanted


@pytest.mark.parametrize("name", mods.MODS)
def test_round_trip(name: str, golden: Callable[[Path, str], None]) -> None:
    score_mod, mask_mod = mods.MODS[name]
    text = attndsl.from_flex(score_mod, mask_mod, name=name)
    golden(GOLDENS / f"{name}.attn", text)
    assert format_text(Source(text)) == text
    wanted = agree(text, score_mod, mask_mod, tensors(mods.H, mods.H, mods.M, mods.N), captured(text))
    if name in ("padding", "bucketed"):
        assert not wanted[1].any()  # rows without keys
    grouped = attndsl.from_flex(score_mod, mask_mod, enable_gqa=True)
    agree(grouped, score_mod, mask_mod, tensors(mods.H, 2, mods.M, mods.N), captured(text))


@pytest.mark.parametrize("name", ["causal", "natten", "alibi", "clipped_bias", "relative_bias", "dilated", "documents"])
def test_odd_sizes(name: str) -> None:
    score_mod, mask_mod = mods.MODS[name]
    text = attndsl.from_flex(score_mod, mask_mod)
    for size in (1, 1), (1, 21), (13, 1), (7, 2):
        agree(text, score_mod, mask_mod, tensors(mods.H, mods.H, *size), captured(text))


def test_numbers_are_parameters() -> None:
    op = attndsl.compile(attndsl.from_flex(mods.softcap, mods.window))
    given = tensors(mods.H, mods.H, mods.M, mods.N)

    def capped(score: Any, b: Any, h: Any, q: Any, kv: Any) -> Any:
        return mods.softcap(score, b, h, q, kv, cap=2.0)

    mask = create_block_mask(mods.generate_sliding_window(2), None, None, mods.M, mods.N, device="cpu")
    wanted = flex_attention(given["q"], given["k"], given["v"], score_mod=capped, block_mask=mask)
    torch.testing.assert_close(op(**given, cap=2.0, window=2), wanted, rtol=2e-5, atol=2e-5)


def test_numbers_that_python_needs_are_constants() -> None:
    def strided(stride: int, backwards: bool) -> Any:
        def mask(b: Any, h: Any, q: Any, kv: Any) -> Any:
            found = kv > q if backwards else kv <= q
            for n in range(stride):
                found = found | (kv == n)
            return found

        return mask

    text = attndsl.from_flex(mask_mod=strided(2, False))
    assert "mask  = j <= i or j == 0 or j == 1\n" in text and "stride" not in text


def test_the_scale() -> None:
    given = tensors(4, 4, 5, 6)
    text = attndsl.from_flex(mods.softcap, scale=0.25)
    assert "scale: f32 = 0.25" in text
    wanted = flex_attention(given["q"], given["k"], given["v"], score_mod=mods.softcap, scale=0.25)
    torch.testing.assert_close(attndsl.compile(text)(**given), wanted, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("name", ["sliding_window", "document_mask", "prefix_lm"])
def test_the_example(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EXAMPLES)
    import flex_mods

    monkeypatch.delitem(sys.modules, "flex_mods")
    given = tensors(4, 2, 13, 13)
    more = {"window": 3, "document": mods.document_id[:, :13].contiguous(), "prefix": mods.prefix_length}
    third = {"sliding_window": "window", "document_mask": "document", "prefix_lm": "prefix"}[name]
    found: list[Any] = []
    monkeypatch.setattr(flex_mods, "masked", lambda q, k, v, mod: found.append(mod))
    getattr(flex_mods, name)(*given.values(), more[third])
    text = attndsl.from_flex(mask_mod=found[0], enable_gqa=True)
    tensor = more[third]
    agree(text, None, found[0], given, {third: tensor} if isinstance(tensor, torch.Tensor) else {})


def drawn(chance: random.Random, depth: int) -> Callable[..., Any]:
    """An int made of indices, numbers and a captured table."""
    if depth == 0:
        number = chance.randint(-5, 5)
        return chance.choice([lambda b, h, q, kv: q, lambda b, h, q, kv: kv, lambda b, h, q, kv: h + number])
    x, y = drawn(chance, depth - 1), drawn(chance, chance.randrange(depth))
    by, low = chance.choice([-3, -2, 2, 3, 4]), chance.randint(-4, 4)
    steps: list[Callable[[Any, Any], Any]] = [
        lambda x, y: x + y,
        lambda x, y: x - 2 * y,
        lambda x, y: -x,
        lambda x, y: x // by,
        lambda x, y: x % by,
        lambda x, y: torch.remainder(x, by) - torch.div(y, by, rounding_mode="floor"),
        lambda x, y: torch.maximum(x, y).clamp(min=low),
        lambda x, y: (x - y).abs().clamp(low, low + 3),
        lambda x, y: torch.where((x < y) ^ (x > low), x, y),
        lambda x, y: (x & 7) | (y >> 1),
        lambda x, y: mods.bucket[(x - y) % 8],
        lambda x, y: mods.bucket[torch.minimum(x.abs(), y.abs()).clamp(max=7)],
        lambda x, y: mods.bucket[x.clamp(-8, 7)],
        lambda x, y: ~x + (x != y),
    ]
    step = chance.choice(steps)
    return lambda *at: step(x(*at), y(*at))


@pytest.mark.parametrize("seed", range(24))
def test_drawn_mods(seed: int) -> None:
    chance = random.Random(seed)
    first, second, by = drawn(chance, 3), drawn(chance, 3), chance.randint(2, 4)

    def mask_mod(b: Any, h: Any, q: Any, kv: Any) -> Any:
        return ((first(b, h, q, kv) % by != 0) & (q >= kv)) | (second(b, h, q, kv) > 1)

    def score_mod(score: Any, b: Any, h: Any, q: Any, kv: Any) -> Any:
        far = second(b, h, q, kv).clamp(-9, 9)
        return score + mods.relative[h, far] + far / 8

    text = attndsl.from_flex(score_mod, mask_mod)
    agree(text, score_mod, mask_mod, tensors(mods.H, mods.H, 9, 11), captured(text))


def test_indices_are_proved() -> None:
    assert "if at < 0" in attndsl.from_flex(mods.relative_bias)
    assert "bias + relative[h, i - j]" not in attndsl.from_flex(mods.relative_bias)
    assert "+ relative[h, i - j]" in attndsl.from_flex(mods.relative_bias, mods.causal)
    assert "if at < 0" in attndsl.from_flex(mods.relative_bias, mods.causal_end)  # up to offset below 0


# --- what a spec cannot say


def branches(b: Any, h: Any, q: Any, kv: Any) -> Any:
    if q > 3:
        return kv < 2
    return kv <= q


def chained(b: Any, h: Any, q: Any, kv: Any) -> Any:
    return q - 3 < kv <= q


def in_place(score: Any, b: Any, h: Any, q: Any, kv: Any) -> Any:
    score += q
    return score


def in_place_method(score: Any, b: Any, h: Any, q: Any, kv: Any) -> Any:
    return score.add_(1)


def unknown(score: Any, b: Any, h: Any, q: Any, kv: Any) -> Any:
    return torch.special.i0(score)


def whole(score: Any, b: Any, h: Any, q: Any, kv: Any) -> Any:
    return score + torch.exp(mods.slopes)[h]


def row(score: Any, b: Any, h: Any, q: Any, kv: Any) -> Any:
    return score + mods.relative[h]


def rounded(score: Any, b: Any, h: Any, q: Any, kv: Any) -> Any:
    return score + mods.clipped[torch.log(q + 1.0).long(), h]


def half(score: Any, b: Any, h: Any, q: Any, kv: Any) -> Any:
    return score.to(torch.bfloat16)


def made(score: Any, b: Any, h: Any, q: Any, kv: Any) -> Any:
    return score + torch.arange(100)[q]


def sliced(score: Any, b: Any, h: Any, q: Any, kv: Any) -> Any:
    return score + mods.relative[h, 1:]


def raises(score: Any, b: Any, h: Any, q: Any, kv: Any) -> Any:
    raise KeyError("cap")


def number(score: Any, b: Any, h: Any, q: Any, kv: Any) -> Any:
    return score + float(q)


def no_condition(b: Any, h: Any, q: Any, kv: Any) -> Any:
    return q - kv


def power(score: Any, b: Any, h: Any, q: Any, kv: Any) -> Any:
    return score**q


REFUSED = [
    *(branches, chained, in_place, in_place_method, unknown, whole, row, rounded, half, made, sliced, raises, number),
    *(no_condition, power),
]


@pytest.mark.parametrize("mod", REFUSED, ids=lambda mod: mod.__name__)
def test_refused(mod: Any, golden: Callable[[Path, str], None]) -> None:
    kind = "score_mod" if mod.__code__.co_argcount == 5 else "mask_mod"
    with pytest.raises(attndsl.CannotImport) as raised:
        attndsl.from_flex(**{kind: mod})
    said = str(raised.value)
    start = mod.__code__.co_firstlineno
    said = said.replace(f"{Path(__file__).name}:", "mods.py:")
    for line in range(start, start + 9):
        said = said.replace(f"mods.py:{line}:", f"mods.py:+{line - start}:")
    golden(Path(__file__).parent / "refused" / f"{mod.__name__}.err", said + "\n")
