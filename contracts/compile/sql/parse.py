"""Parse a query into an AST: replace placeholders, enforce limits, require one SELECT. Any exception of the parser is caught."""

from __future__ import annotations

import logging
import re
import unicodedata
from functools import cache
from itertools import pairwise

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokenizer_core import Token, TokenType

from lakegate.contracts.compile.sql.refusal import RefusedError, UntranslatedError
from lakegate.contracts.model.placeholders import PLACEHOLDERS
from lakegate.contracts.words import counted, shown

MAX_LENGTH = 10_000
MAX_TOKENS = 2_000
MAX_DEPTH = 16
"""Nested parentheses. The parser's own stack allows slightly more."""
HELD = re.compile(
    r"(?P<held>--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`)|\$?\{(?P<name>[^{}]*)\}", re.DOTALL
)
"""A comment or quoted text (placeholders in it are ignored), or a placeholder."""
HINT_COMMENTS = ("/*+", "/*!", "--+")
"""Starts of comments that some engine executes or reads as hints."""
PLACEHOLDER_PREFIX = "lakegate_placeholder_"
OPENING = {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1, TokenType.CASE: 1, TokenType.END: -1}
NESTING = (TokenType.NOT, TokenType.DASH, TokenType.TILDE)
MAX_PREFIX_OPERATORS = 8
ONE_SELECT = "a rule asks and changes nothing, so write one SELECT."
WHITESPACE = "\t\n\r "
DEVIATIONS = {"stdevp": exp.StddevPop, "var": exp.Variance, "varp": exp.VariancePop}
"""Functions of T-SQL for which the parser has no class."""
QUANTILES = {"quantile_cont": exp.PercentileCont, "quantile_disc": exp.PercentileDisc}


def parse(text: str, dialect: str) -> exp.Query:
    """The AST of a query; RefusedError if the text is not a single readable SELECT."""
    silence_sqlglot()
    if len(text) > MAX_LENGTH:
        raise RefusedError("query-too-large", f"A query has at most {MAX_LENGTH:,} characters.")
    _check_characters(text)
    _check_comments(text)
    named = HELD.sub(_named, text)
    _check_tokens(_tokens(named, dialect))
    statements = [each for each in _trees(named, dialect) if each is not None and not isinstance(each, exp.Semicolon)]
    if len(statements) != 1 or not isinstance(statements[0], exp.Query):
        found = (
            f"begins with {shown(_first_word(text))}"
            if len(statements) == 1
            else f"has {counted(len(statements), 'statement')}"
        )
        raise RefusedError("query-not-a-select", f"The query {found}: {ONE_SELECT}")
    for call in list(statements[0].find_all(exp.Anonymous)):
        _replace_named(call, dialect)
    return statements[0]


def _replace_named(call: exp.Anonymous, dialect: str) -> None:
    """Accept DuckDB's quantiles in every dialect, because contracts use them for all server types, and deviations of T-SQL."""
    deviation = DEVIATIONS.get(call.name.lower()) if dialect == "tsql" else None
    if deviation is not None and len(call.expressions) == 1:
        call.replace(deviation(this=call.expressions[0]))
    quantile = QUANTILES.get(call.name.lower())
    if quantile is not None and len(call.expressions) == 2:  # noqa: PLR2004 - value and share
        call.replace(quantile(this=call.expressions[0], expression=call.expressions[1]))


def placeholder(name: str) -> str | None:
    """The placeholder that an identifier stands for, quoted or not; None if the identifier is a name of the contract."""
    bare = (
        name.removeprefix(PLACEHOLDER_PREFIX) if name.startswith(PLACEHOLDER_PREFIX) else name.removeprefix("$").strip()
    )
    if name.startswith(PLACEHOLDER_PREFIX) or (bare.startswith("{") and bare.endswith("}")):
        return bare.strip("{} ").lower()
    return None


def _named(match: re.Match[str]) -> str:
    name = match["name"]
    if name is None or name.strip() not in PLACEHOLDERS:
        return match[0]
    return PLACEHOLDER_PREFIX + str(name).strip()


@cache
def silence_sqlglot() -> None:
    """Its warnings show text of the contract, in queries that are refused here with a message of our own."""
    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)


def _check_characters(text: str) -> None:
    for at, character in enumerate(text):
        if character not in WHITESPACE and (unicodedata.category(character)[0] == "C" or character.isspace()):
            place = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
            raise RefusedError("query-forbidden", "A query holds no character that editors do not show.", place)


def _check_comments(text: str) -> None:
    for match in HELD.finditer(text):
        if match[0].startswith(HINT_COMMENTS):
            place = text.count("\n", 0, match.start()) + 1, match.start() - text.rfind("\n", 0, match.start())
            raise RefusedError("query-forbidden", "A comment that engines obey is not a comment: remove it.", place)


def _tokens(text: str, dialect: str) -> list[Token]:
    try:
        return sqlglot.tokenize(text, read=dialect)
    except Exception as error:  # noqa: BLE001 - a foreign parser before a hostile text may raise anything
        code = "query-unbalanced" if isinstance(error, TokenError) else "query-syntax"
        raise RefusedError(code, "A quote or a comment of the query is not closed.") from None


def _check_tokens(tokens: list[Token]) -> None:
    if len(tokens) > MAX_TOKENS:
        raise RefusedError("query-too-large", f"A query has at most {MAX_TOKENS:,} words.")
    depth = deepest = row = longest_row = 0
    for token in tokens:
        depth += OPENING.get(token.token_type, 0)
        deepest = max(deepest, depth)
        row = row + 1 if token.token_type in NESTING else 0
        longest_row = max(longest_row, row)
    if deepest > MAX_DEPTH or longest_row > MAX_PREFIX_OPERATORS:
        raise RefusedError("query-too-large", f"A query has at most {MAX_DEPTH} levels: name its parts in a WITH.")
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
        if _first_word(text) in {"", "SELECT", "WITH", "FROM"}:
            raise RefusedError("query-syntax", f"The query cannot be read as {dialect}.", place) from None
        message = f"The query begins with {shown(_first_word(text))}: {ONE_SELECT}"
        raise RefusedError("query-not-a-select", message, place) from None
    except Exception as error:  # noqa: BLE001 - likewise
        code = "query-too-large" if isinstance(error, RecursionError) else "query-syntax"
        raise RefusedError(code, f"The query cannot be read as {dialect}.") from None


def _first_word(text: str) -> str:
    """The first word of a query after comments, in capitals: that of its statement."""
    words = re.sub(r"--[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL).split()
    return words[0].upper().lstrip("(") if words else ""


def one_word(node: exp.Expr) -> str:
    """The name of an identifier."""
    if not isinstance(node, exp.Identifier):
        raise UntranslatedError("it names a dataset or a field by something else than a word")
    return node.name
