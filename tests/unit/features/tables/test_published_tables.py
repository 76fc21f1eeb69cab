"""Deliveries with typed files: what is published, listed and recorded, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lakegate.base.errors import InputError
from lakegate.contract.delivery_policy import OnReject, Policy
from lakegate.features.erasure.rows_to_erase import whole_deliveries
from lakegate.features.tables.table_publisher import PUBLISHER
from lakegate.features.validator_api.validation_run import data_at
from lakegate.gate.datasets.accepted_deliveries import newest_accepted
from lakegate.gate.datasets.readers_manifest import whole
from lakegate.gate.delivery.advance import advance
from lakegate.gate.delivery.attempt_request import PublishedRows
from lakegate.gate.delivery.delivery_row import Decision, FailureCause, Workload
from lakegate.gate.delivery.find_deliveries import find_delivery, places_of
from lakegate.gate.delivery.protocol import State
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.lake_layout import destination_key, is_published, manifest_key
from lakegate.gate.ledger.blocks import Block, LedgerObject, TableFile, digest, from_json, to_json
from lakegate.gate.ledger.compare_objects import Damage, compared_objects
from lakegate.gate.ports import Address
from lakegate.local_check.quarantined_data import accepted_files
from lakegate.plan.plan import Plan
from lakegate.plan.result import MalformedRecords, Result, WrittenFile
from lakegate.transfer.download_files import compared_files, deliveries, head_of
from tests.decisions import waive
from tests.published_schemas import validate
from tests.simulation.contract import PLANS, block_digest
from tests.simulation.environment import BATCHES, LAKE, LINE, PREFIX, Environment
from tests.simulation.promises import manifest_deliveries
from tests.simulation.stage import Fault, Stage, settle
from tests.simulation.typed import typed_plan, with_typed_files
from tests.unit.gate.scenarios import alarm_of, answered, drive, swapped


@pytest.fixture(autouse=True)
def _typed() -> Iterator[None]:
    with with_typed_files():
        yield


def settled(*bodies: bytes, **stack: Any) -> Environment:
    """A stack whose deliveries all ended."""
    env = Environment(**stack)
    for number, body in enumerate(bodies):
        env.upload(f"{PREFIX}{number}.csv", body)
    settle(Stage(env, lambda _: Fault.NONE))
    return env


def rows(env: Environment) -> list[Workload]:
    return [env.memory.workloads[each.workload] for each in env.uploads]


def blocks(env: Environment) -> list[Block]:
    found = env.dependencies.ledger.blocks(LINE)
    return [each for each in found if isinstance(each, Block)]


def key(row: Workload, name: str, share: str = "accepted") -> str:
    assert row.pin is not None
    return destination_key(share, row.pin, row.id, name)


TYPED = ("_table/part-00000.parquet", "_table/part-00001.parquet")


def test_typed_files_are_published_beside_what_arrived() -> None:
    """The block lists them with their rows; manifest, references and corrections have what arrived alone."""
    env = settled(b"good:1")
    ((row,), (block,)) = (rows(env), blocks(env))
    original, first, second = (key(row, name) for name in ("part-00000.csv", *TYPED))
    (listed,) = manifest_deliveries(env.lake, manifest_key(LINE)) or []
    (accepted,) = newest_accepted(env.dependencies, LINE, 9)

    assert block.table == (TableFile(first, 4), TableFile(second, 2))
    assert [each.key for each in block.objects] == [first, second, original]
    assert [env.memory.objects.read(Address(LAKE, each.key)) for each in block.objects] == [
        b"typed:good",
        b"typed::1",
        b"good:1",
    ]
    assert [each["key"] for each in listed["objects"]] == [original]
    assert (listed["format"], listed["published_rows"], listed["rejected_rows"]) == ("csv", 6, 0)
    validate("manifest", json.loads(env.memory.objects.read(Address(LAKE, manifest_key(LINE)))))
    assert [each.key for each in accepted.objects] == [original]
    assert [each.key for each in accepted_files(env.dependencies, block)] == [original]
    assert (from_json(to_json(block)), digest(block)) == (block, block_digest(block))
    assert [each for each in env.memory.objects.current(LAKE, "runs/") if "/table/" in each] == []


def test_downloads_have_what_arrived_and_are_whole_without_typed_files(tmp_path: Path) -> None:
    """`get` brings what the manifest lists, and `verify --data` asks for no more."""
    env = settled(b"good:1", b"split:12")
    manifest = whole(env.dependencies, head_of(env.dependencies, LINE), -1)
    places = [each.place for one in deliveries(manifest, -1) for each in one.files]
    asked = compared_files(tmp_path, LINE, env.dependencies.ledger.blocks(LINE))

    assert [each.rpartition("/")[2] for each in places] == ["part-00000.csv", "accepted-00000.csv"]
    assert (asked.count, [each.file for each in asked.damaged]) == (2, places)


def test_the_places_of_a_delivery_are_those_of_its_files() -> None:
    """Typed files are the table's: who downloads what is accepted gets what arrived."""
    env = settled(b"good:1")
    (row,) = rows(env)
    (place,) = places_of(env.dependencies, find_delivery(env.dependencies, row.id, 0))

    assert place.endswith(f"/workload={row.id}/part-00000.csv")


def test_a_typed_file_that_is_lost_or_altered_is_found() -> None:
    """`verify --objects` compares it as every object of the block, and no such file is taken for a foreign one."""
    env = settled(b"good:1")
    (block,) = blocks(env)
    first, second = (each.key for each in block.table or ())

    assert compared_objects(env.dependencies, LINE, 0, lambda _: None).damaged == ()
    env.memory.objects.delete(Address(LAKE, first, block.objects[0].version))
    swapped(env, second, b"typed:xx")
    found = compared_objects(env.dependencies, LINE, 0, lambda _: None).damaged
    assert [(each.damage, each.key) for each in found] == [(Damage.LOST, first), (Damage.REPLACED, second)]


def test_only_the_block_says_which_objects_are_the_tables() -> None:
    """An object that a producer, or a job, named like a typed file is what consumers read."""
    env = settled(b"good:1")
    (block,) = blocks(env)
    other = block.objects[0].key.replace("part-00000", "part-00002")
    named = replace(block, objects=(*block.objects, LedgerObject(other, "v", 1, "")))

    assert [is_published(named, each.key) for each in named.objects] == [False, False, True, True]
    assert [is_published(replace(block, table=None), each.key) for each in block.objects] == [True] * 3


REJECTED = "_table/rejected-00000.parquet"


def test_of_a_split_rejected_rows_are_typed_in_quarantine() -> None:
    """Beside what was rejected as it arrived; who reads accepted data gets neither."""
    env = settled(b"split:12")
    ((row,), (block,)) = (rows(env), blocks(env))

    assert [(each.key, each.rows) for each in block.table or ()] == [(key(row, TYPED[0]), 4), (key(row, TYPED[1]), 3)]
    assert block.rejected_table == (TableFile(key(row, REJECTED, "quarantine"), 1),)
    assert [each.key for each in block.objects] == [
        *(key(row, name) for name in (*TYPED, "accepted-00000.csv")),
        *(key(row, name, "quarantine") for name in (REJECTED, "rejected-00000.csv")),
    ]
    assert [is_published(block, each.key) for each in block.objects] == [False, False, True, False, False]
    assert [
        each.rpartition("/")[2] for each in places_of(env.dependencies, find_delivery(env.dependencies, row.id, 0))
    ] == ["accepted-00000.csv", "rejected-00000.csv"]
    assert (from_json(to_json(block)), digest(block)) == (block, block_digest(block))
    (listed,) = manifest_deliveries(env.lake, manifest_key(LINE)) or []
    assert (listed["published_rows"], listed["rejected_rows"]) == (7, 1)


@pytest.mark.parametrize("stack", [{"batch": BATCHES}, {"judge": True}], ids=["batch", "function"])
def test_deliveries_of_a_table_wait_for_no_other(stack: dict[str, Any]) -> None:
    """They share a run, or are judged by the function; all are published by their first attempt."""
    env = settled(b"good:1", b"good:2", b"bad:1", **stack)

    assert [each.state for each in rows(env)] == [State.PUBLISHED, State.PUBLISHED, State.QUARANTINED]
    assert [each.failed for each in rows(env)] == [()] * 3
    assert len(env.memory.jobs.runs) == (2 if "batch" in stack else 4)
    assert sorted(each.table is not None for each in blocks(env)) == [False, True, True]


def changed(body: bytes, **change: Any) -> tuple[Environment, Workload]:
    """A delivery with a result, whose first typed file is listed otherwise; None leaves it out."""
    env, row = answered(body)
    where = f"runs/{row.id}/attempt=1/result.json"
    document = json.loads(env.memory.objects.read(Address(LAKE, where)))
    document["typed_files"][0] |= change
    swapped(env, where, json.dumps(document).encode())
    return env, row


@pytest.mark.parametrize(
    "change",
    [{"rows": 3}, {"uri": f"s3://{LAKE}/x/part-00001.parquet"}, {"uri": f"s3://{LAKE}/x/part-00002.parquet"}],
    ids=["not all rows", "the same name", "out of order"],
)
def test_a_result_without_all_typed_rows_is_the_jobs_failure(change: dict[str, Any]) -> None:
    """The attempt is lost."""
    env, row = changed(b"good:1", **change)
    drive(env.dependencies, advance(DeliveryTurn(env.dependencies, row)))

    assert [each.cause for each in env.memory.workloads[row.id].failed] == [FailureCause.WRONG_RESULT]


def test_a_result_without_all_rejected_rows_is_the_jobs_failure() -> None:
    """Nor may there be rejected rows of a contract that rejects whole deliveries."""
    env, row = answered(b"split:12")
    where = f"runs/{row.id}/attempt=1/result.json"
    result = Result.from_bytes(env.memory.objects.read(Address(LAKE, where)))
    plan, decision = Plan.from_bytes(typed_plan(PLANS["1.0.0"])), Decision("accepted")
    whole = replace(plan, policy=replace(plan.policy, on_reject=OnReject.FILE))

    assert PUBLISHER.decided(plan, result, row, decision) == decision
    with pytest.raises(InputError, match="or not of all its rows"):
        PUBLISHER.decided(plan, replace(result, rejected_files=()), row, decision)
    with pytest.raises(InputError, match="or not of all its rows"):
        PUBLISHER.decided(whole, replace(result, rows=7), row, decision)


@pytest.mark.parametrize(
    ("change", "code"),
    [({"uri": f"s3://{LAKE}/staging/part-00000.parquet"}, "rows-elsewhere"), ({"size": 999}, "rows-differ")],
)
def test_a_typed_file_that_is_not_as_listed_raises_an_alarm(change: dict[str, Any], code: str) -> None:
    """A job can only have written what is below its own attempt."""
    assert alarm_of(*changed(b"good:1", **change)) == code


def test_typed_files_of_a_plan_without_them_are_the_jobs_failure() -> None:
    """Whoever may write results cannot add files to a table that its contract does not publish."""
    env, row = answered(b"bad:1")
    where = f"runs/{row.id}/attempt=1/result.json"
    result = Result.from_bytes(env.memory.objects.read(Address(LAKE, where)))
    found = replace(result, typed_files=(WrittenFile(f"s3://{LAKE}/x", 1, "e", 1),))
    plan = Plan.from_bytes(typed_plan(PLANS["1.0.0"]))
    decision = Decision("accepted")

    with pytest.raises(InputError, match="typed files of a delivery that has none"):
        PUBLISHER.decided(replace(plan, policy=Policy()), found, row, decision)
    assert PUBLISHER.decided(replace(plan, policy=Policy()), result, row, decision) == decision


def test_records_that_cannot_be_read_have_no_typed_rows() -> None:
    """Where the whole file is accepted nevertheless, rows that break a rule have, and such records have none."""
    env, row = answered(b"bad:1")
    result = Result.from_bytes(env.memory.objects.read(Address(LAKE, f"runs/{row.id}/attempt=1/result.json")))
    plan = Plan.from_bytes(typed_plan(PLANS["1.0.0"]))
    plan = replace(plan, policy=replace(plan.policy, on_reject=OnReject.FILE))
    malformed = (MalformedRecords("fields", 2, 1), MalformedRecords("quotes", 1, 3))
    found = replace(result, rows=9, rejected_rows=5, malformed=malformed)
    files = (WrittenFile("s3://lake/a", 1, "e", 4), WrittenFile("s3://lake/b", 1, "e", 2))

    assert PUBLISHER.decided(plan, replace(found, typed_files=files), row, Decision("accepted")) == Decision("accepted")
    with pytest.raises(InputError, match="or not of all its rows"):
        PUBLISHER.decided(plan, replace(found, typed_files=files[:1]), row, Decision("accepted"))


def test_an_accepted_delivery_without_rows_has_an_empty_list() -> None:
    """Its block says that it is of a table, and adds nothing to it."""
    (row,) = rows(settled(b"good:1"))
    result = Result("w", 1, "0" * 64, "v", rows=0)

    assert PUBLISHER.listed(row, result) == PublishedRows(table=())
    block = replace(blocks(settled(b"good:1"))[0], table=())
    assert (from_json(to_json(block)), digest(block)) == (block, block_digest(block))
    assert '"table":[]' in to_json(block)


def test_all_of_a_delivery_is_erased_with_its_typed_files() -> None:
    """Unread; what was rejected whole has none."""
    env = settled(b"good:1", b"bad:1", b"split:1")
    found = [whole_deliveries(env.dependencies, LINE, (row.id,)).hits for row in rows(env)]

    assert [[(each.key.rpartition("/")[2], each.is_typed) for each in hits] for hits in found] == [
        [("part-00000.parquet", True), ("part-00001.parquet", True), ("part-00000.csv", False)],
        [("part-00000.csv", False)],
        [
            ("part-00000.parquet", True),
            ("part-00001.parquet", True),
            ("accepted-00000.csv", False),
            ("rejected-00000.parquet", True),
            ("rejected-00000.csv", False),
        ],
    ]


def test_a_rejected_delivery_of_a_table_is_not_waived() -> None:
    """No typed file was written of it."""
    env = settled(b"bad:1")
    with pytest.raises(InputError, match="publishes typed files, and none were written of it"):
        drive(env.dependencies, waive(env.dependencies, rows(env)[0].id, "why", "2026-01-06T12:00:00Z"))


def test_a_validation_reads_what_arrived() -> None:
    """Typed files are other objects of the same folder."""
    env = settled(b"good:1", b"bad:1")
    accepted, rejected = rows(env)

    for row, share in ((accepted, "accepted"), (rejected, "quarantine")):
        found = data_at(env.dependencies, row.id, lambda _: True)
        assert [each.uri for each in found.parts] == [f"s3://{LAKE}/{key(row, 'part-00000.csv', share)}"]
