"""The phrases that drawn specs are made of: a small grammar, whose sentences are statements of well-typed specs.

A phrase is a name and, indented below it, the templates that may stand for it; `3 | j` is taken three times as often
as `j`. `{name}` in a template stands for a phrase. The first template of each is the simplest, since what fails is
shrunk towards it. `name@layout` stands in for `name` in blocks whose rows or keys have that layout.

A template uses inputs, definitions and parameters by their names; `INPUTS`, `LETS` and `PARAMETERS` say what these
are, and only those that are used come into a spec. Widths are D for queries and keys, E for values.
"""

from __future__ import annotations

from attndsl.testing.phrases import names
from attndsl.testing.phrases.grammar import Phrases, phrases, renamed, table
from attndsl.testing.phrases.layouts import LAYOUTS, QUERIES
from attndsl.testing.phrases.masks import MASKS
from attndsl.testing.phrases.outputs import AGAIN, DECLARED, OUTPUTS
from attndsl.testing.phrases.scores import CURVES, HASHES, SCORES
from attndsl.testing.phrases.stored import INDICES, VALUE_LETS, VALUES, WIDTHS

_TO_GATES = {"query": "gate", "q": "gate", "D": "E"}

_TO_KEYS = {"v": "k", "E": "D", "e": "d", "other_e": "other_d"}

KEYS = renamed(VALUES, value="key", stored="kept", warp="curve_of_key", **_TO_KEYS)

PHRASES: Phrases = phrases(
    "\n".join(
        [
            *(LAYOUTS, VALUES, KEYS, INDICES, SCORES, HASHES, CURVES, MASKS, OUTPUTS, AGAIN, DECLARED, QUERIES),
            renamed(QUERIES, **_TO_GATES),
            renamed(CURVES, curve="row_curve", x="row_number"),
            renamed(CURVES, curve="warp", x="stored"),
            renamed(CURVES, curve="curve_of_key", x="kept"),
        ]
    )
)

INPUTS = {
    **table(WIDTHS),
    **table(renamed(WIDTHS, **_TO_KEYS)),
    **table(names.QUERIES),
    **table(renamed(names.QUERIES, **_TO_GATES)),
    **table(names.INPUTS),
}
"""What every input is declared as, should it be read."""

LETS = {
    **table(VALUE_LETS),
    **table(renamed(VALUE_LETS, **_TO_KEYS)),
    **table(names.LETS),
}
"""What every definition is; one whose parameters are plain names stands before the rows."""

PARAMETERS = table(names.PARAMETERS)
"""What the header says of every parameter."""

CONDITIONS = {
    **{f"{dim} / {size}": f"{dim} % {size} == 0" for dim in "DE" for size in (2, 8)},
    "H / G": "H % G == 0",
    "/ p": "p > 0",
}
"""What is required where a text holds such an expression."""
