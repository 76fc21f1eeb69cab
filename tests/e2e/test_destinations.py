"""Each destination and end of a delivery, reached through the deployed stack."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from lakegate.features.odf.slice_turns import decided_slices
from lakegate.gate.delivery.intake import intake
from lakegate.gate.delivery.protocol import State
from lakegate.gate.effects import Effect, run
from lakegate.gate.ports import Address
from tests.decisions import replay
from tests.e2e.deployed import Deployed, until
from tests.e2e.killing import die_after
from tests.e2e.running import lakegate


def test_an_accepted_delivery_is_copied_byte_for_byte(stack: Deployed) -> None:
    """PUBLISHED: the very bytes in accepted/, in the manifest and the ledger; nothing left in landing and staging."""
    landed = stack.upload(stack.larger())
    row = stack.finished(landed)
    (key,) = stack.destinations(row)
    manifest = json.loads(stack.body("accepted/e2e-shop/sales_v1/_manifest.json"))

    assert (row.state, row.decision and row.decision.verdict) == (State.PUBLISHED, "accepted")
    assert key.startswith("accepted/e2e-shop/sales_v1/ingest_date=")
    assert landed.body == stack.body(key)
    assert [key] == [o["key"] for each in manifest["deliveries"] if each["workload"] == row.id for o in each["objects"]]
    assert (stack.blocks(row), stack.in_landing(landed), stack.objects(f"staging/{row.id}")) == (1, False, [])


def test_a_rejected_delivery_is_quarantined_with_its_reasons(stack: Deployed) -> None:
    """QUARANTINED: the bytes are in quarantine/, no reader sees them, and the reasons name rule and field."""
    landed = stack.upload(stack.fresh() + b"9,x\n")
    row = stack.finished(landed)
    (key,) = stack.destinations(row)

    assert (row.state, row.decision and row.decision.verdict) == (State.QUARANTINED, "rejected")
    assert key.startswith("quarantine/e2e-shop/sales_v1/")
    assert landed.body == stack.body(key)
    assert row.decision is not None
    assert "name" in row.decision.reasons[0]
    assert (stack.blocks(row), stack.in_landing(landed)) == (1, False)


def test_what_no_route_covers_is_quarantined_apart(stack: Deployed) -> None:
    """Unrouted: quarantine/_unrouted/, one reason, a chain per day."""
    landed = stack.upload(b"whatever", "nobody/knows/this.bin")
    row = stack.finished(landed)

    assert row.decision is not None
    assert row.decision.reasons == ("unrouted",)
    assert [f"quarantine/_unrouted/ingest_date={row.pin and row.pin.ingest_date}/workload={row.id}/part-00000"] == (
        stack.destinations(row)
    )


@pytest.mark.full  # tests/simulation has every number of dead attempts; the next test but one replays
def test_after_its_last_attempt_a_delivery_stays_untouched_until_replayed(stack: Deployed) -> None:
    """FAILED: three jobs fail, the data stays in landing, never in quarantine; replay judges it again."""
    landed = stack.upload_unseen(stack.larger())
    stack.order(landed.workload, times=3, end="fail-before")
    run(intake(stack.dependencies, stack.dependencies.places.landing, landed.key), stack.dependencies.clock)
    for attempt, minutes in ((1, 10), (2, 30)):
        until("the failed run is noticed", lambda n=attempt: (row := stack.row(landed)) and row.attempt > n)
        stack.sweep_later(minutes)
    row = stack.finished(landed)

    assert (row.state, row.attempt, len(stack.runs(landed))) == (State.FAILED, 3, 3)
    assert (stack.in_landing(landed), stack.destinations(row)) == (True, [])

    run(replay(stack.dependencies, landed.workload), stack.dependencies.clock)
    stack.reached(landed, State.PUBLISHED)
    again = stack.finished(landed)

    assert (again.state, again.attempt) == (State.PUBLISHED, 4)


@pytest.mark.full  # tests/simulation: the scenario "version deleted"
def test_a_version_deleted_before_it_is_staged_is_gone(stack: Deployed) -> None:
    """GONE: its producer took it back; nothing of it is in the lake."""
    landed = stack.upload_unseen(stack.fresh())
    die_after(Effect.CLAIM, intake(stack.dependencies, stack.dependencies.places.landing, landed.key))
    stack.dependencies.objects.delete(Address(stack.dependencies.places.landing, landed.key, landed.version))
    stack.sweep_later(10)
    row = stack.finished(landed)

    assert (row.state, stack.destinations(row)) == (State.GONE, [])


def test_a_quarantined_delivery_is_judged_again_from_its_quarantined_copy(stack: Deployed) -> None:
    """Replay of a QUARANTINED workload is a new workload, under the contract that is valid then."""
    landed = stack.upload(stack.fresh() + b"9,x\n")
    first = stack.finished(landed)
    identity = run(replay(stack.dependencies, first.id), stack.dependencies.clock)
    second = stack.finished(identity)

    assert (first.id, State.QUARANTINED) == (second.replay_of, second.state)
    assert stack.blocks(second) == 1


def test_accepted_rows_become_slices_one_delivery_after_another(stack: Deployed, tmp_path: Path) -> None:
    """publishAs: parquet: two deliveries at once have consecutive offsets; what arrived lies beside, bad rows apart."""
    both = [
        stack.upload(b"id,name\n1,anna\n2,x\n3,bert\n", "sliced/mixed.csv"),
        stack.upload(b"id,name\n4,carl\n", "sliced/good.csv"),
    ]
    rows = sorted(
        (stack.finished(each) for each in both),
        key=lambda row: decided.offsets if (decided := decided_slices(row)) else (),
    )
    manifest = json.loads(stack.body("accepted/e2e-sliced/sales_v1/_manifest.json"))
    listed = [each for delivery in manifest["deliveries"] for each in delivery["slices"]]
    tables = [pq.read_table(io.BytesIO(stack.body(each["key"]))).to_pylist() for each in listed]
    counts = [each["rows"] for each in listed]

    assert [row.state for row in rows] == [State.PUBLISHED] * 2
    assert sorted(counts) == [1, 2]
    assert [each["offset"] for each in listed] == [0, counts[0]]
    assert [row["offset"] for table in tables for row in table] == [0, 1, 2]
    assert {(row["id"], row["name"]) for table in tables for row in table} == {(1, "anna"), (3, "bert"), (4, "carl")}
    kept = [key.partition("workload=")[2][65:] for row in rows for key in stack.destinations(row)]
    assert sorted(each.partition("/")[0].partition("-")[0] for each in kept) == ["_original"] * 2 + ["part"] * 3
    assert sum(each.endswith(".parquet") for each in kept) == 2
    assert [stack.objects(f"runs/{row.id}/attempt={number}/slices/") for row in rows for number in (1, 2)] == [[]] * 4
    line, folder = "e2e-sliced/sales_v1", str(tmp_path / "copy")
    commands = [["dataset", "read", line], ["get", line, folder]]
    commands += [["verify", line, "--data", folder], ["verify", line, "--replay"]]
    read, _, *verified = (json.loads(lakegate(*each, "--local", "--json").stdout) for each in commands)
    assert [each["offset"] for each in read["records"]] == [0, 1, 2]
    assert [(each["intact"], each["objects"]["compared"]) for each in verified] == [(True, 2)] * 2
    shared, copy = str(tmp_path / "shared"), str(tmp_path / "imported")
    commands = [["export", line, shared, "--local"], ["import", shared, copy], ["read", copy], ["verify", copy]]
    exported, imported, again, intact = (json.loads(lakegate("dataset", *each, "--json").stdout) for each in commands)
    assert (exported["slices"], imported["head"], imported["ledger"]["line"]) == (2, exported["head"], line)
    assert again["records"] == read["records"]
    assert (intact["faults"], intact["rows"]) == ([], 3)


def test_snapshots_become_the_events_since_the_one_before(stack: Deployed) -> None:
    """mergeStrategy: snapshot: rows that change or vanish are taken back, also all of them; state and slices are as recorded."""
    bodies = {"01": b"1,anna\n2,bert\n", "03": b"2,carl\n", "04": b"", "02": b"9,late\n", "05": b"3,dora\n"}
    rows = [
        stack.finished(stack.upload(b"id,name\n" + body, f"snapshots/day-2026-01-{day}.csv"))
        for day, body in bodies.items()
    ]
    line = "e2e-snapshots/sales_v1"
    commands = [
        ["read", line, "--events"],
        ["read", line],
        ["read", line, "--as-of", "2026-01-03"],
        ["rebuild-state", line],
    ]
    events, now, then, rebuilt = (
        json.loads(lakegate("dataset", *each, "--local", "--json").stdout) for each in commands
    )
    verified = [
        json.loads(lakegate("verify", line, option, "--local", "--json").stdout)["intact"]
        for option in ("--replay", "--objects")
    ]

    verdicts = [(row.state, row.decision and row.decision.verdict) for row in rows]
    warned = [(State.PUBLISHED, "accepted_with_warnings" if day == "02" else "accepted") for day in bodies]
    assert verdicts == warned
    assert [(each["op"], each["id"], each["name"]) for each in events["records"]] == [
        (0, 1, "anna"),
        (0, 2, "bert"),
        (1, 1, "anna"),
        (2, 2, "bert"),
        (3, 2, "carl"),
        (1, 2, "carl"),
        (0, 3, "dora"),
    ]
    assert [[(each["id"], each["name"]) for each in one["records"]] for one in (now, then)] == [
        [(3, "dora")],
        [(2, "carl")],
    ]
    assert (rebuilt["keys"], rebuilt["digest"] == rebuilt["stored"], verified) == (1, True, [True, True])
