"""The second guard, which knows nothing of the first: what DuckDB itself parsed of a query, looked at before it is asked.

DuckDB writes the tree of one SELECT as JSON and looks nothing up for it. Every node of that tree is of a kind in a closed list, every
function and every type is too, and every table is one of the relations of this query or a query of a WITH.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb

MOST_NODES = 40_000
NODES = frozenset(
    (
        *("ARRAY_EXTRACT", "ASCENDING", "BASE_TABLE", "CASE_EXPR", "COLUMN_REF", "COMPARE_BETWEEN", "COMPARE_EQUAL"),
        *("COMPARE_GREATERTHAN", "COMPARE_GREATERTHANOREQUALTO", "COMPARE_IN", "COMPARE_LESSTHAN"),
        *("COMPARE_LESSTHANOREQUALTO", "COMPARE_NOTEQUAL", "COMPARE_NOT_DISTINCT_FROM", "CONJUNCTION_AND", "CONJUNCTION_OR"),
        *("DESCENDING", "DISTINCT_MODIFIER", "EMPTY", "FUNCTION", "JOIN", "LAMBDA", "LIMIT_MODIFIER", "OPERATOR_CAST"),
        *("OPERATOR_COALESCE", "OPERATOR_IS_NOT_NULL", "OPERATOR_IS_NULL", "OPERATOR_NOT", "ORDER_MODIFIER", "SELECT_NODE"),
        *("SET_OPERATION_NODE", "SUBQUERY", "TYPE", "VALUE_CONSTANT", "VALUE_PARAMETER", "WINDOW_AGGREGATE", "WINDOW_LAG"),
        *("WINDOW_LEAD", "WINDOW_RANK", "WINDOW_RANK_DENSE", "WINDOW_ROW_NUMBER"),
    )
)
FUNCTIONS = frozenset(
    (
        *("%", "*", "+", "-", "/", "//", "||", "~~"),
        *("abs", "avg", "ceil", "chr", "contains", "count", "date_diff", "date_trunc", "day", "dayofweek", "dayofyear"),
        *("dense_rank", "epoch_us", "error", "floor", "greatest", "hour", "isodow", "lag", "lead", "least", "left"),
        *("length", "list_transform", "list_value", "lower", "make_timestamp", "max", "microsecond", "min", "minute"),
        *("month", "pow", "quantile_cont", "quantile_disc", "quarter", "rank", "regexp_extract", "regexp_replace"),
        *("replace", "right", "round", "round_even", "row_number", "second", "sqrt", "starts_with", "stddev_pop"),
        *("stddev_samp", "struct_pack", "substring", "suffix", "sum", "to_months", "trim", "trunc", "upper", "var_pop"),
        *("var_samp", "weekofyear", "year"),
    )
)
KINDS = frozenset({"bigint", "date", "decimal", "double", "integer", "timestamp", "varchar"})
ABSENT = ("sample", "at_clause", "qualify", "schema", "schema_name", "catalog", "catalog_name", "column_name_alias", "using_columns")
"""Parts of nodes that no query of ours has."""


def unsafe(connection: duckdb.DuckDBPyConnection, text: str, relations: set[str]) -> str | None:
    """What stands in no list, if there is something; None where the query may be asked."""
    (written,) = connection.execute("SELECT json_serialize_sql($text)", {"text": text}).fetchall()[0]
    tree = json.loads(written)
    if tree["error"] or len(tree["statements"]) != 1:
        return "no single SELECT"
    nodes = list(_nodes(tree["statements"][0]))
    if len(nodes) > MOST_NODES:
        return "too large"
    named = {each["key"] for node in nodes for each in node.get("cte_map", {}).get("map", ())}
    if named & relations:
        return "a relation named anew"
    return next((found for node in nodes if (found := _unknown(node, named | relations))), None)


def kinds_of(connection: duckdb.DuckDBPyConnection, text: str) -> set[str]:
    """The kinds of nodes, the functions and the types that a query is made of."""
    (written,) = connection.execute("SELECT json_serialize_sql($text)", {"text": text}).fetchall()[0]
    nodes = list(_nodes(json.loads(written)["statements"][0]))
    return {str(node[key]).lower() if key == "type_name" else node[key] for node in nodes for key in _NAMING if node.get(key)}


_NAMING = ("type", "function_name", "type_name")


def _unknown(node: dict[str, Any], tables: set[str]) -> str | None:
    kind, function = node.get("type"), node.get("function_name")
    if isinstance(kind, str) and kind not in NODES and not _is_order(node):
        return kind
    if function is not None and function not in FUNCTIONS:
        return str(function)
    if "type_name" in node and str(node["type_name"]).lower() not in KINDS:
        return str(node["type_name"])
    if "table_name" in node and node["table_name"] not in tables:
        return str(node["table_name"])
    return next((part for part in ABSENT if node.get(part)), None)


def _is_order(node: dict[str, Any]) -> bool:
    """Whether a node is a key of an order that says nothing of its direction."""
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
