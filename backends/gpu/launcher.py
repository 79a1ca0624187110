"""The function that a user of a generated file calls: shapes to dims, grids from program variables, launches."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np

from attndsl.backends.branches import write_branches
from attndsl.backends.dims import dim_statements
from attndsl.backends.gpu.choosing import BOX, BOX_STRIDES, CHOOSE, CHOOSE_ROWS, CHOOSE_SPLITS
from attndsl.backends.gpu.clearing import launch_of, write_kernel
from attndsl.backends.gpu.parameters import Parameters
from attndsl.backends.names import Names, leaf_name, python_text
from attndsl.backends.writer import Writer
from attndsl.calling import Arguments
from attndsl.checking.spelling import PYTHON, Spelled
from attndsl.choices import FEWER_KEYS, LEAST_KEYS, ROUNDS
from attndsl.ir import spec, tile
from attndsl.ir.analyses.facts import Unsigned
from attndsl.ir.analyses.widths import LARGEST_TILE
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.bounds import Factor, bounds_of
from attndsl.ir.rewrite import constant, number_in
from attndsl.ir.rings import BoxesOp, OutboxOp, RingOp
from attndsl.ir.roles import ConsumersOp
from attndsl.ir.sizes import leaf_of, operator_of
from attndsl.ir.spec import enclosing_tensor
from attndsl.ir.statements import named, of_kind
from attndsl.ir.walks import TakeOp
from attndsl.ir.workspaces import left_by_several
from attndsl.ir.xdsl import Operation, SSAValue, StringAttr
from attndsl.python_names import python_name
from attndsl.storage import ELEMENTS

WHOLE, SPLIT, IN_ROLES, IN_WIDE_ROLES = map(StringAttr, ("whole", "split", "roles", "wide"))
"""The forms that a kernel may have."""

ROLES_OPTIONS = {"num_warps": 4}
"""What is said to Triton of a kernel whose warps have roles: it gives each role its warps, one of consumers these."""

TORCH_NAMES = {element: str(row.dtype) for element, row in ELEMENTS.items()} | {"bf16": "bfloat16"}
"""What torch calls the element types of workspaces."""

ENCODED = ("f8e4m3", "f8e5m2")
"""The element types that kernels take as bytes."""


def kernel_name(kernel: tile.KernelOp) -> str:
    """What the function of a kernel is called."""
    return f"{stem(kernel)}{'_roles' if kernel.with_roles else ''}_kernel"


def stem(kernel: tile.KernelOp) -> str:
    """What the names of the functions of a kernel begin with: of two kinds of programs with roles they differ."""
    return f"{kernel.entry.data}{'_wide' if kernel.form == IN_WIDE_ROLES else ''}"


def schedules_of(kernel: tile.KernelOp) -> list[dict[str, int]]:
    """The schedules that a kernel may be launched with."""
    if kernel.schedules is None:
        return [{"num_warps": 4, "num_stages": 2}]
    return [{name: int(number_in(value)) for name, value in each.data.items()} for each in kernel.schedules]


class HostText:
    """The integers and conditions of one kernel that a launch computes, as Python computes them.

    Each is written once: some is used many times. What may leave 64 bits is brought back, as the kernel says.
    """

    def __init__(self, kernel: tile.KernelOp) -> None:
        self._wraps = named(kernel, tile.WrapsOp)
        self._is_unsigned = Unsigned(kernel)
        self._written: dict[SSAValue, Spelled] = {}

    def __call__(self, value: SSAValue) -> str:
        """The text of a value, of dims, parameters and choices."""
        return self._spelled(value).text

    def let(self, value: SSAValue, name: str) -> None:
        """Lets what a launch has named stand for a value."""
        self._written[value] = Spelled(name)

    def limit(self, program: tile.ProgramOp) -> str:
        """What a program variable's values are below."""
        limit = program.bound or program.extent
        return self(limit) if self._is_unsigned(limit) else f"max(0, {self(limit)})"

    def count(self, program: tile.ProgramOp) -> str:
        """How many values a program variable has, no more than `bound`."""
        text = self.limit(program)
        return text if constant(program.step) == 1 else f"triton.cdiv({text}, {self(program.step)})"

    def _spelled(self, value: SSAValue) -> Spelled:
        if value not in self._written:
            self._written[value] = self._spell(value)
        return self._written[value]

    def _spell(self, value: SSAValue) -> Spelled:
        if (leaf := leaf_of(value)) is not None:
            return PYTHON.spell(leaf, leaf_name)
        op = value.owner
        assert isinstance(op, Operation)
        if isinstance(op, tile.PaddedOp):
            return Spelled(f"max(16, triton.next_power_of_2({self(op.size)}))")
        if isinstance(op, tile.PackOp):
            return Spelled(f"_pack({self(op.count)}, {op.rows.value.data})")
        spelled = PYTHON.apply(operator_of(op), list(map(self._spelled, op.operands)))
        return Spelled(f"((({spelled.text}) + 2**63) % 2**64 - 2**63)") if value in self._wraps else spelled


class Launched(NamedTuple):
    """A kernel as the launcher sees it."""

    name: str
    kernel: tile.KernelOp
    taken: Parameters
    text: HostText

    @property
    def covers(self) -> tile.CoversOp:
        """What its tiles cover; nothing that is known, where the kernel does not say it."""
        said = next((op for op in self.kernel.body.block.ops if isinstance(op, tile.CoversOp)), None)
        return said or tile.CoversOp(None, None, None)

    @property
    def rows(self) -> tile.ProgramOp | None:
        """The program variable that steps through tiles of rows."""
        rows = self.covers.rows
        return rows.owner if rows is not None and isinstance(rows.owner, tile.ProgramOp) else None

    @property
    def keys(self) -> str:
        """How many keys there are, as Python computes it; more than tiles hold where no launch knows."""
        keys = self.covers.keys
        return self.text(keys) if keys is not None else str(LARGEST_TILE)


class Launcher:
    """Writes the functions for the kernels of one spec: `NAME_launches`, which says what is run, and `NAME`."""

    def __init__(
        self,
        name: str,
        tensors: Arguments[spec.TensorOp],
        params: Sequence[spec.ParameterOp],
        names: Collection[str],
        out: Writer,
    ) -> None:
        self.name = name
        self.tensors = tensors
        self.params = params
        self.names = names
        local = Names(names)
        self.launches, self.chosen, self.arguments = map(local.like, ("launches", "chosen", "arguments"))
        self.out = out
        self.shared: set[str] = set()
        self.looks: dict[tile.KernelOp, list[Launched]] = {}
        self.wide: dict[StringAttr, Launched] = {}
        self.in_roles = "in_roles"
        self.local = local
        self.device = f"{python_name(next(iter(tensors)).sym_name.data)}.device"

    def tables(self, launched: Sequence[Launched]) -> str:
        """The schedules of the kernels, and the function that chooses one."""
        in_roles = any(each.kernel.with_roles for each in launched)
        launched = [each for each in launched if not each.kernel.with_roles and each.kernel.scheduled_as is None]
        rows = [each.rows is not None for each in launched]
        splits = any(each.kernel.form == SPLIT for each in launched)
        boxes = any(each.taken.boxes for each in launched)
        choose = ((CHOOSE, not all(rows)), (CHOOSE_ROWS, True), (CHOOSE_SPLITS, splits))
        needed = (*choose, (BOX_STRIDES, boxes or in_roles), (BOX, boxes))
        return "\n\n" + "".join(map(_table, launched)) + "".join(text for text, wanted in needed if wanted)

    def write(self, launched: Sequence[Launched]) -> None:
        """Both functions, and before them the kernels that clear what no row writes."""
        arguments = [python_name(t.sym_name.data) for t in self.tensors]
        cleared = list(self._clearing({each.name for each in launched}))
        keywords = ["*", *map(_keyword, self.params), "schedule=None"]
        self.out.listed(f"def {self.name}_launches(", [*arguments, *keywords], "):")
        with self.out.indented():
            self.out.line('"""The launches of a call: a kernel, how many programs, its arguments, its options."""')
            self._dims(_dims(launched))
            self.out.line(f"{self.launches} = []")
            self.shared = left_by_several(each.kernel for each in launched if not each.kernel.with_roles)
            for tensor in {t.sym_name.data: t for each in launched for t in each.taken.tensors}.values():
                if tensor.role.data == "workspace" and tensor.sym_name.data in self.shared:
                    self._allocate(tensor)
            for name, tensor, table in cleared:
                self.out.listed(f"{self.launches}.append((", launch_of(name, tensor, table, self.device), "))")
            self._all(launched)
            self.out.line(f"return {self.launches}")
        self._caller(arguments, keywords)

    def _clearing(self, kernels: Collection[str]) -> Iterator[tuple[str, spec.TensorOp, spec.TensorOp]]:
        """Writes the kernels that clear tensors outside of all rows: the name of each, its tensor, and the ends.

        Others may have any name that is made of a spec's.
        """
        for tensor in self.tensors:
            if tensor.ends is None:
                continue
            table = spec.enclosing_tensor(tensor, tensor.ends.string_value())
            called = f"{self.name}_{python_name(tensor.sym_name.data)}_clearing"
            while (name := f"{called}_kernel") in kernels:
                called += "_"
            write_kernel(self.out, name, tensor, table)
            yield name, tensor, table

    def _all(self, launched: Sequence[Launched]) -> None:
        """The launches of all kernels, where some may stand in the place of others, right before these."""
        asked = dict[tuple[str, ...], str]()
        for each in launched:
            if (listed := _listed(each)) and listed not in asked:
                asked[listed] = self.local.like("is_fused")
        replaced = {name: listed for listed in asked for name in listed}

        def kind(each: Launched) -> tuple[bool, tuple[str, ...]]:
            return bool(_listed(each)), _listed(each) or replaced.get(each.kernel.entry.data, ())

        for (stands, listed), group in groupby(launched, kind):
            kernels = list(group)
            if stands:
                self._fused(kernels, asked[listed])
                continue
            with self.out.saved_indentation():
                if listed:
                    self.out.line(f"if not {asked[listed]}:")
                    self.out.indent()
                write_branches(self.out, kernels, lambda each: each.kernel, self._launches)

    def _fused(self, launched: Sequence[Launched], is_fused: str) -> None:
        """The launches of kernels that stand in the place of others, where that pays or is asked for."""
        roles = [each for each in launched if each.kernel.form == IN_ROLES]
        leading = next(each for each in roles if each.kernel.scheduled_as is None)
        names = Names({*self.names, self.launches, self.chosen, self.arguments})
        counts = {op: names.fresh(f"n_{op.variable.data}") for op in of_kind(leading.kernel, tile.ProgramOp)}
        for program, count in counts.items():
            self.out.line(f"{count} = {leading.text.count(program)}")
        tensors = [name for name, role in _boxed(leading).items() if role != "workspace"]
        assert leading.rows is not None, "kernels with roles have rows"
        given = names, leading.text.limit(leading.rows), leading.keys, _grid(counts.values())
        asked = ["schedule", self._pays(leading, *given), self.device, *tensors]
        self.out.listed(f"{is_fused} = _is_fused(", asked, ")")
        self.out.line(f"if {is_fused}:")
        looks = [each for each in launched if each.kernel.scheduling is leading.kernel and each is not leading]
        self.looks[leading.kernel] = looks
        self._launch_roles(leading, list(counts.values()), {})
        with self.out.indented():
            self._launches([each for each in launched if each is not leading and each not in looks])

    def _caller(self, arguments: Sequence[str], keywords: Sequence[str]) -> None:
        self.out.line("")
        self.out.line("")
        self.out.listed(f"def {self.name}(", [*arguments, *keywords], "):")
        with self.out.indented():
            self._docstring()
            for tensor in self.tensors:
                if tensor.is_zeroed:
                    self.out.line(f"{python_name(tensor.sym_name.data)}.zero_()  # what no program writes is 0")
            named = [*(python_name(p.sym_name.data) for p in self.params), "schedule"]
            words = [*arguments, *(f"{name}={name}" for name in named)]
            self.out.listed(f"{self.launches} = {self.name}_launches(", words, ")")
            local = Names(self.names)
            kernel, programs, given, settings = map(local.like, ("kernel", "programs", "arguments", "settings"))
            self.out.line(f"for {kernel}, {programs}, {given}, {settings} in {self.launches}:")
            with self.out.indented():
                self.out.line(f"{kernel}[({programs},)](*{given}, **{settings})")

    def _dims(self, dims: set[str]) -> None:
        for statement in dim_statements(self.tensors, dims):
            self.out.line(statement)
        for tensor in self.tensors:
            if tensor.element.data in ENCODED:
                name = python_name(tensor.sym_name.data)
                self.out.line(f"{name} = {name}.view(torch.uint8)")

    def _docstring(self) -> None:
        self.out.line('"""Writes the outputs of the spec; allocate them before.')
        self.out.line("")
        for tensor in self.tensors:
            shape = ", ".join(map(python_text, tensor.shape))
            self.out.line(f"{tensor.sym_name.data}: {tensor.role.data}, {tensor.element.data}[{shape}]")
        self.out.line('"""')

    def _launches(self, launched: Sequence[Launched]) -> None:
        """The launches of the kernels; where there are two forms, of that which is chosen."""
        reserved = {*self.names, self.launches, self.chosen, self.arguments}
        looks = [each for each in launched if each.kernel.scheduled_as is not None]
        launched = [each for each in launched if each.kernel.scheduled_as is None]
        for each in launched:
            self.looks[each.kernel] = [look for look in looks if look.kernel.scheduling is each.kernel]
        roles = {each.kernel.entry: each for each in launched if each.kernel.form == IN_ROLES}
        self.wide = {each.kernel.entry: each for each in launched if each.kernel.form == IN_WIDE_ROLES}
        launched = [each for each in launched if not each.kernel.with_roles]
        groups = [(form, list(kernels)) for form, kernels in groupby(launched, lambda each: each.kernel.form)]
        for n, (form, kernels) in enumerate(groups):
            # What follows a kernel of a whole row are those that do the same in splits.
            split = groups[n + 1][1] if form == WHOLE and n + 1 < len(groups) else kernels
            cut = any(each.kernel.form == SPLIT and each.kernel.entry in roles for each in split)
            if form == SPLIT:
                self.out.line("else:")
            with self.out.saved_indentation():
                if form == SPLIT:
                    self.out.indent()
                for each in kernels:
                    counts = self._counts(each, Names(reserved))
                    beside = roles.get(each.kernel.entry)
                    if form == WHOLE:
                        self.out.line(f"SPLITS = {self._splits(each, counts)}")
                        if beside is not None:
                            self._roles(beside, each, list(counts.values()), cut)
                        self.out.line(f"{'if' if beside is None else 'elif'} SPLITS == 1:")
                        self.out.indent()
                    elif beside is not None:
                        self.out.line(f"if {self.in_roles}:")
                        self._launch_roles(beside, list(counts.values()), _own(beside, each))
                        self.out.line("else:")
                        with self.out.indented():
                            self._launch_all(each, counts)
                        continue
                    self._launch_all(each, counts)

    def _splits(self, whole: Launched, counts: Mapping[tile.ProgramOp, str]) -> str:
        """How many splits a launch chooses, as Python computes it."""
        by = whole.covers.by
        assert by is not None, "where keys are cut, it is known how many"
        tiles = f"triton.cdiv({whole.keys}, {whole.text(by)})"
        return f"_choose_splits({self.chosen}, {_grid(counts.values())}, {tiles}, {self.device})"

    def _workspaces(self, launched: Launched) -> None:
        """Allocates what a kernel leaves to a later one."""
        stored = {op.tensor.string_value() for op in of_kind(launched.kernel, tile.StoreOp)}
        stored |= {op.tensor.string_value() for op in launched.kernel.walk() if isinstance(op, OutboxOp)}
        for tensor in launched.taken.tensors:
            if tensor.role.data == "workspace" and tensor.sym_name.data in stored - self.shared:
                self._allocate(tensor)

    def _allocate(self, tensor: spec.TensorOp) -> None:
        shape = [*map(python_text, tensor.shape)] or ["()"]
        dtype = f"torch.{TORCH_NAMES[tensor.element.data]}"
        name, made = python_name(tensor.sym_name.data), "empty" if tensor.partial is None else "zeros"
        self.out.listed(f"{name} = torch.{made}(", [*shape, f"dtype={dtype}", f"device={self.device}"], ")")

    def _counts(self, launched: Launched, names: Names) -> dict[tile.ProgramOp, str]:
        """Chooses a kernel's schedule, and says how many values its program variables have."""
        name, kernel, taken, text = launched
        programs = of_kind(kernel, tile.ProgramOp)
        rows, keys = launched.rows, launched.keys
        counts = {program: names.fresh(f"n_{program.variable.data}") for program in programs}
        others = {program: count for program, count in counts.items() if program is not rows}
        for program, count in others.items():
            self.out.line(f"{count} = {text.count(program)}")
        if rows is None:
            asked = "None" if kernel.merges else "schedule"  # the tiles of a merge are its own
            self.out.line(f"{self.chosen} = _choose({schedules_name(name)}, {keys}, {asked})")
        else:
            grid = _grid(n for program, n in others.items() if not isinstance(program.extent.owner, spec.ChoiceOp))
            given = [
                schedules_name(name),
                text.limit(rows),
                grid,
                keys,
                self.device,
                "schedule",
            ]
            self.out.listed(f"{self.chosen} = _choose_rows(", given, ")")
        divided = {op.choice.data: op.divides for op in of_kind(kernel, spec.ChoiceOp)}
        for choice in taken.choices:
            self.out.line(f'{choice} = {self.chosen}["{choice}"]')
            if (most := divided[choice]) is not None:
                self.out.line(f"if {most.value.data} % {choice}:")
                with self.out.indented():
                    message = (
                        f"{choice} is {{{choice}}}, but the keys of a tile must lie in one block of {most.value.data}"
                    )
                    self.out.line(f'raise ValueError(f"{message}")')
        if rows is not None:
            self.out.line(f"{counts[rows]} = {text.count(rows)}")
        return counts

    def _roles(self, launched: Launched, whole: Launched, named: Sequence[str], cut: bool) -> None:
        """The launch of a kernel whose warps have roles, where boxes can be copied, if it pays or is asked for.

        `named` are the names of how many values each program variable of the plain form has, in order. Where keys may
        be `cut` among such programs, too, how often is chosen anew.
        """
        programs = [op for op in launched.kernel.walk() if isinstance(op, tile.ProgramOp)]
        plain = dict(zip((op.variable for op in of_kind(whole.kernel, tile.ProgramOp)), named, strict=True))
        more = Names({*self.names, *named})
        named = [plain.get(op.variable) or more.fresh(f"n_{op.variable.data}") for op in programs]
        tensors = _boxed(launched)
        assert whole.rows is not None, "kernels with roles have rows"
        counts = dict(zip(programs, named, strict=True))
        packs = self._pack(launched, named)
        own, (tiled,) = _own(launched, whole), [op for op in programs if constant(op.step) != 1]
        rows = launched.text.limit(tiled) if packs else whole.text.limit(whole.rows)
        grid = _grid({**counts, **own}.values())
        tiles, keys, has_roles = grid, whole.keys, "_has_roles("
        shares = any(isinstance(op, ConsumersOp) and op.follow is not None for op in launched.kernel.walk())
        if whole.rows.bound is not None:
            # Data say how many rows each place has, and a launch asks no data: on average, as many as are written.
            places = _grid(count for program, count in {**counts, **own}.items() if program is not tiled)
            written, size = _written(whole), int(constant(tiled.step) or 1)
            rows = f"min({rows}, triton.cdiv({written}, max(1, {places})))"
            tiles = f"min({grid}, triton.cdiv({written}, {size}) + {places})"
            has_roles = f"{grid} < 2**31 and _has_roles("  # the numbers of tiles that there might be have 32 bits
        # The plain form has a program for each tile that there might be: roles pay for few keys, too.
        known = keys if shares or whole.rows.bound is None else None
        pays = self._pays(launched, Names({*self.names, *named}), rows, known, tiles, shares)
        if cut:
            self.in_roles = Names({*self.names, *named, pays}).like("in_roles")
            self.out.listed(f"{self.in_roles} = {has_roles}", ["schedule", "None", pays, self.device, *tensors], ")")
            self.out.line(f"if {self.in_roles}:")
            with self.out.indented():
                self.out.listed("SPLITS = _split_roles(", ["schedule", keys, tiles, self.device], ")")
            self.out.line(f"if {self.in_roles} and SPLITS == 1:")
        else:
            self.out.listed(f"if {has_roles}", ["schedule", "SPLITS", pays, self.device, *tensors], "):")
        if (wide := self.wide.get(launched.kernel.entry)) is None:
            self._launch_roles(launched, named, own)
            return
        with self.out.indented():
            its, variables = _own(wide, whole), of_kind(wide.kernel, tile.ProgramOp)
            fewer = _grid(its.get(op, name) for op, name in zip(variables, named, strict=True))
            self.out.listed("if _is_wide(", ["schedule", tiles, fewer, self.device], "):")
            self._launch_roles(wide, named, its)
            self.out.line("else:")
            self._launch_roles(launched, named, own)

    def _pays(
        self, launched: Launched, names: Names, rows: str, keys: str | None, tiles: str, shares: bool = False
    ) -> str:
        """Names whether roles pay for so many rows, keys and tiles of rows; for keys that are None, if any do."""
        if not launched.kernel.schedules:
            return "False"
        (schedule,) = schedules_of(launched.kernel)
        least, pays = str(schedule[LEAST_KEYS]), names.like("pays")
        if shares:
            self.out.listed(f"{pays} = _shared_roles_pay(", [rows, keys or least, least, tiles, self.device], ")")
            return pays
        given = [keys or least, *(str(schedule[name]) for name in (LEAST_KEYS, FEWER_KEYS, ROUNDS))]
        self.out.listed(f"{pays} = _roles_pay(", [rows, *given, tiles, self.device], ")")
        return pays

    def _pack(self, launched: Launched, named: Sequence[str]) -> bool:
        """Names how many heads a kernel packs, which several numbers of its launch rest on; whether it packs any."""
        name, packs = Names({*self.names, *named}).like("pack"), False
        for each in (launched, *self.looks[launched.kernel]):
            for op in of_kind(each.kernel, tile.PackOp):
                if not packs:
                    self.out.line(f"{name} = {each.text(op.result)}")
                each.text.let(op.result, name)
                packs = True
        return packs

    def _launch_roles(self, launched: Launched, named: Sequence[str], own: Mapping[tile.ProgramOp, str]) -> None:
        """The launch of a kernel whose warps have roles, in the branch that was begun.

        It has its own numbers of values of some program variables.
        """
        programs = [op for op in launched.kernel.walk() if isinstance(op, tile.ProgramOp)]
        rings = [op for op in launched.kernel.walk() if isinstance(op, BoxesOp)]
        counts = dict(zip(programs, named, strict=True))
        with self.out.indented():
            for program, count in own.items():
                self.out.line(f"{counts[program]} = {count}")
            counters = {op.counter.string_value() for op in launched.kernel.walk() if isinstance(op, TakeOp)}
            for tensor in launched.taken.tensors:
                if tensor.sym_name.data in counters:
                    counter = python_name(tensor.sym_name.data)
                    self.out.line(f"{counter} = _counter({_grid(counts.values())}, {self.device})")
            staying = f"min({_grid(counts.values())}, _processors({self.device}))"
            options = str(ROLES_OPTIONS).replace("'", '"')
            self._launch_all(launched, counts, [_boxes(ring, launched.text) for ring in rings], staying, options)

    def _launch_all(
        self,
        launched: Launched,
        counts: Mapping[tile.ProgramOp, str],
        boxes: Sequence[str] = (),
        programs: str | None = None,
        options: str | None = None,
    ) -> None:
        """The launch of a kernel, and before it those of what is scheduled as it."""
        named = {program.variable: count for program, count in counts.items()}
        for look in self.looks[launched.kernel]:
            self._workspaces(look)
            own = {program: named[program.variable] for program in of_kind(look.kernel, tile.ProgramOp)}
            self._launch(look, own, options=options)
        self._workspaces(launched)
        self._launch(launched, counts, boxes, programs, options)

    def _launch(
        self,
        launched: Launched,
        counts: Mapping[tile.ProgramOp, str],
        boxes: Sequence[str] = (),
        programs: str | None = None,
        options: str | None = None,
    ) -> None:
        """One launch: with as many programs as there are, or fewer, and options, or those of the chosen schedule."""
        name, kernel, taken, text = launched
        self.out.listed("INDEX = tl.int32 if sum([", terms(kernel), "]) < 2**31 else tl.int64")
        self.out.line(f"{self.arguments} = (")
        with self.out.indented():
            for text_of in boxes:
                self.out.line(f"{text_of},")
            for tensor in taken.tensors:
                own = python_name(tensor.sym_name.data)
                self.out.line(f"{own}, *{own}.stride()," if tensor.shape else f"{own},")
            numbers = [*map(python_name, taken.dims), *taken.splits]
            numbers += [python_name(op.param.data) for op in taken.params]
            numbers += [*map(text, taken.quotients), *(counts[op] for op in taken.counts)]
            sizes = [*map(python_name, taken.static), *map(text, taken.sizes)]
            for words in (numbers, ["INDEX", *sizes, *taken.choices]):
                self.out.filled(words)
            for box in taken.boxes:
                lengths = ("1" if length is None else text(length) for length in box.lengths)
                self.out.line(f"_box({python_name(box.tensor)}, {', '.join(lengths)}),")
        self.out.line(")")
        given = [name, programs or _grid(counts.values()), self.arguments, options or f"_options({self.chosen})"]
        self.out.listed(f"{self.launches}.append((", given, "))")


def _own(launched: Launched, plain: Launched) -> dict[tile.ProgramOp, str]:
    """How many values those program variables have of which a plain kernel has others, or which it has not."""
    others = {op.variable: plain.text.count(op) for op in of_kind(plain.kernel, tile.ProgramOp)}
    counts = {op: launched.text.count(op) for op in of_kind(launched.kernel, tile.ProgramOp)}
    return {op: n for op, n in counts.items() if n != others.get(op.variable) or constant(op.step) != 1}


def _listed(launched: Launched) -> tuple[str, ...]:
    """The kernels in whose place one stands."""
    return tuple(each.string_value() for each in launched.kernel.instead or ())


def _boxed(launched: Launched) -> dict[str, str]:
    """What a kernel with roles copies boxes of, and to, by name, and which role each has."""
    rings = [op for op in launched.kernel.walk() if isinstance(op, BoxesOp)]
    return {python_name(ring.tensor.string_value()): ring.declaration.role.data for ring in rings}


def _written(whole: Launched) -> str:
    """How many rows a kernel writes at most: as many as each of its outputs has places for."""
    axes, rows = AxesAnalysis(), whole.rows
    found = dict[str, None]()
    for store in of_kind(whole.kernel, tile.StoreOp):
        ranges = (axis.owner for axis in axes(store.value))
        row = {op.result for op in ranges if isinstance(op, tile.RangeOp) and op.start.owner is rows}
        if row:
            shape = enclosing_tensor(store, store.tensor.string_value()).shape
            pairs = zip(store.indices, shape, strict=True)
            found[" * ".join(python_text(extent) for index, extent in pairs if axes(index) <= row) or "1"] = None
    assert found, "a kernel with roles writes rows, and adds none up"
    return next(iter(found)) if len(found) == 1 else f"min({', '.join(found)})"


def _boxes(ring: BoxesOp, text: HostText) -> str:
    """The descriptor of the boxes of a ring, or an outbox, as a launch makes it: of a tensor itself, and no view of it.

    By that a plan tells whose boxes they are in calls that it makes again (`attndsl.op.plan`).
    """
    sizes = [str(ring.copied.get(axis, 1)) for axis in range(len(ring.declaration.shape))]
    if ring.pack is not None and ring.across is not None:
        (rows, size), _ = ring.copied.items()
        heads = f"min({text(ring.pack)}, {size})"
        sizes[rows], sizes[ring.across.value.data] = f"{size} // {heads}", heads
        sizes = [sizes[axis] for axis in ring.order]
    given = [python_name(ring.tensor.string_value()), f"[{', '.join(sizes)}]"]
    if ring.pack is not None:
        given.append(f"order=({', '.join(map(str, ring.order))})")
    if isinstance(ring, RingOp) and ring.end is not None:
        given.append(f"end={ring.end.value.data}")
    if isinstance(ring, RingOp) and ring.nan is not None:
        given.append('outside="nan"')
    return f"_boxes({', '.join(given)})"


def _dims(launched: Iterable[Launched]) -> set[str]:
    """The dims that launches rest on."""
    dims: set[str] = set()
    for each in launched:
        dims |= {op.dim.data for op in of_kind(each.kernel, spec.DimOp)}
        dims |= dims.union(*(t.extents.dims for t in each.taken.tensors if t.role.data == "workspace"))
        dims |= dims.union(*(c.dims for c in (each.kernel.when, each.kernel.unless) if c is not None))
    return dims


def terms(kernel: tile.KernelOp) -> list[str]:
    """The products whose sum must fit 32 bits where the index width is to be 32, as Python computes them."""
    bounds = bounds_of(kernel.bounds) if kernel.bounds is not None else {}
    products = {tuple(sorted(map(_factor_text, factors))): count for factors, count in bounds.items()}
    ordered = sorted(products.items(), key=lambda item: (not item[0], item[0]))
    found = [" * ".join([*texts, *([str(n)] if n != 1 or not texts else [])]) for texts, n in ordered]
    return found or ["0"]


def _factor_text(factor: Factor) -> str:
    name = python_name(factor.name)
    return {"dim": name, "param": f"abs({name})", "stride": f"{name}.stride({factor.axis})"}[factor.kind]


def _grid(counts: Iterable[str]) -> str:
    """How many programs there are, on one axis of the grid: the others end at 65535."""
    return " * ".join(counts) or "1"


def schedules_name(kernel: str) -> str:
    """What the table of a kernel's schedules is called."""
    return f"{kernel.removesuffix('_kernel')}_schedules".upper()


def _table(launched: Launched) -> str:
    """The schedules of a kernel, from tiles of few rows to tiles of many."""
    lines = [f"    {json.dumps(schedule)}," for schedule in schedules_of(launched.kernel)]
    return "\n".join([f"{schedules_name(launched.name)} = (", *lines, ")", ""])


def _keyword(param: spec.ParameterOp) -> str:
    """A parameter of the function, with the default that the spec gives it."""
    name = python_name(param.sym_name.data)
    return name if param.default is None else f"{name}={_literal(number_in(param.default))}"


def _literal(value: int | float | bool) -> str:
    """A number as Python writes it, floats with no more digits than tell f32 numbers apart."""
    if not isinstance(value, float):
        return str(value)
    return str(np.float32(value)) if math.isfinite(value) else f'float("{value}")'
