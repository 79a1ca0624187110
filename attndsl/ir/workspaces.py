"""Workspaces: tensors of the compiler's, which one kernel writes and a later one reads, and how large they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from attndsl.checking.symbolic import Expression
from attndsl.ir import attn, spec, tile
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.keys import factors_of
from attndsl.ir.polynomial import Facts
from attndsl.ir.sizes import expression_of, known_limit, size_of
from attndsl.ir.statements import of_kind
from attndsl.ir.xdsl import Attribute, ModuleOp, Operation, SSAValue, f32, f64, index

ELEMENTS: Mapping[Attribute, str] = {f32: "f32", f64: "f64", index: "i64"}
"""The element types of workspaces: what is computed is kept as it is."""

NOTHING: Mapping[SSAValue, SSAValue] = MappingProxyType({})


Variable = attn.IndexOp | tile.ProgramOp
"""What gives the values by which elements are placed, at either level."""


def limit_of(variable: Variable) -> SSAValue | None:
    """What a launch can compute and the variable stays below, None where there is no such value."""
    return variable.bound if variable.bound is not None else known_limit(variable.extent)


def room_of(variable: Variable, facts: Facts) -> Expression | None:
    """How many values of a variable a tensor must have room for, None where a launch cannot know."""
    limit = limit_of(variable) or variable.extent
    extent = size_of(limit)
    extent = expression_of(limit) if extent is None else extent
    return extent if extent is None or facts.nonnegative(facts.of(limit)) else ("imax", 0, extent)


def rooms_of(value: SSAValue, kernel: attn.KernelOp, axes: AxesAnalysis) -> list[Expression | None]:
    """How many values each of the variables of a value takes: those that place it first, then features."""
    facts = Facts(kernel.body.block)
    return [room_of(variable, facts) for variable in variables_of(value, kernel, axes)]


def variables_of(value: SSAValue, kernel: attn.KernelOp, axes: AxesAnalysis) -> list[attn.IndexOp]:
    """The variables that a value varies along: those that place it, as they stand in the kernel, then features."""
    found = [op for op in kernel.body.block.ops if isinstance(op, attn.IndexOp) and op.result in axes(value)]
    return sorted(found, key=lambda op: isinstance(op, attn.AxisOp))


@dataclass(frozen=True)
class Workspace:
    """Where a value of a kernel is left for another one: an element for each value of its variables."""

    tensor: spec.TensorOp
    value: SSAValue
    variables: tuple[SSAValue, ...]

    @classmethod
    def of(cls, value: SSAValue, kernel: attn.KernelOp, module: ModuleOp, axes: AxesAnalysis) -> Workspace | None:
        """A workspace, declared before the kernel; None where a launch does not know how large it would be."""
        extents = [extent for extent in rooms_of(value, kernel, axes) if extent is not None]
        variables = variables_of(value, kernel, axes)
        if len(extents) < len(variables) or value.type not in ELEMENTS:
            return None
        assert isinstance(value.owner, Operation)
        name = fresh(_named(value.owner), symbols_of(module))
        tensor = spec.TensorOp(name, "workspace", ELEMENTS[value.type], extents)
        tensor.location = value.owner.location
        module.body.block.insert_op_before(tensor, kernel)
        return cls(tensor, value, tuple(op.result for op in variables))

    @property
    def name(self) -> str:
        """What the tensor is called."""
        return self.tensor.sym_name.data

    def read(self, copied: Mapping[SSAValue, SSAValue] = NOTHING) -> attn.ReadOp:
        """Reads the value, by variables that may have been `copied` to another kernel."""
        return attn.ReadOp(self.name, [copied.get(v, v) for v in self.variables], None, self.value.type)

    def write(self, value: SSAValue, copied: Mapping[SSAValue, SSAValue] = NOTHING) -> attn.WriteOp:
        """Writes the value, or what it has become of it in another kernel."""
        write = attn.WriteOp(self.name, [copied.get(v, v) for v in self.variables], value, None)
        write.location = self.tensor.location
        return write


def _named(op: Operation) -> str:
    """What an operation's result may be called: what the spec calls it, or after the tensors that it is made of."""
    if op.results[0].name_hint is not None:
        return str(op.results[0].name_hint)
    made_of = factors_of(op.value if isinstance(op, attn.SoftmaxOp) else op.operands[0])
    tensors = [factor.owner.tensor.string_value() for factor in made_of if isinstance(factor.owner, attn.ReadOp)]
    kind = {attn.SumOp: "", attn.SoftmaxOp: "mean_"}.get(type(op), f"{op.name.removeprefix('attn.')}_")
    return kind + ("_".join(dict.fromkeys(tensors)) or "made")


def left_by_several(kernels: Iterable[tile.KernelOp]) -> set[str]:
    """The tensors that more than one kernel writes: blocks that add to one, or forms of one block."""
    stored = [{op.tensor.string_value() for op in of_kind(k, tile.StoreOp)} for k in kernels]
    counts = Counter(name for names in stored for name in names)
    return {name for name, count in counts.items() if count > 1}


def symbols_of(module: ModuleOp) -> set[str]:
    """The names that no workspace may have: of tensors, parameters and dims."""
    symbols = {op.sym_name.data for op in module.body.block.ops if isinstance(op, spec.TensorOp | spec.ParameterOp)}
    return symbols | {op.dim.data for op in of_kind(module, spec.DimOp)}


def fresh(name: str, taken: Collection[str]) -> str:
    """A name that is not taken: this one, or with a number."""
    return next(n for n in (name, *(f"{name}_{number}" for number in range(1, len(taken) + 2))) if n not in taken)
