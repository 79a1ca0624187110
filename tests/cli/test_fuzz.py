"""`attndsl fuzz`: what it finds, what it keeps, and what it says."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner

from attndsl.cli.group import attndsl as command

EXAMPLES = Path(__file__).parents[2] / "examples"

WINDOW = """
import torch

def window_of(q, k, v, window, first=0):
    M, N = q.shape[2], k.shape[2]
    p = torch.arange(M)[:, None] + N - M
    j = torch.arange(N)
    mask = (p - window + first < j) & (j <= p)
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
    score = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~mask, -torch.inf)
    return score.softmax(-1).nan_to_num(0.0) @ v

def short(q, k, v, window):
    return window_of(q, k, v, window, 1)

def narrow(q, k, v, window):
    return window_of(q, k, v, window)[..., :-1]

def raises(q, k, v, window):
    raise RuntimeError("no kernel for this size")
"""
"""The sliding window in torch, and three that are not it."""

SPEC = str(EXAMPLES / "sliding_window.attn")


def run(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(command, ["fuzz", *arguments])
    assert result.exit_code == code, result.output
    return result.output


@pytest.fixture
def peers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a module of functions."""
    name = f"peers_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(WINDOW)
    monkeypatch.chdir(tmp_path)
    return Path(name)


def test_a_sound_spec_is_told_so() -> None:
    said = run(str(EXAMPLES / "softcap.attn"), "--examples", "4", "--seed", "3")
    assert "4 cases" in said and "seed 3" in said and "numpy" in said and "All agree." in said


def test_what_is_given_is_not_drawn() -> None:
    said = json.loads(run(SPEC, "--examples", "3", "--shape", "B=1,Hq=2,D=4", "--param", "window=2", "--json"))
    assert (said["cases"], said["ran"]["numpy"], said["failure"], said["interrupted"]) == (3, 3, None, False)
    assert 0 < said["used"]["numpy"] <= 1


def test_specs_are_drawn_too() -> None:
    said = run("--any", "--examples", "3")
    assert "constructs of the language" in said and "passes that rewrote something: " in said


def test_a_function_that_agrees(peers: Path) -> None:
    assert "All agree." in run(SPEC, "--examples", "8", "--against", f"{peers}:window_of")


def test_a_function_that_differs_is_shrunk_kept_and_run_again(peers: Path) -> None:
    arguments = ("--against", f"{peers}:short", "--shape", "B=1,Hq=2,Hkv=1,D=2,E=2", "--out", "kept")
    said = run(SPEC, *arguments, code=1)
    assert f"sliding_window: after {peers}:short, o[" in said and "rounding explains" in said
    (folder,) = Path("kept").iterdir()
    assert {each.name for each in folder.iterdir()} == {"case.attn", "inputs.npz", "call.json", "message.txt"}
    assert (folder / "case.attn").read_text() == Path(SPEC).read_text()
    call = json.loads((folder / "call.json").read_text())
    assert call["dims"]["M"] <= 3 and call["dims"]["N"] <= 3, "it is small"
    again = f"attndsl fuzz --replay {folder} --against {peers}:short"
    assert again in said and again in (folder / "message.txt").read_text()
    assert "rounding explains" in run(*again.split()[2:], code=1)
    assert "agrees now" in run("--replay", str(folder), "--against", f"{peers}:window_of")
    assert "say which one" in run("--replay", str(folder), code=2)


@pytest.mark.parametrize(
    ("function", "words"),
    [("narrow", "WrongOutputs: o has the shape"), ("raises", "RuntimeError: no kernel for this size")],
)
def test_a_function_that_fails_is_told_apart(function: str, words: str, peers: Path) -> None:
    shape = ("--shape", "B=1,Hq=1,Hkv=1,M=1,N=1,D=1,E=1")
    assert words in run(SPEC, "--against", f"{peers}:{function}", *shape, code=1)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "Give one of FILE, --any and --replay."),
        ((SPEC, "--any"), "FILE and --any?"),
        (("--any", "--budget", "soon"), "'soon' is no time: 30s, 10m or 1h are."),
        (("--any", "--backend", "cuda"), "There is no backend 'cuda'. There are numpy, triton, gluon."),
        (("--any", "--shape", "B=1"), "with --any the specs are drawn"),
        (("--any", "--against", "a:b"), "--against needs the FILE"),
        ((SPEC, "--against", "nothing"), "'nothing' is not of the form module:function."),
        ((SPEC, "--against", "no_such_module:f"), "no_such_module cannot be imported"),
        ((SPEC, "--against", "json:no_such"), "has no attribute 'no_such'"),
        ((SPEC, "--shape", "X=1"), "has no dim X"),
        ((SPEC, "--examples", "1", "--shape", "Hq=3,Hkv=2"), "try --shape with some that do"),
        (("--replay", "nowhere"), "nowhere holds no case of `attndsl fuzz`"),
    ],
)
def test_mistakes_are_answered_in_a_line(arguments: tuple[str, ...], words: str) -> None:
    assert words in run(*arguments, code=2)


START = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.argv = ["attndsl", "fuzz", "--any", "--budget", "10m", "--json"]
from attndsl.cli import main
main()
"""
"""Takes interruptions even where tests run in the background, and ignore them."""


def test_an_interruption_leaves_a_summary() -> None:
    terminal, theirs = pty.openpty()
    command = [sys.executable, "-c", START]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, env={**os.environ, "TERM": "xterm"})
    os.close(theirs)
    shown = b""
    interrupted = False
    with suppress(OSError):  # such is the end of what a terminal shows
        while more := os.read(terminal, 4096):
            shown += more
            if b" cases, " in shown and not interrupted:
                process.send_signal(signal.SIGINT)
                interrupted = True
    os.close(terminal)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130, shown.decode()
    said = json.loads(out)
    assert said["interrupted"] and said["failure"] is None and said["cases"] > 0
