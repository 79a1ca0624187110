"""The typed form as text, close to the language: for messages, tests and people."""

from __future__ import annotations

from attndsl.checking.spelling import LANGUAGE, PRODUCT, SUM, Spelled
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
    walk,
)


def expression_text(expr: Expr) -> str:
    """An expression in the language's syntax, with as few parentheses as it takes."""
    texts: dict[Expr, Spelled] = {}
    for part in walk(expr):
        texts[part] = _text(part, texts)
    return texts[expr].text


def spec_text(spec: Spec) -> str:
    """A typed spec, one line a tensor, a condition, an index variable and a write."""
    lines = [f"attention {spec.name}"]
    for param in spec.params:
        default = param.default if param.formula is None else expression_text(param.formula)
        lines.append(f"param {param.name}: {param.kind.value} = {default}")
    for tensor in spec.tensors.values():
        extents = ", ".join(map(expression_text, tensor.extents))
        lines.append(f"{tensor.role} {tensor.name}: {tensor.element}[{extents}]")
    lines += [f"require {expression_text(condition)}" for condition in spec.requires]
    for block in spec.blocks:
        lines += _block_lines(block)
    lines += [f"schedule {name} = {value}" for name, value in spec.schedule.items()]
    return "\n".join(lines) + "\n"


def _block_lines(block: Block) -> list[str]:
    lines = [f"{index.role} {_binder(index)}" for index in (*block.each, *block.over)]
    for write in block.writes:
        axes = "".join(f" for {_binder(axis)}" for axis in write.axes)
        indices, sign = ", ".join(map(expression_text, write.indices)), "+=" if write.adds else "="
        lines.append(f"{write.tensor.name}[{indices}] {sign} {expression_text(write.value)}{axes}")
    return lines


def _binder(index: Index) -> str:
    bound = "" if index.bound is index.extent else f" up to {expression_text(index.bound)}"
    return f"{index.name} in {expression_text(index.extent)}{bound}"


def _text(expr: Expr, texts: dict[Expr, Spelled]) -> Spelled:
    """The text of an expression whose operands have theirs."""
    match expr:
        case Constant():
            return LANGUAGE.literal(expr.value)
        case DimValue() | ParamValue():
            return Spelled(expr.name)
        case IndexValue():
            return Spelled(expr.index.name)
        case Read():
            return Spelled(f"{expr.tensor.name}[{', '.join(texts[i].text for i in expr.indices)}]")
        case ReduceAxis():
            # It takes in the products after it, so it binds less than they do, and more than a sum.
            return Spelled(f"{expr.function}({_binder(expr.index)}) {texts[expr.body].within(PRODUCT)}", SUM + 1)
        case Reduce():
            named = ((name, part) for name, part in expr.parts.items() if part is not None)
            parts = [("" if name == "score" else f"{name} = ") + texts[part].text for name, part in named]
            return Spelled(f"{expr.function}({', '.join(parts)})")
        case Apply():
            return LANGUAGE.apply(expr.operator, [texts[argument] for argument in expr.arguments])
    raise AssertionError(expr)
