"""Deliveries whose rows are merged: with a ledger, and as snapshots."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from lakegate.base.timestamps import moment
from lakegate.gate.delivery.advance import advance
from lakegate.gate.delivery.attempt_request import accepted_objects, referred_data
from lakegate.gate.delivery.delivery_row import FailureCause, Referred, replay_id
from lakegate.gate.delivery.intake import intake
from lakegate.gate.delivery.protocol import State
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.effects import run
from lakegate.gate.lake_layout import manifest_key, state_key
from lakegate.gate.ledger.blocks import Block
from lakegate.gate.ports import Address
from lakegate.plan.plan import Plan
from lakegate.plan.request import AcceptedPart, Reference
from tests.decisions import replay
from tests.simulation.environment import LAKE, LANDING, LINE, PREFIX
from tests.simulation.promises import manifest_deliveries
from tests.simulation.sliced import LEDGER, SNAPSHOTS, UPSERTS, SlicedDataset, judged, settled
from tests.simulation.sliced_job import NO_DIGEST
from tests.unit.features.odf.slices.test_sliced_deliveries import only, published
from tests.unit.gate.scenarios import drive, swapped


@pytest.mark.parametrize(
    "change",
    [
        {"merge": None},
        {"slices": []},
        {"merge": {"run": None}},
        {"merge": {"without_key": 5}},
        {"merge": {"without_key": 6, "run": None}},
        {"merge": {"offset": 1}},
        {"merge": {"kept": [{"uri": f"s3://{LAKE}/accepted/orders/other_v1/x", "rows": 1}]}},
    ],
    ids=[
        "not merged",
        "no slice",
        "no state",
        "a state without keys",
        "more rows without a key",
        "another offset",
        "the state of another line",
    ],
)
def test_a_result_that_is_not_merged_as_the_line_is_the_jobs_failure(change: dict[str, Any]) -> None:
    """What it lists would be the state of all later deliveries."""
    line = judged(b"good:1", plan=LEDGER)
    (row,) = line.rows()
    where = f"runs/{row.id}/attempt=1/result.json"
    document = json.loads(line.env.dependencies.objects.read(Address(LAKE, where)))
    if change.get("merge"):
        change = {"merge": document["merge"] | change["merge"]}
    swapped(line.env, where, json.dumps(document | change).encode())
    drive(line.env.dependencies, advance(DeliveryTurn(line.env.dependencies, row)))

    assert [each.cause for each in line.rows()[0].failed] == [FailureCause.WRONG_RESULT]


def test_a_merged_delivery_is_published_with_its_state() -> None:
    """Beside slice and original; consumers are not notified of it, and the next request names it."""
    row, block = only(line := published(b"good:1", plan=LEDGER))
    assert row.pin is not None
    state = state_key(row.pin, row.id)
    (listed,) = manifest_deliveries(line.env.lake, manifest_key(LINE)) or []

    assert [each.key.rpartition("/workload=")[2][65:] for each in block.objects] == [
        "_original/part-00000.csv",
        "_state/state.bin",
        "part-00000.parquet",
    ]
    assert [each["key"].rpartition("/")[2] for each in listed["objects"]] == ["part-00000.parquet"]
    assert line.env.memory.objects.read(Address(LAKE, state)) == b"god:1"
    line.env.upload(f"{PREFIX}2.csv", b"good:2")
    run(intake(line.env.dependencies, LANDING, f"{PREFIX}2.csv"), line.env.memory.clock)
    second = line.rows()[1]
    asked = json.loads(line.env.dependencies.objects.read(Address(LAKE, f"runs/{second.id}/attempt=1/request.json")))
    assert asked["slices"]["merge"] == {
        "line": LINE,
        "key": ["name"],
        "runs": [{"uri": f"s3://{LAKE}/{state}", "rows": 5, "digest": NO_DIGEST, "as_of": ""}],
        "snapshot": None,
    }


def test_a_request_waits_while_the_state_of_the_line_is_committed() -> None:
    """The file of a decided delivery may not be in its place yet."""
    line = judged(plan=LEDGER)
    line.env.memory.put_turn(LINE, 0, "another delivery")
    line.env.upload(f"{PREFIX}1.csv", b"good:1")
    run(intake(line.env.dependencies, LANDING, f"{PREFIX}1.csv"), line.env.memory.clock)

    assert line.rows()[0].attempt == 0
    line.env.memory.put_turn(LINE, 0)
    settled(line)
    assert [(row.state, row.attempt) for row in line.rows()] == [(State.PUBLISHED, 1)]


def snapshots(*bodies: bytes, plan: Plan = SNAPSHOTS) -> SlicedDataset:
    """A line of snapshots, each an hour after the one before."""
    line = judged(plan=plan)
    for number, body in enumerate(bodies):
        line.env.memory.clock.sleep(3600)
        line.env.upload(f"{PREFIX}day-2024050{number + 1}.csv", body)
        line.take_in()
        settled(line)
    return line


def request_of(line: SlicedDataset, at: int) -> dict[str, Any]:
    """What the first attempt of a delivery was asked for."""
    where = f"runs/{line.rows()[at].id}/attempt=1/request.json"
    found: dict[str, Any] = json.loads(line.env.dependencies.objects.read(Address(LAKE, where)))["slices"]
    return found


def test_a_snapshot_is_compared_with_the_state_and_the_slices_of_its_line() -> None:
    """Its time is that of the object; it is known also of one that changes nothing."""
    line = snapshots(b"good:1", b"good:2", b"good:2")
    blocks = [each for each in line.env.dependencies.ledger.blocks(LINE) if isinstance(each, Block)]
    times = [moment(each.version.modified) for each in line.env.uploads]
    merges = [request_of(line, at)["merge"] for at in range(3)]

    assert [each["snapshot"]["time"] for each in merges] == times
    assert merges[2]["snapshot"]["slices"] == [
        {"uri": f"s3://{LAKE}/{each.key}", "offset": each.offset, "rows": each.rows}
        for block in blocks[:2]
        for each in block.slices or ()
    ]
    assert [[(each["rows"], each["as_of"]) for each in merge["runs"]] for merge in merges] == [
        [],
        [(5, times[0])],
        [(5, times[1])],
    ]
    (run,) = line.env.dependencies.rows("turns").next_slice(LINE).runs
    assert (run.rows, run.as_of) == (5, times[2])
    assert line.current() == set(b"good:2")


def test_a_name_has_the_time_of_a_snapshot() -> None:
    """As the contract says where; empty where it has none."""
    named = replace(SNAPSHOTS, policy=replace(SNAPSHOTS.policy, snapshot_time="day-%Y%m%d"))
    other = replace(SNAPSHOTS, policy=replace(SNAPSHOTS.policy, snapshot_time="week-%Y%m%d"))
    found = [request_of(snapshots(b"good:1", plan=plan), 0)["merge"]["snapshot"]["time"] for plan in (named, other)]

    assert found == ["2024-05-01T00:00:00.000000Z", ""]


def test_a_snapshot_that_is_judged_again_has_its_first_time() -> None:
    """Its copy in quarantine is newer than a snapshot that was published meanwhile."""
    line = snapshots(b"bad:1", b"good:2")
    env = line.env
    first = line.rows()[0]
    drive(env.dependencies, replay(env.dependencies, first.id))
    again = env.dependencies.workloads.get(replay_id(first.id))

    assert first.pin is not None
    assert again.pin is not None
    assert again.pin.arrived == first.pin.arrived == moment(env.uploads[0].version.modified)


def test_rules_read_the_newest_snapshot() -> None:
    """As it was delivered, by its plan; up to a height. What changed nothing is not looked at."""
    line = snapshots(b"good:1", b"good:2", b"good:2")
    dependencies = line.env.dependencies
    found = [list(accepted_objects(dependencies, Referred(LINE, height))) for height in (-1, 0, 1, 2)]

    names = [[(each.height, each.object.key.rpartition("/workload=")[2][65:]) for each in one] for one in found]
    assert names == [[], *([(at, "_original/part-00000.csv")] for at in (0, 1, 1))]
    assert SNAPSHOTS.current.storage == SNAPSHOTS.storage != LEDGER.current.storage


def test_an_upsert_is_compared_with_the_state_and_the_slices_of_its_dataset() -> None:
    """Without a time of its own: that of its events is the system time, also of one that is delivered late."""
    line = snapshots(b"good:1", b"good:2", plan=UPSERTS)
    orders = [request_of(line, at) for at in range(2)]

    assert [(each["merge"]["snapshot"]["time"], each["merge"]["snapshot"]["keeps"]) for each in orders] == [
        ("", True)
    ] * 2
    assert [[each["as_of"] for each in order["merge"]["runs"]] for order in orders] == [[], [orders[0]["system_time"]]]
    assert line.current() == set(b"good:12")


def test_rules_read_the_slices_of_upserts_up_to_a_height() -> None:
    """With the mark that they have former values beside those of then; before the first delivery nothing was accepted."""
    line = snapshots(b"good:1", b"good:2", plan=UPSERTS)
    dependencies = line.env.dependencies
    blocks = [each for each in dependencies.ledger.blocks(LINE) if isinstance(each, Block)]
    slices = [
        AcceptedPart(f"s3://{LAKE}/{stored.key}", stored.size, f"s3://{LAKE}/plans/{block.plan}.json", block.plan)
        for block in blocks
        for stored in block.objects
        if stored.key.endswith(".parquet")
    ]
    found = [referred_data(dependencies, Referred(LINE, height)) for height in (-1, 0, 1)]

    assert found == [
        Reference(LINE, -1, ()),
        Reference(LINE, 0, tuple(slices[:1]), is_corrected=True),
        Reference(LINE, 1, tuple(slices), is_corrected=True),
    ]
    assert len(slices) == 2


@pytest.mark.parametrize("plan", [SNAPSHOTS, UPSERTS])
@pytest.mark.parametrize(
    "change",
    [
        {"snapshot": None},
        {"run": None},
        {"snapshot": {"appended": 4}},
        {"snapshot": {"retracted": 1}},
        {"snapshot": {"corrected": 1}},
    ],
)
def test_a_result_whose_slices_are_not_the_events_is_the_jobs_failure(change: dict[str, Any], plan: Plan) -> None:
    """Nor one that was merged by another strategy."""
    line = judged(b"good:1", plan=plan)
    (row,) = line.rows()
    where = f"runs/{row.id}/attempt=1/result.json"
    document = json.loads(line.env.dependencies.objects.read(Address(LAKE, where)))
    merge = document["merge"]
    if change.get("snapshot"):
        change = {"snapshot": merge["snapshot"] | change["snapshot"]}
    swapped(line.env, where, json.dumps(document | {"merge": merge | change}).encode())
    drive(line.env.dependencies, advance(DeliveryTurn(line.env.dependencies, row)))

    assert [each.cause for each in line.rows()[0].failed] == [FailureCause.WRONG_RESULT]


def test_an_upsert_takes_no_row_back() -> None:
    """A result that retracts as many rows as it appends too few is the job's failure."""
    line = judged(b"good:1", plan=UPSERTS)
    (row,) = line.rows()
    where = f"runs/{row.id}/attempt=1/result.json"
    document = json.loads(line.env.dependencies.objects.read(Address(LAKE, where)))
    document["merge"]["snapshot"] |= {"appended": 4, "retracted": 1}
    swapped(line.env, where, json.dumps(document).encode())
    drive(line.env.dependencies, advance(DeliveryTurn(line.env.dependencies, row)))

    assert [each.cause for each in line.rows()[0].failed] == [FailureCause.WRONG_RESULT]
