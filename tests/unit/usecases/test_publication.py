"""From decision to rest: exchanged bytes raise alarms, hot chains are left to the sweep."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from contracts.ledger import GENESIS
from functions.ports import (
    Address,
    ConditionFailed,
    Expected,
    Head,
    IdempotencyMismatch,
    TransactionConflict,
)
from functions.usecases.advance import advance
from functions.usecases.intake import intake
from functions.usecases.steps import Alarm, Effect
from functions.usecases.sweep import sweep
from functions.workload import State
from tests.simulation.world import LAKE, LANDING, World
from tests.unit.usecases.worlds import (
    KEY,
    alarm_of,
    decided,
    drive,
    landed,
    refused_at,
    swapped,
)


def test_a_result_exchanged_after_the_decision_raises_an_alarm() -> None:
    """The decision names the bytes it was made of."""
    world, row = decided()
    swapped(world, f"runs/{row.id}/attempt=1/result.json", b"{}")

    assert alarm_of(world, row) == "result-differs"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"uri": f"s3://{LAKE}/staging/x/rows/accepted/x"}, "rows-elsewhere"),
        ({"size": 999}, "rows-differ"),
        ({"etag": "another"}, "rows-differ"),
        (None, "rows-missing"),
    ],
)
def test_a_split_that_is_not_as_listed_raises_an_alarm(change: dict[str, object] | None, code: str) -> None:
    """A job can only have copied what lies below its own attempt, and what it said it wrote."""
    world, row = landed(b"split:12")
    for _, job in world.new_jobs():
        call = next(job)
        assert call.effect is Effect.WRITE_RESULT
        call.do()
        job.close()
    where = f"runs/{row.id}/attempt=1/result.json"
    document = json.loads(world.gate.objects.read(Address(LAKE, where)))
    if change is None:
        document["shares"] = None
    else:
        document["shares"]["accepted"][0] |= change
    swapped(world, where, json.dumps(document).encode())

    assert code == alarm_of(world, row)


def test_a_staged_copy_of_another_size_raises_an_alarm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes that grew on the way are not judged."""
    world = World()
    world.upload(KEY, b"good:1")
    copy = world.memory.objects.copy
    monkeypatch.setattr(world.memory.objects, "copy", lambda *a, **k: replace(copy(*a, **k), size=99))
    with pytest.raises(Alarm, match="copy-differs"):
        drive(world.gate, intake(world.gate, LANDING, KEY))


def test_another_object_in_the_resting_place_raises_an_alarm() -> None:
    """What lies there must be the bytes that were judged."""
    world, row = decided()
    assert row.pin is not None
    day = f"accepted/{row.pin.chain}/ingest_date={row.pin.ingest_date}"
    world.memory.objects.put(Address(LAKE, f"{day}/workload={row.id}/part-00000.csv"), b"something else")

    assert alarm_of(world, row) == "copy-differs"


def test_bytes_that_are_nowhere_raise_an_alarm() -> None:
    """Decided, and neither the staged copy nor the landing version is there: a person must look."""
    world, row = decided()
    assert row.staged is not None
    world.memory.objects.delete(Address(LAKE, row.staged.key, row.staged.version))
    world.memory.objects.delete(Address(LANDING, row.source.key, row.source.version))

    assert alarm_of(world, row) == "source-lost"


def test_an_expired_staging_copy_is_taken_from_landing() -> None:
    """Staging expires after seven days, landing after thirty: the version is the same bytes for ever."""
    world, row = decided()
    assert row.staged is not None
    world.memory.objects.delete(Address(LAKE, row.staged.key, row.staged.version))
    drive(world.gate, advance(world.gate, row))

    assert State.PUBLISHED is world.gate.workloads.get(row.id).state


def refuse_head(*_: object) -> None:
    raise ConditionFailed("", "head")


def test_a_head_that_moves_is_followed_and_then_left_to_the_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hot chain: the commit is built anew on each new head, a few times."""
    world, row = decided()
    asked: list[str] = []

    def stale(chain: str) -> Head:
        asked.append(chain)
        return Head(6, GENESIS)

    monkeypatch.setattr(world.memory.ledger, "head", stale)
    monkeypatch.setattr(world.memory.ledger, "commit", refuse_head)
    with pytest.raises(TransactionConflict):
        drive(world.gate, advance(world.gate, row))

    assert len(asked) == 5
    assert State.DECIDED is world.gate.workloads.get(row.id).state


def test_a_commit_that_lost_its_decision_is_overtaken(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row that stands elsewhere belongs to another worker; nothing is told or written."""
    world, row = decided()

    def refuse_state(*_: object) -> None:
        raise ConditionFailed("state", "head")

    monkeypatch.setattr(world.memory.ledger, "commit", refuse_state)

    assert drive(world.gate, advance(world.gate, row)) == row
    assert world.memory.ledger.chains == {}


def test_a_manifest_that_moves_is_left_to_the_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others write the manifest all the time: a few tries, then somebody else's turn."""
    world, row = decided()
    put = world.memory.objects.put

    def moving(to: Address, body: bytes, **conditions: bool) -> object:
        if to.key.endswith("_manifest.json"):
            raise ConditionFailed("etag")
        return put(to, body, **conditions)  # type: ignore[arg-type]  # any condition

    monkeypatch.setattr(world.memory.objects, "put", moving)
    with pytest.raises(TransactionConflict):
        drive(world.gate, advance(world.gate, row))

    assert State.PUBLISHED is world.gate.workloads.get(row.id).state


def test_a_zombies_commit_long_after_is_no_second_block() -> None:
    """Asleep before the commit, awake when all is at rest and the token is forgotten: overtaken, and content with it."""
    world, row = decided()

    def others() -> None:
        world.memory.clock.sleep(3_600)
        drive(world.gate, sweep(world.gate))

    left = refused_at(world, Effect.COMMIT, advance(world.gate, row), others)

    assert left == world.gate.workloads.get(row.id)
    assert len(world.gate.ledger.blocks("orders/lines_v1")) == 1


def test_a_token_means_one_transaction_for_ten_minutes() -> None:
    """Within them another content is refused; after them the conditions decide again."""
    world, row = decided()
    steps = advance(world.gate, row)
    call = next(steps)
    while call.effect is not Effect.COMMIT:
        call = steps.send(call.do())
    call.do()
    block, after, _, message = call.do.args  # type: ignore[attr-defined]  # the call is a partial
    with pytest.raises(IdempotencyMismatch):
        world.memory.ledger.commit(block, after, Expected(State.STAGED, 0), message)
    world.memory.clock.sleep(601)
    with pytest.raises(ConditionFailed):
        call.do()

    assert len(world.gate.ledger.blocks(block.chain)) == 1
