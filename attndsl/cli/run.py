"""`attndsl run`: a spec on made-up inputs, beside its reference."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from attndsl.checking.evaluate import with_defaults
from attndsl.cli.memory import require_memory
from attndsl.cli.options import (
    WholeNumber,
    bind_dims,
    bind_params,
    bind_types,
    check_left_out,
    json_option,
    params_option,
    shape_option,
    spec_argument,
    types_option,
    without_option,
)
from attndsl.cli.output import show_json
from attndsl.driver.library import checked, signature_of
from attndsl.driver.signature import Signature
from attndsl.syntax.source import Source

if TYPE_CHECKING:
    from attndsl.op.explain import Traffic
    from attndsl.op.op import Op
    from attndsl.storage import Array

SECONDS = 1.0
"""How long the timing goes on, after RUNS calls."""

RUNS = 3


@dataclass(frozen=True, slots=True)
class ComparedOutput:
    """An output beside its reference: the error of its worst element, and the bound of that."""

    name: str
    shape: tuple[int, ...]
    error: float
    bound: float

    @property
    def ok(self) -> bool:
        """Whether rounding explains the error."""
        return self.error <= self.bound


@click.command("run")
@spec_argument
@shape_option
@types_option
@params_option
@without_option
@click.option("--seed", type=WholeNumber(min=0), default=0, show_default=True, help="The inputs' random seed.")
@json_option
def command(
    source: Source,
    shape: dict[str, int],
    types: dict[str, str],
    params: tuple[dict[str, str], ...],
    left_out: tuple[str, ...],
    seed: int,
    as_json: bool,
) -> None:
    """Make inputs, run the compiled spec, compare with the reference, and report error, time and bytes.

    \b
    attndsl run gqa.attn
    attndsl run gqa.attn --shape B=2,M=100,N=1000 --types T=bf16 --seed 7
    attndsl run sliding_window.attn --param window=7
    attndsl run sinks.attn --without sink

    The reference is a slow interpreter: ask for small shapes. Exits with 1 where an output is further from it than
    rounding explains.
    """
    from rich.console import Console

    from attndsl.inputs import make_inputs
    from attndsl.op.explain import traffic
    from attndsl.op.op import Op

    signature = signature_of(source)
    bound_types, values = bind_types(signature, types), bind_params(signature, params)
    dims = bind_dims(source, signature, shape, values)
    known = with_defaults(checked(source).params, dims, values)
    require_memory(signature, dims, known)
    left_out = check_left_out(source, left_out)
    made = make_inputs(checked(source), dims, bound_types, seed, values)
    arrays = {name: array for name, array in made.items() if name not in left_out}
    op = Op(source)
    with Console(stderr=True).status(f"running {signature.name}") as status:
        lent, timed = (_lent(arrays, signature) for _ in range(2))
        said = {name: bound_types[name] for name in signature.said}
        outputs = op(**lent, **values, **said)
        seconds = _timed(lambda: op(**timed, **values, **said))
        status.update("computing the reference")
        compared = _compare(source, arrays, values, _written(op, outputs, lent), bound_types)
    moved = traffic(signature_of(source, left_out), bound_types, dims)
    if as_json:
        show_json(_as_json(compared, bound_types, dims, known, seconds, moved))
    else:
        title = f"{signature.name}, {_equations({**bound_types, **dims, **known})}"
        _show(compared, title, seconds, moved, bool(signature.in_place))
    if not all(output.ok for output in compared):
        raise click.exceptions.Exit(1)


def _lent(arrays: Mapping[str, Array], signature: Signature) -> dict[str, Array]:
    """The inputs of a call, with copies of what it writes in place."""
    written = [signature.inputs[number].name for number in signature.in_place]
    return {name: array.copy() if name in written else array for name, array in arrays.items()}


def _written(op: Op, outputs: Any, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """What a call has written, by name."""
    names = [tensor.name for tensor in op.signature.outputs]
    found = dict(zip(names, outputs if len(names) > 1 else (outputs,) * len(names), strict=True))
    in_place = [op.signature.inputs[number].name for number in op.signature.in_place]
    return {**found, **{name: inputs[name] for name in in_place}}


def _timed(call: Callable[[], Any]) -> float:
    """The median of the seconds that a warm call takes."""
    times: list[float] = []
    while len(times) < RUNS or sum(times) < SECONDS:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def _compare(
    source: Source,
    arrays: Mapping[str, Array],
    params: Mapping[str, Any],
    outputs: Mapping[str, Array],
    types: dict[str, str],
) -> list[ComparedOutput]:
    from attndsl.reference import reference
    from attndsl.reference.agreement import compare
    from attndsl.reference.errors import error_bounds
    from attndsl.reference.rounding import rounding_of

    spec = checked(source).where(types)
    wanted = reference(spec, arrays, params)
    elements = {types.get(tensor.element, tensor.element) for tensor in spec.tensors.values()}
    bounds = error_bounds(spec, arrays, params, rounding_of(elements))
    compared = []
    for tensor in spec.results:
        element, got = types.get(tensor.element, tensor.element), outputs[tensor.name]
        found = compare(element, got, wanted[tensor.name], bounds[tensor.name])
        compared.append(ComparedOutput(tensor.name, got.shape, found.error, found.bound))
    return compared


def _show(compared: list[ComparedOutput], title: str, seconds: float, moved: Traffic, in_place: bool) -> None:
    from rich.console import Console
    from rich.table import Table

    from attndsl.op.explain import quantity

    console = Console(highlight=False, soft_wrap=True)
    console.print(title)
    table = Table()
    for column in ("output", "shape", "largest error", "bound", ""):
        table.add_column(column, justify="right" if column in ("largest error", "bound") else "left")
    for output in compared:
        verdict = "[green]agrees[/]" if output.ok else "[bold red]differs[/]"
        shape = " × ".join(map(str, output.shape)) or "scalar"
        table.add_row(output.name, shape, f"{output.error:.2g}", f"{output.bound:.2g}", verdict)
    console.print(table)
    read, written = quantity(moved.read, "B", 1024), quantity(moved.written, "B", 1024)
    besides = ", and of what it reads some in place" if in_place else ""
    console.print(f"{seconds * 1e3:.3g} ms a call (median); it reads {read} and writes {written}{besides}")


def _as_json(
    compared: list[ComparedOutput],
    types: dict[str, str],
    dims: dict[str, int],
    params: dict[str, Any],
    seconds: float,
    moved: Traffic,
) -> dict[str, Any]:
    """The report for a program."""
    outputs = [
        {
            "name": output.name,
            "shape": output.shape,
            "error": output.error,
            "bound": output.bound,
            "ok": output.ok,
        }
        for output in compared
    ]
    times = {"milliseconds": seconds * 1e3, "bytes_read": moved.read, "bytes_written": moved.written}
    return {"outputs": outputs, "types": types, "dims": dims, "params": params, **times}


def _equations(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in values.items())
