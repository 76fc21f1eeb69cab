"""Small files of a table are put together: its rows are the same, in memory and with Iceberg's library."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.table.snapshots import Operation

from lakegate.base.errors import ConditionFailed
from lakegate.features.tables.compact_table import MergedFile
from lakegate.features.tables.keep_table import FilesRewritten, ShownState
from lakegate.features.tables.merged_files import PARTS
from lakegate.features.tables.table_description import COMPACTED
from lakegate.gate.ledger.blocks import TableFile
from tests.contract.test_tables import (
    DATASET,
    NOW,
    PERSON,
    Catalog,
    InMemory,
    OnIceberg,
    cleared,
    described,
    erasure,
    person_files,
    snapshot,
)


@pytest.fixture(params=["memory", "iceberg"])
def catalog(request: pytest.FixtureRequest, tmp_path: Path) -> Catalog:
    """The same suite for both."""
    return InMemory() if request.param == "memory" else OnIceberg(tmp_path)


def filled(catalog: Catalog, count: int = 4) -> tuple[list[TableFile], ShownState]:
    """A table whose contract asks for compaction, of deliveries of one row each."""
    files = [catalog.write(f"f{number}", number) for number in range(count)]
    catalog.tables.make(DATASET, files[0])
    shown = ShownState()
    for height, file in enumerate(files):
        shown = catalog.tables.commit(described(height, file, (COMPACTED, "true")), shown)
    return files, shown


def state(catalog: Catalog) -> ShownState:
    found = catalog.tables.shown(DATASET)
    assert found is not None
    return found


def compacted(catalog: Catalog, *numbers: int) -> MergedFile:
    """Files of the table are put together, by their place."""
    listed = catalog.tables.files(DATASET, state(catalog))
    merged = catalog.tables.merge(DATASET, [listed[number] for number in numbers])
    catalog.tables.put(DATASET, merged, state(catalog))
    return merged


def parts(catalog: Catalog) -> list[int]:
    return [each.parts for each in catalog.tables.files(DATASET, state(catalog))]


def test_files_are_put_together_in_a_snapshot_of_the_same_rows_and_height(catalog: Catalog) -> None:
    """They are listed as they came; what was put together can be put together again."""
    _, shown = filled(catalog)
    before = parts(catalog)
    compacted(catalog, 0, 1)

    assert (before, parts(catalog), catalog.read()) == ([1, 1, 1, 1], [1, 1, 2], [0, 1, 2, 3])
    assert state(catalog) == shown._replace(snapshot=state(catalog).snapshot)
    assert state(catalog).snapshot != shown.snapshot
    compacted(catalog, 0, 1, 2)
    assert (parts(catalog), catalog.read(), catalog.heights()) == ([4], [0, 1, 2, 3], [0, 1, 2, 3])


def test_only_tables_whose_contract_asks_for_it_are_compacted(catalog: Catalog) -> None:
    """A version may end it; of another snapshot than the current one nothing is listed."""
    _, shown = filled(catalog)
    after = catalog.tables.commit(described(4, catalog.write("f4", 4)), shown)

    assert catalog.tables.files(DATASET, after) == ()
    again = catalog.tables.commit(described(5, catalog.write("f5", 5), (COMPACTED, "true")), after)
    assert len(catalog.tables.files(DATASET, again)) == len(catalog.read())
    assert catalog.tables.files(DATASET, shown) == ()


def test_files_of_another_program_stay_as_they_are(catalog: Catalog) -> None:
    filled(catalog)
    catalog.rewrite()
    shown = state(catalog)
    catalog.tables.commit(snapshot(4, catalog.write("f4", 4)), shown)

    assert parts(catalog) == [1]


def test_a_merged_file_is_put_on_the_snapshot_that_was_read_or_not_at_all(catalog: Catalog) -> None:
    """Deliveries that came since do not hinder the next try; once it is there, it is not put again."""
    _, shown = filled(catalog)
    merged = catalog.tables.merge(DATASET, catalog.tables.files(DATASET, shown)[:3])
    after = catalog.tables.commit(snapshot(4, catalog.write("f4", 4)), shown)
    with pytest.raises(ConditionFailed):
        catalog.tables.put(DATASET, merged, shown)
    assert catalog.read() == [0, 1, 2, 3, 4]

    for _ in range(2):
        catalog.tables.put(DATASET, merged, state(catalog))
        assert (catalog.read(), parts(catalog)) == ([0, 1, 2, 3, 4], [1, 1, 3])
    assert state(catalog).height == after.height


@pytest.mark.parametrize("how", ["left", "merged"])
def test_a_merged_file_is_not_put_where_one_of_its_files_has_left(catalog: Catalog, how: str) -> None:
    """With a delivery, or because another worker has put it together."""
    files, shown = filled(catalog)
    merged = catalog.tables.merge(DATASET, catalog.tables.files(DATASET, shown)[:3])
    if how == "left":
        catalog.tables.commit(snapshot(4, removed=(files[1].key,)), shown)
    else:
        compacted(catalog, 1, 2)
    rows = catalog.read()
    with pytest.raises(FilesRewritten):
        catalog.tables.put(DATASET, merged, state(catalog))

    assert catalog.read() == rows


def test_a_delivery_leaves_a_merged_file_and_the_others_come_back(catalog: Catalog) -> None:
    """Only the file that has its rows is undone; other merged files stay, and so does what another program compacted."""
    files, _ = filled(catalog, 6)
    compacted(catalog, 0, 1, 2)
    compacted(catalog, 0, 1)
    after = catalog.tables.commit(snapshot(6, catalog.write("f6", 6), removed=(files[1].key,)), state(catalog))

    assert (catalog.read(), sorted(parts(catalog))) == ([0, 2, 3, 4, 5, 6], [1, 1, 1, 1, 2])
    back = catalog.tables.commit(snapshot(7, files[1], removed=(files[3].key, files[5].key)), after)
    assert (back.height, catalog.read(), sorted(parts(catalog))) == (7, [0, 1, 2, 4, 6], [1, 1, 1, 1, 1])


def test_where_all_files_are_listed_again_merged_files_of_them_stay(catalog: Catalog) -> None:
    """As after a compaction by another program: whose files leave."""
    files, _ = filled(catalog, 6)
    compacted(catalog, 0, 1)
    compacted(catalog, 0, 1)
    whole = snapshot(6, *(files[number] for number in (0, 1, 3, 4, 5)), is_whole=True)
    catalog.tables.commit(whole, state(catalog))

    assert (catalog.read(), sorted(parts(catalog))) == ([0, 1, 3, 4, 5], [1, 1, 1, 2])


def test_an_erasure_undoes_only_the_merged_files_with_erased_rows(catalog: Catalog) -> None:
    """Snapshots that list others stay."""
    files, _ = filled(catalog, 6)
    compacted(catalog, 0, 1)
    catalog.tables.commit(snapshot(6, removed=(files[5].key,)), state(catalog))
    compacted(catalog, 0, 1)
    left = catalog.write("f2-left")
    after = catalog.tables.commit(
        erasure(7, *(files[number] for number in (0, 1, 3, 4)), left, standing=(files[5],)), state(catalog)
    )

    assert (catalog.read(), sorted(parts(catalog)), catalog.heights()) == ([0, 1, 3, 4], [1, 1, 1, 2], [0, 1, 7])
    cleared(catalog, after, files[2].key)
    assert catalog.read() == [0, 1, 3, 4]


def test_a_merged_file_of_erased_rows_that_nobody_put_is_deleted_and_no_other_one(catalog: Catalog) -> None:
    """Whoever made it may be about to put it, unless one of its files is erased."""
    files, shown = filled(catalog)
    listed = catalog.tables.files(DATASET, shown)
    erased = catalog.tables.merge(DATASET, listed[:2])
    other = catalog.tables.merge(DATASET, listed[2:])
    after = catalog.tables.commit(erasure(4, *files[1:]), shown)
    found = cleared(catalog, after, files[0].key)

    assert (erased.address in found, other.address in found) == (True, False)
    catalog.tables.put(DATASET, other, state(catalog))
    assert catalog.read() == [1, 2, 3]
    with pytest.raises(FilesRewritten):
        catalog.tables.put(DATASET, erased, state(catalog))


# ---- With Iceberg alone ----


@pytest.fixture
def iceberg(tmp_path: Path) -> OnIceberg:
    """A catalog of Iceberg."""
    return OnIceberg(tmp_path)


def table_of(iceberg: OnIceberg) -> Any:
    return iceberg.catalog.load_table(iceberg.name)


def test_a_compaction_says_what_it_is_and_earlier_snapshots_are_as_they_were(iceberg: OnIceberg) -> None:
    """Its operation promises the same rows to every program that follows a table."""
    _, shown = filled(iceberg)
    compacted(iceberg, 0, 1, 2, 3)
    current = table_of(iceberg).current_snapshot()

    assert (current.summary.operation, current.summary["lakegate.kind"]) == (Operation.REPLACE, "compaction")
    assert {name: current.summary[name] for name in ("total-data-files", "total-records", "deleted-data-files")} == {
        "total-data-files": "1",
        "total-records": "4",
        "deleted-data-files": "4",
    }
    assert table_of(iceberg).scan(snapshot_id=shown.snapshot).to_arrow().num_rows == current.sequence_number - 1
    (file,) = table_of(iceberg).scan().plan_files()
    assert file.file.file_path.startswith(f"file://{iceberg.folder}/tables/{DATASET}/data/of-4-files-")


ITEM = pa.struct([("sku", pa.string()), ("counts", pa.list_(pa.int64()))])
LATER = pa.struct([("counts", pa.list_(pa.int64())), ("sku", pa.string()), ("more", pa.date32())])
EARLIER_ROWS = [
    {"n": 1, "items": [{"sku": "a", "counts": [1, 2]}, {"sku": None, "counts": []}], "price": None},
    {"n": 2, "items": None, "price": 2},
    {"n": None, "items": [], "price": None},
    {"n": 3, "items": [None, {"sku": "b", "counts": None}], "price": None},
]
LATER_ROWS = [
    {"added": "x", "items": [{"counts": [3], "sku": "c", "more": None}], "n": 4, "price": None},
    {"added": None, "items": None, "n": 5, "price": 3},
]


def test_a_merged_file_has_each_row_as_it_was_also_of_earlier_versions(iceberg: OnIceberg) -> None:
    """Nulls stay nulls, nested ones too; added columns are null in rows of before, in any order."""

    def write(key: str, rows: list[dict[str, Any]], schema: pa.Schema) -> TableFile:
        pq.write_table(pa.Table.from_pylist(rows, schema), iceberg.folder / key, compression="zstd")
        return TableFile(key, len(rows))

    price = pa.decimal128(38, 18)
    earlier = write("f0", EARLIER_ROWS, pa.schema([("n", pa.int64()), ("items", pa.list_(ITEM)), ("price", price)]))
    columns = [("added", pa.string()), ("items", pa.list_(LATER)), ("n", pa.int64()), ("price", price)]
    later = write("f1", LATER_ROWS, pa.schema(columns))
    iceberg.tables.make(DATASET, earlier)
    shown = ShownState()
    for height, file in enumerate((earlier, later)):
        shown = iceberg.tables.commit(described(height, file, (COMPACTED, "true")), shown)
    before = table_of(iceberg).scan().to_arrow().sort_by("n").to_pylist()
    merged = compacted(iceberg, 0, 1)
    rows = pq.read_table(merged.address.removeprefix("file://")).to_pylist()

    def padded(row: dict[str, Any]) -> dict[str, Any]:
        items = row["items"]
        more = items and [each and {"sku": each["sku"], "counts": each["counts"], "more": None} for each in items]
        return {"n": row["n"], "items": more, "price": row["price"], "added": row.get("added")}

    assert rows == [padded(row) for row in (*EARLIER_ROWS, *LATER_ROWS)]
    assert table_of(iceberg).scan().to_arrow().sort_by("n").to_pylist() == before
    assert iceberg.tables.shown(DATASET) is not None  # columns are as they were


def test_after_an_erasure_no_merged_file_has_a_value(tmp_path: Path) -> None:
    """Not the one that the table had, nor one that was written and not put; what has no such row stays."""
    on = OnIceberg(tmp_path)

    def write(key: str, *names: str) -> TableFile:
        pq.write_table(pa.table({"n": pa.array(names)}), tmp_path / key, compression="zstd")
        return TableFile(key, len(names))

    files = [write(f"{name}.parquet", name) for name in ("Ada", "Bob", "Cem", PERSON, "Eve", "Fay")]
    on.tables.make(DATASET, files[0])
    shown = ShownState()
    for height, each in enumerate(files):
        shown = on.tables.commit(described(height, each, (COMPACTED, "true")), shown)
    kept = compacted(on, 0, 1)
    listed = on.tables.files(DATASET, state(on))
    on.tables.merge(DATASET, listed[1:3])
    compacted(on, 1, 2)
    standing = [each for each in files if PERSON not in each.key]
    after = on.tables.commit(erasure(6, *standing), state(on))
    (tmp_path / files[3].key).unlink()  # as the command does, once the table shows the height
    assert len([name for name in person_files(tmp_path / "tables") if name.startswith("of-2-files-")]) == len("ab")
    cleared(on, after, files[3].key)

    assert person_files(tmp_path) == []
    assert sorted(table_of(on).scan().to_arrow()["n"].to_pylist()) == ["Ada", "Bob", "Cem", "Eve", "Fay"]
    assert (sorted(parts(on)), Path(kept.address.removeprefix("file://")).exists()) == ([1, 1, 1, 2], True)


def test_a_table_whose_merged_file_was_deleted_lists_its_typed_files_again(iceberg: OnIceberg) -> None:
    """By hand, or by a program: what it was made of is not known any more, and the ledger is."""
    files, _ = filled(iceberg)
    merged = compacted(iceberg, 0, 1)
    Path(merged.address.removeprefix("file://")).unlink()
    with pytest.raises(FilesRewritten):
        iceberg.tables.commit(snapshot(4, removed=(files[0].key,)), state(iceberg))
    iceberg.tables.commit(snapshot(4, *files[1:], is_whole=True), state(iceberg))

    assert iceberg.read() == [1, 2, 3]


@pytest.mark.parametrize(
    "stated", [None, {}, {PARTS: "not JSON"}, {PARTS: "[1]"}, {PARTS: '{"f0": 1}'}, {PARTS: "[" * 10_000}]
)
def test_a_file_of_another_program_with_such_a_name_is_one_of_another_program(
    iceberg: OnIceberg, stated: dict[str, str] | None
) -> None:
    """It is not put together with others, stops no compaction, and is listed anew where one of its deliveries leaves."""
    files, _ = filled(iceberg)
    iceberg.rewrite(f"of-4-files-{'0' * 32}", stated)
    for height in (4, 5):
        iceberg.tables.commit(
            described(height, iceberg.write(f"f{height}", height), (COMPACTED, "true")), state(iceberg)
        )
    before = parts(iceberg)
    compacted(iceberg, 0, 1)

    assert (before, parts(iceberg), iceberg.read()) == ([1, 1], [2], [0, 1, 2, 3, 4, 5])
    with pytest.raises(FilesRewritten):
        iceberg.tables.commit(snapshot(6, removed=(files[1].key,)), state(iceberg))


def test_a_file_without_a_snapshot_is_not_of_the_table(iceberg: OnIceberg) -> None:
    """Three days later an erasure deletes it."""
    files, shown = filled(iceberg)
    merged = iceberg.tables.merge(DATASET, iceberg.tables.files(DATASET, shown))
    after = iceberg.tables.commit(erasure(4, *files), shown)

    def leftovers(when: datetime) -> Iterator[str]:
        return iter(iceberg.tables.leftovers(DATASET, when, frozenset()))

    assert after.expired
    assert merged.address not in leftovers(NOW)
    assert merged.address in leftovers(NOW + timedelta(days=4))
    assert iceberg.read() == [0, 1, 2, 3]


def test_a_description_turns_compaction_on_and_off(iceberg: OnIceberg) -> None:
    _, shown = filled(iceberg)
    on = table_of(iceberg).properties.get(COMPACTED)
    iceberg.tables.commit(described(4, iceberg.write("f4", 4)), shown)

    assert (on, table_of(iceberg).properties.get(COMPACTED)) == ("true", None)
