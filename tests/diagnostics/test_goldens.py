"""Every error has a spec that makes it, and the exact message; a golden's first error is the one it is named for."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest

from attndsl import diagnostics
from attndsl.checking.check import check
from attndsl.diagnostics import Diagnostic, SpecError
from attndsl.syntax.read import decode, read_source
from attndsl.syntax.source import MAX_BYTES, Source

HERE = Path(__file__).parent
SPECS = sorted(HERE.glob("*.attn"))


def every_error() -> dict[str, type[Diagnostic]]:
    """The classes of all errors, by the names of their goldens."""
    found: dict[str, type[Diagnostic]] = {}
    for module in iter_modules(diagnostics.__path__, f"{diagnostics.__name__}."):
        for name, kind in inspect.getmembers(import_module(module.name), inspect.isclass):
            if issubclass(kind, Diagnostic) and hasattr(kind, "code") and kind.__module__ == module.name:
                plain = re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
                found[plain] = kind
    return found


def message(make: Callable[[], Source]) -> tuple[str, SpecError]:
    with pytest.raises(SpecError) as raised:
        check(make())
    return f"{raised.value}\n", raised.value


def too_long() -> Source:
    return decode(b"#" * (MAX_BYTES + 1), "long.attn")


def too_many_tokens() -> Source:
    return Source("attention a {\n" + "    dims B\n" * 10_000 + "}\n", "many.attn")


def forbidden() -> Source:
    return read_source("a\0b.attn")


GENERATED: dict[str, Callable[[], Source]] = {
    "spec_too_long": too_long,
    "too_many_tokens": too_many_tokens,
    "no_such_file": lambda: read_source("nowhere.attn"),
    "no_such_spec": lambda: read_source("sinkz"),
    "is_directory": lambda: read_source("."),
    "cannot_read": forbidden,
}
"""Errors of what is too large to keep, or no file."""


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_golden(path: Path, golden: Callable[[Path, str], None]) -> None:
    content = path.read_bytes()
    text, error = message(lambda: decode(content, path.name))
    golden(path.with_suffix(".err"), text)
    if path.stem != "several":
        assert error.diagnostics[0].code == every_error()[path.stem].code


@pytest.mark.parametrize("name", GENERATED)
def test_generated(name: str, golden: Callable[[Path, str], None]) -> None:
    text, error = message(GENERATED[name])
    golden(HERE / f"{name}.err", text)
    assert error.diagnostics[0].code == every_error()[name].code


def test_every_error_has_its_golden() -> None:
    have = {path.stem for path in SPECS} | set(GENERATED)
    assert have == set(every_error()) | {"several"}
    assert {path.stem for path in HERE.glob("*.err")} == have


def test_codes_are_distinct_and_ordered_by_area() -> None:
    codes = [kind.code for kind in every_error().values()]
    assert len(set(codes)) == len(codes) >= 40
    assert all(re.fullmatch(r"E\d{3}", code) for code in codes)
    for kind in every_error().values():
        area = {
            "limits": "0",
            "characters": "0",
            "forms": "0",
            "syntax": "0",
            "names": "1",
            "types": "2",
            "shapes": "3",
            "indices": "4",
        }
        area |= {"reductions": "5", "outputs": "6", "declarations": "7", "files": "9"}
        assert kind.code[1] == area[kind.__module__.rpartition(".")[2]], kind


def test_one_run_reports_what_is_wrong_once() -> None:
    _, error = message(lambda: read_source(HERE / "several.attn"))
    codes = [diagnostic.code for diagnostic in error.diagnostics]
    assert codes == ["E706", "E101", "E202", "E102", "E401"]


def test_errors_stand_in_the_order_of_the_source() -> None:
    for path in SPECS:
        _, error = message(lambda path=path: decode(path.read_bytes(), path.name))  # type: ignore[misc]
        places = [diagnostic.span.start for diagnostic in error.diagnostics]
        assert places == sorted(places)
