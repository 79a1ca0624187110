"""`%load_ext attndsl`: the cell magic `%%attn`, whose cell is a spec."""

from __future__ import annotations

import sys
from typing import Any

from attndsl.diagnostics import SpecError
from attndsl.op.op import Op, compile


def load_ipython_extension(shell: Any) -> None:
    """Gives an IPython shell the magic."""

    def attn(line: str, cell: str) -> Op | None:
        """Compiles a spec; its operator is bound to the name behind `%%attn`, else to the spec's own, and shown."""
        try:
            op = compile(cell)
        except SpecError as error:
            print(error, file=sys.stderr)  # no traceback: the mistake is in the cell
            return None
        shell.push({line.strip() or op.signature.name: op})
        return op

    shell.register_magic_function(attn, "cell")
