"""The torch and the GPU that commands measure on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from attndsl.packages import pip_install

if TYPE_CHECKING:
    import torch


def need_torch(command: str, *packages: str) -> None:
    """Raises click.UsageError where torch is missing; it names all `packages` that the command needs."""
    try:
        import torch  # noqa: F401
    except ModuleNotFoundError:
        raise click.UsageError(f"attndsl {command} needs torch: {pip_install(*packages)}") from None


def gpu(command: str, *packages: str) -> torch.device:
    """The current GPU. Raises click.UsageError where there is none, or torch is missing; it names all `packages`."""
    need_torch(command, *packages)
    import torch

    if not torch.cuda.is_available():
        found = f"torch {torch.__version__} finds none"
        raise click.UsageError(f"attndsl {command} needs a GPU, and {found}: run it on a machine that has one.")
    return torch.device("cuda", torch.cuda.current_device())
