"""The end of a run of rules with a schedule: its event records it at once, whatever sweeps do meanwhile."""

from __future__ import annotations

import json
from typing import Any

import pytest

from functions import completion_handler
from lakegate.aws import lambda_runtime
from lakegate.features.revalidation.revalidation import TASK
from lakegate.gate.delivery.advance import completion, invocation_ended
from lakegate.gate.effects import Call, Effect, Steps
from lakegate.gate.ports import Address, names_invocation
from lakegate.gate.scheduled_tasks import run_row
from tests.fakes.jobs import Ending, Run
from tests.simulation.environment import LAKE, LINE
from tests.unit.aws.test_delivery_over_aws import settings
from tests.unit.features.revalidation.revalidation_stage import RevalidationStage, measured_hourly
from tests.unit.functions.test_handlers import Context
from tests.unit.gate.scenarios import drive, resumed


def ended(stage: RevalidationStage, run_: Run, *, failed: bool = False) -> Steps[str | None]:
    """What the event of its end carries on."""
    if not names_invocation(run_.id):
        return completion(stage.env.dependencies, run_.id)
    payload: Any = json.loads(str(run_.request["Payload"]))
    return invocation_ended(stage.env.dependencies, payload["workload"], payload["attempt"], failed=failed)


def told(stage: RevalidationStage, run_: Run, *, failed: bool = False) -> object:
    return drive(stage.env.dependencies, ended(stage, run_, failed=failed))


def begun(*, judge: bool = False, broken: bool = True) -> tuple[RevalidationStage, Run]:
    """A run that is under way."""
    stage = measured_hourly(judge=judge)
    stage.broken = {"once"} if broken else set()
    stage.sweep(60)
    return stage, stage.runs[0]


@pytest.mark.parametrize("judge", [False, True])
def test_the_event_of_its_end_records_a_run(*, judge: bool) -> None:
    """Without a sweep: record, mark, message and the next time; the event again, and a sweep, change nothing."""
    stage, run_ = begun(judge=judge)
    early = told(stage, run_)
    stage.answer(run_)
    metric = told(stage, run_)
    row = stage.row
    again = told(stage, run_)
    stage.sweep(6)

    assert (early, metric, again) == (None, "RevalidationsBroken", None)
    assert (len(stage.records), stage.stale, len(stage.messages)) == (1, ["once"], 1)
    assert (row.run, row.next > row.ends[0].at, stage.row) == (None, True, row)


def test_a_run_that_is_under_way_is_left_as_it_is() -> None:
    """Nothing is written, so that the next sweep is not put off."""
    stage, run_ = begun()
    row = stage.row
    told(stage, run_)

    assert stage.row == row


@pytest.mark.parametrize("judge", [False, True])
def test_a_run_that_failed_is_prepared_again_at_once(*, judge: bool) -> None:
    """As another attempt, which the next sweep starts."""
    stage, run_ = begun(judge=judge)
    stage.answer(run_, Ending.FAILED)
    told(stage, run_, failed=True)
    assert stage.row.run is not None
    attempt = stage.row.run.attempt
    told(stage, run_, failed=True)
    stage.sweep(1)
    told(stage, run_, failed=True)
    stage.answer(stage.runs[-1])
    told(stage, stage.runs[-1])

    assert (attempt, len(stage.runs), stage.ends) == (2, 2, [("BROKEN", "")])


def test_a_result_counts_whatever_became_of_the_invocation() -> None:
    """It was written before the function failed."""
    stage, run_ = begun(judge=True)
    stage.answer(run_)
    told(stage, run_, failed=True)

    assert stage.ends == [("BROKEN", "")]


def test_the_third_run_that_failed_is_told_as_failed() -> None:
    """With the metric that raises the alarm."""
    stage, _ = begun()
    metrics = []
    for _ in range(3):
        stage.answer(stage.runs[-1], Ending.FAILED)
        metrics.append(told(stage, stage.runs[-1]))
        stage.sweep(1)

    assert (metrics, stage.ends) == ([None, None, "RevalidationsFailed"], [("FAILED", "lost")])


@pytest.mark.parametrize("name", ["a" * 64, "../plans", "", "b" * 64, "c" * 64])
def test_the_end_of_another_run_carries_on_nothing(name: str) -> None:
    """Neither one that nobody knows, nor one whose request is unreadable, or states the plan of the line."""
    stage, run_ = begun()
    asked = stage.request(run_)
    objects = stage.env.memory.objects
    for folder, body in (("b", b"{"), ("c", asked.to_bytes())):
        objects.put(Address(LAKE, f"runs/{folder * 64}/attempt=1/request.json"), body)
    stage.answer(run_)
    row, known = stage.row, stage.env.dependencies
    found = [drive(known, invocation_ended(known, name, 1, failed=each)) for each in (False, True)]

    assert (found, stage.row, stage.records) == ([None, None], row, [])


def test_a_run_whose_id_is_not_stored_yet_is_left_to_its_sweep() -> None:
    """The event overtakes the sweep that starts it."""
    stage = measured_hourly(judge=True)
    stage.env.memory.clock.sleep(3_600)
    steps, call = _until(run_row(stage.env.dependencies, TASK, LINE), Effect.START_JOB)
    call.do()
    stage.answer(stage.runs[0])
    told(stage, stage.runs[0], failed=True)
    drive(stage.env.dependencies, resumed(steps, call))
    stage.sweep(6)

    assert (len(stage.records), stage.ends) == (1, [("HELD", "")])


def _until(steps: Steps[Any], effect: Effect) -> tuple[Steps[Any], Call]:
    """What it does up to an effect."""
    call = next(steps)
    while call.effect is not effect:
        call = steps.send(call.do())
    return steps, call


@pytest.mark.parametrize("effect", [Effect.RECORD, Effect.WRITE_MANIFEST, Effect.REPORT, Effect.WRITE_ROW])
@pytest.mark.parametrize("swept", [False, True])
def test_of_an_event_and_a_sweep_at_once_one_records_a_run(effect: Effect, *, swept: bool) -> None:
    """Whichever stops before an effect, the other one comes to its end; or the event comes twice."""
    stage, run_ = begun()
    stage.answer(run_)
    stage.env.memory.clock.sleep(61)
    sweep = run_row(stage.env.dependencies, TASK, LINE)
    late = _until(sweep if swept else ended(stage, run_), effect)
    stage.env.memory.clock.sleep(1)
    metric = told(stage, run_)
    stage.env.memory.clock.sleep(1)
    lost = drive(stage.env.dependencies, resumed(*late))

    assert (metric, lost) == ("RevalidationsBroken", None)
    assert (len(stage.records), len(stage.messages), len(stage.row.ends), stage.stale) == (1, 1, 1, ["once"])


def test_the_function_counts_a_run_as_a_sweep_does(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Once, in the metric of the sweep, which the alarm is about."""
    for name, value in settings("00app").items():
        monkeypatch.setenv(name, value)
    stage, run_ = begun(broken=False)
    monkeypatch.setattr(completion_handler, "dependencies", lambda: stage.env.dependencies)
    stage.answer(run_)
    detail = {"applicationId": "00app", "jobRunId": "00run", "state": "SUCCESS"}
    event = {
        "version": "0",
        "source": "aws.emr-serverless",
        "detail-type": "EMR Serverless Job Run State Change",
        "detail": detail,
    }
    stage.env.memory.jobs.runs["00run"] = run_
    records = [{"messageId": each, "body": json.dumps(event)} for each in "12"]
    answer = completion_handler.handler({"Records": records}, Context())
    lambda_runtime.INVOCATION.set(None)
    counted = [json.loads(line) for line in capsys.readouterr().out.splitlines() if "RevalidationsHeld" in line]

    assert answer == {"batchItemFailures": []}
    assert [(each["service"], each["RevalidationsHeld"]) for each in counted] == [("sweep", [1.0])]
    assert stage.ends == [("HELD", "")]
