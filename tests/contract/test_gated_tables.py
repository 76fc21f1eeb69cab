"""Tables whose branches are gated: main moves on what was read, to a snapshot that is there; in memory, and with pyiceberg."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.manifest import DataFileContent
from pyiceberg.table.update import SetSnapshotRefUpdate

from lakegate.base.errors import ConditionFailed, NotFound, PortError
from lakegate.features.pull.snapshots.gated_tables import MOST_STAGED, GatedBranch, GatedTables, SnapshotStep, next_step
from lakegate.features.pull.snapshots.iceberg_branches import IcebergBranches
from tests.deliveries.tables import add_deletes, add_file, deleted_positions, folder_of, listed_again, newer, stage
from tests.fakes.gated_tables import MemoryGatedTable

BRANCH = GatedBranch("sales", "orders", "audit")
STAGED = GatedBranch("sales", "orders", "")


def identify(address: str) -> str:
    """Of a file of this machine, as S3 says it of an object."""
    try:
        body = Path(address.removeprefix("file://")).read_bytes()
    except FileNotFoundError:
        raise NotFound(address) from None
    return f"{len(body)}:{hashlib.md5(body, usedforsecurity=False).hexdigest()}"


class GatedCatalog(Protocol):
    """A catalog with one table, and its producer."""

    tables: GatedTables

    def commit(self, number: int, *, to_main: bool = False) -> int:
        """Add a row on the branch, or on main; the id of the snapshot."""
        ...

    def stage(self, number: int) -> int:
        """Add a row to main that no branch has; the id of the snapshot."""
        ...

    def exchange(self, snapshot: int) -> None:
        """Other bytes in a data file of a snapshot."""
        ...

    def lose(self, snapshot: int) -> None:
        """A data file of a snapshot is deleted."""
        ...

    def again(self) -> None:
        """Another table under the same name."""
        ...


class GatedInMemory:
    def __init__(self) -> None:
        self.tables: Any = MemoryGatedTable()
        self.tables.commit("", to_main=True)

    def commit(self, number: int, *, to_main: bool = False) -> int:
        snapshot: int = self.tables.commit(f"good:{number}", to_main=to_main)
        return snapshot

    def stage(self, number: int) -> int:
        snapshot: int = self.tables.stage(f"good:{number}")
        return snapshot

    def exchange(self, snapshot: int) -> None:
        self.tables.contents[snapshot] = "other"

    def lose(self, snapshot: int) -> None:
        del self.tables.parents[snapshot]

    def again(self) -> None:
        self.tables = MemoryGatedTable("0b")
        self.tables.commit("", to_main=True)


class GatedOnIceberg:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.catalog = SqlCatalog("lake", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}")
        self.catalog.create_namespace("sales")
        self.make()
        self.tables = IcebergBranches(lambda: self.catalog, identify, frozenset({"lake"}))

    def make(self) -> None:
        columns = pa.schema([("n", pa.int64())])
        table = self.catalog.create_table("sales.orders", columns, properties={"format-version": "2"})
        table.append(columns.empty_table())  # pyiceberg writes to no branch of a table without a snapshot

    def commit(self, number: int, *, to_main: bool = False, **stated: str) -> int:
        table = self.catalog.load_table("sales.orders")
        current = table.metadata.current_snapshot_id
        if not to_main and "audit" not in table.refs() and current is not None:
            table.manage_snapshots().create_branch(current, "audit").commit()
            table = self.catalog.load_table("sales.orders")
        table.append(pa.table({"n": [number]}), branch="main" if to_main else "audit", snapshot_properties=stated)
        found = self.catalog.load_table("sales.orders").snapshot_by_name("main" if to_main else "audit")
        assert found is not None
        return found.snapshot_id

    def stage(self, number: int) -> int:
        table = self.catalog.load_table("sales.orders")
        return stage(table, pa.table({"n": [number]}), f"run {number}")

    def exchange(self, snapshot: int) -> None:
        self._data(snapshot).write_bytes(b"other")

    def lose(self, snapshot: int) -> None:
        self._data(snapshot).unlink()

    def _data(self, snapshot: int) -> Path:
        table = self.catalog.load_table("sales.orders")
        task, *_ = table.scan(snapshot_id=snapshot).plan_files()  # of the newest manifest
        return Path(task.file.file_path.removeprefix("file://"))

    def again(self) -> None:
        self.catalog.drop_table("sales.orders")
        self.make()


@pytest.fixture(params=["memory", "iceberg"])
def gated(request: pytest.FixtureRequest, tmp_path: Path) -> GatedCatalog:
    """The same suite for both."""
    return GatedInMemory() if request.param == "memory" else GatedOnIceberg(tmp_path)


def state(gated: GatedCatalog) -> Any:
    return gated.tables.state(BRANCH)


def test_a_snapshot_of_the_branch_becomes_main(gated: GatedCatalog) -> None:
    """The first one, and one that is based on it; the branch stays."""
    begin = state(gated).main
    first, second = gated.commit(1), gated.commit(2)
    before = state(gated)
    gated.tables.set_main(BRANCH, before, first)
    between = state(gated)
    gated.tables.set_main(BRANCH, between, second)
    after = state(gated)

    assert (before.main, before.heads, list(before.line(second))) == (begin, (second,), [second, first, begin])
    assert (between.main, after.main, after.heads) == (first, second, (second,))
    assert (before.past, after.past) == ({begin}, {begin, first, second})


def test_what_is_staged_on_main_becomes_main(gated: GatedCatalog) -> None:
    """Of two one; the other one is not based on main any more. What a branch has is not staged."""
    gated.commit(0, to_main=True)
    gated.commit(1)
    begin = state(gated).main
    first, second = gated.stage(2), gated.stage(3)
    before = gated.tables.state(STAGED)
    assert before is not None
    gated.tables.set_main(STAGED, before, first)
    after = gated.tables.state(STAGED)
    third = gated.stage(4)
    newest = gated.tables.state(STAGED)

    assert (before.main, before.heads, before.parents[first]) == (begin, (first, second), begin)
    assert after is not None
    assert (after.main, after.heads) == (first, (second,))
    assert next_step(after, after.uuid, second, begin) is SnapshotStep.MAIN_MOVED
    assert newest is not None
    assert newest.heads == (third,)


def test_of_staged_snapshots_the_newest_ones_are_looked_at(tmp_path: Path) -> None:
    """A writer may stage any number. One that its writer has published itself, as another snapshot, is none."""
    world = GatedOnIceberg(tmp_path)
    made = [world.stage(each) for each in range(MOST_STAGED + 2)]
    before = world.tables.state(STAGED)
    world.commit(1, **{"published-wap-id": f"run {MOST_STAGED + 1}"})
    after = world.tables.state(STAGED)
    world.commit(2, to_main=True)
    overtaken = world.tables.state(STAGED)

    assert before is not None
    assert before.heads == tuple(made[2:])
    assert after is not None
    assert after.heads == tuple(made[1:-1])
    assert overtaken is not None
    assert overtaken.heads == ()


def test_what_a_branch_has_and_what_main_was_is_not_staged(tmp_path: Path) -> None:
    """Nor is what nobody has, without an id: a branch was dropped. A tag has what it names."""
    world = GatedOnIceberg(tmp_path)
    begin = world.commit(0, to_main=True)
    world.commit(1)
    world.catalog.load_table("sales.orders").manage_snapshots().remove_branch("audit").commit()
    tagged, back, wanted = (world.stage(each) for each in (2, 3, 4))
    world.catalog.load_table("sales.orders").manage_snapshots().create_tag(tagged, "kept").commit()
    world.tables.set_main(STAGED, state(world), back)
    world.catalog.load_table("sales.orders").manage_snapshots().rollback_to_snapshot(begin).commit()
    found = world.tables.state(STAGED)

    assert found is not None
    assert (found.main, found.heads) == (begin, (wanted,))


def test_main_that_has_moved_since_it_was_read_stays(gated: GatedCatalog) -> None:
    """Once, and once more."""
    snapshot, before = gated.commit(1), state(gated)
    foreign = gated.commit(2, to_main=True)
    with pytest.raises(ConditionFailed):
        gated.tables.set_main(BRANCH, before, snapshot)
    assert state(gated).main == foreign
    before = state(gated)
    second = gated.commit(3, to_main=True)
    with pytest.raises(ConditionFailed):
        gated.tables.set_main(BRANCH, before, snapshot)

    assert state(gated).main == second


def test_another_table_of_the_name_stays(gated: GatedCatalog) -> None:
    snapshot, before = gated.commit(1), state(gated)
    with pytest.raises(ConditionFailed):
        gated.tables.set_main(BRANCH, before, snapshot + 1)
    gated.again()
    other, now = gated.commit(2), state(gated)
    with pytest.raises(ConditionFailed):
        gated.tables.set_main(BRANCH, replace(before, main=now.main), other)

    assert state(gated).main == now.main


def test_files_are_what_they_were(gated: GatedCatalog) -> None:
    """As often as they are asked for; of other bytes, or without one, they are not."""
    first, second = gated.commit(1), gated.commit(2)
    found = [gated.tables.files(BRANCH, each) for each in (first, second, first)]
    gated.exchange(second)
    changed = gated.tables.files(BRANCH, second)
    gated.lose(second)

    assert found[0] == found[2] != found[1]
    assert changed is not None
    assert changed != found[1]
    assert gated.tables.files(BRANCH, second) is None
    assert gated.tables.files(BRANCH, 99) is None


def test_of_a_snapshot_that_added_rows_those_files_alone_are_asked_for(gated: GatedCatalog) -> None:
    """Beyond the metadata of both: other bytes of a file of the earlier one are none of the later one's."""
    begin = state(gated).main
    first, second, third = (gated.commit(each) for each in (1, 2, 3))
    found = [gated.tables.files(BRANCH, third, since) for since in (first, second, first, None)]
    gated.exchange(first)
    same = gated.tables.files(BRANCH, third, first)
    gated.exchange(third)
    changed = gated.tables.files(BRANCH, third, first)
    gated.lose(third)

    assert found[0] == found[2] == same != changed
    assert len({each.digest for each in found[:2] + found[3:] if each is not None}) == len((first, second, None))
    assert [each.added and len(each.added) for each in found[:2] if each is not None] == [2, 1]
    assert found[3] is not None
    assert found[3].added is None
    assert gated.tables.files(BRANCH, third, first) is None
    assert gated.tables.files(BRANCH, second, 99) is None
    assert gated.tables.files(BRANCH, first, begin) is not None


def added_refused(world: GatedOnIceberg, since: int) -> str:
    with pytest.raises(PortError) as refused:
        world.tables.files(BRANCH, state(world).main, since)
    return str(refused.value)


def _rewritten(world: GatedOnIceberg) -> None:
    """The same rows in one file, as a compaction leaves them."""
    table = world.catalog.load_table("sales.orders")
    table.overwrite(table.scan().to_arrow())


def _renamed(world: GatedOnIceberg) -> None:
    """Of the first data file another partition and number of rows in the metadata: the file is the same one."""
    table = world.catalog.load_table("sales.orders")
    (task, *_) = table.scan().plan_files()
    with table.transaction() as change, change.update_snapshot().overwrite() as update:
        update.delete_data_file(task.file)
        task.file._data[4] += 1  # noqa: SLF001 - the number of its records
        update.append_data_file(task.file)


def _with_deletes(world: GatedOnIceberg) -> None:
    table = world.catalog.load_table("sales.orders")
    add_deletes(table, deleted_positions(table, 0), DataFileContent.POSITION_DELETES)


@pytest.mark.parametrize(
    "act",
    [
        lambda world: world.catalog.load_table("sales.orders").delete("n = 1"),
        lambda world: world.catalog.load_table("sales.orders").overwrite(pa.table({"n": [7]}), "n = 1"),
        lambda world: world.catalog.load_table("sales.orders").overwrite(pa.table({"n": [7]})),
        _rewritten,
        _renamed,
        _with_deletes,
    ],
)
def test_a_snapshot_that_does_not_have_all_rows_as_they_were_adds_none(tmp_path: Path, act: Any) -> None:
    """Whatever it says that it is, also if it adds rows besides, or later ones do."""
    world = GatedOnIceberg(tmp_path)
    world.commit(1, to_main=True)
    since = world.commit(2, to_main=True)
    act(world)
    world.commit(3, to_main=True)

    assert added_refused(world, since) == "rows-changed"


def test_rows_that_came_and_went_on_the_way_are_none(tmp_path: Path) -> None:
    """What counts is what the snapshot has beyond main."""
    world = GatedOnIceberg(tmp_path)
    since = world.commit(1, to_main=True)
    world.commit(2, to_main=True)
    file = world._data(world.commit(3, to_main=True))  # noqa: SLF001 - of this module
    world.catalog.load_table("sales.orders").delete("n = 2")
    found = world.tables.files(BRANCH, state(world).main, since)

    assert found is not None
    assert found.added == {f"file://{file}"}


def test_manifests_that_were_merged_have_the_same_files(tmp_path: Path) -> None:
    world = GatedOnIceberg(tmp_path)
    merged = {"commit.manifest-merge.enabled": "true", "commit.manifest.min-count-to-merge": "2"}
    with world.catalog.load_table("sales.orders").transaction() as change:
        change.set_properties(merged)
    numbers = [world.commit(each, to_main=True) for each in range(4)]
    table = world.catalog.load_table("sales.orders")
    lists = [{each.manifest_path for each in table.snapshot_by_id(of).manifests(table.io)} for of in numbers]  # type: ignore[union-attr]
    found = world.tables.files(BRANCH, numbers[3], numbers[1])

    assert not lists[1] <= lists[3]
    assert found is not None
    assert found.added is not None
    assert len(found.added) == len((2, 3))


@pytest.mark.parametrize("is_asked_before", [True, False])
def test_a_list_that_revives_deleted_rows_adds_none(tmp_path: Path, *, is_asked_before: bool) -> None:
    """By another number of a manifest. pyiceberg takes what another list has said about it for what this one says."""
    world = GatedOnIceberg(tmp_path)
    world.again()
    world.commit(1, to_main=True)
    _with_deletes(world)
    since = state(world).main
    world.commit(2, to_main=True)
    table = world.catalog.load_table("sales.orders")
    listed_again(
        table,
        state(world).main,
        newer,
    )
    if is_asked_before:
        table.snapshot_by_id(since).manifests(table.io)  # type: ignore[union-attr]

    assert added_refused(world, since) == "rows-changed"


def test_rows_that_are_listed_twice_are_added(tmp_path: Path) -> None:
    """A manifest that is in the list twice, and a data file of main that is added once more."""
    world = GatedOnIceberg(tmp_path)
    since = world.commit(1, to_main=True)
    old = world._data(since)  # noqa: SLF001 - of this module
    world.commit(2, to_main=True)
    table = world.catalog.load_table("sales.orders")
    listed_again(table, state(world).main, lambda found: [*found, *found])
    twice = world.tables.files(BRANCH, state(world).main, since)
    since = world.commit(3, to_main=True)
    add_file(world.catalog.load_table("sales.orders"), f"file://{old}", size=old.stat().st_size)
    again = world.tables.files(BRANCH, state(world).main, since)

    assert twice is not None
    assert twice.added is not None
    assert f"file://{old}" in twice.added
    assert again is not None
    assert again.added == {f"file://{old}"}


def test_a_table_that_is_not_there(tmp_path: Path) -> None:
    world = GatedOnIceberg(tmp_path)
    world.catalog.drop_table("sales.orders")

    assert (state(world), world.tables.files(BRANCH, 1)) == (None, None)


def test_what_main_keeps_stays(tmp_path: Path) -> None:
    """Ages of its snapshots are settings of the producer."""
    world = GatedOnIceberg(tmp_path)
    first = world.commit(1, to_main=True)
    table = world.catalog.load_table("sales.orders")
    kept = {"ref-name": "main", "type": "branch", "snapshot-id": first, "max-snapshot-age-ms": 7_000}
    table.catalog.commit_table(table, (), (SetSnapshotRefUpdate.model_validate(kept),))
    snapshot = world.commit(2)
    world.tables.set_main(BRANCH, state(world), snapshot)
    main = world.catalog.load_table("sales.orders").refs()["main"]

    assert (main.snapshot_id, main.max_snapshot_age_ms) == (snapshot, 7_000)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("py-io-impl", "pyiceberg.io.pyarrow.PyArrowFileIO"),
        ("write.py-location-provider.impl", "pyiceberg.table.locations.SimpleLocationProvider"),
        ("write.metadata.path", ""),
    ],
)
def test_a_table_chooses_no_code_and_no_place(tmp_path: Path, name: str, value: str) -> None:
    """Of the function that commits to it."""
    world = GatedOnIceberg(tmp_path)
    world.commit(1)
    table = world.catalog.load_table("sales.orders")
    location = f"file://{tmp_path}/elsewhere"
    table.transaction().set_properties({name: value or location}).commit_transaction()
    with pytest.raises(PortError, match="table-refused"):
        state(world)


def test_deletes_are_files_of_a_snapshot(tmp_path: Path) -> None:
    """Their bytes decide which rows it has."""
    world = GatedOnIceberg(tmp_path)
    world.commit(1, to_main=True)
    table = world.catalog.load_table("sales.orders")
    add_deletes(table, deleted_positions(table, 0), DataFileContent.POSITION_DELETES)
    snapshot = state(world).main
    before = world.tables.files(BRANCH, snapshot)
    (place,) = (folder_of(table) / "data").glob("*-deletes.parquet")
    place.write_bytes(b"others")

    assert before is not None
    assert before != world.tables.files(BRANCH, snapshot)
    assert before.number == len(("list", "manifest of data", "manifest of deletes", "data", "deletes"))


OTHER = "other/orders/data"
"""The folder of data of another producer, which the function may read, too."""


def other_file(world: GatedOnIceberg) -> Path:
    """A data file of another producer."""
    snapshot = world.commit(1, to_main=True)
    folder = world.folder / OTHER
    folder.mkdir(parents=True)
    return Path(shutil.copy(world._data(snapshot), folder / "a.parquet"))  # noqa: SLF001 - of this module


def current_refused(world: GatedOnIceberg) -> str:
    with pytest.raises(PortError) as refused:
        world.tables.files(BRANCH, state(world).main)
    return str(refused.value)


@pytest.mark.parametrize(
    "form", ["file://{}", "{}", "file://{folder}/sales/orders/data/../../../" + OTHER + "/a.parquet"]
)
def test_a_data_file_of_another_table_is_refused(tmp_path: Path, form: str) -> None:
    """Its rows are of another producer, whose files the function may read as well."""
    world = GatedOnIceberg(tmp_path)
    file = other_file(world)
    add_file(world.catalog.load_table("sales.orders"), form.format(file, folder=tmp_path), size=file.stat().st_size)

    assert current_refused(world) == "table-refused"


def test_deletes_of_another_table_are_refused(tmp_path: Path) -> None:
    world = GatedOnIceberg(tmp_path)
    world.commit(1, to_main=True)
    table = world.catalog.load_table("sales.orders")
    add_deletes(table, deleted_positions(table, 0), DataFileContent.POSITION_DELETES)
    (place,) = (folder_of(table) / "data").glob("*-deletes.parquet")
    (tmp_path / OTHER).mkdir(parents=True)
    shutil.move(place, tmp_path / OTHER)
    place.symlink_to(tmp_path / OTHER / place.name)

    assert current_refused(world) == "table-refused"


@pytest.mark.parametrize("kind", ["manifest-list", "manifest"])
def test_metadata_of_another_table_is_refused(tmp_path: Path, kind: str) -> None:
    """A manifest, and a list of them."""
    world = GatedOnIceberg(tmp_path)
    snapshot = world.commit(1, to_main=True)
    table = world.catalog.load_table("sales.orders")
    found = table.snapshot_by_id(snapshot)
    assert found is not None
    named = found.manifest_list if kind == "manifest-list" else found.manifests(table.io)[0].manifest_path
    file = Path(named.removeprefix("file://"))
    (tmp_path / OTHER).mkdir(parents=True)
    shutil.move(file, tmp_path / OTHER)
    if kind == "manifest-list":
        _rewrite(table.metadata_location, named, f"file://{tmp_path}/{OTHER}/{file.name}")
    else:
        file.symlink_to(tmp_path / OTHER / file.name)

    assert current_refused(world) == "table-refused"


def _rewrite(metadata_location: str, old: str, new: str) -> None:
    """Other metadata at the place that the catalog names."""
    file = Path(metadata_location.removeprefix("file://"))
    file.write_text(file.read_text().replace(json.dumps(old), json.dumps(new)))


@pytest.mark.parametrize("place", ["other", "sales/orders/inner", "sales"])
def test_the_location_in_the_metadata_is_the_folder_of_the_catalog(tmp_path: Path, place: str) -> None:
    """It decides where a commit writes to, and nothing else: no file is of the table because of it."""
    world = GatedOnIceberg(tmp_path)
    world.commit(1)
    table = world.catalog.load_table("sales.orders")
    _rewrite(table.metadata_location, table.metadata.location, f"file://{tmp_path}/{place}")
    with pytest.raises(PortError, match="table-refused"):
        state(world)


def test_a_slash_at_the_end_of_the_location_is_no_other_folder(tmp_path: Path) -> None:
    world = GatedOnIceberg(tmp_path)
    snapshot = world.commit(1)
    table = world.catalog.load_table("sales.orders")
    _rewrite(table.metadata_location, table.metadata.location, f"{table.metadata.location}/")

    assert state(world).heads == (snapshot,)
