"""Tables of a catalog: one snapshot at a time, on the one that was read; in memory, and with Iceberg's library."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.avro.file import AvroFile
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io.pyarrow import PyArrowFileIO, parquet_file_to_data_file
from pyiceberg.table.snapshots import Operation
from pyiceberg.table.update import AddSnapshotUpdate
from pyiceberg.typedef import Record
from pyiceberg.types import LongType, StringType

from lakegate.base.errors import ConditionFailed, InputError
from lakegate.features.tables.adoption import together
from lakegate.features.tables.all_tables import AllTables
from lakegate.features.tables.iceberg_tables import IcebergTables
from lakegate.features.tables.keep_table import (
    HEIGHT,
    FilesRewritten,
    ShownState,
    TableKind,
    TableSnapshot,
    table_name,
)
from lakegate.features.tables.rejected_columns import REJECTED_SCHEMA
from lakegate.features.tables.table_description import REJECTED_COMMENTS, TableDescription
from lakegate.gate.ledger.blocks import TableFile
from lakegate.gate.ports import Address
from tests.fakes import Memory
from tests.fakes.tables import MemoryTables
from tests.reference.sampling import sampled

DATASET = "shop/orders_v1"


class Catalog(Protocol):
    """A catalog, and the lake that its tables are of."""

    tables: AllTables

    def write(self, key: str, *rows: int) -> TableFile:
        """A data file."""
        ...

    def read(self) -> list[int]:
        """The rows that a reader of the table gets."""
        ...

    def rewrite(self) -> None:
        """Another program puts all rows into one file."""
        ...

    def change(self) -> None:
        """Another program adds a row."""
        ...

    def heights(self) -> list[int]:
        """Of the snapshots of ours that a reader can travel to, the oldest first."""
        ...


class InMemory:
    def __init__(self) -> None:
        self.objects = Memory.of("lake").objects
        self.tables = MemoryTables(self.objects, "lake")
        self.rows: dict[str, tuple[int, ...]] = {}

    def write(self, key: str, *rows: int) -> TableFile:
        self.objects.put(Address("lake", key), bytes(rows))
        self.rows[key] = rows
        return TableFile(key, len(rows))

    def read(self) -> list[int]:
        return sorted(row for key in self.tables.parts(self.tables.rows(DATASET)) for row in self.rows[key])

    def rewrite(self) -> None:
        self.rows["rewritten"] = tuple(self.read())
        self.tables.write_foreign(DATASET, ("rewritten",), replaces=True)

    def change(self) -> None:
        self.rows["foreign"] = (99,)
        self.tables.write_foreign(DATASET, (*self.tables.rows(DATASET), "foreign"), replaces=False)

    def heights(self) -> list[int]:
        return [each.state.height for each in self.tables.tables[DATASET] if each.state is not None]


class OnIceberg:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.catalog = SqlCatalog("lake", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}")
        self.catalog.create_namespace("accepted")
        self.tables = IcebergTables(lambda: self.catalog, "accepted", f"file://{folder}")

    def write(self, key: str, *rows: int) -> TableFile:
        pq.write_table(pa.table({"n": pa.array(rows, pa.int64())}), self.folder / key, compression="zstd")
        return TableFile(key, len(rows))

    def write_nulls(self, key: str, kind: pa.DataType) -> TableFile:
        """A data file with a column of a type, and a row without a value of it."""
        pq.write_table(pa.table({"n": pa.array([1], pa.int64()), "m": pa.nulls(1, kind)}), self.folder / key)
        return TableFile(key, 1)

    def read(self) -> list[int]:
        return sorted(self.catalog.load_table(self.name).scan().to_arrow()["n"].to_pylist())

    @property
    def name(self) -> tuple[str, str]:
        return "accepted", table_name(DATASET)

    def rewrite(self, name: str = "rewritten", stated: Mapping[str, str] | None = None) -> None:
        """As a compaction of Spark or Glue does: pyiceberg has none. `stated`: in the footer of its file."""
        table = self.catalog.load_table(self.name)
        target = self.folder / "tables" / DATASET / "data" / f"{name}.parquet"
        target.parent.mkdir(exist_ok=True)
        pq.write_table(table.scan().to_arrow().replace_schema_metadata(stated), target)
        transaction = table.transaction()
        with transaction.update_snapshot().overwrite() as files:
            for each in table.scan().plan_files():
                files.delete_data_file(each.file)
            files.append_data_file(parquet_file_to_data_file(table.io, table.metadata, f"file://{target}"))
        for update in transaction._updates:  # noqa: SLF001 - pyiceberg makes no snapshot of this kind
            if isinstance(update, AddSnapshotUpdate) and update.snapshot.summary is not None:
                object.__setattr__(update.snapshot.summary, "operation", Operation.REPLACE)
        transaction.commit_transaction()

    def change(self) -> None:
        self.catalog.load_table(self.name).append(pa.table({"n": pa.array([99], pa.int64())}))

    def heights(self) -> list[int]:
        summaries = [each.summary for each in self.catalog.load_table(self.name).snapshots()]
        found = [each.additional_properties.get(HEIGHT) for each in summaries if each is not None]
        return [int(each) for each in found if each is not None]


@pytest.fixture(params=["memory", "iceberg"])
def catalog(request: pytest.FixtureRequest, tmp_path: Path) -> Catalog:
    """The same suite for both."""
    return InMemory() if request.param == "memory" else OnIceberg(tmp_path)


def snapshot(height: int, *added: TableFile, removed: tuple[str, ...] = (), is_whole: bool = False) -> TableSnapshot:
    about = (("workload", f"w{height}"), ("verdict", "accepted"))
    return TableSnapshot(DATASET, height, f"d{height}", about, added, removed, is_whole)


def made(catalog: Catalog) -> tuple[TableFile, ShownState]:
    """A table with one delivery of two rows."""
    first = catalog.write("a", 1, 2)
    catalog.tables.make(DATASET, first)
    return first, catalog.tables.commit(snapshot(0, first), ShownState())


def test_a_table_is_made_once_and_is_empty(catalog: Catalog) -> None:
    assert catalog.tables.shown(DATASET) is None
    first = catalog.write("a", 1, 2)
    catalog.tables.make(DATASET, first)
    catalog.tables.make(DATASET, first)

    assert catalog.tables.shown(DATASET) == ShownState()


def test_a_table_shows_the_height_and_the_rows_of_its_newest_snapshot(catalog: Catalog) -> None:
    _, shown = made(catalog)
    after = catalog.tables.commit(snapshot(4, catalog.write("b", 3)), shown)

    assert (shown.height, shown.digest, after.height, after.digest) == (0, "d0", 4, "d4")
    assert catalog.tables.shown(DATASET) == after
    assert catalog.read() == [1, 2, 3]


def test_of_two_commits_on_one_snapshot_the_second_is_refused(catalog: Catalog) -> None:
    """Also the same one again: whoever lost the answer reads what the table shows."""
    _, shown = made(catalog)
    following = snapshot(1, catalog.write("b", 3))
    after = catalog.tables.commit(following, shown)
    for again in (following, snapshot(1, catalog.write("c", 4))):
        with pytest.raises(ConditionFailed):
            catalog.tables.commit(again, shown)

    assert (catalog.tables.shown(DATASET), catalog.read()) == (after, [1, 2, 3])


def test_a_table_that_is_not_there_is_not_changed(catalog: Catalog) -> None:
    with pytest.raises(ConditionFailed):
        catalog.tables.commit(snapshot(0, catalog.write("a", 1)), ShownState())


def test_files_leave_the_table_in_the_snapshot_that_others_come_in(catalog: Catalog) -> None:
    first, shown = made(catalog)
    after = catalog.tables.commit(snapshot(1, catalog.write("b", 3), removed=(first.key,)), shown)
    back = catalog.tables.commit(snapshot(2, first, removed=("b",)), after)

    assert (after.height, back.height, catalog.read()) == (1, 2, [1, 2])


def test_the_last_rows_leave_a_table(catalog: Catalog) -> None:
    first, shown = made(catalog)
    after = catalog.tables.commit(snapshot(1, removed=(first.key,)), shown)

    assert (catalog.tables.shown(DATASET), catalog.read()) == (after, [])


def test_a_file_that_is_not_in_the_table_cannot_leave_it(catalog: Catalog) -> None:
    _, shown = made(catalog)
    with pytest.raises(FilesRewritten):
        catalog.tables.commit(snapshot(1, removed=("b",)), shown)

    assert (catalog.tables.shown(DATASET), catalog.read()) == (shown, [1, 2])


def test_rows_in_other_files_are_the_same_rows_and_all_files_can_be_listed_again(catalog: Catalog) -> None:
    """A compaction keeps the height that is shown; of a delivery that is to leave, its files are not there any more."""
    first, _ = made(catalog)
    catalog.rewrite()
    shown = catalog.tables.shown(DATASET)
    assert shown is not None
    second = catalog.write("b", 3)
    after = catalog.tables.commit(snapshot(1, second), shown)

    assert (shown.height, after.height, catalog.read()) == (0, 1, [1, 2, 3])
    with pytest.raises(FilesRewritten):
        catalog.tables.commit(snapshot(2, removed=(first.key,)), after)
    catalog.tables.commit(snapshot(2, second, is_whole=True), after)
    assert catalog.read() == [3]


def test_rows_that_another_program_changed_are_an_error(catalog: Catalog) -> None:
    made(catalog)
    catalog.change()
    with pytest.raises(InputError, match="another program has changed rows"):
        catalog.tables.shown(DATASET)


# ---- With Iceberg alone ----


@pytest.fixture
def iceberg(tmp_path: Path) -> OnIceberg:
    """A catalog of Iceberg."""
    return OnIceberg(tmp_path)


def described(height: int, file: TableFile, *properties: tuple[str, str], comment: str = "") -> TableSnapshot:
    comments = ((("n",), comment),) if comment else ()
    return replace(snapshot(height, file), description=TableDescription(properties, comments))


def test_a_table_has_the_comments_and_properties_of_the_newest_contract(iceberg: OnIceberg) -> None:
    """What a later version leaves out goes; properties of others stay."""
    first = iceberg.write("a", 1)
    iceberg.tables.make(DATASET, first)
    shown = iceberg.tables.commit(
        described(0, first, ("comment", "Orders"), ("lakegate.tags", "[]"), comment="One"), ShownState()
    )
    table = iceberg.catalog.load_table(iceberg.name)
    before = table.schema().find_field("n").doc, table.properties.get("comment"), table.properties.get("lakegate.tags")
    table.transaction().set_properties(owner="me").commit_transaction()
    shown = iceberg.tables.commit(described(1, iceberg.write("b", 2), ("comment", "Sold"), comment="Two"), shown)
    iceberg.tables.commit(snapshot(2, removed=("b",)), shown)
    table = iceberg.catalog.load_table(iceberg.name)

    assert before == ("One", "Orders", "[]")
    assert table.schema().find_field("n").doc == "Two"
    assert {name: table.properties.get(name) for name in ("comment", "lakegate.tags", "owner", "lakegate.verdict")} == {
        "comment": "Sold",
        "lakegate.tags": None,
        "owner": "me",
        "lakegate.verdict": "accepted",
    }
    assert iceberg.read() == [1]


def test_a_column_that_has_no_rows_yet_gets_its_comment_later(iceberg: OnIceberg) -> None:
    """The first delivery of a version that adds a column may have no rows, and take the place of another one."""
    first, shown = made(iceberg)
    later = TableDescription(comments=((("n",), "One"), (("m",), "New"), (("m", "element", "sku"), "Inner")))
    iceberg.tables.commit(replace(snapshot(1, removed=(first.key,)), description=later), shown)

    assert iceberg.catalog.load_table(iceberg.name).schema().find_field("n").doc == "One"


KINDS = st.recursive(
    st.sampled_from(
        [pa.int64(), pa.string(), pa.decimal128(38, 2), pa.timestamp("us"), pa.timestamp("us", "UTC"), pa.bool_()]
    ),
    lambda inner: st.one_of(
        inner.map(pa.list_),
        inner.map(lambda kind: pa.map_(pa.string(), kind)),
        st.dictionaries(st.sampled_from("abA"), inner, min_size=1).map(lambda found: pa.struct(list(found.items()))),
    ),
    max_leaves=4,
)


@sampled(25, 400)
@given(first=KINDS, second=KINDS)
def test_a_table_has_the_columns_of_an_earlier_version_that_adoption_lets_through(
    tmp_path_factory: pytest.TempPathFactory, first: pa.DataType, second: pa.DataType
) -> None:
    """By Iceberg's own library, whichever of two versions comes first: what one has alone is null in rows of the other."""
    try:
        together(first, second)
    except InputError:
        return
    iceberg = OnIceberg(tmp_path_factory.mktemp("lake"))
    files = [iceberg.write_nulls(name, kind) for name, kind in (("a", first), ("b", second))]
    iceberg.tables.make(DATASET, files[0])
    shown = ShownState()
    for height, file in enumerate(files):
        shown = iceberg.tables.commit(snapshot(height, file), shown)

    assert iceberg.catalog.load_table(iceberg.name).scan().to_arrow().num_rows == len(files)


@pytest.mark.parametrize("change", ["add", "rename", "drop", "widen", "partition"])
def test_columns_that_another_program_changed_are_an_error(iceberg: OnIceberg, change: str) -> None:
    """Else a column that was renamed by hand would come back beside it, without its values. A comment may be changed."""
    made(iceberg)
    table = iceberg.catalog.load_table(iceberg.name)
    with table.update_schema() as schema:
        schema.update_column("n", doc="by hand")
    assert iceberg.tables.shown(DATASET) == ShownState(0, "d0", table.metadata.current_snapshot_id)
    if change == "partition":
        with table.update_spec() as spec:
            spec.add_identity("n")
    else:
        with table.update_schema(allow_incompatible_changes=True) as schema:
            if change == "add":
                schema.add_column("m", LongType())
            elif change == "rename":
                schema.rename_column("n", "m")
            elif change == "drop":
                schema.add_column("m", LongType()).delete_column("n")
            else:
                schema.update_column("n", StringType())
    with pytest.raises(InputError, match="another program has changed columns or partitions"):
        iceberg.tables.shown(DATASET)


@pytest.mark.parametrize("days", [-719_528, 2_932_897])
def test_days_that_only_the_calendar_knows_stop_no_table(iceberg: OnIceberg, days: int) -> None:
    """The years 0 and 10000 are days of a contract, and none of Python: such a file has no bounds."""
    rows = pa.table({"n": pa.array([1], pa.int64()), "day": pa.array([days], pa.int32()).cast(pa.date32())})
    pq.write_table(rows, iceberg.folder / "a")
    first = TableFile("a", 1)
    iceberg.tables.make(DATASET, first)
    iceberg.tables.commit(snapshot(0, first), ShownState())
    (file,) = iceberg.catalog.load_table(iceberg.name).scan().plan_files()

    assert (file.file.value_counts, file.file.lower_bounds) == ({1: 1, 2: 1}, {})
    assert iceberg.read() == [1]


def heights(iceberg: OnIceberg) -> list[str]:
    table = iceberg.catalog.load_table(iceberg.name)
    return [each.summary["lakegate.height"] or "" for each in table.metadata.snapshots if each.summary]


def test_snapshots_that_are_older_than_the_contract_says_leave_with_the_next_one(iceberg: OnIceberg) -> None:
    """But not those that a person has named, and no file of theirs."""
    age = "history.expire.max-snapshot-age-ms"
    files = [iceberg.write(name, number) for number, name in enumerate("abcd")]
    iceberg.tables.make(DATASET, files[0])
    shown = ShownState()
    for height, file in enumerate(files[:3]):
        shown = iceberg.tables.commit(described(height, file, (age, "3600000")), shown)
    table = iceberg.catalog.load_table(iceberg.name)
    table.manage_snapshots().create_tag(table.metadata.snapshots[1].snapshot_id, "audited").commit()
    kept = heights(iceberg)
    time.sleep(0.002)
    shown = iceberg.tables.commit(described(3, files[3], (age, "1")), shown)

    assert (kept, heights(iceberg)) == (["0", "1", "2"], ["1", "3"])
    assert iceberg.tables.shown(DATASET) == shown
    assert iceberg.read() == [0, 1, 2, 3]
    assert iceberg.catalog.load_table(iceberg.name).properties["gc.enabled"] == "false"


def test_a_table_keeps_a_number_of_snapshots(iceberg: OnIceberg, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lakegate.features.tables.iceberg_tables.MOST_SNAPSHOTS", 3)
    first, shown = made(iceberg)
    for height in range(1, 6):
        time.sleep(0.002)
        shown = iceberg.tables.commit(snapshot(height, iceberg.write(f"f{height}", height)), shown)

    assert heights(iceberg) == ["3", "4", "5"]
    assert iceberg.read() == [1, 1, 2, 2, 3, 4, 5]
    iceberg.tables.commit(snapshot(6, removed=(first.key,)), shown)
    assert iceberg.read() == [1, 2, 3, 4, 5]


def erasure(height: int, *added: TableFile, standing: tuple[TableFile, ...] = ()) -> TableSnapshot:
    keys = frozenset(each.key for each in (*added, *standing))
    return replace(snapshot(height, *added, is_whole=True), standing=keys)


def cleared(catalog: Catalog, shown: ShownState, *erased: str) -> tuple[str, ...]:
    """Delete what nothing uses any more; returns the addresses."""
    found = catalog.tables.leftovers(DATASET, NOW, frozenset(erased))
    for address in (*found, *found[:1]):
        catalog.tables.discard(DATASET, address)
    assert catalog.tables.clear(DATASET, shown) == catalog.tables.shown(DATASET) == shown._replace(expired="")
    return found


def test_an_erasure_takes_out_the_snapshots_that_name_an_erased_file(catalog: Catalog) -> None:
    """Those of before stay, with their rows; the table is at the height of the erasure, and what nothing uses is deleted."""
    first, shown = made(catalog)
    second = catalog.write("b", 3, 4)
    shown = catalog.tables.commit(snapshot(1, second), shown)
    shown = catalog.tables.commit(snapshot(2, catalog.write("c", 5)), shown)
    left = catalog.write("b-left", 4)
    after = catalog.tables.commit(erasure(3, first, left, catalog.write("c", 5)), shown)

    assert (after.height, catalog.tables.shown(DATASET)) == (3, after)
    assert after.expired
    assert (catalog.read(), catalog.heights()) == ([1, 2, 4, 5], [0, 3])
    assert cleared(catalog, after)
    assert catalog.tables.leftovers(DATASET, NOW, frozenset()) == ()
    again = catalog.tables.shown(DATASET)
    assert again is not None
    catalog.tables.commit(snapshot(4, removed=(first.key,)), again)
    assert catalog.read() == [4, 5]


def test_an_erasure_of_a_delivery_that_is_not_current_adds_no_file(catalog: Catalog) -> None:
    """Its rows were in a snapshot, whose successor names them as removed: both leave."""
    first, shown = made(catalog)
    second = catalog.write("b", 3)
    shown = catalog.tables.commit(snapshot(1, second), shown)
    shown = catalog.tables.commit(snapshot(2, removed=("b",)), shown)
    shown = catalog.tables.commit(erasure(3, first, standing=(catalog.write("b-left", 4),)), shown)

    assert (catalog.read(), catalog.heights()) == ([1, 2], [0, 3])
    cleared(catalog, shown)
    shown = catalog.tables.commit(erasure(4), shown._replace(expired=""))
    assert (catalog.read(), catalog.heights()) == ([], [4])


def test_an_erasure_reaches_rows_that_another_program_has_put_into_other_files(catalog: Catalog) -> None:
    """The table consists of typed files again, and no earlier snapshot with other ones stays."""
    made(catalog)
    catalog.rewrite()
    shown = catalog.tables.shown(DATASET)
    assert shown is not None
    left = catalog.write("a-left", 2)
    after = catalog.tables.commit(erasure(1, left), shown)

    assert (catalog.read(), catalog.heights()) == ([2], [1])
    cleared(catalog, after)


def test_a_table_that_was_changed_meanwhile_is_not_cleared(catalog: Catalog) -> None:
    first, shown = made(catalog)
    after = catalog.tables.commit(erasure(1, first), shown)
    catalog.tables.commit(snapshot(2, catalog.write("b", 3)), after)

    with pytest.raises(ConditionFailed):
        catalog.tables.clear(DATASET, after)
    assert catalog.tables.leftovers("shop/none_v1", NOW, frozenset()) == ()


NOW = datetime.now(UTC)
PERSON = "Zoe-4711"


def person_files(folder: Path) -> list[str]:
    """The files below a folder that have the name of the person: bytes, what is in Avro, and rows and statistics of Parquet."""
    found = []
    for path in (each for each in folder.rglob("*") if each.is_file()):
        body = path.read_bytes()
        text = body.decode("latin-1")
        if path.suffix == ".avro":
            with AvroFile[Record](PyArrowFileIO().new_input(str(path))) as entries:
                text += "".join(map(repr, entries))
        if path.suffix == ".parquet":
            text += repr(pq.read_table(path).to_pylist()) + repr(pq.read_metadata(path).to_dict())
        found += [path.name] if PERSON in text else []
    return found


def test_after_an_erasure_no_file_below_the_table_has_a_value(tmp_path: Path) -> None:
    """Not in data, not in the statistics of manifests, also not where another program had compacted; readers read the rest."""
    on = OnIceberg(tmp_path)

    def write(key: str, *names: str) -> TableFile:
        pq.write_table(pa.table({"n": pa.array(names)}), tmp_path / key, compression="zstd")
        return TableFile(key, len(names))

    files = [write("a.parquet", "Ada"), write("b.parquet", "Bob", PERSON)]
    on.tables.make(DATASET, files[0])
    shown = ShownState()
    for height, each in enumerate(files):
        shown = on.tables.commit(snapshot(height, each), shown)
    before = shown.snapshot
    on.rewrite()
    seen = on.tables.shown(DATASET)
    assert seen is not None
    on.catalog.load_table(on.name).manage_snapshots().create_tag(int(before or 0), "kept").commit()
    shown = on.tables.commit(erasure(2, files[0], write("b-left.parquet", "Bob")), seen)
    (tmp_path / "b.parquet").unlink()  # as the command does, once the table shows the height
    assert "rewritten.parquet" in person_files(tmp_path / "tables")
    cleared(on, shown)

    assert person_files(tmp_path) == []
    table = on.catalog.load_table(on.name)
    assert sorted(table.scan().to_arrow()["n"].to_pylist()) == ["Ada", "Bob"]
    with pytest.raises(ValueError, match="Snapshot not found"):
        table.scan(snapshot_id=before).to_arrow()
    assert on.heights() == [0, 2]
    assert list(table.metadata.refs) == ["main"]


def test_a_file_without_a_snapshot_is_deleted_with_the_next_erasure_once_it_is_old(tmp_path: Path) -> None:
    """A commit that was refused left its manifests: whoever wrote a file three days ago does not commit it any more."""
    on = OnIceberg(tmp_path)
    first, shown = made(on)
    late = snapshot(1, on.write("b", 3))
    after = on.tables.commit(erasure(1, first), shown)
    orphan = tmp_path / "tables" / DATASET / "metadata" / "orphan-m0.avro"
    orphan.write_bytes(b"")
    with pytest.raises(ConditionFailed):
        on.tables.commit(late, shown)

    assert not [each for each in on.tables.leftovers(DATASET, NOW, frozenset()) if "orphan" in each]
    assert [each for each in on.tables.leftovers(DATASET, NOW + timedelta(days=4), frozenset()) if "orphan" in each]
    on.tables.discard(DATASET, f"file://{tmp_path}/b")
    assert (tmp_path / "b").exists()
    assert after.expired


# ---- Rejected rows, with Iceberg alone ----


def rejected_file(folder: Path, name: str, *records: str) -> TableFile:
    """A typed file of rejected rows."""
    row = {
        "delivery": "d",
        "contract_version": "1.0.0",
        "time": datetime.now(UTC),
        "part": 0,
        "row": 2,
        "reasons": ["r"],
    }
    pq.write_table(pa.Table.from_pylist([row | {"record": each} for each in records], REJECTED_SCHEMA), folder / name)
    return TableFile(name, len(records))


def test_a_table_of_rejected_rows_is_there_before_any_and_beside_rejected_data(iceberg: OnIceberg) -> None:
    """With its own name, and its metadata below quarantine; snapshots without a change keep its rows."""
    tables = IcebergTables(iceberg.tables.open_catalog, "accepted", iceberg.tables.lake, TableKind.REJECTED)
    made(iceberg)
    tables.make(DATASET, None)
    name = ("accepted", "shop_orders_v1_rejected")
    table = iceberg.catalog.load_table(name)
    before = tables.shown(DATASET)
    passed = tables.commit(snapshot(7), ShownState())
    found = rejected_file(iceberg.folder, "r", '{"secret": 1}')
    until, comments = "2026-01-01T00:00:00.000000Z", ((("record",), "As JSON"),)
    own = replace(snapshot(8, found), until=until, description=TableDescription(comments=comments))
    after = tables.commit(own, passed)
    last = tables.commit(replace(snapshot(9), until=until), after)
    table = iceberg.catalog.load_table(name)

    assert before == ShownState()
    assert table.metadata.location.endswith("/quarantine/shop/orders_v1/_table")
    assert (passed.height, last.height, last.until) == (7, 9, until)
    assert tables.shown(DATASET) == last
    assert table.scan().to_arrow()["record"].to_pylist() == ['{"secret": 1}']
    assert [each.name for each in table.schema().fields] == list(REJECTED_COMMENTS)
    assert iceberg.read() == [1, 2]
    gone = tables.commit(replace(snapshot(9, is_whole=True), standing=frozenset()), last)
    assert (gone.until, heights_of(iceberg, name)) == ("", [7, 9])
    assert iceberg.catalog.load_table(name).scan().to_arrow()["record"].to_pylist() == []


def test_the_metadata_of_rejected_rows_has_nothing_of_a_record(iceberg: OnIceberg) -> None:
    """Manifests have bounds of other columns, such as the delivery."""
    tables = IcebergTables(iceberg.tables.open_catalog, "accepted", iceberg.tables.lake, TableKind.REJECTED)
    tables.make(DATASET, None)
    tables.commit(snapshot(0, rejected_file(iceberg.folder, "r", "secret")), ShownState())
    table = iceberg.catalog.load_table(("accepted", "shop_orders_v1_rejected"))
    (manifest,) = table.metadata.snapshots[0].manifests(table.io)
    (entry,) = manifest.fetch_manifest_entry(table.io)
    bounds = {table.schema().find_column_name(each) for each in entry.data_file.lower_bounds}

    assert {"delivery", "time"} <= bounds
    assert "record" not in bounds


def heights_of(iceberg: OnIceberg, name: tuple[str, str]) -> list[int]:
    summaries = [each.summary for each in iceberg.catalog.load_table(name).snapshots()]
    return [int(each.additional_properties[HEIGHT]) for each in summaries if each is not None]
