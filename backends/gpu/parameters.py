"""What a kernel takes: its arguments, and what the launcher works out for them. An analysis of a `tile` kernel."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from attndsl.ir import spec, tile
from attndsl.ir.analyses.boxes import box_of
from attndsl.ir.analyses.facts import executed, leaves
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.rings import OutboxOp
from attndsl.ir.sizes import leaf_of, size_of
from attndsl.ir.statements import named, operations
from attndsl.ir.walks import TakeOp
from attndsl.ir.xdsl import Operation, SSAValue
from attndsl.python_names import python_name


@dataclass(frozen=True)
class CopiedBox:
    """What `loads` copy at once of a `tensor`, where a call allows it; None stands for the length 1 along an axis."""

    tensor: str
    lengths: tuple[SSAValue | None, ...]
    loads: tuple[tile.LoadOp, ...]


@dataclass(frozen=True)
class Parameters:
    """A kernel's arguments, in the order of the fields after the first, which is what its programs execute.

    `strides` holds the names of each tensor's strides, and `varying` those whose values no code is made for. `dims`,
    `splits` (how many a launch cuts the keys into) and `params` change from call to call, and so do `quotients`, which
    a launch computes once for all programs; `counts` holds how many values the program variables have from whose number
    they are read, all of them where programs take tiles until there is none. Code is made for each value of `static`
    dims, which are those that the sizes of tiles depend on, of `sizes`, and of `choices`, the sizes of tiles that a
    schedule holds. `boxes` are what loads copy at once, where the tensors of a call allow it.
    """

    executed: Collection[Operation]
    tensors: tuple[spec.TensorOp, ...]
    strides: dict[str, tuple[str, ...]]
    varying: frozenset[str]
    dims: tuple[str, ...]
    splits: tuple[str, ...]
    params: tuple[spec.ParamOp, ...]
    quotients: tuple[SSAValue, ...]
    counts: tuple[tile.ProgramOp, ...]
    static: tuple[str, ...]
    sizes: tuple[SSAValue, ...]
    choices: tuple[str, ...]
    boxes: tuple[CopiedBox, ...]

    @classmethod
    def of(cls, kernel: tile.KernelOp, tensors: list[spec.TensorOp]) -> Parameters:
        """What `kernel` takes, of a module with these tensors."""
        found = executed(kernel)
        ops = [op for op in operations(kernel) if op in found]
        used = {op.tensor.string_value() for op in ops if isinstance(op, tile.LoadOp | tile.StoreOp)}
        counters = {op.counter.string_value() for op in ops if isinstance(op, TakeOp)}
        # By its address a call that is made again finds a workspace, whose boxes are all that a kernel takes.
        outboxes = [op.declaration for op in kernel.walk() if isinstance(op, OutboxOp)]
        used |= counters | {t.sym_name.data for t in outboxes if t.role.data == "workspace"}
        taken = tuple(t for t in tensors if t.sym_name.data in used)
        sizes = tuple({size_key(op.result): op.result for op in ops if isinstance(op, tile.PaddedOp)}.values())
        static = {leaf.owner.dim.data for size in sizes for leaf in leaves(size) if isinstance(leaf.owner, spec.DimOp)}
        dims = dict.fromkeys(op.dim.data for op in ops if isinstance(op, spec.DimOp))
        dims.update(dict.fromkeys(sorted(static)))
        params = {op.param.data: op for op in ops if isinstance(op, spec.ParamOp)}
        programs = [op for op in ops if isinstance(op, tile.ProgramOp)]
        chosen = {op.choice.data: op for op in ops if isinstance(op, spec.ChoiceOp)}
        made_for = {tensor.string_value() for tensor in kernel.strided or ()}
        launched = named(kernel, tile.LaunchedOp)
        return cls(
            executed=found,
            tensors=taken,
            strides={t.sym_name.data: tuple(stride_names(t)) for t in taken},
            varying=frozenset(name for t in taken if t.sym_name.data not in made_for for name in stride_names(t)[:-1]),
            dims=tuple(d for d in dims if d not in static),
            splits=tuple(name for name, op in chosen.items() if op.most is not None),
            params=tuple(params.values()),
            quotients=tuple(result for op in ops for result in op.results if result in launched),
            counts=tuple(op for n, op in enumerate(programs) if n > 0 or op.descending is not None or counters),
            static=tuple(d for d in dims if d in static),
            sizes=sizes,
            choices=tuple(name for name, op in chosen.items() if op.most is None),
            boxes=_boxes_of(ops),
        )


def _boxes_of(ops: Iterable[Operation]) -> tuple[CopiedBox, ...]:
    """What loads copy at once: each tensor once for boxes of the same sizes."""
    axes = AxesAnalysis()
    found: dict[object, CopiedBox] = {}
    for op in ops:
        if isinstance(op, tile.LoadOp) and op.box is not None and (box := box_of(op, axes)) is not None:
            name, lengths = op.tensor.string_value(), tuple(side.size for side in box)
            key = (name, *(None if size is None else _size_key(size) for size in lengths))
            loads = found[key].loads if key in found else ()
            found[key] = CopiedBox(name, lengths, (*loads, op))
    return tuple(found.values())


def size_key(size: SSAValue) -> object:
    """The same for equal results of `tile.padded`, which several blocks may compute: a kernel takes each once."""
    assert isinstance(size.owner, tile.PaddedOp)
    return size_of(size.owner.size) or size


def _size_key(size: SSAValue) -> object:
    """The same for sizes of axes that are the same at a launch."""
    return ("padded", size_key(size)) if isinstance(size.owner, tile.PaddedOp) else leaf_of(size) or size


def stride_names(tensor: spec.TensorOp) -> list[str]:
    """What the strides of a tensor are called in a kernel, in elements."""
    return [f"{python_name(tensor.sym_name.data)}_s{n}" for n in range(len(tensor.shape))]
