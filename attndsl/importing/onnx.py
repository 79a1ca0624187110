"""The Attention nodes of ONNX models as specs. Import this only when onnx is in use."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, count, islice
from pathlib import Path

from google.protobuf.message import DecodeError
from onnx import (
    AttributeProto,
    GraphProto,
    ModelProto,
    NodeProto,
    defs,
    inliner,
    load_model_from_string,
    shape_inference,
)

from attndsl.checking.check import check
from attndsl.diagnostics.base import SpecError
from attndsl.importing.errors import CannotImport
from attndsl.importing.names import SpecNames, plain
from attndsl.importing.onnx_grouped import GroupedAttention, said_by_grouped
from attndsl.importing.onnx_nodes import KnownTensor, Unsaid, said_by
from attndsl.importing.onnx_runtime import RUNTIME, said_by_runtime
from attndsl.importing.onnx_text import TAKEN, OnnxAttention
from attndsl.printable import printable
from attndsl.syntax.format import format_text
from attndsl.syntax.source import Source

Meaning = OnnxAttention | GroupedAttention
"""What a node says; nodes that say the same are equal."""

FIRST_OPSET = 23
LONGEST = 80
"""How many characters of a name from a model are shown."""

WEIGHTS = 4096
"""More bytes than a tensor has that shapes are made of."""


def from_onnx(
    model: str | Path | ModelProto, *, nodes: Collection[str] | None = None, name: str | None = None
) -> dict[str, str]:
    """The text of a spec for each Attention node of a model, by the node's name: one text for nodes that mean the same.

    A node without a name has that of its output. `nodes` are those to import, else all; specs are called `name`, else
    as the model is, with numbers where there are several. Of a file nothing is executed, and no other file is read.
    Raises CannotImport, which names each node with what a spec cannot say.
    """
    called = name or "onnx"
    if not isinstance(model, ModelProto):
        called = name or Path(model).stem
        model = _read(Path(model))
    elif not name and model.graph.name:
        called = _text(model.graph.name)
    found = _found(model)
    wanted = found if nodes is None else {each: found[each] for each in nodes if each in found}
    if nodes is not None and (missing := [each for each in nodes if each not in found]):
        raise CannotImport(f"there is no Attention node {_shown(missing[0])}: there are {_few(found)}")
    said, refused = dict[str, Meaning](), list[str]()
    for node, scope in wanted.items():
        try:
            said[node] = scope.attention()
        except Unsaid as error:
            refused.append(f"{_shown(node)}: {printable(str(error))}")
    if refused:
        others = "" if not said else f"\nThe others can be imported by name: {_few(said)}"
        raise CannotImport("\n".join(refused) + others)
    return _texts(said, called)


def _texts(said: Mapping[str, Meaning], called: str) -> dict[str, str]:
    sharing: dict[Meaning, list[str]] = {}
    for node, meaning in said.items():
        sharing.setdefault(meaning, []).append(node)
    names, texts = SpecNames(TAKEN), {}
    for meaning, sharers in sharing.items():
        text = meaning.text(names.new(plain(called)[:LONGEST]), f"From ONNX: {_few(sharers)}.")
        try:
            check(Source(text))
            texts[meaning] = format_text(Source(text))
        except SpecError as error:
            raise CannotImport(f"what {_few(sharers)} says is no spec: {error}\n{text}") from error
    return {node: texts[meaning] for node, meaning in said.items()}


def _few(names: Collection[str]) -> str:
    """Some names, and how many more there are."""
    shown = [_shown(name) for name in islice(names, 3)]
    if len(names) > len(shown):
        shown.append(f"{len(names) - len(shown)} more")
    *first, last = shown
    return f"{', '.join(first)} and {last}" if first else last


def _shown(name: str) -> str:
    """A name from a model, of which anything may be part, in a line of text."""
    return printable(name if len(name) <= LONGEST else name[: LONGEST - 1] + "…")


def _read(path: Path) -> ModelProto:
    """A model, without what it has in other files. Raises OSError, CannotImport."""
    try:
        model = load_model_from_string(path.read_bytes())
    except DecodeError:
        raise CannotImport(f"{printable(str(path))} is no ONNX model") from None
    for tensor in model.graph.initializer:
        if len(tensor.raw_data) > WEIGHTS:
            tensor.ClearField("raw_data")  # ONNX would copy it several times to find shapes
    return model


@dataclass(frozen=True, slots=True)
class _Scope:
    """A node, and what is known where it stands."""

    node: NodeProto
    opset: int
    tensors: Mapping[str, KnownTensor]
    read: Collection[str]

    def attention(self) -> Meaning:
        """What it says. Raises Unsaid."""
        if self.node.domain == RUNTIME and self.node.op_type == "MultiHeadAttention":
            return said_by_runtime(self.node, self._known, self.read.__contains__)
        if self.node.domain == RUNTIME and self.node.op_type == "GroupQueryAttention":
            return said_by_grouped(self.node, self._known, self.read.__contains__)
        if self.node.domain not in _STANDARD or self.node.op_type != "Attention":
            domain = self.node.domain if self.node.domain not in _STANDARD else "ai.onnx"
            raise Unsaid(f"{_text(self.node.op_type)} of {_text(domain)} is another operator than ONNX's Attention")
        if self.opset < FIRST_OPSET:
            raise Unsaid(f"is of opset {self.opset}, and the first with Attention is {FIRST_OPSET}")
        return said_by(self.node, self.opset, self._known, self.read.__contains__)

    def _known(self, name: str) -> KnownTensor:
        return self.tensors.get(name, KnownTensor())


_STANDARD = ("", "ai.onnx")


def _found(model: ModelProto) -> dict[str, _Scope]:
    """The nodes of a model that are called attention, by name. Raises CannotImport where there are none."""
    opset = max((each.version for each in model.opset_import if each.domain in _STANDARD), default=0)
    if opset > defs.onnx_opset_version():
        raise CannotImport(f"the model is of opset {opset}; this onnx knows those up to {defs.onnx_opset_version()}")
    try:
        if model.functions:
            model = inliner.inline_local_functions(model)
        model = shape_inference.infer_shapes(model)
    except Exception as error:  # of ONNX, which has several for files that mean nothing
        raise CannotImport(f"ONNX cannot read this model: {_shown(str(error).strip())}") from None
    walk = _GraphWalk(opset)
    walk.graph(model.graph, {})
    if not walk.found:
        raise CannotImport(
            f"the model has no Attention node: exporters write them from opset {FIRST_OPSET} on, and this is of {opset}"
        )
    return walk.found


@dataclass(slots=True)
class _GraphWalk:
    """Looks through the graphs of a model, those within its nodes too."""

    opset: int
    found: dict[str, _Scope] = field(default_factory=dict)
    read: set[str] = field(default_factory=set)

    def graph(self, graph: GraphProto, outer: Mapping[str, KnownTensor]) -> None:
        """Finds what attends in a graph that sees what is known outside of it."""
        tensors = {**outer}
        for info in (*graph.input, *graph.value_info, *graph.output):
            tensors[info.name] = KnownTensor.of(info.type)
        for tensor in graph.initializer:
            tensors[tensor.name] = KnownTensor(tensor.data_type, tuple(tensor.dims))
        self.read.update(info.name for info in graph.output)
        for node in graph.node:
            self.read.update(node.input)
            if "Attention" in _text(node.op_type):
                self.found[self._name(node)] = _Scope(node, self.opset, tensors, self.read)
            for inner in _graphs(node):
                self.graph(inner, tensors)

    def _name(self, node: NodeProto) -> str:
        """A name of its own."""
        names = [_text(name) for name in (node.name, *node.output) if name] or ["attention"]
        numbered = (f"{names[0]}_{n}" for n in count(2))
        return next(name for name in chain(names, numbered) if name not in self.found)


def _text(name: str | bytes) -> str:
    """A name of a model: its bytes, where they are no text."""
    return name if isinstance(name, str) else name.decode(errors="backslashreplace")


def _graphs(node: NodeProto) -> Iterator[GraphProto]:
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            yield attribute.g
        yield from attribute.graphs
