"""Rows of finished deliveries leave the table for the lake: nothing is lost or doubled, and all that asks for them finds them."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from lakegate.base.errors import AccessDenied, NotFound, UnreadableItem
from lakegate.gate.delivery.delivery_row import Workload
from lakegate.gate.delivery.find_deliveries import find_delivery, recent
from lakegate.gate.delivery.intake import intake
from lakegate.gate.delivery.protocol import State
from lakegate.gate.effects import Effect
from lakegate.gate.lake_layout import row_key
from lakegate.gate.ledger.compare_objects import compared_objects
from lakegate.gate.ports import Address
from lakegate.gate.sweep import sweep
from lakegate.library.described_deliveries import delivery_status
from tests.decisions import replay
from tests.simulation.environment import LAKE, LANDING, LINE, PREFIX, Environment
from tests.simulation.stage import KINDS, Fault, Stage, settle
from tests.unit.gate.scenarios import drive

KEPT = timedelta(days=400)


def finished(env: Environment, body: bytes, effect: Effect | None = None, kind: Fault = Fault.NONE) -> Workload:
    """A delivery that is finished, after one fault at an effect."""
    upload = env.upload(f"{PREFIX}{len(env.uploads)}.csv", body)
    left = [effect]

    def fault_at(at: Effect) -> Fault:
        if at in left:
            left.remove(at)
            return kind
        return Fault.NONE

    settle(Stage(env, fault_at))
    return env.dependencies.workloads.get(upload.workload)


def swept(env: Environment) -> None:
    """Jobs answer, and sweeps finish what is due."""
    for _ in range(3):
        for _, job in env.new_jobs():
            drive(env.dependencies, job)
        env.memory.clock.sleep(3600)
        drive(env.dependencies, sweep(env.dependencies))


def long_after(env: Environment) -> None:
    """All rows that may leave the table have left it."""
    env.memory.clock.sleep((KEPT + timedelta(days=2)).total_seconds())
    env.memory.table.expire()


def plain(row: Workload) -> Workload:
    return row._replace(expires=0, archived=False)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("effect", [Effect.DELETE_SOURCE, Effect.WRITE_REPORT, Effect.ARCHIVE, Effect.CLOSE], ids=str)
@pytest.mark.parametrize("body", [b"good:1", b"bad:1"])
def test_nothing_is_lost_or_doubled_whatever_fails(body: bytes, effect: Effect, kind: Fault) -> None:
    """Each write fails once, in each way: the row that has left is found as it was, and is committed once."""
    env = Environment()
    row = finished(env, body, effect, kind)
    blocks = list(env.memory.chains[LINE])
    assert not row.archived
    long_after(env)
    drive(env.dependencies, sweep(env.dependencies))
    found = env.dependencies.workloads.get(row.id)

    assert (env.memory.workloads.get(row.id), row.due_at, row.request) == (None, None, "")
    assert (found.archived, plain(found)) == (True, plain(row))
    assert env.memory.chains[LINE] == blocks


def test_a_row_stays_in_the_table_for_the_time_after_intake() -> None:
    """It says when it leaves; 400 days after intake, and not before."""
    env = Environment()
    row = finished(env, b"good:1")
    env.memory.clock.sleep((KEPT - timedelta(days=1)).total_seconds())
    env.memory.table.expire()

    assert env.memory.workloads[row.id] == row
    long_after(env)
    assert env.memory.table.expire() == 0
    assert row.id not in env.memory.workloads


def test_old_content_is_still_refused() -> None:
    """The claim of a content stays: the reason names the first delivery, which is archived."""
    env = Environment()
    first = finished(env, b"good:1")
    long_after(env)
    again = env.upload(f"{PREFIX}again.csv", b"good:1").workload
    swept(env)
    decision = env.dependencies.workloads.get(again).decision
    shown = delivery_status(env.dependencies, find_delivery(env.dependencies, again, 10))

    assert decision is not None
    assert decision.reasons == ("duplicate-content",)
    assert shown.duplicate_of is not None
    assert shown.duplicate_of.workload == first.id


def test_status_and_verify_find_an_archived_delivery() -> None:
    """By its id, and among the latest: with its file, its block, and the word; no object counts as damaged."""
    env = Environment()
    row = finished(env, b"good:1")
    before = delivery_status(env.dependencies, find_delivery(env.dependencies, row.id, 10))
    long_after(env)
    shown = delivery_status(env.dependencies, find_delivery(env.dependencies, row.id, 10))
    (listed,) = recent(env.dependencies, 10)

    assert shown == replace(before, archived=True, standing="published (archived)")
    assert (listed.id, listed.key) == (row.id, row.source.key)
    assert compared_objects(env.dependencies, LINE, 0, lambda _: None).damaged == ()


def test_an_archived_delivery_is_replayed_once() -> None:
    """Of a rejected one, whose quarantined copy is there: also when the row of the replay is archived."""
    env = Environment()
    row = finished(env, b"bad:1")
    long_after(env)
    first = drive(env.dependencies, replay(env.dependencies, row.id))
    swept(env)
    assert env.dependencies.workloads.get(str(first)).state is State.QUARANTINED
    long_after(env)
    blocks = list(env.memory.chains[LINE])

    assert drive(env.dependencies, replay(env.dependencies, row.id)) == first
    assert env.memory.chains[LINE] == blocks
    assert env.dependencies.workloads.get(str(first)).replay_of == row.id


def test_a_late_event_of_an_archived_delivery_changes_nothing() -> None:
    """It was judged, and its version deleted: no delivery of the same id begins again."""
    env = Environment()
    row = finished(env, b"good:1")
    long_after(env)
    drive(env.dependencies, intake(env.dependencies, LANDING, row.source.key, row.source.version, 6))

    assert row.id not in env.memory.workloads


def test_a_row_stays_while_what_landed_cannot_be_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The store refuses: every sweep lists the version, and would take it in again."""
    env = Environment()
    delete = env.memory.objects.delete

    def refused(address: Address) -> None:
        if address.bucket == LANDING:
            raise AccessDenied
        delete(address)

    monkeypatch.setattr(env.memory.objects, "delete", refused)
    upload = env.upload(f"{PREFIX}day.csv", b"bad")
    swept(env)
    row = env.memory.workloads[upload.workload]

    assert (row.state, row.due_at, row.expires) == (State.QUARANTINED, None, 0)


def test_rows_stay_for_ever_where_the_stack_says_so() -> None:
    """They are archived all the same: the setting may change."""
    env = Environment()
    timing = replace(env.dependencies.timing, kept=timedelta(0))
    env.dependencies = replace(env.dependencies, timing=timing)

    assert finished(env, b"good:1").expires == 0


@pytest.mark.parametrize("body", [b"", b"{}", b"\xff", b"[]"])
def test_an_archived_row_that_cannot_be_read_is_named(body: bytes) -> None:
    """As one in the table: it is not taken for absent."""
    env = Environment()
    row = finished(env, b"good:1")
    long_after(env)
    env.memory.objects.put(Address(LAKE, row_key(row.id)), body)

    with pytest.raises(UnreadableItem, match=row.id):
        env.dependencies.workloads.get(row.id)


@pytest.mark.parametrize("changes", [{"id": "0" * 64}, {"state": "DECIDED"}])
def test_only_the_row_of_a_finished_delivery_is_read_from_the_archive(changes: dict[str, str]) -> None:
    """Of this id."""
    env = Environment()
    row = finished(env, b"good:1")
    long_after(env)
    where = Address(LAKE, row_key(row.id))
    env.memory.objects.put(where, json.dumps(json.loads(env.memory.objects.read(where)) | changes).encode())

    with pytest.raises(UnreadableItem):
        env.dependencies.workloads.get(row.id)


@pytest.mark.parametrize("name", ["", "../contracts/x", "a" * 63, "A" * 64, "0" * 64])
def test_no_other_object_is_read_as_a_row(name: str) -> None:
    """Ids come from people and from other job runs."""
    env = Environment()
    env.memory.objects.put(Address(LAKE, "runs/../contracts/x/row.json"), b"{}")

    with pytest.raises(NotFound):
        env.dependencies.workloads.get(name)


def test_who_may_not_read_the_archive_finds_no_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """As before there was one."""
    env = Environment()
    row = finished(env, b"good:1")
    long_after(env)

    def refused(_address: Address) -> bytes:
        raise AccessDenied

    monkeypatch.setattr(env.memory.objects, "read", refused)
    with pytest.raises(NotFound):
        env.dependencies.workloads.get(row.id)
