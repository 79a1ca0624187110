"""What the rows of a spec write of its outputs and temps: all of them at every call, or perhaps not."""

from __future__ import annotations

from attndsl.checking.typed import Block, IndexValue, Spec, Write


def partial_outputs(spec: Spec) -> tuple[str, ...]:
    """The outputs and temps of which a call may leave elements to no row, or that add up, in the order of writes."""
    writes = [(write, block) for block in spec.blocks for write in block.writes]
    return tuple(dict.fromkeys(w.tensor.name for w, block in writes if w.adds or not _is_whole(w, block)))


def _is_whole(write: Write, block: Block) -> bool:
    """Whether the rows of a block write every element: each index is a variable that takes all values of its axis."""
    variables = [value.index for value in write.indices if isinstance(value, IndexValue)]
    return (
        len(variables) == len(write.indices)
        and set(variables) == {*block.each, *write.axes}
        and all(
            index.extent is index.bound is extent  # equal expressions are the same object
            for index, extent in zip(variables, write.tensor.extents, strict=True)
        )
    )
