"""Small deliveries of a line are judged by one job run, each separately."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

import pytest

from lakegate.base.errors import Throttled, Unfinished, UnreadableItem
from lakegate.contract.delivery_policy import Policy
from lakegate.gate.delivery import small_file_batches
from lakegate.gate.delivery.advance import completion
from lakegate.gate.delivery.delivery_row import FailureCause, Workload
from lakegate.gate.delivery.delivery_terms import BatchLimits
from lakegate.gate.delivery.intake import intake
from lakegate.gate.delivery.protocol import State
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.delivery_store import Batch, Batches, Member, Workloads
from lakegate.gate.effects import run
from lakegate.gate.ports import Address, JobState
from lakegate.gate.sweep import sweep
from lakegate.gate.table import Update, workloads_key
from tests.decisions import replay
from tests.fakes.jobs import Ending
from tests.simulation.contract import PLAN
from tests.simulation.environment import LAKE, LANDING, PREFIX, Environment
from tests.unit.gate.scenarios import drive

LIMITS = BatchLimits(3, 1_000, 60)
COUNTED = [FailureCause.RUN_FAILED] * 3


def arrived(env: Environment, *bodies: bytes) -> list[str]:
    """The workloads of uploads that intake took in one after the other."""
    workloads = []
    for body in bodies:
        upload = env.upload(f"{PREFIX}{len(env.uploads)}.csv", body)
        drive(env.dependencies, intake(env.dependencies, LANDING, upload.version.key))
        workloads.append(upload.workload)
    return workloads


def finished(env: Environment, minutes: int = 0) -> None:
    """Every run plays, and its event arrives, until no further one is started; then time passes and a sweep looks."""
    while True:
        jobs = env.new_jobs()
        for _, job in jobs:
            run(job, env.dependencies.clock)
        events = [each for kind, each in env.inbox if kind == "job"]
        env.inbox.clear()
        for each in events:
            drive(env.dependencies, completion(env.dependencies, each))
        if not jobs:
            break
    if minutes:
        env.memory.clock.sleep(60 * minutes)
        drive(env.dependencies, sweep(env.dependencies))
        finished(env)


def rows(env: Environment, workloads: list[str]) -> list[Workload]:
    return [env.dependencies.workloads.get(each) for each in workloads]


def runs(env: Environment) -> int:
    """Job runs that were started."""
    return len(env.memory.jobs.runs) - 1


def test_a_full_batch_is_one_run_with_a_verdict_for_each_delivery() -> None:
    """Two good ones are published, a bad one is quarantined, and nobody waits for a sweep."""
    env = Environment(batch=LIMITS)
    workloads = arrived(env, b"good:1", b"bad:1", b"good:2")
    finished(env)

    assert [row.state for row in rows(env, workloads)] == [State.PUBLISHED, State.QUARANTINED, State.PUBLISHED]
    assert [(row.attempt, row.failed) for row in rows(env, workloads)] == [(1, ())] * 3
    assert runs(env) == 1


def test_a_batch_waits_for_others_until_its_time_is_over() -> None:
    """The first delivery decides when; anyone who looks after that starts the run with those that are there."""
    env = Environment(batch=LIMITS)
    workloads = arrived(env, b"good:1")
    waiting = rows(env, workloads)[0]
    env.memory.clock.sleep(59)
    workloads += arrived(env, b"good:2")
    before = runs(env)
    finished(env, minutes=1)

    assert (waiting.state, waiting.request, before) == (State.SUBMITTING, "", 0)
    assert waiting.not_before == waiting.due_at == env.dependencies.batches.get(waiting.batch).closes_at
    assert [row.state for row in rows(env, workloads)] == [State.PUBLISHED] * 2
    assert runs(env) == 1


def test_a_batch_is_closed_by_its_bytes() -> None:
    """Six and six bytes are at least twelve; the next delivery opens another batch."""
    env = Environment(batch=BatchLimits(10, 12, 60))
    workloads = arrived(env, b"good:1", b"good:2", b"good:3")
    finished(env)

    assert [row.state for row in rows(env, workloads)] == [State.PUBLISHED, State.PUBLISHED, State.SUBMITTING]


@pytest.mark.parametrize(
    "limits", [BatchLimits(1, 1_000, 60), BatchLimits(10, 6, 60)], ids=["off", "as large as a batch"]
)
def test_a_delivery_is_judged_alone(limits: BatchLimits) -> None:
    """Where batches are switched off, and where it has as many bytes as a batch needs."""
    env = Environment(batch=limits)
    (row,) = rows(env, arrived(env, b"good:1"))

    assert (row.batch, row.state) == ("", State.VALIDATING)
    assert row.staged is not None
    assert row.staged.key == f"staging/{row.id}/part-00000.csv"


def test_the_judge_function_comes_first() -> None:
    """What is small enough for it is invoked, and joins no batch when Spark follows."""
    env = Environment([Ending.UNFIT], judge=True, batch=LIMITS)
    (workload,) = arrived(env, b"good:1")
    finished(env, minutes=15)
    row = env.dependencies.workloads.get(workload)

    assert (row.state, row.batch, row.attempt) == (State.PUBLISHED, "", 2)


@pytest.mark.parametrize(
    ("policy", "files"),
    [(Policy(batch_files=2, batch_seconds=5), 2), (Policy(batch_bytes=500), 3)],
    ids=["own", "stack's"],
)
def test_a_contract_sets_its_own_limits(policy: Policy, files: int) -> None:
    """A key that it does not set is the stack's."""
    env = Environment(batch=LIMITS)
    env.publish("1.0.0", "active", replace(PLAN, policy=policy))
    (row,) = rows(env, arrived(env, b"good:1"))
    batch = env.dependencies.batches.get(row.batch)
    seconds = policy.batch_seconds or 60

    assert (batch.files, batch.bytes) == (files, policy.batch_bytes or 1_000)
    assert batch.closes_at == env.memory.clock.now() + timedelta(seconds=seconds)


def test_deliveries_of_two_plans_are_in_two_batches() -> None:
    """Members have one plan: a version that is published meanwhile opens a batch of its own."""
    env = Environment(batch=LIMITS)
    first = arrived(env, b"good:1")
    env.publish("1.1.0", "active")
    second = arrived(env, b"good:2")

    assert rows(env, first)[0].batch != rows(env, second)[0].batch


def test_a_poisoned_delivery_fails_alone() -> None:
    """It has its three attempts; its neighbours lose none, and each half is one run."""
    env = Environment(batch=BatchLimits(8, 1_000, 60))
    workloads = arrived(env, *(b"good:%d" % number for number in range(5)), b"poison:1", b"good:6", b"bad:7")
    finished(env)
    found = rows(env, workloads)

    assert [row.state for row in found] == [*[State.PUBLISHED] * 5, State.FAILED, State.PUBLISHED, State.QUARANTINED]
    assert [each.cause for each in found[5].failed] == [FailureCause.BATCH_FAILED] * 3 + COUNTED
    assert all(
        {each.cause for each in row.failed} <= {FailureCause.BATCH_FAILED} for row in found if row is not found[5]
    )
    assert runs(env) == 1 + 2 + 2 + 2 + 2


def test_a_replayed_poisoned_delivery_may_join_a_batch_again() -> None:
    """A round begins anew; the neighbours that it meets are safe from it as before."""
    env = Environment(batch=BatchLimits(2, 1_000, 60))
    poisoned, first = arrived(env, b"poison:1", b"good:1")
    finished(env)
    drive(env.dependencies, replay(env.dependencies, poisoned))
    (second,) = arrived(env, b"good:2")
    finished(env)
    failed, *others = rows(env, [poisoned, first, second])

    assert [each.cause for each in failed.failed] == [FailureCause.BATCH_FAILED, *COUNTED] * 2
    assert [row.state for row in (failed, *others)] == [State.FAILED, State.PUBLISHED, State.PUBLISHED]


def test_a_delivery_that_is_replayed_under_another_plan_is_judged_alone() -> None:
    """Its copy stays in the folder of its first group, which the runs of the other group may not read."""
    env = Environment(batch=BatchLimits(2, 1_000, 60))
    poisoned, _ = arrived(env, b"poison:1", b"good:1")
    finished(env)
    before = env.dependencies.workloads.get(poisoned)
    env.publish("1.1.0", "active")
    drive(env.dependencies, replay(env.dependencies, poisoned))
    after = env.dependencies.workloads.get(poisoned)

    assert before.staged is not None
    assert after.staged is not None
    assert (after.batch, after.staged.key) == ("", before.staged.key)


def test_a_batch_that_only_waited_for_its_turn_stays_together() -> None:
    """All members follow in one further run, and it costs none of them an attempt."""
    env = Environment([Ending.QUEUE_TIMED_OUT], batch=LIMITS)
    workloads = arrived(env, b"good:1", b"bad:1", b"good:2")
    finished(env)

    assert [(row.attempt, row.limit, row.failed[0].cause) for row in rows(env, workloads)] == [
        (2, 4, FailureCause.NOT_STARTED)
    ] * 3
    assert runs(env) == 2


def test_a_used_token_costs_the_members_no_attempt() -> None:
    """Somebody else has used the token of the batch: two halves follow."""
    env = Environment(batch=BatchLimits(2, 1_000, 60))
    first = arrived(env, b"good:1")
    env.collide(first[0], 9)
    workloads = first + arrived(env, b"good:2")
    finished(env, minutes=90)

    assert [(row.state, row.failed[0].cause) for row in rows(env, workloads)] == [
        (State.PUBLISHED, FailureCause.BATCH_FAILED)
    ] * 2


def test_a_half_waits_for_no_member_that_has_its_result() -> None:
    """The run failed after the first result: the second delivery is judged in a batch of its own, at once."""
    env = Environment([Ending.LATE_FAILURE], batch=LIMITS)
    workloads = arrived(env, b"good:1", b"good:2", b"good:3")
    for _, job in env.new_jobs():
        run(job, env.dependencies.clock)
    for key in [each for each in env.lake if each.endswith("result.json") and workloads[0] not in each]:
        del env.lake[key]
    finished(env)
    finished(env)

    assert [(row.state, len(row.failed)) for row in rows(env, workloads)] == [
        (State.PUBLISHED, failed) for failed in (0, 1, 1)
    ]
    assert runs(env) == 1 + 2


def test_a_run_goes_on_for_the_others_when_one_member_is_over() -> None:
    """The first delivery cannot be measured: its attempt is over, and the run is not cancelled, for it judges the second."""
    env = Environment(batch=BatchLimits(2, 1_000, 60))
    first, second = arrived(env, b"error:1", b"good:2")
    ((name, job),) = env.new_jobs()
    call = next(job)
    while not any(first in each and each.endswith("result.json") for each in env.lake):
        call = job.send(call.do())
    env.memory.clock.sleep(600)
    drive(env.dependencies, sweep(env.dependencies))
    after = env.memory.jobs.runs[name].state
    with suppress(StopIteration):
        while True:
            call = job.send(call.do())
    finished(env)
    failed, good = rows(env, [first, second])

    assert after is JobState.RUNNING
    assert failed.failed[0].cause is FailureCause.UNDECIDED
    assert (good.state, good.failed) == (State.PUBLISHED, ())


def test_halves_do_not_go_on_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if a defect gave a batch as many members as before, free attempts are as many as a batch of 250 needs."""

    def whole(before: Batch, _workload: str, _cause: FailureCause | None) -> tuple[str, tuple[Member, ...]]:
        return hashlib.sha256(before.id.encode()).hexdigest(), before.members

    monkeypatch.setattr(small_file_batches, "_successor", whole)
    env = Environment([Ending.FAILED] * 99, batch=BatchLimits(2, 1_000, 60))
    workloads = arrived(env, b"good:1", b"good:2")
    finished(env)

    assert [(row.state, row.attempt) for row in rows(env, workloads)] == [(State.FAILED, 8 + 3)] * 2


def test_the_cost_of_a_run_is_shared_by_bytes() -> None:
    """The shares of the members add up to what the run was billed."""
    env = Environment(batch=LIMITS)
    workloads = arrived(env, b"good:1", b"good:2" + b"2" * 6, b"bad:1" + b"1")
    finished(env)
    costs = [row.cost for row in rows(env, workloads)]
    alone = Environment()
    (single,) = rows(alone, arrived(alone, b"good:1"))
    finished(alone)
    (whole,) = rows(alone, [single.id])

    assert whole.cost is not None
    assert [each and each.vcpu_seconds for each in costs] == [whole.cost.vcpu_seconds / 4 * part for part in (1, 2, 1)]


def test_members_without_bytes_share_equally() -> None:
    """Empty files of a contract that accepts them cost as much as each other."""
    env = Environment(batch=LIMITS)
    (row,) = rows(env, arrived(env, b"good:1"))
    batch = env.dependencies.batches.get(row.batch)
    empty = tuple(each._replace(size=0) for each in (*batch.members, *batch.members))
    members = ["/".join(map(str, each)) for each in empty]
    env.memory.table.write(Update(workloads_key("batch", batch.id), sets={"members": members}))

    assert small_file_batches.share_of(DeliveryTurn(env.dependencies, row)) == 0.5


def test_the_run_of_a_batch_is_told_its_requests_and_may_touch_no_others() -> None:
    """One document lists the members; the session policy names the folders of the group and of the batch."""
    env = Environment(batch=LIMITS)
    first, second, third = arrived(env, b"good:1", b"bad:1", b"good:2")
    row = env.dependencies.workloads.get(first)
    request = list(env.memory.jobs.runs.values())[-1].request
    document = json.loads(env.memory.objects.read(Address(LAKE, f"runs/{row.batch}/batch.json")))
    policy = json.loads(request["executionIamPolicy"]["policy"])  # type: ignore[index]
    assert row.staged is not None
    assert row.pin is not None
    folder = row.staged.key.removesuffix(f"{first}/part-00000.csv")

    assert document["requests"] == [
        f"s3://lake/runs/{row.batch}/{each}/attempt=1/request.json" for each in (first, second, third)
    ]
    assert (request["name"], request["clientToken"]) == (row.batch, row.batch)
    assert [each.removeprefix("arn:aws:s3:::") for each in policy["Statement"][0]["Resource"]] == [
        "code/1/*",
        f"lake/plans/{row.pin.plan}.json",
        f"lake/{folder}*",
        f"lake/runs/{row.batch}/*",
    ]
    assert policy["Statement"][1]["Resource"] == f"arn:aws:s3:::lake/runs/{row.batch}/*"


def test_a_failure_of_one_member_stops_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """The event of the batch is delivered again, and all others are published meanwhile."""
    env = Environment(batch=LIMITS)
    workloads = arrived(env, b"good:1", b"good:2", b"good:3")
    ((run_id, job),) = env.new_jobs()
    run(job, env.dependencies.clock)
    get = Workloads.get

    def refusing(rows: Workloads, workload: str) -> Workload:
        if workload == workloads[0]:
            raise Throttled
        return get(rows, workload)

    monkeypatch.setattr(Workloads, "get", refusing)
    with pytest.raises(Throttled):
        drive(env.dependencies, completion(env.dependencies, run_id))
    monkeypatch.undo()

    assert [row.state for row in rows(env, workloads)] == [State.SUBMITTING, State.PUBLISHED, State.PUBLISHED]


def test_a_function_that_is_short_of_time_leaves_the_rest_to_the_next() -> None:
    """The event is delivered again."""
    env = Environment(batch=LIMITS)
    arrived(env, b"good:1", b"good:2", b"good:3")
    ((run_id, job),) = env.new_jobs()
    run(job, env.dependencies.clock)

    with pytest.raises(Unfinished):
        drive(env.dependencies, completion(replace(env.dependencies, remaining=lambda: 59.0), run_id))


def test_a_thousand_small_deliveries_are_ten_runs() -> None:
    """The target is at most twenty, with batches of a hundred."""
    env = Environment(batch=BatchLimits(100, 1 << 26, 300))
    arrived(env, *(b"good:%d" % number for number in range(1_000)))

    assert runs(env) == 10


def unreadable(batch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on the item of a batch cannot be read."""
    usual = Batches.get

    def get(rows: Batches, identity: str) -> Batch:
        if identity == batch:
            raise UnreadableItem(f"batch#{batch}", "it is not JSON")
        return usual(rows, identity)

    monkeypatch.setattr(Batches, "get", get)


@pytest.mark.parametrize(
    "bodies", [(b"good:1",), (b"good:1", b"bad:1", b"good:2"), (b"poison:1", b"good:1", b"good:2")]
)
def test_a_batch_that_cannot_be_read_stops_nobody(bodies: tuple[bytes, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Its members are judged alone, whether its run was started or not, and those that follow open another one."""
    env = Environment(batch=LIMITS)
    workloads = arrived(env, *bodies)
    unreadable(rows(env, workloads)[0].batch, monkeypatch)
    workloads += arrived(env, b"good:9")
    for _ in range(4):
        finished(env, minutes=90)

    assert [row.state for row in rows(env, workloads)] == [
        {b"g": State.PUBLISHED, b"b": State.QUARANTINED, b"p": State.FAILED}[each[:1]] for each in (*bodies, b"good:9")
    ]
