"""The language server: what `facts` tells, in the protocol's words. Each change of a text is read anew, whole."""

from __future__ import annotations

import logging
from importlib.metadata import version

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.workspace import TextDocument

from attndsl.checking.calls import FUNCTION_NAMES
from attndsl.checking.scopes import Binding, ElementType, LetBinding, Storage
from attndsl.diagnostics import Diagnostic, SpecError
from attndsl.editor.facts import CannotRename, SpecFacts, is_inside, names_before
from attndsl.editor.words import CONSTANTS, TYPES
from attndsl.syntax.format import format_text
from attndsl.syntax.gallery import gallery
from attndsl.syntax.parse import words
from attndsl.syntax.source import Source, Span

NAME = "attndsl"


def serve() -> None:
    """Speak the protocol over the standard input and output, until the editor ends it."""
    # pygls logs whatever ends a request, with a traceback, and editors show the log as what went wrong with a server.
    logging.getLogger("pygls.protocol.json_rpc").addFilter(_tells_a_failure)
    make_server().start_io()


def make_server() -> LanguageServer:
    """A server that has been told of no document yet."""
    # Whole texts: pygls puts parts together by the lines of Python, which ends some where an editor does not.
    server = LanguageServer(NAME, version("attndsl"), lsp.TextDocumentSyncKind.Full)
    read: dict[str, SpecFacts] = {}

    def facts(uri: str) -> tuple[TextDocument, SpecFacts]:
        document = server.workspace.get_text_document(uri)
        known = read.get(uri)
        if known is None or known.source.text != document.source:
            known = read[uri] = SpecFacts.of(Source(document.source, document.filename or "<text>"))
        return document, known

    def publish(uri: str) -> None:
        document, known = facts(uri)
        found = [_diagnostic(document, known.source, diagnostic) for diagnostic in known.diagnostics]
        server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, found, document.version))

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: lsp.DidOpenTextDocumentParams) -> None:
        publish(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: lsp.DidChangeTextDocumentParams) -> None:
        publish(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: lsp.DidCloseTextDocumentParams) -> None:
        read.pop(params.text_document.uri, None)
        server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(params.text_document.uri, []))

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    def hover(params: lsp.HoverParams) -> lsp.Hover | None:
        document, known = facts(params.text_document.uri)
        found = known.hover(_offset(document, params.position))
        if found is None:
            return None
        span, text = found
        said = lsp.MarkupContent(lsp.MarkupKind.Markdown, text)
        return lsp.Hover(said, _range(document, known.source, span))

    @server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
    def definition(params: lsp.DefinitionParams) -> lsp.Location | None:
        document, known = facts(params.text_document.uri)
        span = known.definition(_offset(document, params.position))
        return None if span is None else lsp.Location(document.uri, _range(document, known.source, span))

    @server.feature(lsp.TEXT_DOCUMENT_PREPARE_RENAME)
    def prepare_rename(params: lsp.PrepareRenameParams) -> lsp.Range:
        document, known = facts(params.text_document.uri)
        offset = _offset(document, params.position)
        try:
            places = known.places(offset)
        except CannotRename as error:
            raise _Refusal(str(error)) from None
        return _range(document, known.source, next(span for span in places if span.start <= offset <= span.end))

    @server.feature(lsp.TEXT_DOCUMENT_RENAME, lsp.RenameOptions(prepare_provider=True))
    def rename(params: lsp.RenameParams) -> lsp.WorkspaceEdit:
        document, known = facts(params.text_document.uri)
        try:
            places = known.rename(_offset(document, params.position), params.new_name)
        except CannotRename as error:
            raise _Refusal(str(error)) from None
        edits = [lsp.TextEdit(_range(document, known.source, span), params.new_name) for span in places]
        return lsp.WorkspaceEdit({document.uri: edits})

    @server.feature(lsp.TEXT_DOCUMENT_FORMATTING)
    def formatting(params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit] | None:
        document, known = facts(params.text_document.uri)
        try:
            text = format_text(known.source)
        except SpecError:
            return None  # its diagnostics say why
        whole = Span(0, len(known.source.text))
        return [] if text == known.source.text else [lsp.TextEdit(_range(document, known.source, whole), text)]

    @server.feature(lsp.TEXT_DOCUMENT_COMPLETION)
    def completion(params: lsp.CompletionParams) -> list[lsp.CompletionItem]:
        document, known = facts(params.text_document.uri)
        offset = _offset(document, params.position)
        if not is_inside(known.source, offset):
            return [_snippet(name, about, path.read_text("utf-8")) for name, about, path in gallery()]
        sight = names_before(known.source, offset)
        kinds = lsp.CompletionItemKind
        keywords = {*words(), *CONSTANTS} - FUNCTION_NAMES - {name for name, _ in sight}
        return [
            *(lsp.CompletionItem(name, kind=_kind(each), detail=known.describe(each)) for name, each in sight),
            *(lsp.CompletionItem(name, kind=kinds.Function) for name in sorted(FUNCTION_NAMES)),
            *(lsp.CompletionItem(name, kind=kinds.Keyword) for name in sorted(keywords)),
            *(lsp.CompletionItem(name, kind=kinds.TypeParameter) for name in TYPES if name not in FUNCTION_NAMES),
        ]

    return server


def _diagnostic(document: TextDocument, source: Source, diagnostic: Diagnostic) -> lsp.Diagnostic:
    """An error, with all that `attndsl check` says of it."""
    said = [diagnostic.text(diagnostic.message), diagnostic.text(diagnostic.label)]
    said += [
        f"{what}: {text}"
        for what, text in (("note", diagnostic.text(diagnostic.note)), ("fix", diagnostic.hint()))
        if text
    ]
    others = [
        lsp.DiagnosticRelatedInformation(lsp.Location(document.uri, _range(document, source, label.span)), label.text)
        for label in diagnostic.others()
    ]
    return lsp.Diagnostic(
        range=_range(document, source, diagnostic.span),
        message="\n".join(filter(None, said)),
        severity=lsp.DiagnosticSeverity.Error,
        code=diagnostic.code,
        source=NAME,
        related_information=others,
    )


def _offset(document: TextDocument, position: lsp.Position) -> int:
    """The place of a position, whose columns count what the editor has agreed to."""
    lines = document.source.split("\n")
    before = sum(len(line) + 1 for line in lines[: position.line])
    line = lines[position.line] if position.line < len(lines) else ""
    units = 0
    for number, character in enumerate(line):
        if units >= position.character:
            return before + number
        units += document.position_codec.client_num_units(character)
    return min(before + len(line), len(document.source))


def _range(document: TextDocument, source: Source, span: Span) -> lsp.Range:
    def position(offset: int) -> lsp.Position:
        line, column = source.position(offset)
        before = source.text[offset - column + 1 : offset]
        return lsp.Position(line - 1, document.position_codec.client_num_units(before))

    return lsp.Range(position(span.start), position(span.end))


class _Refusal(JsonRpcException):
    """What an editor is answered where something cannot be done; the message says why."""

    CODE = lsp.LSPErrorCodes.RequestFailed


def _tells_a_failure(record: logging.LogRecord) -> bool:
    return record.exc_info is None or not isinstance(record.exc_info[1], _Refusal)


def _kind(binding: Binding) -> lsp.CompletionItemKind:
    match binding:
        case Storage():
            return lsp.CompletionItemKind.Field
        case LetBinding():
            return lsp.CompletionItemKind.Function if binding.params else lsp.CompletionItemKind.Variable
        case ElementType():
            return lsp.CompletionItemKind.TypeParameter
    return lsp.CompletionItemKind.Constant


def _snippet(name: str, about: str, text: str) -> lsp.CompletionItem:
    """A spec of the gallery, whole."""
    return lsp.CompletionItem(
        name,
        kind=lsp.CompletionItemKind.Snippet,
        detail=about,
        documentation=lsp.MarkupContent(lsp.MarkupKind.Markdown, f"```attn\n{text}```"),
        insert_text=text,
    )
