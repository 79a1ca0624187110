"""What stands outside the blocks: dims, types, parameters, tensors, conditions, the schedule."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from graphlib import CycleError

from attndsl import diagnostics as errors
from attndsl.checking.context import Context
from attndsl.checking.expressions import Expressions
from attndsl.checking.extents import Origin, origins
from attndsl.checking.layouts import LAYOUT, following
from attndsl.checking.lines import is_exact, lines_of
from attndsl.checking.numbers import holds, single
from attndsl.checking.plain import plain
from attndsl.checking.scopes import Binding, Broken, ElementType, ScalarBinding, Scope, Storage
from attndsl.checking.symbolic import order_of
from attndsl.checking.typed import (
    FLOAT_TYPES,
    INT_TYPES,
    STORAGE_KINDS,
    Constant,
    Expr,
    Kind,
    Param,
    ParamValue,
    Role,
    Tensor,
    walk,
)
from attndsl.syntax import tree

PARAMETER_KINDS = {"int": Kind.INT, "f32": Kind.FLOAT, "bool": Kind.BOOL}
_KIND_NAMES = {kind: name for name, kind in PARAMETER_KINDS.items()}
_GIVEN = {Kind.BOOL: (Kind.BOOL,), Kind.INT: (Kind.INT,), Kind.FLOAT: (Kind.FLOAT, Kind.INT)}
"""The kinds of what an input of each kind may be full of."""

_ROLES: dict[str, Role] = {"input": "input", "output": "output", "inout": "inout", "temp": "temp"}

SETTINGS = ("tile_rows", "tile_keys", "split_k", "deterministic", LAYOUT)

FLAGS = ("deterministic",)
"""The settings that are true or false."""


class Declarations:
    """Collects a spec's declarations and binds their names in the outermost scope."""

    def __init__(self, context: Context, expressions: Expressions, scope: Scope) -> None:
        self._context = context
        self._expressions = expressions
        self._scope = scope
        self.dims: dict[str, tree.Name] = {}
        self.types: dict[str, tuple[str, ...]] = {}
        self.params: list[Param] = []
        self.tensors: dict[str, Tensor] = {}
        self.requires: list[Expr] = []
        self.schedule: dict[str, int | str] = {}
        self._broken = False
        self._formulas: list[tuple[int, tree.Parameter]] = []
        self._type_names: dict[str, tree.Name] = {}
        self._settings: dict[str, tree.Name] = {}

    def parameter(self, node: tree.Parameter) -> None:
        """`window: int = 4096`."""
        kind, name = PARAMETER_KINDS.get(node.type.text), node.name.text
        if kind is None:
            self._context.report(
                errors.names.UnknownType(node.type.span, name=node.type.text, known=tuple(PARAMETER_KINDS))
            )
            self._bind(node.name, Broken(node.name.span))
            return
        self.params.append(Param(name, kind, self._number(node, kind), node.span))
        if node.default is not None and _literal(node.default) is None:
            self._formulas.append((len(self.params) - 1, node))
        expr = self._context.graph.param(name, kind, node.name.span)
        self._bind(node.name, ScalarBinding(node.name.span, expr, "a parameter"))

    def _number(self, node: tree.Parameter, kind: Kind) -> int | float | bool | None:
        """The default where it is a number or truth value as written."""
        default, name = None if node.default is None else _literal(node.default), node.name.text
        if default is None:
            return None
        given = _KIND_NAMES[{bool: Kind.BOOL, int: Kind.INT, float: Kind.FLOAT}[type(default)]]
        if given != node.type.text and not (given == "int" and kind is Kind.FLOAT):
            error = errors.declarations.WrongDefault
            self._context.report(error(node.span, name=name, wanted=node.type.text, got=given))
        elif kind is not Kind.BOOL and not _fits(default, kind):
            room = "64 bits" if kind is Kind.INT else "an f32"
            self._context.report(errors.declarations.DefaultTooLarge(node.span, name=name, room=room))
        return float(default) if kind is Kind.FLOAT else default

    def formulas(self) -> None:
        """Defaults that are computed at a call, `scale: f32 = 1.0 / sqrt(D)`: dims stand below the header."""
        for number, node in self._formulas:
            param = self.params[number]
            assert node.default is not None
            value = self._expressions.value(node.default, self._scope)
            if value is None:
                continue
            got, wanted = "a vector" if value.axes else _KIND_NAMES[value.kind], node.type.text
            if got != wanted and not (got == "int" and param.kind is Kind.FLOAT):
                error = errors.declarations.WrongDefault
                self._context.report(error(node.span, name=param.name, wanted=wanted, got=got))
                continue
            formula = value.expr if value.kind is param.kind else self._context.graph.real(value.expr)
            before = {earlier.name for earlier in self.params[:number]}
            named = {part.name for part in walk(formula) if isinstance(part, ParamValue)}
            if not self._context.graph.facts(formula).uniform or named - before:
                self._context.report(errors.declarations.DefaultReads(node.default.span, name=param.name))
            else:
                self.params[number] = replace(param, formula=formula)

    def declare_dims(self, node: tree.Dims) -> None:
        """`dims B, H`."""
        for name in node.names:
            expr = self._context.graph.dim(name.text, name.span)
            self._bind(name, ScalarBinding(name.span, expr, "a dim"))
            self.dims.setdefault(name.text, name)

    def declare_types(self, node: tree.Types) -> None:
        """`types T = f16 | bf16, I = i32 | i64`."""
        known = (*FLOAT_TYPES, *INT_TYPES)
        for variable in node.variables:
            for choice in variable.choices:
                if choice.text not in known:
                    self._context.report(errors.names.UnknownType(choice.span, name=choice.text, known=known))
                elif STORAGE_KINDS.get(variable.choices[0].text) not in (None, STORAGE_KINDS[choice.text]):
                    first = variable.choices[0].text
                    error = errors.declarations.MixedType(
                        choice.span, name=variable.name.text, first=first, choice=choice.text
                    )
                    self._context.report(error)
            if variable.name.text in STORAGE_KINDS:
                self._context.report(errors.names.BuiltInType(variable.name.span, name=variable.name.text))
                continue
            self._bind(variable.name, ElementType(variable.name.span))
            self.types[variable.name.text] = tuple(c.text for c in variable.choices if c.text in known) or FLOAT_TYPES
            self._type_names.setdefault(variable.name.text, variable.name)

    def choices(self, element: str) -> tuple[str, ...]:
        """The element types that the name of a tensor's element stands for."""
        return self.types.get(element, (element,))

    def tensor(self, node: tree.TensorDeclaration) -> None:
        """`input q : T[B, H, M, D]`."""
        extents = [self._extent(extent) for extent in node.extents]
        element = node.element.text
        self._scope.resolve(node.element)
        kind = STORAGE_KINDS.get(self.choices(element)[0])
        if kind is None:
            self._unknown_element(node)
        sound = [extent for extent in extents if extent is not None]
        if kind is None or len(sound) < len(extents):
            self._bind(node.name, Broken(node.name.span))
            self._broken = True
            return
        default = None if node.default is None else self._filling(node, kind)
        role = _ROLES[node.role]
        if node.broadcast and role != "input":
            span = node.extents[node.broadcast[0]].span
            self._context.report(errors.declarations.WrittenBroadcast(span, role=role, name=node.name.text))
        tensor = Tensor(node.name.text, role, element, tuple(sound), node.name.span, default, node.broadcast)
        self._bind(node.name, Storage(node.name.span, tensor, kind))
        self.tensors.setdefault(tensor.name, tensor)

    def _filling(self, node: tree.TensorDeclaration, kind: Kind) -> Constant | None:
        """The number that an input is full of where it is left out."""
        assert node.default is not None
        name = node.name.text
        if node.role != "input":
            self._context.report(errors.declarations.OutputDefault(node.default.span, role=node.role, name=name))
            return None
        expr = self._expressions.scalar(node.default, self._scope, "a default", *_GIVEN[kind])
        if expr is None:
            return None
        real = self._context.graph.real(expr) if kind is Kind.FLOAT else expr
        elements = self.types.get(node.element.text, (node.element.text,))
        if not isinstance(real, Constant):
            self._context.report(errors.declarations.DefaultComputed(node.default.span, name=name))
        elif rounds := [element for element in elements if not holds(element, real.value)]:
            error = errors.declarations.DefaultRounds
            self._context.report(error(node.default.span, name=name, element=rounds[0]))
        else:
            return real
        return None

    def require(self, node: tree.Require) -> None:
        """`require Hq % Hkv == 0`."""
        condition = self._expressions.scalar(node.condition, self._scope, "a condition of `require`", Kind.BOOL)
        if condition is None:
            return
        if not self._context.graph.facts(condition).uniform:
            self._context.report(errors.declarations.RequireReads(node.condition.span))
        else:
            self.requires.append(condition)

    def schedule_settings(self, node: tree.Schedule) -> None:
        """`schedule { split_k = auto }`."""
        for setting in node.settings:
            name, value = setting.name, setting.value
            if name.text not in SETTINGS:
                self._context.report(errors.names.UnknownSetting(name.span, name=name.text, known=SETTINGS))
            elif name.text in self._settings:
                self._context.report(
                    errors.names.Repeated(name.span, name=name.text, first=self._settings[name.text].span)
                )
            elif (wanted := self._wanted(name.text, value)) is not None:
                wrong = errors.declarations.WrongSetting(
                    setting.span, name=name.text, value=_written(value), wanted=wanted
                )
                self._context.report(wrong)
            else:
                self._settings[name.text] = setting.name
                self.schedule[name.text] = value if isinstance(value, int) else _written(value)

    def _wanted(self, setting: str, value: bool | int | float | tree.Name) -> str | None:
        """What a setting wants instead of a value, None where it takes that."""
        if setting == LAYOUT:
            binding = self._scope.resolve(value) if isinstance(value, tree.Name) else None
            is_given = isinstance(binding, Storage) and binding.tensor.role in ("input", "inout")
            return None if is_given or isinstance(binding, Broken) else "the name of an input, declared before"
        if setting in FLAGS:
            return None if isinstance(value, bool) else "`true` or `false`"
        is_size = isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**31
        is_auto = isinstance(value, tree.Name) and value.text == "auto"
        return None if is_size or is_auto else "a positive integer or `auto`"

    def finish(self) -> None:
        """Checks that a call can tell every dim and every type variable from its inputs."""
        if self._broken:
            return
        inputs = [tensor for tensor in self.tensors.values() if tensor.role in ("input", "inout")]
        told = origins((tensor.name, lines_of(tensor)) for tensor in inputs)
        for dim in self.dims.values():
            origin = told.get(dim.text)
            if origin is None:
                self._context.report(errors.declarations.DimNotDeducible(dim.span, name=dim.text))
            elif not is_exact(origin.line, self.requires):
                extent = self.tensors[origin.tensor].extents[origin.axis]
                self._context.report(
                    errors.declarations.DimRounded(extent.span, name=dim.text, divisor=origin.line.divisor)
                )
        self._check_order(told)
        self._check_layout()
        for name in self._type_names.values():
            if not any(tensor.element == name.text for tensor in self.tensors.values()):
                self._context.report(errors.declarations.TypeNotDeducible(name.span, name=name.text))

    def _check_order(self, told: Mapping[str, Origin]) -> None:
        """Checks that no default is a formula of a dim that is told by it."""
        formulas = {param.name: plain(param.formula) for param in self.params if param.formula is not None}
        try:
            order_of(told, formulas)
        except CycleError as error:
            cycle: list[str] = error.args[1]
            name = next(name for name in cycle if name in formulas)
            dim = next(name for name in cycle if name in told)
            span = next(param.span for param in self.params if param.name == name)
            self._context.report(errors.declarations.FormulaTells(span, name=name, dim=dim))

    def _check_layout(self) -> None:
        """Checks that some output can lie as the input does of which the schedule says that."""
        like = self.schedule.get(LAYOUT)
        if isinstance(like, str) and not following(self.tensors, self.schedule):
            self._context.report(errors.declarations.LayoutUnmatched(self._settings[LAYOUT].span, name=like))

    def _unknown_element(self, node: tree.TensorDeclaration) -> None:
        name, span = node.element.text, node.element.span
        if len(name) <= 2 and name.isalpha() and name[0].isupper():  # as type variables are called
            self._context.report(errors.names.UndeclaredType(span, name=name, role=node.role, known=tuple(self.types)))
        else:
            self._context.report(errors.names.UnknownType(span, name=name, known=(*self.types, *STORAGE_KINDS)))

    def _extent(self, node: tree.Expression) -> Expr | None:
        expr = self._expressions.uniform(node, self._scope, "the extent of a tensor")
        if isinstance(expr, Constant) and expr.value < 0:
            self._context.report(errors.declarations.NegativeExtent(node.span, extent=int(expr.value)))
            return None
        return expr

    def _bind(self, name: tree.Name, binding: Binding) -> None:
        before = self._scope.find(name.text)
        if before is None:
            self._scope.add(name.text, binding)
        else:
            self._context.report(errors.names.Shadows(name.span, name=name.text, first=before.span))


def _literal(node: tree.Expression) -> int | float | bool | None:
    """What a number or truth value is, with its sign; None for any other expression."""
    match node:
        case tree.Number(value=value) | tree.Boolean(value=value):
            return value
        case tree.Unary(operator="-" | "+" as sign, operand=tree.Number(value=value)):
            return -value if sign == "-" else value
    return None


def _fits(number: float, kind: Kind) -> bool:
    """Whether a parameter of this kind can be the number."""
    if kind is Kind.INT:
        return -(2**63) <= number < 2**63
    try:
        return math.isfinite(single(number))
    except OverflowError:
        return False


def _written(value: bool | int | float | tree.Name) -> str:
    """The value of a setting as it is written."""
    if isinstance(value, tree.Name):
        return value.text
    return str(value).lower() if isinstance(value, bool) else str(value)
