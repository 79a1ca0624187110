"""The attention of the models of transformers, as one spec: a text made of those terms that a call has."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TYPE_CHECKING

from attndsl.syntax.format import format_text
from attndsl.syntax.source import Source

if TYPE_CHECKING:
    from attndsl.op.op import Op

TERMS = {
    "since": "i32[B, N]  # the first query that sees a key",
    "until": "i32[B, N]  # the first query that does no more",
    "start": "i32[B, N]  # the first query of the key's request",
    "seen": "bool[B?, Hq?, M?, N]",
    "bias": "U[B?, Hq?, M?, N]",
    "sink": "S[B?, Hq, M?]",
    "cap": "f32",
}
"""What a call may have besides queries, keys and values, as it is declared: `cap` is a parameter."""

MASKS = {
    "since": "since[b,j] <= i",
    "until": "i < until[b,j]",
    "start": "start[b,j] <= i",
    "seen": "seen[b,h,i,j]",
}
"""What those that say which keys are seen are to a mask."""

FAR = "let far = i - since[b,j]"
"""How far a key of a causal model lies back, in the words of a mask of the user's."""


def measures(mask: str) -> bool:
    """Whether a mask of the user's asks how far keys lie back."""
    return not {"far", "since"}.isdisjoint(re.findall(r"\w+", mask))


def compares_places(mask: str) -> bool:
    """Whether a mask of the user's has the place of a query and that of a key: `i - j < 4`."""
    return {"i", "j"} <= {*re.findall(r"\w+", mask)}


def text(terms: Collection[str], mask: str = "") -> str:
    """The spec of calls that have these of `TERMS`, and a `mask` of the user's besides: a condition in its words."""
    types = ["T", *(["U"] if "bias" in terms else []), *(["S"] if "sink" in terms else [])]
    parameters = ["scale: f32 = 1.0 / sqrt(D)", *(["cap: f32"] if "cap" in terms else [])]
    raw = "(scale * q[b,h,i,:]) . k[b,g,j,:]"
    conditions = [condition for term, condition in MASKS.items() if term in terms]
    masks = " and ".join([*conditions, *([f"({mask})"] if mask else [])])
    score = "cap * tanh(raw / cap)" if "cap" in terms else "raw"
    softmax = ["score", *(["mask"] if masks else []), *(["sink = sink[b,h,i]"] if "sink" in terms else [])]
    lines = [
        "# What a model of transformers asks of its attention. Queries are those of a call, the first of them is 0.",
        f"attention model_attention({', '.join(parameters)}) {{",
        "dims B, Hq, Hkv, M, N, D, E",
        f"types {', '.join(types)}",
        "",
        "input q : T[B, Hq, M, D]",
        "input k : T[B, Hkv, N, D]",
        "input v : T[B, Hkv, N, E]",
        *(f"input {term} : {TERMS[term]}" for term in TERMS if term in terms and term != "cap"),
        "output o : T[B, M, Hq, E]",
        "",
        "require Hq % Hkv == 0",
        "",
        "each b in B, h in Hq, i in M",
        "over j in N",
        "",
        "let g = h / (Hq / Hkv)",
        *([FAR] if mask and "since" in terms else []),
        f"let raw = {raw}",
        "",
        f"score = {score}{' + bias[b,h,i,j]' if 'bias' in terms else ''}",
        *([f"mask = {masks}"] if masks else []),
        "",
        f"o[b,i,h,:] = softmax({', '.join(softmax)}) . v[b,g,j,:]",
        "}",
    ]
    return format_text(Source("\n".join(lines)))


class _Ops:
    """The operators of calls by their terms, which are few: one is compiled once for all layers that ask the same.

    They are attributes, which torch.compile looks up each time: of a dict it would not see what joins while it traces.
    """


def op_of(*terms: str, mask: str = "") -> Op:
    """The operator of calls that have these of `TERMS`, and a mask of the user's. Raises SpecError."""
    _make(*terms, mask=mask)
    return getattr(_Ops, _name(terms, mask))  # type: ignore[no-any-return]


def _name(terms: tuple[str, ...], mask: str) -> str:
    return "_".join(("model", *terms, mask))


def _make(*terms: str, mask: str) -> None:
    """Compiles the spec of these terms and this mask, once."""
    name = _name(terms, mask)
    if name not in vars(_Ops):
        from attndsl.op.op import compile

        setattr(_Ops, name, compile(text(terms, mask)))


# torch.compile traces no compiler: what is marked so it runs, and takes the result for a constant.
vars(_make)["_dynamo_marked_constant"] = True
