"""The site, made once, and a browser without a window to look at pages with."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).parents[2]

INSTALLED = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
"""How systems call the browser; where none is, the one that `playwright install chromium` brings will do."""


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that `make docs` makes, of pages without a warning."""
    for package in ("sphinx", "myst_parser", "furo"):
        pytest.importorskip(package, reason="the site needs the docs extra")
    out = tmp_path_factory.mktemp("site")
    options = ["--quiet", "--fail-on-warning", "--conf-dir", "docs/site", "--doctree-dir", str(out / "trees")]
    command = [sys.executable, "-m", "sphinx", *options, ".", str(out / "html")]
    made = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    return out / "html"


@pytest.fixture(scope="session")
def served(site: Path) -> Iterator[str]:
    """The address of the site, as a host serves it to this machine."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(site)))
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium, as this machine has it; without one, what needs it is skipped."""
    playwright = pytest.importorskip("playwright.sync_api", reason="looking at pages needs playwright")
    with playwright.sync_playwright() as driver:
        own = driver.chromium.executable_path
        path = next(filter(None, map(shutil.which, INSTALLED)), own)
        if not Path(path).exists():
            pytest.skip("looking at pages needs Chromium: the system's, or `playwright install chromium`")
        opened = driver.chromium.launch(executable_path=path)
        yield opened
        opened.close()
