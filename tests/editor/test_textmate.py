"""What editors without the server are told: the grammar of the VS Code extension, and the tables of docs/editors.md."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from attndsl.checking.calls import FUNCTION_NAMES
from attndsl.editor.textmate import grammar
from attndsl.editor.words import TYPES
from attndsl.syntax.gallery import names
from attndsl.syntax.parse import tokens, words
from attndsl.syntax.source import Source

ROOT = Path(__file__).parents[2]
EXTENSION = ROOT / "editors/vscode"
MANUAL = (ROOT / "docs/editors.md").read_text("utf-8")


def test_the_grammar_is_the_languages(golden: Callable[[Path, str], None]) -> None:
    golden(EXTENSION / "syntaxes/attn.tmLanguage.json", json.dumps(grammar(), indent=2) + "\n")


def cut(line: str) -> Iterator[tuple[str, str]]:
    """The pieces of a line with their scopes, as an editor finds them: the leftmost match, of several the first."""
    patterns = [(pattern["name"], re.compile(pattern["match"])) for pattern in grammar()["patterns"]]
    place = 0
    while found := [(match, name) for name, regex in patterns if (match := regex.search(line, place))]:
        match, name = min(found, key=lambda each: each[0].start())
        yield match.group(), name.removesuffix(".attn")
        place = match.end()


@pytest.mark.parametrize("name", names())
def test_line_by_line_the_gallery_is_cut_as_the_parser_cuts_it(name: str) -> None:
    text = (ROOT / "examples" / f"{name}.attn").read_text("utf-8")
    found = [piece for line in text.splitlines() for piece, _ in cut(line)]
    assert found == [str(token) for token in tokens(Source(text)) if token.strip()]


def test_scopes() -> None:
    scopes = dict(cut("inout mask : T[B]  # is"))
    assert (scopes["inout"], scopes["mask"], scopes["# is"]) == (
        "storage.type",
        "variable.other",
        "comment.line.number-sign",
    )
    scopes = dict(cut("mask = not f32(j) <= sqrt(2.5)"))
    assert (scopes["not"], scopes["f32"], scopes["<="], scopes["2.5"]) == (
        "keyword.operator.logical",
        "support.function",
        "keyword.operator",
        "constant.numeric",
    )


def test_the_extension_names_files_that_it_holds() -> None:
    package = json.loads((EXTENSION / "package.json").read_text())
    given = package["contributes"]
    files = [package["main"], *(each["path"] for each in given["grammars"])]
    files += [each["configuration"] for each in given["languages"]]
    assert all((EXTENSION / file).is_file() for file in files)
    assert given["grammars"][0]["scopeName"] == grammar()["scopeName"]
    json.loads((EXTENSION / "language-configuration.json").read_text())


@pytest.mark.parametrize(
    ("row", "wanted"),
    [("keywords", words() | {"inout", "temp"}), ("functions", FUNCTION_NAMES), ("types", frozenset(TYPES))],
)
def test_the_manual_tells_other_editors_all_words(row: str, wanted: frozenset[str]) -> None:
    (line,) = re.findall(rf"^\| {row} \|(.*)\|$", MANUAL, re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", line)) == wanted
