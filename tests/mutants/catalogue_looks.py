"""Mutants of looks that are kernels of their own. They are shown on a spec: few that are drawn have such a look."""

from __future__ import annotations

from collections.abc import Iterator

from attndsl.ir import tile
from attndsl.ir.analyses.looks import found_before
from attndsl.ir.rewrite import constant, index_constant, insert_before
from attndsl.ir.xdsl import ModuleOp

from .mutant import every, spoils


def read_of_looks(module: ModuleOp) -> Iterator[tile.LoadOp]:
    """The loads of what kernels have found that go before the one that reads it."""
    return (load for load in every(module, tile.LoadOp) if found_before(load) is not None)


@spoils("triton", "share-scans")
def look_of_the_first_tile(module: ModuleOp) -> None:
    """All tiles of rows see the keys that a look has found for the first one."""
    for load in read_of_looks(module):
        for n, place in enumerate(load.indices):
            if isinstance(place.owner, tile.ProgramOp) and constant(place.owner.step) != 1:
                load.operands[n] = insert_before(load, index_constant(0))


@spoils("triton", "share-scans")
def first_key_seen_for_the_last(module: ModuleOp) -> None:
    """The keys stop where a look has found that they start."""
    for load in read_of_looks(module):
        if constant(load.indices[-1]) == 1:
            load.operands[len(load.indices) - 1] = insert_before(load, index_constant(0))


@spoils("triton", "share-scans")
def look_left_by_the_last_batch(module: ModuleOp) -> None:
    """What a look finds for each value of a variable that is no row lies where that for the first one should."""
    for store in every(module, tile.StoreOp):
        kernel = store.parent_op()
        for n, place in enumerate(store.indices):
            program = place.owner
            if kernel.scheduled_as is not None and isinstance(program, tile.ProgramOp) and constant(program.step) == 1:
                store.operands[n] = insert_before(store, index_constant(0))
