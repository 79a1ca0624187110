"""Which kernels copy the keys that they multiply, which tiles lie in memory so. An analysis of `tile`, for CPUs.

What lies one behind another in memory, in the type that it is computed with, is no copy; nor are bytes, where products
take them as they are. A scale of each key is taken off a product's operand later (`gather-scales`).
"""

from __future__ import annotations

from attndsl.ir import spec, tile
from attndsl.ir.analyses.arrangement import row_axis
from attndsl.ir.analyses.facts import leaves
from attndsl.ir.analyses.stored import held_by
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.statements import operations
from attndsl.ir.xdsl import Operation, SSAValue, arith

AS_BYTES = ("i8", "u8")
"""The element types whose numbers NumPy takes as they are beside those of float32."""


def copies_keys(kernel: tile.KernelOp, *, placed: bool = True) -> bool:
    """Whether tiles of keys and features are gathered, widened or computed, before heads are batched.

    What is read under a condition that reads data is gathered. Whole rows in f32 are not where they lie wherever they
    are `placed`: products may read them there.
    """
    axes, rows = AxesAnalysis(), row_axis(kernel)
    elements = {t.sym_name.data: t.element.data for t in spec.declarations(kernel, spec.TensorOp)}

    def has_features(value: SSAValue) -> bool:
        """Whether a tile of keys has another axis, which is not that of rows."""
        found = axes(value)
        return any(map(tile.is_key, found)) and any(a is not rows and not tile.is_key(a) for a in found)

    def is_computed(index: SSAValue) -> bool:
        """Whether an index is no range of keys, shifted or not."""
        return any(any(map(tile.is_key, axes(part))) for part in _computed(index))

    def reads_data(op: tile.LoadOp) -> bool:
        return op.where is not None and any(isinstance(leaf.owner, tile.LoadOp) for leaf in leaves(op.where))

    def is_copy(op: Operation) -> bool:
        match op:
            case tile.LoadOp():
                element = elements[op.tensor.string_value()]
                if not placed and not has_features(op.result):
                    return False
                if not placed and element == "f32":
                    return tile.is_key(op.indices[-1]) or not isinstance(op.indices[-1].owner, tile.RangeOp)
                widened = element not in ("f32", *AS_BYTES)
                return any(map(is_computed, op.indices)) or ((widened or reads_data(op)) and has_features(op.result))
            case tile.DotOp() | tile.LoopOp() | spec.ToFloatOp():
                return False
            case arith.MulfOp():
                return all(map(has_features, op.operands))
        return any(map(has_features, op.results))

    return any(is_copy(op) for op in operations(kernel))


def copies_placed_rows(kernel: tile.KernelOp) -> bool:
    """Whether all that a kernel copies of its keys are whole rows in f32, which lie where something places them."""
    return copies_keys(kernel) and not copies_keys(kernel, placed=False)


def lies(value: SSAValue, axes: AxesAnalysis) -> bool:
    """Whether a tile's numbers lie in memory as they are multiplied, one range of rows behind another."""
    load = held_by(value)
    if load is None or any(axes(part) for index in load.indices for part in _computed(index)):
        return False
    return spec.enclosing_tensor(load, load.tensor.string_value()).element.data in ("f32", *AS_BYTES)


def _computed(index: SSAValue) -> list[SSAValue]:
    """What is added up to an index, but for ranges."""
    op = index.owner
    parts = op.operands if isinstance(op, arith.AddiOp | arith.SubiOp) else (index,)
    return [part for part in parts if not isinstance(part.owner, tile.RangeOp)]
