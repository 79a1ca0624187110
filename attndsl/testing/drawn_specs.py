"""Whole specs for hypothesis to draw, over every construct of the language.

What is drawn is text, so that a failing one can be read, kept and run. All specs are well typed. What indices they
compute is often out of range: absence is what goes wrong first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from attndsl.checking.layouts import LAYOUT, counterparts
from attndsl.syntax.source import Source
from attndsl.testing.choices import Choices
from attndsl.testing.disguises import DEFAULT_FILE, disguised, file_name
from attndsl.testing.phrases import CONDITIONS, INPUTS, LETS, PARAMETERS, PHRASES

SIZES = {
    "B": (1, 2, 2, 3),
    "H": (1, 2, 2, 3, 4),
    "G": (1, 2, 3),
    "M": (1, 3, 5, 7, 9),
    "L": (1, 4, 7, 9),
    "Y": (1, 2, 3),
    "X": (1, 3, 2),
    "N": (1, 4, 5, 7, 7, 11, 19, 33),
    "D": (1, 2, 3, 4, 4, 5, 8, 16, 24, 40),
    "E": (1, 2, 3, 4, 5, 8),
    "K": (1, 3, 5),
    "P": (3, 1, 2, 4),
    "S": (2, 1, 3, 4, 2),
}
"""Extents to draw from, the simplest first; other dims have those of `OTHER_SIZES`."""

OTHER_SIZES = (1, 2, 3, 4)

MAYBE_EMPTY = "BMLNK"
"""The dims whose extent is 0 once in a while: where one is, there is little to compare."""

SELDOM_EMPTY = (False,) * 15 + (True,)

RATIOS = (1, 2, 3, 4, 7)
"""How many heads share a key where they are required to be a multiple."""

WHOLE = (2, 8)
"""What dims may be required to be a multiple of; each divides the next."""

MOST_WHOLE = 40
"""Such a dim is less."""

ROWS = ("B", "H", "M", "L", "Y", "X")
"""The dims whose product, at most `MAX_ROWS`, is the number of rows: the reference walks them one by one."""

MAX_ROWS = 36

TYPE_VARIABLES = {"T": "choices", "U": "choices", "Int": "int_choices", "Said": "choices"}
"""The type variables, and the phrases that say what each may stand for."""

OF_OUTPUTS = "Said"
"""That which no input has."""

SECOND = "_2"
"""What the names of the second block's outputs end in."""

_PHRASE = re.compile(r"\{(\w+)\}")
_WORD = re.compile(r"[A-Za-z_]\w*")
_FORMULA = re.compile(r"=.*[*/(]")
_DIM = re.compile(r"\b[A-SV-Z]\b")
_EXTENT = re.compile(r"(?<=[\[ ])[A-Z](?=[,\]])")
_OF_INTS = re.compile(r"\w+\[\w+[,\]]")


class Drawn(NamedTuple):
    """The text of a spec, extents for its dims, and the name of the file that it is said to be in."""

    text: str
    dims: dict[str, int]
    file: str = DEFAULT_FILE

    @property
    def source(self) -> Source:
        """The text as the compiler reads it."""
        return Source(self.text, self.file)


@st.composite
def specs(draw: DrawFn) -> Drawn:
    """A spec of one to three blocks, and a call's extents that meet its conditions.

    Its statements stand in any order, its names and that of its file may be hostile (`attndsl.testing.disguises`).
    """
    return draw_spec(Choices(draw))


def draw_spec(choices: Choices) -> Drawn:
    """What `specs` draws, of choices among others."""
    draft = _Draft(choices)
    plain = draft.text()
    dims = _extents(choices, draft.told, draft.conditions)
    text, names = disguised(choices, plain)
    return Drawn(text, {names.get(name, name): size for name, size in dims.items()}, file_name(choices))


def _extents(choices: Choices, dims: Iterable[str], conditions: Iterable[str]) -> dict[str, int]:
    """An extent for each dim, as the conditions ask for."""
    first = ("G", *ROWS)  # H may have to be a multiple of G
    found: dict[str, int] = {}
    left = MAX_ROWS
    for name in sorted(dims, key=lambda name: first.index(name) if name in first else len(first)):
        sizes = SIZES.get(name, OTHER_SIZES)
        if f"{name} % G == 0" in conditions:
            sizes = tuple(found["G"] * ratio for ratio in RATIOS)
        divisors = [divisor for divisor in WHOLE if f"{name} % {divisor} == 0" in conditions]
        if divisors:
            sizes = tuple(sorted({max(divisors) * size for size in sizes if 0 < size < MOST_WHOLE // max(divisors)}))
        if name in ROWS:
            sizes = tuple(size for size in sizes if size <= left) or sizes[:1]
        if name in MAYBE_EMPTY and choices.of(SELDOM_EMPTY):
            sizes = (0,)
        found[name] = size = choices.of(sizes)
        if name in ROWS:
            left //= max(1, size)
    return {name: found[name] for name in dims}


class _Draft:
    """A spec being written: what its statements use is declared when they use it."""

    def __init__(self, choices: Choices) -> None:
        self._choices = choices
        self._layouts: tuple[str, ...] = ()  # of the rows and of the keys of the block that is being written
        self._inputs: dict[str, str] = {}
        self._parameters: dict[str, str] = {}
        self._functions: dict[str, str] = {}  # definitions that stand before the rows
        self._lets: dict[str, str] = {}  # of this block
        self._outputs: dict[str, str] = {}
        self._temps: set[str] = set()  # those of them that no caller sees
        self._inouts: set[str] = set()  # those that a caller gives
        self._reads: dict[str, str] = {}  # phrases for what a block before has written
        self.conditions: list[str] = []

    @property
    def told(self) -> dict[str, None]:
        """The dims that the shapes of inputs tell."""
        return dict.fromkeys(dim for declared in self._inputs.values() for dim in _DIM.findall(declared))

    # --- phrases

    def _say(self, name: str) -> str:
        """Something that stands for a phrase."""
        if name in self._reads:
            return self._reads[name]
        options = next(PHRASES[key] for key in (*self._here(name), name) if key in PHRASES)
        return self._fill(self._choices.of(options))

    def _fill(self, template: str) -> str:
        """A template with its phrases said and its names declared."""
        for word in _WORD.findall(_PHRASE.sub(" ", template)):
            self._use(word)
        return _PHRASE.sub(lambda phrase: self._say(phrase[1]), template)

    def _here(self, name: str) -> list[str]:
        """What stands in for a name in this block."""
        return [f"{name}@{layout}" for layout in self._layouts]

    def _use(self, word: str) -> None:
        """Declares what a word names, unless that has been done."""
        if word in PARAMETERS and word not in self._parameters:
            self._parameters[word] = self._fill(PARAMETERS[word])
        elif word in INPUTS and word not in self._inputs:
            self._inputs[word] = self._fill(INPUTS[word]).strip()
        elif let := next((LETS[key] for key in (*self._here(word), word) if key in LETS), None):
            self._define(word, let)

    def _define(self, name: str, let: str) -> None:
        """Writes a definition, after those that it uses."""
        head, _, body = let.partition(" = ")
        if not _OF_INTS.match(head):
            if name not in self._lets:
                self._lets[name] = f"{head} = {self._fill(body)}"
        elif name not in self._functions:
            layouts, self._layouts = self._layouts, ()  # its own parameters, not the block's indices
            self._functions[name] = f"{head} = {self._fill(body)}"
            self._layouts = layouts

    # --- the whole

    def text(self) -> str:
        """A spec."""
        blocks = [self._block(self._say("first_block"), "")]
        if another := self._say("second_block"):
            blocks.append(self._block(another, SECOND))
        if (reading := self._say("reading_block")) and self._reals:
            name = self._choices.of(self._reals)
            before = name in self._inouts and self._choices.of((True, False))
            blocks.insert(0 if before else len(blocks), self._reading_block(reading, name))
        body = "\n".join([_lines(f"let {text}" for text in self._functions.values()), *blocks]).lstrip()
        body = _DIM.sub(lambda dim: self._size(dim[0]), body)
        declarations = self._declarations(body)
        header = ", ".join(self._header())
        return f"attention drawn{f'({header})' if header else ''} {{\n{declarations}\n    {body}}}\n"

    def _header(self) -> list[str]:
        """The parameters, those with formulas after what these may be made of."""
        for name, kind in [*self._parameters.items()]:  # more of them where no shape tells a dim
            self._parameters[name] = _DIM.sub(lambda dim: self._size(dim[0]), kind)
        listed = sorted(self._parameters.items(), key=lambda item: _FORMULA.search(item[1]) is not None)
        return [f"{name}: {kind}" for name, kind in listed]

    def _declarations(self, body: str) -> str:
        """All that stands before the definitions and the rows."""
        if self._say("broadcast"):
            self._broadcast()
        shapes = " ".join(self._inputs.values())
        self.conditions = [condition for part, condition in CONDITIONS.items() if part in body or part in shapes]
        types = [name for name in TYPE_VARIABLES if re.search(rf"\b{name}\[", shapes)]
        written = {name: self._written(name, types) for name in self._outputs}
        types += [OF_OUTPUTS] if OF_OUTPUTS in written.values() else []
        variables = [f"{name} {self._say(TYPE_VARIABLES[name])}".strip() for name in types]
        self._reads["layout"] = self._layout()
        schedule = self._say("schedule_of_sums" if "+=" in body else "schedule")
        return _lines(
            [
                *self._named("dims", [*self.told]),
                *self._named("types", variables),
                *(f"input {name} : {declared}" for name, declared in self._inputs.items()),
                *(f"{self._role(name)} {name} : {written[name]}{shape}" for name, shape in self._outputs.items()),
                *(f"require {condition}" for condition in self.conditions),
                *([f"schedule {{ {schedule} }}"] if schedule else []),
            ]
        )

    def _layout(self) -> str:
        """A setting by which outputs lie as an input does, where one can."""
        given = {name: _extents_of(declared) for name, declared in self._inputs.items()}
        given |= {name: _extents_of(shape) for name, shape in self._outputs.items() if name in self._inouts}
        made = [_extents_of(self._outputs[name]) for name in self._outputs if self._role(name) == "output"]
        like = [name for name, extents in given.items() if any(counterparts(each, extents) for each in made)]
        return f"{LAYOUT} = {like[0]}" if like else ""

    def _broadcast(self) -> None:
        """Lets an extent of an input be 1, a dim that another input tells."""
        axes = [(name, dim) for name, declared in self._inputs.items() for dim in _EXTENT.findall(declared)]
        told = [(name, dim) for name, dim in axes if any(dim == each and name != other for other, each in axes)]
        if told:
            name, dim = self._choices.of(told)
            self._inputs[name] = re.sub(rf"(?<=[\[ ]){dim}(?=[,\]])", f"{dim}?", self._inputs[name], count=1)

    def _named(self, word: str, names: list[str]) -> list[str]:
        """A statement that declares names, or one for each."""
        if len(names) > 1 and self._choices.of((False, False, True)):
            return [f"{word} {name}" for name in names]
        return [f"{word} {', '.join(names)}"] if names else []

    def _written(self, output: str, types: list[str]) -> str:
        """The element type of an output: a type variable is one that some input has."""
        base = output.removesuffix(SECOND)
        element = self._say(f"{base}_written" if f"{base}_written" in PHRASES else "written")
        if element in (*types, OF_OUTPUTS) or element not in TYPE_VARIABLES:
            return element
        return "i64" if element == "Int" else "f32"

    def _size(self, dim: str) -> str:
        """A dim where a number is meant: what no shape tells is a parameter instead."""
        if dim in self.told:
            return dim
        name = f"{dim.lower()}_size"
        self._parameters.setdefault(name, self._say("int_parameter"))
        return name

    def _block(self, keys: str, suffix: str) -> str:
        """The statements of a block: how its keys may lie is said by a phrase; its outputs end in `suffix`."""
        self._lets = {}
        self._layouts = (self._say("rows"), self._say(keys))
        rows = [f"each {self._say('each')}"]
        over = self._say("over")
        before = [*self._lets.values()]  # what the keys' extent uses
        writes = [self._write(name, suffix) for name in self._say("writes").split()]
        after = [*self._lets.values()][len(before) :]
        walked = [f"over {over}"] if over else []
        return _lines([*rows, *map(_let, before), *walked, *map(_let, after), *writes])

    def _reading_block(self, kind: str, name: str) -> str:
        """A block that reads what another one writes, which is a temp then, an output or an inout."""
        extents = self._outputs[name][1:-1].split(", ")
        indices = [f"z{number}" for number in range(len(extents))]
        binders = [f"{index} in {extent}" for index, extent in zip(indices, extents, strict=True)]
        *rows, last = binders
        over = [f"over {last}"] if rows and kind == "folded" else []
        if rows:
            indices[-1] = indices[-1] if over else ":"
        else:
            kind, rows = "again", binders
        moved = self._choices.of((f"{indices[0]} + 1", f"{extents[0]} - 1 - {indices[0]}"))
        self._reads = {"read": f"{name}[{', '.join(indices)}]", "moved": f"{name}[{', '.join([moved, *indices[1:]])}]"}
        place = indices[:-1] if over else indices
        self._outputs["again"] = f"[{', '.join(extents[: len(place)])}]"
        if name not in self._inouts and self._choices.of((True, False)):
            self._temps.add(name)
        return _lines([f"each {', '.join(rows)}", *over, f"again[{', '.join(place)}] = {self._say(kind)}"])

    @property
    def _reals(self) -> list[str]:
        """The outputs of real numbers that have axes."""
        real = ("o", "lse", "weights")
        return [name for name, shape in self._outputs.items() if name.removesuffix(SECOND) in real and shape != "[]"]

    def _role(self, name: str) -> str:
        return "temp" if name in self._temps else "inout" if name in self._inouts else "output"

    def _write(self, name: str, suffix: str) -> str:
        """The statements that write an output, which they declare: one, or some that add to it."""
        real = name in ("o", "lse", "weights")
        signs = self._say("signs").split() if real else ["="]
        of = "o" if name == "o" else "lse"
        place, _, shape = self._say(f"{of}_place" if signs == ["="] else f"{of}_sums").partition(" of ")
        values = [self._say(name) for _ in signs]
        if name == "weights":
            keys, _, extents = self._say("at_keys").partition(" of ")
            place = f"{place[:-1]}, {keys}]".replace("[, ", "[")
            shape = _DIM.sub(lambda dim: dim[0] if dim[0] in self.told else "5", f"{shape[:-1]}, {extents}]")
            shape = shape.replace("[, ", "[")
        elif name == "best":
            place, shape = (f"{text[:-1]}, {last}]".replace("[, ", "[") for text, last in ((place, ":"), (shape, "3")))
        if not set(_DIM.findall(shape)) <= self.told.keys():
            query = self._say("query")
            number = f"{query} . {query}"
            plain = values[0]
            values[0] = f"{plain} + 0.1 * ({number})" if real else f"(if {number} < 1.0 then {plain} else {plain})"
        self._outputs[name + suffix] = shape
        if self._say("role") == "inout":
            self._inouts.add(name + suffix)
            if of == name and signs == ["="] and place.count("[") == 1:  # no two rows write one element
                onto = self._say("onto").replace("OWN", f"{name}{suffix}{place}")
                values[0] = onto.replace("VALUE", f"({values[0]})")
        return "\n    ".join(f"{name}{suffix}{place} {sign} {value}" for sign, value in zip(signs, values, strict=True))


def _let(text: str) -> str:
    """A definition as a statement: the names `score` and `mask` stand without the word."""
    return text if text.startswith(("score =", "mask =")) else f"let {text}"


def _lines(statements: Iterable[str]) -> str:
    return "".join(f"    {statement}\n" for statement in statements)


def _extents_of(declared: str) -> list[str]:
    """The extents of a tensor as it is declared."""
    return re.findall(r"[^,?]+", declared[declared.index("[") + 1 : declared.index("]")].replace(", ", ","))
