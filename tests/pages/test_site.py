"""The site that `make docs` makes: what links lead to, and how a browser shows it."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import pytest

from tests.pages.look import DESK, PHONE, seen, window

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.matrix


class Links(HTMLParser):
    """Where the links of a page lead, what it loads, and what may be linked to in it."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.leads: set[str] = set()
        self.loads: set[str] = set()
        self.names: set[str] = set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        of = dict(attrs)
        self.names |= {of.get("id") or "", of.get("name") or ""}
        self.leads |= {of.get("href") or ""}
        self.loads |= {of.get("src") or "", (of.get("href") or "") if tag == "link" else ""}


def pages(site: Path) -> list[Path]:
    return sorted(path for path in site.rglob("*.html") if "_static" not in path.parts)


def test_links_lead_to_what_is_there_and_pages_load_nothing_of_other_hosts(site: Path) -> None:
    read = {page: Links(page) for page in pages(site)}
    assert len(read) > 80
    wrong = []
    for page, links in read.items():
        wrong += [f"{page}: loads {address}" for address in links.loads if urlsplit(address).netloc]
        for link in links.leads | links.loads:
            to = urlsplit(link)
            if to.scheme or to.netloc:
                continue
            file = (page.parent / unquote(to.path)).resolve() if to.path else page
            if not file.is_file():
                wrong.append(f"{page}: {link} is not there")
            elif to.fragment and file in read and unquote(to.fragment) not in read[file].names:
                wrong.append(f"{page}: {link} has no such place")
    assert wrong == []


def test_every_page_shows_on_a_phone_without_a_host(site: Path, browser: Browser) -> None:
    complaints: list[str] = []
    with window(browser, PHONE, complaints) as page:
        for path in pages(site):
            if path == site / "index.html":
                continue  # it only leads to the first page
            page.goto(path.as_uri())
            complaints += seen(page)
    assert complaints == []


def found(page: Page, words: str) -> list[str]:
    """Titles of what search finds, in its order."""
    page.fill(".sidebar-search", words)
    page.press(".sidebar-search", "Enter")
    page.wait_for_function("document.querySelector('.search-summary')?.textContent.includes('match')")
    page.wait_for_load_state("networkidle")
    return page.locator("ul.search > li > a").all_inner_texts()


@pytest.mark.parametrize("how", ["from a folder", "from a host"])
def test_search_finds_specs_words_and_names(site: Path, served: str, browser: Browser, how: str) -> None:
    start = site.as_uri() if how == "from a folder" else served
    complaints: list[str] = []
    with window(browser, DESK, complaints) as page:
        page.goto(f"{start}/index.html")
        page.wait_for_url("**/docs/index.html")
        assert "The gallery > sliding_window" in found(page, "sliding_window")
        assert "The attndsl language" in found(page, "topk")
        assert any("transformers.register" in title for title in found(page, "register"))
        excerpts = page.locator("ul.search p.context").all_inner_texts()
        assert any("register" in text for text in excerpts) is (how == "from a host")
        page.click("text=Models of transformers")
        page.wait_for_url("**/docs/models.html*")
        assert found(page, "zyzzyva") == []
    assert complaints == []


def test_specs_are_coloured_in_the_light_and_in_the_dark(site: Path, browser: Browser) -> None:
    colours = set()
    complaints: list[str] = []
    for scheme in ("light", "dark"):
        with window(browser, DESK, complaints, scheme) as page:
            page.goto((site / "docs/language.html").as_uri())
            word, name, ground = page.evaluate(
                """() => {
                    const block = document.querySelector(".highlight-attn");
                    const colour = of => getComputedStyle(of).color;
                    return [colour(block.querySelector(".kd, .k")), colour(block.querySelector(".n")),
                        getComputedStyle(document.body).backgroundColor];
                }"""
            )
            assert word != name
            colours |= {word, name, ground}
    assert len(colours) == 6
    assert complaints == []
