"""The merge strategy `upsert`: the rows of a dataset are those of a dictionary that each delivery updates."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.base.timestamps import moment
from lakegate.contract.delivery_policy import MergeStrategy, OnReject
from lakegate.engine import row_groups
from lakegate.engine.read.data_source import LocalStore, path_of
from lakegate.features.odf.format.logical_hash import slice_in
from lakegate.features.odf.recompute_slices import CurrentRows, logical_hashes
from lakegate.features.odf.slices import merge_strategies
from lakegate.features.odf.slices.slice_writer import Begin
from lakegate.plan.request import StagedPart
from lakegate.plan.slice_order import Merged, MergedSnapshot, WrittenSlice
from tests.deliveries.delivery import plan_of, rule
from tests.deliveries.sliced import rows_of
from tests.engine.test_snapshots import FIRST, POLICY, SNAPSHOT, Line, Row, csv, day
from tests.reference.sampling import sampled

UPSERTS = replace(POLICY, merge_strategy=MergeStrategy.UPSERT)
PLAN = replace(plan_of({"id": "integer", "name": "string"}), policy=UPSERTS)


def line_of(folder: Path, plan: object = PLAN) -> Line:
    return Line(folder, plan, keeps=True)  # type: ignore[arg-type]


def upsert(line: Line, rows: list[Row], number: int) -> Merged:
    """Deliver rows, accepted on a day."""
    line.system_time = day(number)
    return line.deliver(csv(rows), time="")


def events_of(known: dict[int, str | None], rows: list[Row]) -> list[tuple[int, int, str | None]]:
    """Operation, key and name of each event that rows give, by what is known of their keys."""
    found: list[tuple[int, int, str | None]] = []
    for key, name in rows:
        if key not in known:
            found.append((0, key, name))
        elif known[key] != name:
            found += [(2, key, known[key]), (3, key, name)]
    return found


def rebuilt(line: Line, found: tuple[WrittenSlice, ...], rows: list[Row], before: CurrentRows) -> tuple[str, ...]:
    """The logical hashes of the slices of a delivery, by what arrived and the slices before."""
    if not found:
        return ()
    arrived, times = line.folder / "arrived", slice_in(path_of(found[0].uri))
    arrived.write_bytes(csv(rows))
    parts = (StagedPart(arrived.as_uri(), arrived.stat().st_size),)
    begin = Begin(found[0].offset, times.system_times[0], None, moment=times.event_times[0])
    return logical_hashes(line.plan, parts, LocalStore(), begin, [each.rows for each in found], line.folder, before)


@sampled(5, 1_000)
@given(st.lists(SNAPSHOT, max_size=6), st.sampled_from([2, 3, 1 << 20]), st.sampled_from([1, 1 << 17]))
def test_deliveries_update_a_dictionary(deliveries: list[list[Row]], rows_of_slice: int, group: int) -> None:
    """The rows after each delivery, its events, the rows as of each time, the state, and slices built again."""
    with TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(merge_strategies, "FILE_ROWS", rows_of_slice)
        patch.setattr(row_groups, "GROUP_ROWS", group)
        patch.setattr("lakegate.features.odf.slices.earlier_rows.AT_ONCE", 2)
        line, before = line_of(Path(name)), CurrentRows()
        known: dict[int, str | None] = {}
        states: list[list[Row]] = []
        events: list[tuple[int, int, str | None]] = []
        for at, rows in enumerate(deliveries):
            events += events_of(known, rows)
            known.update(rows)
            states.append(sorted(known.items()))
            upsert(line, rows, at)
            found = line.results[at].slices
            assert rebuilt(line, found, rows, before) == tuple(each.logical for each in found)
            before.add([path_of(each.uri) for each in found], ("id",), None)

        assert [line.rows(at + 1) for at in range(len(deliveries))] == states
        assert [line.rows(as_of=FIRST + dt.timedelta(days=at)) for at in range(len(deliveries))] == states
        assert line.events() == events
        assert sum(each.rows for each in line.runs) == len(known)
        assert line.rebuilt() == line.digest()


def test_new_and_changed_rows_are_published(tmp_path: Path) -> None:
    """Of a new key an `append`, of other values a correction, of equal ones nothing; a key that does not come stays."""
    line = line_of(tmp_path)
    found = [
        upsert(line, [(1, "a"), (2, "b"), (3, "c")], 0),
        upsert(line, [(4, "d"), (3, "c"), (1, "x")], 1),
    ]

    assert line.events()[3:] == [(0, 4, "d"), (2, 1, "a"), (3, 1, "x")]
    assert line.rows() == [(1, "x"), (2, "b"), (3, "c"), (4, "d")]
    assert [(each.known, each.snapshot) for each in found] == [
        (0, MergedSnapshot(day(0), "", 0, 3, 0, 0)),
        (1, MergedSnapshot(day(1), day(0), 0, 1, 0, 1)),
    ]
    assert rows_of(line.results[1].slices)["event_time"].to_pylist() == [FIRST + dt.timedelta(days=1)] * 3


@pytest.mark.parametrize("rows", [[], [(2, "b"), (1, "a")]])
def test_a_delivery_without_changes_has_no_slice(tmp_path: Path, rows: list[Row]) -> None:
    """Without rows, or with rows that are known."""
    line = line_of(tmp_path)
    upsert(line, [(1, "a"), (2, "b")], 0)
    before = line.runs
    found = upsert(line, rows, 1)

    assert (line.results[1].slices, line.rows()) == ((), [(1, "a"), (2, "b")])
    assert found == Merged(2, len(rows), 0, 0, 0, before, line.runs, snapshot=MergedSnapshot(day(1), day(0)))
    assert line.runs == (replace(before[0], as_of=day(1)),)


def test_the_order_is_that_of_acceptance(tmp_path: Path) -> None:
    """Whatever times names and objects have; a clock that is behind makes nothing late."""
    line = line_of(tmp_path)
    upsert(line, [(1, "a")], 5)
    found = upsert(line, [(1, "b"), (2, "c")], 4)

    assert found.snapshot == MergedSnapshot(day(5), day(5), 0, 1, 0, 1)
    assert line.rows() == [(1, "b"), (2, "c")]


@pytest.mark.parametrize("more", ["1,c\n1,a\n", ",c\n"])
def test_rows_without_a_key_of_their_own_change_nothing(tmp_path: Path, more: str) -> None:
    """A key that comes several times in a delivery, and one that is null: the whole delivery is not merged."""
    line = line_of(tmp_path)
    upsert(line, [(9, "z")], 0)
    line.system_time = day(1)
    found = line.deliver(csv([(1, "a"), (2, "b")]) + more.encode(), time="")

    wrong = more.count("\n")
    assert found == Merged(1, 2 + wrong, 0, 0, 0, line.runs, line.runs, snapshot=MergedSnapshot(day(1), day(0), wrong))
    assert line.rows() == [(9, "z")]


def test_the_key_of_a_rejected_row_stays(tmp_path: Path) -> None:
    """With `onReject: rows` the accepted rows are merged."""
    plan = plan_of({"id": "integer", "name": "string"}, rule("required", "name"))
    line = line_of(tmp_path, replace(plan, policy=replace(UPSERTS, on_reject=OnReject.ROWS)))
    upsert(line, [(1, "a"), (2, "b")], 0)
    upsert(line, [(1, None), (2, "x"), (3, "c")], 1)

    assert line.results[1].rejected_rows == 1
    assert line.rows() == [(1, "a"), (2, "x"), (3, "c")]


def test_a_column_that_a_later_version_adds_is_null_in_rows_of_before(tmp_path: Path) -> None:
    """Rows without a value in it are the same; those that do not come stay."""
    line = line_of(tmp_path)
    upsert(line, [(1, "a"), (2, "b"), (3, "c")], 0)
    line.plan = replace(plan_of({"id": "integer", "word": "string", "name": "string"}), policy=UPSERTS)
    line.system_time = moment(FIRST + dt.timedelta(days=1))
    found = line.deliver(b"id,word,name\n1,,a\n2,new,b\n", time="")

    assert (found.known, found.snapshot and found.snapshot.corrected) == (1, 1)
    assert rows_of(line.results[1].slices)["word"].to_pylist() == [None, "new"]
    assert line.rows() == [(1, "a"), (2, "b"), (3, "c")]
