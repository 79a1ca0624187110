"""The pipelines, as data: which passes run, in which order, and why there."""

from __future__ import annotations

from typing import NamedTuple


class Step(NamedTuple):
    """A pass, as a pipeline string spells it, and the reason for its place."""

    spelling: str
    reason: str


SIMPLIFY = (
    Step("canonicalize", "constants and trivial conditions would hide the forms that the analyses match"),
    Step("cse", "the analyses compare values by identity"),
    Step("simplify-indices", "settles most of the range checks; wants each dim to be one value"),
    Step("canonicalize", "takes out the guards that were just settled"),
    Step("cse", "settled arithmetic is often equal to some that was there"),
)
"""Makes `attn` IR simple; sound at any point before `tile`."""

TO_ATTN = (
    *SIMPLIFY,
    Step("bound-loops", "before pack-rows, which puts the rows that tell key ranges apart first"),
    Step("pack-rows", "needs the guards of reads gone: a guard counts as what a key's place rests on"),
    *SIMPLIFY,
)
"""From freshly built `attn` IR to rows that share tiles and keys that have ranges."""

NUMPY = (
    *TO_ATTN,
    Step("stream-softmax{natural=true}", "last: until here a softmax is one operation; NumPy's exp beats its exp2"),
    *SIMPLIFY,
    Step("tile{rows=128 keys=512}", "tiles whose scores stay in the second-level cache of a CPU core"),
    Step("canonicalize", "the lowering leaves selects and products with constants behind"),
    Step("cse", "and computes some index arithmetic more than once"),
    Step("scan-keys", "wants equal conditions to be one value"),
)

TRITON = (
    *SIMPLIFY,
    Step("bound-loops", "before pack-rows, which puts the rows that tell key ranges apart first"),
    Step("split-axes", "tiles are powers of two; after bound-loops, while a mask is still said once"),
    *SIMPLIFY,
    Step("share-operands", "compares axes by their extents, which split-axes has made; before pack-rows counts reads"),
    Step("pack-rows", "needs the guards of reads gone: a guard counts as what a key's place rests on"),
    *SIMPLIFY,
    Step("stream-softmax", "last: until here a softmax is one operation; in base 2, as the hardware is"),
    *SIMPLIFY,
    Step("split-reduction", "needs streams, whose states can be merged; a launch chooses between what it makes"),
    Step("tile{rows=0 keys=0 whole=true}", "a launch chooses the sizes; tiles of a GPU are fixed in size, so whole"),
    Step("canonicalize", "the lowering leaves selects and products with constants behind"),
    Step("cse", "a comparison that is made twice would be settled twice"),
    Step("scan-keys", "before split-loops, which cuts the range that is left; wants equal conditions to be one value"),
    Step("gather-scales", "before split-loops, which makes two loops of one"),
    Step("align-pages", "before split-loops, which makes two loops of one; tells a launch what its tiles must divide"),
    Step("split-loops", "before pad-lanes, whose guards would hide which conditions a tile tests"),
    Step(
        "fold-extremes", "after split-loops, which asks for extremes; before pad-lanes, which guards what they are of"
    ),
    Step("canonicalize", "full tiles have conditions that are always true"),
    Step("prefetch-gathers", "leaves alone what split-loops has marked; reads are bare of settled conditions"),
    Step("narrow-products", "wants the reads that products rest on bare of settled conditions"),
    Step("assign-schedules", "counts what the loops read and carry, which no later pass changes"),
    Step("pad-lanes", "after the conditions that loads have already are simple, so that guards join them once"),
    Step("canonicalize", "guards that are always true, of sizes that are known"),
    Step("cse", "many loads have the same guard"),
    Step("keep-stored", "after the selects of pad-lanes, and what canonicalize makes of them"),
    Step("split-addresses", "after cse: what is equal is taken apart once; hides indices from every other analysis"),
    Step("choose-index-width", "last: names each operation that a program executes, which every other pass changes"),
)

PIPELINES: dict[str, tuple[Step, ...]] = {"numpy": NUMPY, "triton": TRITON}
"""The pipeline of each target."""


def spelling(steps: tuple[Step, ...]) -> str:
    """A pipeline as `attndsl opt --passes` takes it."""
    return ",".join(step.spelling for step in steps)
