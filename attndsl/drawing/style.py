"""How pictures look: what can be told apart in grey, and read on white and on black."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK = "#757575"
"""Of lines and text: a grey that contrasts with white and with black alike, 4.6 to 1."""

FULL = "#2f6fab"
"""Of full tiles: dark."""

SEEN = "#9cc3e6"
"""Of what rows see of mixed tiles: light, and hatched with the rest of these."""

HATCH = "/////"

UNSAID = ("Date", "Creator", "Format", "Type")
"""What a file would say of how it was made."""

SMALL, USUAL = 7, 8.5
"""Sizes of text, in points."""


@contextmanager
def styled() -> Iterator[None]:
    """Within it the same picture is the same file: no date, no random names; text stays text."""
    import matplotlib

    settings: Any = {  # its type names every setting that there is
        "svg.fonttype": "none",
        "svg.hashsalt": "attndsl",
        "font.sans-serif": ["DejaVu Sans", "Verdana"],
        "font.monospace": ["DejaVu Sans Mono"],
        "text.parse_math": False,
        "font.size": USUAL,
        "hatch.linewidth": 0.6,
        "text.color": INK,
        "axes.edgecolor": INK,
        "axes.labelcolor": INK,
        "axes.linewidth": 0.8,
        "xtick.color": INK,
        "ytick.color": INK,
        "xtick.labelsize": SMALL,
        "ytick.labelsize": SMALL,
    }
    with matplotlib.rc_context(settings):
        yield


def svg_of(figure: Figure) -> str:
    """A figure as SVG, on nothing; without its prolog, so that a page may hold it."""
    file = BytesIO()
    figure.savefig(file, format="svg", transparent=True, metadata=dict.fromkeys(UNSAID))
    _, start, drawn = file.getvalue().decode("utf-8").partition("<svg ")
    drawn = re.sub(r' d="[^"]*"', lambda path: " " + " ".join(path[0].split()), drawn)
    drawn = re.sub(r"\d+\.\d{3,}", lambda number: f"{float(number[0]):.2f}".rstrip("0").rstrip("."), drawn)
    drawn = re.sub(r' transform="rotate\(-0 [^"]*"', "", drawn)
    return start + re.sub(r"\n +", "\n", drawn)


def png_of(figure: Figure) -> bytes:
    """A figure as PNG, on white."""
    file = BytesIO()
    figure.savefig(file, format="png", dpi=160, facecolor="white", metadata={"Software": None})
    return file.getvalue()
