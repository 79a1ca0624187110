"""A Sphinx extension: a file of the checkout that a page links to is a page too, with its text in colours.

MyST takes such a link for a download, and that of a folder for a mistake.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from pygments.lexers import get_lexer_for_filename
from pygments.util import ClassNotFound
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder

_Page = tuple[str, dict[str, Any], str]


class LinkedFiles:
    """The files and folders that pages link to, by their paths in the checkout."""

    def __init__(self) -> None:
        self.paths: set[str] = set()

    def link(self, app: Sphinx, doctree: nodes.document) -> None:
        """Makes what is no link to a document one to a page of `pages`; that of the README leads to the first page."""
        here = app.env.docname
        for node in [*doctree.findall(addnodes.download_reference), *doctree.findall(addnodes.pending_xref)]:
            if node.get("reftype") != "myst":
                continue
            if node.get("refdomain") == "doc":
                if node["reftarget"] == "README":
                    node["reftarget"] = app.config.root_doc
                continue
            path, whole = app.env.relfn2path(node["reftarget"], here)
            if Path(whole).exists():  # else MyST says what is wrong
                self.paths.add(path)
                to = app.builder.get_relative_uri(here, path)
                node.replace_self(nodes.reference("", "", *node.children, internal=True, refuri=to))

    def pages(self, app: Sphinx) -> Iterator[_Page]:
        """A page for each file, and for each folder one that lists its files, and theirs."""
        assert isinstance(app.builder, StandaloneHTMLBuilder)
        root = Path(app.srcdir)
        folders = {path: sorted((root / path).glob("*.*")) for path in self.paths if (root / path).is_dir()}
        for path, files in folders.items():
            links = (f'<li><a href="{root.joinpath(path).name}/{f.name}.html">{escape(f.name)}</a></li>' for f in files)
            yield _page(path, f"<ul>{''.join(links)}</ul>")
        inside = (file.relative_to(root).as_posix() for files in folders.values() for file in files)
        for path in sorted({*self.paths, *inside} - {*folders}):
            language = _language(path)
            code = app.builder.highlighter.highlight_block((root / path).read_text(encoding="utf-8"), language)
            yield _page(path, f'<div class="highlight-{language} notranslate">{code}</div>')


def _page(path: str, body: str) -> _Page:
    return path, {"title": path, "body": f"<h1>{escape(path)}</h1>\n{body}"}, "page.html"


def _language(path: str) -> str:
    try:
        return str(get_lexer_for_filename(path).aliases[0])
    except ClassNotFound:
        return "text"


def setup(app: Sphinx) -> dict[str, bool]:
    """Tells Sphinx of all this."""
    linked = LinkedFiles()
    app.connect("doctree-read", linked.link, priority=400)  # before Sphinx collects what is to be downloaded
    app.connect("html-collect-pages", linked.pages)
    return {"parallel_read_safe": False}
