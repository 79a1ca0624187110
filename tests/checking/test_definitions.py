"""Definitions are expanded where they are used, and never capture."""

from __future__ import annotations

import pytest

from attndsl.checking.check import check
from attndsl.checking.text import expression_text
from attndsl.diagnostics import SpecError
from attndsl.syntax.source import Source

from .specs import checked, text


def test_a_sum_in_a_sum_has_a_variable_of_its_own() -> None:
    got = text("let s = sum(d in D) q[b, d]", value="sum(d in D) q[b, d] * s")
    assert got == "sum(d in D) q[b, d] * (sum(d_1 in D) q[b, d_1])"


def test_an_argument_is_not_captured() -> None:
    got = text("let f[i] = sum(d in D) w[i, d]", value="sum(d in D) f[d] * q[b, d]")
    assert got == "sum(d in D) (sum(d_1 in D) w[d, d_1]) * q[b, d]"


def test_a_contraction_of_a_vector_that_holds_one() -> None:
    got = text(value="((q[b, :] . w[:, 0]) * q[b, :]) . q[b, :]")
    assert got == "sum(d_1 in D) (sum(d in D) q[b, d] * w[d, 0]) * q[b, d_1] * q[b, d_1]"
    got = text("let u = (q[b, :] . w[:, 0]) * q[b, :]", value="u . q[b, :]")
    assert got == "sum(d in D) (sum(d_1 in D) q[b, d_1] * w[d_1, 0]) * q[b, d] * q[b, d]"


def test_a_matrix_times_a_vector() -> None:
    got = text("let u[e in D] = w[e, :] . q[b, :]", value="u . q[b, :]")
    assert got == "sum(d in D) (sum(d_1 in D) w[d, d_1] * q[b, d_1]) * q[b, d]"
    assert text("let u = w[:, :] . q[b, :]", value="u . q[b, :]") == got


def test_a_sum_whose_body_is_a_vector() -> None:
    got = text("let u = sum(r in D) w[r, :] * q[b, r]", value="u . q[b, :]")
    assert got == "sum(d in D) (sum(d_1 in D) w[d_1, d] * q[b, d_1]) * q[b, d]"


def test_a_written_axis_is_not_bound_inside_either() -> None:
    spec = check(
        Source("""attention a {
            dims B, D
            input q : f32[B, D]
            output o : f32[B, D]
            each b in B
            o[b, :] = q[b, :] * (q[b, :] . q[b, :])
        }""")
    )
    write = spec.blocks[0].writes[0]
    assert [axis.name for axis in write.axes] == ["d_1"]
    assert expression_text(write.value) == "q[b, d_1] * (sum(d in D) q[b, d] * q[b, d])"


def test_a_view() -> None:
    lines = ("let p[b, j, :] = pages[table[b, j / S], j % S, :]",)
    assert text(*lines, value="p[b, 7, 1]") == "pages[table[b, 7 / S], 7 % S, 1]"
    assert text(*lines, value="p[0, b + 1, :] . q[b, :]") == (
        "sum(d in D) pages[table[0, (b + 1) / S], (b + 1) % S, d] * q[b, d]"
    )


def test_a_view_of_a_view() -> None:
    got = text("let f[i] = q[i, 0]", "let g[i, j] = f[i + j] * f[j]", value="g[b, b + 1]")
    assert got == "q[2 * b + 1, 0] * q[b + 1, 0]"


def test_parameters_may_take_the_names_of_indices_only() -> None:
    assert text("let f[b] = q[b, 0]", value="f[3]") == "q[3, 0]"
    with pytest.raises(SpecError, match="E107"):
        checked("let f[q] = 1", value="f[3]")


AXES = ("let u[d in D] = exp(w[0, 0]) * b", "let v[d in D] = q[b, d]")


def test_an_axis_that_no_read_guards_is_guarded() -> None:
    got = text(*AXES, value="u[b]")
    assert got == "if 0 <= b and b < D then exp(w[0, 0]) * f32(b) else f32(0 / 0)"


def test_an_axis_within_its_extent_is_not() -> None:
    assert text(*AXES, value="u . v") == "sum(d in D) exp(w[0, 0]) * f32(b) * q[b, d]"


def test_an_axis_that_a_read_guards_is_not() -> None:
    assert text(*AXES, value="v[b]") == "q[b, b]"
    assert text("let f[d in D] = if d < 2 then q[b, d] else 0.0", value="f[b]").startswith("if 0 <= b and b < D then")


def test_an_absent_axis_bounds_nothing() -> None:
    spec = checked("over j in n[b]", "let u[i in N] = k[b, i, 0] + (if i > 0 then 1 else 0)", value="sum(u[j])")
    assert expression_text(spec.blocks[0].over[0].bound) == "N"


def test_divisors_of_dims_are_required() -> None:
    spec = checked("let s = b / (D / P)", "let t = b / S + b % (N + 1) + b / 2 + b / n[b]", value="s + t")
    got = [expression_text(condition) for condition in spec.requires]
    assert got == ["P != 0", "D / P != 0", "S != 0", "N + 1 != 0"]


def test_a_divisor_in_a_condition_is_required_before_it() -> None:
    spec = checked("require D % P == 0", "require D > 0", value="0.0")
    assert [expression_text(c) for c in spec.requires] == ["P != 0", "D % P == 0", "D > 0"]


def test_names_of_axes_avoid_those_of_the_spec() -> None:
    assert text("let d = 1", "let d_1 = 2", value="q[b, :] . q[b, :]").startswith("sum(d_2 in D)")
