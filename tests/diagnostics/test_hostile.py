"""Whatever the text, the answer is a spec or an error, soon."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attndsl.checking.check import check
from attndsl.diagnostics import MAX_ERRORS, SpecError
from attndsl.syntax.read import decode, read_source
from attndsl.syntax.source import MAX_BYTES, Source

DEEP = 10_000
SECONDS = 2.0
GQA = (Path(__file__).parents[2] / "examples" / "gqa.attn").read_text(encoding="utf-8")


def spec(*lines: str, value: str = "q[b, 0]") -> str:
    head = "attention a {\ndims B, D\ninput q : f32[B, D]\noutput o : f32[B]\neach b in B\n"
    return head + "".join(f"{line}\n" for line in lines) + f"o[b] = {value}\n}}\n"


def let(value: str) -> str:
    return spec(f"let x = {value}")


def chain(first: str, step: str, count: int, value: str) -> str:
    """`first` defines a0, `step` defines each a{n} by a{n - 1}, written {new} and {old}."""
    return spec(first, *(step.format(new=f"a{n + 1}", old=f"a{n}", n=n) for n in range(count)), value=value)


HOSTILE: dict[str, Callable[[], str]] = {
    "a megabyte of (": lambda: "(" * 2**20,
    "as many ( as are read": lambda: "(" * MAX_BYTES,
    "as many ) as are read": lambda: ")" * MAX_BYTES,
    "as many [ as are read": lambda: let("[" * (MAX_BYTES // 2)),
    "as many - as are read": lambda: let("-" * (MAX_BYTES // 2)),
    "one long name": lambda: "a" * MAX_BYTES,
    "one long comment": lambda: "#" * MAX_BYTES,
    "one long number": lambda: let("1" * (MAX_BYTES // 2)),
    "zeros": lambda: "\0" * MAX_BYTES,
    "a zero in a spec": lambda: let("1 \0"),
    "dollars": lambda: let("$" * (MAX_BYTES // 2)),
    "slashes": lambda: let("//" * (MAX_BYTES // 4)),
    "slashes between words": lambda: let("a//" * (MAX_BYTES // 5)),
    "quotes": lambda: let('"' * (MAX_BYTES // 2 + 1)),
    "stars and slashes": lambda: let("/*" * (MAX_BYTES // 4)),
    "tildes": lambda: let("~(" * (MAX_BYTES // 4)),
    "points": lambda: let("." * (MAX_BYTES // 2)),
    "questions": lambda: let("a ? b : " * (MAX_BYTES // 16)),
    "digits and letters": lambda: let("0b" + "1" * 100_000),
    "a long operand": lambda: let("(" * 90 + "a" * 100_000 + ")" * 90 + " ** 2"),
    "two long names": lambda: let("a" * 100_000 + " " + "b" * 100_000),
    "a long member": lambda: let("np." + "b" * 100_000),
    "a long method": lambda: let("b." + "c" * 100_000 + "()"),
    "a long condition": lambda: let("1\nif " + "b" * 100_000 + " then score = -inf"),
    "a long function": lambda: let("1\nlet f(" + "b" * 100_000 + ") = 1"),
    "a long index": lambda: spec("each " + "c" * 100_000 + " in B"),
    "an output without subscripts": lambda: spec("each c in B\no = 1").replace("f32[B]", f"f32[{'B,' * 9999}B]"),
    "commas": lambda: let("q[" + "," * DEEP + "]"),
    "equals": lambda: let("=" * DEEP),
    "nested brackets": lambda: let("(" * DEEP + "1" + ")" * DEEP),
    "nested signs": lambda: let("-" * DEEP + "1"),
    "nested not": lambda: let("not " * DEEP + "true"),
    "nested else": lambda: let("if true then 1 else " * DEEP + "1"),
    "nested if": lambda: let("if " * DEEP + "true" + " then true else false" * DEEP),
    "a few nested else": lambda: let("if true then 1 else " * 1000 + "1"),
    "a long sum": lambda: let("b" + " + b" * (DEEP // 2)),
    "a long product": lambda: let("b" + " * b" * (DEEP // 2)),
    "a long chain of dots": lambda: let("q" + " . q" * (DEEP // 2)),
    "a long comparison": lambda: let("1" + " < 2" * (DEEP // 2)),
    "nested subscripts": lambda: let("q[" * DEEP + "b" + "]" * DEEP),
    "nested calls": lambda: let("exp(" * DEEP + "1" + ")" * DEEP),
    "nested sums": lambda: let("".join(f"sum(r{n} in D) " for n in range(1000)) + "1"),
    "ninety sums of a vector": lambda: let("".join(f"sum(r{n} in D) " for n in range(90)) + "q[b, :]"),
    "doubled floats": lambda: chain("let a0 = q[b, 0]", "let {new} = {old} + {old}", 2000, "1.0"),
    "doubled integers": lambda: chain("let a0 = b", "let {new} = {old} + {old}", 2000, "1.0"),
    "squared sums of dims": lambda: chain("let a0 = B + D", "let {new} = {old} * {old}", 2000, "1.0"),
    "doubled 10 000 times": lambda: chain("let a0 = b", "let {new} = {old} + {old}", DEEP, "1.0"),
    "doubled vectors": lambda: chain("let a0 = q[b, :]", "let {new} = {old} + {old}", 150, "a150 . a150"),
    "doubled in sums": lambda: chain("let a0 = q[b, 0]", "let {new} = sum(r in D) {old} + {old}", 90, "a90"),
    "views of two": lambda: chain(
        "let a0[j] = q[b, j]", "let {new}[j] = {old}[2 * j] + {old}[2 * j + 1]", 60, "a60[0]"
    ),
    "axes of two": lambda: chain(
        "let a0[d in D] = q[b, d]", "let {new}[d in D] = {old}[d / 2] + {old}[d * d + {n}]", 60, "a60 . a60"
    ),
    "a number of 100 000 digits": lambda: let("9" * 100_000),
    "a number of as many hexadecimal digits": lambda: let("0x" + "f" * 100_000),
    "a real number of as many digits": lambda: let("9" * 100_000 + ".5"),
    "a large exponent": lambda: let("1e" + "9" * 1000),
    "a large default": lambda: "attention a (x: int = " + "9" * 5000 + ") { }",
    "thousands of unknown names": lambda: spec(*(f"let a{n} = zz{n}" for n in range(4000))),
    "thousands of like names": lambda: spec(*(f"let a{n} = {'a' * 40}{n}b" for n in range(3000))),
    "thousands of definitions of one name": lambda: spec(*("let a = 1" for _ in range(4000))),
    "braces for a template": lambda: let("zz.{0}{span!r}"),
    "a lone surrogate": lambda: let("\ud800"),
    "an escape sequence": lambda: let("zz # \x1b[2J"),
}


def answer(text: str) -> str:
    """What is told of a text: empty for a sound one."""
    start = time.process_time()  # other programs may run meanwhile
    error: SpecError | None = None
    try:
        check(Source(text))
    except SpecError as raised:
        error = raised
    told = "" if error is None else str(error)
    assert time.process_time() - start < SECONDS
    assert error is None or len(error.diagnostics) <= MAX_ERRORS
    assert len(told) < 20_000
    assert "\x1b" not in told
    return told


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text(name: str) -> None:
    told = answer(HOSTILE[name]())
    assert not told or told.startswith("error[E")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (let("0" * 100_000 + "1"), ""),
        (let("-9223372036854775808"), ""),
        (let("9223372036854775807"), ""),
        (let("9223372036854775808"), "error[E211]"),
        (let("0x7fffffffffffffff"), ""),
        (let("0xffffffffffffffff"), "error[E211]"),
        (let("(" * 95 + "1" + ")" * 95), ""),
        (chain("let a0 = q[b, 0]", "let {new} = {old} + {old}", 150, "a150"), ""),
    ],
)
def test_what_is_just_within_the_limits(text: str, told: str) -> None:
    assert answer(text)[: len(told) or None] == told


def test_a_large_file_is_not_read_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "large.attn"
    path.write_bytes(b"a" * 10_000_000)
    start = time.process_time()
    with pytest.raises(SpecError, match="E001"):
        read_source(path)
    assert time.process_time() - start < 0.5


def test_a_byte_order_mark_is_left_out() -> None:
    assert decode(b"\xef\xbb\xbf" + GQA.encode(), "gqa.attn").text == GQA


def test_of_many_errors_the_first_are_shown() -> None:
    told = answer(spec(*(f"let a{n} = zz{n}" for n in range(50))))
    assert told.count("error[E101]") == 20
    assert told.endswith("… and 30 more errors")
    assert answer(HOSTILE["thousands of unknown names"]()).endswith("… and at least 80 more errors")


def mutations() -> Iterator[str]:
    """The gallery's first spec with each token left out, and each doubled."""
    words = GQA.split(" ")
    for n, word in enumerate(words):
        if word:
            yield " ".join(words[:n] + words[n + 1 :])
            yield " ".join(words[: n + 1] + words[n:])


def test_a_spec_with_a_word_missing_or_doubled() -> None:
    for text in mutations():
        answer(text)


WORDS = ["attention", "dims", "input", "each", "over", "let", "if", "then", "else", "in", "x", "1"]
PIECES = st.sampled_from([*"()[]{}:,.=<>+-*/%&|^!;#\n", *WORDS])


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=40).map(" ".join)))
def test_any_text(text: str) -> None:
    answer(text)
    answer(let(text))
