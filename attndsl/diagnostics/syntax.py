"""Errors of form: what the grammar cannot read."""

from __future__ import annotations

import re
from dataclasses import dataclass

from attndsl.diagnostics.base import Diagnostic, Label
from attndsl.diagnostics.foreign import STATEMENTS, ours
from attndsl.diagnostics.suggest import did_you_mean
from attndsl.syntax.source import Span


@dataclass(frozen=True)
class EmptySpec(Diagnostic):
    code = "E010"
    message = "the text holds no spec"
    label = "nothing here"
    fix = "a spec is `attention name {{ … }}`"


@dataclass(frozen=True)
class Unexpected(Diagnostic):
    found: str
    wanted: str

    code = "E011"
    message = "unexpected {found}"
    label = "not here"

    def hint(self) -> str:
        return f"{self.wanted} can stand here" if self.wanted else ""


# --- brackets


@dataclass(frozen=True)
class Unclosed(Diagnostic):
    bracket: str
    opener: Span

    code = "E012"
    message = "the spec ends before `{bracket}` is closed"
    label = "it ends here"

    def others(self) -> tuple[Label, ...]:
        return (Label(self.opener, "opened here"),)


@dataclass(frozen=True)
class Mismatched(Diagnostic):
    bracket: str
    opener: Span
    found: str
    wanted: str

    code = "E013"
    message = "`{bracket}` is not closed before `{found}`"
    label = "`{wanted}` is missing before this"

    def others(self) -> tuple[Label, ...]:
        return (Label(self.opener, "opened here"),)


@dataclass(frozen=True)
class Unopened(Diagnostic):
    found: str

    code = "E014"
    message = "nothing is open that `{found}` could close"
    label = "closes nothing"


# --- signs


@dataclass(frozen=True)
class EqualsForComparison(Diagnostic):
    code = "E015"
    message = "`=` defines; it does not compare"
    label = "inside an expression"
    fix = "compare with `==`"


@dataclass(frozen=True)
class Semicolon(Diagnostic):
    code = "E018"
    message = "statements are not separated by `;`"
    label = "not needed"
    fix = "leave it out"


# --- words


@dataclass(frozen=True)
class ReservedName(Diagnostic):
    word: str

    code = "E023"
    message = "`{word}` is a word of the language and cannot be a name"
    label = "reserved"
    fix = "call it `{word}_`"


@dataclass(frozen=True)
class UnknownStatement(Diagnostic):
    word: str
    known: tuple[str, ...]

    code = "E024"
    message = "no statement begins with `{word}`"
    label = "not a word of the language"

    def hint(self) -> str:
        if self.known == ("attention",):
            return did_you_mean(self.word, self.known) or "a spec begins with `attention name {`"
        return STATEMENTS.get(self.word) or did_you_mean(self.word, self.known)


@dataclass(frozen=True)
class LoneExpression(Diagnostic):
    code = "E042"
    message = "a value stands alone: a statement defines a name or writes an output"
    label = "not a statement"
    fix = "`let x = …` or `o[…] = …`"


@dataclass(frozen=True)
class MissingName(Diagnostic):
    found: str

    code = "E025"
    message = "a name is missing before {found}"
    label = "a name should stand here"


@dataclass(frozen=True)
class MissingExpression(Diagnostic):
    found: str

    code = "E026"
    message = "a value is missing before {found}"
    label = "a value should stand here"


@dataclass(frozen=True)
class MissingBody(Diagnostic):
    function: str

    code = "E058"
    message = "{function}() reduces what stands behind its axes, after their `)`"
    label = "a value should follow the axes"
    fix = "`{function}(d in D) (…)`"


# --- statements


@dataclass(frozen=True)
class MissingBrace(Diagnostic):
    code = "E027"
    message = "the body of the spec is missing: it stands between `{{` and `}}`"
    label = "`{{` should stand here"


@dataclass(frozen=True)
class TextAfterEnd(Diagnostic):
    code = "E028"
    message = "the spec ends with its `}}`, and more follows"
    label = "after the end"
    note = "a file holds one spec"


@dataclass(frozen=True)
class MissingEquals(Diagnostic):
    code = "E029"
    message = "`=` is missing in this definition"
    label = "`=` should stand here"


@dataclass(frozen=True)
class MissingColon(Diagnostic):
    code = "E030"
    message = "a type follows its name after `:`"
    label = "`:` should stand here"
    fix = "`input q : T[B, H, M, D]`, or in the header `window: int = 4096`"


@dataclass(frozen=True)
class MissingExtents(Diagnostic):
    code = "E031"
    message = "the extents of the tensor are missing"
    label = "`[` should stand here"
    fix = "`T[B, H, M, D]`; `T[]` is a single number"


@dataclass(frozen=True)
class MissingIn(Diagnostic):
    code = "E032"
    message = "an index is bound by `in`"
    label = "`in` should stand here"
    fix = "`each b in B, i in M`"


@dataclass(frozen=True)
class MissingThen(Diagnostic):
    code = "E033"
    message = "`then` is missing after the condition of `if`"
    label = "`then` should stand here"
    fix = "`if condition then value else other`"


@dataclass(frozen=True)
class MissingElse(Diagnostic):
    code = "E034"
    message = "every `if` has an `else`: an expression always has a value"
    label = "`else` should stand here"
    fix = "`if condition then value else other`"


@dataclass(frozen=True)
class MissingTo(Diagnostic):
    code = "E035"
    message = "a bound is written `up to`"
    label = "`to` should stand here"


# --- expressions


@dataclass(frozen=True)
class SliceStep(Diagnostic):
    code = "E036"
    message = "a slice has two ends and no step"
    label = "a second `:`"
    fix = "define the part: `let even[d in D / 2] = x[2 * d]`"


@dataclass(frozen=True)
class SubscriptOfExpression(Diagnostic):
    """`written` has all subscripts in one pair of brackets, where a name has several."""

    written: str

    code = "E037"
    message = "only a name takes subscripts"
    label = "subscripts an expression"

    def hint(self) -> str:
        if re.fullmatch(r"[A-Za-z_]\w*\[[^()]*\]", self.written):
            return f"all subscripts of a tensor stand in one pair of brackets: write `{self.written}`"
        return "name it first: `let x = …`"


@dataclass(frozen=True)
class NeedsParentheses(Diagnostic):
    word: str
    operator: str

    code = "E038"
    message = "`{word}` cannot follow `{operator}` without parentheses"
    label = "put this operand in `( )`"


@dataclass(frozen=True)
class TrailingComma(Diagnostic):
    closer: str

    code = "E039"
    message = "something is missing between `,` and `{closer}`"
    label = "leave this out, or go on after it"


@dataclass(frozen=True)
class MissingComma(Diagnostic):
    code = "E040"
    message = "`,` or an operator is missing"
    label = "before this"


@dataclass(frozen=True)
class CallWithoutParentheses(Diagnostic):
    function: str
    argument: str

    code = "E055"
    message = "an operator is missing between two names"
    label = "before this"
    fix = "where `{function}` is a function, write `{function}({argument})`"

    def hint(self) -> str:
        return ours(self.function, (self.argument,)) or super().hint()


@dataclass(frozen=True)
class MissingOperator(Diagnostic):
    code = "E041"
    message = "an operator is missing between two values"
    label = "before this"
    fix = "numbers are multiplied by `*`, vectors by `.`"
