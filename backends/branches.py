"""The statements in Python around kernels that run only where something holds of a call's extents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import TypeVar

from attndsl.backends.names import python_text
from attndsl.backends.writer import Writer
from attndsl.ir import tile
from attndsl.ir.conditions import ConditionAttr

Kernel = TypeVar("Kernel")
Way = tuple[tuple[ConditionAttr, bool], ...]
"""The conditions around a kernel, from the outermost on, and whether each holds where it runs."""


def write_branches(
    out: Writer, kernels: Sequence[Kernel], of: Callable[[Kernel], tile.KernelOp], write: Callable[[list[Kernel]], None]
) -> None:
    """Writes kernels that run under the same conditions by `write`, below the tests of these.

    A test that others begin with stands around theirs; where the opposite holds, an `else` mostly stands right behind.
    """
    tests = {each.when for kernel in kernels if (each := of(kernel)).when is not None}
    _write(out, [(_way(of(kernel), tests), kernel) for kernel in kernels], write)


def _write(out: Writer, kernels: list[tuple[Way, Kernel]], write: Callable[[list[Kernel]], None]) -> None:
    last: ConditionAttr | None = None
    for first, group in groupby(kernels, lambda each: each[0][:1]):
        if not first:
            write([kernel for _, kernel in group])
            last = None
            continue
        ((condition, holds),) = first
        out.line("")
        if holds:
            _test(out, condition)
        else:
            out.line("else:" if condition == last else f"if not ({python_text(condition.data)}):")
        last = condition if holds else None
        with out.indented():
            _write(out, [(way[1:], kernel) for way, kernel in group], write)


def _way(kernel: tile.KernelOp, tests: set[ConditionAttr]) -> Way:
    """What is tested for a kernel, where `tests` are all that kernels run `when` they hold."""
    way: Way = () if kernel.unless is None else ((kernel.unless, False),)
    when = kernel.when
    while when is not None:
        match when.data:
            case ("and", outer, inner) if ConditionAttr(outer) in tests:
                way, when = ((ConditionAttr(inner), True), *way), ConditionAttr(outer)
            case _:
                way, when = ((when, True), *way), None
    return way


def _test(out: Writer, condition: ConditionAttr) -> None:
    """An `if`, of several lines where one would be too long."""
    terms = [python_text(term) for term in condition.terms]
    if len(line := f"if {' and '.join(terms)}:") <= out.room:
        out.line(line)
        return
    out.line("if (")
    with out.indented():
        for number, term in enumerate(terms):
            out.line(f"and {term}" if number else term)
    out.line("):")
