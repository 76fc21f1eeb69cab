"""The cases of queries and references, natively: what is measured is what the reference evaluator measures."""

from __future__ import annotations

import duckdb
import pytest

from lakegate.base.errors import InputError
from lakegate.contract.contract_model import Contract, Dataset, Field, Origin, Rule
from lakegate.contract.file_formats import Csv
from lakegate.contract.logical_types import LogicalType
from lakegate.engine import duckdb_queries
from lakegate.engine.duckdb_queries import Accepted, QueryTables
from lakegate.plan.check import QueryColumn
from lakegate.plan.metrics import Metric
from lakegate.plan.plan import Plan
from lakegate.plan.request import AcceptedPart, Reference
from lakegate.plan.result import Measured, Measurement
from lakegate.rules.compile_plan import compile_plan
from lakegate.verdict.measured_values import UNREAD, seconds_each, why_not_compared
from tests.reference.cases import Case, good_cases
from tests.reference.evaluator import measure
from tests.unit.engine.test_duckdb_queries import NOW, answer_all, answers, judged, nothing_accepted

QUERY_METRICS = (Metric.ANSWER, Metric.UNMATCHED_ROWS)
CASES = [case for case in good_cases() if any(check.query for check in case.plan.checks)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_case_is_measured_as_by_the_reference(case: Case) -> None:
    """Counts, keys and answers of every case of `sql` and `foreignKey` are those of the reference evaluator."""
    plan = case.plan
    with_query = tuple(check for check in plan.checks if check.query)
    rows = [dict(zip(case.header, row, strict=True)) for row in case.rows]
    found = answer_all(judged(plan, rows), with_query, QueryTables(plan, NOW, "judged", nothing_accepted))
    expected = {each.check: each for each in measure(plan, case.header, list(enumerate_rows(case))).measurements}

    assert [(each.accept, each.error, each.skip) for each in found] == [
        (expected[each.check].accept, expected[each.check].error, expected[each.check].skip) for each in found
    ]


def enumerate_rows(case: Case) -> list[tuple[str | None, ...]]:
    return list(case.rows)


ORDERS, LINES = "shop/orders_v1", "shop/lines_v1"
PART = AcceptedPart("file:///x", 1, "file:///plan", "0" * 64)


def dataset(name: str, fields: dict[str, str], *rules: Rule) -> Dataset:
    columns = tuple(Field(field, LogicalType(logical), Origin("$")) for field, logical in fields.items())
    return Dataset(name, columns, rules, Origin("$"), csv=Csv())


def lines(*rules: Rule) -> Plan:
    orders = dataset("orders", {"id": "integer", "shop": "string"})
    own = dataset(
        "lines", {"order_id": "integer", "shop": "string", "line": "string", "above": "string", "at": "time"}, *rules
    )
    return compile_plan(Contract("shop", "1.2.0", "test", (orders, own)), own)


def key(*fields: str, to: str) -> Rule:
    return Rule("fk", "foreignKey", Origin("$"), fields, {"to": to})


NOWHERE = "SELECT count(*) FROM lines l WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.id = l.order_id)"
DELIVERY: list[dict[str, str | None]] = [
    {"order_id": "1", "shop": "a", "line": "L1", "above": None, "at": "12:00:00.000000000"},
    {"order_id": "2", "shop": "b", "line": "L2", "above": "L1", "at": "13:00:00.000000000"},
    {"order_id": None, "shop": "a", "line": "L3", "above": "L9", "at": None},
    {"order_id": "7", "shop": "b", "line": "L4", "above": None, "at": "14:00:00.000000000"},
]


def found(plan: Plan, rows: dict[str, list[tuple[object, ...]]], *references: Reference) -> Measurement:
    """The outcome of the last check of a plan, with these accepted rows by line."""
    database = judged(plan, DELIVERY)

    def accepted(line: str, columns: tuple[QueryColumn, ...]) -> str:
        given = ", ".join(f"c{at}" for at in range(len(columns)))
        values = ", ".join(f"({', '.join('?' * len(columns))})" for _ in rows[line])
        flat = [value for row in rows[line] for value in row]
        database.execute(f"CREATE TABLE accepted AS SELECT * FROM (VALUES {values}) t({given})", flat)  # noqa: S608 - of the test
        return "accepted"

    return answer_all(database, plan.checks, QueryTables(plan, NOW, "judged", accepted, references))[-1]


@pytest.mark.parametrize(
    ("rule", "rows", "measured"),
    [
        (key("order_id", to="orders.id"), [(1,), (3,), (1,), (None,)], Measured(of=3, failing=2)),
        (key("order_id", "shop", to="orders.id,orders.shop"), [(1, "a"), (2, "a"), (7, None)], Measured(of=3, failing=2)),
        (key("at", to="lakegate://other/days_v2/opens"), [("12:00:00.000000000",)], Measured(of=3, failing=2)),
        (
            Rule("q", "sql", Origin("$"), (), {"query": NOWHERE, "mustBe": 3}),
            [(2,), (1,)],
            None,
        ),
    ],
)  # fmt: skip
def test_keys_are_looked_for_in_what_was_accepted(
    rule: Rule, rows: list[tuple[object, ...]], measured: Measured | None
) -> None:
    """Whole keys are compared, with as many columns as the reference has; keys with a null refer to nothing."""
    line = "other/days_v2" if rule.fields == ("at",) else ORDERS
    answer = found(lines(rule), {line: rows}, Reference(line, 0, (PART,)))

    assert answer.error is None
    if measured is not None:
        assert answer.accept == measured
    else:
        assert answer.accept is not None
        assert answer.accept.exact == 2


@pytest.mark.parametrize(("limit", "rows"), [(0, ()), (1, (1,)), (5, (1, 3))])
def test_rows_without_a_match_are_listed(limit: int, rows: tuple[int, ...]) -> None:
    """The answer contains the ids of the first rows whose key does not exist, at most the requested number."""
    plan = lines(key("order_id", to="orders.id"))
    database = judged(plan, DELIVERY)
    database.execute("ALTER TABLE judged ADD COLUMN id BIGINT")
    database.execute("UPDATE judged SET id = rowid")

    def accepted(_line: str, _columns: tuple[QueryColumn, ...]) -> str:
        database.execute("CREATE TABLE accepted AS SELECT 1 AS c0")
        return "accepted"

    tables = QueryTables(plan, NOW, "judged", accepted, (Reference(ORDERS, 0, (PART,)),))

    assert duckdb_queries.run_queries(database, plan.checks, tables, rows=limit)[-1].rows == rows


def test_where_nothing_was_accepted_the_check_is_named() -> None:
    """A dataset of which nothing has been accepted, or nothing was given, is never a silent pass: the check is a skip."""
    plan = lines(key("order_id", to="orders.id"))

    assert found(plan, {}, Reference(ORDERS, -1, ())).skip == f"nothing of {ORDERS} has been accepted yet"
    assert found(plan, {}).skip == f"no accepted data of {ORDERS} was given to compare with"
    assert why_not_compared((), []) is None


def test_a_dataset_that_refers_to_itself_is_its_delivery_and_what_was_accepted() -> None:
    """The key of a parent may stand in the same delivery, or in one that was accepted before."""
    plan = lines(key("above", to="lines.line"))
    alone = found(plan, {}, Reference(LINES, -1, ()))
    beside = found(plan, {LINES: [("L9",)]}, Reference(LINES, 0, (PART,)))

    assert (alone.accept, beside.accept) == (Measured(of=2, failing=1), Measured(of=2, failing=0))


def test_accepted_data_that_cannot_be_read_is_an_error() -> None:
    """An object that differs from the ledger gives its checks an error; it is read once, and other checks are measured."""
    plan = lines(
        key("order_id", to="orders.id"),
        key("order_id", to="orders.id"),
        Rule("q", "sql", Origin("$"), (), {"query": "SELECT count(*) FROM lines", "mustBe": 4}),
    )
    tried = []

    def unreadable(line: str, columns: tuple[QueryColumn, ...]) -> str:
        tried.append((line, columns))
        raise InputError("an object changed")

    references = (Reference(ORDERS, 0, (PART,)),)
    measured = answer_all(judged(plan, DELIVERY), plan.checks, QueryTables(plan, NOW, "judged", unreadable, references))

    assert [each.error for each in measured] == [UNREAD, UNREAD, None]
    assert len(tried) == 1


def test_queries_share_their_time() -> None:
    """Each query has ten minutes, or its share of half an hour where there are more than three."""
    assert [seconds_each(count) for count in (0, 1, 3, 6)] == [600, 600, 600, 300]


def test_a_connection_is_locked_once() -> None:
    """Queries may use a connection that is already locked, and a table whose name contains quotes."""
    plan = lines(Rule("q", "sql", Origin("$"), (), {"query": "SELECT count(line) FROM lines", "mustBe": 4}))
    database = judged(plan, DELIVERY)
    database.execute('ALTER TABLE judged RENAME TO "jud""ged"')
    tables = QueryTables(plan, NOW, 'jud"ged', nothing_accepted)

    assert answer_all(database, plan.checks, tables) == answer_all(database, plan.checks, tables)
    with pytest.raises(duckdb.InvalidInputException):
        database.execute("SET threads = 1")


def test_the_parts_of_a_test_are_used() -> None:
    """Accepted data that a plan does not name is not loaded."""
    plan = lines(Rule("q", "sql", Origin("$"), (), {"query": "SELECT count(*) FROM lines", "mustBe": 4}))
    accept: Accepted = nothing_accepted

    assert answers(plan, DELIVERY, accept)["q"].accept is not None
