"""The targets, a row each: what code can be made for, how the IR is brought there, and who spells it.

Importing this imports neither pipelines, passes nor emitters: a row says where they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

from attndsl.choices import CHOICES
from attndsl.driver.hints import did_you_mean
from attndsl.ir.machines import ANY_CPU, DEFAULT, MACHINES, PROCESSORS, Machine, Processor

if TYPE_CHECKING:
    from attndsl.driver.pipelines import Options, Pipeline
    from attndsl.ir.legal import LegalForms
    from attndsl.ir.xdsl import ModuleOp

Emit = Callable[["ModuleOp", str], str]
"""A function from a lowered module, and the text of the spec that comments quote, to the text of a Python file."""


@dataclass(frozen=True)
class Target:
    """A language that specs are compiled to: all that tells it from the others.

    `pipeline` brings freshly built IR to what `emitter` takes, which `legal` says; all are imported when they are
    called for. `tiles` are the rows and keys of a tile, 0 where a launch chooses; `chooses` names all that it does.
    Code of a target with `machines` is for one of these GPUs, and takes torch tensors; that of others takes NumPy
    arrays, and may suit one of several `processors`. `default` is the machine that code is for where none is named.
    Where it is `specialised`, code is made for the extents of feature dims; where it is `closed`, for no others.
    """

    name: str
    pipeline: Callable[[Options], Pipeline]
    legal: Callable[[], LegalForms]
    emitter: Callable[[], Emit]
    tiles: tuple[int, int]
    chooses: tuple[str, ...] = ()
    machines: Mapping[str, Machine] = field(default_factory=dict)
    processors: Mapping[str, Processor] = field(default_factory=dict)
    default: str = ANY_CPU
    specialised: bool = False
    closed: bool = False

    def lowering(
        self,
        tiles: tuple[int, int] | None = None,
        known: Mapping[str, int] = {},
        machine: str | None = None,
        boxes: bool = True,
    ) -> Pipeline:
        """The pipeline with tiles of some rows and keys, its own where none are given, and extents that are known.

        `boxes` are those of `Options`. Raises UnknownTarget for a machine that code cannot be made for.
        """
        from attndsl.driver.pipelines import Options

        rows, keys = tiles or self.tiles
        return self.pipeline(Options(rows, keys, known, self.machine(machine) or self.default, boxes))

    def machine(self, name: str | None) -> str | None:
        """The machine that code suits where one of that name, or none, is asked for; None where all code is the same.

        Raises UnknownTarget.
        """
        there = {**self.machines, **self.processors}
        if name is not None and there and name not in there:
            raise UnknownTarget(name, there)
        return (name or self.default) if there else None


class UnknownTarget(ValueError):
    """A name that no target has; the message says which there are."""

    def __init__(self, name: str, known: Mapping[str, object]) -> None:
        hint = did_you_mean(name, known) or "."
        super().__init__(f"there is no target {name}{hint} There are {', '.join(known)}")


def _found_in(module: str, name: str) -> Callable[[], Any]:
    """What a module calls `name`; it is imported when that is asked for."""
    return lambda: getattr(import_module(module), name)


def _pipeline(name: str) -> Callable[[Options], Pipeline]:
    """The pipeline that attndsl.driver.pipelines calls `name`; what calls compiled programs needs none."""

    def pipeline(options: Options) -> Pipeline:
        return _found_in("attndsl.driver.pipelines", name)()(options)  # type: ignore[no-any-return]

    return pipeline


TARGETS: dict[str, Target] = {
    row.name: row
    for row in (
        Target(
            "numpy",
            pipeline=_pipeline("numpy"),
            legal=_found_in("attndsl.backends.numpy.legal", "LEGAL"),
            emitter=_found_in("attndsl.backends.numpy.emit", "emit"),
            tiles=(128, 512),  # whose scores stay in the second-level cache of a CPU core
            processors=PROCESSORS,
        ),
        Target(
            "triton",
            pipeline=_pipeline("triton"),
            legal=_found_in("attndsl.backends.triton.legal", "LEGAL"),
            emitter=_found_in("attndsl.backends.triton.emit", "emit"),
            tiles=(0, 0),
            chooses=CHOICES,
            machines=MACHINES,
            default=DEFAULT,
            specialised=True,
        ),
        Target(
            "gluon",
            pipeline=_pipeline("gluon"),
            legal=_found_in("attndsl.backends.gluon.legal", "LEGAL"),
            emitter=_found_in("attndsl.backends.gluon.emit", "emit"),
            tiles=(0, 0),
            chooses=CHOICES,
            machines={"cuda:90": MACHINES["cuda:90"]},  # for whose matrix unit roles are made
            default="cuda:90",
            specialised=True,
            closed=True,
        ),
    )
}
"""Every target by name."""

ROLES_TARGET = "gluon"
"""The target whose files hold Triton's kernels, and beside them those whose warps have roles: what calls take there."""


def target_of(name: str) -> Target:
    """The target of that name. Raises UnknownTarget."""
    if name not in TARGETS:
        raise UnknownTarget(name, TARGETS)
    return TARGETS[name]


def places() -> dict[str, tuple[Target, str | None]]:
    """All that code can be asked for, as a user names it: a target, for its default machine, or a machine of one."""
    defaults = {name: (row, row.machine(None)) for name, row in TARGETS.items()}
    gpus: dict[str, tuple[Target, str | None]] = {}
    for row in TARGETS.values():
        for machine in row.machines:
            gpus.setdefault(machine, (row, machine))  # of two targets for a machine, its name means the first
    cpus = {machine: (row, machine) for row in TARGETS.values() for machine in row.processors}
    return {**defaults, **gpus, **cpus}


def place_of(name: str) -> tuple[Target, str | None]:
    """The target and the machine that a user names with one word. Raises UnknownTarget."""
    known = places()
    if name not in known:
        raise UnknownTarget(name, known)
    return known[name]
