"""`attndsl import`: a spec of what people have."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import click

from attndsl.cli.output import show
from attndsl.files import write_atomically, write_together
from attndsl.packages import pip_install


@click.command("import")
@click.option("--flex", metavar="MODULE:MOD[,MOD]", help="Mods of FlexAttention: score_mod, mask_mod or both.")
@click.option("--enable-gqa", is_flag=True, help="With --flex: query heads share keys, as with enable_gqa=True.")
@click.option(
    "--onnx", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="A model with Attention nodes."
)
@click.option("--node", "nodes", metavar="NAME", multiple=True, help="With --onnx: one of its nodes; else all of them.")
@click.option("--name", metavar="NAME", help="What the spec is called; else as the mods are, or the model.")
@click.option(
    "-o",
    "out",
    type=click.Path(path_type=Path),
    help="The file to write, or of several specs the folder; else they are printed.",
)
def command(
    flex: str | None, enable_gqa: bool, onnx: Path | None, nodes: tuple[str, ...], name: str | None, out: Path | None
) -> None:
    """Make a spec of what you have: a file to read, check, run, explain and compile.

    \b
    attndsl import --flex mods:causal
    attndsl import --flex mods:alibi,causal --enable-gqa -o alibi.attn
    attndsl import --onnx model.onnx -o specs

    --flex takes mods of PyTorch's FlexAttention. MODULE is imported, as Python does it, and its mods are called: code
    of yours runs, no other does. A mod of five arguments, the score first, is a score_mod, one of four a mask_mod.
    Tensors that a mod has captured become inputs, numbers become parameters. Needs torch.

    --onnx takes a model whose nodes are Attention of ONNX, of opset 23 or later. Nodes that mean the same share one
    spec, which names them. Nothing of the model runs, and no file is read beside it. Needs onnx.

    What a spec cannot say is named, with its line or its node, and the way out.
    """
    if (enable_gqa and flex is None) or (nodes and onnx is None):
        raise click.UsageError("--enable-gqa is for --flex, and --node for --onnx.")
    if flex is not None and onnx is None:
        texts = _of_flex(flex, enable_gqa, name)
    elif onnx is not None and flex is None:
        texts = _of_onnx(onnx, nodes, name)
    else:
        raise click.UsageError("import what? --flex MODULE:MOD or --onnx FILE.")
    if out is None:
        click.echo("\n".join(texts.values()), nl=False)
    elif out.suffix == ".attn" or flex is not None:
        if len(texts) > 1:
            raise click.UsageError(f"there are {len(texts)} specs: -o names a folder, or --node one of them.")
        (text,) = texts.values()
        write_atomically(out.resolve(), text.encode(), 0o666)
        show(f"wrote {out}")
    else:
        for path in write_together(out, {f"{name}.attn": text.encode() for name, text in texts.items()}):
            show(f"wrote {path}")


def _of_flex(flex: str, enable_gqa: bool, name: str | None) -> dict[str, str]:
    """The spec of some mods."""
    mods = _mods(flex)
    try:
        from attndsl.importing.errors import CannotImport
        from attndsl.importing.flex import from_flex

        return {"": from_flex(**mods, enable_gqa=enable_gqa, name=name)}
    except ModuleNotFoundError as error:
        raise click.UsageError(f"attndsl import --flex needs {error.name}: {pip_install('torch')}") from None
    except CannotImport as error:
        raise click.ClickException(str(error)) from None


def _of_onnx(onnx: Path, nodes: tuple[str, ...], name: str | None) -> dict[str, str]:
    """The specs of a model, by what they are called."""
    try:
        from attndsl.checking.check import check
        from attndsl.importing.errors import CannotImport
        from attndsl.importing.onnx import from_onnx
        from attndsl.syntax.source import Source

        texts = from_onnx(onnx, nodes=nodes or None, name=name)
    except ModuleNotFoundError:
        raise click.UsageError(f"attndsl import --onnx needs onnx: {pip_install('onnx')}") from None
    except CannotImport as error:
        raise click.ClickException(str(error)) from None
    return {check(Source(text)).name: text for text in texts.values()}


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
