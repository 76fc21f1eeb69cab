"""A dataset of upserts, from upload to rows that are read: as they are now, as they were, and what changed them."""

from __future__ import annotations

from pathlib import Path

import pytest

from lakegate.gate.delivery.protocol import State
from lakegate.gate.ports import Address
from tests.unit.cli.conftest import Lakegate
from tests.unit.cli.deployed_stack import LAKE
from tests.unit.features.odf.slices.test_merge_state import LINE, advanced, answered, delivered, rebuilt
from tests.unit.features.odf.slices.test_snapshots import csv, events, listed, read

UPSERTS = {
    "required: true}": "required: true, primaryKey: true}",
    "schema:\n": "customProperties: [{property: lakegate, value: {publishAs: parquet, mergeStrategy: upsert}}]\nschema:\n",
}
DELIVERED = [
    [("a", 1), ("b", 2), ("c", 3)],
    [("d", 4), ("c", 3), ("a", 9)],
    [("b", 2)],
    [("a", 1), ("c", 7)],
]
EVENTS = [
    [(0, 0, "a", 1), (1, 0, "b", 2), (2, 0, "c", 3)],
    [(3, 0, "d", 4), (4, 2, "a", 1), (5, 3, "a", 9)],
    [],
    [(6, 2, "a", 9), (7, 3, "a", 1), (8, 2, "c", 3), (9, 3, "c", 7)],
]
"""Offset, operation, key and value, by delivery."""
STATES = [
    [("a", 1), ("b", 2), ("c", 3)],
    [("a", 9), ("b", 2), ("c", 3), ("d", 4)],
    [("a", 9), ("b", 2), ("c", 3), ("d", 4)],
    [("a", 1), ("b", 2), ("c", 7), ("d", 4)],
]


@pytest.fixture
def line(lakegate: Lakegate) -> Lakegate:
    lakegate.begin(_of_four_deliveries)
    return lakegate


def _of_four_deliveries(lakegate: Lakegate) -> None:
    lakegate.routed(**UPSERTS)
    for number, rows in enumerate(DELIVERED):
        assert delivered(lakegate, csv(rows), f"changes_{number}.csv").state is State.PUBLISHED


def test_a_dataset_of_upserts_is_read_at_every_time(line: Lakegate) -> None:
    """Now, as known when each delivery was published, and as of the time of its events; all events, and those above a height."""
    deliveries = listed(line)

    assert read(line) == STATES[-1]
    assert [read(line, "--as-at", each["published_at"]) for each in deliveries] == STATES
    assert [read(line, "--as-of", each["published_at"]) for each in deliveries] == STATES
    assert events(line, "--events") == [each for one in EVENTS for each in one]
    assert [events(line, "--changes-since", str(each["height"])) for each in deliveries] == [
        [each for one in EVENTS[at + 1 :] for each in one] for at in range(len(deliveries))
    ]
    assert [each["published_rows"] for each in deliveries] == [3, 3, 0, 4]


def test_a_folder_and_an_exported_dataset_have_the_rows_of_now(line: Lakegate, tmp_path: Path) -> None:
    """Of `get`, and of an exported and imported dataset, which is valid."""
    downloaded, exported, imported = (tmp_path / each for each in ("downloaded", "exported", "imported"))
    line.ok("get", LINE, str(downloaded))
    line.ok("dataset", "export", LINE, str(exported))
    line.ok("dataset", "import", str(exported), str(imported))

    assert [read(line, source=str(each)) for each in (downloaded, imported)] == [STATES[-1]] * 2
    assert line.json("dataset", "verify", str(imported))["ledger"]["line"] == LINE


def test_a_dataset_of_upserts_is_verified(line: Lakegate) -> None:
    """Every slice is built again from its delivery and the rows before; the state follows from the slices."""
    for option in ("--replay", "--objects"):
        assert line.json("verify", LINE, option)["intact"] is True
    found = rebuilt(line)

    assert found == {"line": LINE, "keys": 4, "digest": found["digest"], "stored": found["digest"], "replaced": False}


def test_a_damaged_state_of_upserts_is_replaced(line: Lakegate) -> None:
    """By the same one, and the next delivery is compared with it."""
    wanted = rebuilt(line)["digest"]
    for each in line.dependencies.rows("turns").next_slice(LINE).runs:
        line.dependencies.objects.delete(Address(LAKE, each.uri))
    assert rebuilt(line)["replaced"] is True
    assert rebuilt(line)["stored"] == wanted

    delivered(line, csv([("b", 5), ("e", 6)]), "changes_5.csv")
    assert read(line) == [("a", 1), ("b", 5), ("c", 7), ("d", 4), ("e", 6)]


def test_the_same_content_again_is_a_duplicate(line: Lakegate) -> None:
    """An old file that is delivered again does not bring old values back."""
    workload = line.upload(body=csv(DELIVERED[0]), name="again.csv")
    line.intake("orders/again.csv")
    row = line.dependencies.workloads.get(workload)

    assert row.decision is not None
    assert [reason.partition(":")[0] for reason in row.decision.reasons] == ["duplicate-content"]
    assert read(line) == STATES[-1]


def test_two_rows_of_a_key_are_rejected(line: Lakegate) -> None:
    """None of them is published: nothing says which one is newer."""
    row = delivered(line, csv([("a", 5), ("a", 6), ("e", 7)]), "twice.csv")

    assert (row.state, row.decision and row.decision.reasons) == (
        State.QUARANTINED,
        ("id:primaryKey:1/id: id: wanted unique; measured 2 of 3 rows fail (66.67 %)",),
    )
    assert read(line) == STATES[-1]


LINES = """\
  - name: lines
    logicalType: object
    customProperties: [{property: lakegate, value: {publishAs: original, mergeStrategy: append}}]
    properties:
      - {name: id, logicalType: string, relationships: [{to: orders.id}]}
    quality:
      - {type: sql, query: "SELECT count(*) FROM orders", mustBe: 4}
      - {type: sql, query: "SELECT count(*) FROM orders o WHERE o.amount = 9", mustBe: 0}
      - {type: sql, query: "SELECT count(*) FROM orders o WHERE o.amount = 7", mustBe: 1}
"""
PUBLIC = "      - {name: amount, logicalType: integer, classification: public}\n"


def test_a_delivery_of_another_dataset_is_compared_with_the_current_rows(lakegate: Lakegate) -> None:
    """Former values do not count, whichever delivery took them back; a key that nobody delivered is missing."""
    lakegate.ok("publish", lakegate.contract(**UPSERTS | {PUBLIC: PUBLIC + LINES}))
    for name in ("orders", "lines"):
        lakegate.ok("route", "add", f"{name}/", "shop", "--dataset", name)
    for number, rows in enumerate(DELIVERED):
        assert delivered(lakegate, csv(rows), f"changes_{number}.csv").state is State.PUBLISHED
    found = []
    for name, body in (("good", b"id\na\nd\n"), ("bad", b"id\na\nz\n")):
        workload = lakegate.json("upload", lakegate.file(body, f"{name}.csv"), "--to", "lines/")["workload"]
        lakegate.intake(f"lines/{name}.csv")
        row = advanced(lakegate, answered(lakegate, workload))
        found.append((row.state, row.decision and row.decision.reasons))

    missing = "id: wanted found in orders.id; measured 1 of 2 keys is found nowhere (50 %)"
    assert found[0] == (State.PUBLISHED, ())
    assert (found[1][0], [each.partition(": ")[2] for each in found[1][1] or ()]) == (State.QUARANTINED, [missing])
