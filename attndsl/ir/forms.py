"""Which kernels of a module run at a call."""

from __future__ import annotations

from attndsl.checking.symbolic import Values, evaluate
from attndsl.ir import attn, tile


def runs(
    kernel: attn.KernelOp | tile.KernelOp, dims: Values, params: Values, splits: int, with_roles: bool = False
) -> bool:
    """Whether a kernel runs at a call of these dims and parameters whose launch chooses so many splits.

    Where warps may have roles, the kernel in which they have runs `with_roles`, else the one beside it.
    """
    if kernel.form is not None and kernel.form.data != _form(kernel, splits, with_roles):
        return False
    if kernel.when is not None and not evaluate(kernel.when.data, dims, params):
        return False
    return kernel.unless is None or not evaluate(kernel.unless.data, dims, params)


def _form(kernel: attn.KernelOp | tile.KernelOp, splits: int, with_roles: bool) -> str:
    """The form that runs of the kernels of one name: a kernel with roles runs in the place of a plain one."""
    plain = "whole" if splits == 1 else "split"
    module = kernel.parent_op()
    assert module is not None, "kernels stand in a module"
    others = (op for region in module.regions for op in region.ops if isinstance(op, tile.KernelOp))
    forms = {op.form.data for op in others if op.form is not None and op.entry == kernel.entry}
    return "roles" if with_roles and {plain, "roles"} <= forms else plain
