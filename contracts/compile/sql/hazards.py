"""Constructs that no query of a contract may contain. All of them are refused before translation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from lakegate.contracts.compile.sql.refusal import RefusedError, place_of
from lakegate.contracts.compile.sql.translator import word_of
from lakegate.contracts.words import did_you_mean, shown

if TYPE_CHECKING:
    from collections.abc import Collection

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
        found = _refusal(node, functions)
        if found is not None:
            raise RefusedError(*found, place_of(node))


def _refusal(node: exp.Expr, functions: Collection[str]) -> tuple[str, str] | None:
    """Lint code and message for a forbidden node, else None."""
    if isinstance(node, exp.Table | exp.TableFromRows) and not isinstance(node.this, exp.Identifier):
        return "query-unknown-table", "A query reads the datasets of its contract, no function's rows and no files."
    if isinstance(node, exp.Anonymous | exp.AnonymousAggFunc) and node.name.lower() not in KNOWN:
        return (
            "query-unknown-function",
            f"{shown(node.name)} is not a function that is known.{did_you_mean(node.name.lower(), functions)}",
        )
    return next(((code, words.format(word_of(node))) for kinds, code, words in TABLE if isinstance(node, kinds)), None)


TABLE = (
    (exp.TableSample, "query-not-repeatable", "{} takes other rows each time: ask all of them."),
    (STATEMENTS, "query-not-a-select", "{} is no part of a SELECT: a rule asks and changes nothing."),
    (ENVIRONMENT, "query-forbidden", "{} reaches beyond the data: remove it."),
    (GENERATORS, "query-too-large", "{} builds values that grow: a query reads what was delivered."),
)
