"""`attndsl check`: are specs right, and what do they take and give?"""

from __future__ import annotations

from typing import Any

import click

from attndsl.cli.options import json_option, read_spec, specs_argument
from attndsl.cli.output import errors_as_json, show, show_errors, show_json, summary
from attndsl.diagnostics.base import SpecError


@click.command("check")
@specs_argument
@json_option
def command(paths: tuple[str, ...], as_json: bool) -> None:
    """Check specs: print what each takes and gives, or its mistakes and how to mend them.

    \b
    attndsl check examples/*.attn
    attndsl check - < gqa.attn
    attndsl check gqa.attn --json      {"files": [{"file", "ok", "errors", "signature"}]}

    Exits with 1 where a spec has mistakes.
    """
    results = [_check(path, quiet=as_json) for path in paths]
    if as_json:
        show_json({"files": results})
    wrong = sum(not result["ok"] for result in results)
    if wrong and len(paths) > 1:
        click.echo(f"{wrong} of {len(paths)} specs have mistakes", err=True)
    if wrong:
        raise click.exceptions.Exit(1)


def _check(path: str, quiet: bool) -> dict[str, Any]:
    from attndsl.driver.library import checked
    from attndsl.driver.summarise import summarise

    try:
        source = read_spec(path)
        signature = summarise(checked(source))
    except SpecError as error:
        if not quiet:
            show_errors(error)
        return {"file": path, "ok": False, "errors": errors_as_json(error), "signature": None}
    if not quiet:
        show(f"{source.name}: {summary(signature)}")
    return {"file": path, "ok": True, "errors": [], "signature": signature.to_json()}
