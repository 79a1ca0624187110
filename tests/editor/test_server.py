"""The language server, as an editor meets it: another process, spoken to by a language client."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.lsp.client import LanguageClient

ROOT = Path(__file__).parents[2]
GQA = (ROOT / "examples/gqa.attn").read_text("utf-8")
URI = "file:///specs/my.attn"
DOCUMENT = lsp.TextDocumentIdentifier(URI)


class Editor:
    """A client, and a document that it has opened."""

    def __init__(self, client: LanguageClient) -> None:
        self.client = client
        self.text = ""
        self.version = 0
        self.published: asyncio.Queue[lsp.PublishDiagnosticsParams] = asyncio.Queue()
        self.shown: list[str] = []

        @client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)  # type: ignore[untyped-decorator]
        def published(params: lsp.PublishDiagnosticsParams) -> None:
            self.published.put_nowait(params)

        @client.feature(lsp.WINDOW_SHOW_MESSAGE)  # type: ignore[untyped-decorator]
        def shown(params: lsp.ShowMessageParams) -> None:
            self.shown.append(params.message)

    async def write(self, text: str) -> list[lsp.Diagnostic]:
        """Makes this the text, and waits for what is said of it."""
        self.text, self.version = text, self.version + 1
        if self.version == 1:
            item = lsp.TextDocumentItem(URI, "attn", self.version, text)
            self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
        else:
            change = lsp.TextDocumentContentChangeWholeDocument(text)
            document = lsp.VersionedTextDocumentIdentifier(self.version, URI)
            self.client.text_document_did_change(lsp.DidChangeTextDocumentParams(document, [change]))
        return await self.told()

    async def told(self) -> list[lsp.Diagnostic]:
        params = await asyncio.wait_for(self.published.get(), 30)
        assert params.uri == URI
        return list(params.diagnostics)

    def at(self, piece: str) -> lsp.Position:
        """The place behind a piece of the text."""
        before = self.text[: self.text.index(piece) + len(piece)]
        line = before.rpartition("\n")[2]
        return lsp.Position(before.count("\n"), len(line.encode("utf-16-le")) // 2)

    def marked(self, place: lsp.Range) -> str:
        """What stands in a range of one line."""
        assert place.start.line == place.end.line
        line = self.text.split("\n")[place.start.line].encode("utf-16-le")
        return line[2 * place.start.character : 2 * place.end.character].decode("utf-16-le")

    def edited(self, edits: list[lsp.TextEdit]) -> str:
        lines = self.text.split("\n")

        def offset(place: lsp.Position) -> int:
            return sum(len(line) + 1 for line in lines[: place.line]) + place.character

        text = self.text
        for edit in sorted(edits, key=lambda edit: offset(edit.range.start), reverse=True):
            text = text[: offset(edit.range.start)] + edit.new_text + text[offset(edit.range.end) :]
        return text


def session(steps: Callable[[Editor], Awaitable[None]]) -> None:
    """Starts a server, takes the steps, and ends it as an editor does."""

    async def run() -> None:
        client = LanguageClient("a test", "1")
        editor = Editor(client)
        await client.start_io(sys.executable, "-m", "attndsl", "lsp")
        try:
            about = await client.initialize_async(lsp.InitializeParams(lsp.ClientCapabilities()))
            assert about.server_info is not None and about.server_info.name == "attndsl"
            client.initialized(lsp.InitializedParams())
            await steps(editor)
            assert editor.shown == []
            await client.shutdown_async(None)
        finally:
            client.exit(None)
            await client.stop()  # type: ignore[no-untyped-call]

    asyncio.run(asyncio.wait_for(run(), 120))


def errors(*asked: dict[str, object]) -> bytes:
    """What a server writes to its standard error while it is started, asked and ended."""
    messages: list[dict[str, object]] = [
        {"id": 1, "method": "initialize", "params": {"capabilities": {}}},
        {"method": "initialized", "params": {}},
        *asked,
        {"id": 2, "method": "shutdown"},
        {"method": "exit"},
    ]
    texts = [json.dumps({"jsonrpc": "2.0", **message}).encode() for message in messages]
    given = b"".join(b"Content-Length: %d\r\n\r\n%b" % (len(text), text) for text in texts)
    command = [sys.executable, "-m", "attndsl", "lsp"]
    ended = subprocess.run(command, input=given, capture_output=True, timeout=60, check=False)
    assert ended.returncode == 0
    return ended.stderr


def test_it_ends_without_an_error() -> None:
    """An editor tells its user of a server that ends with another code than 0."""
    assert errors() == b""


def test_a_refusal_is_an_answer_and_other_exceptions_are_failures() -> None:
    """An editor keeps what a server writes to its standard error, for whom something went wrong."""
    document = {"uri": URI, "languageId": "attn", "version": 1, "text": GQA}
    opened: dict[str, object] = {"method": "textDocument/didOpen", "params": {"textDocument": document}}
    place = {"textDocument": {"uri": URI}, "position": {"line": 0, "character": 0}}
    refused: dict[str, object] = {"id": 3, "method": "textDocument/prepareRename", "params": place}
    assert errors(opened, refused) == b""
    failing: dict[str, object] = {"id": 3, "method": "workspace/executeCommand", "params": {"command": "none such"}}
    assert b"Traceback" in errors(failing)


def test_a_wrong_text_is_told_and_mended() -> None:
    async def steps(editor: Editor) -> None:
        (wrong,) = await editor.write(GQA.replace("h / (Hq / Hkv)", "h / (Hq / Hkw)"))
        assert editor.marked(wrong.range) == "Hkw"
        assert wrong.severity == lsp.DiagnosticSeverity.Error
        assert "Hkw" in wrong.message and "did you mean `Hkv`?" in wrong.message
        assert str(wrong.code).startswith("E")
        (unread,) = await editor.write(GQA.replace("over j in N", "over j N"))
        assert unread.code != wrong.code
        (twice,) = await editor.write(GQA.replace("over j in N", "over j in N\n    let g = 1"))
        assert twice.related_information
        assert editor.marked(twice.related_information[0].location.range) == "g"
        assert await editor.write("") != []
        assert await editor.write(GQA) == []
        editor.client.text_document_did_close(lsp.DidCloseTextDocumentParams(DOCUMENT))
        assert await editor.told() == []

    session(steps)


def test_hover_definition_rename_and_layout() -> None:
    async def steps(editor: Editor) -> None:
        client = editor.client
        await editor.write("# 😋\u2028 " + GQA.replace("    let g =", "    # 😋\n    let g="))
        hover = await client.text_document_hover_async(lsp.HoverParams(DOCUMENT, editor.at("softmax(score, ma")))
        assert hover is not None and hover.range is not None and isinstance(hover.contents, lsp.MarkupContent)
        assert editor.marked(hover.range) == "mask" and "a bool" in hover.contents.value
        nothing = await client.text_document_hover_async(lsp.HoverParams(DOCUMENT, lsp.Position(0, 0)))
        assert nothing is None

        place = lsp.DefinitionParams(DOCUMENT, editor.at("k[b,g"))
        defined = await client.text_document_definition_async(place)
        assert isinstance(defined, lsp.Location)
        assert editor.marked(defined.range) == "g" and defined.range.start.line == editor.at("let g=").line

        prepared = await client.text_document_prepare_rename_async(
            lsp.PrepareRenameParams(DOCUMENT, editor.at("let g"))
        )
        assert isinstance(prepared, lsp.Range) and editor.marked(prepared) == "g"
        edit = await client.text_document_rename_async(lsp.RenameParams(DOCUMENT, editor.at("let g"), "group"))
        assert edit is not None and edit.changes is not None
        renamed = editor.edited(list(edit.changes[URI]))
        assert renamed == editor.text.replace("let g=", "let group=").replace("[b,g,", "[b,group,")
        with pytest.raises(JsonRpcException, match="`h` would mean something else here"):
            await client.text_document_rename_async(lsp.RenameParams(DOCUMENT, editor.at("let g"), "h"))

        options = lsp.FormattingOptions(4, True)
        edits = await client.text_document_formatting_async(lsp.DocumentFormattingParams(DOCUMENT, options))
        assert edits is not None
        tidy = editor.edited(list(edits))
        assert tidy == "# 😋\u2028 " + GQA.replace("    let g =", "    # 😋\n    let g =")
        await editor.write(tidy)
        edits = await client.text_document_formatting_async(lsp.DocumentFormattingParams(DOCUMENT, options))
        assert edits is not None and list(edits) == []
        await editor.write("attention {")
        assert await client.text_document_formatting_async(lsp.DocumentFormattingParams(DOCUMENT, options)) is None

    session(steps)


def test_completion() -> None:
    async def steps(editor: Editor) -> None:
        async def offered() -> dict[str, lsp.CompletionItem]:
            end = editor.at(editor.text)
            items = await editor.client.text_document_completion_async(lsp.CompletionParams(DOCUMENT, end))
            assert isinstance(items, list)
            assert len({item.label for item in items}) == len(items)
            return {item.label: item for item in items}

        await editor.write("# mine\n")
        gallery = await offered()
        assert gallery["gqa"].insert_text == GQA
        await editor.write(GQA[: GQA.index("    score")] + "    score = q[b,h,i,:] . k[b,")
        found = await offered()
        assert {"q", "g", "j", "Hkv", "softmax", "sqrt", "let", "f16"} <= found.keys()
        assert found["g"].detail == "an int" and found["q"].kind == lsp.CompletionItemKind.Field
        assert "gqa" not in found

    session(steps)
