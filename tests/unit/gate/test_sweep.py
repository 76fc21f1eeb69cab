"""The two schedules: one failure delays no other."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lakegate.base.errors import AccessDenied, Throttled
from lakegate.gate.datasets import readers_manifest
from lakegate.gate.delivery import advance
from lakegate.gate.delivery.delivery_row import workload_row
from lakegate.gate.delivery.find_deliveries import recent
from lakegate.gate.delivery.intake import intake
from lakegate.gate.delivery.protocol import State
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.delivery_store import Agenda
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import Alarm, Effect, Steps, run
from lakegate.gate.ports import Address, Message, VersionPage
from lakegate.gate.registry.registry_rows import Publication
from lakegate.gate.send_messages import notify
from lakegate.gate.sweep import sweep
from tests.fakes.jobs import Ending
from tests.simulation.contract import DIGESTS
from tests.simulation.environment import LAKE, LANDING, PREFIX, Environment
from tests.unit.gate.scenarios import (
    KEY,
    drive,
    refused_at,
)


def test_a_sweep_reports_its_errors_and_continues() -> None:
    """One workload that raises keeps no other from being swept."""
    env = Environment()
    env.publish("1.1.0", "active")
    bad = env.upload(KEY, b"good:1")

    def lost() -> None:
        env.memory.objects.delete(Address(LAKE, f"plans/{DIGESTS['1.1.0']}.json"))
        env.dependencies.plans.clear()

    with pytest.raises(Alarm):
        refused_at(env, Effect.PIN, intake(env.dependencies, LANDING, KEY), lost)
    env.publish("1.0.0", "active")
    good = env.upload(f"{PREFIX}other.csv", b"good:2")
    env.memory.clock.sleep(600)
    swept = run(sweep(env.dependencies), env.dependencies.clock)

    assert [failure.code for failure in swept.failures if isinstance(failure, Alarm)] == ["plan-missing"]
    assert State.PINNED is env.dependencies.workloads.get(bad.workload).state
    assert State.VALIDATING is env.dependencies.workloads.get(good.workload).state
    assert swept.looked_at >= 2


@pytest.mark.parametrize(
    ("state", "part"),
    [(State.PINNED, "pin"), (State.STAGED, "staged"), (State.DECIDED, "decision"), (State.ANSWERED, "answer")],
)
def test_a_row_without_what_its_state_requires_is_an_alarm(state: State, part: str) -> None:
    """It stays as it is, by one named alarm, whichever step meets it; the others are swept."""
    env = Environment()
    env.publish("1.0.0", "active")
    bad, good = env.upload(KEY, b"good:1"), env.upload(f"{PREFIX}other.csv", b"good:2")
    drive(env.dependencies, intake(env.dependencies, LANDING, KEY))
    row = env.dependencies.workloads.get(bad.workload)
    damaged = row._replace(
        **{"state": state, "due_at": env.memory.clock.now(), "request": "", "attempt": 0, part: None}
    )
    env.memory.table.put(workload_row(damaged))
    env.memory.clock.sleep(600)
    swept = run(sweep(env.dependencies), env.dependencies.clock)

    assert [str(failure) for failure in swept.failures] == [f"row-incomplete @ {bad.workload}"]
    assert env.dependencies.workloads.get(bad.workload)._replace(due_at=None, tries=0) == damaged._replace(due_at=None)
    assert State.VALIDATING is env.dependencies.workloads.get(good.workload).state


class Killed(BaseException):
    """The end of a worker that has no memory or no time left: nothing of it goes on."""


@pytest.mark.parametrize("step", ["observe", "take"])
def test_what_ends_its_worker_is_set_aside(step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything else is done before it, in each sweep that it ends; it is tried after longer and longer times, and told."""
    env = Environment()
    bad = env.upload(f"{PREFIX}0.csv", b"good:0")
    original, ended = getattr(advance, step), []

    def killing(turn: DeliveryTurn, *given: object) -> object:
        if turn.row.id == bad.workload:
            ended.append(turn.now)
            raise Killed
        return original(turn, *given)

    monkeypatch.setattr(advance, step, killing)
    with pytest.raises(Killed):
        drive(env.dependencies, intake(env.dependencies, LANDING, f"{PREFIX}0.csv"))
    good = [env.upload(f"{PREFIX}{number}.csv", f"good:{number}".encode()) for number in range(1, 4)]
    states, alarms = [], []
    for _ in range(24 * 12 + 24):
        env.memory.clock.sleep(300)
        try:
            failures = run(sweep(env.dependencies), env.dependencies.clock).failures
            alarms += [str(each) for each in failures]
        except Killed:
            states.append({env.dependencies.workloads.get(each.workload).state for each in good})
    times = [(each - ended[0]).total_seconds() / 60 for each in ended]

    assert states[0] == {State.VALIDATING}
    assert [round(each / 60, 1) for each in times] == [0, 0.1, 0.2, 0.5, 1.8, 7.2]
    assert alarms == []
    monkeypatch.setattr(advance, step, original)
    env.memory.clock.sleep(86_400)
    swept = run(sweep(env.dependencies), env.dependencies.clock)
    assert [str(each) for each in swept.failures] == [f"ends-its-worker @ {bad.workload}"]
    assert env.dependencies.workloads.get(bad.workload).state is State.VALIDATING


def test_what_is_only_waited_for_is_no_try() -> None:
    """A run that takes hours, and an error at each look, end no worker."""
    env = Environment()
    running, failing = (env.upload(f"{PREFIX}{number}.csv", f"good:{number}".encode()) for number in range(2))
    drive(env.dependencies, sweep(env.dependencies))
    env.lock(failing, AccessDenied)
    looks = []
    for _ in range(6):
        env.memory.clock.sleep(300)
        drive(env.dependencies, sweep(env.dependencies))
        looks.append([env.dependencies.workloads.get(each.workload).tries for each in (running, failing)])

    assert looks == [[0, 0]] * 6


def test_staging_of_an_unknown_workload_is_left_alone() -> None:
    """What the sweep cannot attribute it does not delete."""
    env = Environment()
    env.memory.objects.put(Address(LAKE, "staging/unknown/part-00000"), b"x")
    drive(env.dependencies, sweep(env.dependencies))

    assert env.memory.objects.current(LAKE, "staging/") == {"staging/unknown/part-00000": b"x"}


def crowded(uploads: int, calls: int | None = None) -> Environment:
    """An environment with so many unclaimed uploads, and time for so many looks at the clock."""
    env = Environment()
    for number in range(uploads):
        env.upload(f"elsewhere/{number}.csv", f"good:{number}".encode())
    if calls is not None:
        left = iter([900.0] * calls)
        env.dependencies = replace(env.dependencies, remaining=lambda: next(left, 30.0))
    return env


def test_a_sweep_goes_on_while_it_has_time() -> None:
    """A batch is no limit: one sweep claims everything that landed, however many pages its listing has."""
    env = crowded(7)
    drive(env.dependencies, sweep(env.dependencies, 2, 2))

    assert len(env.memory.workloads) == 7


def test_a_sweep_that_is_out_of_time_leaves_the_rest_to_the_next() -> None:
    """The page that was not finished is listed again, so that nothing is passed over."""
    env = crowded(7, calls=10)  # three objects and three pages, three looks at the registry and a line
    drive(env.dependencies, sweep(env.dependencies, 2, 2))
    claimed = len(env.memory.workloads)
    env.dependencies = replace(env.dependencies, remaining=lambda: 900.0)
    for _ in range(2):
        drive(env.dependencies, sweep(env.dependencies, 2, 2))

    assert (claimed, len(env.memory.workloads)) == (3, 7)


def test_pages_of_delete_markers_do_not_outlast_the_time_of_a_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    """S3 counts delete markers against the size of a page: many pages may hold no version at all."""
    env = Environment()
    left = iter(range(900, 0, -30))
    listed: list[str] = []

    def only_markers(bucket: str, prefix: str, after: str | None = None, limit: int = 1000) -> VersionPage:
        listed.append(f"{bucket}/{prefix}")
        return VersionPage((), f"{int(after or 0) + limit}", "staging/0")

    monkeypatch.setattr(env.memory.objects, "versions", only_markers)
    env.dependencies = replace(env.dependencies, remaining=lambda: float(next(left, 0)))
    drive(env.dependencies, sweep(env.dependencies))

    assert 0 < len(listed) < 30


@pytest.mark.parametrize("prefix", ["", "staging/"], ids=["landing", "staging"])
def test_a_store_that_refuses_to_delete_leaves_a_closed_delivery(prefix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Object lock, MFA delete or a policy: the verdict stands, the row is due no more, and the bucket is named once."""
    env = Environment()
    uploads = [env.upload(KEY, b"good:1"), env.upload(f"{KEY}.2", b"good:2")]
    bucket = LAKE if prefix else LANDING
    delete = env.memory.objects.delete

    def refuse(address: Address) -> None:
        if address.bucket == bucket and address.key.startswith(prefix):
            raise AccessDenied("DeleteObject AccessDenied")
        delete(address)

    monkeypatch.setattr(env.memory.objects, "delete", refuse)
    denied: list[str] = []
    for _ in range(4):
        drive(env.dependencies, sweep(env.dependencies))
        denied += [each.name for each in env.dependencies.denied_deletions()]
        for _, job in env.new_jobs():
            run(job, env.dependencies.clock)
        env.memory.clock.sleep(1_000)
    rows = [env.dependencies.workloads.get(upload.workload) for upload in uploads]

    assert [(row.state, row.due_at) for row in rows] == [(State.PUBLISHED, None)] * 2
    assert set(denied) == {bucket}
    assert drive(env.dependencies, sweep(env.dependencies)).failures == []
    assert prefix or {upload.version.version for upload in uploads} <= {
        each.version for each in env.memory.objects.versions(LANDING, "").versions
    }


def test_one_sweep_continues_more_workloads_than_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a burst, everything that is due is continued, once each, by one read of the index."""
    env = crowded(0)
    for number in range(5):
        env.upload(f"{PREFIX}{number}.csv", f"good:{number}".encode())
        drive(env.dependencies, intake(env.dependencies, LANDING, f"{PREFIX}{number}.csv"))
    for _, job in env.new_jobs():
        run(job, env.dependencies.clock)
    env.memory.clock.sleep(600)
    reads, due = [], Agenda.due
    monkeypatch.setattr(Agenda, "due", lambda *given: reads.append(given) or due(*given))
    drive(env.dependencies, sweep(env.dependencies, 2, 2))

    assert {row.state for row in env.memory.workloads.values()} == {State.PUBLISHED}
    assert len(reads) == 1


def test_manifests_are_looked_for_where_the_last_sweep_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page of the registry with more datasets than a sweep has time for is gone through, too, and then the next page."""
    env = Environment()
    plans = tuple((f"d{number}", DIGESTS["1.0.0"]) for number in range(5))
    env.memory.registry.publish(Publication("many", "1.0.0", "active", "contracts/1.0.0", (), plans=plans))
    seen: list[str] = []

    def write_lost(_dependencies: Dependencies, line: str) -> Steps[None]:
        yield from ()
        seen.append(line)

    monkeypatch.setattr(readers_manifest, "write_lost", write_lost)
    rounds = []
    for _ in range(4):
        seen.clear()
        limited = replace(env.dependencies, remaining=lambda: 600.0 if len(seen) < 2 else 0.0)
        run(sweep(limited), env.memory.clock)
        rounds.append(list(seen))

    assert rounds[:3] == [["many/d0_v1", "many/d1_v1"], ["many/d2_v1", "many/d3_v1"], ["many/d4_v1", "orders/lines_v1"]]
    assert rounds[3] == rounds[0]


def test_work_that_is_due_is_left_where_time_is_short() -> None:
    """With too little time nothing is leased, so that the next sweep finds it at once; no retry is begun, either."""
    env = crowded(0)
    env.upload(KEY, b"good:1")
    drive(env.dependencies, intake(env.dependencies, LANDING, KEY))
    env.memory.clock.sleep(600)
    before = dict(env.memory.workloads)
    env.dependencies = replace(env.dependencies, remaining=lambda: 30.0)
    drive(env.dependencies, sweep(env.dependencies))

    assert env.memory.workloads == before


def test_a_retry_is_not_begun_where_time_is_short() -> None:
    """The attempt that a sweep prepared waits for the next one if the pause before it took the rest of the time."""
    env = Environment([Ending.FAILED])
    upload = env.upload(KEY, b"good:1")
    drive(env.dependencies, intake(env.dependencies, LANDING, KEY))
    for _, job in env.new_jobs():
        run(job, env.dependencies.clock)
    env.memory.clock.sleep(600)
    left = iter([900.0])
    env.dependencies = replace(env.dependencies, remaining=lambda: next(left, 30.0))
    drive(env.dependencies, sweep(env.dependencies))

    assert env.dependencies.workloads.get(upload.workload).state is State.SUBMITTING


def test_what_lies_beside_the_data_is_no_delivery() -> None:
    """Neither intake nor a sweep claims it, no list of deliveries shows it, and it stays where it is."""
    env = Environment()
    keys = [f"{PREFIX}_SUCCESS", f"{PREFIX}_temporary/0/part-00000.csv", f"{PREFIX}folder/"]
    for key in keys:
        env.upload(key, b"" if key.endswith("/") else b"good:1")
        drive(env.dependencies, intake(env.dependencies, LANDING, key))
    drive(env.dependencies, sweep(env.dependencies))

    assert env.memory.workloads == {}
    assert recent(env.dependencies, 10) == ()
    assert sorted(env.landing) == sorted(keys)


def test_messages_are_sent_as_long_as_there_is_time() -> None:
    """More than a page of them in one turn, the oldest first; the others come with the next turn."""
    env = Environment()
    for number in range(250):
        env.memory.post(Message(f"m{number:03}", "w", "gone", "{}", env.dependencies.now))
        env.memory.clock.sleep(1)
    env.memory.clock.sleep(60)
    left = iter(range(50, 9, -1))
    hurried = replace(env.dependencies, remaining=lambda: float(next(left, 0)))
    assert len(run(notify(hurried), hurried.clock).sent) == 41
    assert [each.id for each in env.memory.notifier.sent] == [f"m{number:03}" for number in range(41)]

    env.memory.clock.sleep(60)
    assert len(run(notify(env.dependencies), env.dependencies.clock).sent) == 209
    assert env.memory.messages == {}


def test_a_message_that_cannot_be_sent_stays_and_delays_no_other() -> None:
    """At least once, each for itself."""
    env = Environment()
    for number in range(2):
        message = Message(f"m{number}", f"w{number}", "gone", "{}", env.dependencies.now)
        env.memory.post(message)
    env.memory.clock.sleep(60)
    env.memory.faults.refusals.extend([Throttled()] * 10)  # of both together, and of the first alone
    notified = run(notify(env.dependencies), env.dependencies.clock)

    assert ([type(failure) for failure in notified.failures], [each.kind for each in notified.sent]) == (
        [Throttled],
        ["gone"],
    )
    assert [message.id for message in env.memory.notifier.sent] == ["m1"]
    assert list(env.memory.messages) == ["m0"]
