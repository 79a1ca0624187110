"""A spec with a name in every place that takes one, and ways of filling them with hostile ones."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from attndsl.checking.check import check
from attndsl.checking.typed import Spec
from attndsl.syntax.source import Source
from attndsl.testing import Case
from attndsl.testing.hostile_names import HOSTILE_NAMES

TEMPLATE = """
attention {spec}({int_}: int = 1, {f32}: f32, {bool_}: bool = true) {{
    dims {rows}, {keys}, {width}
    types {type}, {other_type}
    input  {q} : {type}[{rows}, {width}]
    output {o} : {type}[{rows}, {width}]
    input  {k} : {other_type}[{keys}, {width}]
    output {lse} : {type}[{rows}]
    require {width} % {int_} == 0
    each {each} in {rows}
    over {over} in {keys}
    let {let} = {each} / {int_}
    let {view}[{slot}] = {q}[{slot}, 0] * {f32}
    score = (sum({axis} in {width}) {q}[{each}, {axis}] * {k}[{over}, {axis}]) / sqrt({width})
    mask  = {over} <= {let} + {keys} - {rows} or {bool_}
    {o}[{each}, :] = softmax(score, mask) . {k}[{over}, :]
    {lse}[{each}]  = logsumexp(score) + {view}[{let}]
}}
"""
"""Its declarations are out of the order of a call, and its `let` reads beyond nothing."""

PLACES = tuple(dict.fromkeys(re.findall(r"\{(\w+)\}", TEMPLATE)))

Names = Mapping[str, str]


def fillings(step: int, names: tuple[str, ...] = HOSTILE_NAMES) -> Iterator[Names]:
    """Names for the places: each name in each place where `step` is 1, in fewer where it is more."""
    apart = len(names) // len(PLACES)
    for first in range(0, len(names), step):
        found = {place: names[(first + n * apart) % len(names)] for n, place in enumerate(PLACES)}
        yield {place: f"{name}_" if "type" in place and name == "bool" else name for place, name in found.items()}


def spec_of(names: Names) -> Spec:
    """The spec with these names."""
    return check(Source(TEMPLATE.format(**names), "hostile.attn"))


def case_of(spec: Spec, names: Names) -> Case:
    """A small call of it, some of whose positions are masked."""
    dims = {names["rows"]: 4, names["keys"]: 5, names["width"]: 3}
    params = {names["int_"]: 1, names["f32"]: 0.5, names["bool_"]: False}
    return Case.make(spec, dims=dims, params=params)
