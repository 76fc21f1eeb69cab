"""The merge strategy `ledger`: each key once over all deliveries, whatever they are, by a state that is read by parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.base.errors import InputError
from lakegate.contract.delivery_policy import OnReject, Policy
from lakegate.contract.file_formats import Format, Storage
from lakegate.engine.read.data_source import LocalStore, path_of
from lakegate.features.odf import recompute_slices
from lakegate.features.odf.recompute_slices import RowsBefore, StateOfSlices, joined, logical_hashes
from lakegate.features.odf.slices import merge_state, merge_strategies
from lakegate.features.odf.slices.merge_state import (
    Hashes,
    StateRecords,
    StoredRun,
    kept_runs,
    merge_parts,
    row_hashes,
    state_digest,
    write_run,
)
from lakegate.features.odf.slices.slice_writer import Begin
from lakegate.plan.plan import Plan
from lakegate.plan.request import StagedPart
from lakegate.plan.result import Result
from lakegate.plan.slice_order import Merged, MergeOrder, SliceOrder, StateRun
from tests.deliveries.delivery import measure_natively, plan_of, request_for, rule
from tests.deliveries.sliced import NOW, rows_of
from tests.deliveries.written import as_parquet
from tests.engine.test_slices import DELIVERED, nested
from tests.reference.sampling import sampled

PLAN = plan_of({"id": "integer", "name": "string"}, policy=Policy(allow_empty=True))
GRID = pa.list_(pa.list_(pa.int64()))
Row = tuple[int | None, str | None]


@dataclass
class Line:
    """A line of deliveries, with its state as completion keeps it."""

    folder: Path
    plan: Plan = PLAN
    key: tuple[str, ...] = ("id",)
    runs: tuple[StateRun, ...] = ()
    offset: int = 0
    results: list[Result] = field(default_factory=list)

    def deliver(self, *objects: bytes) -> Merged:
        """Judge a delivery by the state of those before it."""
        folder = self.folder / str(len(self.results))
        folder.mkdir(parents=True)
        order = SliceOrder(self.offset, merge=MergeOrder("shop/sales_v1", self.key, self.runs))
        found = measure_natively(replace(request_for(self.plan, folder, *objects), slices=order), self.plan)
        assert found.merge is not None
        self.results.append(found)
        self.offset += sum(each.rows for each in found.slices)
        run = found.merge.run
        self.runs = (*found.merge.kept, *([StateRun(run.uri, run.rows, run.digest)] if run else []))
        return found.merge

    def rows(self) -> list[Row]:
        """All rows of the line, whose offsets follow one another."""
        slices = tuple(each for result in self.results for each in result.slices)
        if not slices:
            return []
        table = rows_of(slices)
        assert table.column("offset").to_pylist() == list(range(len(table)))
        assert set(table.column("op").to_pylist()) == {0}
        return list(zip(table.column("id").to_pylist(), table.column("name").to_pylist(), strict=True))

    def blocks(self) -> list[Iterator[object]]:
        return [StoredRun(LocalStore(), each).blocks() for each in self.runs]


def csv(rows: list[Row]) -> bytes:
    return b"id,name\n" + "".join(f"{'' if key is None else key},{name or ''}\n" for key, name in rows).encode()


def expected(deliveries: list[list[Row]]) -> tuple[list[Row], list[tuple[int, int, int]]]:
    """The rows of the line, and of each delivery the known, changed and vanished ones: by nothing but a dict."""
    line: dict[int, str | None] = {}
    published: list[Row] = []
    counts = []
    for rows in deliveries:
        known = changed = 0
        before = set(line)
        for key, name in rows:
            if key is None or key not in line:
                published.append((key, name))
                if key is not None:
                    line[key] = name
            elif line[key] == name:
                known += 1
            else:
                changed += 1
        counts.append((known, changed, len(before - {key for key, _ in rows})))
    return published, counts


ROWS = st.lists(st.tuples(st.none() | st.integers(-3, 8), st.sampled_from([None, "a", "b"])), max_size=9)


@sampled(8, 2_000)
@given(st.lists(ROWS, max_size=5), st.sampled_from([1, 3, 2048]), st.sampled_from([2, 1 << 20]))
def test_each_key_is_in_the_line_once(deliveries: list[list[Row]], bucket: int, rows_of_slice: int) -> None:
    """The first row of each key, in the order of the deliveries, and each row without one; others are known or changed."""
    with TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(merge_state, "BUCKET", bucket)
        patch.setattr(merge_state, "AT_ONCE", 2 * bucket)
        patch.setattr(merge_strategies, "FILE_ROWS", rows_of_slice)
        line = Line(Path(name))
        found = [line.deliver(csv(rows)) for rows in deliveries]

        rows, counts = expected(deliveries)
        assert line.rows() == rows
        assert [(each.known, each.changed, each.vanished) for each in found] == counts
        assert sum(each.rows for each in line.runs) == len([key for key, _ in rows if key is not None])
        again = Line(Path(name) / "again")
        again.deliver(csv(rows))
        assert state_digest(line.blocks()) == state_digest(again.blocks())


def test_rejected_rows_have_no_key(tmp_path: Path) -> None:
    """A row that breaks a rule is delivered again, corrected: it is new then."""
    plan = plan_of(
        {"id": "integer", "name": "string"}, rule("required", "name"), policy=Policy(on_reject=OnReject.ROWS)
    )
    line = Line(tmp_path, plan)
    found = [line.deliver(csv([(1, "a"), (2, None)])), line.deliver(csv([(1, "a"), (2, "b")]))]

    assert line.rows() == [(1, "a"), (2, "b")]
    assert [(each.known, each.changed, each.vanished) for each in found] == [(0, 0, 0), (1, 0, 0)]


def test_a_key_of_several_columns_is_new_by_all_of_them(tmp_path: Path) -> None:
    """The order and the borders of their values count."""
    line = Line(tmp_path, plan_of({"id": "integer", "name": "string", "word": "string"}), ("name", "word"))
    found = [line.deliver(b"id,name,word\n1,ab,c\n"), line.deliver(b"id,name,word\n1,a,bc\n1,c,ab\n1,ab,c\n")]

    assert line.rows() == [(1, "ab"), (1, "a"), (1, "c")]
    assert [each.known for each in found] == [0, 1]


def test_nested_values_are_content(tmp_path: Path) -> None:
    """Records and lists, at every level; the same rows are known in another order."""
    plan = replace(nested(Storage(Format.PARQUET)), policy=Policy())
    other = DELIVERED.set_column(2, "grid", pa.array([[[1, 2], [], [4]], [], None, [None, [4, None]]], GRID))
    line = Line(tmp_path, plan)
    found = [line.deliver(as_parquet(each)) for each in (DELIVERED, DELIVERED.take([2, 0, 3, 1]), other)]

    assert [(each.known, each.changed) for each in found] == [(0, 0), (4, 0), (3, 1)]


def hashes(**columns: object) -> list[bytes]:
    return [bytes(each) for each in row_hashes(pa.table(columns))]


def test_rows_have_equal_hashes_only_if_their_values_are_equal() -> None:
    """Nulls have a place, names belong to values, and a column without a value changes nothing."""
    rows = [[None, 0], [0, None], [0, 0], [None], [], None]
    lists = hashes(a=pa.array(rows, pa.list_(pa.int64())))
    texts = hashes(a=["ab", "a", None, None], b=["c", "bc", "abc", None])

    assert len(set(lists)) == len(rows)
    assert len(set(texts)) == len(texts)
    assert hashes(a=["x", None]) == hashes(b=pa.array([None, None], pa.string()), a=["x", None])
    assert hashes(a=["x"]) != hashes(b=["x"])
    assert hashes(a=["x"], b=["y"]) == hashes(b=["y"], a=["x"])


@dataclass
class Counting(LocalStore):
    """Counts the bytes that are read."""

    read: int = 0

    def part(self, address: str, start: int, length: int) -> bytes:
        """See `Store`."""
        self.read += length
        return super().part(address, start, length)


def a_run(folder: Path, rows: int) -> StateRun:
    """A run of many keys."""
    keys = row_hashes(pa.table({"id": np.arange(rows)}))
    path = folder / "run"
    written, digest = write_run(StateRecords.of(keys, keys), [], path)
    assert written == rows
    return StateRun(path.as_uri(), rows, digest)


def found_in(run: StateRun, keys: Hashes) -> list[bytes | None]:
    """Of each key its content, None where it is not there."""
    is_here, contents = StoredRun(LocalStore(), run).contents(keys)
    return [content if here else None for here, content in zip(is_here, contents.tolist(), strict=True)]


def test_few_rows_read_a_small_part_of_the_state(tmp_path: Path) -> None:
    """Ten keys among 100,000: the list of buckets, and a bucket for each key."""
    run, store = a_run(tmp_path, 100_000), Counting()
    asked = np.sort(row_hashes(pa.table({"id": np.arange(99_995, 100_005)})))
    is_here, contents = StoredRun(store, run).contents(asked)

    assert (int(is_here.sum()), contents[is_here].tolist()) == (5, asked[is_here].tolist())
    assert store.read <= 49 * 32 + 10 * 2048 * 32 < path_of(run.uri).stat().st_size / 4


@sampled(60, 4_000)
@given(st.data())
def test_a_flipped_bit_of_a_state_is_refused(data: st.DataObject) -> None:
    """Wherever it is, when the file is read whole; and no key is found, or not found, by what is damaged."""
    with TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(merge_state, "BUCKET", 4)
        patch.setattr(merge_state, "AT_ONCE", 8)
        run = a_run(Path(name), data.draw(st.integers(1, 40)))
        path = path_of(run.uri)
        asked = np.sort(row_hashes(pa.table({"id": np.arange(41)})))
        wanted = found_in(run, asked)
        found = bytearray(path.read_bytes())
        bit = data.draw(st.integers(0, 8 * len(found) - 1))
        found[bit // 8] ^= 1 << bit % 8
        path.write_bytes(found)

        with pytest.raises(InputError, match="not as it was written"):
            list(StoredRun(LocalStore(), run).blocks())
        for at in range(len(asked)):
            with suppress(InputError):
                assert found_in(run, asked[at : at + 1]) == wanted[at : at + 1]


def test_a_state_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    """No key is new because a file is damaged."""
    run = a_run(tmp_path, 5_000)
    path_of(run.uri).write_bytes(path_of(run.uri).read_bytes()[:-1])

    with pytest.raises(InputError, match="not as it was written"):
        StoredRun(LocalStore(), run).contents(np.array([b"x" * 16]))


@given(st.lists(st.integers(1, 10**6), max_size=200))
def test_a_line_has_few_files_of_state(sizes: list[int]) -> None:
    """Each is at least twice as large as the next one, so that their number is logarithmic."""
    runs: tuple[StateRun, ...] = ()
    for rows in sizes:
        left = kept_runs(runs, rows)
        runs = (*left, StateRun("", rows + sum(each.rows for each in runs[len(left) :]), "d" * 64))

    assert sum(each.rows for each in runs) == sum(sizes)
    assert all(low.rows >= 2 * high.rows for low, high in pairwise(runs))


def test_a_row_with_a_null_in_its_key_is_a_row_of_its_own(tmp_path: Path) -> None:
    """Each time it is delivered, also when nothing else is: it is published, and no state knows it."""
    line = Line(tmp_path, key=("id", "name"))
    rows: list[Row] = [(1, "a"), (None, "a"), (None, "a"), (1, None)]
    first, second = line.deliver(csv(rows)), line.deliver(csv([*rows[1:], (1, "a")]))

    assert line.rows() == [*rows, *rows[1:]]
    assert (first.without_key, second.without_key, second.known, second.run) == (3, 3, 1, None)
    assert sum(each.rows for each in line.runs) == 1
    before, again = RowsBefore(), StateOfSlices(tmp_path)
    for result in line.results:
        for each in (before, again):
            each.add([path_of(one.uri) for one in result.slices], line.key)
    table = pa.table({"id": pa.array([1, None], pa.int64()), "name": ["a", "a"]})
    assert before.new(iter([table]), line.key).tolist() == [False, True]
    assert state_digest([StoredRun(LocalStore(), again.whole()).blocks()]) == state_digest(line.blocks())


def test_merged_slices_are_built_again_with_the_keys_before(tmp_path: Path) -> None:
    """From what arrived and the slices below: the same logical hashes; without the keys, other ones."""
    plan = replace(PLAN, policy=replace(PLAN.policy, merge_key=("id",)))
    line, before = Line(tmp_path, plan), RowsBefore()
    deliveries = [csv([(1, "a"), (2, "b"), (1, "c")]), csv([(2, "b"), (3, "c")])]
    for at, body in enumerate(deliveries):
        line.deliver(body)
        (found,) = line.results[at].slices
        arrived = tmp_path / f"arrived{at}"
        arrived.write_bytes(body)
        parts, begin = (StagedPart(arrived.as_uri(), len(body)),), Begin(found.offset, NOW, None)
        answers = [
            logical_hashes(plan, parts, LocalStore(), begin, [found.rows], tmp_path, each) for each in (before, None)
        ]
        assert [each == (found.logical,) for each in answers] == [True, at == 0]
        before.add([path_of(found.uri)], ("id",))


def test_a_state_is_computed_again_from_slices(tmp_path: Path) -> None:
    """With an equal digest, in one file; of a key that is in two slices, the first one counts."""
    line, again = Line(tmp_path), StateOfSlices(tmp_path)
    for rows in ([(1, "a"), (2, "b")], [(3, "c")], [(2, "b"), (4, None), (5, "e")]):
        line.deliver(csv(rows))
    for each in (*line.results, line.results[0]):
        again.add([path_of(one.uri) for one in each.slices], line.key)
    found = again.whole()

    assert state_digest([StoredRun(LocalStore(), found).blocks()]) == state_digest(line.blocks())
    assert (found.rows, [each.name for each in tmp_path.glob("state-*")]) == (5, [path_of(found.uri).name])


def test_a_key_of_several_files_has_the_content_of_the_first(tmp_path: Path) -> None:
    """Also where one file takes up both."""
    keys = np.sort(row_hashes(pa.table({"id": np.arange(9)})))
    parts = [StateRecords.of(keys[at:], np.full(9 - at, bytes([65 + at]) * 16, "S16")) for at in (4, 2, 0)]
    runs: list[StoredRun] = []
    for at, each in enumerate(parts):
        path = tmp_path / str(at)
        runs.append(StoredRun(LocalStore(), StateRun(path.as_uri(), *write_run(each, runs[-1:], path))))
    wanted = [b"A" * 16] * 2 + [b"C" * 16] * 2 + [b"E" * 16] * 5

    assert found_in(runs[-1].run, keys) == wanted
    assert [each["content"].tolist() for each in merge_parts([iter([each.records]) for each in parts])] == [wanted]


@pytest.mark.parametrize("size", [1, 3])
def test_the_work_for_many_deliveries_is_not_the_square_of_their_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    """Each key is written, and moved in memory, about log n times."""
    deliveries = 200
    work = {"files": 0, "keys": 0}

    def writing(new: StateRecords, taken_up: Sequence[StoredRun], path: Path) -> tuple[int, str]:
        found = write_run(new, taken_up, path)
        work["files"] += found[0]
        return found

    def joining(keys: Sequence[Hashes]) -> Hashes:
        work["keys"] += sum(map(len, keys))
        return joined(keys)

    monkeypatch.setattr(recompute_slices, "write_run", writing)
    monkeypatch.setattr(recompute_slices, "joined", joining)
    monkeypatch.setattr(recompute_slices, "rows_of", lambda files: files)
    monkeypatch.setattr(recompute_slices, "rows_of", lambda files: files)
    before, again = RowsBefore(), StateOfSlices(tmp_path)
    for at in range(0, deliveries * size, size):
        for each in (before, again):
            each.add(iter([pa.table({"id": np.arange(at, at + size)})]), ("id",))  # type: ignore[arg-type]  # as they are read

    total = deliveries * size
    assert total < work["files"] < total * np.log2(total)
    assert total < work["keys"] < 2 * total * np.log2(total)
    assert again.whole().rows == total
    found = before.new(iter([pa.table({"id": np.arange(total + 2)})]), ("id",))
    assert np.flatnonzero(found).tolist() == [total, total + 1]


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()])
def test_numbers_that_are_one_key_have_one_hash(kind: pa.DataType) -> None:
    """-0 is 0, and whatever the sign of what is no number; other numbers differ."""
    numbers = pa.array([0.0, -0.0, float("nan"), -float("nan"), 1.0, -1.0, None], kind)
    found = row_hashes(pa.table({"id": numbers}))

    assert [list(found).index(each) for each in found] == [0, 0, 2, 2, 4, 5, 6]


def test_a_key_that_is_there_twice_is_one_record() -> None:
    """Of its rows the first one counts: a state that is computed from slices with a repeated key has it once."""
    keys, contents = (np.array(list(each), "S16") for each in ((b"b", b"a", b"b"), (b"1", b"2", b"3")))
    found = StateRecords.of(keys, contents).records

    assert [(each["key"], each["content"]) for each in found] == [(b"a", b"2"), (b"b", b"1")]
