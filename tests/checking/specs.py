"""Small specs to check, and what must hold for every typed spec."""

from __future__ import annotations

from attndsl.checking.check import check
from attndsl.checking.text import expression_text
from attndsl.checking.typed import Expr, Index, IndexValue, Reduce, ReduceAxis, Spec, operands
from attndsl.syntax.source import Source


def source(*lines: str, value: str = "sum(x)", header: str = "") -> Source:
    """A spec of one row and one number whose body has `lines`, and whose output is `value`."""
    body = "\n".join(lines)
    return Source(
        f"""attention test{header} {{
                dims B, N, D, P, S, C
                types T
                input q : T[B, D]
                input k : T[B, N, D]
                input w : T[D, D]
                input pages : T[P, S, D]
                input table : i32[B, C]
                input n : i32[B + 1]
                input flags : bool[B, N]
                output o : f32[B]
                each b in B
                {body}
                o[b] = {value}
            }}"""
    )


def checked(*lines: str, value: str = "sum(x)", header: str = "") -> Spec:
    """The same, checked."""
    spec = check(source(*lines, value=value, header=header))
    well_formed(spec)
    return spec


def row(*lines: str, value: str, header: str = "") -> Expr:
    """What a spec without keys writes for a row."""
    return checked(*lines, value=value, header=header).blocks[0].writes[0].value


def text(*lines: str, value: str, header: str = "") -> str:
    """The same in the language's syntax."""
    return expression_text(row(*lines, value=value, header=header))


def well_formed(spec: Spec) -> None:
    """Every variable is bound where it is used, once on every path, and extents come before what they bound."""
    for block in spec.blocks:
        seen: list[Index] = []
        for index in (*block.each, *block.over):
            allowed = tuple(i for i in seen if i.role == "each")
            _scoped(index.extent, allowed, False)
            _scoped(index.bound, allowed, False)
            seen.append(index)
        for write in block.writes:
            for place in write.indices:
                _scoped(place, (*block.each, *write.axes), False)
            _scoped(write.value, (*block.each, *write.axes), False, block.over)


def _scoped(expr: Expr, bound: tuple[Index, ...], reduced: bool, over: tuple[Index, ...] = ()) -> None:
    match expr:
        case IndexValue(index=index):
            assert index in bound, f"{index.name} is not bound"
        case ReduceAxis(index=index, body=body):
            assert index not in bound, f"{index.name} is bound twice"
            _scoped(index.extent, (), False)
            _scoped(body, (*bound, index), reduced, over)
        case Reduce():
            assert over and not reduced
            for part in (expr.score, expr.mask, expr.value):
                if part is not None:
                    _scoped(part, (*bound, *over), True, over)
            if expr.sink is not None:
                _scoped(expr.sink, bound, True, over)
        case _:
            for part in operands(expr):
                _scoped(part, bound, reduced, over)
