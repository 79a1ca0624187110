"""Modules, methods and attributes, which other languages have: `np.exp(x)`, `x.exp()` and `k.T` parse as products."""

from __future__ import annotations

from attndsl import diagnostics as errors
from attndsl.checking.calls import FUNCTION_NAMES, Calls
from attndsl.checking.context import Context
from attndsl.checking.scopes import ElementType, Scope
from attndsl.diagnostics import Diagnostic
from attndsl.syntax import tree


class Members:
    """Tells a `.` that is meant to select from one that multiplies."""

    def __init__(self, context: Context, calls: Calls) -> None:
        self._context = context
        self._calls = calls

    def misread(self, node: tree.Binary, scope: Scope) -> Diagnostic | None:
        """The error of a product of which one side can be no vector, and is known as something else elsewhere."""
        right = node.right
        match _leftmost(node):
            case tree.Reference(name=name) if scope.find(name.text) is None:
                if name.text in errors.foreign.MODULES:
                    return self._of_module(name, right)
        match right:
            case tree.Call(function=name) if _of_a_value(node, right) or name.text not in FUNCTION_NAMES:
                if scope.find(name.text) is None:
                    arguments = (self._context.text(node.left.span), *self._calls.written(right))
                    return errors.names.NoMethod(name.span, name=name.text, arguments=arguments)
            case tree.Reference(name=name) | tree.Subscripted(name=name) if name.text in errors.foreign.ATTRIBUTES:
                found = scope.find(name.text)
                if found is None or isinstance(found, ElementType):
                    return errors.names.NoAttribute(name.span, name=name.text)
        return None

    def _of_module(self, module: tree.Name, member: tree.Expression) -> Diagnostic:
        match member:
            case tree.Call(function=name) if name.text not in FUNCTION_NAMES:
                return self._calls.unknown(member)
            case tree.Reference(name=name) if name.text in errors.foreign.NAMES:
                return errors.names.ForeignName(name.span, name=name.text)
        return errors.names.NoModule(module.span, name=module.text, member=self._context.text(member.span))


def _of_a_value(node: tree.Binary, call: tree.Call) -> bool:
    """Whether a call is of what stands before its `.`: without arguments, or touching it, with numbers for an axis."""
    touches = call.span.start - node.left.span.end == 1
    return not call.arguments or (touches and all(map(_is_number, call.arguments)))


def _is_number(node: tree.Node) -> bool:
    match node:
        case tree.Unary(operand=operand):
            return _is_number(operand)
        case tree.KeywordArgument(value=value):
            return _is_number(value)
    return isinstance(node, tree.Number)


def _leftmost(node: tree.Expression) -> tree.Expression:
    while isinstance(node, tree.Binary) and node.operator == ".":
        node = node.left
    return node
