"""What clears an output outside of all rows that write it, where data say where these end: a kernel, and its launch.

In most calls that is nothing, and all of it is much: on an H200 packed batches of 16,384 and 32,768 rows and 32 heads
of 128 took 0.85 to 0.96 of the time without.
"""

from __future__ import annotations

from collections.abc import Sequence

from attndsl.backends.gpu.parameters import stride_names
from attndsl.backends.writer import Writer
from attndsl.ir import spec
from attndsl.python_names import pointer_name, python_name

PROGRAMS = 16
"""The programs on each processor that clear rows, where there are as many."""


def write_kernel(out: Writer, name: str, tensor: spec.TensorOp, table: spec.TensorOp) -> None:
    """The kernel: each program clears some rows."""
    assert tensor.along is not None
    along, steps, (step,) = tensor.along.value.data, stride_names(tensor), stride_names(table)
    own, ends = pointer_name(tensor.sym_name.data), pointer_name(table.sym_name.data)
    others = [n for n in range(len(steps)) if n != along]
    extents = ["count", "rows", *(f"n_{n}" for n in others)]
    beside = " * ".join(extents[2:]) or "1"
    told = ", ".join(f'"{extent}"' for extent in extents)
    out.line(f"@triton.jit(do_not_specialize=[{told}])")
    numbers = [f"{number}: tl.int64" for number in (step, *extents)]
    out.listed(f"def {name}(", [own, *(f"{each}: tl.int64" for each in steps), ends, *numbers], "):")
    with out.indented():
        for line in _ENDS.format(ends=ends, step=step).splitlines():
            out.line(line)
        out.line("for n in range(tl.program_id(0), first + rows - last, tl.num_programs(0)):")
        with out.indented():
            out.line("row = tl.where(n < first, n, n - first + last)")
            out.line(f"for before in range(0, {beside}, 1024):")
            with out.indented():
                out.line("at = before + tl.arange(0, 1024)")
                places = [f"row * {steps[along]}", *(_digits(others, steps) or ["at * 0"])]
                out.line(f"place = {' + '.join(places)}")
                out.line(f"zeros = tl.zeros([1024], {own}.dtype.element_ty)")
                out.line(f"tl.store({own} + place, zeros, mask=at < {beside})")
    out.line("")
    out.line("")


_ENDS = """\
# Rows follow each other from the first end up to the last one, and write no others.
first = tl.load({ends}).to(tl.int64)
last = tl.load({ends} + (count - 1) * {step}).to(tl.int64)
ascend = (0 <= first) & (last <= rows)
for before in range(0, count - 1, 1024):
    end = before + tl.arange(0, 1024)
    inside = end < count - 1
    here = tl.load({ends} + end * {step}, mask=inside, other=0)
    behind = tl.load({ends} + (end + 1) * {step}, mask=inside, other=0)
    ascend = ascend & (tl.max((here > behind).to(tl.int32), 0) == 0)
# Where ends descend, or lie outside of the tensor, any row may be left out.
first = tl.where(ascend, first, rows)
last = tl.where(ascend, last, rows)
"""


def _digits(others: Sequence[int], steps: Sequence[str]) -> list[str]:
    """Where the elements of a row lie, as `at` counts them, the last axis varying fastest."""
    found = []
    for position, n in enumerate(others):
        behind = [f"n_{other}" for other in others[position + 1 :]]
        product = f"({' * '.join(behind)})" if len(behind) > 1 else "".join(behind)
        divided = f"at // {product}" if behind else "at"
        found.append(f"{divided} % n_{n} * {steps[n]}" if position else f"{divided} * {steps[n]}")
    return found


def launch_of(name: str, tensor: spec.TensorOp, table: spec.TensorOp, device: str) -> list[str]:
    """Its launch, as Python lists it: the kernel, how many programs, its arguments, its options."""
    assert tensor.along is not None
    own, ends, along = python_name(tensor.sym_name.data), python_name(table.sym_name.data), tensor.along.value.data
    sizes = [f"{own}.shape[{n}]" for n in range(len(tensor.shape)) if n != along]
    programs = f"min({own}.shape[{along}], {PROGRAMS} * _processors({device}))"
    given = [own, f"*{own}.stride()", ends, f"*{ends}.stride()", f"{ends}.shape[0]", f"{own}.shape[{along}]", *sizes]
    return [name, programs, f"({', '.join(given)})", '{"num_warps": 4}']
