"""What is wrong with a page, as a browser shows it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PHONE, DESK = 360, 1300
"""Widths of windows, in pixels of CSS."""


OWN = ("file:", "data:", "http://127.0.0.1:")
"""How addresses begin that are not of other hosts."""

LEFT = "net::ERR_ABORTED"
"""What becomes of a request of a page that has been left meanwhile."""


@contextmanager
def window(browser: Browser, width: int, complaints: list[str], scheme: str = "light") -> Iterator[Page]:
    """A page of this width to go places with; what scripts complain of, and what is asked of other hosts, is noted."""
    dark = scheme == "dark"
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme="dark" if dark else "light")
    page = context.new_page()

    def note(what: str) -> None:
        complaints.append(f"{page.url}: {what}")

    page.on("pageerror", lambda error: note(str(error)))
    page.on("console", lambda said: note(said.text) if said.type in ("error", "warning") else None)
    page.on("request", lambda asked: None if asked.url.startswith(OWN) else note(f"asks {asked.url}"))
    page.on("requestfailed", lambda failed: None if failed.failure == LEFT else note(f"no answer from {failed.url}"))
    yield page
    context.close()


def seen(page: Page) -> list[str]:
    """What is wrong with what the page shows: what has to be moved sideways, and pictures that do not show."""
    wide, broken = page.evaluate(
        """() => [
            document.documentElement.scrollWidth - document.documentElement.clientWidth,
            [...document.images].filter(image => !(image.complete && image.naturalWidth)).map(image => image.src),
        ]"""
    )
    found = [f"{page.url}: picture {address} does not show" for address in broken]
    if wide > 0:
        found.append(f"{page.url}: {wide} pixels wider than its window")
    return found
