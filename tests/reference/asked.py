"""The second engine of SQL rules: DuckDB, asked the contract's own words about rows of text.

The evaluator is given a plan, and a plan holds Spark's words alone: whoever compiles a case remembers here what it was made from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import duckdb

from lakegate.contracts.model.types import LogicalType
from lakegate.contracts.plan.metrics import Metric

if TYPE_CHECKING:
    from collections.abc import Sequence
    from decimal import Decimal

    from lakegate.contracts.model.contract import Contract
    from lakegate.contracts.plan.check import Check
    from lakegate.contracts.plan.plan import Plan
    from lakegate.contracts.plan.query import Query

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
    """Which SQL each query was made from."""
    by_id = {rule.id: str(rule.arguments.get("query")) for each in contract.datasets for rule in each.rules}
    _WRITTEN.update(
        {check.query: by_id[check.rule] for check in checks if check.metric is Metric.ANSWER and check.query}
    )


def answer(plan: Plan, check: Check, rows: Sequence[dict[str, str | None]]) -> float | Decimal | int | None:
    """What DuckDB answers to a check's query; None where it is null, or there is no row."""
    assert check.query is not None
    return ask(plan, rows, _WRITTEN[check.query])


def ask(plan: Plan, rows: Sequence[dict[str, str | None]], sql: str) -> Any:
    """The one value that DuckDB answers with."""
    columns = [f'"{field.name}" {TYPES[field.type]}' for field in plan.fields]
    with duckdb.connect(":memory:") as database:
        database.execute("SET TimeZone = 'UTC'")
        database.execute(f'CREATE TABLE "{plan.dataset}" ({", ".join(columns)})')
        values = [_in_utc(field.type, row[field.name]) for row in rows for field in plan.fields]
        if values:
            places = ", ".join([f"({', '.join('?' * len(columns))})"] * len(rows))
            database.execute(f'INSERT INTO "{plan.dataset}" VALUES {places}', values)  # noqa: S608 - the name is the test's
        found = database.execute(sql.replace("{model}", plan.dataset)).fetchall()
    return found[0][0] if found else None


def _in_utc(logical: LogicalType, text: str | None) -> str | None:
    return text.removesuffix("Z") if text and logical is LogicalType.TIMESTAMP else text
