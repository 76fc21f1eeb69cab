"""The corpus of functions and operators in ten dialects, with the rows that they are asked of and what they give."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

DIALECTS = (
    *("athena", "bigquery", "databricks", "duckdb", "mysql", "postgres", "redshift", "snowflake", "sqlserver", "trino"),
)
BY_DIALECT: list[dict[str, Any]] = yaml.load(Path(__file__).with_name("dialects.yaml").read_text(), yaml.CSafeLoader)
FOUR = [
    {"id": "a", "placed": "2024-01-07T03:04:05.25Z", "day": "2024-01-07", "total": "7", "weight": "2.26"}
    | {"price": "10.05", "status": "Ab c", "paid": "true"},
    {"id": "b", "placed": "2024-02-29T23:59:59Z", "day": "2024-03-01", "total": "-7", "weight": "-2.26"}
    | {"price": "0.00", "status": "x@y.de", "paid": "false"},
    {"id": "c", "placed": None, "day": "2023-12-31", "total": None, "weight": "1000"}
    | {"price": None, "status": None, "paid": None},
    {"id": "d", "placed": "2023-12-31T00:00:00Z", "day": None, "total": "2", "weight": None}
    | {"price": "3.50", "status": " x ", "paid": "true"},
]


def of_dialect(values: dict[str, Any], dialect: str, other: object = None) -> Any:
    """The value for a dialect, from keys that name several, else another one."""
    return next((value for names, value in values.items() if dialect in names.split()), other)


def spelled(case: dict[str, Any], dialect: str) -> str:
    """The query of a case in a dialect."""
    sql: str = of_dialect(case.get("spelled", {}), dialect, case["sql"])
    if sql.startswith(("SELECT", "WITH")):
        return sql
    return f"SELECT count(*) FROM orders {sql}" if sql.startswith("WHERE") else f"SELECT {sql} FROM orders"  # noqa: S608 - translated


def expected(case: dict[str, Any], dialect: str) -> str:
    """The result of a case in a dialect."""
    return str(of_dialect(case.get("but", {}), dialect, case["is"]))
