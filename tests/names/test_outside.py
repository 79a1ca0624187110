"""What stands in a spec's comments or in the name of its file stays text: it leaves no comment and moves no cursor."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import unicodedata
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import attndsl
from attndsl import cache
from attndsl.backends.gpu.manifest import launcher
from attndsl.backends.gpu.targets import TARGETS
from attndsl.backends.triton.emit import emit
from attndsl.backends.writer import Writer
from attndsl.checking.check import check
from attndsl.cli import run as timed
from attndsl.cli.group import run
from attndsl.diagnostics import SpecError
from attndsl.ir.build import build
from attndsl.ir.context import parse_module, print_module
from attndsl.printable import in_place, printable, printable_lines
from attndsl.syntax.source import Source
from attndsl.testing import Case
from attndsl.testing.failures import replay_command
from attndsl.testing.stages import Form, compile_program, lower

CONTROLS = [chr(n) for n in range(0x110000) if unicodedata.category(chr(n)) in ("Cc", "Zl", "Zp")]
INVISIBLE = [*"\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff\u061c\u00ad\xa0"]
SURROGATES = ["\ud800", "\udc80", "\udcff", "\udfff"]
CHARACTERS = [*CONTROLS, *INVISIBLE, *SURROGATES]
PLANTED = "raise SystemExit('planted')"

NAME = "a" + "".join(f"{c}{PLANTED}{c}#{c}'''{c}\"\"\"" for c in CHARACTERS if c != "/") + ".attn"
"""A file's name that leaves whatever it stands in, if some character can."""

TEXT = """attention t {{
    dims M, N, D  # {comment}
    input  q : f32[M, D]
    output o : f32[M, D]
    input  k : f32[N, D]  # {comment}
    each i in M
    over j in N  # {comment}
    score = q[i,:] . k[j,:]  # {comment}
    mask = j <= i  # {comment}
    o[i,:] = softmax(score, mask) . k[j,:]  # {comment}
}}
"""

HARMLESS = Source(TEXT.format(comment="none"), "a.attn")
HOSTILE = Source(
    TEXT.format(comment="".join(f"{c}{PLANTED}" for c in CHARACTERS if unicodedata.category(c) not in ("Cc", "Cs"))),
    NAME,
)


def numpy_text(source: Source) -> str:
    return compile_program(check(source), {}).source


def triton_text(source: Source) -> str:
    spec = check(source)
    return emit(lower(Case(spec, {}, {}, {}, {}), Form("triton", 16, 16)), source.text)


def launcher_text(source: Source) -> str:
    return launcher("t", TARGETS["cuda:90"], triton_text(source), b"")


@pytest.mark.parametrize("generate", [numpy_text, triton_text, launcher_text])
def test_generated_text_is_the_same_program(generate: Callable[[Source], str]) -> None:
    found, wanted = generate(HOSTILE), generate(HARMLESS)
    assert ast.dump(ast.parse(found)) == ast.dump(ast.parse(wanted))
    lines, others = found.split("\n"), wanted.split("\n")
    assert len(lines) == len(others) == len(found.splitlines()) + 1
    assert all(line.isprintable() for line in lines)
    comments = [n for n, (line, other) in enumerate(zip(lines, others, strict=True)) if line != other]
    if generate is not launcher_text:  # it has no kernels, which quote the spec
        assert comments
    for n in comments:
        assert lines[n].lstrip().startswith("# a")
        # It quotes the same line of the spec, whatever characters are taken for the ends of lines elsewhere.
        assert lines[n].partition(f"attn:{others[n].partition('attn:')[2][:3]}")[1]


@pytest.mark.parametrize("character", CHARACTERS, ids=ascii)
def test_no_line_of_generated_text_holds_more_than_can_be_seen(character: str) -> None:
    with pytest.raises(ValueError, match="more than can be seen"):
        Writer("").line(f"# a{character}b")
    assert printable(f"a{character}b").isprintable()
    assert len(in_place(f"a{character}b")) == 3
    assert in_place(f"a{character}b").isprintable()
    assert printable_lines("a\nb") == "a\nb"


def test_planted_code_does_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cache.ENVIRONMENT, str(tmp_path / "cache"))
    path = tmp_path / f"a\n{PLANTED}\n#.attn"
    path.write_text(HARMLESS.text)
    x = np.ones((3, 4), np.float32)
    assert np.allclose(attndsl.load(path)(q=x, k=x), 1)


def test_ir_with_locations_is_read_again() -> None:
    text = print_module(build(check(HOSTILE), {}), locations=True)
    assert text.isascii()
    assert all(line.isprintable() for line in text.split("\n"))
    assert print_module(parse_module(text), locations=True) == text


def test_diagnostics() -> None:
    with pytest.raises(SpecError) as raised:
        check(Source(HOSTILE.text.replace("q[i,:]", "r[i,:]"), NAME))
    assert all(line.isprintable() for line in str(raised.value).split("\n"))


# --- the command line

FILES = {
    "controls": "".join(c for c in CONTROLS if c != "\0" and ord(c) < 128) + ".attn",
    "separators": "\x85\x9b31m\u2028\u2029\u202e\u2066.attn",
    "no UTF-8": os.fsdecode(b"caf\xe9\xff.attn"),
}
COMMANDS = {
    "check": [["check"], ["check", "--json"]],
    "run": [["run"]],
    "compile": [["compile"], ["compile", "--json"], ["compile", "--target", "triton"]],
    "explain": [["explain"], ["explain", "--target", "cuda:90", "--shape", "M=16,N=16,D=16"], ["explain", "--json"]],
    "opt": [["opt"], ["opt", "--print-ir-after-all"]],
    "fmt": [["fmt", "--check"], ["fmt"]],
    "fuzz": [["fuzz", "--examples", "2"]],
}


@pytest.fixture
def attndsl_(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., tuple[int, str]]:
    monkeypatch.setenv(cache.ENVIRONMENT, str(tmp_path / "cache"))
    monkeypatch.setattr(timed, "SECONDS", 0.0)
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> tuple[int, str]:
        code = run(arguments)
        out, err = capfd.readouterr()
        assert all(line.isprintable() for line in f"{out}{err}".split("\n"))
        assert "Traceback" not in err
        return code, f"{out}{err}"

    return call


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("command", COMMANDS)
def test_commands(command: str, name: str, attndsl_: Callable[..., tuple[int, str]], tmp_path: Path) -> None:
    path = tmp_path / FILES[name]
    path.write_text(HARMLESS.text)
    for arguments in COMMANDS[command]:
        assert attndsl_(*arguments, str(path))[0] == (1 if "--check" in arguments else 0)
    path.write_text(HARMLESS.text.replace("q[i,:]", "q[i,:"))
    for arguments in COMMANDS[command]:
        code, said = attndsl_(*arguments, str(path))
        assert code == 1
        assert re.search(r"\bE\d{3}\b", said)
    path.unlink()
    code, said = attndsl_(*COMMANDS[command][0], str(path))
    assert (code, "does not exist" in said) == (2, True)


@pytest.mark.parametrize("name", FILES)
def test_folders(name: str, attndsl_: Callable[..., tuple[int, str]], tmp_path: Path) -> None:
    path, folder = tmp_path / "t.attn", tmp_path / FILES[name]
    path.write_text(HARMLESS.text)
    (tmp_path / "wrong.py").write_text("def wrong(q, k):\n    return 0 * q + 7\n")
    assert attndsl_("compile", str(path), "-o", str(folder))[0] == 0
    assert (folder / "t.py").is_file()
    code, said = attndsl_("fuzz", str(path), "--against", "wrong:wrong", "--examples", "20", "--out", str(folder))
    assert code == 1
    command = said.strip().split("\n")[-1]
    words = subprocess.check_output(["bash", "-c", command.replace("attndsl", "printf '%s\\0'", 1)]).split(b"\0")
    assert words[2] in [os.fsencode(place) for place in folder.iterdir()]
    assert attndsl_(*map(os.fsdecode, words[:-1]))[0] == 1


def test_a_replay_command_is_one_line() -> None:
    assert replay_command(Path("plain folder"), None) == "attndsl fuzz --replay 'plain folder'"
    assert replay_command(Path("a\nb'c\x1b"), None) == r"attndsl fuzz --replay $'a\x0ab\x27c\x1b'"


def test_names_that_are_no_files_and_other_words(attndsl_: Callable[..., tuple[int, str]], tmp_path: Path) -> None:
    path = tmp_path / "t.attn"
    path.write_text(HARMLESS.text)
    for word in FILES.values():
        for arguments in (
            ["check", str(tmp_path / word)],
            ["run", str(path), "--shape", f"M={word}"],
            ["run", str(path), "--param", f"{word}=1"],
            ["compile", str(path), "--target", word],
            ["opt", str(path), "--passes", word],
            ["fuzz", str(path), "--against", f"{word}:f"],
            ["fuzz", "--replay", str(tmp_path / word)],
            [word],
        ):
            assert attndsl_(*arguments)[0] == 2


def test_ir_text_from_outside(attndsl_: Callable[..., tuple[int, str]], tmp_path: Path) -> None:
    path = tmp_path / "t.mlir"
    path.write_text("builtin.module {\n  \x1b[31m nonsense \u202e\n}\n")
    assert attndsl_("opt", str(path))[0] == 1
