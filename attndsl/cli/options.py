"""The arguments and options that several commands take, and how their text is read."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from attndsl.checking.numbers import LARGEST_PARAMETER, LARGEST_SIZE
from attndsl.driver.hints import did_you_mean
from attndsl.driver.library import checked, signature_of
from attndsl.driver.signature import Signature
from attndsl.driver.targets import UnknownTarget
from attndsl.syntax.gallery import names, path_of
from attndsl.syntax.read import decode, read_source
from attndsl.syntax.source import MAX_BYTES, Source

Command = TypeVar("Command", bound=Callable[..., Any])


MOST_DIGITS = 100
"""How long a number may be; Python itself gives up at 4300 digits."""

SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600}
"""The units of a time."""


class SpecFile(click.Path):
    """A file that holds a spec, the name of one of the gallery, or `-` for the standard input; read by `read_spec`."""

    def __init__(self) -> None:
        super().__init__(exists=True, dir_okay=False, allow_dash=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path."""
        path, name = Path(value), str(value)
        if not path.is_file() and (named := path_of(name)):
            value = named
        elif not path.exists() and name.isidentifier():
            hint = did_you_mean(name, names()) or ": `attndsl list` tells all."
            self.fail(f"there is no file {name}, and no spec of the gallery is called so{hint}", param, ctx)
        return super().convert(value, param, ctx)


def read_spec(path: str) -> Source:
    """The spec in a file or the standard input. Raises SpecError where it cannot be read."""
    return decode(sys.stdin.buffer.read(MAX_BYTES + 1), "<stdin>") if path == "-" else read_source(path)


class Assignments(click.ParamType[dict[str, str]]):
    """`NAME=VALUE,NAME=VALUE`."""

    name = "name=value,…"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> dict[str, str]:
        """The values by name, still as text."""
        found: dict[str, str] = {}
        for part in value.split(","):
            name, equals, text = (piece.strip() for piece in part.partition("="))
            if not (name and equals and text):
                self.fail(f"{part!r} is not of the form NAME=VALUE, as in B=1,N=4096.", param, ctx)
            if name in found:
                self.fail(f"{name} is given twice.", param, ctx)
            found[name] = text
        return found


class Extents(Assignments):
    """`B=1,N=4096`."""

    name = "dim=extent,…"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> dict[str, Any]:
        """The extents by dim."""
        return {name: self._extent(name, text, param, ctx) for name, text in super().convert(value, param, ctx).items()}

    def _extent(self, name: str, text: str, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if not (text.isascii() and text.isdigit()):
            self.fail(f"{name}={_shown(text)}: an extent is a whole number, 0 or more.", param, ctx)
        if len(text) > MOST_DIGITS or int(text) > LARGEST_SIZE:
            self.fail(f"{name}={_shown(text)}: an extent is at most 2^48.", param, ctx)
        return int(text)


class WholeNumber(click.IntRange):
    """A whole number, of which Python reads the digits."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number."""
        if len(str(value)) > MOST_DIGITS:
            self.fail(f"{_shown(str(value))} is longer than {MOST_DIGITS} digits.", param, ctx)
        number: int = super().convert(value, param, ctx)
        return number


class Duration(click.ParamType[float]):
    """`30s`, `10m`, `1h`; seconds where no unit is said."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The time in seconds."""
        found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smh]?)", str(value), re.ASCII)
        seconds = float(found[1]) * SECONDS[found[2]] if found else 0.0
        if not 0.0 < seconds < math.inf:
            self.fail(f"{_shown(repr(value))} is no time: 30s, 10m or 1h are.", param, ctx)
        return seconds


def specs_argument(command: Command) -> Command:
    """FILE..., paths of specs."""
    return click.argument("paths", metavar="FILE...", type=SpecFile(), nargs=-1, required=True)(command)


def spec_argument(command: Command) -> Command:
    """FILE, a spec."""

    def read(_: click.Context, __: click.Parameter, path: str) -> Source:
        return read_spec(path)

    return click.argument("source", metavar="FILE", type=SpecFile(), callback=read)(command)


def shape_option(command: Command) -> Command:
    """--shape."""
    text = "Extents of dims; those left out are chosen small, or asked for."
    return _assignments("--shape", Extents(), "B=1,N=4096,…", text)(command)


def types_option(command: Command) -> Command:
    """--types."""
    text = "Element types of type variables; f32 where it is allowed and nothing is said."
    return _assignments("--types", Assignments(), "T=bf16,…", text)(command)


def without_option(command: Command) -> Command:
    """--without."""

    def names(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, ...]:
        return tuple(dict.fromkeys(filter(None, (name.strip() for name in (value or "").split(",")))))

    text = "Inputs that calls leave out, which have defaults."
    return click.option("--without", "left_out", metavar="NAME,…", callback=names, help=text)(command)


def check_left_out(source: Source, names: Iterable[str]) -> tuple[str, ...]:
    """The inputs to leave out, in the order of their declarations; refuses what a call must give."""
    from attndsl.checking.omission import Untold

    signature = signature_of(source)
    asked = set(names)
    for name in asked:
        _known("input with a default", name, signature.optional, signature.name)
    left_out = tuple(name for name in signature.optional if name in asked)
    try:
        signature_of(source, left_out)
    except Untold as error:
        raise click.UsageError(f"{signature.name} knows {error.name} from {', '.join(error.inputs)} alone.") from None
    return left_out


def params_option(command: Command) -> Command:
    """--param."""
    text = "A parameter's value; several by giving the option again."
    return click.option("--param", "params", type=Assignments(), metavar="NAME=VALUE", multiple=True, help=text)(
        command
    )


def out_option(folder: str, text: str) -> Callable[[Command], Command]:
    """--out, a folder."""
    kind = click.Path(file_okay=False, path_type=Path)
    return click.option("--out", type=kind, default=Path(folder), show_default=True, help=text)


def json_option(command: Command) -> Command:
    """--json."""
    return click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")(command)


def misused(error: UnknownTarget) -> click.UsageError:
    """What a user is told of a target that there is none of."""
    said = str(error)
    return click.UsageError(f"{said[0].upper()}{said[1:]}.")


def bind_dims(
    source: Source, signature: Signature, shape: Mapping[str, int], params: Mapping[str, Any] | None = None
) -> dict[str, int]:
    """The extents to use: those asked for, and small ones that go with them and with the parameters."""
    from attndsl.inputs import default_dims

    check_dims(signature, shape)
    try:
        return default_dims(checked(source), given=shape, params=params)
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def check_dims(signature: Signature, shape: Iterable[str]) -> None:
    """Refuses names that are no dims of the spec."""
    for name in shape:
        _known("dim", name, signature.dims, signature.name)


def bind_types(signature: Signature, types: Mapping[str, str]) -> dict[str, str]:
    """The element types to use: those asked for, else the defaults."""
    for name, element in types.items():
        _known("type", name, signature.types, signature.name)
        if element not in signature.types[name]:
            raise click.UsageError(f"{name} = {element} is not allowed: {name} is {' or '.join(signature.types[name])}")
    return {**signature.default_types(), **types}


def bind_params(signature: Signature, given: Iterable[Mapping[str, str]]) -> dict[str, Any]:
    """The parameters to use: those asked for, else their defaults; those with a formula are told by dims."""
    values: dict[str, Any] = {param.name: param.default for param in signature.params if param.default is not None}
    values |= given_params(signature, given)
    if missing := [param.name for param in signature.params if not param.optional and param.name not in values]:
        raise click.UsageError(f"{signature.name} needs a value for {', '.join(missing)}: --param {missing[0]}=…")
    return values


def given_params(signature: Signature, given: Iterable[Mapping[str, str]]) -> dict[str, Any]:
    """The parameters that are asked for, and no others."""
    kinds = {param.name: param.kind for param in signature.params}
    values: dict[str, Any] = {}
    for name, text in (item for assignments in given for item in assignments.items()):
        _known("parameter", name, kinds, signature.name)
        values[name] = _number(name, kinds[name], text)
    return values


def _assignments(option: str, type_: Assignments, metavar: str, text: str) -> Callable[[Command], Command]:
    def or_none(_: click.Context, __: click.Parameter, value: dict[str, Any] | None) -> dict[str, Any]:
        return value or {}

    return click.option(option, type=type_, metavar=metavar, callback=or_none, help=text)


def _number(name: str, kind: str, text: str) -> int | float | bool:
    try:
        number = {"true": True, "false": False}[text] if kind == "bool" else {"int": int, "float": float}[kind](text)
    except (KeyError, ValueError):
        number = None
    if number is None or (kind == "int" and abs(number) > LARGEST_PARAMETER):
        wanted = {"bool": "true or false", "int": "a whole number from -2^62 to 2^62", "float": "a number"}[kind]
        raise click.UsageError(f"--param {name}={_shown(text)}: {name} is {wanted}.")
    return number


def _shown(text: str) -> str:
    """What was given, cut short where nobody would read it."""
    return text if len(text) <= 60 else f"{text[:20]}… ({len(text)} characters)"


def _known(what: str, name: str, known: Collection[str], spec: str) -> None:
    if name not in known:
        has = f"It has {', '.join(known)}." if known else "It has none."
        raise click.UsageError(f"{spec} has no {what} {name}{did_you_mean(name, known) or '.'} {has}")
