"""The merge strategy `snapshot`: the events of a line give each of its snapshots, and few of its bytes are read for the next."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.base.errors import InputError
from lakegate.base.timestamps import moment
from lakegate.contract.delivery_policy import MergeStrategy, Policy
from lakegate.contract.file_formats import Format, Storage
from lakegate.engine import row_groups
from lakegate.engine.read.data_source import LocalStore, path_of
from lakegate.features.odf.format.logical_hash import slice_in
from lakegate.features.odf.read_slices import SliceTable
from lakegate.features.odf.recompute_slices import CurrentRows, logical_hashes
from lakegate.features.odf.slices import merge_strategies
from lakegate.features.odf.slices.earlier_rows import Content, earlier_rows
from lakegate.features.odf.slices.merge_state import StateRecords, StoredRun, state_digest
from lakegate.features.odf.slices.merge_strategies import Identified, SnapshotDifference
from lakegate.features.odf.slices.slice_writer import Begin
from lakegate.plan.plan import Plan
from lakegate.plan.request import StagedPart
from lakegate.plan.result import Result
from lakegate.plan.slice_order import (
    Merged,
    MergedSnapshot,
    MergeOrder,
    PublishedSlice,
    SliceOrder,
    SnapshotOrder,
    StateRun,
    WrittenSlice,
)
from tests.deliveries.delivery import measure_natively, plan_of, request_for
from tests.deliveries.sliced import NOW, rows_of
from tests.deliveries.written import as_parquet
from tests.engine.test_slices import DELIVERED, nested
from tests.reference.sampling import sampled

POLICY = Policy(allow_empty=True, merge_strategy=MergeStrategy.SNAPSHOT, merge_key=("id",))
PLAN = replace(plan_of({"id": "integer", "name": "string"}), policy=POLICY)
DATED = replace(
    plan_of({"id": "integer", "name": "string", "at": "timestamp"}), policy=replace(POLICY, event_time="at")
)
FIRST = dt.datetime(2019, 1, 1, tzinfo=dt.UTC)
Row = tuple[int, str | None]


def day(number: int) -> str:
    return moment(FIRST + dt.timedelta(days=number))


@dataclass
class Line:
    """A line of snapshots, with its state and its slices as completion keeps them."""

    folder: Path
    plan: Plan = PLAN
    keeps: bool = False
    """Of upserts."""
    system_time: str = ""
    runs: tuple[StateRun, ...] = ()
    offset: int = 0
    results: list[Result] = field(default_factory=list)

    def deliver(self, *objects: bytes, time: str | None = None) -> Merged:
        """Judge a snapshot by the state of those before it."""
        folder = self.folder / str(len(self.results))
        folder.mkdir(parents=True)
        listed = tuple(PublishedSlice(each.uri, each.offset, each.rows) for one in self.results for each in one.slices)
        order = SnapshotOrder(day(len(self.results)) if time is None else time, listed, self.keeps)
        merge = MergeOrder("shop/sales_v1", ("id",), self.runs, order)
        request = request_for(self.plan, folder, *objects)
        found = measure_natively(
            replace(
                request,
                slices=SliceOrder(self.offset, self.plan.policy.event_time, merge=merge, system_time=self.system_time),
            ),
            self.plan,
        )
        assert found.merge is not None
        assert found.merge.snapshot is not None
        self.results.append(found)
        self.offset += sum(each.rows for each in found.slices)
        run = found.merge.run
        self.runs = (
            *found.merge.kept,
            *([StateRun(run.uri, run.rows, run.digest, found.merge.snapshot.time)] if run else []),
        )
        return found.merge

    def files(self, deliveries: int | None = None) -> list[Path]:
        return [path_of(each.uri) for one in self.results[:deliveries] for each in one.slices]

    def rows(self, deliveries: int | None = None, as_of: dt.datetime | None = None) -> list[Row]:
        """The state of the line after some deliveries, by its events alone."""
        files = self.files(deliveries)
        with TemporaryDirectory() as name:
            table = SliceTable(files, as_of).first(1000, Path(name)) if files else pa.table({"id": [], "name": []})
        return sorted(zip(table["id"].to_pylist(), table["name"].to_pylist(), strict=True))

    def events(self) -> list[tuple[int, int, str | None]]:
        """Operation, key and name of each event, whose offsets follow one another."""
        slices = tuple(each for one in self.results for each in one.slices)
        if not slices:
            return []
        table = rows_of(slices)
        assert table["offset"].to_pylist() == list(range(len(table)))
        return list(zip(table["op"].to_pylist(), table["id"].to_pylist(), table["name"].to_pylist(), strict=True))

    def digest(self) -> str:
        return state_digest([StoredRun(LocalStore(), each).blocks() for each in self.runs])

    def rebuilt(self) -> str:
        """The digest of the state by the slices."""
        found = CurrentRows()
        found.add(self.files(), ("id",), self.plan.policy.event_time)
        return state_digest([StoredRun(LocalStore(), found.whole(self.folder, day(0))).blocks()])


def csv(rows: list[Row]) -> bytes:
    return b"id,name\n" + "".join(f"{key},{name or ''}\n" for key, name in rows).encode()


SNAPSHOT = st.dictionaries(st.integers(-2, 7), st.sampled_from([None, "a", "b", "c"]), max_size=7).flatmap(
    lambda rows: st.permutations(list(rows.items()))
)


@sampled(5, 1_000)
@given(
    st.lists(st.tuples(SNAPSHOT, st.sampled_from([1, 1, 1, 0, -1])), max_size=6),
    st.sampled_from([2, 3, 1 << 20]),
    st.sampled_from([1, 1 << 17]),
)
def test_events_give_each_snapshot(deliveries: list[tuple[list[Row], int]], rows_of_slice: int, group: int) -> None:
    """After each delivery, as known then, and as of each time, whatever came later; late ones change nothing; replay agrees."""
    with TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(merge_strategies, "FILE_ROWS", rows_of_slice)
        patch.setattr(row_groups, "GROUP_ROWS", group)
        patch.setattr("lakegate.features.odf.slices.earlier_rows.AT_ONCE", 2)
        line, before, number = Line(Path(name)), CurrentRows(), 0
        merged: list[tuple[int, list[Row]]] = []
        known: list[list[Row]] = []
        for at, (rows, step) in enumerate(deliveries):
            number += step
            line.deliver(csv(rows), time=day(number))
            if not merged or number >= merged[-1][0]:
                merged.append((number, sorted(rows)))
            known.append(merged[-1][1])
            found = line.results[at].slices
            assert rebuilt(line, found, csv(rows), number, before) == tuple(each.logical for each in found)
            before.add([path_of(each.uri) for each in found], ("id",), None)

        assert [line.rows(at + 1) for at in range(len(deliveries))] == known
        for time in sorted({-7, *(each + before_it for each, _ in merged for before_it in (-1, 0))}):
            wanted = [rows for at, rows in merged if at <= time]
            assert line.rows(as_of=FIRST + dt.timedelta(days=time)) == (wanted[-1] if wanted else [])
        assert all(slice_in(each) for each in line.files())
        assert sum(each.rows for each in line.runs) == (len(merged[-1][1]) if merged else 0)
        assert line.rebuilt() == line.digest()


def rebuilt(
    line: Line, found: tuple[WrittenSlice, ...], body: bytes, number: int, before: CurrentRows
) -> tuple[str, ...]:
    """The logical hashes of the slices of a snapshot of a day, by what arrived and the slices before."""
    if not found:
        return ()
    arrived = line.folder / "arrived"
    arrived.write_bytes(body)
    parts = (StagedPart(arrived.as_uri(), len(body)),)
    begin = Begin(found[0].offset, NOW, None, moment=FIRST + dt.timedelta(days=number))
    return logical_hashes(line.plan, parts, LocalStore(), begin, [each.rows for each in found], line.folder, before)


def test_events_are_in_the_order_of_odf(tmp_path: Path) -> None:
    """Retractions, then rows in the order of the snapshot, of a correction both events together; equal rows give none."""
    line = Line(tmp_path)
    found = [
        line.deliver(csv([(1, "a"), (2, "b"), (3, "c"), (4, "d")])),
        line.deliver(csv([(5, "e"), (3, "x"), (1, "a")])),
    ]

    assert line.events()[4:] == [(1, 2, "b"), (1, 4, "d"), (0, 5, "e"), (2, 3, "c"), (3, 3, "x")]
    assert [(each.known, each.snapshot) for each in found] == [
        (0, MergedSnapshot(day(0), "", 0, 4, 0, 0)),
        (1, MergedSnapshot(day(1), day(0), 0, 1, 2, 1)),
    ]
    assert rows_of(line.results[1].slices)["event_time"].to_pylist() == [FIRST + dt.timedelta(days=1)] * 5


def test_a_snapshot_that_changes_nothing_has_no_slice(tmp_path: Path) -> None:
    """Its rows in another order; the line knows its time nevertheless."""
    line = Line(tmp_path)
    line.deliver(csv([(1, "a"), (2, "b")]))
    before = line.runs
    found = line.deliver(csv([(2, "b"), (1, "a")]))

    assert line.results[1].slices == ()
    assert found == Merged(2, 2, 0, 0, 0, before, line.runs, snapshot=MergedSnapshot(day(1), day(0)))
    assert line.runs == (replace(before[0], as_of=day(1)),)


def test_an_empty_snapshot_takes_every_row_back(tmp_path: Path) -> None:
    """Also the first one is known, so that an older one is late."""
    line, other = Line(tmp_path / "one"), Line(tmp_path / "other")
    line.deliver(csv([(1, "a")]))
    line.deliver(csv([]))
    other.deliver(csv([]))

    assert (line.events(), line.rows()) == ([(0, 1, "a"), (1, 1, "a")], [])
    assert [(each.rows, each.as_of) for each in (*line.runs, *other.runs)] == [(0, day(1)), (0, day(0))]
    line.deliver(csv([(1, "b")]))
    assert line.rows() == [(1, "b")]


def test_an_older_snapshot_changes_nothing(tmp_path: Path) -> None:
    """The clock of the line does not go back; one of the same time is merged."""
    line = Line(tmp_path)
    line.deliver(csv([(1, "a")]), time=day(5))
    before = line.runs
    found = line.deliver(csv([(1, "b"), (2, "c")]), time=day(4))

    assert found == Merged(1, 2, 0, 0, 0, before, before, snapshot=MergedSnapshot(day(4), day(5)))
    assert (line.rows(), line.results[1].slices, line.runs) == ([(1, "a")], (), before)
    line.deliver(csv([(1, "b")]), time=day(5))
    assert line.rows() == [(1, "b")]


@pytest.mark.parametrize("has_column", [False, True], ids=["given", "in a column"])
def test_a_time_to_come_is_that_of_judging(tmp_path: Path, has_column: bool) -> None:  # noqa: FBT001 - drawn
    """A wrong year makes no later snapshot late, wherever the time stands."""
    line, to_come = Line(tmp_path, DATED if has_column else PLAN), "2062-01-01T00:00:00.000000Z"
    found = line.deliver(dated((1, "a", to_come)) if has_column else csv([(1, "a")]), time=to_come)

    assert found.snapshot == MergedSnapshot(moment(NOW), "", 0, 1)


@pytest.mark.parametrize(("time", "more"), [("", ""), (day(3), "1,c\n1,a\n"), (day(3), ",c\n")])
def test_a_snapshot_that_cannot_be_compared_changes_nothing(tmp_path: Path, time: str, more: str) -> None:
    """One without a time, one with a key several times, and one with a row without a key."""
    line = Line(tmp_path)
    line.deliver(csv([(9, "z")]))
    found = line.deliver(csv([(1, "a"), (2, "b")]) + more.encode(), time=time)

    wrong = more.count("\n")
    assert found == Merged(1, 2 + wrong, 0, 0, 0, line.runs, line.runs, snapshot=MergedSnapshot(time, day(0), wrong))
    assert line.rows() == [(9, "z")]


def dated(*rows: tuple[int, str, str]) -> bytes:
    return b"id,name,at\n" + "".join(f"{key},{name},{at}\n" for key, name, at in rows).encode()


def test_a_column_has_the_time(tmp_path: Path) -> None:
    """It is no content; rows without one time in common are not compared."""
    line = Line(tmp_path, DATED)
    one, two = "2019-03-01T00:00:00Z", "2019-03-02T00:00:00Z"
    found = [
        line.deliver(dated((1, "a", one), (2, "b", one))),
        line.deliver(dated((1, "a", two), (2, "c", two))),
        line.deliver(dated((1, "x", one), (2, "y", two))),
        line.deliver(dated((1, "x", two), (2, "y", ""))),
        line.deliver(b"id,name,at\n", time="2019-03-03T00:00:00.000000Z"),
    ]

    assert [each.snapshot and (each.snapshot.time[:10], each.snapshot.events) for each in found] == [
        ("2019-03-01", 2),
        ("2019-03-02", 2),
        ("", 0),
        ("", 0),
        ("2019-03-03", 2),
    ]
    assert line.events()[2:] == [(2, 2, "b"), (3, 2, "c"), (1, 1, "a"), (1, 2, "c")]
    assert line.rebuilt() == line.digest()


def test_a_column_that_a_later_version_adds_is_null_in_what_is_taken_back(tmp_path: Path) -> None:
    """Rows without a value in it are the same; the events are those of one table."""
    line = Line(tmp_path)
    line.deliver(csv([(1, "a"), (2, "b")]))
    line.plan = replace(plan_of({"id": "integer", "word": "string", "name": "string"}), policy=POLICY)
    found = line.deliver(b"id,word,name\n1,,a\n2,new,b\n")

    assert (found.known, found.snapshot and found.snapshot.corrected) == (1, 1)
    assert rows_of(line.results[1].slices)["word"].to_pylist() == [None, "new"]
    assert line.rows() == [(1, "a"), (2, "b")]


def test_nested_values_are_taken_back(tmp_path: Path) -> None:
    """Records and lists, at every level."""
    plan = replace(nested(Storage(Format.PARQUET)), policy=POLICY)
    line = Line(tmp_path, plan)
    line.deliver(as_parquet(DELIVERED))
    line.deliver(as_parquet(DELIVERED.slice(1)))
    one, two = (rows_of(each.slices) for each in line.results)

    assert two.drop_columns(["offset", "op", "event_time"]).equals(
        one.slice(0, 1).drop_columns(["offset", "op", "event_time"])
    )
    assert two["op"].to_pylist() == [1]


@dataclass
class Counting(LocalStore):
    """Counts the bytes that are read of each object."""

    read: dict[str, int] = field(default_factory=dict)

    def part(self, address: str, start: int, length: int) -> bytes:
        """See `Store`."""
        self.read[address] = self.read.get(address, 0) + length
        return super().part(address, start, length)


def test_only_row_groups_with_rows_that_are_taken_back_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of slices without such a row, nothing is."""
    monkeypatch.setattr(row_groups, "GROUP_ROWS", 1000)
    monkeypatch.setattr("lakegate.engine.read.csv.SHARE_BYTES", 100_000)
    monkeypatch.setattr(merge_strategies, "FILE_ROWS", 10_000)
    line = Line(tmp_path)
    line.deliver(csv([(each, blake2b(b"%d" % each).hexdigest()) for each in range(20_000)]))
    slices = [PublishedSlice(each.uri, each.offset, each.rows) for each in line.results[0].slices]
    store, schema = Counting(), pa.schema({"id": pa.int64(), "name": pa.string()})
    (run,) = line.runs
    records = np.concatenate([*StoredRun(LocalStore(), run).blocks()])
    wanted = np.sort(records[np.isin(records["offset"], [7, 12])], order="offset")
    with earlier_rows(store, slices, wanted, Content(schema), tmp_path / "rows") as found:
        assert found.taken(np.array([12, 7, 12]))["id"].to_pylist() == [12, 7, 12]

    assert list(store.read) == [slices[0].uri]
    assert store.read[slices[0].uri] < path_of(slices[0].uri).stat().st_size / 3


DAMAGES = ("cut off", "other bytes", "other offsets", "other types", "other values", "no offsets")


@pytest.mark.parametrize("change", [*DAMAGES, "not listed"])
def test_a_slice_that_is_not_as_listed_is_refused(tmp_path: Path, change: str) -> None:
    """No event is made up."""
    line = Line(tmp_path)
    line.deliver(csv([(1, "a"), (2, "b")]))
    (path,) = line.files()
    table = pq.read_table(path)
    if change == "cut off":
        path.write_bytes(path.read_bytes()[:-9])
    elif change == "other bytes":
        found = pq.read_metadata(path).row_group(0).column(5)
        begin, body = found.data_page_offset + found.total_compressed_size // 2, bytearray(path.read_bytes())
        body[begin : begin + 8] = bytes(each ^ 255 for each in body[begin : begin + 8])
        path.write_bytes(body)
    elif change == "other values":
        pq.write_table(table.set_column(5, "name", pa.array(["a", "c"])), path)
    elif change == "no offsets":
        pq.write_table(table.drop_columns(["offset"]), path)
    elif change == "other offsets":
        pq.write_table(table.set_column(0, "offset", pa.array([5, 6], pa.uint64())), path)
    elif change == "other types":
        pq.write_table(table.set_column(5, "name", pa.array([[1], [2]])), path)
    else:
        line.results[0] = replace(line.results[0], slices=())
        line.offset = 2
    wanted = "do not have all rows" if change == "not listed" else "is not as listed"
    with pytest.raises(InputError, match=wanted):
        line.deliver(csv([(1, "x"), (2, "y")]))


def test_a_slice_that_the_storage_does_not_give_is_no_damage(tmp_path: Path) -> None:
    """The failure is the storage's: another attempt may read it."""
    line = Line(tmp_path)
    line.deliver(csv([(1, "a")]))
    line.files()[0].unlink()

    with pytest.raises(FileNotFoundError):
        line.deliver(csv([(1, "x")]))


@given(
    st.lists(st.sampled_from([0, 1, 2]), max_size=12).map(np.array),
    st.integers(0, 4),
    st.integers(2, 5),
)
def test_a_correction_is_in_one_slice(
    events: np.ndarray[tuple[int], np.dtype[np.int64]], retracted: int, most: int
) -> None:
    """All events are in a slice, and no border divides the two of a correction."""
    events = events.astype(np.int64)
    hashes = np.zeros(len(events), "S16")
    rows = Identified(hashes, hashes, np.ones(len(events), bool))
    none = StateRecords.none().records
    found = SnapshotDifference(rows, np.zeros(len(events), np.int64), events, np.arange(retracted), none, none)
    counts = found.counts(most)
    borders = set(np.cumsum(counts).tolist())
    ends = retracted + np.cumsum(events)

    assert sum(counts) == retracted + int(events.sum())
    assert all(0 < each <= most for each in counts)
    assert not borders & set((ends - 1)[events == 2].tolist())


def test_a_state_with_offsets_is_by_key() -> None:
    """Of a key that is there twice, the first row."""
    keys, contents = (np.array(list(each), "S16") for each in ((b"b", b"a", b"b"), (b"1", b"2", b"3")))
    found = StateRecords.of(keys, contents, np.array([7, 8, 9])).records

    assert found.tolist() == [(b"a", b"2", 8), (b"b", b"1", 7)]


@pytest.mark.parametrize(
    "columns", [{"id": [1]}, {"offset": pa.array([], pa.uint64()), "op": pa.array([], pa.uint8())}]
)
def test_a_file_that_is_no_slice_has_no_events(tmp_path: Path, columns: dict[str, Any]) -> None:
    """The state of the line cannot follow from it."""
    path = tmp_path / "other.parquet"
    pq.write_table(pa.table(columns), path)

    with pytest.raises(InputError, match="no slice"):
        CurrentRows().add([path], ("id",), None)


def test_rows_of_any_dataset_are_those_that_are_not_taken_back(tmp_path: Path) -> None:
    """As often as they were added more: without a key, with any names of columns, nulls and lists, in the order of offsets."""
    operations = [0, 0, 0, 1, 2, 3, 0, 1]
    values = [1, 1, None, 1, None, 5, 7, 7]
    moments = pa.array([FIRST] * len(values), pa.timestamp("ms", "UTC"))
    table = pa.table(
        {
            "offset": pa.array(range(len(values)), pa.int64()),
            "op": pa.array(operations, pa.int32()),
            "system_time": moments,
            "event_time": moments,
            'na"me': values,
            "at": [[each, None] for each in values],
            "ended": pa.array([None] * len(values), pa.string()),
        }
    )
    files = [tmp_path / "0", tmp_path / "1"]
    for path, part in zip(files, (table.slice(0, 4), table.slice(4)), strict=True):
        pq.write_table(part, path)

    assert SliceTable(files).first(9, tmp_path)["offset"].to_pylist() == [1, 5]
    assert SliceTable(files[:1]).count(tmp_path) == 2
    assert SliceTable(files, events=True).count(tmp_path) == len(values)
    pq.write_table(table.slice(0, 3), files[0], write_statistics=False)
    assert SliceTable(files[:1]).first(9, tmp_path)["offset"].to_pylist() == [0, 1, 2]
    files[1].write_bytes(b"PAR1")
    with pytest.raises(InputError, match="1 is no Parquet file"):
        SliceTable(files).count(tmp_path)
