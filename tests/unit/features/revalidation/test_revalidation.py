"""Rules with a schedule of their own: what is measured when, recorded, marked and reported, and what follows of failures."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from lakegate.aws.wiring import detail
from lakegate.base.errors import ConditionFailed, Throttled, TransactionConflict, Unanswered
from lakegate.contract.file_formats import Csv
from lakegate.features.revalidation.revalidation import CURSOR, TASK
from lakegate.gate.datasets.dataset_states import DatasetStatus, StatusChange
from lakegate.gate.datasets.lifecycle import change
from lakegate.gate.datasets.pauses import pause
from lakegate.gate.datasets.subscriptions import add_subscription
from lakegate.gate.effects import Call, Effect, Steps, run
from lakegate.gate.ledger.blocks import AnyBlock, deliveries
from lakegate.gate.ledger.commit import TRIES_OF_COMMIT
from lakegate.gate.ledger.ledger_store import Ledger
from lakegate.gate.ports import Address
from lakegate.gate.registry.registry_rows import RegistryPage
from lakegate.gate.registry.registry_store import Registry
from lakegate.gate.scheduled_tasks import run_row
from lakegate.gate.send_messages import notify
from lakegate.gate.sweep import sweep
from lakegate.plan.plan import ScheduledCheck
from lakegate.plan.result import Measurement, Unreadable
from tests.fakes.jobs import Ending
from tests.published_schemas import validate
from tests.simulation.environment import LAKE, LINE, PREFIX
from tests.simulation.sliced import PLAN as SLICED
from tests.simulation.sliced import SlicedDataset, judged
from tests.simulation.sliced import settled as settled_line
from tests.unit.features.erasure.test_erasure import erased, erasing, settled
from tests.unit.features.revalidation.revalidation_stage import (
    DAILY,
    HOURLY,
    MANY,
    ONCE,
    SCHEDULED,
    RevalidationStage,
    measured_hourly,
    plan_with,
)
from tests.unit.gate.scenarios import drive, resumed


def test_everything_accepted_is_measured_by_the_schedule() -> None:
    """All accepted objects are read by version, with the checks that are due alone; quarantined ones are not."""
    stage = measured_hourly(b"good", b"bad", b"good")
    stage.sweep(60)
    (run_,) = stage.runs
    asked = stage.request(run_)
    accepted = [each for each in stage.env.lake if each.startswith("accepted/") and "workload=" in each]
    plan = json.loads(stage.env.memory.objects.read(Address(LAKE, f"plans/{asked.plan_digest}.json")))

    assert sorted(each.uri for each in asked.parts) == sorted(f"s3://{LAKE}/{each}" for each in accepted)
    assert (len(accepted), [each["id"] for each in plan["checks"]]) == (2, ["once"])
    assert (plan["scheduled"], plan["policy"]["samples"]) == ([], False)


def test_what_holds_is_recorded_and_reported_and_marks_nothing() -> None:
    """The record states what was measured up to which height; the event says the same."""
    stage = measured_hourly()
    stage.measure()
    (record,) = stage.records
    (message,) = stage.messages

    assert record == {
        "contract_version": "1.0.0",
        "run": stage.request(stage.runs[0]).workload,
        "plan": stage.request(stage.runs[0]).plan_digest,
        "height": 0,
        "schedules": [HOURLY],
        "rules": 1,
        "broken": [],
        "stale": [],
    }
    assert (message["outcome"], message["height"], message["stale"]) == ("HELD", 0, [])
    assert ("stale" in stage.manifest, stage.ends) == (False, [("HELD", "")])


def test_what_does_not_hold_marks_the_manifest_until_it_holds() -> None:
    """The mark names the rule, and since when; a run of the same rules that holds removes it. Data stays where it is."""
    stage = measured_hourly()
    stage.broken = {"once"}
    stage.measure()
    began = stage.records[0]["stale"][0]["since"]
    marked, before = stage.manifest, stage.manifest["deliveries"]
    stage.measure()
    again = stage.manifest["stale"]
    stage.broken = set()
    stage.measure()

    assert marked["stale"] == {
        "since": began,
        "reason": "rules that are measured by schedule do not hold for all accepted data",
        "height": 1,
        "rules": [{"rule": "once", "since": began}],
    }
    assert again == {**marked["stale"], "height": 2}
    assert ("stale" in stage.manifest, stage.manifest["deliveries"]) == (False, before)
    assert [each["outcome"] for each in stage.messages] == ["BROKEN", "BROKEN", "HELD"]
    validate("manifest", marked)


def test_a_mark_stays_while_deliveries_follow() -> None:
    """A head that a delivery writes has the mark, and so has one that is built of the whole ledger."""
    stage = measured_hourly()
    stage.broken = {"once"}
    stage.measure()
    stage.deliver()
    kept = stage.manifest["stale"]
    erased(stage.env, erasing(stage.env, b"good:"))
    settled(stage.env)
    stage.sweep()

    assert (kept, stage.stale) == (stage.manifest["stale"], ["once"])
    assert stage.manifest["segments"]["folder"]


def test_rules_of_other_schedules_stay_marked() -> None:
    """A run decides about the rules that it measures; what another schedule measured stays as it was."""
    stage = measured_hourly()
    stage.broken = {"many", "once"}
    for _ in range(24):
        stage.measure()
    both = stage.stale
    stage.broken = {"many"}
    stage.measure()

    assert (sorted(both), stage.stale) == (["many", "once"], ["many"])


def test_a_schedule_that_is_dropped_takes_its_mark_along() -> None:
    """A new version without the rule: the next run does not list it; without any rule a record of its own removes the mark."""
    stage = measured_hourly()
    stage.broken = {"once"}
    stage.measure()
    stage.publish(ScheduledCheck(HOURLY, MANY), version="1.1.0")
    stage.sweep()
    stage.measure()
    without_once = stage.stale
    stage.broken = {"many"}
    stage.measure()
    stage.publish(version="1.1.0")
    stage.sweep(60)
    stage.sweep(60)

    assert (without_once, stage.records[-2]["stale"][0]["rule"]) == ([], "many")
    assert {name: stage.records[-1][name] for name in ("schedules", "rules", "stale")} == {
        "schedules": [],
        "rules": 0,
        "stale": [],
    }
    assert (stage.stale, stage.row.due, len(stage.records)) == ([], "", 4)


def test_a_mark_that_was_lifted_by_half_is_lifted_by_the_next_sweep() -> None:
    """The function ended between the record and the manifest."""
    stage = measured_hourly()
    stage.broken = {"once"}
    stage.measure()
    stage.publish(version="1.1.0")
    stage.env.memory.clock.sleep(3_600)
    steps, call = until(stage, Effect.RECORD)
    call.do()
    steps.close()
    before = stage.stale
    stage.sweep()

    assert (before, stage.stale, len(stage.records)) == (["once"], [], 2)


def test_a_contract_without_broken_rules_that_drops_its_schedules_records_nothing() -> None:
    """Nothing is marked, so nothing has to be removed."""
    stage = measured_hourly()
    stage.measure()
    stage.publish(version="1.1.0")
    stage.sweep(60)

    assert (len(stage.records), stage.row.due, stage.row.plan) == (1, "", "")


def test_another_schedule_holds_from_the_next_sweep_on() -> None:
    """A schedule that stays is due as before."""
    stage = measured_hourly()
    before = {each.text: each.next for each in stage.row.schedules}
    stage.publish(ScheduledCheck(HOURLY, ONCE), ScheduledCheck("cron(15 * * * ? *)", MANY), version="1.1.0")
    stage.sweep()
    after = {each.text: each.next for each in stage.row.schedules}

    assert (sorted(before), sorted(after)) == ([HOURLY, DAILY], [HOURLY, "cron(15 * * * ? *)"])
    assert (after[HOURLY], stage.row.version) == (before[HOURLY], "1.1.0")


def test_nothing_accepted_is_nothing_to_measure() -> None:
    """A run begins when something is accepted."""
    stage = measured_hourly(b"bad")
    stage.sweep(60)
    stage.sweep(60)

    assert (stage.runs, stage.records, stage.row.due > stage.now) == ([], [], True)


def test_a_retired_line_is_not_measured_and_keeps_its_mark() -> None:
    """Nobody is notified that data holds again which nobody measures."""
    stage = measured_hourly()
    stage.broken = {"once"}
    stage.measure()
    line = stage.env.dependencies.datasets.get(LINE)
    changes = (StatusChange(DatasetStatus.RETIRED, stage.now),)
    stage.env.dependencies.datasets.write(replace(line, changes=changes, recorded=1, listed=True))
    for _ in range(3):
        stage.sweep(60)

    assert (len(stage.runs), stage.stale, stage.row.due) == (1, ["once"], "")


def test_a_paused_line_is_measured() -> None:
    """A pause keeps deliveries waiting; consumers still read what is accepted."""
    stage = measured_hourly()
    run(pause(stage.env.dependencies, LINE, "a reason"), stage.env.memory.clock)
    stage.measure()

    assert len(stage.records) == 1


@pytest.mark.parametrize("ending", [Ending.FAILED, Ending.EMPTY, Ending.CANCELLED])
def test_a_run_that_is_lost_is_started_again(ending: Ending) -> None:
    """Another attempt measures what is accepted then; three of them, and the end is reported without a record or a mark."""
    stage = measured_hourly()
    stage.sweep(60)
    stage.deliver()
    while not stage.ends:
        assert len(stage.runs) < 4
        stage.answer(stage.runs[-1], ending)
        stage.sweep(6)
    (message,) = stage.messages

    assert [stage.request(each).attempt for each in stage.runs] == [1, 2, 3]
    assert [len(stage.request(each).parts) for each in stage.runs] == [1, 2, 2]
    assert (message["outcome"], message["reason"], stage.ends) == ("FAILED", "lost", [("FAILED", "lost")])
    assert (stage.records, "stale" in stage.manifest) == ([], False)
    assert stage.row.due > stage.now


def test_the_second_attempt_counts() -> None:
    """A late result of an attempt that was given up changes nothing."""
    stage = measured_hourly()
    stage.sweep(60)
    late = stage.request(stage.runs[0])
    stage.answer(stage.runs[0], Ending.FAILED)
    stage.sweep(6)
    stage.sweep(6)
    stage.broken = {"once"}
    where = Address(LAKE, f"runs/{late.workload}/attempt=1/result.json")
    stage.env.memory.objects.put(where, stage.result(late).to_bytes(), absent=True)
    stage.broken = set()
    stage.answer(stage.runs[1])
    stage.sweep(6)

    assert (stage.stale, stage.ends, len(stage.records)) == ([], [("HELD", "")], 1)


def test_a_run_that_never_ends_is_cancelled() -> None:
    """After a day another attempt follows; until then the run is looked at again."""
    stage = measured_hourly()
    stage.sweep(60)
    for _ in range(4):
        stage.sweep(6)
    assert len(stage.runs) == 1
    stage.sweep(24 * 60)
    stage.sweep(6)

    assert [each.state.value for each in stage.runs] == ["CANCELLED", "RUNNING"]


def test_a_run_that_is_gone_is_lost() -> None:
    """EMR Serverless does not know it any more."""
    stage = measured_hourly()
    stage.sweep(60)
    stage.env.memory.jobs.runs.pop(stage.runs[0].id)
    stage.sweep(6)

    assert stage.row.run is not None
    assert stage.row.run.attempt == 2


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"source_version": "another"}, "wrong-result"),
        ({"does_not_fit": "time"}, "does-not-fit"),
        ({"unreadable": Unreadable("header", "the objects have different headers")}, "unreadable"),
        ({"measurements": (Measurement("once", error="the engine failed"),)}, "not-measured"),
    ],
)
def test_a_result_that_measures_nothing_is_no_answer(changes: dict[str, Any], reason: str) -> None:
    """It is neither a pass nor a failure of the rules."""
    stage = measured_hourly()
    stage.sweep(60)
    for _ in range(8):
        stage.answer(stage.runs[-1], Ending.ANSWERED, **changes)
        stage.sweep(6)

    assert (stage.ends, stage.records) == ([("FAILED", reason)], [])


def test_a_result_that_is_none_is_no_answer() -> None:
    """What is not the JSON of a result counts as another attempt's."""
    stage = measured_hourly()
    stage.sweep(60)
    for _ in range(8):
        prefix = stage.request(stage.runs[-1]).output_uri.removeprefix(f"s3://{LAKE}/")
        stage.env.memory.objects.put(Address(LAKE, f"{prefix}/result.json"), b"no result")
        stage.sweep(6)

    assert stage.ends == [("FAILED", "wrong-result")]


def test_a_small_line_is_given_to_the_judge_function_first() -> None:
    """What it cannot hold, EMR Serverless measures."""
    stage = measured_hourly(judge=True)
    stage.sweep(60)
    stage.answer(stage.runs[0], Ending.ANSWERED, does_not_fit="memory")
    stage.sweep(6)
    stage.sweep(6)
    stage.answer(stage.runs[1])
    stage.sweep(6)

    assert ["FunctionName" in each.request for each in stage.runs] == [True, False]
    assert stage.ends == [("HELD", "")]


def test_an_invocation_without_an_answer_is_lost_by_its_deadline() -> None:
    """Lambda reports no progress: ten minutes, and EMR Serverless follows."""
    stage = measured_hourly(judge=True)
    stage.sweep(60)
    stage.sweep(6)
    assert len(stage.runs) == 1
    stage.sweep(6)
    stage.sweep(6)

    assert ["FunctionName" in each.request for each in stage.runs] == [True, False]


def test_a_run_is_not_lost_before_emr_serverless_ends_it() -> None:
    """Whatever its time limit is, as long as it may wait and run; a run that was lost earlier would be started for ever."""
    stage = measured_hourly()
    dependencies = stage.env.dependencies
    job = replace(dependencies.places.job, timeout_minutes=10_080)
    stage.env.dependencies = replace(dependencies, places=replace(dependencies.places, job=job))
    stage.sweep(60)
    for _ in range(7):
        stage.sweep(24 * 60)

    assert [each.state.value for each in stage.runs] == ["RUNNING"]
    stage.sweep(7 * 60)
    stage.sweep(6)
    assert [each.state.value for each in stage.runs] == ["CANCELLED", "RUNNING"]


def test_a_judge_function_that_is_gone_is_followed_by_a_job() -> None:
    """A stack without it has removed it while the settings of the sweep still name it."""
    stage = measured_hourly(judge=True)
    stage.env.memory.jobs.functions = set()
    stage.sweep(60)
    stage.sweep(6)
    (run_,) = stage.runs
    stage.answer(run_)
    stage.sweep(6)

    assert ("FunctionName" in run_.request, stage.ends) == (False, [("HELD", "")])


def test_accepted_data_of_another_format_is_not_measured() -> None:
    """One plan reads all objects: where an earlier version had another dialect, the end says so, once for each time."""
    stage = measured_hourly()
    plan = replace(stage.publish(*SCHEDULED), csv=Csv(header=False, delimiter="|"))
    stage.env.memory.objects.put(Address(LAKE, f"plans/{plan.digest}.json"), plan.to_bytes())
    (found,) = stage.env.memory.registry.contract("orders").versions
    stage.env.memory.registry.publish(replace(found, plans=(("lines", plan.digest),), version="1.1.0"))
    stage.sweep(60)

    assert (stage.ends, stage.runs) == ([("FAILED", "other-format")], [])


def test_the_chain_of_a_line_is_read_once_at_the_start_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chain may be long: what is measured, in which format and by which versions, follows from one reading."""
    stage, read = measured_hourly(b"good", b"good"), list[str]()
    blocks = Ledger.blocks

    def reading(ledger: Ledger, chain: str, above: int = -1) -> tuple[AnyBlock, ...]:
        read.append(chain)
        return blocks(ledger, chain, above)

    monkeypatch.setattr(Ledger, "blocks", reading)
    stage.sweep(60)

    assert (len(stage.runs), read) == (1, [LINE])


def test_a_run_over_data_that_is_erased_meanwhile_is_started_again() -> None:
    """The version that it should read is gone; the next attempt reads what is left."""
    stage = measured_hourly(b"good", b"good")
    stage.sweep(60)
    erased(stage.env, erasing(stage.env, None))
    settled(stage.env)
    stage.answer(stage.runs[0])
    stage.sweep(6)
    stage.sweep(6)
    stage.answer(stage.runs[1])
    stage.sweep(6)

    assert [len(stage.request(each).parts) for each in stage.runs] == [2, 1]
    assert (stage.ends, stage.records[0]["height"]) == ([("HELD", "")], 3)


def test_where_everything_is_erased_meanwhile_nothing_is_measured() -> None:
    """The run ends without an end: the next one begins when something is accepted."""
    stage = measured_hourly()
    stage.sweep(60)
    erased(stage.env, erasing(stage.env, None))
    settled(stage.env)
    stage.answer(stage.runs[0])
    stage.sweep(6)

    assert (stage.row.run, stage.ends, stage.row.due > stage.now) == (None, [], True)


def test_an_attempt_whose_data_is_erased_before_it_starts_fails() -> None:
    """A start that was throttled is made again by the next sweep; a request without data is not written."""
    stage = measured_hourly()
    start, stage.env.memory.jobs.start = stage.env.memory.jobs.start, _refusing  # type: ignore[method-assign]
    swept = stage.sweep(60)
    stage.env.memory.jobs.start = start  # type: ignore[method-assign]
    assert (swept.failures, stage.runs) == ([], [])
    erased(stage.env, erasing(stage.env, None))
    settled(stage.env)
    stage.sweep(1)

    assert (stage.runs, stage.row.run, stage.ends) == ([], None, [])


def _refusing(_: object) -> str:
    raise Throttled("StartJobRun")


def test_an_error_of_one_line_keeps_no_other_from_being_swept() -> None:
    """It is one of the sweep's failures, and the line stays due."""
    stage = measured_hourly()
    del stage.env.lake[f"plans/{stage.row.plan}.json"]
    stage.env.dependencies.plans.clear()
    swept = stage.sweep(60)

    assert [str(each) for each in swept.failures] == [f"plan-missing @ {LINE}"]
    assert stage.row.due <= stage.now


def test_a_line_that_cannot_be_scheduled_is_a_failure_of_the_sweep() -> None:
    """Other lines are scheduled all the same."""
    stage = measured_hourly()
    (found,) = stage.env.memory.registry.contract("orders").versions
    stage.env.memory.registry.publish(replace(found, plans=(("lines", "0" * 64),)))
    failures = stage.sweep().failures

    assert [str(each) for each in failures] == [f"plan-missing @ {LINE}"]


def test_a_registry_that_does_not_answer_stops_no_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is one of the sweep's failures, of each task that finds datasets, of manifests and of the overview."""
    stage = measured_hourly()

    def refused(*_: object) -> None:
        raise Unanswered("Scan")

    monkeypatch.setattr(Registry, "page", refused)
    upload = stage.env.upload(f"{PREFIX}late.csv", b"good:late")
    swept = stage.sweep()

    assert [str(each) for each in swept.failures] == ["Scan"] * 4
    assert stage.env.dependencies.workloads.get(upload.workload).run


def test_subscribers_are_named() -> None:
    """Those who asked for this kind alone."""
    stage = measured_hourly()
    line = stage.env.dependencies.datasets.get(LINE)
    stage.env.dependencies.datasets.write(
        add_subscription(
            line, stage.now, "finance", ["revalidation"], to=["sns:arn:aws:sns:eu-west-1:123456789012:team"]
        )
    )
    stage.broken = {"once"}
    stage.measure()
    (message,) = stage.messages

    assert message["subscribers"] == [
        {"team": "finance", "audience": "consumer", "to": ["sns:arn:aws:sns:eu-west-1:123456789012:team"]}
    ]
    assert message["broken"] == [{"rule": "once", "status": "fail", "rows": 1}]
    validate("line-event", {"id": "i", "line": LINE, "kind": "revalidation", "body": message})


def test_subscribers_get_one_message_until_everything_holds_again() -> None:
    """One for what is broken, one for a run that measured nothing, and one at the end; what held before is no message."""
    stage = measured_hourly()
    dependencies, clock = stage.env.dependencies, stage.env.memory.clock
    run(change(dependencies, LINE, "", partial(add_subscription, team="t", on=["revalidation"], to=["slack:t"])), clock)
    shown: list[list[tuple[str, str, tuple[str, ...], bool]]] = []
    for broken in (set[str](), {"once"}, {"once"}):
        stage.broken = broken
        stage.measure()
        shown.append(notified(stage))
    stage.sweep(60)
    while stage.row.run is not None:
        stage.answer(stage.runs[-1], Ending.FAILED)
        stage.sweep(6)
    shown.append(notified(stage))
    stage.broken = set()
    stage.measure()
    shown.append(notified(stage))
    since = stage.records[1]["stale"][0]["since"][:16].replace("T", " ")

    assert shown[:4] == [
        [],
        [
            (
                "revalidation",
                f"Accepted data of {LINE} does not keep its contract",
                (f"once does not hold since {since} UTC",),
                False,
            )
        ],
        [],
        [
            (
                "revalidation",
                f"Not measured: rules with a schedule over {LINE}, lost",
                ("Nothing is known about the accepted data since the run before",),
                False,
            )
        ],
    ]
    assert [(each[0], each[3]) for each in shown[4]] == [("revalidation", True)] * 2


def notified(stage: RevalidationStage) -> list[tuple[str, str, tuple[str, ...], bool]]:
    """What the channel gets now; every event fits its schema."""
    stage.env.memory.clock.sleep(60)
    stage.env.memory.notifier.sent.clear()
    stage.env.memory.channels.sent.clear()
    run(notify(stage.env.dependencies), stage.env.memory.clock)
    for each in stage.env.memory.notifier.sent:
        if each.kind == "revalidation":
            validate("line-event", detail(each))
    return [(each.kind, each.title, each.text, each.resolved) for _, each in stage.env.memory.channels.sent]


def test_slices_are_read_as_what_they_are() -> None:
    """Consumers read slices, so these are measured: Parquet, and not the originals beside them."""
    line = sliced("good:1", "good:2")
    plan = replace(plan_with(*SCHEDULED, version="1.1.0"), policy=SLICED.policy)
    line.env.memory.objects.put(Address(LAKE, f"plans/{plan.digest}.json"), plan.to_bytes())
    (found,) = (each for each in line.env.memory.registry.contract("orders").versions if each.version == "1.1.0")
    labels = (("revalidated", "lines"),)
    line.env.memory.registry.publish(replace(found, plans=(("lines", plan.digest),), labels=labels))
    stage = RevalidationStage(line.env)
    stage.sweep()
    stage.sweep(60)
    (run_,) = (each for each in stage.runs if each.request["name"] == stage.row.run.id)  # type: ignore[union-attr] # there is one
    asked = stage.request(run_)
    blocks = line.env.dependencies.ledger.blocks(LINE)
    slices = [each.key for block in deliveries(blocks) for each in block.slices or ()]
    document = json.loads(line.env.memory.objects.read(Address(LAKE, f"plans/{asked.plan_digest}.json")))

    assert [each.uri for each in asked.parts] == [f"s3://{LAKE}/{each}" for each in slices]
    assert (len(slices), document["storage"]["format"]) == (2, "parquet")


def sliced(*bodies: str) -> SlicedDataset:
    """A line of slices with these deliveries."""
    line = judged(*map(str.encode, bodies))
    settled_line(line)
    return line


def until(stage: RevalidationStage, effect: Effect) -> tuple[Steps[object], Call]:
    """A sweep about the line that stops before an effect."""
    steps = run_row(stage.env.dependencies, TASK, LINE)
    call = next(steps)
    while call.effect is not effect:
        call = steps.send(call.do())
    return steps, call


@pytest.mark.parametrize("effect", [Effect.WRITE_PLAN, Effect.WRITE_REQUEST, Effect.START_JOB])
def test_of_two_sweeps_at_once_one_starts_the_run(effect: Effect) -> None:
    """Whichever comes second finds the row written, and starts nothing else; the job run is the same by its token."""
    stage = measured_hourly()
    stage.env.memory.clock.sleep(3_600)
    late = until(stage, effect)
    stage.sweep()
    loses(stage, late)
    stage.answer(stage.runs[0])
    stage.sweep(6)

    assert (len(stage.runs), stage.ends, len(stage.records)) == (1, [("HELD", "")], 1)


def loses(stage: RevalidationStage, late: tuple[Steps[object], Call]) -> None:
    """The second sweep loses at the row, and says nothing."""
    assert drive(stage.env.dependencies, resumed(*late)) is None


def test_of_two_sweeps_that_record_a_run_one_does() -> None:
    """The second finds the record by its event, and the row ended."""
    stage = measured_hourly()
    stage.sweep(60)
    stage.broken = {"once"}
    stage.answer(stage.runs[0])
    stage.env.memory.clock.sleep(360)
    late = until(stage, Effect.RECORD)
    stage.sweep()
    stage.env.memory.clock.sleep(1)
    loses(stage, late)

    assert (len(stage.records), len(stage.messages), stage.stale) == (1, 1, ["once"])


def test_a_lost_answer_of_a_write_is_found_again() -> None:
    """The row is as this sweep wrote it: it goes on."""
    stage = measured_hourly()
    stage.env.memory.clock.sleep(3_600)
    steps, call = until(stage, Effect.WRITE_ROW)
    call.do()
    following = steps.throw(ConditionFailed("revalidation"))

    assert following.effect is Effect.WRITE_REQUEST


def test_a_row_that_is_not_due_any_more_is_left_alone() -> None:
    """The index lags: what it finds is read again."""
    stage = measured_hourly()
    steps = run_row(stage.env.dependencies, TASK, LINE)

    with pytest.raises(StopIteration):
        next(steps)


def test_a_chain_that_others_extend_all_the_time_is_tried_again_by_the_next_sweep() -> None:
    """After as many tries as other records have."""
    stage = measured_hourly()
    stage.sweep(60)
    stage.answer(stage.runs[0])
    stage.env.memory.clock.sleep(360)
    steps, call = until(stage, Effect.RECORD)
    for _ in range(TRIES_OF_COMMIT - 1):
        call = steps.throw(ConditionFailed("head"))
        assert call.effect is Effect.RECORD
    with pytest.raises(TransactionConflict):
        steps.throw(ConditionFailed("head"))
    stage.sweep()

    assert len(stage.records) == 1


def test_a_version_that_is_published_while_a_rule_is_due_is_measured_at_once() -> None:
    """The run has the checks of the current version, though no sweep had scheduled it."""
    stage = measured_hourly()
    stage.env.memory.clock.sleep(3_600)
    stage.publish(ScheduledCheck(HOURLY, MANY), version="1.1.0")
    steps = run_row(stage.env.dependencies, TASK, LINE)
    run(steps, stage.env.memory.clock)
    (run_,) = stage.runs
    body = stage.env.memory.objects.read(Address(LAKE, f"plans/{stage.request(run_).plan_digest}.json"))

    assert [each["id"] for each in json.loads(body)["checks"]] == ["many"]


def test_a_version_without_a_rule_that_is_due_measures_nothing() -> None:
    """Published between the last sweep and this one."""
    stage = measured_hourly()
    stage.env.memory.clock.sleep(3_600)
    stage.publish(ScheduledCheck("cron(15 5 * * ? *)", MANY), version="1.1.0")
    run(run_row(stage.env.dependencies, TASK, LINE), stage.env.memory.clock)

    assert (stage.runs, stage.row.run, stage.row.version) == ([], None, "1.1.0")


def test_a_further_rule_that_is_broken_is_notified() -> None:
    """Each set of rules that do not hold is a cause of its own; the same set again is none."""
    stage = measured_hourly()
    stage.publish(ScheduledCheck(HOURLY, ONCE), ScheduledCheck(HOURLY, MANY), version="1.1.0")
    stage.sweep()
    dependencies, clock = stage.env.dependencies, stage.env.memory.clock
    run(change(dependencies, LINE, "", partial(add_subscription, team="t", on=["revalidation"], to=["slack:t"])), clock)
    shown = []
    for broken in ({"once"}, {"once", "many"}, {"once", "many"}):
        stage.broken = broken
        stage.measure()
        shown.append([[each.partition(" ")[0] for each in text] for _, _, text, _ in notified(stage)])

    assert shown == [[["once"]], [["once", "many"]], []]


def test_a_rule_that_was_not_measured_keeps_its_mark() -> None:
    """A line that it refers to has nothing accepted: it is skipped, so nothing is known about it; others are measured."""
    stage = measured_hourly()
    stage.publish(ScheduledCheck(HOURLY, ONCE), ScheduledCheck(HOURLY, MANY), version="1.1.0")
    stage.sweep()
    stage.broken = {"once"}
    stage.measure()
    stage.sweep(60)
    (_, run_) = stage.runs
    (_, many) = stage.result(stage.request(run_)).measurements
    skipped = Measurement("once", skip="nothing of another line is accepted")
    stage.answer(run_, measurements=(skipped, many))
    stage.sweep(6)

    assert (stage.records[-1]["rules"], stage.stale, stage.ends[-1]) == (1, ["once"], ("HELD", ""))


def test_a_run_whose_rules_are_all_skipped_measured_nothing() -> None:
    """It ends as one that failed, without a record; after three attempts."""
    stage = measured_hourly()
    stage.sweep(60)
    for _ in range(8):
        skipped = Measurement("once", skip="nothing of another line is accepted")
        stage.answer(stage.runs[-1], measurements=(skipped,))
        stage.sweep(6)

    assert (stage.ends, stage.records) == ([("FAILED", "not-measured")], [])


def test_a_row_that_is_lost_gets_other_runs() -> None:
    """The row is written again from its beginning: its revisions come again, the ids of its runs do not."""
    stage = measured_hourly()
    stage.measure()
    stage.env.memory.table.rows["workloads", "revalidation"].clear()
    stage.sweep()
    stage.measure()

    assert len({each["run"] for each in stage.records}) == 2


def test_only_the_latest_end_lists_rules() -> None:
    """The row of a line stays small."""
    stage = measured_hourly()
    stage.broken = {"once"}
    stage.measure()
    stage.measure()

    assert [each.stale for each in stage.row.ends] == [("once",), ()]


def test_schedules_are_looked_for_after_deliveries_and_while_there_is_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is due is continued first; each page that was read is kept as read, also where a later one fails."""
    stage = measured_hourly()
    whole, left = Registry.page, [600.0]
    asked: list[str] = []
    upload = stage.env.upload(f"{PREFIX}late.csv", b"good:late")

    def page(registry: Registry, after: str) -> RegistryPage:
        assert stage.env.dependencies.workloads.get(upload.workload).run
        asked.append(after)
        left[0] -= 300.0
        return replace(whole(registry, ""), after=f"{len(asked)}")

    monkeypatch.setattr(Registry, "page", page)
    monkeypatch.setattr("lakegate.gate.sweep.load_extensions", lambda _: [TASK])  # other tasks read pages, too
    timed = replace(stage.env.dependencies, remaining=lambda: left[0])
    run(sweep(timed), stage.env.memory.clock)
    left[0] = 300.0
    run(sweep(timed), stage.env.memory.clock)

    assert asked == ["", "1", "2"]
    assert stage.env.dependencies.agenda.cursor(CURSOR) == "3"


def test_a_mark_of_a_schedule_that_has_no_next_time_is_removed_with_the_schedule() -> None:
    """The line is looked at once a day while a rule does not hold; afterwards never."""
    stage = RevalidationStage()
    year = stage.env.memory.clock.now().year
    stage.publish(ScheduledCheck(f"cron(0 * * * ? {year})", ONCE))
    stage.deliver()
    stage.sweep()
    stage.broken = {"once"}
    stage.measure()
    stage.sweep(366 * 24 * 60)
    for each in stage.runs:
        stage.answer(each)
    stage.sweep(6)
    stage.sweep(24 * 60)
    kept, looked, runs = stage.stale, stage.row.due, len(stage.runs)
    stage.publish(version="1.1.0")
    stage.publish()
    stage.sweep(24 * 60)

    assert (kept, stage.row.next, looked > "", len(stage.runs)) == (["once"], "", True, runs)
    assert (stage.stale, stage.row.due) == ([], "")


def test_the_sweep_after_a_result_records_it() -> None:
    """Sweeps are five minutes apart, and a start takes seconds: the next sweep already looks."""
    stage = measured_hourly()
    stage.sweep(60)
    for each in stage.runs:
        stage.answer(each)
    stage.sweep(4.9)

    assert len(stage.records) == 1
