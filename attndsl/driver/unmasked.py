"""A spec as it would be were no position masked, and every extent that data give as large as it may be."""

from __future__ import annotations

from dataclasses import replace

from attndsl.checking.rewriting import Rewriting
from attndsl.checking.typed import Expr, Index, Reduce, Spec


def unmasked(spec: Spec) -> Spec:
    """The spec without masks, each index with its bound for an extent."""
    return replace(spec, blocks=tuple(_Unmasked().block(block) for block in spec.blocks))


class _Unmasked(Rewriting):
    def rewritten_index(self, index: Index) -> Index:
        bound = self.expr(index.bound)
        return replace(index, extent=bound, bound=bound)

    def rewritten(self, expr: Expr) -> Expr:
        return super().rewritten(replace(expr, mask=None) if isinstance(expr, Reduce) else expr)
