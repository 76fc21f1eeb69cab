"""A second implementation of SQL rules: DuckDB runs the contract's own query over rows of text.

A plan contains generated SQL only: `remember` notes the query from which it was compiled; of a rule that is no SQL, the case
says it (`asks`).
"""

from __future__ import annotations

import atexit
from collections.abc import Sequence
from decimal import Decimal
from functools import cache
from typing import Any

import duckdb

from lakegate.contract.contract_model import Contract
from lakegate.contract.logical_types import LogicalType
from lakegate.plan.check import Check, Query
from lakegate.plan.metrics import Metric
from lakegate.plan.plan import Plan, PlanField

TYPES = {
    LogicalType.STRING: "VARCHAR",
    LogicalType.INTEGER: "BIGINT",
    LogicalType.NUMBER: "DOUBLE",
    LogicalType.DECIMAL: "DECIMAL(38, 18)",
    LogicalType.BOOLEAN: "BOOLEAN",
    LogicalType.DATE: "DATE",
    LogicalType.TIME: "VARCHAR",
    LogicalType.TIMESTAMP: "TIMESTAMP",
    LogicalType.BINARY: "VARCHAR",
}
_WRITTEN: dict[Query, str] = {}


def remember(contract: Contract, checks: Sequence[Check]) -> None:
    """Note the SQL from which each query was compiled."""
    rules = [rule for each in contract.datasets for rule in each.rules]
    by_id = {rule.id: str(rule.arguments.get("query") or rule.arguments.get("asks")) for rule in rules}
    _WRITTEN.update(
        {check.query: by_id[check.rule] for check in checks if check.metric is Metric.ANSWER and check.query}
    )


def answer(plan: Plan, check: Check, rows: Sequence[dict[str, str | None]]) -> float | Decimal | int | None:
    """The number that DuckDB returns for a check's query; None if it is null, or there is no row."""
    assert check.query is not None
    return run(plan, rows, _WRITTEN[check.query])


def run(plan: Plan, rows: Sequence[dict[str, str | None]], sql: str) -> Any:
    """The one value that a query returns."""
    columns = [f'"{field.name}" {type_of(field)}' for field in plan.fields]
    database = in_utc()
    database.execute(f'CREATE OR REPLACE TABLE "{plan.dataset}" ({", ".join(columns)})')
    values = [_in_utc(field.type, row[field.name]) for row in rows for field in plan.fields]
    if values:
        places = ", ".join([f"({', '.join('?' * len(columns))})"] * len(rows))
        database.execute(f'INSERT INTO "{plan.dataset}" VALUES {places}', values)  # noqa: S608 - the name is the test's
    found = database.execute(sql.replace("{model}", plan.dataset)).fetchall()
    database.execute(f'DROP TABLE "{plan.dataset}"')
    return found[0][0] if found else None


def type_of(field: PlanField) -> str:
    return f"DECIMAL(38, {field.scale})" if field.type is LogicalType.DECIMAL else TYPES[field.type]


@cache
def in_utc() -> duckdb.DuckDBPyConnection:
    """One for all queries of a process: opening one takes longer than most of them."""
    database = duckdb.connect(":memory:")
    database.execute("SET TimeZone = 'UTC'")
    atexit.register(in_utc.cache_clear)  # else DuckDB prints at the end that it leaks
    return database


def _in_utc(logical: LogicalType, text: str | None) -> str | None:
    return text.removesuffix("Z") if text and logical is LogicalType.TIMESTAMP else text
