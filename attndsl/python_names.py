"""Names of a spec as Python identifiers, out of reach of what generated code calls its own.

Generated code has names of three kinds, and none is of two:

- those of the spec, as `python_name` gives them;
- its own, which are the same in every file: WORDS, names that begin with `_`, and what SUFFIXES make of another name.
  None of them ends with `_`;
- those made up for values, which `attndsl.backends.names.Names` keeps apart from all others.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from attndsl.choices import CHOICES

MODULES = frozenset({"np", "torch", "triton", "tl"})
BUILTINS = frozenset(
    {"ValueError", "abs", "all", "bool", "float", "int", "iter", "len", "max", "min", "range", "sum", "tuple", "zip"}
)
AGREED = frozenset({"INDEX", *CHOICES, "schedule"})
"""What a launch chooses, by the names under which a call, a schedule and a kernel know it."""

OF_TRITON = frozenset(
    {"backend", "debug", "fpsan_homomorphic_casts", "instrumentation_mode", "maxnreg", "num_stages", "num_warps"}
    | {"options", "params", "specialization", "specialize_impl"}
)
"""What Triton calls its own in the function that it makes of a kernel's arguments, to launch it."""

OF_GLUON = frozenset(
    {"TensorDescriptor", "fence_async_shared", "gl", "gluon", "mbarrier", "tma", "warpgroup_mma", "warpgroup_mma_wait"}
)
"""What files of Gluon import."""

WORDS = MODULES | BUILTINS | AGREED | OF_TRITON | OF_GLUON

SUFFIXES = ("_ptr", r"_s\d+", "_kernel", "_launches", "_SCHEDULES")
"""The ends, as regular expressions, of names that are made of others: pointers, strides, kernels, …"""

_OWN = re.compile(f"_.*|.*({'|'.join(SUFFIXES)})")


@cache
def python_name(name: str) -> str:
    """The identifier that stands for a name, another one for each.

    Most are their own. `lambda`, `range` and `q_ptr` are fine names in a spec, and get a `_` in Python; so do those
    that differ from them by more of it alone.
    """
    plain = name.rstrip("_")
    own = not plain or keyword.iskeyword(plain) or plain in WORDS or _OWN.fullmatch(plain)
    if plain == "__debug":
        return f"{name}___"  # past `__debug__`, to which Python lets nothing be bound
    return f"{name}_" if own else name


def keywords(params: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as the keyword arguments of a generated function."""
    return {python_name(name): value for name, value in params.items()}


def pointer_name(tensor: str) -> str:
    """What a kernel calls the pointer to a tensor."""
    return f"{python_name(tensor)}_ptr"


def launches_name(spec: str) -> str:
    """What the function is called that lists the launches of a call."""
    return f"{python_name(spec)}_launches"
