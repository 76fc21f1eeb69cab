"""Rows of a query over accepted data: as an independent evaluator has them, in one order, or refused with a reason."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.engine.read.data_source import LocalStore
from lakegate.features.derived.derive_again import are_same_rows, derive_again
from lakegate.verdict.verdict import judge
from tests.deliveries.delivery import request_for, rule
from tests.deliveries.derived import derived, derived_plan, input_of, rows_of
from tests.reference.sampling import sampled

ORDERS = {"id": "integer", "buyer": "string", "amount": "decimal", "at": "timestamp"}
BUYERS = {"buyer": "string", "town": "string"}
BY_BUYER = derived_plan(
    "SELECT buyer, count(*) AS orders, sum(amount) AS spent FROM orders GROUP BY buyer",
    {"buyer": "string", "orders": "integer", "spent": "decimal"},
    orders=ORDERS,
)
BY_TOWN = derived_plan(
    "SELECT b.town, CAST(o.at AS DATE) AS day, max(o.amount) AS most FROM orders o LEFT JOIN buyers b ON o.buyer = b.buyer "
    "GROUP BY b.town, CAST(o.at AS DATE)",
    {"town": "string", "day": "date", "most": "decimal"},
    orders=ORDERS,
    buyers=BUYERS,
)
TYPES = ORDERS | {"day": "date", "ratio": "number", "is_large": "boolean"}
OF_TYPES = derived_plan(
    "SELECT id, buyer, amount, at, CAST(at AS DATE) AS day, CAST(amount AS DOUBLE) / 3 AS ratio, amount > 2 AS is_large "
    "FROM orders WHERE buyer <> 'x''y' OR buyer IS NULL",
    TYPES,
    orders=ORDERS,
)
DELIVERIES = (
    b"id,buyer,amount,at\n3,b,1.5,2026-01-01T00:00:00.123456Z\n1,a,2.25,2026-01-02T23:59:59Z\n",
    "id,buyer,amount,at\n2,é,-3,2026-01-01T00:00:00+02:00\n4,,,\n5,x'y,1,\n".encode(),
)
Order = tuple[str, Decimal, int]
ORDER = st.tuples(st.sampled_from("abc"), st.decimals(-999, 999, places=2), st.integers(0, 3))


def orders(rows: list[Order], first: int = 0) -> bytes:
    """A delivery of orders: buyer, amount, and a day of January."""
    lines = (
        f"{first + at},{buyer},{amount},2026-01-{day + 1:02}T10:00:00Z\n"
        for at, (buyer, amount, day) in enumerate(rows)
    )
    return f"id,buyer,amount,at\n{''.join(lines)}".encode()


@sampled(15, 500)
@given(st.lists(st.lists(ORDER, max_size=6), min_size=1, max_size=4))
def test_an_aggregate_over_several_deliveries(deliveries: list[list[Order]]) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        given_orders = input_of(folder, "orders", ORDERS, *map(orders, deliveries))
        found = rows_of(derived(BY_BUYER, folder / "own", given_orders))

    by_buyer = defaultdict[str, list[Decimal]](list)
    for buyer, amount, _ in (each for rows in deliveries for each in rows):
        by_buyer[buyer].append(amount)
    expected = [
        {"buyer": buyer, "orders": len(amounts), "spent": sum(amounts)} for buyer, amounts in sorted(by_buyer.items())
    ]
    assert found == expected


@sampled(15, 500)
@given(st.lists(ORDER, max_size=8), st.dictionaries(st.sampled_from("abd"), st.sampled_from(["x", "y"]), max_size=3))
def test_a_join_of_two_inputs(rows: list[Order], towns: dict[str, str]) -> None:
    """What has no partner has a null, which comes first."""
    buyers = "".join(f"{buyer},{town}\n" for buyer, town in towns.items())
    with TemporaryDirectory() as name:
        folder = Path(name)
        references = (
            input_of(folder, "orders", ORDERS, orders(rows)),
            input_of(folder, "buyers", BUYERS, f"buyer,town\n{buyers}".encode()),
        )
        found = rows_of(derived(BY_TOWN, folder / "own", *references))

    most: dict[tuple[str | None, dt.date], Decimal] = {}
    for buyer, amount, day in rows:
        key = towns.get(buyer), dt.date(2026, 1, day + 1)
        most[key] = max(most.get(key, amount), amount)
    order = sorted(most, key=lambda each: (each[0] is not None, each[0] or "", each[1]))
    assert found == [{"town": town, "day": day, "most": most[town, day]} for town, day in order]


def test_every_type_is_written_as_the_contract_has_it(tmp_path: Path) -> None:
    """Nulls come first in the order of rows; moments are in UTC."""
    found = input_of(tmp_path, "orders", ORDERS, *DELIVERIES)
    rows = rows_of(derived(OF_TYPES, tmp_path / "own", found))

    first = dt.datetime(2026, 1, 2, 23, 59, 59, tzinfo=dt.UTC)
    assert [each["id"] for each in rows] == [1, 2, 3, 4]
    assert rows[0] == {
        "id": 1,
        "buyer": "a",
        "amount": Decimal("2.25"),
        "at": first,
        "day": first.date(),
        "ratio": 0.75,
        "is_large": True,
    }
    assert rows[1]["at"] == dt.datetime(2025, 12, 31, 22, tzinfo=dt.UTC)
    assert rows[3] == {"id": 4} | dict.fromkeys(("buyer", "amount", "at", "day", "ratio", "is_large"))


def test_an_input_of_which_everything_was_taken_back_has_no_rows(tmp_path: Path) -> None:
    result = derived(BY_BUYER, tmp_path / "own", input_of(tmp_path, "orders", ORDERS))

    assert (result.unreadable, rows_of(result)) == (None, [])


@pytest.mark.parametrize(
    ("query", "body", "code"),
    [
        ("SELECT 10 // id AS x FROM orders", b"0,a,1,\n", "query-failed"),
        ("SELECT CAST(buyer AS BIGINT) AS x FROM orders", b"1,a,1,\n", "query-failed"),
        ("SELECT id * 999999999999999999 AS x FROM orders", b"99,a,1,\n", "query-failed"),
    ],
)
def test_a_query_that_fails_rejects_the_delivery_without_a_value(
    tmp_path: Path, query: str, body: bytes, code: str
) -> None:
    """Nothing is published, and the reason names remedies."""
    plan = derived_plan(query, {"x": "integer"}, orders=ORDERS)
    found = input_of(tmp_path, "orders", ORDERS, b"id,buyer,amount,at\n" + body)
    result = derived(plan, tmp_path / "own", found)

    assert result.unreadable is not None
    assert (result.unreadable.code, result.derived, judge(plan, result).verdict.value) == (code, (), "rejected")
    assert "TRY_CAST" in result.unreadable.message


def test_an_input_that_never_had_anything_is_an_error(tmp_path: Path) -> None:
    """Or one that is not shared any more: an empty result would replace what was accepted before."""
    result = derived(BY_BUYER, tmp_path / "own", input_of(tmp_path, "orders", ORDERS, height=-1))
    without = derived(BY_BUYER, tmp_path / "without")

    assert [each.unreadable and each.unreadable.code for each in (result, without)] == ["input-absent"] * 2


def test_an_input_that_is_damaged_is_an_error(tmp_path: Path) -> None:
    found = input_of(tmp_path, "orders", ORDERS, orders([("a", Decimal(1), 1)]))
    (tmp_path / "orders-0").unlink()
    result = derived(BY_BUYER, tmp_path / "own", found)

    assert result.unreadable is not None
    assert result.unreadable.code == "input-unread"


def test_the_rules_of_the_contract_judge_the_rows(tmp_path: Path) -> None:
    """A field that is null breaks its rule, as in any delivery."""
    plan = derived_plan(
        "SELECT buyer, id FROM orders", {"buyer": "string", "id": "integer"}, rule("required", "buyer"), orders=ORDERS
    )
    found = input_of(tmp_path, "orders", ORDERS, b"id,buyer,amount,at\n1,,1,\n")
    result = derived(plan, tmp_path / "own", found)

    assert rows_of(result) == [{"buyer": None, "id": 1}]
    assert [each.rule for each in judge(plan, result).reasons] == ["required"]


def test_rows_that_were_altered_are_found(tmp_path: Path) -> None:
    """The query is run again; rows, their order and their number are compared, and not the bytes of the file."""
    found = input_of(tmp_path, "orders", ORDERS, *DELIVERIES)
    stored = Path(urlsplit(derived(OF_TYPES, tmp_path / "own", found).derived[0].uri).path)
    request = replace(request_for(OF_TYPES, tmp_path, b"{}"), references=(found,))
    again = derive_again(request, OF_TYPES, tmp_path, LocalStore())
    table = pq.read_table(stored)
    others = {
        "divided": table,
        "shorter": table.slice(0, 3),
        "sorted": table.take([1, 0, 2, 3]),
        "altered": table.set_column(0, "id", [[1, 2, 3, 5]]),
    }
    for name, each in others.items():
        pq.write_table(each, tmp_path / name, row_group_size=1 if name == "divided" else None)

    assert are_same_rows([stored], again)
    assert [name for name in others if are_same_rows([tmp_path / name], again)] == ["divided"]
