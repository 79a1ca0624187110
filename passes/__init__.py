"""The passes, one a file, by the name that a pipeline calls them by."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attndsl.ir.exactness import Exactness
    from attndsl.ir.xdsl import ModulePass

PASSES = {
    "canonicalize": "Canonicalize",
    "cse": "Cse",
    "gather-blocks": "GatherBlocks",
    "share-blocks": "ShareBlocks",
    "simplify-indices": "SimplifyIndices",
    "specialise": "Specialise",
    "count-ranks": "CountRanks",
    "reassociate-contractions": "ReassociateContractions",
    "materialise": "Materialise",
    "tabulate-distances": "TabulateDistances",
    "fold-contractions": "FoldContractions",
    "split-axes": "SplitAxes",
    "share-operands": "ShareOperands",
    "exchange-loops": "ExchangeLoops",
    "order-sums": "OrderSums",
    "nest-loops": "NestLoops",
    "fuse-loops": "FuseLoops",
    "find-meetings": "FindMeetings",
    "find-columns": "FindColumns",
    "pack-rows": "PackRows",
    "bound-loops": "BoundLoops",
    "stream-softmax": "StreamSoftmax",
    "rebase-exponentials": "RebaseExponentials",
    "split-reduction": "SplitReduction",
    "tile": "Tile",
    "choose-keys": "ChooseKeys",
    "split-ranges": "SplitRanges",
    "scan-keys": "ScanKeys",
    "share-scans": "ShareScans",
    "batch-programs": "BatchPrograms",
    "gather-scales": "GatherScales",
    "gather-factors": "GatherFactors",
    "factor-scores": "FactorScores",
    "gather-terms": "GatherTerms",
    "scale-operands": "ScaleOperands",
    "guess-finite": "GuessFinite",
    "mask-edges": "MaskEdges",
    "skip-maxima": "SkipMaxima",
    "align-quotients": "AlignQuotients",
    "split-loops": "SplitLoops",
    "fold-extremes": "FoldExtremes",
    "prefetch-gathers": "PrefetchGathers",
    "narrow-products": "NarrowProducts",
    "approximate-functions": "ApproximateFunctions",
    "find-boxes": "FindBoxes",
    "assign-schedules": "AssignSchedules",
    "pad-axes": "PadAxes",
    "keep-stored": "KeepStored",
    "widen-kept": "WidenKept",
    "split-addresses": "SplitAddresses",
    "hoist-quotients": "HoistQuotients",
    "specialise-strides": "SpecialiseStrides",
    "find-ranges": "FindRanges",
    "choose-index-width": "ChooseIndexWidth",
    "assign-roles": "AssignRoles",
    "assign-threads": "AssignThreads",
    "order-axes": "OrderAxes",
    "sum-by-products": "SumByProducts",
    "assign-homes": "AssignHomes",
    "slice-products": "SliceProducts",
    "stream-products": "StreamProducts",
    "fuse-pointwise": "FusePointwise",
    "wrap-integers": "WrapIntegers",
}
"""Every pass: its name, which is also its file's, and the class in it. In the order in which a pipeline runs them."""


def load_pass(name: str) -> type[ModulePass]:
    """The class of a pass; raises KeyError where there is none of that name."""
    class_name = PASSES[name]
    module = import_module(f"attndsl.passes.{name.replace('-', '_')}")
    loaded: type[ModulePass] = getattr(module, class_name)
    return loaded


def exactness_of(name: str) -> Exactness:
    """What a pass declares of the numbers that a program computes; raises KeyError where there is none of that name."""
    declared: Exactness = vars(load_pass(name))["exactness"]
    return declared
