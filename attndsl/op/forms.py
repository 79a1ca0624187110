"""Which form of its kernels a call takes on a Hopper GPU, plain or with roles, as the file's own launcher chooses.

The launcher is asked with neither a GPU nor Triton, for tensors that are contiguous and have no memory.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, ClassVar

from attndsl.backends.gpu.stand_ins import POINTERS, TORCH, StandIn
from attndsl.calling import Arguments
from attndsl.checking.symbolic import evaluate
from attndsl.driver.artifact import Artifact
from attndsl.driver.describe import ONLY_ASKED
from attndsl.driver.signature import TensorSignature
from attndsl.python_names import launches_name
from attndsl.storage import ELEMENTS

HOPPER = 132
"""The processors of an H100 or H200 (SXM)."""

ROLES_ENDING = "_roles_kernel"

SIZES = {pointer: ELEMENTS[element].itemsize for element, pointer in POINTERS.items()}


@dataclass(frozen=True, slots=True)
class OnHopper(StandIn):
    """A tensor of a Hopper GPU, as a launcher sees it."""

    device: ClassVar = SimpleNamespace(type="cuda")

    def view(self, pointer: str) -> OnHopper:
        """The tensor, with elements of another type of as many bytes."""
        return OnHopper(pointer, self.shape)

    def element_size(self) -> int:
        """The bytes of an element."""
        return SIZES[self.pointer]

    def data_ptr(self) -> int:
        """An address from which boxes can be copied, as those are that torch gives."""
        return 0


def launched(
    artifact: Artifact,
    dims: Mapping[str, int],
    params: Mapping[str, int | float | bool],
    schedule: Mapping[str, int] | None = None,
    processors: int = HOPPER,
) -> list[tuple[str, int]]:
    """The kernels that a call launches on a Hopper GPU, by name, and how many programs each has, but those that clear.

    `schedule` is what the call asks for. Raises what the launcher raises.
    """
    tree = ast.parse(artifact.source)
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    kernels = {node.name: node.name for node in functions if node.decorator_list}
    tables = [node for node in tree.body if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple)]
    tree.body = [*tables, *(node for node in functions if not node.decorator_list)]
    host: dict[str, Any] = {"torch": _torch(processors), "triton": _TRITON, "tl": _TRITON, **kernels}
    exec(compile(tree, "<launches>", "exec"), host)
    host |= {name: lambda tensor, *sizes, **more: tensor for name in ("_box", "_boxes")}

    def made(tensor: TensorSignature) -> OnHopper:
        extents = [max(0, evaluate(extent, dims, params)) for extent in tensor.extents]
        element = artifact.types.get(tensor.element, tensor.element)
        return OnHopper(POINTERS.get(element, POINTERS["u8"]), tuple(extents))

    signature = artifact.signature
    given = Arguments(tuple(map(made, signature.inputs)), tuple(map(made, signature.outputs)))
    function = host[launches_name(artifact.name)]
    found = given.passed_to(lambda *tensors, **named: function(*tensors, schedule=schedule, **named), params)
    return [(kernel, programs) for kernel, programs, *_ in [*found][artifact.clearing :]]


def form(
    artifact: Artifact, dims: Mapping[str, int], params: Mapping[str, int | float | bool], processors: int = HOPPER
) -> str | None:
    """What a call takes of a file that holds kernels with roles, and by what rule; None of a file that holds none."""
    from attndsl.backends.gpu.roles_rule import BUSY, LEAST_ROWS, LEAST_SHARED_ROWS, LEAST_SHARED_TURNS

    roles = [str(text) for name, text in artifact.schedule.items() if name.partition(" ")[0] == "roles"]
    if all(text.startswith("none") for text in roles):
        return None
    found = launched(artifact, dims, params, processors=processors)
    told = ", ".join(f"{programs} programs of {kernel}" for kernel, programs in found)
    taken = "with roles" if any(kernel.endswith(ROLES_ENDING) for kernel, _ in found) else "plain"
    if all(text.startswith(("none", ONLY_ASKED)) for text in roles):
        return f"{taken}: {told}"
    if "_shared_roles_pay(" in artifact.source:
        return (
            f"{taken}: {told}; roles are for {LEAST_SHARED_ROWS} rows or more, as many keys as are told of them, "
            f"and where each of {processors} processors has {LEAST_SHARED_TURNS} turns of 64 rows and keys or more"
        )
    return (
        f"{taken}: {told}; roles are for {LEAST_ROWS} rows or more, as many keys as are told of them "
        f"unless data count rows, and tiles that fill {BUSY:.0%} of the time of {processors} processors"
    )


def _torch(processors: int) -> SimpleNamespace:
    cuda = SimpleNamespace(
        get_device_capability=lambda device: (9, 0),
        get_device_properties=lambda device: SimpleNamespace(multi_processor_count=processors),
    )

    def empty(*shape: Any, dtype: str, device: object) -> OnHopper:
        return OnHopper(dtype, () if shape == ((),) else shape)

    made = {"cuda": cuda, "empty": empty, "zeros": empty, "are_deterministic_algorithms_enabled": lambda: False}
    return SimpleNamespace(**{**vars(TORCH), **made})


_TRITON = SimpleNamespace(
    cdiv=lambda a, b: -(-a // b), next_power_of_2=lambda n: 1 << max(n - 1, 0).bit_length(), int32=None, int64=None
)
"""What launchers ask of Triton and its language."""
