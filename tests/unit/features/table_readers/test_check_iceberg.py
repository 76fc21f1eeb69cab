"""`lakegate check --table` of a table of Iceberg: which rows are judged, and which files are read."""

from __future__ import annotations

import gzip
import json
import sys
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from pyiceberg import catalog as pyiceberg_catalog
from pyiceberg.manifest import DataFileContent
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import LongType, StringType
from pyiceberg.utils.config import Config

from lakegate.base.errors import InputError, LakegateError, SetUpError
from lakegate.base.extension_points import advice
from lakegate.cli.main import app
from lakegate.features.table_readers.iceberg_reader import write_table
from lakegate.local_check.table_readers import TablePlace
from tests.deliveries.tables import NAME, add_deletes, add_file, catalog_in, deleted_positions, folder_of, iceberg_table

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


def rows_of(place: str, folder: Path, snapshot: str | None = None) -> list[dict[str, Any]]:
    """The rows that are judged."""
    file = folder / "rows.parquet"
    write_table(TablePlace(place, snapshot), file, {})
    return sorted(pq.read_table(file).to_pylist(), key=lambda row: row["id"])


# ---- Which rows ----


def test_the_current_snapshot_is_judged_and_named(tmp_path: Path, contract: Path) -> None:
    """By the folder of the table and by its metadata file; the report says which snapshot."""
    table = iceberg_table(tmp_path / "lake", GOOD, BAD)
    snapshot = str(table.metadata.current_snapshot_id)
    for place in (str(folder_of(table)), f"{folder_of(table)}/", table.metadata_location.removeprefix("file://")):
        found = judged(contract, "--table", place)
        (file,) = found["inputs"]["files"]

        assert (found["verdict"], found["rows"], found["breaking_rows"]) == ("rejected", 5, 1)
        assert file == {
            "file": f"{place} (Iceberg, snapshot {snapshot})", "size": None, "sha256": None, "snapshot": snapshot
        }  # fmt: skip
    assert f"(Iceberg, snapshot {snapshot})" in " ".join(check(contract, "--table", place).output.split())


def test_an_earlier_snapshot_a_branch_and_a_tag_are_judged(tmp_path: Path, contract: Path) -> None:
    """The id of a snapshot, or the name of a branch or tag; none of another table."""
    table = iceberg_table(tmp_path / "lake", GOOD)
    first = str(table.metadata.current_snapshot_id)
    with table.manage_snapshots() as refs:
        refs.create_tag(int(first), "release").create_branch(int(first), "audit")
    table.append(BAD, branch="audit")
    place = str(folder_of(table))

    assert judged(contract, "--table", place)["verdict"] == "accepted"
    assert judged(contract, "--table", place, "--snapshot", "audit")["rows"] == 5
    assert judged(contract, "--table", place, "--snapshot", "release")["rows"] == 2
    assert judged(contract, "--table", place, "--snapshot", first)["rows"] == 2
    for unknown in ("other", "17"):
        refused = refusal(check(contract, "--table", place, "--snapshot", unknown))
        assert f"no snapshot, branch or tag `{unknown}`: its branches and tags are audit, main, release" in str(refused)


def test_a_table_without_a_snapshot_is_empty(tmp_path: Path, contract: Path) -> None:
    """It is judged as an empty file is."""
    table = catalog_in(tmp_path / "lake").create_table(NAME, GOOD.schema)
    found = judged(contract, "--table", str(folder_of(table)))

    assert (found["verdict"], found["rows"]) == ("rejected", 0)
    assert found["inputs"]["files"][0]["file"].endswith("(Iceberg, without a snapshot)")


def test_deleted_rows_are_not_judged(tmp_path: Path, contract: Path) -> None:
    """Those that a file of positions names; and those that a rewrite left out."""
    table = iceberg_table(tmp_path / "lake", BAD)
    add_deletes(table, deleted_positions(table, 1), DataFileContent.POSITION_DELETES)
    found = judged(contract, "--table", str(folder_of(table)))
    assert (found["verdict"], found["rows"]) == ("accepted", 2)

    rewritten = iceberg_table(tmp_path / "other", BAD)
    rewritten.delete("id = 4")
    assert [row["id"] for row in rows_of(str(folder_of(rewritten)), tmp_path)] == [3, 5]


def test_equality_deletes_are_refused_by_name(tmp_path: Path, contract: Path) -> None:
    """They are not applied by pyiceberg: rows that are deleted would be judged."""
    table = iceberg_table(tmp_path / "lake", BAD)
    field = pa.field("id", pa.int64(), metadata={"PARQUET:field_id": "1"})
    add_deletes(table, pa.table({"id": [4]}, schema=pa.schema([field])), DataFileContent.EQUALITY_DELETES, [1])
    refused = refusal(check(contract, "--table", str(folder_of(table))))

    assert isinstance(refused, InputError)
    assert "does not yet support equality deletes" in str(refused)


def test_columns_are_those_of_the_current_schema(tmp_path: Path) -> None:
    """A column that was renamed, added, widened or dropped after rows were written is found by its id, or is null."""
    table = iceberg_table(
        tmp_path / "lake", GOOD.append_column("n", pa.array([1, 2], pa.int32())).append_column("x", [["a", "b"]])
    )
    with table.update_schema() as schema:
        schema.rename_column("state", "status").add_column("added", StringType()).update_column(
            "n", LongType()
        ).delete_column("x")
    table.append(pa.table({"id": [3], "status": ["new"], "n": [2**40], "added": ["yes"]}))

    assert rows_of(str(folder_of(table)), tmp_path) == [
        {"id": 1, "status": "new", "n": 1, "added": None},
        {"id": 2, "status": "paid", "n": 2, "added": None},
        {"id": 3, "status": "new", "n": 2**40, "added": "yes"},
    ]
    assert pq.read_schema(tmp_path / "rows.parquet").field("n").type == pa.int64()
    first = str(table.metadata.snapshots[0].snapshot_id)
    assert rows_of(str(folder_of(table)), tmp_path, first)[0] == {"id": 1, "state": "new", "n": 1, "x": "a"}


def test_rows_of_every_partitioning_are_judged(tmp_path: Path) -> None:
    """Written before the table was partitioned, and after; the column of the partition has its values in both."""
    table = iceberg_table(tmp_path / "lake", GOOD)
    with table.update_spec() as spec:
        spec.add_field("state", IdentityTransform())
    table.append(BAD)

    assert [(row["id"], row["state"]) for row in rows_of(str(folder_of(table)), tmp_path)] == [
        (1, "new"), (2, "paid"), (3, "sent"), (4, "BAD"), (5, "done")
    ]  # fmt: skip


def test_types_are_those_of_the_table(tmp_path: Path) -> None:
    """Each value arrives as it was written, in Parquet's own type for it, also in nested fields; nulls are nulls."""
    kinds = {
        "id": (pa.int64(), 1),
        "i": (pa.int32(), -5),
        "f": (pa.float32(), 0.5),
        "d": (pa.float64(), 0.1),
        "price": (pa.decimal128(38, 4), Decimal("1234567890123456789012345678901234.5678")),
        "ok": (pa.bool_(), True),
        "day": (pa.date32(), date(2024, 2, 29)),
        "t": (pa.time64("us"), time(23, 59, 59, 999999)),
        "seen": (pa.timestamp("us", "UTC"), datetime(2024, 2, 29, 12, 0, 0, 1, UTC)),
        "local": (pa.timestamp("us"), datetime(2024, 2, 29, 12, 0, 0, 1)),  # noqa: DTZ001 - without a zone
        "name": (pa.string(), "Größe"),
        "body": (pa.binary(), b"\0\xff"),
        "key": (pa.uuid(), UUID(int=7)),
        "fixed": (pa.binary(4), b"abcd"),
        "who": (pa.struct([("a", pa.int64()), ("day", pa.date32())]), {"a": 1, "day": None}),
        "list": (pa.list_(pa.decimal128(9, 2)), [Decimal("0.10"), None]),
        "items": (pa.list_(pa.struct([("a", pa.string())])), [{"a": "x"}, {"a": None}]),
        "map": (pa.map_(pa.string(), pa.int64()), [("k", 1), ("l", None)]),
    }
    nothing = {name: [] if name == "items" else None for name in kinds} | {"id": 2}
    full = {name: value for name, (_, value) in kinds.items()}
    columns = pa.schema([(name, kind) for name, (kind, _) in kinds.items()])
    table = iceberg_table(tmp_path / "lake", pa.Table.from_pylist([full, nothing], columns))

    assert rows_of(str(folder_of(table)), tmp_path) == [full, nothing]
    found = pq.read_schema(tmp_path / "rows.parquet")
    plain = {pa.large_string(): pa.string(), pa.large_binary(): pa.binary()}
    assert {each.name: plain.get(each.type, each.type) for each in found if not pa.types.is_nested(each.type)} == {
        name: kind for name, (kind, _) in kinds.items() if not pa.types.is_nested(kind)
    }


def test_a_null_in_a_required_column_is_judged(tmp_path: Path, contract: Path) -> None:
    """A writer may have ignored the schema of the table: the contract says what that means."""
    required = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("state", pa.string(), nullable=False)])
    table = iceberg_table(tmp_path / "lake", GOOD.cast(required))
    file = folder_of(table) / "data/foreign.parquet"
    fields = (("id", pa.int64(), "1"), ("state", pa.string(), "2"))
    columns = pa.schema([pa.field(name, kind, metadata={"PARQUET:field_id": number}) for name, kind, number in fields])
    pq.write_table(pa.table({"id": [9], "state": [None]}, schema=columns), file)
    add_file(table, f"file://{file}", 1, file.stat().st_size)
    found = judged(contract, "--table", str(folder_of(table)))

    assert (found["verdict"], found["rows"], found["breaking_rows"]) == ("rejected", 3, 1)


def test_lists_of_records_that_pyiceberg_would_alter_are_refused(tmp_path: Path, contract: Path) -> None:
    """It reads a null as an empty list: then `required` would be measured wrong."""
    kind = pa.list_(pa.struct([("a", pa.int64())]))
    rows = pa.table(
        {"id": pa.array([1, 2], pa.int64()), "state": ["new", "new"], "items": pa.array([[{"a": 1}], []], kind)}
    )
    table = iceberg_table(tmp_path / "lake", rows)
    file = tmp_path / "foreign.parquet"
    pq.write_table(rows.set_column(2, "items", pa.array([[], None], kind)), file)
    inside = folder_of(table) / "data/foreign.parquet"
    file.rename(inside)

    assert judged(contract, "--table", str(folder_of(table)))["verdict"] == "accepted"
    table.add_files([f"file://{inside}"])
    refused = refusal(check(contract, "--table", str(folder_of(table))))
    assert "the column `items` has lists or maps of records that are null" in str(refused)


def test_rows_are_written_in_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No more than a group is held: a large file of a table is several groups."""
    monkeypatch.setattr("lakegate.features.table_readers.parquet_rows.GROUP_BYTES", 1 << 20)
    many = pa.table({"id": pa.array(range(600_000), pa.int64())})
    table = iceberg_table(tmp_path / "lake", many)
    write_table(TablePlace(str(folder_of(table))), tmp_path / "rows.parquet", {})
    found = pq.ParquetFile(tmp_path / "rows.parquet").metadata

    assert found.num_rows == 600_000
    assert max(found.row_group(at).num_rows for at in range(found.num_row_groups)) <= 2 * 131_072


# ---- Which table ----


def test_a_table_of_a_catalog_is_found_by_pyicebergs_configuration(
    tmp_path: Path, contract: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`CATALOG.NAMESPACE.TABLE`; what is not configured, or not there, is said."""
    iceberg_table(tmp_path / "lake", GOOD)
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__URI", f"sqlite:///{tmp_path}/lake/catalog.db")
    monkeypatch.setattr(pyiceberg_catalog, "_ENV_CONFIG", Config())
    found = judged(contract, "--table", "lake.shop.orders")

    assert (found["verdict"], found["rows"]) == ("accepted", 2)
    assert found["inputs"]["files"][0]["file"].startswith("lake.shop.orders (Iceberg, snapshot ")
    assert "has no Iceberg table lake.shop.others" in str(refusal(check(contract, "--table", "lake.shop.others")))
    assert "has no Iceberg table lake.none.orders" in str(refusal(check(contract, "--table", "lake.none.orders")))
    unknown = refusal(check(contract, "--table", "other.shop.orders"))
    assert isinstance(unknown, SetUpError)
    assert "PYICEBERG_CATALOG__OTHER__URI" in str(unknown)


@pytest.mark.parametrize("place", ["nothing", "lake/shop", "a.b", "https://example.org/table", "orders.csv"])
def test_what_is_no_table_is_refused_with_what_is_one(tmp_path: Path, contract: Path, place: str) -> None:
    """A name that is neither a table's folder, nor a metadata file, nor a name in a catalog."""
    (tmp_path / "lake/shop").mkdir(parents=True)
    refused = refusal(check(contract, "--table", str(tmp_path / place) if "/" in place and ":" not in place else place))

    assert "there is no table" in str(refused)
    assert "CATALOG.NAMESPACE.TABLE" in str(refused)


def test_a_metadata_file_that_is_none_is_refused(tmp_path: Path, contract: Path) -> None:
    """Of any content, and one that is not there."""
    (tmp_path / "a.metadata.json").write_text("[1]")
    (tmp_path / "b.metadata.json").write_text('{"format-version": 2, "location": "x"}')
    (tmp_path / "c.metadata.json").write_text('{"format-version": 9}')
    for name in ("a", "b", "c"):
        refused = refusal(check(contract, "--table", f"{tmp_path}/{name}.metadata.json"))
        assert "cannot be read by pyiceberg" in str(refused)
    assert "is not there" in str(refusal(check(contract, "--table", f"{tmp_path}/d.metadata.json")))


@pytest.mark.parametrize("bytes_", [b"", b"root:x:0:0:root:/root:/bin/bash\n", b"Obj\x01\x02\xff\xff"])
def test_a_damaged_list_of_files_is_refused(tmp_path: Path, contract: Path, bytes_: bytes) -> None:
    """Of any content, too; whatever pyiceberg's reader of Avro makes of it."""
    table = iceberg_table(tmp_path / "lake", GOOD)
    for each in (folder_of(table) / "metadata").glob("*.avro"):
        each.write_bytes(bytes_)

    assert isinstance(refusal(check(contract, "--table", str(folder_of(table)))), InputError)


def test_the_newest_metadata_of_a_folder_is_read(tmp_path: Path, contract: Path) -> None:
    """Also one that is compressed; where two are the newest ones, a person says which."""
    table = iceberg_table(tmp_path / "lake", GOOD)
    folder = folder_of(table)
    newest = Path(table.metadata_location.removeprefix("file://"))
    later = folder / "metadata/00010-00000000-0000-0000-0000-000000000001.gz.metadata.json"
    later.write_bytes(gzip.compress(newest.read_bytes()))
    newest.unlink()
    assert judged(contract, "--table", str(folder))["rows"] == 2

    (folder / "metadata/00010-00000000-0000-0000-0000-000000000002.metadata.json").write_text("{}")
    refused = refusal(check(contract, "--table", str(folder)))
    assert "has 2 newest metadata files" in str(refused)
    assert judged(contract, "--table", str(later))["rows"] == 2


def test_a_folder_of_a_table_is_not_taken_for_files(tmp_path: Path, contract: Path) -> None:
    """Its files have rows that were deleted or replaced."""
    table = iceberg_table(tmp_path / "lake", GOOD)
    refused = refusal(check(contract, str(folder_of(table))))

    assert "is a table (iceberg), of which only some files are current: read it with --table instead" in str(refused)


def test_one_source_of_data_is_named(tmp_path: Path, contract: Path) -> None:
    """Files, a server or a table; a snapshot is that of a table."""
    for words in (["a.csv", "--table", "t"], ["--server", "s", "--table", "t"]):
        assert "name files, a server with --server, or a table with --table" in str(refusal(check(contract, *words)))
    assert "--snapshot is that of a table" in str(refusal(check(contract, "--snapshot", "1")))
    assert "--snapshot is that of a table" in str(refusal(check(contract, "a.csv", "--snapshot", "1")))
    contract.write_text(f"{CONTRACT}- name: lines\n  properties:\n  - {{name: id, logicalType: string}}\n")
    table = iceberg_table(tmp_path / "lake", GOOD)
    place = str(folder_of(table))
    assert "choose it with --dataset (`orders`, `lines`)" in str(refusal(check(contract, "--table", place)))
    assert judged(contract, "--table", place, "--dataset", "orders")["verdict"] == "accepted"


@pytest.mark.parametrize(
    ("library", "extra", "place"), [("pyiceberg", "iceberg", "a.metadata.json"), ("deltalake", "delta", "delta")]
)
def test_a_library_that_is_not_installed_is_named_with_its_extra(  # noqa: PLR0913, PLR0917
    tmp_path: Path, contract: Path, monkeypatch: pytest.MonkeyPatch, library: str, extra: str, place: str
) -> None:
    """The wheel has neither library."""
    (tmp_path / "delta/_delta_log").mkdir(parents=True)
    (tmp_path / "delta/_delta_log/00000000000000000000.json").write_text("")
    for module in [library, *(each for each in sys.modules if each.startswith(f"{library}."))]:
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(sys.modules, f"lakegate.features.table_readers.{extra}_reader", raising=False)
    missing = check(contract, "--table", str(tmp_path / place)).exception

    assert isinstance(missing, ModuleNotFoundError)
    assert f"this command needs {library}: pip install 'WHEEL[{extra}]'" in (advice(missing) or "")


# ---- Which files ----


def hostile(folder: Path, outside: Path) -> dict[str, str]:
    """Addresses of a file that is not of the table."""
    (folder / "data").mkdir(exist_ok=True)
    (folder / "data/link.parquet").symlink_to(outside)
    return {
        "file": f"file://{outside}",
        "path": str(outside),
        "above": f"file://{folder}/data/../../../{outside.name}",
        "link": f"file://{folder}/data/link.parquet",
        "host": f"file://host{outside}",
        "beside": f"file://{folder}-other/{outside.name}",
        "http": "http://127.0.0.1:9/orders.parquet",
        "s3": "s3://bucket/orders.parquet",
        "metadata service": "http://169.254.169.254/latest/meta-data/",
    }


@pytest.mark.parametrize("name", [
    "file", "path", "above", "link", "host", "beside", "http", "s3", "metadata service"
])  # fmt: skip
def test_only_files_below_the_folder_of_a_table_are_read(tmp_path: Path, contract: Path, name: str) -> None:
    """A metadata file may name any file of the person, or any address: neither is opened."""
    table = iceberg_table(tmp_path / "lake", GOOD)
    outside = tmp_path / "private.parquet"
    pq.write_table(GOOD, outside)
    beside = Path(f"{folder_of(table)}-other")
    beside.mkdir()
    (beside / outside.name).write_bytes(outside.read_bytes())
    address = hostile(folder_of(table), outside)[name]
    add_file(table, address, 2, outside.stat().st_size)
    refused = refusal(check(contract, "--table", str(folder_of(table))))

    assert isinstance(refused, InputError)
    assert "which is not in" in str(refused)
    assert address[:20] in str(refused)


@pytest.mark.parametrize("key", ["manifest-list", "statistics"])
def test_metadata_elsewhere_is_not_read_either(tmp_path: Path, contract: Path, key: str) -> None:
    """The list of manifests is a file as any other; what no reader needs is not opened."""
    table = iceberg_table(tmp_path / "lake", GOOD)
    newest = Path(table.metadata_location.removeprefix("file://"))
    document = json.loads(newest.read_text())
    if key == "manifest-list":
        document["snapshots"][-1][key] = "file:///etc/passwd"
    else:
        document[key] = [
            {
                "snapshot-id": table.metadata.current_snapshot_id,
                "statistics-path": "http://127.0.0.1:9/x",
                "file-size-in-bytes": 1,
                "file-footer-size-in-bytes": 1,
                "blob-metadata": [],
            }
        ]
    newest.write_text(json.dumps(document))
    ended = check(contract, "--table", str(folder_of(table)))

    if key == "manifest-list":
        assert "`file:///etc/passwd`, which is not in" in str(refusal(ended))
    else:
        assert ended.exit_code == 0, ended.output


def test_properties_of_a_table_choose_neither_code_nor_an_endpoint(
    tmp_path: Path, contract: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`py-io-impl` would import a module, and `s3.endpoint` would get signed requests."""
    table = iceberg_table(tmp_path / "lake", GOOD)
    newest = Path(table.metadata_location.removeprefix("file://"))
    document = json.loads(newest.read_text())
    document["location"] = "file:///"
    document["properties"] |= {"py-io-impl": "antigravity.Planted", "s3.endpoint": "http://127.0.0.1:9"}
    newest.write_text(json.dumps(document))
    monkeypatch.setattr("webbrowser.open", lambda _: pytest.fail("imported"))

    assert judged(contract, "--table", str(folder_of(table)))["verdict"] == "accepted"
