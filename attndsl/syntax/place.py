"""The place where the parser stopped, and what stands around it."""

from __future__ import annotations

from lark import Lark, Token, UnexpectedToken

from attndsl.syntax.source import Source, Span

ENDS = frozenset(("NAME", "NUMBER", "TRUE", "FALSE", "RPAR", "RSQB"))
"""The tokens that a value ends with."""


_LONG = 120
"""No message shows so much of a line."""


def accepted(error: UnexpectedToken) -> set[str]:
    """The types of the tokens that the parser would have gone on with."""
    return set(error.interactive_parser.accepts())  # type: ignore[no-untyped-call]


class Place:
    """The token that does not fit, and what stands around it."""

    def __init__(self, error: UnexpectedToken, source: Source, parser: Lark) -> None:
        self.text = source.text
        token = error.token
        at_end = token.type == "$END"
        start = len(self.text.rstrip()) if at_end else token.start_pos
        self.start: int = start if start is not None else 0
        self.type: str = token.type
        self.word = "" if at_end else str(token)
        self.span = Span(self.start, self.start + max(1, len(self.word)))
        before = [t for t in parser.lex(self.text) if t.start_pos is not None and t.start_pos < self.start]
        self.before: list[Token] = before
        self.previous: Token | None = before[-1] if before else None
        self.accepts = accepted(error)

    @property
    def gap(self) -> Span:
        """Where something is missing: at the token, or at the end of the line before where the token begins a line."""
        end = None if self.previous is None else self.previous.end_pos
        if end is None or "\n" not in self.text[end : self.start]:
            return self.span
        return Span(end, end + 1)

    @property
    def found(self) -> str:
        """The token as a message names it."""
        word = self.word if len(self.word) <= 32 else self.word[:31] + "…"
        return f"`{word}`" if word else "the end of the spec"

    @property
    def touches(self) -> bool:
        """Whether nothing stands between the token and the one before."""
        return self.previous is not None and self.previous.end_pos == self.start

    def begins_line(self, token: Token | None) -> bool:
        """Whether a token is the first of its line or of the body."""
        if token is None or token.start_pos is None:
            return token is None
        head = self.text[: token.start_pos].rpartition("\n")[2].strip()
        return head == "" or head.endswith("{")

    def span_of(self, token: Token) -> Span:
        """Where a token stands."""
        assert token.start_pos is not None and token.end_pos is not None
        return Span(token.start_pos, token.end_pos)

    @property
    def opens_call(self) -> bool:
        """Whether one name stands before the token in the parentheses of a function."""
        types = [token.type for token in self.before[-3:]]
        return types in (["SUM", "LPAR", "NAME"], ["NAME", "LPAR", "NAME"])

    @property
    def opener(self) -> Span | None:
        """Where the innermost bracket stands that is open before the token."""
        found = self._open(len(self.before))
        return None if found is None else self.span_of(self.before[found])

    def reduction(self, end: Token | None) -> Token | None:
        """The function of `max(r in R`, where these parentheses are open before a token, or None for the place."""
        number = len(self.before) if end is None else next(n for n, each in enumerate(self.before) if each is end)
        found = self._open(number)
        if not found or [token.type for token in self.before[found : found + 3]] != ["LPAR", "NAME", "IN"]:
            return None
        return self.before[found - 1]

    def _open(self, end: int) -> int | None:
        """The number of the innermost bracket that is open before the token of a number."""
        depth = 0
        for number in range(end - 1, -1, -1):
            if self.before[number].type in ("RPAR", "RSQB", "RBRACE"):
                depth += 1
            elif self.before[number].type in ("LPAR", "LSQB", "LBRACE"):
                if depth == 0:
                    return number
                depth -= 1
        return None

    @property
    def bracket(self) -> str:
        """That bracket."""
        opener = self.opener
        return "" if opener is None else self.text[opener.start : opener.end]

    @property
    def head(self) -> tuple[Token, Token] | None:
        """The name before the token, or before the subscripts that end there, after the token before it."""
        depth = 0
        for i in range(len(self.before) - 1, 0, -1):
            token = self.before[i]
            depth += (token.type == "RSQB") - (token.type == "LSQB")
            if depth == 0 and token.type != "LSQB":
                return (self.before[i - 1], token) if token.type == "NAME" else None
        return None

    @property
    def line_word(self) -> str:
        """The first word of the token's line."""
        words = self.text[: self.start].rpartition("\n")[2].split(maxsplit=1)
        return words[0] if words else ""

    @property
    def rest_of_line(self) -> str:
        """What stands after the token on its line, without a comment; empty where it is long."""
        rest = self.text[self.span.end : self.span.end + _LONG].partition("\n")[0].partition("#")[0]
        return rest.strip() if len(rest) < _LONG else ""

    @property
    def next_line(self) -> str:
        """The line after the token's, without a comment; empty where it is long."""
        rest = self.text[self.span.end :].partition("\n")[2]
        line = rest[:_LONG].partition("\n")[0].partition("#")[0]
        return line.strip() if len(line) < _LONG else ""

    def is_declared(self, word: Token) -> bool:
        """Whether a word is a name that the text gives to something."""
        declaring = ("LET", "INPUT", "OUTPUT", "INOUT", "TEMP", "COMMA", "DIMS", "EACH", "OVER")
        return any(
            before.type in declaring and token == word
            for before, token in zip(self.before, self.before[1:], strict=False)
            if token.start_pos != word.start_pos
        )

    @property
    def token(self) -> Token | None:
        """The token, None at the end of the text."""
        if self.type == "$END":
            return None
        return Token(self.type, self.word, start_pos=self.start, end_pos=self.span.end)
