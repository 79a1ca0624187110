"""What names a spec by its meaning, whatever its layout, its comments and the names of its definitions and indices."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

from attndsl.checking.typed import (
    Apply,
    Block,
    Constant,
    DimValue,
    Expr,
    Index,
    IndexValue,
    ParamValue,
    Read,
    Reduce,
    ReduceAxis,
    Spec,
    operands,
    walk,
)


def meaning(spec: Spec) -> str:
    """A digest of all that decides what calls of a spec take, compute and say, in 12 hexadecimal digits."""
    digests = _Digests()
    parts = [spec.name, repr(spec.dims), repr(spec.types), repr(sorted(spec.schedule.items()))]
    for param in spec.params:
        formula = "" if param.formula is None else digests.of(param.formula)
        parts.append(_joined(param.name, param.kind.value, repr(param.default), formula))
    for tensor in spec.tensors.values():
        default = "" if tensor.default is None else repr(tensor.default.value)
        declared = tensor.name, tensor.role, tensor.element, default, repr(tensor.broadcast)
        parts.append(_joined(*declared, *map(digests.of, tensor.extents)))
    parts.append(_joined(*map(digests.of, spec.requires)))
    parts += [digests.block(block) for block in spec.blocks]
    return _joined(*parts)[:12]


def _joined(*parts: str) -> str:
    return sha256("".join(f"{len(part)}:{part}" for part in parts).encode("utf-8", "surrogatepass")).hexdigest()


class _Digests:
    """Digests of expressions; an index variable is the number at which it was first met."""

    def __init__(self) -> None:
        self._known: dict[Expr, str] = {}
        self._numbers: dict[Index, int] = {}

    def of(self, root: Expr) -> str:
        for expr in walk(root):
            if expr not in self._known:
                self._known[expr] = _joined(type(expr).__name__, expr.kind.value, *self._parts(expr))
        return self._known[root]

    def block(self, block: Block) -> str:
        parts = []
        for index in (*block.each, *block.over):
            parts.append(self._index(index))
        for write in block.writes:
            parts += [write.tensor.name, repr(write.adds), *map(self._index, write.axes)]
            parts += [*map(self.of, write.indices), self.of(write.value)]
        return _joined(repr(len(block.each)), repr(len(block.over)), *parts)

    def _index(self, index: Index) -> str:
        number = self._numbers.setdefault(index, len(self._numbers))
        return _joined(repr(number), index.role, self.of(index.extent), self.of(index.bound))

    def _parts(self, expr: Expr) -> Iterable[str]:
        """What an expression is, besides the digests of its operands, which stand last."""
        match expr:
            case Constant():
                own = [repr(expr.value)]
            case DimValue() | ParamValue():
                own = [expr.name]
            case IndexValue():
                own = [self._index(expr.index)]
            case Read():
                own = [expr.tensor.name]
            case Apply():
                own = [expr.operator]
            case ReduceAxis():
                own = [expr.function, self._index(expr.index)]
            case Reduce():
                own = [expr.function, *(name for name, part in expr.parts.items() if part is not None)]
            case _:
                raise AssertionError(expr)
        return (*own, *(self._known[part] for part in operands(expr)))
