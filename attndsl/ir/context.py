"""The context in which IR text is read and passes run: the dialects that the project uses, and no others."""

from __future__ import annotations

from attndsl.ir.attn import ATTN
from attndsl.ir.hints import settle_hints
from attndsl.ir.spec import SPEC
from attndsl.ir.tile import TILE
from attndsl.ir.traits import RULES
from attndsl.ir.walks import ROLES_LEVEL
from attndsl.ir.wellformed import VERIFIERS
from attndsl.ir.xdsl import Context, ModuleOp, Parser, Printer, arith, builtin, math, scf

RULES.update(VERIFIERS)


def context() -> Context:
    """A fresh context with every dialect loaded."""
    made = Context()
    for dialect in (builtin.Builtin, arith.Arith, math.Math, scf.Scf, SPEC, ATTN, TILE, ROLES_LEVEL):
        made.load_dialect(dialect)
    return made


def parse_module(text: str, name: str = "<text>") -> ModuleOp:
    """The module that a text denotes; raises ParseError."""
    module = Parser(context(), text, name).parse_module()
    settle_hints(module)
    return module


class _TextPrinter(Printer):
    """A printer of text alone: it counts no columns, which xDSL does for messages beside the text."""

    def print_string(self, text: str, *, indent: int | None = None) -> None:
        """Writes a text."""
        if "\n" in text or self.stream is None:
            super().print_string(text, indent=indent)
        else:
            self.stream.write(text)


def print_module(module: ModuleOp, locations: bool = False) -> str:
    """A module as text, with each operation's place in the source where `locations` is set."""
    from io import StringIO

    stream = StringIO()
    _TextPrinter(stream, print_debuginfo=locations).print_op(module)
    return stream.getvalue() + "\n"


def parts_of(module: ModuleOp) -> list[object]:
    """What the text of a module is made of: where two lists are equal, the module was left as it was.

    An eighth of the time that the text takes. What is listed stays in memory, so that nothing new is taken for it.
    """
    parts: list[object] = []
    for op in module.walk():
        blocks = [block for region in op.regions for block in region.blocks]
        parts += (op, op.parent, *op.operands, *op.attributes.items(), *op.properties.items(), *op.regions, *blocks)
        values = (*op.results, *(argument for block in blocks for argument in block.args))
        parts += (part for value in values for part in (value, value.type, value.name_hint))
    return parts
