"""What a mod is called with in place of tensors: values that note what is done to them."""

from __future__ import annotations

import linecache
import math
import numbers
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import torch
from torch.overrides import TorchFunctionMode

from attndsl.importing.errors import CannotImport
from attndsl.importing.names import SpecNames
from attndsl.importing.nodes import Kind, Nodes, Traced, walk

ELEMENTS: dict[torch.dtype, tuple[str, Kind]] = {
    **{getattr(torch, f"int{bits}"): (f"i{bits}", "int") for bits in (8, 16, 32, 64)},
    torch.uint8: ("u8", "int"),
    torch.bool: ("bool", "bool"),
    torch.float16: ("f16", "float"),
    torch.bfloat16: ("bf16", "float"),
    torch.float32: ("f32", "float"),
    torch.float64: ("f64", "float"),
}
"""The element types that a captured tensor may have, and the kind of what is read of it."""

DTYPES: dict[Kind, torch.dtype] = {"int": torch.int64, "float": torch.float32, "bool": torch.bool}

Fixed = tuple[str, int]
"""What is to be a plain number: a parameter, by its name (and -1), or an extent of a tensor, by its axis."""


class Concrete(Exception):
    """Python needs the numbers themselves of what is `fixed`: the mod is to be traced again, with them."""

    def __init__(self, fixed: frozenset[Fixed]) -> None:
        self.fixed = fixed
        super().__init__()


@dataclass
class ModTrace:
    """What is met while mods run: nodes, parameters and captured tensors, by the names that they have in the spec."""

    names: SpecNames
    fixed: frozenset[Fixed]
    apply: Callable[[ModTrace, str, Sequence[Any], Mapping[str, Any]], Any]
    nodes: Nodes = field(default_factory=Nodes)
    params: dict[str, int | float | bool] = field(default_factory=dict)
    tensors: dict[str, torch.Tensor] = field(default_factory=dict)
    made: list[torch.Tensor] = field(default_factory=list)
    called: dict[Traced, str] = field(default_factory=dict)
    running: bool = False

    def value(self, node: Traced) -> Symbol:
        """A node as a mod sees it."""
        return Symbol(self, node)

    def param(self, wanted: str, key: object, value: int | float | bool) -> Any:
        """A captured number: a parameter, or itself where Python has to know it."""
        name = self.names.of(wanted, key)
        plain = (isinstance(value, float) and not math.isfinite(value)) or abs(value) > 2**62
        if plain or (name, -1) in self.fixed:
            return value
        self.params[name] = value
        return self.value(self.nodes.leaf("param", self.nodes.const(value).kind, name))

    def tensor(self, tensor: torch.Tensor) -> str:
        """The name of a captured tensor."""
        for name, known in self.tensors.items():
            if known is tensor:
                return name
        if tensor.dtype not in ELEMENTS:
            self.refuse(
                f"a captured tensor is of {tensor.dtype}", f"one of {', '.join(e for e, _ in ELEMENTS.values())}"
            )
        name = self.names.of(_name_in_frames(tensor), id(tensor))
        self.tensors[name] = tensor
        return name

    def node(self, x: Any) -> Traced:
        """The node of a value, a number or a tensor of one number."""
        match x:
            case Symbol():
                return x.node
            case Held():
                return x.whole()
            case torch.Tensor() if x.ndim == 0 and any(x is made for made in self.made):
                return self.nodes.const(x.item())
            case torch.Tensor():
                return Held(self, self.tensor(x), ()).whole()
            case bool() | numbers.Number() if not isinstance(x, complex):
                plain = x.item() if hasattr(x, "item") else x
                if plain != plain:
                    self.refuse("NaN is a number of the mod", "a comparison, such as x != x")
                return self.nodes.const(plain)  # type: ignore[arg-type]  # an int, a float or a bool
            case _:
                return self.refuse(f"a {type(x).__name__} is no number", "numbers, indices and captured tensors")

    def concrete(self, node: Traced, what: str, instead: str) -> int | float | bool:
        """The number that a node is, where it is one: raises Concrete where it is made of parameters and extents."""
        if node.operator == "const":
            assert isinstance(node.value, int | float)
            return node.value
        leaves = [each for each in walk(node) if not each.parts]
        if any(leaf.operator not in ("param", "extent", "const") for leaf in leaves):
            self.refuse(what, instead)
        taken = (
            leaf.value if leaf.operator == "extent" else (leaf.value, -1) for leaf in leaves if leaf.operator != "const"
        )
        raise Concrete(frozenset(taken))  # type: ignore[arg-type]  # their values are names

    def refuse(self, what: str, instead: str) -> NoReturn:
        """Raises CannotImport at the line of the mod that is being run."""
        frame = users_frame() if self.running else None
        place = ""
        if frame is not None:
            file, line = frame.f_code.co_filename, frame.f_lineno
            text = linecache.getline(file, line).strip()
            place = f"{Path(file).name}:{line}: {text}\n" if text else f"{Path(file).name}:{line}: "
        raise CannotImport(f"{place}{what}, which a spec cannot say; instead: {instead}")


_HERE, _TORCH = str(Path(__file__).parent), str(Path(torch.__file__).parent)


def is_users(frame: FrameType) -> bool:
    """Whether a frame is of code that neither this package nor torch has."""
    return not frame.f_code.co_filename.startswith((_HERE, _TORCH, "<frozen"))


def users_frame() -> FrameType | None:
    """The innermost frame of the user's code."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and not is_users(frame):
        frame = frame.f_back
    return frame


def _name_in_frames(tensor: torch.Tensor) -> str:
    """What the code that is being run calls a tensor: a variable of its own, or an attribute of one."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        if is_users(frame):
            for space in (frame.f_locals, {name: frame.f_globals.get(name) for name in frame.f_code.co_names}):
                for name, value in space.items():
                    if value is tensor:
                        return name
                    for inner, part in _parts(value):
                        if part is tensor:
                            return inner
        frame = frame.f_back
    return "table"


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    """The attributes of an object, and the parameters and buffers of a module of torch."""
    own = getattr(value, "__dict__", {})
    for space in (own, own.get("_parameters"), own.get("_buffers")):
        if isinstance(space, Mapping):
            yield from space.items()


class Symbol:
    """A number that is not known yet: torch's functions and Python's operators on it are noted."""

    def __init__(self, trace: ModTrace, node: Traced) -> None:
        self.trace, self.node = trace, node

    @property
    def dtype(self) -> torch.dtype:
        """The element type that a tensor of such values has."""
        return DTYPES[self.node.kind]

    device = torch.device("cpu")
    shape = torch.Size(())
    ndim = 0

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name == "where":  # x.where(condition, y)
            return lambda condition, other: self.trace.apply(self.trace, name, (condition, self, other), {})
        return lambda *args, **kwargs: self.trace.apply(self.trace, name, (self, *args), kwargs)

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        trace = next(x.trace for x in _flat([*args, *(kwargs or {}).values()]) if isinstance(x, Symbol | Held))
        return trace.apply(trace, func.__name__, args, kwargs or {})

    def __getitem__(self, _: Any) -> NoReturn:
        self.trace.refuse("a subscript of a single number", "subscripts of captured tensors")

    def __bool__(self) -> bool:
        what = "Python branches on what differs from key to key (if, and, or, not, or a < b < c)"
        return bool(self.trace.concrete(self.node, what, "torch.where(condition, x, y), and & | ~ of conditions"))

    def __int__(self) -> int:
        return int(self.trace.concrete(self.node, "Python takes an index or a score as a number", "torch's functions"))

    __index__ = __int__

    def __float__(self) -> float:
        what = "Python takes an index or a score as a number"
        return float(self.trace.concrete(self.node, what, "torch's functions, such as torch.exp"))

    __hash__ = object.__hash__


class Held:
    """A captured tensor, some of whose subscripts are given."""

    def __init__(self, trace: ModTrace, name: str, subscripts: tuple[Traced, ...]) -> None:
        self.trace, self.name, self.subscripts = trace, name, subscripts

    def __getitem__(self, at: Any) -> Any:
        subscripts = list(self.subscripts)
        tensor = self.trace.tensors[self.name]
        for each in at if isinstance(at, tuple) else (at,):
            if each is None or each is Ellipsis or isinstance(each, slice | list):
                self.trace.refuse(f"a subscript of {self.name} is not a number", "one index for each axis")
            node = self.trace.node(each)
            if node.kind != "int":
                self.trace.refuse(f"a subscript of {self.name} is a {node.kind}", "an int")
            if len(subscripts) == tensor.ndim:
                self.trace.refuse(f"{self.name} has {tensor.ndim} axes and more subscripts", "one for each axis")
            subscripts.append(node)
        held = Held(self.trace, self.name, tuple(subscripts))
        return self.trace.value(held.whole()) if len(subscripts) == tensor.ndim else held

    def whole(self) -> Traced:
        """The element that the subscripts lead to."""
        tensor = self.trace.tensors[self.name]
        if len(self.subscripts) < tensor.ndim:
            self.trace.refuse(
                f"{self.name} is used whole, with {len(self.subscripts)} of its {tensor.ndim} subscripts",
                "an index for each axis; what is computed of whole tensors, computed before, outside the mod",
            )
        return self.trace.nodes.read(self.name, ELEMENTS[tensor.dtype][1], self.subscripts)

    @property
    def shape(self) -> tuple[Any, ...]:
        """The extents of the axes that are left."""
        return tuple(map(self.extent, range(len(self.subscripts), self.trace.tensors[self.name].ndim)))

    def extent(self, axis: int) -> Any:
        """The extent of an axis: a number where Python has to know it."""
        if (self.name, axis) in self.trace.fixed:
            return self.trace.tensors[self.name].shape[axis]
        return self.trace.value(self.trace.nodes.leaf("extent", "int", (self.name, axis)))

    def size(self, axis: int | None = None) -> Any:
        """The extents, or one of them."""
        return self.shape if axis is None else self.shape[axis]

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **kwargs: self.trace.apply(self.trace, name, (self, *args), kwargs)

    __torch_function__ = Symbol.__torch_function__


def _operator(name: str) -> Callable[..., Any]:
    def noted(self: Any, *others: Any) -> Any:
        return self.trace.apply(self.trace, name, (self, *others), {})

    return noted


_BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift")
for _name in (*_BINARY, *("r" + name for name in _BINARY), *("i" + name for name in _BINARY),
              "lt", "le", "gt", "ge", "eq", "ne", "neg", "pos", "invert", "abs"):  # fmt: skip
    for _class in (Symbol, Held):
        setattr(_class, f"__{_name}__", _operator(f"__{_name}__"))
Held.__hash__ = object.__hash__  # type: ignore[method-assign]  # `==` is noted, too


class Watch(TorchFunctionMode):
    """While a mod runs: captured tensors, which know nothing of values, are met by torch's functions here."""

    def __init__(self, trace: ModTrace) -> None:
        super().__init__()
        self.trace = trace

    def __torch_function__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        flat, trace = _flat([*args, *(kwargs or {}).values()]), self.trace
        name, of = func.__name__, args[0] if args else None
        if any(isinstance(x, Symbol | Held) for x in flat):
            if name == "__getitem__" and isinstance(of, torch.Tensor):
                if any(of is made for made in trace.made):
                    trace.refuse("a table is made inside the mod", "one that is made before, outside the mod")
                return Held(trace, trace.tensor(of), ())[args[1]]
            return trace.apply(trace, name, args, kwargs or {})
        outer = [x for x in flat if isinstance(x, torch.Tensor) and not any(x is made for made in trace.made)]
        if outer and name == "__getitem__":
            return Held(trace, trace.tensor(outer[0]), ())[args[1]]
        if outer and name == "size":
            return Held(trace, trace.tensor(outer[0]), ()).size(*args[1:])
        if outer and name == "__get__":  # a property
            if getattr(func, "__self__", None) is torch.Tensor.shape:
                return Held(trace, trace.tensor(outer[0]), ()).shape
            return func(*args, **(kwargs or {}))
        if outer and name not in ("dim", "numel", "__len__"):
            return trace.apply(trace, name, args, kwargs or {})
        result = func(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor):
            trace.made.append(result)
        return result


def _flat(found: Sequence[Any]) -> list[Any]:
    return [x for each in found for x in (_flat(each) if isinstance(each, tuple | list) else [each])]
