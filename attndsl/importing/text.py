"""A traced mod as the text of a spec."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from attndsl.checking.spelling import COMPARISON, LANGUAGE, PRODUCT, Spelled
from attndsl.importing.names import plain
from attndsl.importing.nodes import Traced, walk
from attndsl.importing.signs import NonNegative, facts_of
from attndsl.importing.values import ELEMENTS, ModTrace

TAKEN = (
    "B",
    "H",
    "Hq",
    "Hkv",
    "M",
    "N",
    "D",
    "E",
    "T",
    "q",
    "k",
    "v",
    "o",
    "b",
    "h",
    "i",
    "j",
    "g",
    "s",
    "score",
    "mask",
)
"""The names that every imported spec has, or may have."""

_EXTENT_OF = {"b": "B", "i": "M", "j": "N"}
_FREE_DIMS = "LKSRPCGUVWXYZ"


@dataclass(frozen=True, slots=True)
class Mods:
    """What was traced: the score, where it is not what it was before, and the mask, where there is one."""

    name: str
    comment: str
    score: Traced
    mask: Traced | None
    grouped: bool
    scale: str


class SpecLines:
    """The lines of a spec."""

    def __init__(self, trace: ModTrace, mods: Mods) -> None:
        self.trace, self.mods = trace, mods
        self.heads = "Hq" if mods.grouped else "H"
        facts = [] if mods.mask is None else list(facts_of(mods.mask))
        self.signs = NonNegative(
            facts, trace.params.__getitem__, lambda name: ELEMENTS[trace.tensors[name].dtype][0] == "u8"
        )
        self.wraps = False
        roots = [mods.score, *([] if mods.mask is None else [mods.mask])]
        self._extents(roots)
        safe = self._guarded(roots)
        self.score, self.mask = safe[mods.score], None if mods.mask is None else safe[mods.mask]
        self.roots = [self.score, *([] if self.mask is None else [self.mask])]
        self.uses = Counter(part for node in walk(*self.roots) for part in node.parts)

    def lines(self) -> list[str]:
        """The spec, but for its layout."""
        used = {each.value for each in walk(*self.roots) if each.operator == "param"}
        params = [f"{name}: {self._declared(value)}" for name, value in self.trace.params.items() if name in used]
        if self.mods.scale:
            params.append(self.mods.scale)
        kv = "Hkv" if self.mods.grouped else "H"
        lines = [f"# {self.mods.comment}"]
        if self.wraps:
            lines.append("# An index below 0 counts from the end, as in torch.")
        header = f"({', '.join(params)})" if params else ""
        lines.append(f"attention {self.mods.name}{header} {{")
        heads = ["Hq", "Hkv"] if self.mods.grouped else ["H"]
        lines += [f"dims {', '.join(['B', *heads, 'M', 'N', 'D', 'E', *self.dims])}", "types T", ""]
        lines += [f"input q : T[B, {self.heads}, M, D]", f"input k : T[B, {kv}, N, D]", f"input v : T[B, {kv}, N, E]"]
        reads = {each.value for each in walk(*self.roots) if each.operator == "read"}
        for name, tensor in self.trace.tensors.items():
            if name in reads:
                extents = ", ".join(self.extent[name, axis] for axis in range(tensor.ndim))
                lines.append(f"input {name} : {ELEMENTS[tensor.dtype][0]}[{extents}]")
        lines += [f"output o : T[B, {self.heads}, M, E]", ""]
        requires = ["Hq % Hkv == 0"] * self.mods.grouped + self.requires
        requires += [f"{name} {'>' if least else '>='} 0" for name, least in self.signs.needed.items()]
        lines += [f"require {condition}" for condition in requires]
        lines += [""] * bool(requires) + [f"each b in B, h in {self.heads}, i in M", "over j in N", ""]
        return [*lines, *self._body(), "}"]

    def _body(self) -> list[str]:
        product = "q[b,h,i,:] . k[b,g,j,:]" if self.mods.grouped else "q[b,h,i,:] . k[b,h,j,:]"
        product = f"{product} * scale" if self.mods.scale else f"{product} / sqrt(D)"
        lets = ["let g = h / (Hq / Hkv)"] if self.mods.grouped else []
        texts: dict[Traced, Spelled] = {}
        score = self.trace.nodes.leaf("score", "float")
        texts[score] = Spelled(product, PRODUCT)
        if not self._begins(self.score, score):
            lets.append(f"let s = {product}")
            texts[score] = Spelled("s")
        for node in walk(*self.roots):
            if node is score:
                continue
            texts[node] = self._spelled(node, texts)
            if node not in self.roots and self._is_let(node):
                name = self.trace.names.new(plain(self.trace.called.get(node, "t")))
                lets.append(f"let {name} = {texts[node].text}")
                texts[node] = Spelled(name)
        lines = [*lets, ""] if lets else []
        lines.append(f"score = {texts[self.score].text}")
        if self.mask is not None:
            lines.append(f"mask = {texts[self.mask].text}")
        value = "v[b,g,j,:]" if self.mods.grouped else "v[b,h,j,:]"
        return [*lines, "", f"o[b,h,i,:] = softmax(score{'' if self.mask is None else ', mask'}) . {value}"]

    def _begins(self, node: Traced, score: Traced) -> bool:
        """Whether an expression begins with the score and has it nowhere else."""
        if self.uses[score] > 1:
            return False
        while node.operator in ("fadd", "fsub") and node not in self.trace.called:
            node = node.parts[0]
        return node is score

    def _is_let(self, node: Traced) -> bool:
        if not node.parts:
            return False
        return node in self.trace.called or (self.uses[node] > 1 and sum(1 for each in walk(node) if each.parts) > 2)

    def _spelled(self, node: Traced, texts: dict[Traced, Spelled]) -> Spelled:
        parts = [texts[part] for part in node.parts]
        match node:
            case Traced("const", value=bool() | int() | float() as value):
                return LANGUAGE.literal(value)
            case Traced("read", value=str(name)):
                return Spelled(f"{name}[{', '.join(part.text for part in parts)}]")
            case Traced("extent", value=(str(name), int(axis))):
                return Spelled(self.extent[name, axis])
            case Traced("and", parts=(left, right)) if chain := _chain(left, right):
                low, middle, high = (texts[part].within(COMPARISON + 1) for part in chain[0])
                return Spelled(f"{low} {chain[1]} {middle} {chain[2]} {high}", COMPARISON)
            case Traced(parts=()):
                return Spelled(str(node.value))
        return LANGUAGE.apply(node.operator, parts)

    def _extents(self, roots: list[Traced]) -> None:
        """What the extents of captured tensors are called: the dim of an index where it alone stands there."""
        self.extent: dict[tuple[str, int], str] = {}
        self.dims: list[str] = []
        self.requires: list[str] = []
        indices: dict[tuple[str, int], list[Traced]] = {}
        for node in walk(*roots):
            if node.operator == "read":
                for axis, part in enumerate(node.parts):
                    indices.setdefault((str(node.value), axis), []).append(part)
        free = (letter for letter in (*_FREE_DIMS, *(f"L{n}" for n in range(1, 10_000))))
        for (name, axis), found in indices.items():
            dims = {self._dim(part): None for part in found}
            if (name, axis) in self.trace.fixed:
                self.extent[name, axis] = str(self.trace.tensors[name].shape[axis])
            elif None not in dims and len(dims) == 1:
                self.extent[name, axis] = str(next(iter(dims)))
                continue
            else:
                dim = next(each for each in free if self.trace.names.new(each) == each)
                self.extent[name, axis] = dim
                self.dims.append(dim)
            self.requires += [f"{dim} <= {self.extent[name, axis]}" for dim in dims if dim is not None]

    def _dim(self, index: Traced) -> str | None:
        """The dim that an index alone runs through."""
        if index.operator != "index":
            return None
        return self.heads if index.value == "h" else _EXTENT_OF[str(index.value)]

    def _guarded(self, roots: list[Traced]) -> dict[Traced, Traced]:
        """Expressions whose indices are never negative: those that might be count from the end, in words."""
        safe: dict[Traced, Traced] = {}
        nodes, called = self.trace.nodes, self.trace.called
        for node in walk(*roots):
            parts = tuple(safe[part] for part in node.parts)
            if node.operator == "read":
                name = str(node.value)
                axes = enumerate(zip(node.parts, parts, strict=True))
                parts = tuple(
                    made if self.signs.holds(part) else self._wrapped(name, n, made) for n, (part, made) in axes
                )
                safe[node] = nodes.read(name, node.kind, parts)
            else:
                safe[node] = nodes.apply(node.operator, *parts) if parts else node
            if node in called:
                called.setdefault(safe[node], called[node])
        return safe

    def _wrapped(self, name: str, axis: int, index: Traced) -> Traced:
        nodes = self.trace.nodes
        extent = nodes.leaf("extent", "int", (name, axis))
        if index.operator == "const":
            return nodes.apply("iadd", extent, index)
        self.wraps = True
        if index.parts:
            self.trace.called.setdefault(index, "at")
        return nodes.apply(
            "iselect", nodes.apply("ilt", index, nodes.const(0)), nodes.apply("iadd", index, extent), index
        )

    def _declared(self, value: int | float | bool) -> str:
        kind = "bool" if isinstance(value, bool) else "int" if isinstance(value, int) else "f32"
        return f"{kind} = {LANGUAGE.literal(value).text}"


_SIGN = {"ilt": "<", "ile": "<=", "flt": "<", "fle": "<="}


def _chain(left: Traced, right: Traced) -> tuple[tuple[Traced, Traced, Traced], str, str] | None:
    """`a < b` and `b <= c` as `a < b <= c`."""
    if left.operator in _SIGN and right.operator in _SIGN and left.parts[1] is right.parts[0]:
        return (*left.parts, right.parts[1]), _SIGN[left.operator], _SIGN[right.operator]  # type: ignore[return-value]
    return None
