"""Which kernels of a module run at a call."""

from __future__ import annotations

from collections.abc import Iterable

from attndsl.checking.symbolic import Values, evaluate
from attndsl.ir import attn, tile
from attndsl.ir.xdsl import ArrayAttr, SymbolRefAttr

AnyKernel = attn.KernelOp | tile.KernelOp


def runs(
    kernel: AnyKernel,
    dims: Values,
    params: Values,
    splits: int,
    with_roles: bool = False,
    fused: bool = False,
    wide: bool = False,
) -> bool:
    """Whether a kernel runs at a call of these dims and parameters whose launch chooses so many splits.

    Where warps may have roles, the kernel in which they have runs `with_roles`, else the one beside it; that of more
    rows where programs are to be `wide`, and there is one. What stands `instead of` others does where those are
    `fused`.
    """
    if kernel.instead is not None:
        return fused
    if fused and kernel.entry.data in fused_in(kernel):
        return False
    if kernel.form is not None and kernel.form.data != _form(kernel, splits, with_roles, wide):
        return False
    if kernel.when is not None and not evaluate(kernel.when.data, dims, params):
        return False
    return kernel.unless is None or not evaluate(kernel.unless.data, dims, params)


def fused_in(kernel: AnyKernel) -> set[str]:
    """The kernels in whose place others stand, of the module that a kernel is in."""
    return {each.string_value() for op in kernels_beside(kernel) for each in op.instead or ()}


def join(kernel: AnyKernel, others: Iterable[AnyKernel]) -> None:
    """Lets others run where a kernel does: not where something stands in its place."""
    names = [SymbolRefAttr(each.entry.data) for each in others]
    for op in kernels_beside(kernel):
        if op.instead is not None and kernel.entry.data in {each.string_value() for each in op.instead}:
            op.instead = ArrayAttr([*op.instead, *names])


def kernels_beside(kernel: AnyKernel) -> list[AnyKernel]:
    """The kernels of the module that one is in, itself among them."""
    module = kernel.parent_op()
    assert module is not None, "kernels stand in a module"
    return [op for region in module.regions for op in region.ops if isinstance(op, attn.KernelOp | tile.KernelOp)]


def _form(kernel: AnyKernel, splits: int, with_roles: bool, wide: bool) -> str:
    """The form that runs of the kernels of one name: a kernel with roles runs in the place of a plain one."""
    plain = "whole" if splits == 1 else "split"
    forms = {op.form.data for op in kernels_beside(kernel) if op.form is not None and op.entry == kernel.entry}
    if not with_roles or not {plain, "roles"} <= forms:
        return plain
    return "wide" if wide and "wide" in forms else "roles"
