"""Drawn kernels of one product, with axes in any order, and what they compute by definition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from attndsl.ir.context import parse_module
from attndsl.ir.xdsl import ModuleOp

Array = np.ndarray[Any, Any]

TILES = 4
"""The size of tiles of what programs or a loop walk."""


@dataclass(frozen=True)
class Product:
    """A kernel out[b, i, j] = sum over k of x[b, i, k] y[b, k, j]; each tensor has its axes in an order of its own.

    `axes` is the order in which axes are introduced, `walked` are those that programs, or for k a loop, walk.
    `where` are the axes of the condition under which a term counts, None where all do. `rounded` is the type that
    memory holds the operands in, and that they are rounded to.
    """

    x: str
    y: str
    out: str
    axes: str
    walked: str
    sizes: dict[str, int]
    where: str | None = None
    rounded: str | None = None

    @property
    def module(self) -> ModuleOp:
        """The kernel, verified."""
        module = parse_module("\n".join(self._lines()))
        module.verify()
        return module

    def _lines(self) -> Iterator[str]:
        element = self.rounded or "f32"
        yield declared("x", "input", element, self.x)
        yield declared("y", "input", element, self.y)
        if self.where is not None:
            yield declared("w", "input", "bool", self.where)
        yield declared("o", "output", "f32", self.out)
        yield "tile.kernel @k {"
        yield from ("%zero = arith.constant 0 : index", "%none = arith.constant 0.0 : f32")
        yield f"%size = arith.constant {TILES} : index"
        yield from (f'%{letter.upper()} = spec.dim "{letter.upper()}"' for letter in self.axes)
        walked = [letter for letter in self.axes if letter in self.walked and letter != "k"]
        yield from (f'%{letter}0 = tile.program "{letter}" to %{letter.upper()} step %size' for letter in walked)
        yield from (axis(letter, letter in walked) for letter in self.axes if letter not in self.walked + "k")
        yield from (axis(letter, True) for letter in walked)
        yield from self._summed() if "k" in self.walked else (axis("k", False), *self._terms("%t"))
        yield f"tile.store @o{subscript(self.out)} = %t : f32"
        yield "}"

    def _summed(self) -> Iterator[str]:
        over = ", ".join(f"%{letter}" for letter in self.axes if letter in self.out)
        yield f"%start = tile.broadcast %none over ({over}) : f32 to f32"
        yield "%t = tile.loop %k0 = %zero to %K step %size iter_args(%sum = %start) -> (f32) {"
        yield from (axis("k", True), *self._terms("%part"))
        yield from ("%more = arith.addf %sum, %part : f32", "tile.yield %more : f32", "}")

    def _terms(self, name: str) -> Iterator[str]:
        yield f"%x = tile.load @x{subscript(self.x)} : f32"
        yield f"%y = tile.load @y{subscript(self.y)} : f32"
        if self.where is not None:
            yield f"%w = tile.load @w{subscript(self.where)} : i1"
        where = " where %w" if self.where is not None else ""
        rounded = f' rounded to "{self.rounded}"' if self.rounded is not None else ""
        yield f"{name} = tile.dot %x, %y over %k{where}{rounded} : f32"

    @property
    def dims(self) -> dict[str, int]:
        """The extents of a call."""
        return {letter.upper(): self.sizes[letter] for letter in self.axes}

    def shape(self, axes: str) -> tuple[int, ...]:
        """The extents of a tensor."""
        return tuple(self.sizes[letter] for letter in axes)

    def arrays(self, seed: int) -> dict[str, Array]:
        """Inputs of small integers, whose sums are exact in any order; memory around them is full of NaN.

        Where there is a condition, `x` is 0 where it is false, and some of `y` is NaN or infinite.
        """
        draw = np.random.default_rng(seed)
        type_ = np.float16 if self.rounded == "f16" else np.float32
        arrays = {name: draw.integers(-4, 5, self.shape(axes)).astype(type_) for name, axes in self.operands.items()}
        if self.where is not None:
            arrays["w"] = draw.random(self.shape(self.where)) < 0.6
            seen = spread(arrays["w"], self.where, self.x, self.sizes)
            arrays["x"] = np.where(seen, arrays["x"], arrays["x"].dtype.type(0))
            odd = draw.random(self.shape(self.y)) < 0.1
            arrays["y"] = np.where(odd, draw.choice([np.nan, np.inf], odd.shape), arrays["y"]).astype(type_)
        return {name: surrounded(array) for name, array in arrays.items()}

    @property
    def operands(self) -> dict[str, str]:
        """The axes of the operands."""
        return {"x": self.x, "y": self.y}

    def wanted(self, arrays: dict[str, Array]) -> Array:
        """What the kernel computes, from the definition."""
        places = self.out + "k"
        left, right = (spread(arrays[name], axes, places, self.sizes) for name, axes in self.operands.items())
        with np.errstate(all="ignore"):
            terms = left.astype(np.float64) * right.astype(np.float64)
            if self.where is not None:
                terms = np.where(spread(arrays["w"], self.where, places, self.sizes), terms, 0)
            return np.asarray(terms.sum(axis=-1))


def declared(name: str, role: str, element: str, axes: str) -> str:
    """The declaration of a tensor."""
    extents = ", ".join(f'"{letter.upper()}"' for letter in axes)
    return f'spec.tensor @{name} "{role}" "{element}" [{extents}]'


def subscript(axes: str) -> str:
    """The axes that index a tensor."""
    return f"[{', '.join(f'%{letter}' for letter in axes)}]"


def axis(letter: str, tiled: bool) -> str:
    """An axis of all values, or of a tile of them."""
    extent = f"%{letter.upper()}"
    start, size = (f"%{letter}0", "%size") if tiled else ("%zero", extent)
    return f'%{letter} = tile.range "{letter}" from {start} to {extent} size {size}'


def spread(array: Array, axes: str, places: str, sizes: dict[str, int]) -> Array:
    """An array with the axes `places`."""
    order = sorted(axes, key=places.index)
    return array.transpose([axes.index(letter) for letter in order]).reshape(
        [sizes[letter] if letter in axes else 1 for letter in places]
    )


def surrounded(array: Array) -> Array:
    """The same array, a part of one that is larger on all sides and NaN there (or true)."""
    filler = True if array.dtype == np.bool_ else np.nan
    memory = np.full([size + 2 for size in array.shape], filler, array.dtype)
    inside = memory[tuple(slice(1, -1) for _ in array.shape)]
    inside[...] = array
    return inside


@st.composite
def products(draw: DrawFn, batches: Sequence[str] = ("", "a", "ab"), where: bool = True) -> Product:
    """A kernel, and the sizes of a call; `batches` are the batch axes that there may be, of one operand or both."""
    batch = draw(st.sampled_from(batches))
    axes = [*batch, "i", "j", "k"]
    of_x, of_y = draw(st.sampled_from([(batch, batch), (batch, ""), ("", batch)]))
    parts = (f"{of_x}ik", f"{of_y}kj", f"{batch}ij", f"{batch}ijk")
    x, y, out, varying = ("".join(draw(st.permutations(part))) for part in parts)
    walked = "".join(draw(st.sets(st.sampled_from(axes))))
    condition = draw(st.none() | st.sets(st.sampled_from([*of_x, "i", "k"]), min_size=1)) if where else None
    return Product(
        x,
        y,
        out,
        varying,
        walked=walked,
        sizes={letter: draw(st.integers(1, 2 * TILES + 1)) for letter in axes},
        where=None if condition is None else "".join(sorted(condition)),
    )


def listed() -> Iterator[Product]:
    """A few kernels with one batch axis, whose operands, result and axes have it in each place."""
    orders = list(product(("aik", "kai", "ika"), ("ajk", "kja", "jak")))
    for number, (x, y) in enumerate(orders):
        yield Product(
            x,
            y,
            out=("aij", "jia", "iaj")[number % 3],
            axes=("aijk", "kjia", "iakj", "jaik")[number % 4],
            walked=("a", "ik", "aj", "", "k")[number % 5],
            sizes={"a": 3 + number % 2 * 4, "i": 5, "j": 2 + number, "k": 6 + number % 3},
            rounded=(None, "f16")[number % 2],
        )


def shared() -> Iterator[Product]:
    """Kernels one of whose operands is the same for all programs that are computed together."""
    sizes = {"a": 7, "i": 5, "j": 9, "k": 6}
    for x, y, out in (("ik", "akj", "aij"), ("ik", "kja", "jia"), ("aik", "kj", "iaj"), ("kia", "jk", "aij")):
        yield Product(x, y, out, axes="aijk", walked="ai", sizes=sizes)
