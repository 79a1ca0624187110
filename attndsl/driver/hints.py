"""A way out for a mistyped name."""

from __future__ import annotations

from collections.abc import Iterable


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`, did you mean Hq?` where a known name is close to `name`, whatever its case; else nothing."""
    import difflib  # for mistakes alone

    folded = {other.casefold(): other for other in known}
    close = difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=0.4)
    return f", did you mean {folded[close[0]]}?" if close else ""
