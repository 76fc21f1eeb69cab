"""`lakegate erase` of a dataset whose accepted rows are also in typed files: both lose the same rows, or neither does."""

from __future__ import annotations

import io
import json
import re
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakegate.gate.delivery.advance import advance
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.effects import run
from lakegate.gate.lake_layout import attempt_prefix
from lakegate.gate.ledger.blocks import Block, Record, deliveries
from lakegate.gate.ledger.restore_object import lost_object
from lakegate.gate.ledger.stored_objects import erasures_of
from lakegate.gate.ports import Address
from lakegate.plan.plan import Plan
from lakegate.plan.result import Columns, Measured, Measurement, Result, Shares, WrittenFile, WrittenObject
from tests.published_schemas import validate
from tests.unit.cli.conftest import Lakegate
from tests.unit.cli.deployed_stack import LAKE
from tests.unit.features.tables.test_table_command import AS_TABLE

LINE = "shop/orders_v1"
SCHEMA = pa.schema([("id", pa.string()), ("amount", pa.int64())])
ROWS = (("a", "1"), ("b", "2"), ("c", "x3"), ("b", "4"), ("e", "5"))
"""As they arrive; the third has a text in the place of its number."""
TYPED = ((("a", 1), ("b", 2)), (("c", None), ("b", 4), ("e", 5)))
"""The same in two typed files."""


def deliver(lakegate: Lakegate, typed: Any = TYPED) -> None:
    """A delivery that is accepted, with its typed files."""
    lines = "".join(f"{identity},{amount}\n" for identity, amount in ROWS)
    workload = lakegate.upload(body=f"id,amount\n{lines}".encode())
    lakegate.intake()
    gate = lakegate.dependencies
    row = gate.workloads.get(workload)
    plan = Plan.from_json(json.loads(gate.plan(row)))
    folder, files = attempt_prefix(row.id, row.attempt), []
    for number, rows in enumerate(typed):
        body = io.BytesIO()
        pq.write_table(
            pa.Table.from_pylist([dict(zip(SCHEMA.names, each, strict=True)) for each in rows], SCHEMA), body
        )
        where = Address(LAKE, f"{folder}/table/part-{number:05}.parquet")
        stored = gate.objects.put(where, body.getvalue())
        files.append(WrittenFile(f"s3://{LAKE}/{where.key}", stored.size, stored.etag, len(rows)))
    measured = tuple(Measurement(each.id, Measured(len(ROWS), 0), Measured(len(ROWS), 0)) for each in plan.checks)
    result = Result(
        *(row.id, row.attempt, plan.digest, row.source.version, len(ROWS)),
        columns=Columns(("id",)),
        measurements=measured,
        typed_files=tuple(files),
    )
    gate.objects.put(Address(LAKE, f"{folder}/result.json"), result.to_bytes())
    run(advance(DeliveryTurn(gate, row)), gate.clock)


@pytest.fixture
def tabled(lakegate: Lakegate) -> Lakegate:
    """A dataset with typed files, of a stack that keeps no tables: nobody is waited for."""
    lakegate.routed(**{"schema:\n": AS_TABLE})
    return lakegate


def block_of(lakegate: Lakegate) -> Block:
    return deliveries(lakegate.dependencies.ledger.blocks(LINE))[0]


def typed(lakegate: Lakegate) -> list[list[tuple[Any, ...]]]:
    """The rows of each typed file that stands, by the ledger."""
    gate = lakegate.dependencies
    erasures, block = erasures_of(gate.ledger.blocks(LINE)), block_of(lakegate)
    versions = {each.key: each for each in (*erasures.objects_of(block), *erasures.added_to(block))}
    found = []
    for file in erasures.table_of(block):
        body = gate.objects.read(Address(LAKE, file.key, versions[file.key].version))
        rows = [tuple(each.values()) for each in pq.read_table(io.BytesIO(body)).to_pylist()]
        assert len(rows) == file.rows
        found.append(rows)
    return found


def stored(lakegate: Lakegate) -> list[str]:
    """Every version of every object of the delivery: its name and its size in rows or bytes."""
    listed = lakegate.clients["s3"].list_object_versions(Bucket=LAKE, Prefix=f"accepted/{LINE}/ingest_date=")
    return [each["Key"].rpartition("/")[2] for each in listed.get("Versions", [])]


def arrived(lakegate: Lakegate) -> str:
    (key,) = [each.key for each in block_of(lakegate).objects if re.match("accepted/.*csv$", each.key)]
    return lakegate.dependencies.objects.read(Address(LAKE, key)).decode().partition("\n")[2]


def records(lakegate: Lakegate) -> list[Record]:
    found = [each for each in lakegate.dependencies.ledger.blocks(LINE) if isinstance(each, Record)]
    for each in found:
        validate(f"record-{each.kind}", dict(each.content))
    return found


def test_rows_leave_what_arrived_and_the_typed_files(tabled: Lakegate) -> None:
    """Each typed file with such rows comes under another key; nothing of before is left, and the chain says what stands."""
    deliver(tabled)
    answer = tabled.json("erase", "orders", "--where-key", "id=b", "--reason", "t", "--yes")
    begun, done = records(tabled)

    assert [(each["rows"], each["erased_rows"], each["left"]) for each in answer["objects"]] == [
        (5, 2, True),
        (2, 1, True),
        (3, 1, True),
    ]
    assert (arrived(tabled), typed(tabled)) == ("a,1\nc,x3\ne,5\n", [[("a", 1)], [("c", None), ("e", 5)]])
    assert (begun.content["rows"], done.content["rows"], len(done.content["table"])) == (2, 2, 2)
    assert sorted(stored(tabled)) == sorted(
        ["part-00000.csv", *(each["left"]["key"].rpartition("/")[2] for each in done.content["table"])]
    )
    assert tabled.json("verify", "orders", "--objects")["intact"]
    (listed,) = tabled.json("get", "orders", str(tabled.folder / "data"))["deliveries"]
    assert [str(each["path"]).rpartition("/")[2] for each in listed["files"]] == ["part-00000.csv"]


def test_a_preview_counts_rows_once_for_a_person(tabled: Lakegate) -> None:
    deliver(tabled)
    refused = tabled("erase", "orders", "--where-key", "id=b", "--reason", "t")

    assert "2 rows of 3 objects of shop/orders_v1 are erased for ever" in str(refused.exception)
    assert (typed(tabled), records(tabled)) == ([list(each) for each in TYPED], [])


def test_what_an_erasure_left_is_erased_by_the_next_one(tabled: Lakegate) -> None:
    """Until no typed file is left of the delivery."""
    deliver(tabled)
    for value, expected in (
        ("b", [[("a", 1)], [("c", None), ("e", 5)]]),
        ("a", [[("c", None), ("e", 5)]]),
        ("e", [[("c", None)]]),
        ("c", []),
    ):
        tabled.ok("erase", "orders", "--where-key", f"id={value}", "--reason", "t", "--yes")
        assert typed(tabled) == expected
        assert tabled.json("verify", "orders", "--objects")["intact"]
    assert stored(tabled) == []


def test_a_text_that_is_no_value_of_its_type_is_found_by_its_row(tabled: Lakegate) -> None:
    """The typed row has a null there: its place says which one it is."""
    deliver(tabled)
    tabled.ok("erase", "orders", "--where-key", "amount=x3", "--reason", "t", "--yes")

    assert (arrived(tabled), typed(tabled)) == ("a,1\nb,2\nb,4\ne,5\n", [[("a", 1), ("b", 2)], [("b", 4), ("e", 5)]])


OTHERS = {
    "another order": ((("b", 2), ("a", 1)), TYPED[1]),
    "another value": (TYPED[0], (("c", None), ("c", 4), ("e", 5))),
}


@pytest.mark.parametrize("rows", OTHERS.values(), ids=OTHERS)
def test_files_that_do_not_agree_are_not_changed_and_are_named(tabled: Lakegate, rows: Any) -> None:
    """Nothing of the delivery is erased by rows; whole it is."""
    deliver(tabled, rows)
    refused = tabled("erase", "orders", "--where-key", "id=b", "--reason", "t", "--yes")

    assert refused.exit_code == 3
    assert "its typed files have other rows with these values than what arrived" in refused.stdout
    assert (typed(tabled), records(tabled)) == ([list(each) for each in rows], [])
    tabled.ok("erase", "orders", "--delivery", block_of(tabled).workload[:12], "--reason", "t", "--yes")
    assert (typed(tabled), stored(tabled)) == ([], [])
    assert tabled.json("verify", "orders", "--objects")["intact"]


def test_a_typed_file_that_an_erasure_left_is_compared_and_can_be_put_back(tabled: Lakegate) -> None:
    """As every object that a block names."""
    deliver(tabled)
    tabled.ok("erase", "orders", "--where-key", "id=b", "--reason", "t", "--yes")
    left = records(tabled)[1].content["table"][0]["left"]
    tabled.clients["s3"].delete_object(Bucket=LAKE, Key=left["key"], VersionId=left["version"])
    found = tabled("verify", "orders", "--objects")

    assert (found.exit_code, found.stdout.count("lost: ")) == (1, 1)
    assert lost_object(tabled.dependencies, left["key"]).stated.version == left["version"]


# ---- Rejected rows, whose typed files have records that may be masked ----


BY_ROWS = AS_TABLE.replace("publishAs: iceberg", "publishAs: iceberg, onReject: rows")
BAD = (b"m,-1", b"broken,b,1", b"b,-2", b"n,-3")
"""Rejected records in the order of the delivery; the second cannot be read."""


@pytest.fixture
def split(lakegate: Lakegate) -> Lakegate:
    """Likewise of a contract that rejects single rows."""
    lakegate.routed(**{"schema:\n": BY_ROWS})
    return lakegate


def deliver_split(lakegate: Lakegate, *, missing: int = 0) -> None:
    """A delivery with two good rows, and the bad ones; `missing`: rows that the second typed file of these does not have."""
    workload = lakegate.upload(body=b"id,amount\na,1\nb,2\n" + b"\n".join(BAD) + b"\n")
    lakegate.intake()
    gate = lakegate.dependencies
    row = gate.workloads.get(workload)
    plan, folder = Plan.from_json(json.loads(gate.plan(row))), attempt_prefix(row.id, row.attempt)

    def kept(name: str, body: bytes) -> tuple[str, int, str]:
        found = gate.objects.put(Address(LAKE, f"{folder}/{name}"), body)
        return f"s3://{LAKE}/{folder}/{name}", found.size, found.etag

    def parquet(rows: pa.Table) -> bytes:
        body = io.BytesIO()
        pq.write_table(rows, body)
        return body.getvalue()

    accepted = parquet(pa.Table.from_pylist([{"id": "a", "amount": 1}, {"id": "b", "amount": 2}], SCHEMA))
    files = []
    for number, names in enumerate(("w", "xyz")):
        table = pa.table({"delivery": [row.id] * len(names), "record": list(names)})
        body = parquet(table.slice(missing * number))
        files.append(WrittenFile(*kept(f"table/rejected-{number:05}.parquet", body), len(names)))
    as_it_came = b"_reasons,id,amount\n" + b"".join(b'"minimum",%s\n' % each for each in BAD)
    shares = Shares(
        (WrittenObject(*kept("rows/accepted/part-00000-x.csv", b"id,amount\na,1\nb,2\n")),),
        (WrittenObject(*kept("rows/rejected/part-00000-y.csv", as_it_came)),),
    )
    typed_file = WrittenFile(*kept("table/part-00000.parquet", accepted), 2)
    measured = tuple(Measurement(each.id, Measured(6, 0), Measured(6, 0)) for each in plan.checks)
    result = Result(
        *(row.id, row.attempt, plan.digest, row.source.version, 6, 4),
        columns=Columns(("id",)),
        measurements=measured,
        shares=shares,
        typed_files=(typed_file,),
        rejected_files=tuple(files),
    )
    gate.objects.put(Address(LAKE, f"{folder}/result.json"), result.to_bytes())
    run(advance(DeliveryTurn(gate, row)), gate.clock)


def rejected_records(lakegate: Lakegate) -> list[list[str]]:
    """The records of each typed file of rejected rows that stands, by the ledger."""
    gate = lakegate.dependencies
    erasures, block = erasures_of(gate.ledger.blocks(LINE)), block_of(lakegate)
    found = []
    for file in erasures.rejected_table_of(block):
        table = pq.read_table(io.BytesIO(gate.objects.read(Address(LAKE, file.key))))
        assert table.num_rows == file.rows
        found.append(table.column("record").to_pylist())
    return found


def quarantined(lakegate: Lakegate) -> list[tuple[str, bytes]]:
    """Every version of what is in quarantine."""
    s3 = lakegate.clients["s3"]
    listed = s3.list_object_versions(Bucket=LAKE, Prefix=f"quarantine/{LINE}/").get("Versions", [])
    return [
        (
            each["Key"].rpartition("/")[2],
            s3.get_object(Bucket=LAKE, Key=each["Key"], VersionId=each["VersionId"])["Body"].read(),
        )
        for each in listed
    ]


def test_rejected_rows_leave_what_was_rejected_and_its_typed_files(split: Lakegate) -> None:
    """By their places: the record may be masked. So do records that cannot be read and have the value."""
    deliver_split(split)
    assert rejected_records(split) == [["w"], ["x", "y", "z"]]
    split.ok("erase", "orders", "--where-key", "id=b", "--reason", "t", "--yes")
    (csv,) = [body for name, body in quarantined(split) if name.endswith(".csv")]

    assert (arrived(split), typed(split)) == ("a,1\n", [[("a", 1)]])
    assert csv.decode().splitlines() == ["_reasons,id,amount", '"minimum",m,-1', '"minimum",n,-3']
    assert rejected_records(split) == [["w"], ["z"]]
    assert len(quarantined(split)) == 3
    assert split.json("verify", "orders", "--objects")["intact"]
    split.ok("erase", "orders", "--where-key", "id=m", "--reason", "t", "--yes")
    split.ok("erase", "orders", "--where-key", "id=n", "--reason", "t", "--yes")
    assert (rejected_records(split), quarantined(split)) == ([], [])
    assert typed(split) == [[("a", 1)]]


def test_rejected_rows_that_do_not_agree_are_not_changed(split: Lakegate) -> None:
    """Accepted ones are erased nevertheless; whole the delivery is."""
    deliver_split(split, missing=1)
    refused = split("erase", "orders", "--where-key", "id=b", "--reason", "t", "--yes")

    assert refused.exit_code == 3
    assert "its typed files have other rows with these values than what arrived" in refused.stdout
    assert (typed(split), len(quarantined(split))) == ([[("a", 1)]], 3)
    split.ok("erase", "orders", "--delivery", block_of(split).workload[:12], "--reason", "t", "--yes")
    assert (rejected_records(split), quarantined(split), typed(split)) == ([], [], [])


def test_rejected_records_stay_where_their_typed_files_are_gone(split: Lakegate) -> None:
    """What cannot leave both leaves none of the two, and is named; accepted rows are erased, and whole the delivery is."""
    deliver_split(split)
    lost = [each for each in block_of(split).objects if "/_table/rejected-" in each.key]
    for each in lost:
        split.clients["s3"].delete_object(Bucket=LAKE, Key=each.key, VersionId=each.version)
    refused = split("erase", "orders", "--where-key", "id=b", "--reason", "t", "--yes")
    (csv,) = [body for name, body in quarantined(split) if name.endswith(".csv")]

    assert (refused.exit_code, len(lost)) == (3, 2)
    assert f"not searched: {lost[0].key}: {lost[0].key} is not there any more" in refused.stdout
    assert (typed(split), arrived(split)) == ([[("a", 1)]], "a,1\n")
    assert [line for line in BAD if line in csv] == list(BAD)
    split.ok("erase", "orders", "--delivery", block_of(split).workload[:12], "--reason", "t", "--yes")
    assert (quarantined(split), typed(split)) == ([], [])
    assert split.json("verify", "orders", "--objects")["intact"]
