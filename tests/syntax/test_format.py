"""The formatter moves white space, nothing else, and the gallery is as it would have it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attndsl.diagnostics import SpecError
from attndsl.syntax.format import format_text
from attndsl.syntax.parse import parse, tokens
from attndsl.syntax.source import Source

GALLERY = sorted((Path(__file__).parents[2] / "examples").glob("*.attn"))


def visible(text: str) -> list[str]:
    """The tokens and comments of a spec."""
    return [token.rstrip() for token in tokens(Source(text)) if not token.isspace()]


def formatted(text: str) -> str:
    """The spec formatted, after what must hold for every spec: nothing visible changed, and twice is once."""
    result = format_text(Source(text))
    assert visible(result) == visible(text)
    assert format_text(Source(result)) == result
    assert not any(line != line.rstrip() for line in result.split("\n"))
    return result


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_gallery_is_formatted(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert formatted(text) == text


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_spaces_inside_lines_do_not_matter(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    pieces = [_respaced(str(token)) if token.isspace() else str(token) for token in tokens(Source(text))]
    assert formatted("".join(pieces)) == text


def _respaced(space: str) -> str:
    return "\t ".join(space.split(" ")) if "\n" not in space else "\r\n" * space.count("\n") + "\t"


@settings(max_examples=60, deadline=None)
@given(path=st.sampled_from(GALLERY), seed=st.integers(0, 2**32))
def test_any_white_space_and_comments(path: Path, seed: int) -> None:
    chosen = random.Random(seed)
    pieces: list[str] = []
    for token in tokens(Source(path.read_text(encoding="utf-8"))):
        after_comment = bool(pieces) and "#" in pieces[-1]
        if token.isspace() or chosen.random() < 0.05:
            pieces.append(chosen.choice([" ", "  ", "\n", "\n\n\n", "\t", " # note\n", "\n\n# note  \n", "\n#\n\n"]))
        if after_comment and "\n" not in pieces[-1]:
            pieces.append("\n")
        if not token.isspace():
            pieces.append(str(token))
    text = "".join(pieces)
    parse(Source(text))
    formatted(text)


def test_it_lays_out_a_careless_spec() -> None:
    careless = """


# A spec written in a hurry. \t
attention hurried ( window:int=-1 , flag : bool=true, ) # a header


{

dims B,M , D types T=f16|bf16
input q:T[ B,M,D ]  # queries
input valid :bool[B , M]# a mask
output out: T[B, M,D]
schedule{split_k=auto;tile_rows = 64}

each b in B,i in M over j in M up   to M+1
let double [ t ]=2*t let x[d in D]= - sum( e in D )-q[b,i,e]*q[b , double[i] - -1,d]

score=(q[b,i,:].q[b,j,:])/sqrt( D )   # scores
# and the mask
mask=not valid[b,j]or j<=i
    and i<j+3 - window

     # within
     and true


out[b,i,:]=softmax( score,mask ,sink=0.5 ).x
}# done
"""
    assert (
        formatted(careless)
        == """\
# A spec written in a hurry.
attention hurried(window: int = -1, flag: bool = true,)  # a header
{
    dims B, M, D
    types T = f16 | bf16
    input  q     : T[B, M, D]  # queries
    input  valid : bool[B, M]  # a mask
    output out   : T[B, M, D]
    schedule { split_k = auto; tile_rows = 64 }

    each b in B, i in M
    over j in M up to M + 1
    let double[t] = 2 * t
    let x[d in D] = -sum(e in D) -q[b,i,e] * q[b, double[i] - -1, d]

    score = (q[b,i,:] . q[b,j,:]) / sqrt(D)  # scores
    # and the mask
    mask = not valid[b,j] or j <= i
        and i < j + 3 - window
        # within
        and true

    out[b,i,:] = softmax(score, mask, sink = 0.5) . x
}  # done
"""
    )


def test_brackets_that_the_author_broke() -> None:
    broken = "attention a(\nx: int = 1,\ny: int = 2\n) { let v = (\n1\n+ x\n)\nschedule {\nsplit_k = 2\n} }"
    assert formatted(broken) == (
        "attention a(\n    x: int = 1,\n    y: int = 2\n) {\n"
        "    let v = (\n        1\n        + x\n    )\n"
        "    schedule {\n        split_k = 2\n    }\n}\n"
    )


def test_columns_of_extents_by_element_and_rank() -> None:
    text = "attention a { input q:T[B,Hq,M] input table:i32[B,Heads] output o:T[Batch,H,M]\n\ninput z:T[B,H,M] }"
    assert formatted(text) == (
        "attention a {\n"
        "    input  q     : T[B,     Hq, M]\n"
        "    input  table : i32[B, Heads]\n"
        "    output o     : T[Batch, H,  M]\n"
        "\n"
        "    input z : T[B, H, M]\n"
        "}\n"
    )


@pytest.mark.parametrize("text", ["", "attention", "attention a { let }", "attention a { \0 }", "attention a {} {"])
def test_it_refuses_what_cannot_be_read(text: str) -> None:
    with pytest.raises(SpecError):
        format_text(Source(text))
