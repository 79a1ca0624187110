"""Mods of PyTorch's FlexAttention as a spec."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from attndsl.checking.check import check
from attndsl.diagnostics.base import SpecError
from attndsl.importing.captures import Captures, variables
from attndsl.importing.errors import CannotImport
from attndsl.importing.functions import apply
from attndsl.importing.names import SpecNames, plain
from attndsl.importing.nodes import Traced
from attndsl.importing.text import TAKEN, Mods, SpecLines
from attndsl.importing.values import Concrete, Fixed, ModTrace, Watch
from attndsl.syntax.format import format_text
from attndsl.syntax.source import Source

Mod = Callable[..., Any]

_INDICES = ("b", "h", "i", "j")


def from_flex(
    score_mod: Mod | None = None,
    mask_mod: Mod | None = None,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
    name: str | None = None,
) -> str:
    """The text of the spec that `flex_attention` computes with these mods, as a person would write it.

    `score_mod(score, b, h, q_idx, kv_idx)` and `mask_mod(b, h, q_idx, kv_idx)` are called, with values that note what
    is done to them. Captured tensors become inputs, captured numbers parameters whose defaults they are. Raises
    CannotImport, which names what a spec cannot say, its line, and the way out.
    """
    fixed: frozenset[Fixed] = frozenset()
    while True:
        try:
            text = _text(score_mod, mask_mod, scale, enable_gqa, name, fixed)
            break
        except Concrete as needed:
            fixed |= needed.fixed
    try:
        check(Source(text))
        return format_text(Source(text))
    except SpecError as error:
        raise CannotImport(f"what these mods say is no spec: {error}\n{text}") from error


def _text(
    score_mod: Mod | None,
    mask_mod: Mod | None,
    scale: float | None,
    grouped: bool,
    name: str | None,
    fixed: frozenset[Fixed],
) -> str:
    mods = [mod for mod in (score_mod, mask_mod) if mod is not None]
    names = SpecNames((*TAKEN, *(("scale",) if scale is not None else ())))
    called = names.new(plain(name or "_".join(_name(mod) for mod in mods if _name(mod) != "mod") or "flex"))
    trace = ModTrace(names, fixed, apply)
    score = scored = trace.nodes.leaf("score", "float")
    mask = None
    captures = Captures(trace)
    if score_mod is not None:
        score = _run(trace, captures.open(score_mod, "score_mod", "score_mod"), scored)
        score, mask = _taken_out(trace, score)
        if score.kind != "float":
            score = (
                trace.nodes.apply("float", score)
                if score.kind == "int"
                else trace.refuse("a score is a bool", "a mask_mod")
            )
    if mask_mod is not None:
        said = _run(trace, captures.open(mask_mod, "mask_mod", "mask_mod"))
        if said.kind != "bool":
            trace.refuse(f"mask_mod gives {said.kind}s", "a comparison")
        mask = said if mask is None else trace.nodes.apply("and", said, mask)
    given = "" if scale is None else f"scale: f32 = {float(scale)}"
    return "\n".join(SpecLines(trace, Mods(called, _comment(mods), score, mask, grouped, given)).lines()) + "\n"


def _run(trace: ModTrace, mod: Mod, *score: Traced) -> Traced:
    """What a mod gives."""
    arguments = [*score, *(trace.nodes.leaf("index", "int", index) for index in _INDICES)]
    trace.running = True
    try:
        with Watch(trace), variables(trace.called):
            found = mod(*map(trace.value, arguments))
    except (CannotImport, Concrete):
        raise
    except Exception as error:  # of the user's code, whatever it is
        raise CannotImport(f"{_name(mod)} raises {type(error).__name__}: {error}") from error
    finally:
        trace.running = False
    return trace.node(found)


def _taken_out(trace: ModTrace, score: Traced) -> tuple[Traced, Traced | None]:
    """A score that is -inf where a condition fails, as a score and a mask."""
    match score:
        case Traced("fselect", parts=(condition, kept, Traced("const", value=value))) if value == -float("inf"):
            return kept, condition
        case Traced("fselect", parts=(condition, Traced("const", value=value), kept)) if value == -float("inf"):
            return kept, trace.nodes.apply("not", condition)
    return score, None


def _comment(mods: Sequence[Mod]) -> str:
    """What the mods are called, and what the first that says so says of itself."""
    names = ("a lambda" if (name := _name(mod)) == "mod" else name for mod in mods)
    called = " and ".join(dict.fromkeys(names)) or "plain attention"
    own = next((said for mod in mods if (said := _said(mod)).isprintable() and said), "")
    return f"From FlexAttention: {called}.{own and ' '}{own}"


def _said(mod: Mod) -> str:
    """The first line of a function's docstring."""
    mod = getattr(mod, "func", mod)  # of a partial call
    said = (mod.__doc__ or "").strip() if isinstance(mod, FunctionType) else ""
    return said.partition("\n")[0]


def _name(mod: Mod) -> str:
    mod = getattr(mod, "func", mod)  # of a partial call
    name = plain(getattr(mod, "__name__", type(mod).__name__))
    return "mod" if name == "lambda" else name
