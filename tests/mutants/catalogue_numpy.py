"""Mutants of the emitter of NumPy."""

from __future__ import annotations

from typing import Any

import pytest

from attndsl.backends.numpy import compiled, expressions, prelude
from attndsl.backends.numpy.compiled import COMPILED_SPELLINGS
from attndsl.backends.numpy.pointwise import NUMPY_SPELLINGS
from attndsl.backends.text import COMPARISON_SIGNS
from attndsl.ir import spec
from attndsl.ir.xdsl import Operation, arith, math

from .mutant import misspells, planted, rewords, rewrites_lines, wraps


@planted("numpy", "numpy")
def mask_multiplied(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two numbers none is chosen: one is multiplied with 0."""
    misspells(monkeypatch, NUMPY_SPELLINGS, arith.SelectOp, "(({0}) * ({1}) + ~({0}) * ({2}))")


@planted("numpy", "numpy")
def quotient_towards_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    """-1 / 2 is 0."""
    misspells(monkeypatch, NUMPY_SPELLINGS, arith.FloorDivSIOp, "np.trunc(({0}) / ({1})).astype(np.int64)")


@planted("numpy", "numpy")
def remainder_with_the_sign_of_the_dividend(monkeypatch: pytest.MonkeyPatch) -> None:
    """-1 % 2 is -1."""
    misspells(monkeypatch, NUMPY_SPELLINGS, spec.ModOp, "np.fmod({0}, {1})")


@planted("numpy", "numpy")
def at_least_for_more_than(monkeypatch: pytest.MonkeyPatch) -> None:
    """> is written >=."""
    monkeypatch.setitem(COMPARISON_SIGNS, "sgt", ">=")


@planted("numpy", "numpy")
def bf16_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """A number is not rounded to bf16, but rounded down."""
    rewords(monkeypatch, prelude.PRELUDE, "_to_bf16", "bits + 0x7FFF + ((bits >> 16) & 1)", "bits")


@planted("numpy", "numpy")
def stored_ints_rounded_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """A float that is written to ints of 8 bits is the next lower one."""
    rewords(monkeypatch, prelude.PRELUDE, "_nearest", "np.rint", "np.floor")


@planted("numpy", "numpy")
def stored_floats_overflow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A float that is too large for 8 bits is as it comes."""
    rewords(monkeypatch, prelude.PRELUDE, "_to_f8", "np.minimum(np.abs(numbers), largest)", "np.abs(numbers)")


@planted("numpy", "numpy")
def seed_of_one_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """The upper half of a seed makes no difference."""
    rewords(monkeypatch, prelude.PRELUDE, "_random", "seed & word, seed >> 32", "seed & word, seed & 0")


@planted("numpy", "numpy")
def subnormals_halved(monkeypatch: pytest.MonkeyPatch) -> None:
    """The smallest numbers of 8 bits have an exponent of their own."""
    rewords(monkeypatch, prelude.PRELUDE, "_F8E4M3", "max(code >> 3 & 15, 1)", "(code >> 3 & 15)")


@planted("numpy", "numpy")
def nan_times_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    """A matrix product is taken as it is where any number of it is finite."""
    rewrites_lines(monkeypatch, r"np\.isfinite\((\w+)\)\.all\(\)", r"np.isfinite(\1).any()")


@planted("numpy", "numpy")
def maximum_is_never_negative(monkeypatch: pytest.MonkeyPatch) -> None:
    """The largest of a tile is at least 0."""
    rewrites_lines(monkeypatch, r"initial=-np\.inf", "initial=0.0")


@planted("numpy", "numpy")
def blocks_beside_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """What stands for a block is not repeated along it: all blocks are, one after another."""
    rewrites_lines(monkeypatch, r"np\.repeat\((\w+), (\d+), axis=(\d)\)", r"np.concatenate([\1] * \2, axis=\3)")


@planted("numpy", "numpy")
def some_read_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """A gather is taken to be in range where any of it is."""
    rewords(monkeypatch, prelude.PRELUDE, "_read", "np.all(where)", "np.any(where)")


@planted("numpy", "numpy")
def second_row_overwrites(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of rows of a tile that add to one element, the last one's value is added alone."""
    rewrites_lines(monkeypatch, r"np\.add\.at\((\w+), np\.s_(\[.*?\]), (.*)\)$", r"\1\2 += \3")


@planted("numpy", "numpy")
def next_program_overwrites(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a program adds takes the place of what was there."""
    rewrites_lines(monkeypatch, r"^(\w+\[.*\]) \+= ", r"\1 = ")


@planted("numpy", "numpy")
def sums_kept_in_16_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each addition to an output of a smaller type is rounded."""
    rewrites_lines(monkeypatch, r"^(\w+_total\w* = np\.empty\(.*), np\.float\d\d\)", r"\1, np.float16)")


@planted("numpy", "numpy")
def short_constants(monkeypatch: pytest.MonkeyPatch) -> None:
    """Constants are written with two digits."""

    def literal(original: Any, value: Any, type_: Any) -> Any:
        return original(float(f"{value:.2g}") if isinstance(value, float) else value, type_)

    wraps(monkeypatch, expressions, "literal", literal)


@planted("numpy", "numpy")
def products_of_32_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Integers of a tile have 64 bits, but their products 32."""
    misspells(monkeypatch, NUMPY_SPELLINGS, arith.MuliOp, "(({0}) * ({1})).astype(np.int32).astype(np.int64)")


@planted("numpy", "numpy")
def written_over_the_other_operand(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written into an array is computed of its operands the other way round."""

    def operands(original: Any, text: Any, op: Any, level: int) -> list[str]:
        found: list[str] = original(text, op, level)
        return found if level else found[::-1]

    wraps(monkeypatch, expressions.NumPyExpressions, "operands", operands)


@planted("numpy", "numpy")
def written_over_what_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A number is put where a condition holds, and not where it does not."""
    rewrites_lines(monkeypatch, r"where=~", "where=")


@planted("numpy", "numpy")
def power_of_another_base_in_a_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """What Numba compiles takes powers of 2."""
    spellings: dict[type[Operation], str] = {**COMPILED_SPELLINGS, math.ExpOp: "np.exp2({0})"}
    monkeypatch.setattr(compiled, "COMPILED_SPELLINGS", spellings)


@planted("numpy", "numpy")
def row_without_a_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of an odd number of rows that a loop sums in pairs, the last one is forgotten."""
    rewords(monkeypatch, prelude.PRELUDE, "_row_sums", "if (stop - start) % 2:", "if stop < start:")


@planted("numpy", "numpy")
def page_after_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that a table places are read one behind another, wherever it places them."""
    index = "sum(index * step for index, step in zip(indices, steps))"
    wrong = "sum(np.sort(index) * step for index, step in zip(indices, steps))"
    rewords(monkeypatch, prelude.PRELUDE, "_deferred", index, wrong)


@planted("numpy", "numpy")
def later_of_equal_scores_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys whose scores tie are ranked from the last one."""
    sort = 'np.argsort(-found, kind="stable")[:count]'
    rewords(monkeypatch, prelude.PRELUDE, "_top", sort, 'np.argsort(found, kind="stable")[::-1][:count]')


@planted("numpy", "numpy")
def edge_at_the_beginning_of_a_tile(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop masks as many keys as it should, but the first ones of a tile."""
    monkeypatch.setattr(compiled._Function, "place", lambda function, mask: function.places[mask.over])


@planted("numpy", "numpy")
def infinity_of_f16_is_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop that widens f16 makes 65536 of Inf."""
    rewords(monkeypatch, prelude.PRELUDE, "_widen", "odd if (number & 0x7C00) == 0x7C00 else finite", "finite")
