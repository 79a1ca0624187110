"""What an editor can be told of a place in a spec: from one reading by the checker, in offsets of characters."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from attndsl.checking.check import Reading, read
from attndsl.checking.numbers import LARGEST_SIZE
from attndsl.checking.scopes import Binding, ElementType, LetBinding, ScalarBinding, Storage
from attndsl.checking.text import expression_text
from attndsl.checking.typed import Constant, DimValue, Expr, Index, IndexValue, Kind, operands, walk
from attndsl.diagnostics import Diagnostic, SpecError
from attndsl.syntax import tree
from attndsl.syntax.parse import lexemes, words
from attndsl.syntax.source import Source, Span

MAX_SHOWN = 100
"""The most operations of an expression that is shown: of more, nobody reads what a definition expands to."""

MAX_LINES = 40
"""How far above the cursor what stands there must make sense, if names are to be completed."""


class CannotRename(Exception):
    """A name cannot be changed so; the message says why."""


@dataclass(frozen=True)
class SpecFacts:
    """A text as it has been read; `reading` is None where it has no syntax tree."""

    source: Source
    reading: Reading | None
    diagnostics: tuple[Diagnostic, ...]

    @staticmethod
    def of(source: Source) -> SpecFacts:
        """What there is to tell of a text, with or without mistakes."""
        try:
            reading = read(source)
        except SpecError as error:
            return SpecFacts(source, None, error.diagnostics)
        return SpecFacts(source, reading, tuple(sorted(reading.diagnostics, key=lambda each: each.span.start)))

    @cached_property
    def names(self) -> Mapping[Span, Binding]:
        """Every place at which a name of the spec stands, and what it stands for; without built-in names."""
        met = {} if self.reading is None else self.reading.scope.met
        return {span: binding for span, binding in sorted(met.items(), key=_start) if binding.span != Span(0, 0)}

    def at(self, offset: int) -> tuple[Span, Binding] | None:
        """The name at a place, and what it stands for."""
        return next(((s, binding) for s, binding in self.names.items() if s.start <= offset <= s.end), None)

    def hover(self, offset: int) -> tuple[Span, str] | None:
        """What is to be said of the name at a place, as Markdown."""
        found = self.at(offset)
        if found is None:
            return None
        span, binding = found
        said = self._code(self._declared(binding)), self._said(binding), self._expanded(binding)
        return span, "\n\n".join(filter(None, said))

    def definition(self, offset: int) -> Span | None:
        """Where the name at a place is defined."""
        found = self.at(offset)
        return None if found is None else found[1].span

    def places(self, offset: int) -> list[Span]:
        """All places of the name at one that can be changed together; raises CannotRename."""
        found = self.at(offset)
        if found is None:
            raise CannotRename("Only the names that a spec defines can be changed.")
        defined = found[1].span
        if isinstance(self._statements.get(defined), tree.Definition):
            raise CannotRename("The name of a score or mask says what it is.")
        return [span for span, binding in self.names.items() if binding.span == defined]

    def rename(self, offset: int, name: str) -> list[Span]:
        """The places at which to write another name; raises CannotRename where the spec would mean something else."""
        places = self.places(offset)
        if not re.fullmatch(lexemes()["NAME"], name) or name in words():
            raise CannotRename(f"`{name}` is no name.")
        moved = _Moved(places, len(name))
        text = self.source.text
        for span in reversed(places):
            text = text[: span.start] + name + text[span.end :]
        renamed = SpecFacts.of(Source(text, self.source.name))
        expected = {moved.span(span): moved.span(binding.span) for span, binding in self.names.items()}
        if {span: binding.span for span, binding in renamed.names.items()} != expected or (
            [each.code for each in renamed.diagnostics] != [each.code for each in self.diagnostics]
        ):
            raise CannotRename(f"`{name}` would mean something else here.")
        return places

    def describe(self, binding: Binding) -> str:
        """What a name stands for, in some words."""
        match binding:
            case Storage(tensor=tensor, kind=kind):
                return f"{tensor.role}: {_shape(kind, len(tensor.extents))}"
            case LetBinding():
                return _shape(binding.kind, len(binding.axes))
            case ScalarBinding():
                return f"{binding.what}: {_shape(binding.expr.kind, 0)}"
            case ElementType():
                return "an element type"
        return ""

    @cached_property
    def _statements(self) -> dict[Span, tree.Node]:
        """What declares each name, by where the name stands in it."""
        if self.reading is None:
            return {}
        return dict(_declaring(self.reading.attention))

    @cached_property
    def _types(self) -> dict[str, str]:
        """What each type variable may be."""
        types = {} if self.reading is None or self.reading.spec is None else self.reading.spec.types
        return {name: " or ".join(choices) for name, choices in types.items()}

    def _declared(self, binding: Binding) -> str:
        node = self._statements.get(binding.span)
        span = binding.span if node is None else node.span
        return self.source.text[span.start : span.end]

    def _said(self, binding: Binding) -> str:
        what = self.describe(binding)
        match binding:
            case ScalarBinding(expr=DimValue()):
                return f"{what} from 0 to 2^{LARGEST_SIZE.bit_length() - 1}"
            case ScalarBinding(expr=IndexValue(index=Index(extent=Constant(value=0)))):
                return f"{what}, any"  # a definition's own, which stands for whatever it is given
            case ScalarBinding(expr=IndexValue(index=index)):
                ends = [index.extent] if index.bound is index.extent else [index.extent, index.bound]
                below = " and ".join(f"`{text}`" for text in map(_shown, ends) if text)
                return f"{what} from 0{f', below {below}' if below else ''}"
            case Storage(tensor=tensor) if choices := self._types.get(tensor.element):
                return f"{what}; {tensor.element} is {choices}"
            case ElementType() if choices := self._types.get(self._declared(binding).split()[0]):
                return f"{what}: {choices}"
            case LetBinding(axes=axes) if axes:
                return f"{what}, of {', '.join(f'`{_shown(axis)}`' for axis in axes)}"
        return what

    def _expanded(self, binding: Binding) -> str:
        """What a definition is made of, with the definitions in it put in."""
        if self.reading is None or not isinstance(binding, LetBinding):
            return ""
        expanded = self.reading.expanded(binding)
        text = "" if expanded is None else _shown(expanded[1])
        if expanded is None or not text:
            return ""
        axes = "".join(f" for {index.name} in {expression_text(index.extent)}" for index in expanded[0])
        return "which is\n\n" + self._code(text + axes)

    def _code(self, text: str) -> str:
        lines = [" ".join(line.split()) for line in text.splitlines()]
        return "\n".join(["```attn", *lines, "```"])


def names_before(source: Source, offset: int) -> list[tuple[str, Binding]]:
    """The names in sight on the line of a place, whatever stands there: those after the statements above it."""
    above = source.text[:offset].split("\n")[:-1]
    for last in range(len(above), max(0, len(above) - MAX_LINES), -1):
        try:
            scope = read(Source("\n".join(above[:last]) + "\n}", source.name)).scope
        except SpecError:
            continue
        found = ((name, scope.find(name)) for name in sorted(set(scope.names())))
        return [(name, binding) for name, binding in found if binding is not None]
    return []


def is_inside(source: Source, offset: int) -> bool:
    """Whether a place is between the braces of a spec, or in its header."""
    before = re.sub(lexemes()["COMMENT"], "", source.text[:offset])
    return before.count("{") > before.count("}") or re.search(r"\battention\b[^{]*$", before) is not None


def _start(item: tuple[Span, Binding]) -> int:
    return item[0].start


@dataclass(frozen=True)
class _Moved:
    """Where things stand once names at some places are so long."""

    places: Sequence[Span]
    length: int

    def span(self, span: Span) -> Span:
        start = span.start + sum(self.length - (p.end - p.start) for p in self.places if p.start < span.start)
        return Span(start, start + (self.length if span in self.places else span.end - span.start))


def _declaring(attention: tree.AttentionNode) -> Iterator[tuple[Span, tree.Node]]:
    for parameter in attention.parameters:
        yield parameter.name.span, parameter
    for statement in attention.statements:
        match statement:
            case tree.TensorDeclaration(name=name) | tree.Let(name=name) | tree.Definition(name=name):
                yield name.span, statement
            case tree.Types(variables=parts) | tree.Each(binders=parts) | tree.Over(binders=parts):
                for part in parts:
                    yield part.name.span, part


def _shape(kind: Kind, axes: int) -> str:
    article = "an" if kind is Kind.INT else "a"
    return f"{article} {kind.value}" + {0: "", 1: " vector"}.get(axes, f" array of {axes} axes")


def _shown(expr: Expr) -> str:
    """An expression as text; none where it is long."""
    sizes: dict[Expr, int] = {}
    for part in walk(expr):
        sizes[part] = 1 + sum(sizes[operand] for operand in operands(part))
    return expression_text(expr) if sizes[expr] <= MAX_SHOWN else ""
