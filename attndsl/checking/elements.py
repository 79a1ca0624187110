"""Element types where nothing says which; calls of compiled specs import no more of the checker than this."""

from __future__ import annotations

from collections.abc import Sequence


def usual_element(choices: Sequence[str]) -> str:
    """What a type variable of these choices stands for where nothing says: f32 or i32 where it may, else the first."""
    return next((element for element in ("f32", "i32") if element in choices), choices[0])
