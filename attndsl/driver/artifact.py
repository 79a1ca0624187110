"""What the compiler makes of a spec for one target and one choice of types: text and plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from attndsl.driver.signature import Signature


@dataclass(frozen=True, slots=True)
class Artifact:
    """A compiled spec; it can be kept as JSON and used with neither parser nor compiler at hand.

    `types` binds each type variable to an element type. `source` is the generated program; `ir` holds the text of the
    IR by stage, `attn` and `tile`; `schedule` is what was chosen, in the order in which `explain` tells it.
    `machine` is the GPU or CPU that the code suits, of attndsl.ir.machines. `cleared` are the outputs and
    workspaces that are 0 before the launches of a call; of these the first `clearing` clear other outputs in part.
    """

    name: str
    target: str
    types: Mapping[str, str]
    signature: Signature
    source: str
    ir: Mapping[str, str]
    schedule: Mapping[str, int | str]
    machine: str | None = None
    cleared: tuple[str, ...] = ()
    clearing: int = 0

    def to_json(self) -> dict[str, Any]:
        """The artifact as values that `json` can write."""
        return {
            "name": self.name,
            "target": self.target,
            "types": dict(self.types),
            "signature": self.signature.to_json(),
            "source": self.source,
            "ir": dict(self.ir),
            "schedule": dict(self.schedule),
            "machine": self.machine,
            "cleared": list(self.cleared),
            "clearing": self.clearing,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Artifact:
        """What `to_json` gave, after a journey through JSON."""
        made = {"signature": Signature.from_json(data["signature"]), "cleared": tuple(data["cleared"])}
        return cls(**{**data, **made})
