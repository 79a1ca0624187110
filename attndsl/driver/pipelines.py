"""The pipelines, as data: which passes run, in which order, and why there; each a function of what it leaves open."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from attndsl.ir.machines import ANY_CPU, PROCESSORS

Option = bool | int | str | tuple[str, ...] | tuple[int, ...]


@dataclass(frozen=True)
class Options:
    """What a pipeline leaves open.

    Tiles have so many `rows` and `keys`, 0 where a launch chooses; NumPy's have more keys where rows are few. Code is
    made for the extents that are `known` of dims, and suits `machine`, a GPU or CPU of attndsl.ir.machines. Tiles may
    be copied as `boxes` where Triton launches, which describes tensors to the hardware.
    """

    rows: int
    keys: int
    known: Mapping[str, int] = field(default_factory=dict)
    machine: str = ANY_CPU
    boxes: bool = True


class Step(NamedTuple):
    """A pass, the reason for its place, and its options."""

    name: str
    reason: str
    options: Mapping[str, Option] = {}

    @property
    def spelling(self) -> str:
        """The step as a pipeline string has it: `tile{rows=64 keys=64}`."""
        options = " ".join(f"{name}={_spelled(value)}" for name, value in self.options.items())
        return f"{self.name}{{{options}}}" if options else self.name


class Pipeline(NamedTuple):
    """The steps by the level of the IR that they end at; the first of `tile` lowers to it."""

    attn: tuple[Step, ...]
    tile: tuple[Step, ...]

    @property
    def steps(self) -> tuple[Step, ...]:
        """All, in order."""
        return (*self.attn, *self.tile)


SIMPLIFY = (
    Step("canonicalize", "constants and trivial conditions would hide the forms that the analyses match"),
    Step("cse", "the analyses compare values by identity"),
    Step("simplify-indices", "settles most of the range checks; wants each dim to be one value"),
    Step("canonicalize", "takes out the guards that were just settled"),
    Step("cse", "settled arithmetic is often equal to some that was there"),
)
"""Makes `attn` IR simple; sound at any point before `tile`."""

NESTED = Step("nest-loops", "before bound-loops: an interval of one of two indices is none of both together")

TO_ROWS = (
    Step("bound-loops", "before pack-rows, which puts the rows that tell key ranges apart first"),
    Step("share-operands", "compares axes by their extents; before pack-rows counts reads"),
    Step("find-meetings", "before pack-rows, which asks which rows may share a tile"),
    Step("find-columns", "before pack-rows, which packs the other variables; needs the guards of reads gone, too"),
    Step("pack-rows", "needs the guards of reads gone: a guard counts as what a key's place rests on"),
    *SIMPLIFY,
)
"""From simple `attn` IR to rows that share tiles and keys that have ranges."""

EXCHANGED = (
    *SIMPLIFY[:2],
    Step("exchange-loops", "wants equal quotients to be one value; before all that asks what keys are: it makes some"),
    *SIMPLIFY[2:],
)
"""From freshly built IR to simple `attn` IR, in which sums are over keys where that makes products of matrices."""

IN_THE_CHEAPER_ORDER = (
    Step("reassociate-contractions", "before materialise, which makes kernels of what it has put in order"),
    Step("materialise", "before bound-loops: which keys some row sees is one question, which one row does another"),
)
"""From simple `attn` IR to contractions that are made in the order, and as often, as is cheapest."""

TO_ATTN = (*SIMPLIFY, NESTED, *TO_ROWS)
"""The same, from freshly built IR."""


def specialised(options: Options) -> tuple[Step, ...]:
    """The step that makes constants of known dims, where any are."""
    if not options.known:
        return ()
    known: dict[str, Option] = {"dims": tuple(options.known), "extents": tuple(options.known.values())}
    return (Step("specialise", "first: what rests on a known dim is settled like any constant", known),)


def sliced(options: Options) -> tuple[Step, ...]:
    """The step that cuts products into slices, for CPUs that are faster so."""
    rows = PROCESSORS[options.machine].slices
    return (Step("slice-products", "after all that changes products", {"rows": rows}),) if rows else ()


def ordered(options: Options) -> Step:
    """The step that puts the axes of tiles in order."""
    sliced: dict[str, Option] = {"sliced": True} if PROCESSORS[options.machine].slices else {}
    return Step("order-axes", "before assign-homes: a home has its axes as tiles have them", sliced)


STREAMED = 4
"""The most rows by which others are multiplied where a table places these: `_deferred` of generated files."""


def compiled(options: Options) -> tuple[Step, ...]:
    """The steps that make loops of what these are faster at than NumPy, for CPUs whose code may be compiled."""
    if not PROCESSORS[options.machine].compiled:
        return ()
    numbers = options.rows * options.keys
    return (
        Step(
            "stream-products",
            "after keep-stored, and assign-homes: what lies in a home is widened",
            {"products": 4 * options.keys**2, "halves": numbers // 4},
        ),
        Step("fuse-pointwise", "after assign-homes: what is written where ends a chain", {"numbers": numbers // 4}),
    )


def copied(options: Options) -> tuple[Step, ...]:
    """The step that lets tiles be copied as boxes, where launches can describe tensors."""
    reason = "before assign-schedules, which counts what addresses take"
    return (Step("find-boxes", reason, {"machine": options.machine}),) if options.boxes else ()


def numpy(options: Options) -> Pipeline:
    """For CPUs: values of every size, loops that run in Python, and whose tiles threads may share."""
    numbers = options.rows * options.keys
    keys: dict[str, Option] = {"least": options.keys, "most": 4 * options.keys, "products": 8 * numbers}
    together: dict[str, Option] = {"numbers": 4 * numbers}
    if PROCESSORS[options.machine].compiled:  # products take less of a step's time, and Python's calls more
        keys |= {"few": 4, "longer": 8 * options.keys, "streamed": STREAMED}
        together |= {"least": 2, "streamed": STREAMED}
    fused: dict[str, Option] = {"programs": 2}
    splits: dict[str, Option] = {"splits": 4, "rows": options.rows, "keys": 8 * options.keys}
    attn = (
        *specialised(options),
        *EXCHANGED,
        *IN_THE_CHEAPER_ORDER,
        NESTED,
        *SIMPLIFY,
        Step("fuse-loops", "wants guards of reads gone; before bound-loops, while a mask is still said once", fused),
        *TO_ROWS,
        Step(
            "stream-softmax",
            "last: until here a softmax is one operation; NumPy's exp beats its exp2",
            {"natural": True},
        ),
        *SIMPLIFY,
        Step("split-reduction", "needs streams, whose states can be merged", splits),
    )
    tile = (
        Step("tile", "the level of loops and tiles", {"rows": options.rows, "keys": 0, "columns": options.keys}),
        Step("choose-keys", "before batch-programs, which asks how many there are", keys),
        Step("split-ranges", "before canonicalize, which takes out what is not read in a range"),
        Step("canonicalize", "the lowering leaves selects and products with constants behind"),
        Step("cse", "and computes some index arithmetic more than once"),
        Step("scan-keys", "wants equal conditions to be one value"),
        Step(
            "batch-programs",
            "after scan-keys, whose loops may rest on a program's variable; as many scores as in four full tiles",
            together,
        ),
        Step("assign-threads", "after batch-programs: with batch axes steps are larger"),
        Step("cse", "what the two compute for all programs, these need not compute anew"),
        Step(
            "gather-blocks", "wants equal quotients to be one value; before share-blocks, the last to read assumptions"
        ),
        Step("share-blocks", "wants equal quotients to be one value, and reads bare of settled conditions"),
        Step("gather-scales", "makes one factor of several, so that it can be moved"),
        Step("scale-operands", "after gather-scales; a query that is scaled is read by nothing else"),
        Step("guess-finite", "before mask-edges, which tells where nothing is left out"),
        Step("mask-edges", "hides which conditions a tile tests"),
        Step(
            "fold-extremes",
            "after mask-edges, which asks for extremes; no width of numbers is chosen",
            {"plain": True},
        ),
        Step("gather-terms", "after fold-extremes, which leaves an end less 1 plus 1 behind"),
        Step("skip-maxima", "after mask-edges, whose work both loops need; before assign-homes: they share scratch"),
        Step("keep-stored", "asks what each tile is used for"),
        Step("sum-by-products", "after all that knows a sum by what it is; before order-axes, which asks for products"),
        ordered(options),
        Step("assign-homes", "when tiles are read is what every other pass changes"),
        *sliced(options),
        *compiled(options),
        Step("wrap-integers", "last: names what programs compute, which every other pass changes"),
    )
    return Pipeline(attn, tile)


def triton(options: Options) -> Pipeline:
    """For GPUs: tiles of fixed sizes, of which a launch chooses, in full ones and others."""
    machine = {"machine": options.machine}
    attn = (
        *specialised(options),
        Step("count-ranks", "before all that asks what rows and keys are: it makes some"),
        *EXCHANGED,
        Step("order-sums", "wants simple places, which tell most; before all that asks what keys are: it makes some"),
        *SIMPLIFY[2:],
        *IN_THE_CHEAPER_ORDER,
        Step("tabulate-distances", "before fuse-loops and pack-rows, which ask what is read for each row and key"),
        Step("fold-contractions", "before split-axes: what is read tile by tile fits tiles without being cut"),
        NESTED,
        Step("bound-loops", "before pack-rows, which puts the rows that tell key ranges apart first"),
        Step("find-meetings", "before split-axes, which makes several writes of one; pack-rows asks"),
        Step("split-axes", "tiles are powers of two; after bound-loops, while a mask is still said once"),
        *SIMPLIFY,
        Step(
            "share-operands", "compares axes by their extents, which split-axes has made; before pack-rows counts reads"
        ),
        Step("find-columns", "before pack-rows, which packs the other variables; needs the guards of reads gone, too"),
        Step("pack-rows", "needs the guards of reads gone: a guard counts as what a key's place rests on"),
        *SIMPLIFY,
        Step("stream-softmax", "last: until here a softmax is one operation; in base 2, as the hardware is"),
        Step("rebase-exponentials", "beside stream-softmax, whose powers are of 2; wants scales to be simple"),
        *SIMPLIFY,
        Step("split-reduction", "needs streams, whose states can be merged; a launch chooses between what it makes"),
    )
    tile = (
        Step(
            "tile",
            "tiles of a GPU are of a fixed size",
            {"rows": options.rows, "keys": options.keys, "columns": options.keys or 128, "fixed": True},
        ),
        Step("split-ranges", "before canonicalize, which takes out what is not read in a range"),
        Step("canonicalize", "the lowering leaves selects and products with constants behind"),
        Step("cse", "a comparison that is made twice would be settled twice"),
        Step(
            "scan-keys", "before split-loops, which cuts the range that is left; wants equal conditions to be one value"
        ),
        Step(
            "share-scans", "after scan-keys, whose looks it shares; before split-loops, which rests on what they find"
        ),
        Step("gather-scales", "before split-loops, which makes two loops of one"),
        Step("gather-factors", "after gather-scales, which leaves products of tiles alone; before split-loops, too"),
        Step("factor-scores", "after gather-scales, which makes one factor of several; before split-loops, too"),
        Step(
            "align-quotients",
            "before split-loops, which makes two loops of one; tells a launch what its tiles must divide",
        ),
        Step("split-loops", "before pad-axes, whose guards would hide which conditions a tile tests"),
        Step(
            "fold-extremes",
            "after split-loops, which asks for extremes; before pad-axes, which guards what they are of",
        ),
        Step("canonicalize", "full tiles have conditions that are always true"),
        Step("prefetch-gathers", "leaves alone what split-loops has marked; reads are bare of settled conditions"),
        Step("narrow-products", "wants the reads that products rest on bare of settled conditions", machine),
        *copied(options),
        Step("assign-schedules", "counts what the loops read and carry, which no later pass changes", machine),
        Step("pad-axes", "after the conditions that loads have already are simple, so that guards join them once"),
        Step("canonicalize", "guards that are always true, of sizes that are known"),
        Step("cse", "many loads have the same guard"),
        Step(
            "share-blocks",
            "after pad-axes, whose guards vary along all of an axis; before widths are chosen",
            {"least": 4},
        ),
        Step("keep-stored", "after the selects of pad-axes, and what canonicalize makes of them"),
        Step("widen-kept", "after keep-stored, which says what is not wide already"),
        Step("split-addresses", "after cse: what is equal is taken apart once; hides indices from other analyses"),
        Step("hoist-quotients", "after split-addresses: names what a program computes, which other passes change"),
        Step("specialise-strides", "after split-addresses, which leaves of an index the axes that it varies along"),
        Step("find-ranges", "after hoist-quotients: how a launch divides is no question of signs"),
        Step("choose-index-width", "last: names what a program executes, which every other pass changes"),
    )
    return Pipeline(attn, tile)


def gluon(options: Options) -> Pipeline:
    """For Hopper GPUs: the pipeline of Triton, and kernels whose warps have roles beside those that can have them.

    The plain kernels are those of Triton's file: a launch takes them where roles do not pay, or no box can be copied.
    """
    plain, fused = triton(options), Step("fuse-loops", "as NumPy's does; a launch chooses", {"chosen": True})
    after = [step.name for step in plain.attn].index(NESTED.name) + 1
    attn = (*plain.attn[:after], *SIMPLIFY, fused, *plain.attn[after:])
    functions = Step("approximate-functions", "once products have their types; plain kernels have no use for it")
    roles = Step("assign-roles", "last: roles are made of what a plain kernel does, statements included")
    return Pipeline(attn, (*plain.tile, functions, roles))


def spelling(steps: tuple[Step, ...]) -> str:
    """A pipeline as `attndsl opt --passes` takes it."""
    return ",".join(step.spelling for step in steps)


def _spelled(value: Option) -> str:
    match value:
        case tuple():
            return ",".join(map(_spelled, value))
        case bool() | str():
            return json.dumps(value)
    return str(value)
