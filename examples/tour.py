"""A tour of three specs by the commands that a user types: check each, read what it compiles to, run it.

    python examples/tour.py

`attndsl run` compares with the reference interpreter. Exits with 1 where a command fails.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from rich.console import Console

EXAMPLES = Path(__file__).parent

STOPS = (
    ("gqa.attn", "Groups of query heads share keys.", "B=2,Hq=8,Hkv=2,M=48,N=80,D=64,E=64"),
    ("paged_decode.attn", "Keys lie on pages, wherever a table says.", "B=4,Hq=8,Hkv=2,D=64,E=64,P=64,S=16,L=12"),
    ("mla_latent.attn", "Keys and values are one latent.", "B=1,H=8,M=24,N=96,R=128,P=32"),
)
"""Spec, what to look at, and the shape to run it with."""

LINES = 60
"""How much of a generated program is shown."""


def attndsl(console: Console, *arguments: str, limit: int | None = None) -> bool:
    """Types a command, shows the first lines of what it prints, and tells whether it succeeded."""
    console.print(f"$ attndsl {' '.join(arguments)}", style="bold", highlight=False, markup=False)
    command = Path(sys.executable).with_name("attndsl")
    done = subprocess.run([command, *arguments], check=False, cwd=EXAMPLES, stdout=subprocess.PIPE, text=True)
    lines = done.stdout.splitlines()
    console.print("\n".join(lines[:limit]), highlight=False, markup=False, soft_wrap=True)
    if limit is not None and len(lines) > limit:
        console.print(f"… and {len(lines) - limit} lines more", style="dim")
    return done.returncode == 0


def main() -> int:
    """Walks all stops; 0 where every command succeeded."""
    console = Console()
    start = time.monotonic()
    succeeded = True
    for number, (spec, title, shape) in enumerate(STOPS, 1):
        console.rule(f"{number} of {len(STOPS)}: {spec}. {title}")
        succeeded &= attndsl(console, "check", spec)
        succeeded &= attndsl(console, "compile", spec, limit=LINES)
        succeeded &= attndsl(console, "run", spec, "--shape", shape)
    console.rule(f"{time.monotonic() - start:.0f} s")
    return 0 if succeeded else 1


if __name__ == "__main__":
    sys.exit(main())
