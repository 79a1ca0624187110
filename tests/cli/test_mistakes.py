"""A user's mistake is a message and an exit code, never a traceback."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

ATTNDSL = (sys.executable, "-m", "attndsl")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            "chek x",
            (
                "There is no command chek, did you mean check? "
                "There are list, check, compile, run, grad, import, opt, fmt, explain, draw, bench, tune, fuzz, lsp."
            ),
        ),
        ("check", "Missing argument 'FILE...'."),
        ("check nowhere.attn", "File 'nowhere.attn' does not exist."),
        ("check .", "File '.' is a directory."),
        ("run gqa.attn --shape B", "'B' is not of the form NAME=VALUE, as in B=1,N=4096."),
        ("run gqa.attn --shape B=", "'B=' is not of the form NAME=VALUE, as in B=1,N=4096."),
        ("run gqa.attn --shape B=1,", "'' is not of the form NAME=VALUE, as in B=1,N=4096."),
        ("run gqa.attn --shape B=1,B=2", "B is given twice."),
        ("run gqa.attn --shape B=-1", "B=-1: an extent is a whole number, 0 or more."),
        ("run gqa.attn --shape B=x", "B=x: an extent is a whole number, 0 or more."),
        ("run gqa.attn --shape hkv=2", "gqa has no dim hkv, did you mean Hkv? It has B, Hq, Hkv, M, N, D, E."),
        ("run gqa.attn --types U=f16", "gqa has no type U. It has T."),
        ("run gqa.attn --types T=i8", "T = i8 is not allowed: T is f16 or bf16 or f32 or f64"),
        ("run gqa.attn --param window=7", "gqa has no parameter window. It has none."),
        (
            "run sliding_window.attn --param window=7.5",
            "--param window=7.5: window is a whole number from -2^62",
        ),
        ("run sliding_window.attn --param widow=7", "no parameter widow, did you mean window? It has window."),
        ("run gqa.attn --seed -1", "-1 is not in the range x>=0."),
        ("compile gqa.attn --target vax", "There is no target vax. There are numpy, triton, gluon, cuda:80, cuda:89, "),
        ("compile gqa.attn --target cuda:90", "GPU code is not printed: give a folder for it with -o."),
        (
            "compile gqa.attn --target cuda:1 --shape D=16,E=16 -o x",
            "There is no target cuda:1, did you mean cuda:120? There are numpy, ",
        ),
        ("compile gqa.attn --target cuda:90 --shape D=16 -o x", "GPU code is made for fixed extents of E: --shape E=…"),
        ("compile gqa.attn --shape DD=16", "gqa has no dim DD, did you mean D?"),
        ("compile gqa.attn -o gqa.attn", "Directory 'gqa.attn' is a file."),
        ("explain gqa.attn --shape BB=1", "gqa has no dim BB, did you mean B? It has B, Hq, Hkv, M, N, D, E."),
    ],
)
def test_wrong_use(attndsl: Any, gqa: Path, gallery: Path, arguments: str, message: str) -> None:
    gqa.with_name("sliding_window.attn").write_bytes((gallery / "sliding_window.attn").read_bytes())
    result = attndsl(*arguments.split(" "))
    assert message in result.err
    assert (result.code, result.out) == (2, "")


@pytest.mark.parametrize("command", ["check", "compile", "run", "explain", "fmt"])
def test_a_wrong_spec(attndsl: Any, wrong: Path, command: str) -> None:
    if command == "fmt":
        wrong.write_text("attention {")
    result = attndsl(command, wrong)
    assert result.code == 1
    assert f"--> {wrong}:" in result.err
    assert result.out == ""


@pytest.mark.parametrize("command", ["check", "fmt", "run"])
def test_a_file_that_is_no_text(attndsl: Any, gqa: Path, command: str) -> None:
    path = gqa.with_name("latin.attn")
    path.write_bytes(b"# \xe9")
    result = attndsl(command, path)
    assert (result.code, result.out) == (1, "")
    assert "the spec is not UTF-8 text: byte 3 is 0xe9" in result.err


def test_a_folder_that_cannot_be_written(attndsl: Any, gqa: Path) -> None:
    result = attndsl("compile", gqa, "-o", "/proc/nowhere")
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith("Error: ")
    assert "/proc/nowhere" in result.err


def test_a_reader_that_leaves(gallery: Path) -> None:
    files = [str(path) for path in sorted(gallery.glob("*.attn"))]
    with subprocess.Popen([*ATTNDSL, "check", *files], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""


def test_an_interrupt() -> None:
    # A shell's background jobs ignore the signal, and what they start does too: it would wait for ever.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen([*ATTNDSL, "check", "-"], stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    signal.signal(signal.SIGINT, before)
    with process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write(b"attention ")
        process.stdin.flush()
        while not _waits(process.pid):
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        assert b"Traceback" not in process.stderr.read()
    assert process.returncode == 130


def _waits(pid: int) -> bool:
    """Whether a process has begun to read its standard input, as the kernel tells."""
    return "pipe" in Path(f"/proc/{pid}/wchan").read_text()


@pytest.mark.parametrize(("environment", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_colours_are_for_terminals(wrong: Path, environment: dict[str, str], coloured: bool) -> None:
    ours, theirs = pty.openpty()
    inherited = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    subprocess.run([*ATTNDSL, "check", wrong], stderr=theirs, env={**inherited, **environment}, check=False)
    os.close(theirs)
    assert (b"\033[" in os.read(ours, 4096)) == coloured
    os.close(ours)


def test_no_colours_in_a_file(attndsl: Any, wrong: Path) -> None:
    assert "\033" not in attndsl("check", wrong).err
