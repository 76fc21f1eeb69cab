"""lakegate table: what a table shows, and the statements that read it."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp, parse_one

from lakegate.features.tables.keep_table import TableKind, table_name
from lakegate.features.tables.table_command import STATEMENTS, ReadingProgram
from tests.fakes.quick_moto import client
from tests.unit.cli.conftest import LAKE, Lakegate

if TYPE_CHECKING:
    from click.testing import Result as CliResult

AS_TABLE = "customProperties: [{property: lakegate, value: {publishAs: iceberg}}]\nschema:\n"
KEY = "tables/shop/orders_v1/metadata/2.metadata.json"


def snapshot(identity: int, **summary: str) -> dict[str, Any]:
    """As a table that was made again has it: each has the time of its block, and all are of one second."""
    return {"snapshot-id": identity, "timestamp-ms": 1_800_000_000_000, "summary": summary}


def of_block(height: int, minute: int) -> dict[str, str]:
    time = f"2027-01-15T08:{minute:02}:00.000000Z"
    return {"operation": "append", "lakegate.height": str(height), "lakegate.time": time}


SNAPSHOTS = [snapshot(11, **of_block(0, 0)), snapshot(12, operation="replace"), snapshot(13, **of_block(3, 2))]


def add_database(lakegate: Lakegate) -> None:
    """The stack is deployed again, with a database for tables."""
    cloudformation = lakegate.clients["cloudformation"]
    template = cloudformation.get_template(StackName="lakegate")["TemplateBody"]
    template["Outputs"]["TableDatabase"] = {"Value": "accepted"}
    cloudformation.update_stack(StackName="lakegate", TemplateBody=json.dumps(template))


def add_table(lakegate: Lakegate) -> None:
    """What the function that keeps tables leaves: a table of Glue, whose newest metadata is in the lake."""
    glue = client("glue")
    glue.create_database(DatabaseInput={"Name": "accepted"})
    parameters = {"table_type": "ICEBERG", "metadata_location": f"s3://{LAKE}/{KEY}"}
    glue.create_table(DatabaseName="accepted", TableInput={"Name": "shop_orders_v1", "Parameters": parameters})
    lakegate.clients["s3"].put_object(Bucket=LAKE, Key=KEY, Body=json.dumps({"snapshots": SNAPSHOTS}).encode())


def words(refused: CliResult) -> str:
    return str(refused.exception)


@pytest.fixture
def tabled(lakegate: Lakegate) -> Lakegate:
    """A stack with a database for tables, and a contract that is published as one."""
    lakegate.routed(**{"schema:\n": AS_TABLE})
    add_database(lakegate)
    return lakegate


@pytest.mark.parametrize(
    ("dataset", "name"),
    [
        ("shop/orders_v1", "shop_orders_v1"),
        ("5f0c-8A/Größe_v2", "5f0c_8a_gr_e_v2_813d7b0b69753115"),
        ("a/b_c_v1", "a_b_c_v1"),
        ("a_b/c_v1", "a_b_c_v1_e885ee960a366dfe"),
        (f"{'a.' * 400}/c_v1", f"{'a_' * 100}_25f156ad4887dbcc"),
    ],
)
def test_the_name_of_a_table_is_one_that_every_catalog_takes_and_no_other_dataset_has(dataset: str, name: str) -> None:
    assert table_name(dataset) == name


NAMES = st.builds("{}/{}_v{}".format, *(st.text("ab_-.A", min_size=1, max_size=4),) * 2, st.integers(1, 12))


@given(st.lists(NAMES, unique=True, min_size=2, max_size=20))
def test_no_two_datasets_have_one_table(datasets: list[str]) -> None:
    """Whatever owners call their contracts; catalogs take small letters, digits and underscores."""
    names = [table_name(each, kind) for each in datasets for kind in TableKind]

    assert len(set(names)) == len(names)
    assert all(re.fullmatch("[a-z0-9_]{1,255}", each) for each in names)


def test_a_table_is_shown_with_the_statement_of_each_program(tabled: Lakegate) -> None:
    """Its height is that of the newest snapshot of a block; a compaction in between has none."""
    add_table(tabled)
    shown = tabled.json("table", "orders")
    statements = shown.pop("statements")

    assert shown == {
        "line": "shop/orders_v1",
        "database": "accepted",
        "table": "shop_orders_v1",
        "rows": "accepted",
        "height": 3,
        "snapshot": 13,
        "time": "2027-01-15T08:02:00.000000Z",
        "lacks": 0,
    }
    assert sorted(statements) == ["athena", "duckdb", "pandas", "spark", "trino"]
    assert statements["athena"] == 'SELECT * FROM "accepted"."shop_orders_v1";'
    assert all("accepted" in text and "shop_orders_v1" in text for text in statements.values())
    words = tabled.ok("table", "orders")
    assert words.startswith(
        "shop/orders_v1 is the table accepted.shop_orders_v1 (Iceberg, in the Glue catalog): as of height 3"
    )
    assert all(f"  {line}" in words for text in statements.values() for line in text.splitlines())


@pytest.mark.parametrize("program", sorted(STATEMENTS.keys() - {ReadingProgram.PANDAS}))
def test_a_statement_reads_a_table_whose_name_begins_with_a_digit(program: ReadingProgram) -> None:
    """As that of a contract whose id is a UUID."""
    text, at = STATEMENTS[program]
    words = {"database": "2026", "table": "5f0c8a52_orders_v1", "account": "1", "at": at.format(snapshot=7)}
    statement = text.format(**words).split(";")[-2]
    if program is ReadingProgram.DUCKDB:
        assert len(duckdb.extract_statements(statement)) == 1
    else:
        (table,) = parse_one(statement, dialect=program.value).find_all(exp.Table)
        assert [each.name for each in table.parts[-2:]] == ["2026", "5f0c8a52_orders_v1"]
        assert all(each.quoted for each in table.parts[-2:])


@pytest.mark.parametrize(("height", "snapshot_id"), [(0, 11), (2, 11), (3, 13)])
def test_a_table_is_read_as_it_was_at_a_height(tabled: Lakegate, height: int, snapshot_id: int) -> None:
    add_table(tabled)
    found = tabled.json("table", "orders", "--height", str(height), "--for", "trino")

    text = found["statements"].pop("trino")
    assert text.endswith(f'."shop_orders_v1" FOR VERSION AS OF {snapshot_id};')
    assert found["statements"] == {}


@pytest.mark.parametrize(
    ("at", "snapshot_id"), [("2027-01-15T08:00", 11), ("2027-01-15T08:01:59", 11), ("2027-01-16", 13)]
)
def test_a_table_is_read_as_it_was_at_a_time(tabled: Lakegate, at: str, snapshot_id: int) -> None:
    """By the time of acceptance, which the ledger has."""
    add_table(tabled)

    assert tabled.json("table", "orders", "--at", at)["snapshot"] == snapshot_id


def test_a_state_that_a_table_does_not_keep_is_named(tabled: Lakegate) -> None:
    add_table(tabled)
    refused = tabled("table", "orders", "--at", "2027-01-15")

    assert words(refused) == (
        "the table of shop/orders_v1 has no snapshot of then: the first that it keeps is of height 0, "
        "2027-01-15T08:00:00.000000Z; `lakegate log shop/orders_v1` names every delivery"
    )


def test_whole_numbers_with_gaps_stay_whole_in_pandas(tabled: Lakegate) -> None:
    """And decimals stay decimals: the frame has the types of Arrow. The statement runs on a table as pyiceberg has it."""
    add_table(tabled)
    text = tabled.json("table", "orders", "--for", "pandas", "--height", "0")["statements"]["pandas"]
    rows = pa.table({"id": pa.array([2**53 + 1, None]), "price": pa.array([Decimal("1.10"), None])})
    asked: list[dict[str, Any]] = []

    class Scanned:
        def load_table(self, _name: str) -> Scanned:
            return self

        def scan(self, **wanted: Any) -> Scanned:
            asked.append(wanted)
            return self

        def to_pandas(self, **given_: Any) -> Any:
            return rows.to_pandas(**given_)

    own: dict[str, Any] = {"load_catalog": lambda *_, **__: Scanned()}
    exec(text.replace("from pyiceberg.catalog import load_catalog\n", ""), own)  # noqa: S102 - a statement of our own

    assert asked == [{"snapshot_id": 11}]
    assert [str(each) for each in own["frame"].dtypes] == ["int64[pyarrow]", "decimal128(3, 2)[pyarrow]"]
    assert own["frame"]["id"][0] == 2**53 + 1


def test_a_table_without_deliveries_has_its_statements_already(tabled: Lakegate) -> None:
    client("glue").create_database(DatabaseInput={"Name": "accepted"})

    assert "It is made with the first delivery" in tabled.ok("table", "orders")
    refused = tabled("table", "orders", "--height", "0")
    assert words(refused) == "shop/orders_v1 has no block of height 0: the newest is -1"


def test_a_dataset_or_stack_without_tables_says_what_is_to_be_done(lakegate: Lakegate) -> None:
    lakegate.routed()
    no_database = lakegate("table", "orders")
    add_database(lakegate)
    no_table = lakegate("table", "orders")

    assert "deploy it with TableDatabase=NAME" in words(no_database)
    assert "say `publishAs: iceberg` in its contract" in words(no_table)


def test_rejected_rows_are_a_table_of_their_own(lakegate: Lakegate) -> None:
    """Where the contract rejects single rows; its metadata is where rejected data is."""
    by_rows = AS_TABLE.replace("publishAs: iceberg", "publishAs: iceberg, onReject: rows")
    lakegate.routed(**{"schema:\n": by_rows})
    add_database(lakegate)
    add_table(lakegate)
    key = "quarantine/shop/orders_v1/_table/metadata/1.metadata.json"
    parameters = {"table_type": "ICEBERG", "metadata_location": f"s3://{LAKE}/{key}"}
    table = {"Name": "shop_orders_v1_rejected", "Parameters": parameters}
    client("glue").create_table(DatabaseName="accepted", TableInput=table)
    body = json.dumps({"snapshots": [snapshot(21, **of_block(1, 1))]}).encode()
    lakegate.clients["s3"].put_object(Bucket=LAKE, Key=key, Body=body)
    shown = lakegate.json("table", "orders", "--rejected", "--for", "athena")

    assert (shown["table"], shown["rows"], shown["height"], shown["snapshot"]) == (
        "shop_orders_v1_rejected",
        "rejected",
        1,
        21,
    )
    assert shown["statements"] == {"athena": 'SELECT * FROM "accepted"."shop_orders_v1_rejected";'}
    assert lakegate.ok("table", "orders", "--rejected").startswith(
        "Rejected rows of shop/orders_v1 are the table accepted.shop_orders_v1_rejected (Iceberg, in the Glue catalog): as of"
    )


def test_a_contract_that_rejects_whole_deliveries_has_no_table_of_rejected_rows(tabled: Lakegate) -> None:
    assert words(tabled("table", "orders", "--rejected")) == (
        "rejected rows of shop/orders_v1 are no table: say `onReject: rows` in its contract, too"
    )
