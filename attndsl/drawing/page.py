"""A page that tells of a spec: its text, its drawings, its schedule, and what a call costs against what a GPU does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from attndsl.drawing.drawing import Drawing

STYLE = """\
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 66rem; padding: 0 1rem; }
pre { overflow-x: auto; padding: 1rem; border: 1px solid #757575; border-radius: 4px; font-size: 13px; }
figure { margin: 1rem 0; overflow-x: auto; }
figcaption { font-size: 14px; }
svg { max-width: 100%; min-width: 44rem; height: auto; }
th { text-align: left; vertical-align: top; padding-right: 1.5rem; font-weight: 600; white-space: nowrap; }
h1, td { overflow-wrap: anywhere; }
.bars { width: 100%; }
.bars td { width: 60%; white-space: nowrap; }
.bars td:last-child { width: 30%; }
.bar { height: 0.9em; min-width: 2px; background: #2f6fab; }
@media (max-width: 44rem) {
  tr, th, td, .bars td, .bars td:last-child { display: block; width: auto; white-space: normal; }
  tr { margin-bottom: 0.5rem; }
}
@media (prefers-color-scheme: dark) { svg { filter: brightness(1.25); } }
"""


@dataclass(frozen=True)
class Bar:
    """A time in seconds beside others: what it is of, and how it is said."""

    name: str
    seconds: float
    said: str


def page_of(drawing: Drawing, heading: str, rows: Sequence[tuple[str, str]], bars: Sequence[Bar]) -> str:
    """HTML that needs nothing else. `rows` are what there is to say, each with its name."""
    spec = drawing.call.spec
    parts = [f"<h1>{escape(heading)}</h1>", f"<pre>{escape(spec.source.text.strip())}</pre>"]
    if drawing.masks:
        caption = (
            f"Programs on {drawing.target}, at small tiles and extents. Of full tiles every row sees every key; of"
            " mixed ones each pair is tested, and what is seen is shaded; the rest is never read. Numbers say which"
            " starts first."
        )
        parts += ["<h2>What rows see, and what programs visit</h2>", _figure(drawing.mask_svg(), caption)]
    parts += ["<h2>Where data flow</h2>", _figure(drawing.flow_svg(), "From what is read, at which place, to outputs.")]
    if bars:
        longest = max(bar.seconds for bar in bars) or 1.0
        lines = [
            _row(
                bar.name, f'<div class="bar" style="width: {100 * bar.seconds / longest:.2f}%"></div>', escape(bar.said)
            )
            for bar in bars
        ]
        parts += ["<h2>Bytes and work against the limits</h2>", f'<table class="bars">{"".join(lines)}</table>']
    lines = [_row(name, escape(value)) for name, value in rows]
    parts += ["<h2>The schedule, bytes and work</h2>", f"<table>{''.join(lines)}</table>"]
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(heading)}</title><style>\n{STYLE}</style>"
    )
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n' + "\n".join(parts) + "\n</body></html>\n"


def _figure(svg: str, caption: str) -> str:
    return f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>"


def _row(name: str, *cells: str) -> str:
    return f"<tr><th>{escape(name)}</th>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>\n"
