"""JSON that every reader takes: RFC 8259 has no infinities and no NaN."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any


def to_json(value: Any) -> str:
    """A value as JSON that a person can read too; `inf`, `-inf` and `nan` are strings, which Python's float() reads."""
    return json.dumps(_plain(value), indent=2, allow_nan=False)


def _plain(value: Any) -> Any:
    match value:
        case float() if not math.isfinite(value):
            return str(float(value))
        case Mapping():
            return {key: _plain(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
    return value
