"""The page of `attndsl explain --open`, as a browser shows it."""

from __future__ import annotations

import webbrowser
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest
from click.testing import CliRunner

from attndsl.cli.group import attndsl as command
from tests.pages.look import DESK, PHONE, seen, window

if TYPE_CHECKING:
    from playwright.sync_api import Browser

WIDE = "mla_projections_q8_0"
"""A spec with a long name and much to say of it."""


@pytest.mark.matrix
def test_the_page_shows_both_drawings_on_a_desk_and_on_a_phone(browser: Browser) -> None:
    with patch.object(webbrowser, "open", return_value=True) as opened:
        result = CliRunner().invoke(command, ["explain", WIDE, "--target", "cuda:90", "--shape", "D=64,E=64", "--open"])
    assert result.exit_code == 0, result.output
    complaints: list[str] = []
    for width in (PHONE, DESK):
        with window(browser, width, complaints) as page:
            page.goto(*opened.call_args.args)
            complaints += seen(page)
            drawn = [box for box in (svg.bounding_box() for svg in page.locator("svg").all()) if box is not None]
            assert len(drawn) == 2
            assert all(box["width"] > 600 and box["height"] > 50 for box in drawn)
            bars = [box for box in (bar.bounding_box() for bar in page.locator(".bar").all()) if box is not None]
            assert 200 < max(bar["width"] for bar in bars) < width
    assert complaints == []
