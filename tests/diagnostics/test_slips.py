"""What hands from Python, NumPy, C and einsum write: each slip is told of once, and doing what is said mends it.

In `slips/NAME.attn`, `#=` says below each line that is wrong what it should be; without text, that it should go.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path

import pytest

from attndsl.checking.calls import FUNCTION_NAMES
from attndsl.checking.check import check
from attndsl.checking.declarations import PARAMETER_KINDS
from attndsl.checking.operators import OPERATORS
from attndsl.checking.typed import STORAGE_KINDS
from attndsl.diagnostics import SpecError, foreign
from attndsl.syntax import tree
from attndsl.syntax.explain import STATEMENTS
from attndsl.syntax.parse import parse
from attndsl.syntax.source import Source, Span

SLIPS = sorted((Path(__file__).parent / "slips").glob("*.attn"))
GALLERY = sorted((Path(__file__).parents[2] / "examples").glob("*.attn"))
_WRITE = re.compile(r"\bwrite `([^`]*)`")
_MARKED = re.compile(r"(?P<wrong>[^\n]*)\n *#=(?P<right>[^\n]*)\n")


def diagnosed(path: Path) -> SpecError:
    with pytest.raises(SpecError) as raised:
        check(Source(path.read_text(encoding="utf-8"), path.name))
    return raised.value


def test_there_are_many() -> None:
    assert len(SLIPS) >= 50


@pytest.mark.parametrize("path", SLIPS, ids=lambda path: path.stem)
def test_a_slip_is_told_of_where_it_is(path: Path, golden: Callable[[Path, str], None]) -> None:
    error = diagnosed(path)
    golden(path.with_suffix(".err"), f"{error}\n")
    told = {error.source.position(diagnostic.span.start)[0] for diagnostic in error.diagnostics}
    lines = error.source.text.splitlines()
    marked = {number for number, line in enumerate(lines) if line.lstrip().startswith("#=")}
    assert told <= marked
    assert len(told) == len(marked) or path.stem == "split_each"


@pytest.mark.parametrize("path", SLIPS, ids=lambda path: path.stem)
def test_what_is_said_mends_it(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    mended = _MARKED.sub(lambda match: f"{match['right']}\n" if match["right"] else "", text)
    check(Source(mended))
    for diagnostic in diagnosed(path).diagnostics:
        hint = diagnostic.hint()
        assert hint or diagnostic.code == "E017", "says no way out"
        for written in _WRITE.findall(hint):
            assert written in mended or written == "x . y"


# --- the tables: what they propose is sound, and nothing of the language is in them

SPEC = """attention a(p: int = 2, flag: bool = true, f: f32 = 0.5) {{
    dims M, N, D
    input q : f32[M, D]
    input k : f32[N, D]
    output o : f32[M]
    each i in M
    over j in N
    let x = {}
    o[i] = sum(k[j,0])
}}
"""
ARGUMENTS = {
    "logical": ("flag", "i < j", "j < p"),
    "choice": ("flag and i < j", "f", "1.0"),
    "vectors": ("q[i,:]", "k[j,:]", "q[i,:]"),
    "numbers": ("f + 1.0", "k[j,0] * 2.0", "1.0 - f"),
    "ints": ("i + 1", "j", "p - 1"),
}
TEMPLATES = sorted({way.written for ways in foreign.FUNCTIONS.values() for way in ways if way.written})


def fits(code: str) -> str:
    """What is wrong with an expression in a spec, empty for nothing."""
    try:
        check(Source(SPEC.format(code)))
    except SpecError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("template", TEMPLATES)
def test_what_stands_for_a_function_is_sound(template: str) -> None:
    """Of arguments of some sort: those that the function takes elsewhere."""
    assert any(fits(foreign.fill(template, arguments)) == "" for arguments in ARGUMENTS.values())


@pytest.mark.parametrize(
    "arguments", [*ARGUMENTS.values(), ("if flag then 1 else 2", "not flag", "-f"), ("(f) + (f)", "f . f", "exp(f)")]
)
def test_arguments_stay_together(arguments: tuple[str, str, str]) -> None:
    """With as few parentheses as are needed, the tree is that of all of them."""
    few = [foreign.fill(template, arguments) for template in TEMPLATES]
    all_ = [template.format(*(f"({argument})" for argument in arguments)) for template in TEMPLATES]
    for one, other in zip(values(few), values(all_), strict=True):
        assert shape(one) == shape(other)


def values(code: Sequence[str]) -> list[tree.Expression]:
    """The trees of some expressions."""
    lets = (f"let x{number} = {value}" for number, value in enumerate(code))
    spec = parse(Source(f"attention a {{ {' '.join(lets)} }}"))
    return [statement.value for statement in spec.statements if isinstance(statement, tree.Let)]


def shape(value: object) -> object:
    """A tree without the places in it."""
    if isinstance(value, tree.Node):
        return type(value), [shape(getattr(value, field.name)) for field in fields(value)]
    if isinstance(value, tuple):
        return [shape(item) for item in value]
    return None if isinstance(value, Span) else value


@pytest.mark.parametrize(
    ("slip", "meant"),
    [
        ("j in range(1, minimum(i, 3))", "1 <= j < minimum(i, 3)"),
        ("i > 0 and j in [0, p]", "(j == 0 or j == p)"),
        ("j not in (0, minimum(i, p))", "not (j == 0 or j == minimum(i, p))"),
        ("j in [p]", "j == p"),
        ("1.0\n    require D in (64, 128)", "(D == 64 or D == 128)"),
        ("1.0\n    if j > i:  # later\n        score = -inf", "mask = not (j > i)"),
        ("1.0\n    if (flag) {\n        score = 1.0\n    }", "score = if flag then 1.0 else …"),
        ("k[j,:][0]", "k[j,0]"),
        ("k[:,:][j,0]", "k[j,0]"),
        ("k[j + 1][0]", "k[j + 1,0]"),
        ("2D", "2 * D"),
        ("ceil(j / 2)", "(x + y - 1) / y"),
        ("k[j,:].sum(-1)", "sum(d in D) x[d]"),
        ("k[j,:].sum(axis=-1)", "sum(d in D) x[d]"),
    ],
)
def test_what_is_said_holds_all_that_was_written(slip: str, meant: str) -> None:
    error = fits(slip)
    assert f"`{meant}`" in error


@pytest.mark.parametrize("name", [name for name, way in foreign.NAMES.items() if way.written])
def test_what_stands_for_a_name_is_sound(name: str) -> None:
    assert fits(foreign.NAMES[name].written) == ""


@pytest.mark.parametrize("exponent", ["0.5", "-0.5", "2", "3", "-1", "-2", "(1/2)", "(2 / 3)", "(j + 1)", "f"])
@pytest.mark.parametrize("base", ["D", "f", "2", "(f + 1.0)", "k[j,0]", "exp(f)"])
def test_what_stands_for_a_power_is_sound(base: str, exponent: str) -> None:
    assert fits(foreign.power(base, exponent)) == ""


def test_no_word_of_the_language_is_foreign() -> None:
    assert not FUNCTION_NAMES & set(foreign.FUNCTIONS)
    assert not set(STATEMENTS) & set(foreign.STATEMENTS)
    assert not set(STORAGE_KINDS) & set(foreign.TYPES)
    assert set(foreign.TYPES.values()) <= set(STORAGE_KINDS)
    assert set(foreign.PARAMETER_TYPES.values()) <= set(PARAMETER_KINDS)
    assert "inf" not in foreign.NAMES


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_layout_makes_nothing_foreign(path: Path) -> None:
    """What is sound with spaces is sound without."""
    text = re.sub(r"#[^\n]*", "", path.read_text(encoding="utf-8"))
    tight = re.sub(r"[ ]*([-+*/%<>=!&|^.,:()\[\]])[ ]*", r"\1", text)
    assert tight != text
    assert shape(parse(Source(tight))) == shape(parse(Source(text)))


BINARY = sorted({row.spelling for row in OPERATORS.values() if len(row.takes) == 2 and not row.spelling[0].isalpha()})


@pytest.mark.parametrize("operator", [*BINARY, "=", "(", "[", ","])
def test_no_sound_operators_in_a_row_are_taken_for_a_foreign_one(operator: str) -> None:
    """`i <-j` and `i --j` say what they say."""
    for signs in ("-", "+", "--", "-+", "+-", "++"):
        close = {"(": ")", "[": "]"}.get(operator, "")
        left = {"=": "", "(": "exp", "[": "q", ",": "maximum(i"}.get(operator, "i ")
        value = f"{left}{operator}{signs}j{close}{')' if operator == ',' else ''}"
        parse(Source(SPEC.format(value) if operator != "=" else SPEC.format("").replace("x = ", f"x {value}")))
