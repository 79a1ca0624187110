"""Which kernels of a module run at a call."""

from __future__ import annotations

from attndsl.checking.symbolic import Values, evaluate
from attndsl.ir import attn, tile


def runs(kernel: attn.KernelOp | tile.KernelOp, dims: Values, params: Values, splits: int) -> bool:
    """Whether a kernel runs at a call of these dims and parameters whose launch chooses so many splits."""
    if kernel.form is not None and kernel.form.data != ("whole" if splits == 1 else "split"):
        return False
    if kernel.when is not None:
        return bool(evaluate(kernel.when.data, dims, params))
    return kernel.unless is None or not evaluate(kernel.unless.data, dims, params)
