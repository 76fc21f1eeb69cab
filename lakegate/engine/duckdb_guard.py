"""Second guard over DuckDB's parse tree; locked connection."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import duckdb

# ---- The second guard: the tree that DuckDB parses ----
# DuckDB writes the tree of one SELECT as JSON without resolving any name. Kinds of nodes, functions and types are in closed
# lists, and every table is a relation of this query or a query of a WITH.


MAX_NODES = 40_000

NODES = frozenset(
    (
        *("ARRAY_EXTRACT", "ASCENDING", "BASE_TABLE", "CASE_EXPR", "COLUMN_REF", "COMPARE_BETWEEN", "COMPARE_EQUAL"),
        *("COMPARE_GREATERTHAN", "COMPARE_GREATERTHANOREQUALTO", "COMPARE_IN", "COMPARE_LESSTHAN"),
        *(
            "COMPARE_LESSTHANOREQUALTO",
            "COMPARE_NOTEQUAL",
            "COMPARE_NOT_DISTINCT_FROM",
            "CONJUNCTION_AND",
            "CONJUNCTION_OR",
        ),
        *("DESCENDING", "DISTINCT_MODIFIER", "EMPTY", "FUNCTION", "JOIN", "LAMBDA", "LIMIT_MODIFIER", "OPERATOR_CAST"),
        *(
            "OPERATOR_COALESCE",
            "OPERATOR_IS_NOT_NULL",
            "OPERATOR_IS_NULL",
            "OPERATOR_NOT",
            "ORDER_MODIFIER",
            "SELECT_NODE",
        ),
        *(
            "SET_OPERATION_NODE",
            "SUBQUERY",
            "TYPE",
            "VALUE_CONSTANT",
            "VALUE_PARAMETER",
            "WINDOW_AGGREGATE",
            "WINDOW_LAG",
        ),
        *("WINDOW_LEAD", "WINDOW_RANK", "WINDOW_RANK_DENSE", "WINDOW_ROW_NUMBER"),
    )
)

FUNCTIONS = frozenset(
    (
        *("%", "*", "+", "-", "/", "//", "||", "~~"),
        *("abs", "avg", "ceil", "chr", "contains", "count", "date_diff", "date_trunc", "day", "dayofweek", "dayofyear"),
        *("dense_rank", "epoch_us", "error", "floor", "greatest", "hour", "isodow", "lag", "lead", "least", "left"),
        *("length", "list_transform", "list_value", "lower", "make_timestamp", "max", "microsecond", "min", "minute"),
        *(
            "month",
            "nullif",
            "pow",
            "quantile_cont",
            "quantile_disc",
            "quarter",
            "rank",
            "regexp_extract",
            "regexp_replace",
        ),
        *("replace", "right", "round", "round_even", "row_number", "second", "sqrt", "starts_with", "stddev_pop"),
        *(
            "stddev_samp",
            "strlen",
            "struct_pack",
            "substring",
            "suffix",
            "sum",
            "to_months",
            "trim",
            "trunc",
            "upper",
            "var_pop",
        ),
        *("var_samp", "weekofyear", "year"),
    )
)

KINDS = frozenset({"bigint", "date", "decimal", "double", "integer", "timestamp", "timestamptz", "varchar"})
JOINS = frozenset({"REGULAR", "CROSS"})
_NAME = re.compile("[rqck][0-9]+|p")
"""Names of relations, of their columns, and of values that are computed once (`lakegate.sql.sql_operators.once`)."""
ABSENT = (
    "sample",
    "at_clause",
    "qualify",
    "schema",
    "schema_name",
    "catalog",
    "catalog_name",
    "column_name_alias",
    "using_columns",
)
"""Parts of nodes that no generated query has."""


def unsafe(connection: duckdb.DuckDBPyConnection, text: str, relations: set[str]) -> str | None:
    """The first part that is in no list; None if the query may run."""
    if "--" in text or "/*" in text:
        return "a comment"
    (written,) = connection.execute("SELECT json_serialize_sql($text)", {"text": text}).fetchall()[0]
    try:
        tree = json.loads(written)
    except RecursionError:
        return "too deep"
    if tree["error"] or len(tree["statements"]) != 1:
        return "no single SELECT"
    nodes = list(_nodes(tree["statements"][0]))
    if len(nodes) > MAX_NODES:
        return "too large"
    named = {each["key"] for node in nodes for each in node.get("cte_map", {}).get("map", ())}
    if named & relations:
        return "a relation is redefined"
    return next((found for node in nodes if (found := _unknown(node, named | relations))), None)


def _unknown(node: dict[str, Any], tables: set[str]) -> str | None:
    """The part of a node that is in no list; None if all of it is."""
    found = (
        node["type"]
        if isinstance(node.get("type"), str) and node["type"] not in NODES and not _is_order(node)
        else None,
        _outside(node.get("function_name"), FUNCTIONS),
        _outside(node["type_name"].lower() if "type_name" in node else None, KINDS),
        _outside(node.get("table_name"), tables),
        _outside(node.get("ref_type"), JOINS),
        *(None if _NAME.fullmatch(each) else each for each in node.get("column_names", ())),
        *(part for part in ABSENT if node.get(part)),
    )
    return next(filter(None, found), None)


def _outside(name: str | None, known: AbstractSet[str]) -> str | None:
    return None if name is None or name in known else name


def _is_order(node: dict[str, Any]) -> bool:
    """Whether a node is a key of an ORDER BY without a direction."""
    return node["type"] == "ORDER_DEFAULT" and "expression" in node


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:  # noqa: ANN401 - JSON
    todo = [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, dict):
            yield node
            todo += node.values()
        elif isinstance(node, list):
            todo += node


# ---- A connection restricted to its own tables ----
# Settings cannot be changed afterwards. They apply to the whole database of the connection, so that it is locked after all
# external data is loaded.


SETTINGS = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "python_enable_replacements": "false",
    "enable_external_access": "false",
    # what an answer depends on
    "TimeZone": "'UTC'",
    "default_collation": "''",
    "error_on_division_by_zero": "true",
    "ieee_floating_point_ops": "true",
    "integer_division": "false",
    "scalar_subquery_error_on_multiple_rows": "true",
}

SPILL, SPILLS = 1 << 30, 8
"""Bytes that queries may write to disk: 1 GiB, and eight times the data. Beyond, a query is an error of its rule."""


def bound_spill(connection: duckdb.DuckDBPyConnection) -> None:
    """Bound the temporary files of a connection by the data that it holds now; nothing, once it is locked."""
    ((is_locked, held, spilled),) = connection.execute(
        "SELECT current_setting('lock_configuration'), sum(memory_usage_bytes), sum(temporary_storage_bytes) FROM duckdb_memory()"
    ).fetchall()
    if not is_locked:
        most = int(spilled) + SPILL + SPILLS * (int(held) + int(spilled))
        connection.execute(f"SET max_temp_directory_size = '{most}B'")


def lock(connection: duckdb.DuckDBPyConnection) -> None:
    """Lock a connection down; a second time changes nothing."""
    (is_locked,) = connection.execute("SELECT current_setting('lock_configuration')").fetchall()[0]
    if is_locked:
        return
    for name, value in SETTINGS.items():
        connection.execute(f"SET {name} = {value}")
    connection.execute("SET lock_configuration = true")
