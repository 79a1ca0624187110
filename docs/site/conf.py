"""How Sphinx makes the site of the documents: `make docs`.

The source folder is the whole checkout, so that a link from file to file is a link from page to page.
"""

from __future__ import annotations

import sys
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from lexers import LEXERS  # noqa: E402  # of this folder, as linked_files is

project = "attndsl"
html_title = "attndsl"

extensions = ["myst_parser", "sphinx.ext.autodoc", "linked_files"]

NAVIGATION = {
    "Specs": ["docs/language", "docs/recipes", "docs/gallery", "docs/importing"],
    "Operators": [
        "docs/operators",
        "docs/training",
        "docs/models",
        "docs/serving",
        "docs/ahead-of-time",
        "docs/site/api",
    ],
    "Tools": ["docs/editors", "editors/vscode/README", "docs/fuzzing"],
    "What it costs": ["docs/performance", "docs/benchmarks"],
    "Inside": ["docs/ir", "RATIONALE", "CONTRIBUTING", "CHANGELOG"],
}
"""Pages by heading. One that is not there is left out; of one that stands nowhere Sphinx complains."""

COMMANDS = ("attndsl ", "make ", "pip ", "python ", "npm ", ".venv/bin/")
"""What an indented block begins with that is typed into a shell."""

root_doc = "docs/index"
include_patterns = ["docs/*.md", "docs/site/*.rst", "editors/vscode/README.md", "*.md"]
exclude_patterns = [
    "README.md",  # the first page says the same to who has not seen the rest
    ".*",
    "attndsl",
    "backends",
    "benchmarks",
    "build",
    "dist",
    "examples",
    "fuzz-failures",
    "passes",
    "tests",
    "**/node_modules",
]

myst_heading_anchors = 4  # as forges have them
default_role = "code"  # what stands between backticks in a docstring
highlight_language = "text"
autodoc_mock_imports = ["torch"]  # gigabytes, which say nothing about what attndsl's own functions do
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
add_module_names = False

html_theme = "furo"
html_copy_source = False
html_show_copyright = False
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = ["search.js"]
html_search_scorer = str(HERE / "scorer.js")
html_favicon = "static/favicon.svg"
html_extra_path = ["redirect/index.html"]  # the first page lies beside the others, in docs


def _with_navigation(app: Sphinx, page: str, text: list[str]) -> None:
    """Puts the tree of pages at the end of the first one, where a reader of the file need not see it."""
    if page != root_doc:
        return
    for heading, pages in NAVIGATION.items():
        there = [f"/{page}" for page in pages if page in app.env.found_docs]
        text[0] += "\n".join(["\n```{toctree}", ":hidden:", f":caption: {heading}", "", *there, "```\n"])


def _name_languages(app: Sphinx, doctree: nodes.document) -> None:
    """Indented blocks, of which Markdown tells no language, are coloured as what they look like."""
    for block in doctree.findall(nodes.literal_block):
        if "language" not in block:
            text = block.astext()
            if text.startswith(">>> "):
                block["language"] = "pycon"
            elif text.startswith(COMMANDS):
                block["language"] = "bash"


def _no_constructor(app: Sphinx, what: str, name: str, *about: object) -> tuple[str, None] | None:
    """Operators are made by functions, and what their class takes is nobody's concern."""
    return ("", None) if name == "attndsl.Op" else None


def _name_drawings(app: Sphinx, doctree: nodes.document) -> None:
    """Drawings of specs have a class by which the style sheet knows them; plots have a ground of their own."""
    for image in doctree.findall(nodes.image):
        if "docs/gallery/" in image["uri"]:
            image["classes"].append("drawing")


def _mark_code(app: Sphinx, what: str, name: str, subject: object, options: object, lines: list[str]) -> None:
    """What is indented in a docstring is code, as a reader of the docstring takes it."""
    marked: list[str] = []
    for before, line in zip(["", *lines], lines, strict=False):
        if line.startswith("    ") and not before and not any(line.startswith(" ") for line in marked[-2:-1]):
            marked += ["::", ""]
        marked.append(line)
    lines[:] = marked


def setup(app: Sphinx) -> None:
    """Tells Sphinx of all this."""
    for name, lexer in LEXERS.items():
        app.add_lexer(name, lexer)
    app.connect("source-read", _with_navigation)
    app.connect("doctree-read", _name_languages)
    app.connect("doctree-read", _name_drawings)
    app.connect("autodoc-process-signature", _no_constructor)
    app.connect("autodoc-process-docstring", _mark_code)
