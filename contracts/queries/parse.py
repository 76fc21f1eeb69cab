"""From text to a tree: placeholders named, limits kept, one SELECT found. The parser is not ours: all it does is caught."""

from __future__ import annotations

import logging
import re
import unicodedata
from itertools import pairwise

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokenizer_core import Token, TokenType

from contracts.placeholders import PLACEHOLDERS
from contracts.queries.refusal import RefusedError, UntranslatedError

LONGEST = 10_000
MOST_TOKENS = 2_000
DEEPEST = 16
"""Brackets within brackets: the parser's own stack holds a few more."""
HELD = re.compile(
    r"(?P<held>--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`)|\$?\{(?P<name>[^{}]*)\}", re.DOTALL
)
"""What no placeholder is looked for in, or a placeholder."""
OBEYED = ("/*+", "/*!", "--+")
"""How comments begin that are hints, or code, to some engine."""
STANDS_FOR = "lakegate_placeholder_"
OPENING = {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1, TokenType.CASE: 1, TokenType.END: -1}
NESTING = (TokenType.NOT, TokenType.DASH, TokenType.TILDE)
MOST_IN_A_ROW = 8
SPELLED = "\t\n\r "
QUANTILES = {"quantile_cont": exp.PercentileCont, "quantile_disc": exp.PercentileDisc}

logging.getLogger("sqlglot").setLevel(logging.CRITICAL)  # it warns of what is refused here


def parse(text: str, dialect: str) -> exp.Query:
    """The tree of a query; RefusedError where it is no single SELECT that can be read."""
    if len(text) > LONGEST:
        raise RefusedError("query-too-large", f"A query has at most {LONGEST:,} characters.")
    _judge_characters(text)
    _judge_comments(text)
    named = HELD.sub(_named, text)
    _judge_tokens(_tokens(named, dialect))
    statements = [each for each in _trees(named, dialect) if each is not None and not isinstance(each, exp.Semicolon)]
    if len(statements) != 1 or not isinstance(statements[0], exp.Query):
        raise RefusedError("query-not-a-select", "A rule asks and changes nothing: write one SELECT.")
    for call in list(statements[0].find_all(exp.Anonymous)):
        _recognise(call)
    return statements[0]


def _recognise(call: exp.Anonymous) -> None:
    """The quantiles of DuckDB are understood in every dialect: authors write them for servers of all types."""
    quantile = QUANTILES.get(call.name.lower())
    if quantile is not None and len(call.expressions) == 2:  # noqa: PLR2004 - of what, and where
        call.replace(quantile(this=call.expressions[0], expression=call.expressions[1]))


def placeholder(name: str) -> str | None:
    """Which placeholder an identifier stands for, quoted or not; None where it is a name of the contract."""
    bare = name.removeprefix(STANDS_FOR) if name.startswith(STANDS_FOR) else name.removeprefix("$").strip()
    if name.startswith(STANDS_FOR) or (bare.startswith("{") and bare.endswith("}")):
        return bare.strip("{} ").lower()
    return None


def _named(match: re.Match[str]) -> str:
    name = match["name"]
    if name is None or name.strip() not in PLACEHOLDERS:
        return match[0]
    return STANDS_FOR + str(name).strip()


def _judge_characters(text: str) -> None:
    for at, character in enumerate(text):
        if character not in SPELLED and (unicodedata.category(character)[0] == "C" or character.isspace()):
            place = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
            raise RefusedError("query-forbidden", "A query holds no character that editors do not show.", place)


def _judge_comments(text: str) -> None:
    for match in HELD.finditer(text):
        if match[0].startswith(OBEYED):
            place = text.count("\n", 0, match.start()) + 1, match.start() - text.rfind("\n", 0, match.start())
            raise RefusedError("query-forbidden", "A comment that engines obey is no comment: remove it.", place)


def _tokens(text: str, dialect: str) -> list[Token]:
    try:
        return sqlglot.tokenize(text, read=dialect)
    except Exception as error:  # noqa: BLE001 - a foreign parser before a hostile text may raise anything
        code = "query-unbalanced" if isinstance(error, TokenError) else "query-syntax"
        raise RefusedError(code, "A quote or a comment of the query is not closed.") from None


def _judge_tokens(tokens: list[Token]) -> None:
    if len(tokens) > MOST_TOKENS:
        raise RefusedError("query-too-large", f"A query has at most {MOST_TOKENS:,} words.")
    depth = deepest = row = longest_row = 0
    for token in tokens:
        depth += OPENING.get(token.token_type, 0)
        deepest = max(deepest, depth)
        row = row + 1 if token.token_type in NESTING else 0
        longest_row = max(longest_row, row)
    if deepest > DEEPEST or longest_row > MOST_IN_A_ROW:
        raise RefusedError("query-too-large", f"A query has at most {DEEPEST} levels: name its parts in a WITH.")
    for first, second in pairwise(tokens):
        if (
            first.token_type is TokenType.NUMBER
            and second.token_type is TokenType.VAR
            and first.end + 1 == second.start
        ):
            raise RefusedError("query-syntax", "A number of the query is not written as one.", (first.line, first.col))
    brackets = [
        OPENING[each.token_type] for each in tokens if each.token_type in {TokenType.L_PAREN, TokenType.R_PAREN}
    ]
    if sum(brackets):
        raise RefusedError("query-unbalanced", "A bracket of the query is not closed.")


def _trees(text: str, dialect: str) -> list[exp.Expr | None]:
    try:
        return sqlglot.parse(text, read=dialect)
    except ParseError as error:
        found = error.errors[0] if error.errors else {}
        place = (found["line"], found["col"]) if found.get("line") else None
        raise RefusedError(_code(text), f"The query cannot be read as {dialect}.", place) from None
    except Exception as error:  # noqa: BLE001 - likewise
        code = "query-too-large" if isinstance(error, RecursionError) else "query-syntax"
        raise RefusedError(code, f"The query cannot be read as {dialect}.") from None


def _code(text: str) -> str:
    """A statement of another kind is told so, even where the parser stumbles over it."""
    words = re.sub(r"--[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL).split()
    first = words[0].lower().lstrip("(") if words else ""
    return "query-syntax" if first in {"", "select", "with", "from"} else "query-not-a-select"


def one_word(node: exp.Expr) -> str:
    """The name of an identifier."""
    if not isinstance(node, exp.Identifier):
        raise UntranslatedError("it names a dataset or a field by something else than a word")
    return node.name
