"""From decision to commit: exchanged bytes raise alarms, busy chains are left to the sweep."""

from __future__ import annotations

import json

import pytest

from lakegate.base.errors import ConditionFailed, IdempotencyMismatch, TransactionConflict
from lakegate.gate.delivery.advance import advance
from lakegate.gate.delivery.intake import intake
from lakegate.gate.delivery.protocol import Outcome, State
from lakegate.gate.delivery.publish_data import publish
from lakegate.gate.delivery.transition import DeliveryTurn, Observation
from lakegate.gate.delivery_store import Expected
from lakegate.gate.effects import Alarm, ConcurrentUpdate, Effect
from lakegate.gate.ledger.blocks import GENESIS, Head
from lakegate.gate.ledger.ledger_store import Ledger
from lakegate.gate.ports import Address
from lakegate.gate.sweep import sweep
from tests.simulation.environment import LAKE, LANDING, Environment
from tests.unit.gate.scenarios import (
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
    env, row = decided()
    swapped(env, f"runs/{row.id}/attempt=1/result.json", b"{}")

    assert alarm_of(env, row) == "result-differs"


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
    """A job can only have copied what is below its own attempt and listed in its result."""
    env, row = landed(b"split:12")
    for _, job in env.new_jobs():
        call = next(job)
        assert call.effect is Effect.WRITE_RESULT
        call.do()
        job.close()
    where = f"runs/{row.id}/attempt=1/result.json"
    document = json.loads(env.dependencies.objects.read(Address(LAKE, where)))
    if change is None:
        document["shares"] = None
    else:
        document["shares"]["accepted"][0] |= change
    swapped(env, where, json.dumps(document).encode())

    assert code == alarm_of(env, row)


def test_rows_of_a_split_leave_the_runs_when_their_copies_are_committed() -> None:
    """They are complete data, which nothing else deletes; those of a given-up attempt go, too, results stay."""
    env, row = decided(b"split:12")
    other = f"runs/{row.id}/attempt=0/rows/accepted/x.csv"
    env.memory.objects.put(Address(LAKE, other), b"x")
    drive(env.dependencies, advance(DeliveryTurn(env.dependencies, row)))

    kept = [key.rpartition("/")[2] for key in env.memory.objects.current(LAKE, "runs/")]
    assert sorted(kept) == ["report.html", "request.json", "result.json", "row.json"]
    assert env.dependencies.workloads.get(row.id).state is State.PUBLISHED


@pytest.mark.parametrize("body", [b"good:1", b"split:12"], ids=["an object", "rows"])
def test_a_late_worker_that_finds_no_bytes_has_been_overtaken(body: bytes) -> None:
    """Another worker has copied, committed and deleted them; what is deleted expires."""
    env, row = decided(body)
    drive(env.dependencies, advance(DeliveryTurn(env.dependencies, row)))
    assert row.staged is not None
    env.memory.objects.delete(Address(LAKE, row.staged.key, row.staged.version))

    with pytest.raises(ConcurrentUpdate):
        drive(
            env.dependencies,
            publish(DeliveryTurn(env.dependencies, row), State.PUBLISHED, Observation(Outcome.ACCEPTED)),
        )


def test_rows_that_are_lost_raise_an_alarm() -> None:
    """Nobody has copied them yet."""
    env, row = decided(b"split:12")
    env.memory.objects.delete(Address(LAKE, f"runs/{row.id}/attempt=1/rows/accepted/accepted-00000.csv"))

    assert alarm_of(env, row) == "rows-missing"


def test_a_staged_copy_of_another_size_raises_an_alarm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes that grew on the way are not judged."""
    env = Environment()
    env.upload(KEY, b"good:1")
    copy = env.memory.objects.copy
    monkeypatch.setattr(env.memory.objects, "copy", lambda *a, **k: copy(*a, **k)._replace(size=99))
    with pytest.raises(Alarm, match="copy-differs"):
        drive(env.dependencies, intake(env.dependencies, LANDING, KEY))


def test_another_object_at_the_destination_raises_an_alarm() -> None:
    """What lies there must be the bytes that were judged."""
    env, row = decided()
    assert row.pin is not None
    day = f"accepted/{row.pin.dataset}/ingest_date={row.pin.ingest_date}"
    env.memory.objects.put(Address(LAKE, f"{day}/workload={row.id}/part-00000.csv"), b"something else")

    assert alarm_of(env, row) == "copy-differs"


def test_bytes_that_are_nowhere_raise_an_alarm() -> None:
    """Decided, and neither the staged copy nor the landing version is there: a person must look."""
    env, row = decided()
    assert row.staged is not None
    env.memory.objects.delete(Address(LAKE, row.staged.key, row.staged.version))
    env.memory.objects.delete(Address(LANDING, row.source.key, row.source.version))

    assert alarm_of(env, row) == "source-lost"


def test_an_expired_staging_copy_is_taken_from_landing() -> None:
    """Staging expires after seven days, landing after thirty: the version is the same bytes for ever."""
    env, row = decided()
    assert row.staged is not None
    env.memory.objects.delete(Address(LAKE, row.staged.key, row.staged.version))
    drive(env.dependencies, advance(DeliveryTurn(env.dependencies, row)))

    assert State.PUBLISHED is env.dependencies.workloads.get(row.id).state


def refuse_head(*_: object) -> None:
    raise ConditionFailed("head")


def test_a_head_that_moves_is_followed_and_then_left_to_the_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy chain: the commit is rebuilt on each new head, a few times."""
    env, row = decided()
    asked: list[str] = []

    def stale(_: Ledger, chain: str) -> Head:
        asked.append(chain)
        return Head(6, GENESIS)

    monkeypatch.setattr(Ledger, "head", stale)
    monkeypatch.setattr(Ledger, "commit", refuse_head)
    with pytest.raises(TransactionConflict):
        drive(env.dependencies, advance(DeliveryTurn(env.dependencies, row)))

    assert len(asked) == 1 + 20
    assert State.DECIDED is env.dependencies.workloads.get(row.id).state


def test_a_commit_that_lost_its_decision_is_overtaken(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row in another state belongs to another worker; nothing is sent or written."""
    env, row = decided()

    def refuse_state(*_: object) -> None:
        raise ConditionFailed("state", "head")

    monkeypatch.setattr(Ledger, "commit", refuse_state)

    assert drive(env.dependencies, advance(DeliveryTurn(env.dependencies, row))) == row
    assert env.memory.chains == {}


def test_a_manifest_that_moves_is_left_to_the_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others write the manifest all the time: a few tries, then somebody else's turn."""
    env, row = decided()
    put = env.memory.objects.put

    def moving(to: Address, body: bytes, **conditions: bool) -> object:
        if to.key.endswith("_manifest.json"):
            raise ConditionFailed("etag")
        return put(to, body, **conditions)  # type: ignore[arg-type]  # any condition

    monkeypatch.setattr(env.memory.objects, "put", moving)
    with pytest.raises(TransactionConflict):
        drive(env.dependencies, advance(DeliveryTurn(env.dependencies, row)))

    assert State.PUBLISHED is env.dependencies.workloads.get(row.id).state


def test_a_late_commit_of_a_delayed_worker_is_no_second_block() -> None:
    """Paused before the commit, resumed when all is finished and the token has expired: no error, and no second commit."""
    env, row = decided()

    def others() -> None:
        env.memory.clock.sleep(3_600)
        drive(env.dependencies, sweep(env.dependencies))

    left = refused_at(env, Effect.COMMIT, advance(DeliveryTurn(env.dependencies, row)), others)

    assert left == env.dependencies.workloads.get(row.id)
    assert len(env.dependencies.ledger.blocks("orders/lines_v1")) == 1


def test_a_token_means_one_transaction_for_ten_minutes() -> None:
    """Within them another content is refused; after them the conditions decide again."""
    env, row = decided()
    steps = advance(DeliveryTurn(env.dependencies, row))
    call = next(steps)
    while call.effect is not Effect.COMMIT:
        call = steps.send(call.do())
    call.do()
    block, after, _, message, *_ = call.do.args  # type: ignore[attr-defined]  # the call is a partial
    with pytest.raises(IdempotencyMismatch):
        env.memory.ledger.commit(block, after, Expected(State.STAGED, 0), message)
    env.memory.clock.sleep(601)
    with pytest.raises(ConditionFailed):
        call.do()

    assert len(env.dependencies.ledger.blocks(block.chain)) == 1
