"""Tuning without a GPU: the real spec, candidates and launcher; kernels, their answers and their times are made up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import attndsl
from attndsl import tune
from attndsl.bench.inputs import random_tensors
from attndsl.bench.timing import Time, Turn
from attndsl.cache import ENVIRONMENT
from attndsl.driver.library import checked
from attndsl.op import gpu
from attndsl.op.op import Op
from attndsl.tune import Schedule, Tuning

EXAMPLES = Path(__file__).parents[2] / "examples"

TABLES = {"ROWS": 16, "KEYS": 64, "num_warps": 4, "num_stages": 3}
"""What the tables choose for 16 rows."""


@dataclass
class Device:
    """A GPU as tuning sees it; each function takes a schedule.

    Outputs are an answer and what is in `total`, to which a call adds 1.
    """

    microseconds: Callable[[Schedule], float] = lambda schedule: 100.0
    spills: Callable[[Schedule], int] = lambda schedule: 0
    refuses: Callable[[Schedule], bool] = lambda schedule: False
    answer: Callable[[Schedule], float] = lambda schedule: 1.0
    timed: list[Schedule] = field(default_factory=list)
    called: Schedule = field(default_factory=dict)

    def first_call(
        self, launches: Any, inputs: Mapping[str, Any], outputs: Mapping[str, Any], params: Any, _: Any
    ) -> Any:
        made = [output.allocate() for output in outputs.values()]
        kernel, _, arguments, options = launches(*inputs.values(), *made, **params)[0]
        sizes = dict(zip(kernel.arg_names, arguments, strict=True))
        chosen = {name: sizes[name] for name in ("ROWS", "KEYS") if name in sizes}
        schedule = {**(chosen or {"ROLES": 1}), **options}
        if self.refuses(schedule):
            raise RuntimeError("out of resource: shared memory")

        def plan(tensors: Any) -> list[torch.Tensor]:
            self.called = schedule
            seen = 0.0
            for tensor, name in zip(tensors, inputs, strict=True):
                if name == "total":
                    seen += float(tensor[0])
                    tensor += 1
            return [torch.full_like(output, seen + self.answer(schedule)) for output in made]

        compiled = SimpleNamespace(kernel=SimpleNamespace(n_spills=self.spills(schedule)))
        plan.__dict__.update(launches=[compiled])
        return plan, plan([*inputs.values()])

    def race(self, turns: Mapping[str, Turn]) -> dict[str, Time]:
        """The clock."""
        found = {}
        for name, turn in turns.items():
            turn.calls[0]()
            schedule = self.called
            self.timed.append(schedule)
            seconds = 1e-6 * self.microseconds(schedule)
            found[name] = Time(seconds, seconds)
        return found


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Device:
    """Its functions may be replaced."""
    made = Device()
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path / "cache"))
    monkeypatch.setattr(tune, "first_call", made.first_call)
    monkeypatch.setattr(gpu, "machine", lambda: "cuda:90")
    monkeypatch.setattr(gpu, "has_roles", lambda: False)
    monkeypatch.setattr(gpu, "described", lambda device: "a GPU")
    return made


def tuning(device: Device, **dims: int) -> Tuning:
    """The tuning of a decode of 16 rows."""
    return tuning_of(attndsl.load(EXAMPLES / "gqa.attn"), device, **dims)


def tuning_of(op: Op, device: Device, **dims: int) -> Tuning:
    """The same of a spec with these dims."""
    types = {"T": "bf16"}
    extents = {"B": 1, "Hq": 16, "Hkv": 1, "M": 1, "N": 100, "D": 64, "E": 64, **dims}
    return Tuning(op, random_tensors(checked(op.spec), extents, types, {}, torch.device("cpu")), {}, device)


def kept(device: Device) -> Schedule:
    """What a later process finds."""
    search = tuning(device)
    return search._program.tuned.get(search._bound.dims)
