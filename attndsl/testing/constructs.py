"""Which constructs of the language a spec uses, so that a fuzzer can show that it reached all of them.

Each table below names the constructs of one kind of thing: a construct is used where its question is answered with
yes for some thing of that kind. What typing leaves no trace of is asked of the syntax tree.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeVar

from attndsl.checking.coverage import partial_outputs
from attndsl.checking.layouts import LAYOUT
from attndsl.checking.operators import OPERATORS
from attndsl.checking.typed import (
    FLOAT_TYPES,
    FOLDS,
    INT_TYPES,
    POSITIONS,
    STORAGE_KINDS,
    WEIGHING,
    Apply,
    Block,
    Constant,
    Expr,
    Index,
    IndexValue,
    Kind,
    Param,
    ParamValue,
    Read,
    Reduce,
    ReduceAxis,
    Spec,
    Tensor,
    Write,
    walk,
)
from attndsl.driver.summarise import summarise
from attndsl.inputs.ranges import expressions
from attndsl.syntax import tree
from attndsl.testing.rewriting import nodes, parsed
from attndsl.testing.terms import applies, packs, reads, shifts, turns, variables, without_reads

T = TypeVar("T")

Table = Mapping[str, Callable[[T], bool]]

ORDERS = ("ilt", "ile", "igt", "ige")
BITS = ("iand", "ior", "ixor", "ishl", "ishr")
FUNCTIONS = (*WEIGHING, *FOLDS, *POSITIONS)
FLOATS_COMPARED = ("feq", "fne", "flt", "fle", "fgt", "fge")

INDICES: Table[Expr] = {
    "index: a number": lambda e: isinstance(e, Constant),
    "index: offset": shifts,
    "index: of two variables": lambda e: applies(e, "iadd", "isub") and len(variables(e)) > 1,
    "index: reversed": turns,
    "index: scaled": lambda e: applies(e, "imul"),
    "index: quotient": lambda e: applies(e, "idiv"),
    "index: modulo": lambda e: applies(e, "imod"),
    "index: clamped": lambda e: applies(e, "imin", "imax"),
    "index: distance": lambda e: applies(e, "iabs"),
    "index: bits": lambda e: applies(e, *BITS),
    "index: choice": lambda e: applies(e, "iselect"),
    "index: gather": lambda e: isinstance(e, Read),
    "index: page table": lambda e: isinstance(e, Read) and any(applies(i, "idiv") for i in e.indices),
    "index: packed": packs,
}
"""Of the indices of what is read."""


def _tells_ranges(choice: Apply) -> bool:
    """Whether it chooses between what is read by a comparison of the key, in which no variable of the row stands."""
    condition, *arms = choice.arguments
    compared = (part for part in walk(condition) if isinstance(part, Apply) and part.operator in ORDERS)
    roles = [{e.index.role for e in without_reads(part) if isinstance(e, IndexValue)} for part in compared]
    return choice.operator == "fselect" and all(map(reads, arms)) and {"over"} in roles


CHOICES: Table[Apply] = {
    "choice: ranges of keys": _tells_ranges,
    "choice: three ranges of keys": lambda e: (
        _tells_ranges(e) and any(isinstance(arm, Apply) and _tells_ranges(arm) for arm in e.arguments[1:])
    ),
}

SUMS: Table[ReduceAxis] = {
    "contraction": lambda e: True,
    "contraction of ints": lambda e: e.kind is Kind.INT,
    "contraction over two axes": lambda e: isinstance(e.body, ReduceAxis),
    "contraction of a contraction": lambda e: (
        not isinstance(e.body, ReduceAxis) and any(isinstance(part, ReduceAxis) for part in walk(e.body))
    ),
    "contraction of the row": lambda e: bool(variables(e, "each")) and not variables(e, "over"),
    "contraction of squares": lambda e: isinstance(e.body, Apply) and len({*e.body.arguments}) == 1,
}

EXTREMES: Table[ReduceAxis] = {
    "max over an axis": lambda e: e.function == "max",
    "min over an axis": lambda e: e.function == "min",
    "any or all over an axis": lambda e: applies(e.body, "fselect"),
    "extreme of the row": lambda e: bool(variables(e, "each")) and not variables(e, "over"),
    "extreme of a key": lambda e: bool(variables(e, "over")) and not variables(e, "each"),
    "extreme of a row and a key": lambda e: bool(variables(e, "each")) and bool(variables(e, "over")),
}
"""Of the reductions of axes that are no sums."""


def _reduces(function: str, masked: bool = True) -> Callable[[Reduce], bool]:
    return lambda e: e.function == function and (masked or e.mask is None)


REDUCTION_CONSTRUCTS: Table[Reduce] = {
    **{f"reduce {name}": _reduces(name) for name in FUNCTIONS},
    **{f"{name} without a mask": _reduces(name, masked=False) for name in FUNCTIONS},
    "softmax with a sink": lambda e: e.function == "softmax" and e.sink is not None,
    "logsumexp with a sink": lambda e: e.function == "logsumexp" and e.sink is not None,
    "sink of data": lambda e: reads(e.sink),
    "sink of -inf": lambda e: isinstance(e.sink, Constant) and e.sink.value == float("-inf"),
    "topk at one place": lambda e: e.nth is not None and not variables(e.nth, "axis"),
    "sum of a vector": lambda e: e.function == "sum" and bool(variables(e, "axis")),
    "min of a vector": lambda e: e.function == "min" and bool(variables(e, "axis")),
    "any or all": lambda e: e.function in ("max", "min") and applies(e.score, "fselect"),
    "max of a vector": lambda e: e.function == "max" and bool(variables(e, "axis")),
    "score without keys": lambda e: not variables(e.score, "over"),
    "score with data beside the product": lambda e: any(isinstance(part, Read) for part in without_reads(e.score)),
    "reduction of a reduction": lambda e: any(isinstance(part, Reduce) for part in walk(e) if part is not e),
    "vector by an if": lambda e: isinstance(e.value, Apply) and e.value.operator == "fselect",
    "vector by a contraction": lambda e: isinstance(e.value, ReduceAxis),
    "vector scaled": lambda e: isinstance(e.value, Apply) and e.value.operator == "fmul",
}

MASKS: Table[Expr] = {
    "mask: affine": lambda e: applies(e, *ORDERS) and not applies(e, "idiv", "imod") and not reads(e),
    "mask: quotient": lambda e: applies(e, "idiv"),
    "mask: modulo": lambda e: applies(e, "imod"),
    "mask: data": reads,
    "mask: of floats": lambda e: applies(e, *FLOATS_COMPARED),
    "mask: parameter": lambda e: any(isinstance(part, ParamValue) for part in walk(e)),
    "mask: of the row alone": lambda e: not variables(e, "over"),
    "mask: and": lambda e: applies(e, "and"),
    "mask: or": lambda e: applies(e, "or"),
    "mask: not": lambda e: applies(e, "not"),
    "mask: if": lambda e: applies(e, "bselect"),
}

PLACES: Table[Expr] = {
    "output index: shifted": shifts,
    "output index: reversed": turns,
    "output index: of data": reads,
}
"""Of the indices of what is written."""

WRITES: Table[tuple[Block, Write]] = {
    "output index: permuted": lambda x: _order(*x) != sorted(_order(*x)),
    "output index: axis first": lambda x: any(
        isinstance(i, IndexValue) and i.index.role == "axis" for i in x[1].indices[:1]
    ),
    "output: number of a row": lambda x: not x[1].axes,
    "output: several reductions": lambda x: sum(isinstance(e, Reduce) for e in walk(x[1].value)) > 1,
    "output: reduction under an if": lambda x: any(
        isinstance(e, Apply) and e.operator == "fselect" and any(isinstance(a, Reduce) for a in walk(e))
        for e in without_reads(x[1].value)
    ),
    "output: data of the row": lambda x: (
        any(isinstance(e, Reduce) for e in walk(x[1].value))
        and any(isinstance(e, Read) for e in without_reads(x[1].value))
    ),
}


def _order(block: Block, write: Write) -> list[int]:
    """The positions in `each` of the variables that a write's indices are, as they stand there."""
    found = (i.index for i in write.indices if isinstance(i, IndexValue) and i.index.role == "each")
    return [block.each.index(index) for index in found]


EXTENTS: Table[Index] = {
    "rows: ragged": lambda i: i.role == "each" and isinstance(i.extent, Read),
    "rows: packed": lambda i: i.role == "each" and _differs(i.extent),
    "keys: ragged": lambda i: i.role == "over" and reads(i.extent),
    "keys: packed": lambda i: i.role == "over" and _differs(i.extent),
    "keys: function of the row": lambda i: i.role == "over" and not reads(i.extent) and bool(variables(i.extent)),
    "keys: sum of dims": lambda i: i.role == "over" and applies(i.extent, "iadd") and not variables(i.extent),
    "keys: a number": lambda i: i.role == "over" and isinstance(i.extent, Constant),
    "keys: a parameter": lambda i: i.role == "over" and isinstance(i.extent, ParamValue),
}


def _differs(extent: Expr) -> bool:
    """Whether an extent is one element less another one of the same tensor."""
    return (
        isinstance(extent, Apply)
        and extent.operator == "isub"
        and all(isinstance(a, Read) for a in extent.arguments)
        and len({a.tensor for a in extent.arguments if isinstance(a, Read)}) == 1
    )


def _reductions(block: Block) -> Iterator[Reduce]:
    return (e for e in walk(*(write.value for write in block.writes)) if isinstance(e, Reduce))


BLOCKS: Table[Block] = {
    "block without keys": lambda b: not b.over,
    "two key axes": lambda b: len(b.over) == 2,
    "rows of one variable": lambda b: len(b.each) == 1,
    "rows of four variables": lambda b: len(b.each) == 4,
    "several outputs of a block": lambda b: len(b.writes) > 1,
    "several scores": lambda b: len({e.score for e in _reductions(b) if e.function == "softmax"}) > 1,
}


PARAMETERS: Table[Param] = {
    "parameter: int": lambda p: p.kind is Kind.INT,
    "parameter: f32": lambda p: p.kind is Kind.FLOAT,
    "parameter: bool": lambda p: p.kind is Kind.BOOL,
    "parameter without a default": lambda p: p.default is None,
}


def _has_input(element: str) -> Callable[[Spec], bool]:
    return lambda s: any(t.element == element for t in s.inputs)


def _has_scalar(kind: Kind) -> Callable[[Spec], bool]:
    return lambda s: any(not t.extents and s.kind(t) is kind for t in s.inputs)


def _has_output(kind: Kind, written: Kind) -> Callable[[Spec], bool]:
    return lambda s: any(s.kind(w.tensor) is kind and w.value.kind is written for b in s.blocks for w in b.writes)


def _may_wrap(expr: Expr) -> bool:
    """Whether it is a product of an integer that may be as large as a call says."""
    return (
        isinstance(expr, Apply) and expr.operator == "imul" and any(isinstance(a, ParamValue) for a in expr.arguments)
    )


def _has_extent(operator: str) -> Callable[[Spec], bool]:
    return lambda s: any(isinstance(e, Apply) and e.operator == operator for t in s.inputs for e in t.extents)


def _of_parameters(tensor: Tensor) -> bool:
    return any(isinstance(e, ParamValue) for e in walk(*tensor.extents))


def _reads_of(spec: Spec, role: str) -> bool:
    """Whether a block reads a tensor of this role."""
    return any(isinstance(e, Read) and e.tensor.role == role for e in expressions(*spec.blocks))


def _reads_inout(blocks: Iterable[Block]) -> bool:
    """Whether a block reads an inout that one before it writes."""
    written: set[Tensor] = set()
    for block in blocks:
        if any(isinstance(e, Read) and e.tensor in written for write in block.writes for e in walk(write.value)):
            return True
        written |= {write.tensor for write in block.writes if write.tensor.role == "inout"}
    return False


SPECS: Table[Spec] = {
    **{f"input of {name}": _has_input(name) for name in STORAGE_KINDS},
    "type variable": lambda s: bool(s.types),
    "two type variables": lambda s: len(s.types) > 1,
    "type variable of outputs": lambda s: bool({*s.types} - {t.element for t in s.inputs}),
    "restricted type variable": lambda s: any(
        len(choices) < len(FLOAT_TYPES) and choices[0] in FLOAT_TYPES for choices in s.types.values()
    ),
    "type variable of ints": lambda s: any(choices[0] in INT_TYPES for choices in s.types.values()),
    "output of ints": _has_output(Kind.INT, Kind.INT),
    "output of bools": _has_output(Kind.BOOL, Kind.BOOL),
    "output of ints by rounding": _has_output(Kind.INT, Kind.FLOAT),
    "output of floats of 8 bits": lambda s: any(t.element in ("f8e4m3", "f8e5m2") for t in s.outputs),
    "output of a named type": lambda s: any(t.element in FLOAT_TYPES for t in s.outputs),
    "scalar tensor": lambda s: any(not t.extents for t in s.inputs),
    **{f"scalar tensor of {kind.value}": _has_scalar(kind) for kind in Kind},
    "output before an input": lambda s: [*s.tensors.values()] != [*s.inputs, *s.outputs],
    "product of parameters and variables": lambda s: any(map(_may_wrap, expressions(*s.blocks))),
    "extent with a number": _has_extent("iadd"),
    "extent divided": _has_extent("idiv"),
    "extent of a parameter": lambda s: any(map(_of_parameters, s.inputs)),
    "output as large as a parameter says": lambda s: any(map(_of_parameters, s.outputs)),
    "dim beside a parameter": lambda s: any(not told.line.is_of_numbers for told in summarise(s).origins.values()),
    "extent of a default that is computed": lambda s: bool({*summarise(s).shaping} & {*summarise(s).formulas}),
    "extent that may be 1": lambda s: any(t.broadcast for t in s.inputs),
    "extent that is a number": lambda s: any(isinstance(e, Constant) for t in s.inputs for e in t.extents),
    "several blocks": lambda s: len(s.blocks) > 1,
    "output that is read": lambda s: _reads_of(s, "output"),
    "inout": lambda s: any(t.role == "inout" for t in s.inputs),
    "inout before it is written": lambda s: _reads_inout(s.blocks[::-1]),
    "inout after it is written": lambda s: _reads_inout(s.blocks),
    "inout where it is written": lambda s: any(
        isinstance(e, Read) and e.tensor is w.tensor for b in s.blocks for w in b.writes for e in walk(w.value)
    ),
    "inout that is added to": lambda s: any(w.adds and w.tensor.role == "inout" for b in s.blocks for w in b.writes),
    "temp that is read": lambda s: _reads_of(s, "temp"),
    "weights at their keys": lambda s: any(t.is_computed for t in s.written),
    "temp that rows may leave unwritten": lambda s: any(s.tensors[n].role == "temp" for n in partial_outputs(s)),
    "schedule": lambda s: bool(s.schedule),
    "layout": lambda s: LAYOUT in s.schedule,
    "sums in order": lambda s: any(w.adds and s.schedule.get("deterministic") for b in s.blocks for w in b.writes),
}


NODES: Table[tree.Node] = {
    "definition: value": lambda n: isinstance(n, tree.Let) and not n.params,
    "definition: vector": lambda n: isinstance(n, tree.Let) and any(isinstance(p, tree.AxisParam) for p in n.params),
    "definition: function": lambda n: isinstance(n, tree.Let) and _all_ints(n),
    "definition: view": lambda n: isinstance(n, tree.Let) and any(isinstance(p, tree.WholeParam) for p in n.params),
    "slice read": lambda n: isinstance(n, tree.Subscripted) and _has_slice(n),
    "slice written": lambda n: isinstance(n, tree.WriteStatement) and _has_slice(n),
    "score =": lambda n: isinstance(n, tree.Definition) and n.name.text == "score",
    "mask =": lambda n: isinstance(n, tree.Definition) and n.name.text == "mask",
    "require": lambda n: isinstance(n, tree.Require),
    "bound: up to": lambda n: isinstance(n, tree.Binder) and n.bound is not None,
    "comparison chain": lambda n: isinstance(n, tree.Comparison) and len(n.operators) > 1,
    "unary plus": lambda n: isinstance(n, tree.Unary) and n.operator == "+",
    "infinity": lambda n: isinstance(n, tree.Reference) and n.name.text == "inf",
    "dot of a definition": lambda n: (
        isinstance(n, tree.Binary) and n.operator == "." and isinstance(n.right, tree.Reference)
    ),
}


def _has_slice(node: tree.Subscripted | tree.WriteStatement) -> bool:
    return any(isinstance(subscript, tree.Slice) for subscript in node.subscripts)


def _all_ints(let: tree.Let) -> bool:
    return bool(let.params) and all(isinstance(p, tree.IndexParam) for p in let.params)


TEXTS = {
    "hex literal": re.compile(r"\b0x[0-9A-Fa-f]+"),
    "exponent in a literal": re.compile(r"\b\d[\d.]*e-?\d+"),
    "definition before the rows": re.compile(r"\blet\b(?=.*\beach\b)", re.DOTALL),
    "schedule: auto": re.compile(r"\bsplit_k = auto\b"),
}
"""What the text itself shows; comments hold none of it in a spec that is drawn."""

OPERATIONS = {name: f"operator {name}" for name in OPERATORS}

FOUND_BOUND = "bound: found"

CONSTRUCTS: tuple[str, ...] = (
    *OPERATIONS.values(),
    *(
        name
        for table in (INDICES, CHOICES, SUMS, EXTREMES, REDUCTION_CONSTRUCTS, MASKS, PLACES, WRITES, EXTENTS, BLOCKS)
        for name in table
    ),
    *(name for table in (PARAMETERS, SPECS, NODES, TEXTS) for name in table),
    FOUND_BOUND,
)
"""Every construct that `constructs` tells of."""


def constructs(spec: Spec) -> set[str]:
    """The constructs that a checked spec uses, each of them a name of CONSTRUCTS."""
    found = [*expressions(*spec.blocks)]
    reductions = [e for e in found if isinstance(e, Reduce)]
    writes = [(block, write) for block in spec.blocks for write in block.writes]
    variables = [index for block in spec.blocks for index in (*block.each, *block.over)]
    used = {OPERATIONS[e.operator] for e in found if isinstance(e, Apply)}
    used |= _answered(INDICES, (index for e in found if isinstance(e, Read) for index in e.indices))
    used |= _answered(CHOICES, (e for e in found if isinstance(e, Apply)))
    used |= _answered(SUMS, (e for e in found if isinstance(e, ReduceAxis) and e.function == "sum"))
    used |= _answered(EXTREMES, (e for e in found if isinstance(e, ReduceAxis) and e.function != "sum"))
    used |= _answered(REDUCTION_CONSTRUCTS, reductions)
    used |= _answered(MASKS, (e.mask for e in reductions if e.mask is not None))
    used |= _answered(PLACES, (index for _, write in writes for index in write.indices))
    used |= _answered(WRITES, writes)
    used |= _answered(EXTENTS, variables)
    used |= _answered(BLOCKS, spec.blocks)
    used |= _answered(PARAMETERS, spec.params)
    used |= _answered(SPECS, [spec])
    used |= _answered(NODES, nodes(parsed(spec.source.text)))
    used |= {name for name, pattern in TEXTS.items() if pattern.search(spec.source.text)}
    if any(reads(index.extent) and _is_found(spec, index) for index in variables):
        used.add(FOUND_BOUND)
    return used


def _is_found(spec: Spec, index: Index) -> bool:
    """Whether the bound of an index is not written beside its extent."""
    return "up" not in spec.source.text[index.span.start : index.span.end].split()


def _answered(table: Table[T], things: Iterable[T]) -> set[str]:
    """The names of a table whose question some thing answers with yes."""
    kept = list(things)
    return {name for name, holds in table.items() if any(holds(thing) for thing in kept)}
