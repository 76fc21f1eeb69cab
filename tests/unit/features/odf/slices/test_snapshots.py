"""A line of snapshots, from upload to rows that are read: as they are now, as they were, and what changed them."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

from lakegate.features.odf import recompute_slices
from lakegate.features.odf.recompute_slices import replayed_slices
from lakegate.gate.delivery.protocol import State
from lakegate.gate.lake_layout import manifest_key
from lakegate.gate.ledger.blocks import deliveries
from lakegate.gate.ports import Address
from lakegate.transfer.upload_files import send
from tests.unit.cli.conftest import Lakegate
from tests.unit.cli.deployed_stack import LAKE
from tests.unit.features.odf.slices.test_merge_state import LINE, delivered, rebuilt
from tests.unit.repository.layers import ROOT

SNAPSHOTS = {
    "required: true}": "required: true, primaryKey: true}",
    "schema:\n": "customProperties: [{property: lakegate, value: {publishAs: parquet, mergeStrategy: snapshot, "
    'snapshotTime: "%Y-%m-%d"}}]\nschema:\n',
}
DELIVERED = {
    "2026-11-01": [("a", 1), ("b", 2), ("c", 3)],
    "2026-11-02": [("c", 3), ("d", 4), ("a", 9)],
    "2026-11-03": [("a", 9), ("c", 3), ("d", 4)],
    "2026-11-04": [("b", 2), ("a", 1)],
}
EVENTS = [
    [(0, 0, "a", 1), (1, 0, "b", 2), (2, 0, "c", 3)],
    [(3, 1, "b", 2), (4, 0, "d", 4), (5, 2, "a", 1), (6, 3, "a", 9)],
    [],
    [(7, 1, "c", 3), (8, 1, "d", 4), (9, 0, "b", 2), (10, 2, "a", 9), (11, 3, "a", 1)],
]
"""Offset, operation, key and value, by delivery."""


def csv(rows: list[tuple[str, int]]) -> bytes:
    return b"id,amount\n" + "".join(f"{key},{amount}\n" for key, amount in rows).encode()


@pytest.fixture
def line(lakegate: Lakegate) -> Lakegate:
    lakegate.begin(_of_four_days)
    return lakegate


def _of_four_days(lakegate: Lakegate) -> None:
    lakegate.routed(**SNAPSHOTS)
    for day, rows in DELIVERED.items():
        assert delivered(lakegate, csv(rows), f"all_{day}.csv").state is State.PUBLISHED


def read(lakegate: Lakegate, *options: str, source: str = LINE) -> list[tuple[str, int]]:
    found = lakegate.json("dataset", "read", source, *options)["records"]
    return sorted((each["id"], each["amount"]) for each in found)


def events(lakegate: Lakegate, *options: str) -> list[tuple[int, int, str, int]]:
    found = lakegate.json("dataset", "read", LINE, *options)
    assert found["events"] is True
    return [(each["offset"], each["op"], each["id"], each["amount"]) for each in found["records"]]


def listed(lakegate: Lakegate) -> list[dict[str, Any]]:
    body = lakegate.dependencies.objects.read(Address(LAKE, manifest_key(LINE)))
    found: list[dict[str, Any]] = json.loads(body)["deliveries"]
    return found


def test_a_line_of_snapshots_is_read_at_every_time(line: Lakegate) -> None:
    """Now, as known when each was published, and as true on each day; before the first one there is nothing."""
    snapshots = [sorted(rows) for rows in DELIVERED.values()]

    assert read(line) == snapshots[-1]
    assert [read(line, "--as-of", day) for day in DELIVERED] == snapshots
    assert [read(line, "--as-at", each["published_at"]) for each in listed(line)] == snapshots
    assert read(line, "--as-at", listed(line)[1]["published_at"], "--as-of", "2026-11-01") == snapshots[0]
    assert read(line, "--as-of", "2026-10-31") == []
    assert line.json("dataset", "read", LINE, "--as-of", "2026-11-02")["slices"] == {"read": 2, "skipped": 1}


def test_the_events_of_a_line_are_read(line: Lakegate) -> None:
    """All of them, and those above a height."""
    heights = [each["height"] for each in listed(line)]

    assert events(line, "--events") == [each for one in EVENTS for each in one]
    assert [events(line, "--changes-since", str(height)) for height in heights] == [
        [each for one in EVENTS[at + 1 :] for each in one] for at in range(len(heights))
    ]
    assert [each["published_rows"] for each in listed(line)] == [3, 4, 0, 5]


def test_the_query_of_the_page_has_the_rows_of_now(line: Lakegate, tmp_path: Path) -> None:
    """A program that reads slices itself, by the last event of each key, gets the rows of the command."""
    query = re.findall("```sql\n(.*?)```", (ROOT / "docs/odf.md").read_text(), re.DOTALL)[0]
    line.ok("get", LINE, str(tmp_path))
    with duckdb.connect() as connection:
        connection.execute(f"CREATE VIEW slices AS FROM read_parquet('{tmp_path}/**/*.parquet')")
        found = connection.sql(query).project("id, amount").fetchall()

    assert sorted(found) == read(line)


def test_a_folder_and_a_view_have_the_rows_of_now(line: Lakegate, tmp_path: Path) -> None:
    """Of a downloaded line, and of an exported and imported dataset."""
    downloaded, exported, imported = (tmp_path / each for each in ("downloaded", "exported", "imported"))
    line.ok("get", LINE, str(downloaded))
    line.ok("dataset", "export", LINE, str(exported))
    line.ok("dataset", "import", str(exported), str(imported))
    view = tmp_path / "view.duckdb"
    line.ok("dataset", "read", str(downloaded), "--output", str(view))
    with duckdb.connect(str(view), read_only=True) as connection:
        seen = sorted(connection.sql("SELECT id, amount FROM orders_v1").fetchall())

    wanted = sorted(DELIVERED["2026-11-04"])
    assert [seen, *(read(line, source=str(each)) for each in (downloaded, imported))] == [wanted] * 3
    assert line.json("dataset", "verify", str(imported))["ledger"]["line"] == LINE


def test_a_line_of_snapshots_is_verified(line: Lakegate) -> None:
    """Every slice is built again from its snapshot and the rows before; the state follows from the slices."""
    for option in ("--replay", "--objects"):
        assert line.json("verify", LINE, option)["intact"] is True
    found = rebuilt(line)

    assert found == {"line": LINE, "keys": 2, "digest": found["digest"], "stored": found["digest"], "replaced": False}


def test_slices_that_do_not_follow_from_their_snapshots_are_found(line: Lakegate) -> None:
    """Two deliveries whose originals are exchanged, as far as they differ from the snapshot before."""
    blocks = deliveries(line.dependencies.ledger.blocks(LINE))
    originals = [next(each for each in block.objects if "_original/" in each.key) for block in blocks]
    exchanged = [
        replace(block, objects=(*(each for each in block.objects if each != own), other))
        for block, own, other in zip(blocks, originals, originals[1::-1] + originals[2:], strict=True)
    ]
    found = replayed_slices(line.dependencies, LINE, exchanged)

    assert [each.damage.value for each in found.damaged] == ["irreproducible"] * 2


def test_a_damaged_state_of_snapshots_is_replaced(line: Lakegate) -> None:
    """By one with the digest and the time of before; the next snapshot is compared with it, and an older one stays late."""
    before = line.dependencies.rows("turns").next_slice(LINE).runs
    wanted = rebuilt(line)["digest"]
    for each in before:
        line.dependencies.objects.delete(Address(LAKE, each.uri))
    assert rebuilt(line)["replaced"] is True

    after = line.dependencies.rows("turns").next_slice(LINE).runs
    assert [each.as_of for each in after] == [each.as_of for each in before] == ["2026-11-04T00:00:00.000000Z"]
    assert rebuilt(line)["stored"] == wanted
    delivered(line, csv([("z", 0)]), "all_2026-11-03.csv")
    assert read(line) == sorted(DELIVERED["2026-11-04"])
    delivered(line, csv([("b", 2), ("e", 5)]), "all_2026-11-05.csv")
    assert read(line) == [("b", 2), ("e", 5)]


def test_a_state_is_not_replaced_beside_a_snapshot_that_changes_nothing(
    line: Lakegate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No offset tells that it was decided, but the line knows its time: an older snapshot stays late."""
    for each in line.dependencies.rows("turns").next_slice(LINE).runs:
        line.dependencies.objects.put(Address(LAKE, each.uri), bytes(each.rows))

    def sent(*of: Any) -> Any:
        monkeypatch.setattr(recompute_slices, "send", send)
        table: Any = line.dependencies.rows("turns")
        state = replace(table.next_slice(LINE).runs[0], as_of="2026-11-09T00:00:00.000000Z")
        table.replace_state(LINE, table.next_slice(LINE), (state,))
        return send(*of)

    monkeypatch.setattr(recompute_slices, "send", sent)
    assert "was decided meanwhile: repeat" in str(line("dataset", "rebuild-state", LINE).exception)
    assert rebuilt(line)["replaced"] is True
    assert [each.as_of[:10] for each in line.dependencies.rows("turns").next_slice(LINE).runs] == ["2026-11-09"]


def test_the_state_of_a_line_without_rows_is_known(lakegate: Lakegate) -> None:
    """Its only snapshot was empty: there is no slice, and a state without keys, of which no file is read."""
    lakegate.routed(**{**SNAPSHOTS, "mergeStrategy: snapshot, ": "mergeStrategy: snapshot, allowEmpty: true, "})
    assert delivered(lakegate, csv([]), "all_2026-11-02.csv").state is State.PUBLISHED
    (state,) = lakegate.dependencies.rows("turns").next_slice(LINE).runs
    lakegate.dependencies.objects.delete(Address(LAKE, state.uri))

    found = rebuilt(lakegate)
    assert found == {"line": LINE, "keys": 0, "digest": found["digest"], "stored": found["digest"], "replaced": False}
    delivered(lakegate, csv([("z", 0)]), "all_2026-11-01.csv")
    delivered(lakegate, csv([("a", 1)]), "all_2026-11-03.csv")
    assert read(lakegate) == [("a", 1)]


def test_a_late_snapshot_is_accepted_and_changes_nothing(line: Lakegate) -> None:
    """The report says which one came before; the manifest lists it without rows."""
    row = delivered(line, csv([("z", 0)]), "all_2026-11-03.csv")

    reason = "the snapshot is of 2026-11-03T00:00:00.000000Z, and one of 2026-11-04T00:00:00.000000Z came before"
    assert (row.state, row.decision and row.decision.reasons) == (
        State.PUBLISHED,
        (f"merge/late-snapshot: {reason}: it changes nothing",),
    )
    assert (listed(line)[-1]["rows"], listed(line)[-1]["published_rows"], listed(line)[-1]["slices"]) == (1, 0, [])
    assert read(line) == sorted(DELIVERED["2026-11-04"])


def test_a_snapshot_whose_name_has_no_time_is_rejected(line: Lakegate) -> None:
    """The line stays as it is."""
    row = delivered(line, csv([("z", 0)]), "all.csv")

    assert (row.state, row.decision and row.decision.reasons) == (
        State.QUARANTINED,
        ("merge/time: the time of the snapshot is not known: its name has no time as `snapshotTime: %Y-%m-%d` says",),
    )
    assert read(line) == sorted(DELIVERED["2026-11-04"])
