"""`attndsl explain` for code of which a launch chooses the tiles."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

GALLERY = Path(__file__).parents[2] / "examples"
SHAPE = ("--shape", "D=64", "--types", "T=bf16")


def test_a_launch_chooses(attndsl: Any, gqa: Path) -> None:
    told = json.loads(attndsl("explain", gqa, "--target", "triton", *SHAPE, "--json").out)["schedule"]
    assert told["rows (gqa)"] == "i_h, chosen at launch: these rows read the same keys"
    assert told["keys (gqa_merge)"] == "part, chosen at launch"
    assert told["mask (gqa)"] == "none is left to test in full tiles; in others tested for every row and key of a tile"
    first, *others = told["schedules (gqa)"].split("; or ")
    assert first.startswith("ROWS 16, KEYS ")
    assert others
    assert "tile_rows" not in told


def test_where_keys_begin_and_end(attndsl: Any) -> None:
    def told(name: str) -> str:
        path = GALLERY / f"{name}.attn"
        found: dict[str, Any] = json.loads(attndsl("explain", path, "--target", "triton", *SHAPE, "--json").out)
        return str(found["schedule"][f"range ({name})"])

    cut = "cut to the keys that some row of the tile can see"
    assert told("cross_attention") == "the same for all rows of a tile"
    assert told("causal_end") == cut
    assert told("document_mask") == f"{cut}, by a first look at what the mask reads"
