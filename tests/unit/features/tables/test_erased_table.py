"""The table of a dataset whose typed files were erased: told, waited for, and rid of old versions of its metadata."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from lakegate.aws.open_stack import DeployedStack, open_deployed
from lakegate.features.tables.erased_table import PATIENCE, ErasedTable, open_table
from lakegate.features.tables.keep_table import BLOCK, DATASET, EXPIRED, HEIGHT
from lakegate.features.tables.table_hints import dataset_in
from tests.fakes.quick_moto import client
from tests.unit.cli.conftest import LAKE, Lakegate
from tests.unit.features.tables.test_table_command import KEY, add_database, add_table

LINE = "shop/orders_v1"
ERASED = {"accepted/x": 5, "accepted/y": 7}
"""Erased typed files, by the heights of the records."""


class PassingTime:
    """A clock by which time passes at once, and something happens meanwhile."""

    def __init__(self, of: Any, happens: Any) -> None:
        self.of, self.happens, self.slept = of, happens, 0.0

    def now(self) -> Any:
        return self.of.now().fromtimestamp(1_800_000_000 + self.slept, self.of.now().tzinfo)

    def sleep(self, seconds: float) -> None:
        self.slept += seconds
        self.happens()


@pytest.fixture
def opened(lakegate: Lakegate, monkeypatch: pytest.MonkeyPatch) -> ErasedTable:
    """The table of a dataset, as `lakegate erase` opens it; it is not there yet."""
    address = client("sqs").create_queue(QueueName="tables")["QueueUrl"]
    monkeypatch.setattr(DeployedStack, "resource", lambda _, logical: {"TableQueue": address}[logical])
    add_database(lakegate)
    with open_deployed() as there:
        found = open_table(there, LINE)
    assert found is not None
    return found


def write(lakegate: Lakegate, height: int, **more: str) -> None:
    """The metadata of the table, as it is at a height."""
    properties = {DATASET: LINE, HEIGHT: str(height), BLOCK: "d", **more}
    body = json.dumps({"properties": properties, "snapshots": []}).encode()
    lakegate.clients["s3"].put_object(Bucket=LAKE, Key=KEY, Body=body)


def hints() -> list[object]:
    address = client("sqs").get_queue_url(QueueName="tables")["QueueUrl"]
    found = client("sqs").receive_message(QueueUrl=address, MaxNumberOfMessages=10).get("Messages", [])
    return [dataset_in({"body": each["Body"]}) for each in found]


def test_a_stack_without_tables_has_none_to_wait_for(lakegate: Lakegate) -> None:
    with open_deployed() as there:
        assert open_table(there, LINE) is None
    assert lakegate


def test_a_table_that_is_not_there_shows_nothing(opened: ErasedTable) -> None:
    assert opened.follows(ERASED)
    assert hints() == []


def test_a_table_that_is_not_of_the_dataset_shows_nothing_of_it(lakegate: Lakegate, opened: ErasedTable) -> None:
    """The table function does not touch it either."""
    add_table(lakegate)
    write(lakegate, 3, **{DATASET: "shop/other_v1"})

    assert opened.follows(ERASED)


def test_a_table_that_shows_the_height_is_asked_once(lakegate: Lakegate, opened: ErasedTable) -> None:
    add_table(lakegate)
    write(lakegate, 7)

    assert opened.follows(ERASED)
    assert hints() == []


@pytest.mark.parametrize("left", [{}, {EXPIRED: "s3://lake/tables/x"}], ids=["behind", "not cleared"])
def test_a_table_that_is_behind_is_told_and_waited_for(
    lakegate: Lakegate, opened: ErasedTable, left: dict[str, str]
) -> None:
    """Until it shows the height, and nothing of the snapshots before is left."""
    add_table(lakegate)
    write(lakegate, 7 if left else 6, **left)
    clock = PassingTime(opened.gate.clock, lambda: write(lakegate, 8))

    assert replace(opened, gate=replace(opened.gate, clock=clock)).follows(ERASED)
    assert hints() == [LINE]


def test_a_table_that_stays_behind_is_left(lakegate: Lakegate, opened: ErasedTable) -> None:
    """Such as one that another program has changed: after five minutes the command says so."""
    add_table(lakegate)
    write(lakegate, 6)
    clock = PassingTime(opened.gate.clock, int)

    assert not replace(opened, gate=replace(opened.gate, clock=clock)).follows(ERASED)
    assert clock.slept >= PATIENCE.total_seconds()


def test_versions_of_metadata_that_were_deleted_are_not_used(lakegate: Lakegate, opened: ErasedTable) -> None:
    """A delete marker leaves the version below it; what is current stays, whoever wrote it."""
    s3 = lakegate.clients["s3"]
    for name in ("a.avro", "b.avro"):
        s3.put_object(Bucket=LAKE, Key=f"tables/{LINE}/metadata/{name}", Body=b"x")
    s3.put_object(Bucket=LAKE, Key="tables/shop/orders_v10/metadata/a.avro", Body=b"x")
    for key in (f"tables/{LINE}/metadata/a.avro", "tables/shop/orders_v10/metadata/a.avro"):
        s3.delete_object(Bucket=LAKE, Key=key)

    assert [each.key for each in opened.unused()] == [f"tables/{LINE}/metadata/a.avro"]


def test_the_table_of_rejected_rows_is_waited_for_where_rows_of_it_are_erased(
    lakegate: Lakegate, opened: ErasedTable
) -> None:
    """And only then; what is deleted below it is deleted for ever, too."""
    add_table(lakegate)
    write(lakegate, 7)
    folder, glue = f"quarantine/{LINE}/_table/metadata", client("glue")
    parameters = {"table_type": "ICEBERG", "metadata_location": f"s3://{LAKE}/{folder}/1.metadata.json"}
    table = {"Name": "shop_orders_v1_rejected", "Parameters": parameters}
    glue.create_table(DatabaseName="accepted", TableInput=table)
    s3 = lakegate.clients["s3"]

    def show(height: int) -> None:
        properties = {DATASET: LINE, HEIGHT: str(height), BLOCK: "d"}
        s3.put_object(
            Bucket=LAKE, Key=f"{folder}/1.metadata.json", Body=json.dumps({"properties": properties}).encode()
        )

    show(3)
    clock = PassingTime(opened.gate.clock, lambda: show(8))
    waiting = replace(opened, gate=replace(opened.gate, clock=clock))
    assert (waiting.follows(ERASED), clock.slept) == (True, 0)
    assert (waiting.follows(ERASED | {"quarantine/z": 8}), clock.slept > 0) == (True, True)
    s3.put_object(Bucket=LAKE, Key=f"{folder}/a.avro", Body=b"x")
    s3.delete_object(Bucket=LAKE, Key=f"{folder}/a.avro")
    assert {each.key for each in opened.unused()} == {f"{folder}/a.avro", f"{folder}/1.metadata.json", KEY}
