"""Random numbers: the words that Philox is published with, and the same numbers however they are computed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from attndsl.backends.numpy.prelude import PRELUDE
from attndsl.bench.unfused.operators import ON_TENSORS
from attndsl.checking.numbers import philox, random_number
from attndsl.ir.meaning import random_numbers
from attndsl.reference.operators import ON_ARRAYS

ONES = 2**32 - 1
PUBLISHED = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((ONES, ONES, ONES, ONES), (ONES, ONES), (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]
"""Counter, key and words of the known answers that come with Random123, the authors' own implementation."""


@pytest.mark.parametrize(("counter", "key", "words"), PUBLISHED)
def test_the_words_are_the_published_ones(
    counter: tuple[int, ...], key: tuple[int, ...], words: tuple[int, ...]
) -> None:
    assert philox(counter, key) == [*words]


def test_a_number_is_24_bits_of_the_first_word() -> None:
    assert random_number(0, 0) == (0x6627E8D5 >> 8) * 2.0**-24
    low, high = philox([7, 9, 0, 0], [3, 5])[0], philox([9, 7, 0, 0], [5, 3])[0]
    assert low != high and random_number(3 + (5 << 32), 7 + (9 << 32)) == (low >> 8) * 2.0**-24


def test_all_ways_to_compute_it_agree() -> None:
    namespace: dict[str, Any] = {"np": np}
    exec(PRELUDE["_random"], namespace)
    edges = np.array([0, 1, -1, 2**31, -(2**31), 2**32 + 3, 2**63 - 1, -(2**63), 0x123456789ABCDEF])
    seed, offset = (array.ravel() for array in np.meshgrid(edges, edges))
    wanted = ON_ARRAYS["random"](seed, offset)
    with np.errstate(all="ignore"):
        assert random_numbers(seed, offset).tolist() == wanted.tolist()
        assert namespace["_random"](seed, offset).tolist() == wanted.tolist()
        assert namespace["_random"](-3, 5) == random_number(-3, 5)
    assert ON_TENSORS["random"](torch.from_numpy(seed), torch.from_numpy(offset)).tolist() == wanted.tolist()
