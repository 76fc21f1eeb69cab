"""Query text to a syntax tree; dialects of contracts; forbidden constructs."""

from __future__ import annotations

import logging
import re
import unicodedata
from collections.abc import Collection
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

import sqlglot
from sqlglot import exp
from sqlglot.dialects.databricks import Databricks
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, TokenError
from sqlglot.parsers.databricks import DatabricksParser
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from lakegate.base.text import did_you_mean, plural, quote
from lakegate.contract.contract_model import PLACEHOLDERS, Contract, Rule
from lakegate.sql.typed_sql import RefusedError, UntranslatedError, place_of

if TYPE_CHECKING:
    from sqlglot.dialects.dialect import Dialect


# ---- Dialects ----


FILES = "duckdb"
"""The dialect of contracts whose servers store files, or that have no server."""
DIALECTS = {
    **{name: name for name in ("athena", "bigquery", "databricks", "duckdb", "mysql", "postgres", "redshift")},
    **{name: name for name in ("snowflake", "spark", "trino")},
    **dict.fromkeys(("postgresql", "cloudsql", "alloydb"), "postgres"),
    **dict.fromkeys(("sqlserver", "tsql", "mssql", "synapse", "fabric"), "sqlserver"),
    **dict.fromkeys(("hive", "glue", "sparksql"), "spark"),
    **dict.fromkeys(("presto", "starburst"), "trino"),
    "mariadb": "mysql",
    **dict.fromkeys(("s3", "local", "azure", "gcs", "sftp", "file", "kafka", "motherduck", "dataframe"), FILES),
}
"""Dialect by server type or by the `dialect` of a rule."""
TABLE_DIALECTS = {**DIALECTS, **{name: name for name in ("clickhouse", "oracle", "sqlite", "teradata")}}
"""The same with those dialects of which tables are read, and no queries."""
DAYS_BETWEEN_DATES = frozenset({"duckdb", "postgres", "redshift", "snowflake"})
"""Date minus date is a number of days; date plus number is a date."""
MOMENTS_APART = frozenset({"databricks", "duckdb", "postgres", "redshift", "spark"})
"""Timestamp minus timestamp is a duration."""
COUNTS_BOUNDARIES = frozenset({"bigquery", "duckdb", "redshift", "snowflake", "sqlserver"})
"""DATEDIFF counts the boundaries of the unit between two timestamps, not the complete units."""
COUNTS_COMPLETE_UNITS = frozenset({"athena", "trino"})
"""DATE_DIFF counts complete units. The last day of a month completes it, also after a longer month."""
SUNDAY_IS_ZERO = frozenset({"duckdb", "postgres", "redshift", "snowflake"})
SUNDAY_IS_ONE = frozenset({"bigquery", "databricks", "mysql", "spark"})
MONDAY_IS_ONE = frozenset({"athena", "trino"})
"""The number of the first day of a week. In SQL Server it depends on a setting of the session."""
WEEKS_COUNT_FROM_SUNDAY = frozenset({"bigquery", "mysql"})
"""The first Sunday of a year begins its week 1. In the others weeks are those of ISO 8601, in SQL Server those of a setting."""
WEEKS_APART_FROM = {"duckdb": "monday", "snowflake": "monday", "sqlserver": "sunday"}
"""The first day of the weeks whose boundaries DATEDIFF counts. In BigQuery its unit names the day."""
CASTS_TRUNCATE = frozenset({"databricks", "spark", "sqlserver"})
CASTS_ROUND_HALF_EVEN = frozenset({"duckdb", "postgres", "redshift"})
"""For floats; decimals are rounded half away from zero."""
ZERO_DIVIDES = frozenset({"mysql"})
"""Division by zero is null. In all other dialects it is an error (in DuckDB since version 2), and here too."""
SECONDS_HAVE_FRACTIONS = frozenset({"databricks", "postgres", "spark"})
"""EXTRACT(SECOND …) includes the fraction."""
MEANS_ARE_WHOLE = frozenset({"redshift", "sqlserver"})
"""The mean of whole numbers is a whole number, without its fraction."""
BITS_ARE_TRUTHS = frozenset({"mysql", "sqlserver"})
"""Truth values are written 0 and 1."""
TEXTS_IGNORE_CASE = {"mysql": "utf8mb4_0900_bin", "sqlserver": "Latin1_General_BIN2"}
"""Dialects whose comparisons of texts ignore case by default; in Lakegate they never do. Each has a collation that does not."""


def dialect_of(contract: Contract, rule: Rule) -> str:
    """The dialect of the rule, else that of the contract's first server of a known type, else the dialect of files.

    Raises UntranslatedError if the rule names an unknown dialect, or that server is of Oracle.
    """
    sql = rule.arguments.get("dialect")
    if sql is not None:
        known = DIALECTS.get(str(sql).strip().lower())
        if known is None:
            raise UntranslatedError("its dialect is not known to this version")
        return known
    types = (server.type.strip().lower() for server in contract.about.servers)
    first = next((kind for kind in types if kind in DIALECTS or kind == "oracle"), FILES)
    if first not in DIALECTS:
        raise UntranslatedError("the dialect of Oracle is not known to this version: name another one as its `dialect`")
    return DIALECTS[first]


def word_of(node: exp.Expr) -> str:
    """The SQL name of a node, for messages."""
    return str(node.sql_name()) if isinstance(node, exp.Func) else node.key.upper()


# ---- Constructs that are always refused ----


STATEMENTS = (exp.DML, exp.Create, exp.Drop, exp.Alter, exp.TruncateTable, exp.Command, exp.Set, exp.Merge, exp.Copy)

ENVIRONMENT = (
    *(
        exp.Hint,
        exp.WithTableHint,
        exp.Into,
        exp.Lock,
        exp.Parameter,
        exp.Placeholder,
        exp.SessionParameter,
        exp.PropertyEQ,
    ),
    *(exp.CurrentCatalog, exp.CurrentDatabase, exp.CurrentSchema, exp.CurrentUser, exp.CurrentVersion, exp.SessionUser),
    *(exp.Rand, exp.Randn, exp.Uuid),
)
"""Nodes that read or change anything but the data, or whose result differs between runs."""
GENERATORS = (
    *(exp.Explode, exp.GenerateDateArray, exp.GenerateSeries, exp.Lateral, exp.Pad, exp.Repeat, exp.Space, exp.Unnest),
)
"""Nodes that generate rows or long values from small input."""

KNOWN = frozenset(
    (
        *("now", "getdate", "date_part"),
        *("age", "array_length", "cardinality", "epoch_ms", "isfinite", "jaccard", "len", "list_contains", "strlen"),
        *(
            "regexp_full_match",
            "regexp_matches",
            "array_contains",
            "json_extract_string",
            "json_array_length",
            "datetimeoffset",
        ),
    )
)
"""Pure functions for which the parser has no class."""


def refuse_hazards(tree: exp.Expr, functions: Collection[str]) -> None:
    """Raise RefusedError for the first forbidden node of an AST; `functions` are the known names, for hints."""
    for node in tree.walk():
        refusal = _refusal(node, functions)
        if refusal is not None:
            raise RefusedError(*refusal, place_of(node))


def _refusal(node: exp.Expr, functions: Collection[str]) -> tuple[str, str] | None:
    """Lint code and message for a forbidden node, else None."""
    if isinstance(node, exp.Table | exp.TableFromRows) and not isinstance(node.this, exp.Identifier):
        return "query-unknown-table", "A query reads the datasets of its contract, no function's rows and no files."
    if isinstance(node, exp.Anonymous | exp.AnonymousAggFunc) and node.name.lower() not in KNOWN:
        return (
            "query-unknown-function",
            f"{quote(node.name)} is not a function that is known.{did_you_mean(node.name.lower(), functions)}",
        )
    return next(((code, words.format(word_of(node))) for kinds, code, words in TABLE if isinstance(node, kinds)), None)


TABLE = (
    (exp.TableSample, "query-not-repeatable", "{} takes other rows each time: ask all of them."),
    (STATEMENTS, "query-not-a-select", "{} is no part of a SELECT: a rule asks and changes nothing."),
    (ENVIRONMENT, "query-forbidden", "{} reaches beyond the data: remove it."),
    (GENERATORS, "query-too-large", "{} builds values that grow: a query reads what was delivered."),
)


# ---- From text to AST; any exception of the parser is caught ----


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


def _datediff(given: list[exp.Expr]) -> exp.Expr:
    """The two functions that Spark calls DATEDIFF: complete units, and days between dates if it names no unit."""
    if len(given) == 3:  # noqa: PLR2004 - a unit and two moments
        return exp.TimestampDiff(this=given[2], expression=given[1], unit=given[0])
    days: exp.Expr = SparkParser.FUNCTIONS["DATEDIFF"](given)
    return days


_DATEDIFF = dict.fromkeys(("DATEDIFF", "DATE_DIFF"), _datediff)


class _Databricks(Databricks):
    class Parser(DatabricksParser):
        FUNCTIONS: ClassVar = {**DatabricksParser.FUNCTIONS, **_DATEDIFF}


class _Spark(Spark):
    class Parser(SparkParser):
        FUNCTIONS: ClassVar = {**SparkParser.FUNCTIONS, **_DATEDIFF}


READ_BY: dict[str, str | type[Dialect]] = {"databricks": _Databricks, "spark": _Spark, "sqlserver": "tsql"}
"""The parser of a dialect, where it is not sqlglot's of that name."""


def parse(text: str, dialect: str) -> exp.Query:
    """The AST of a query; RefusedError if the text is not a single readable SELECT."""
    silence_sqlglot()
    if len(text) > MAX_LENGTH:
        raise RefusedError("query-too-large", f"A query has at most {MAX_LENGTH:,} characters.")
    _check_characters(text)
    _check_comments(text)
    named = HELD.sub(_named, text)
    _check_tokens(_tokens(named, dialect))
    statements = [tree for tree in _trees(named, dialect) if tree is not None and not isinstance(tree, exp.Semicolon)]
    if len(statements) != 1 or not isinstance(statements[0], exp.Query):
        found = (
            f"begins with {quote(_first_word(text))}"
            if len(statements) == 1
            else f"has {plural(len(statements), 'statement')}"
        )
        raise RefusedError("query-not-a-select", f"The query {found}: {ONE_SELECT}")
    for call in list(statements[0].find_all(exp.Anonymous)):
        _replace_named(call, dialect)
    return statements[0]


def _replace_named(call: exp.Anonymous, dialect: str) -> None:
    """Accept DuckDB's quantiles in every dialect, because contracts use them for all server types, and deviations of T-SQL."""
    deviation = DEVIATIONS.get(call.name.lower()) if dialect == "sqlserver" else None
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
            raise _forbidden("A query holds no character that editors do not show.", text, at)


def _check_comments(text: str) -> None:
    for match in HELD.finditer(text):
        if match[0].startswith(HINT_COMMENTS):
            raise _forbidden("A comment that engines obey is not a comment: remove it.", text, match.start())


def _forbidden(message: str, text: str, at: int) -> RefusedError:
    place = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    return RefusedError("query-forbidden", message, place)


def _tokens(text: str, dialect: str) -> list[Token]:
    try:
        return sqlglot.tokenize(text, read=READ_BY.get(dialect, dialect))
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
        OPENING[token.token_type] for token in tokens if token.token_type in {TokenType.L_PAREN, TokenType.R_PAREN}
    ]
    if sum(brackets):
        raise RefusedError("query-unbalanced", "A bracket of the query is not closed.")


def _trees(text: str, dialect: str) -> list[exp.Expr | None]:
    try:
        return sqlglot.parse(text, read=READ_BY.get(dialect, dialect))
    except ParseError as error:
        found = error.errors[0] if error.errors else {}
        place = (found["line"], found["col"]) if found.get("line") else None
        if _first_word(text) in {"", "SELECT", "WITH", "FROM"}:
            raise RefusedError("query-syntax", f"The query cannot be read as {dialect}.", place) from None
        message = f"The query begins with {quote(_first_word(text))}: {ONE_SELECT}"
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
