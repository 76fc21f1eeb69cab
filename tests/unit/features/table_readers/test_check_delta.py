"""`lakegate check --table` of a table of Delta: which rows are judged, and which files are read."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from deltalake import DeltaTable, write_deltalake

from lakegate.base.errors import InputError, LakegateError
from lakegate.cli.main import app
from lakegate.features.table_readers.delta_reader import write_table
from lakegate.local_check.table_readers import TablePlace
from tests.deliveries.tables import add_to_log, added, deletion_vector

CONTRACT = """apiVersion: v3.1.0
kind: DataContract
id: shop
name: Shop
version: 1.0.0
status: active
schema:
- name: orders
  properties:
  - {name: id, logicalType: integer, required: true, primaryKey: true, primaryKeyPosition: 1}
  - {name: state, logicalType: string, required: true, logicalTypeOptions: {pattern: "^[a-z]+$"}}
"""
GOOD = pa.table({"id": pa.array([1, 2], pa.int64()), "state": ["new", "paid"]})
BAD = pa.table({"id": pa.array([3, 4, 5], pa.int64()), "state": ["sent", "BAD", "done"]})


@pytest.fixture
def contract(tmp_path: Path) -> Path:
    document = tmp_path / "shop.odcs.yaml"
    document.write_text(CONTRACT)
    return document


def check(document: Path, *words: str) -> Result:
    return CliRunner().invoke(app, ["check", "--contract", str(document), *words])


def judged(document: Path, *words: str) -> Any:
    ended = check(document, *words, "--json")
    assert ended.exit_code in {0, 1}, ended.output
    return json.loads(ended.stdout)


def refusal(ended: Result) -> LakegateError:
    assert isinstance(ended.exception, LakegateError), ended.output
    return ended.exception


def rows_of(place: Path, folder: Path, snapshot: str | None = None) -> list[dict[str, Any]]:
    """The rows that are judged."""
    file = folder / "rows.parquet"
    write_table(TablePlace(str(place), snapshot), file, {})
    return sorted(pq.read_table(file).to_pylist(), key=lambda row: row["id"])


def test_the_current_version_is_judged_and_named(tmp_path: Path, contract: Path) -> None:
    """By the folder of the table; an earlier version by its number, and no other one."""
    table = tmp_path / "table"
    for part in (GOOD, BAD):
        write_deltalake(table, part, mode="append")
    found = judged(contract, "--table", str(table))

    assert (found["verdict"], found["rows"], found["breaking_rows"]) == ("rejected", 5, 1)
    assert found["inputs"]["files"] == [
        {"file": f"{table} (Delta, version 1)", "size": None, "sha256": None, "snapshot": "1"}
    ]
    assert judged(contract, "--table", str(table), "--snapshot", "0")["verdict"] == "accepted"
    for other in ("7", "main"):
        assert isinstance(refusal(check(contract, "--table", str(table), "--snapshot", other)), InputError)


def test_deleted_rows_are_not_judged(tmp_path: Path, contract: Path) -> None:
    """Those that a writer left out of new files, and those of a deletion vector."""
    table = tmp_path / "table"
    write_deltalake(table, BAD)
    DeltaTable(table).delete("id = 4")
    assert judged(contract, "--table", str(table))["verdict"] == "accepted"

    other = tmp_path / "other"
    write_deltalake(other, BAD)
    features = {"readerFeatures": ["deletionVectors"], "writerFeatures": ["deletionVectors"]}
    (file,) = other.glob("*.parquet")
    add_to_log(
        other,
        {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **features}},
        {"remove": {"path": file.name, "deletionTimestamp": 1, "dataChange": True}},
        added(file.name, file.stat().st_size, deletionVector=deletion_vector(1), stats='{"numRecords": 3}'),
    )
    assert [row["id"] for row in rows_of(other, tmp_path)] == [3, 5]
    found = judged(contract, "--table", str(other))
    assert (found["verdict"], found["rows"]) == ("accepted", 2)


def test_columns_and_partitions_are_those_of_the_current_version(tmp_path: Path) -> None:
    """A column that was added is null in earlier files; the value of a partition stands in the log alone."""
    table = tmp_path / "table"
    write_deltalake(table, GOOD, partition_by=["state"])
    wider = BAD.append_column("added", [["x", "y", "z"]])
    write_deltalake(table, wider, mode="append", schema_mode="merge", partition_by=["state"])

    assert rows_of(table, tmp_path) == [
        {"id": 1, "state": "new", "added": None},
        {"id": 2, "state": "paid", "added": None},
        {"id": 3, "state": "sent", "added": "x"},
        {"id": 4, "state": "BAD", "added": "y"},
        {"id": 5, "state": "done", "added": "z"},
    ]
    assert rows_of(table, tmp_path, "0") == GOOD.to_pylist()


def test_columns_with_physical_names_are_found(tmp_path: Path) -> None:
    """Column mapping: the names of the files are not those of the table."""
    table = tmp_path / "table"
    write_deltalake(table, GOOD)
    log = table / "_delta_log/00000000000000000000.json"
    actions = [json.loads(each) for each in log.read_text().splitlines()]
    for action in actions:
        if "protocol" in action:
            features = {"readerFeatures": ["columnMapping"], "writerFeatures": ["columnMapping"]}
            action["protocol"] = {"minReaderVersion": 3, "minWriterVersion": 7, **features}
        if "metaData" in action:
            schema = json.loads(action["metaData"]["schemaString"])
            for number, (field, name) in enumerate(zip(schema["fields"], ("number", "status"), strict=True), 1):
                physical = {"delta.columnMapping.physicalName": field["name"], "delta.columnMapping.id": number}
                field |= {"name": name, "metadata": physical}
            action["metaData"]["schemaString"] = json.dumps(schema)
            action["metaData"]["configuration"] = {"delta.columnMapping.mode": "name"}
    log.write_text("".join(f"{json.dumps(each)}\n" for each in actions))
    write_table(TablePlace(str(table)), tmp_path / "rows.parquet", {})

    assert pq.read_table(tmp_path / "rows.parquet").to_pylist() == [
        {"number": 1, "status": "new"},
        {"number": 2, "status": "paid"},
    ]


def test_types_are_those_of_the_table(tmp_path: Path) -> None:
    """Each value arrives as it was written, also in nested fields; nulls are nulls."""
    kinds = {
        "id": (pa.int64(), 1),
        "b": (pa.int8(), -5),
        "i": (pa.int32(), -5),
        "f": (pa.float32(), 0.5),
        "d": (pa.float64(), 0.1),
        "price": (pa.decimal128(38, 4), Decimal("1234567890123456789012345678901234.5678")),
        "ok": (pa.bool_(), True),
        "day": (pa.date32(), date(2024, 2, 29)),
        "seen": (pa.timestamp("us", "UTC"), datetime(2024, 2, 29, 12, 0, 0, 1, UTC)),
        "local": (pa.timestamp("us"), datetime(2024, 2, 29, 12, 0, 0, 1)),  # noqa: DTZ001 - without a zone
        "name": (pa.string(), "Größe"),
        "body": (pa.binary(), b"\0\xff"),
        "who": (pa.struct([("a", pa.int64()), ("day", pa.date32())]), {"a": 1, "day": None}),
        "list": (pa.list_(pa.decimal128(9, 2)), [Decimal("0.10"), None]),
        "items": (pa.list_(pa.struct([("a", pa.string())])), [{"a": "x"}, {"a": None}]),
        "map": (pa.map_(pa.string(), pa.int64()), [("k", 1), ("l", None)]),
    }
    nothing = dict.fromkeys(kinds) | {"id": 2}
    full = {name: value for name, (_, value) in kinds.items()}
    columns = pa.schema([(name, kind) for name, (kind, _) in kinds.items()])
    write_deltalake(tmp_path / "table", pa.Table.from_pylist([full, nothing], columns))

    assert rows_of(tmp_path / "table", tmp_path) == [full, nothing]
    found = pq.read_schema(tmp_path / "rows.parquet")
    assert {each.name: each.type for each in found if not pa.types.is_nested(each.type)} == {
        name: kind for name, (kind, _) in kinds.items() if not pa.types.is_nested(kind)
    }


@pytest.mark.parametrize(
    "path",
    [
        "file://OUTSIDE", "OUTSIDE", "../private.parquet", "..%2Fprivate.parquet", "a/../../private.parquet", "link.parquet",
        "http://127.0.0.1:9/private.parquet", "s3://bucket/private.parquet", "%2E%2E/private.parquet",
    ],
)  # fmt: skip
def test_only_files_below_the_folder_of_a_table_are_read(tmp_path: Path, contract: Path, path: str) -> None:
    """The log may name any file of the person, or any address, as that of a shallow clone does: neither is opened."""
    table, outside = tmp_path / "table", tmp_path / "private.parquet"
    write_deltalake(table, GOOD)
    pq.write_table(BAD, outside)
    (table / "link.parquet").symlink_to(outside)
    add_to_log(table, added(path.replace("OUTSIDE", str(outside)), outside.stat().st_size))
    refused = refusal(check(contract, "--table", str(table)))

    assert isinstance(refused, InputError)
    assert "which is not in its folder and is not read: copy the table with all its files" in str(refused)


def test_a_log_elsewhere_is_not_read(tmp_path: Path, contract: Path) -> None:
    """A link in the log would show what another file has, in the text of an error."""
    table, secret = tmp_path / "table", tmp_path / "secret"
    write_deltalake(table, GOOD)
    secret.write_text("password: s3cret\n")
    (table / "_delta_log/00000000000000000001.json").symlink_to(secret)
    refused = refusal(check(contract, "--table", str(table)))

    assert "_delta_log/00000000000000000001.json" in str(refused)
    assert "s3cret" not in str(refused)


@pytest.mark.parametrize("text", ["", "no JSON\n", '{"metaData": 1}\n', "[]\n"])
def test_a_log_that_is_none_is_refused(tmp_path: Path, contract: Path, text: str) -> None:
    """Of any content."""
    (tmp_path / "table/_delta_log").mkdir(parents=True)
    (tmp_path / "table/_delta_log/00000000000000000000.json").write_text(text)

    assert isinstance(refusal(check(contract, "--table", str(tmp_path / "table"))), InputError)


def test_features_that_are_not_read_are_refused_by_name(tmp_path: Path, contract: Path) -> None:
    """What a reader has to know and does not: no row is judged."""
    table = tmp_path / "table"
    write_deltalake(table, GOOD)
    features = {"readerFeatures": ["planted"], "writerFeatures": ["planted"]}
    add_to_log(table, {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **features}})
    refused = refusal(check(contract, "--table", str(table)))

    assert "cannot be read by deltalake" in str(refused)
    assert "planted" in str(refused)


def test_a_file_that_is_lost_is_said(tmp_path: Path, contract: Path) -> None:
    """`VACUUM`, or a hand, has deleted a file of the version."""
    table = tmp_path / "table"
    write_deltalake(table, GOOD)
    (file,) = table.glob("*.parquet")
    file.unlink()

    assert "cannot be read by deltalake" in str(refusal(check(contract, "--table", str(table))))


def test_a_folder_of_a_table_is_not_taken_for_files(tmp_path: Path, contract: Path) -> None:
    """Its files have rows that were deleted or replaced."""
    write_deltalake(tmp_path / "table", GOOD)

    assert "is a table (delta)" in str(refusal(check(contract, str(tmp_path / "table"))))
