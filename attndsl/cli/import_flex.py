"""`attndsl import`: a spec of what people have."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import click

from attndsl.cli.output import show
from attndsl.driver.files import write_atomically
from attndsl.packages import pip_install


@click.command("import")
@click.option(
    "--flex", metavar="MODULE:MOD[,MOD]", required=True, help="Mods of FlexAttention: score_mod, mask_mod or both."
)
@click.option("--enable-gqa", is_flag=True, help="Query heads share keys, as with enable_gqa=True.")
@click.option("--name", metavar="NAME", help="What the spec is called; else as the mods are.")
@click.option(
    "-o", "out", type=click.Path(path_type=Path, dir_okay=False), help="The file to write; else it is printed."
)
def command(flex: str, enable_gqa: bool, name: str | None, out: Path | None) -> None:
    """Make a spec of mods of PyTorch's FlexAttention: a file to read, check, run, explain and compile.

    \b
    attndsl import --flex mods:causal
    attndsl import --flex mods:alibi,causal --enable-gqa -o alibi.attn

    MODULE is imported, as Python does it, and its mods are called: code of yours runs, no other does. A mod of five
    arguments, the score first, is a score_mod, one of four a mask_mod. Tensors that a mod has captured become
    inputs, numbers become parameters. What a spec cannot say is named, with its line and the way out. Needs torch.
    """
    mods = _mods(flex)
    try:
        from attndsl.importing.errors import CannotImport
        from attndsl.importing.flex import from_flex

        text = from_flex(**mods, enable_gqa=enable_gqa, name=name)
    except ModuleNotFoundError as error:
        raise click.UsageError(f"attndsl import --flex needs {error.name}: {pip_install('torch')}") from None
    except CannotImport as error:
        raise click.ClickException(str(error)) from None
    if out is None:
        click.echo(text, nl=False)
    else:
        write_atomically(out.resolve(), text.encode(), 0o666)
        show(f"wrote {out}")


def _mods(flex: str) -> dict[str, Any]:
    """The mods that a user names, each by what it is for."""
    from attndsl.testing.against import NoFunction, peer_named

    module, colon, names = flex.partition(":")
    found: dict[str, Any] = {}
    for name in names.split(","):
        try:
            mod = peer_named(f"{module}{colon}{name.strip()}").function
        except NoFunction as error:
            raise click.UsageError(f"--flex: {error}.") from None
        except Exception as error:  # of the user's module, whatever it is
            raise click.ClickException(f"{module} raises {type(error).__name__}: {error}") from None
        kind = _kind(mod)
        if kind is None:
            raise click.UsageError(
                f"--flex: {name} is neither a score_mod(score, b, h, q_idx, kv_idx) "
                "nor a mask_mod(b, h, q_idx, kv_idx)."
            )
        if kind in found:
            raise click.UsageError(f"--flex: there are two of {kind}; and_masks and or_masks of torch join masks.")
        found[kind] = mod
    return found


def _kind(mod: Any) -> str | None:
    """What a function is by the number of arguments that it has to be given."""
    try:
        parameters = inspect.signature(mod).parameters.values()
    except (TypeError, ValueError):
        return None
    needed = [p for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return {4: "mask_mod", 5: "score_mod"}.get(len(needed))
