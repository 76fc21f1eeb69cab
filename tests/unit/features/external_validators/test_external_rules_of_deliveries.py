"""Deliveries with rules that other services measure, step by step; tests/simulation/test_validators.py has the faults."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from jsonschema.validators import Draft202012Validator

from lakegate.base.errors import AccessDenied, NotFound, PortError, Throttled, Unanswered
from lakegate.base.extension_points import ROOT
from lakegate.base.json_schemas import load
from lakegate.features.external_validators.external_rules import TIME_OF_VALIDATOR
from lakegate.features.external_validators.registered_validators import remove_validator
from lakegate.features.external_validators.validator_client import ExternalValidation
from lakegate.gate.carry_out_decision import advance_decided
from lakegate.gate.delivery.advance import advance, complete, observe
from lakegate.gate.delivery.decide_verdict import keep, measured_result, report_of
from lakegate.gate.delivery.delivery_row import FailureCause, Waiting, WaitsFor
from lakegate.gate.delivery.delivery_terms import BatchLimits
from lakegate.gate.delivery.protocol import Outcome, State
from lakegate.gate.delivery.replay import judge_again
from lakegate.gate.delivery.small_file_batches import group_of
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.effects import run
from lakegate.gate.person_decisions import WantedReplay
from lakegate.gate.ports import Address, names_invocation
from lakegate.gate.sweep import sweep
from lakegate.gate.waiting import waiting_of
from lakegate.local_check.check_result import checks
from lakegate.plan.plan import Plan
from lakegate.plan.result import Result, Unreadable
from lakegate.report.dcm_results import results_of as results_of_report
from tests.decisions import replay
from tests.fakes.jobs import Ending
from tests.fakes.validators import answer_of, results_of
from tests.simulation.environment import LAKE
from tests.simulation.validated import KEY, PLAN, SERVICE, ValidatedDataset, broken

if TYPE_CHECKING:
    from tests.simulation.validated import Answer

C = FailureCause


def begun(line: ValidatedDataset) -> ValidatedDataset:
    """Taken in, with the run of its first attempt answered."""
    run(line.intake(), line.env.memory.clock)
    line.answer_jobs()
    return line


def proceeded(line: ValidatedDataset) -> ValidatedDataset:
    run(advance(DeliveryTurn(line.env.dependencies, line.row)), line.env.memory.clock)
    return line


def running(validation: ExternalValidation) -> bytes:
    return answer_of(validation, status="Running", result=[])


def test_a_validation_is_started_with_the_staged_version() -> None:
    """Its id is of workload, attempt and technology; it may read the copy that is judged, for as long as the attempt lasts."""
    line = begun(ValidatedDataset.of())
    ((name, validation),) = line.env.memory.validators.started.items()
    staged = line.row.staged
    assert staged is not None

    assert name == validation.name == hashlib.sha256(f"{line.row.id}:1:Probe".encode()).hexdigest()
    assert validation.data == Address(LAKE, staged.key, staged.version)
    assert validation.rules == (PLAN.external[0].rule,)
    assert (validation.format["format"], validation.seconds) == ("csv", 3600)
    assert line.env.memory.validators.asked == []


@pytest.mark.parametrize(
    ("answer", "state", "verdict"), [(answer_of, State.PUBLISHED, "accepted"), (broken, State.QUARANTINED, "rejected")]
)
def test_the_verdict_follows_from_all_answers(answer: Answer, state: State, verdict: str) -> None:
    """The document with all answers is kept; its digest is decided on, and reports show who measured what."""
    line = proceeded(begun(ValidatedDataset.of(answer)))
    body = line.env.memory.objects.read(Address(LAKE, f"runs/{line.row.id}/merged/attempt=1/result.json"))
    report = report_of(DeliveryTurn(line.env.dependencies, line.row))
    decision = line.row.decision
    assert decision is not None
    assert report is not None

    assert (line.row.state, decision.verdict, decision.result) == (state, verdict, hashlib.sha256(body).hexdigest())
    assert measured_result(DeliveryTurn(line.env.dependencies, line.row)) == body
    assert report.result.engines["external:Probe"] == "1.2.3"
    assert [(each.id, each.status.value) for each in report.judgement.outcomes if each.id == "order"] == [
        ("order", "pass" if state is State.PUBLISHED else "fail")
    ]


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        (-52, (-52, "value")),
        (0.25, (0.25, "value")),
        ([1, 2.5, -3], ([1, 2.5, -3], "values")),
        ("text", (0, "answers")),
        ([1, "a"], (0, "answers")),
        ([1] * 101, (0, "answers")),
        (None, (0, "answers")),
    ],
)
def test_the_metric_of_a_validator_is_kept(metric: object, expected: tuple[object, str]) -> None:
    """A number, or a short list of short values; any other text of the service is none."""
    tier = {"success": True, "exception_info": {"raised_exception": False}}
    line = proceeded(
        begun(
            ValidatedDataset.of(
                lambda asked: answer_of(
                    asked, result=results_of(asked, metric=metric, severity={"fail": tier, "warn": tier})
                )
            )
        )
    )
    report = report_of(DeliveryTurn(line.env.dependencies, line.row))
    assert report is not None
    (over_http,) = (each for each in results_of_report(report) if each["id"] == "order")

    assert (over_http["metric"], over_http["unit"]) == expected
    assert over_http["severity"]["warn"] == {"success": True, "exceptionInfoModel": None}


def test_results_name_the_technology_and_its_version() -> None:
    """Over HTTP and in the documents of commands, in the form of their schemas."""
    line = proceeded(begun(ValidatedDataset.of(broken)))
    report = report_of(DeliveryTurn(line.env.dependencies, line.row))
    assert report is not None
    (over_http,) = (each for each in results_of_report(report) if each["id"] == "order")
    (of_command,) = (each for each in checks(report) if each["id"] == "order")

    assert over_http == {
        "id": "order",
        "column": None,
        "metric": 3,
        "unit": "value",
        "failingRows": None,
        "technology": "Probe",
        "version": "1.2.3",
        "severity": {"fail": {"success": False, "exceptionInfoModel": None}, "warn": None},
        "success": "fail",
    }
    described = {"$ref": "#/components/schemas/RuleResult", **json.loads((ROOT / "docs/openapi.json").read_text())}
    assert Draft202012Validator(described).is_valid(over_http)
    assert (of_command["technology"], of_command["version"], of_command["metric"]) == ("Probe", "1.2.3", "external")
    assert of_command["failing_rows"] is None
    assert Draft202012Validator({"$ref": "#/$defs/CheckDetails", "$defs": load("check")["$defs"]}).is_valid(of_command)


def test_nothing_is_decided_before_all_have_answered() -> None:
    """As long as a service works the delivery waits, and sweeps ask again."""
    line = proceeded(begun(ValidatedDataset.of(running)))
    waiting = line.row.state, len(line.env.memory.validators.asked)
    assert line.row.deadline is not None
    wanted = Waiting(WaitsFor.VALIDATORS, None, line.row.deadline.isoformat())
    assert waiting_of(DeliveryTurn(line.env.dependencies, line.row)) == wanted
    line.env.memory.validators.answer = answer_of
    line.settled()

    assert (waiting, line.row.state) == ((State.VALIDATING, 1), State.PUBLISHED)


def test_who_has_seen_the_end_of_a_run_asks_some_times_more() -> None:
    """A service that takes seconds costs a delivery no sweep; a slower one is left to it, as is one without time left."""
    answers = [running, running, answer_of]

    def after_a_while(validation: ExternalValidation) -> bytes:
        return answers.pop(0)(validation)

    quick = begun(ValidatedDataset.of(after_a_while))
    slow, short = begun(ValidatedDataset.of(running)), begun(ValidatedDataset.of(running))
    hasty = replace(short.env.dependencies, remaining=lambda: 60.0)
    began = quick.env.memory.clock.now()
    for line, dependencies in ((quick, quick.env.dependencies), (slow, slow.env.dependencies), (short, hasty)):
        run(complete(DeliveryTurn(dependencies, line.row)), line.env.memory.clock)

    assert [line.row.state for line in (quick, slow, short)] == [State.PUBLISHED, State.VALIDATING, State.VALIDATING]
    assert [line.env.memory.clock.now() - began for line in (quick, slow, short)] == [
        timedelta(seconds=each) for each in (10, 30, 0)
    ]


def test_nobody_is_asked_before_the_run_has_its_result() -> None:
    """The first hint of a job run comes before its end."""
    line = ValidatedDataset.of(running)
    run(line.intake(), line.env.memory.clock)
    run(complete(DeliveryTurn(line.env.dependencies, line.row)), line.env.memory.clock)

    assert (line.row.state, line.env.memory.validators.asked) == (State.VALIDATING, [])


@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        (running, C.VALIDATOR_LATE),
        (lambda _: Unanswered("x"), C.VALIDATOR_UNREACHABLE),
        (lambda _: Throttled("x"), C.VALIDATOR_UNREACHABLE),
        (lambda _: NotFound("x"), C.VALIDATOR_REFUSED),
        (lambda asked: answer_of(asked, status="NOK"), C.VALIDATOR_REFUSED),
        (lambda asked: answer_of(asked, workloadId="another"), C.WRONG_ANSWER),
    ],
)
def test_what_is_no_answer_costs_attempts(answer: Answer, cause: FailureCause) -> None:
    """Each of them, and then the delivery is FAILED: a service that is silent decides nothing."""
    line = ValidatedDataset.of(answer).settled()

    assert (line.row.state, [each.cause for each in line.row.failed]) == (State.FAILED, [cause] * 3)
    assert line.row.decision is None


@pytest.mark.parametrize(
    ("refusal", "cause"),
    [(Unanswered("x"), C.VALIDATOR_UNREACHABLE), (PortError("http-400"), C.VALIDATOR_REFUSED)],
)
def test_no_run_is_started_for_rules_that_nobody_measures(refusal: PortError, cause: FailureCause) -> None:
    """The attempt is lost before it costs a run; the next one follows some minutes later."""
    line = ValidatedDataset.of()
    line.env.memory.validators.refusal = refusal
    run(line.intake(), line.env.memory.clock)
    now, row = line.env.memory.clock.now(), line.row
    later = row.not_before
    assert later is not None

    assert (row.state, row.attempt, [each.cause for each in row.failed]) == (State.SUBMITTING, 2, [cause])
    assert later - now == line.env.dependencies.timing.poll
    assert list(line.env.memory.jobs.runs) == [line.env.stranger]


def test_a_service_that_is_left_out_for_a_while_is_asked_at_the_deadline() -> None:
    """The last poll counts: the attempt is not lost for what other deliveries waited for."""
    line = begun(ValidatedDataset.of())
    line.env.memory.validators.is_silent = True
    proceeded(line)
    waiting = line.row.state
    line.settled(minutes=61)

    assert (waiting, line.row.state, line.row.attempt) == (State.VALIDATING, State.PUBLISHED, 1)


def test_a_removed_validator_is_neither_started_nor_asked() -> None:
    """Its name in a plan gives it no right to data."""
    never = ValidatedDataset.of(registered=False).settled()
    removed = begun(ValidatedDataset.of())
    run(remove_validator(removed.env.dependencies, SERVICE.name), removed.env.memory.clock)
    removed.settled()
    other = ValidatedDataset.of(registered=False)
    other.register(replace(SERVICE, technologies=("Another",)))
    other.settled()

    assert [each.cause for line in (never, removed, other) for each in line.row.failed] == [C.NO_VALIDATOR] * 9
    assert [line.env.memory.validators.started for line in (never, other)] == [{}, {}]
    assert removed.env.memory.validators.asked == []


def test_a_technology_may_be_spelled_otherwise_when_it_is_registered_again() -> None:
    """Spellings are compared as when a contract is published."""
    line = ValidatedDataset.of(registered=False)
    line.register(replace(SERVICE, technologies=("pro-be",)))
    proceeded(begun(line))

    assert line.row.state is State.PUBLISHED


def test_a_delivery_that_cannot_be_read_is_not_asked_about() -> None:
    """It is refused as without validators, whatever these would say."""
    line = ValidatedDataset.of(lambda _: PortError("http-403"))
    run(line.intake(), line.env.memory.clock)
    row = line.row
    assert row.pin is not None
    result = Result(
        row.id, 1, row.pin.plan, row.source.version, 0, unreadable=Unreadable("gzip", "It is no gzip file.")
    )
    line.env.memory.objects.put(Address(LAKE, f"runs/{row.id}/attempt=1/result.json"), result.to_bytes())
    proceeded(line)

    assert (line.row.state, line.env.memory.validators.asked) == (State.QUARANTINED, [])


def test_the_first_document_with_answers_counts() -> None:
    """Whoever writes one later, with other answers, decides by the first one."""
    line = begun(ValidatedDataset.of())
    found = observe(DeliveryTurn(line.env.dependencies, line.row))
    line.env.memory.validators.answer = broken
    other = observe(DeliveryTurn(line.env.dependencies, line.row))
    assert found is not None
    assert other is not None
    assert found.unkept is not None
    assert other.unkept is not None
    for each in (found.unkept, other.unkept):
        run(keep(DeliveryTurn(line.env.dependencies, line.row), each), line.env.memory.clock)

    assert found.unkept != other.unkept
    assert (kept := observe(DeliveryTurn(line.env.dependencies, line.row))) is not None
    assert kept.on is Outcome.ACCEPTED


def test_a_document_of_another_attempt_is_none() -> None:
    """What lies where the answers are kept has to be of this attempt."""
    line = begun(ValidatedDataset.of())
    found = observe(DeliveryTurn(line.env.dependencies, line.row))
    assert found is not None
    assert found.unkept is not None
    other = replace(Result.from_bytes(found.unkept), attempt=2)
    run(keep(DeliveryTurn(line.env.dependencies, line.row), other.to_bytes()), line.env.memory.clock)
    again = observe(DeliveryTurn(line.env.dependencies, line.row))

    assert (again and again.on, again and again.cause) == (Outcome.LOST, C.WRONG_RESULT)


def test_a_delivery_that_stays_undecided_shows_why() -> None:
    """A rule that raised in its validator is an error of its check, also in the report of the FAILED delivery."""
    raised = {"fail": {"success": False, "exception_info": {"raised_exception": True}}, "warn": None}
    line = ValidatedDataset.of(lambda asked: answer_of(asked, result=results_of(asked, severity=raised))).settled()
    report = report_of(DeliveryTurn(line.env.dependencies, line.row))
    assert report is not None

    assert (line.row.state, [each.cause for each in line.row.failed]) == (State.FAILED, [C.UNDECIDED] * 3)
    assert [(each.status.value, each.message) for each in report.judgement.outcomes if each.id == "order"] == [
        ("error", "the validator could not measure this rule")
    ]


def test_a_delivery_without_answers_has_the_report_of_its_run() -> None:
    """What was measured is shown, and who has not answered."""
    line = ValidatedDataset.of(lambda asked: answer_of(asked, status="NOK")).settled()
    report = report_of(DeliveryTurn(line.env.dependencies, line.row))
    assert report is not None

    assert [(each.id, each.status.value) for each in report.judgement.outcomes if each.kind != "file"] == [
        ("name", "pass"),
        ("amount", "pass"),
        ("order", "error"),
    ]


def test_a_small_delivery_is_invoked_again_after_a_validator_failed() -> None:
    """What a validator does says nothing about the judge function; the deadline is that of validators, which take longer."""
    line = ValidatedDataset.of(lambda asked: answer_of(asked, status="NOK"), judge=True)
    begun(line)
    first = line.row
    proceeded(line)
    line.env.memory.clock.sleep(600)
    proceeded(line)
    assert (first.run, line.row.run) == (f"lambda/{first.id}/1", f"lambda/{first.id}/2")
    assert names_invocation(line.row.run)
    assert line.row.deadline == line.env.memory.clock.now() + TIME_OF_VALIDATOR


def test_a_delivery_that_does_not_fit_is_not_asked_about_before_spark_has_judged_it() -> None:
    """The judge function's answer that it cannot hold it is no result of the rules."""
    line = ValidatedDataset.of(judge=True)
    line.env.endings = [Ending.UNFIT]
    proceeded(begun(line))

    assert ([each.cause for each in line.row.failed], line.env.memory.validators.asked) == ([C.DOES_NOT_FIT], [])


def test_a_delivery_with_external_rules_is_judged_alone() -> None:
    """Its validations are started before its own run."""
    line = begun(ValidatedDataset.of())
    places = line.env.dependencies.places
    shared = replace(places, job=replace(places.job, batch=BatchLimits(10, 1 << 20, 300)))

    assert group_of(DeliveryTurn(replace(line.env.dependencies, places=shared), line.row)) == ""


def test_each_technology_is_a_validation_of_its_own() -> None:
    """Two technologies of one validator are started, asked and merged apart."""
    rule = replace(PLAN.external[0], check="amount2", technology="Other", rule=json.dumps({"id": "amount2"}))
    checks = (*PLAN.checks, replace(PLAN.checks[-1], id="amount2", rule="amount2"))
    plan: Plan = replace(PLAN, checks=checks, external=(*PLAN.external, rule))
    line = ValidatedDataset.of(lambda asked: answer_of(asked, result=results_of(asked)), registered=False)
    line.register(replace(SERVICE, technologies=("Probe", "Other")))
    line.env.publish("1.1.0", "active", plan)
    proceeded(begun(line))
    report = report_of(DeliveryTurn(line.env.dependencies, line.row))
    assert report is not None

    assert {name: version for name, version in report.result.engines.items() if name.startswith("external:")} == {
        "external:Other": "unknown",
        "external:Probe": "unknown",
    }
    assert [each.rules for each in line.env.memory.validators.started.values()] == [
        (rule.rule,),
        (PLAN.external[0].rule,),
    ]
    assert line.row.state is State.PUBLISHED


def test_a_replay_validates_again() -> None:
    """A FAILED delivery is judged by further attempts, with validations of their own."""
    line = ValidatedDataset.of(lambda asked: answer_of(asked, status="NOK")).settled()
    line.env.memory.validators.answer = answer_of
    run(replay(line.env.dependencies, line.row.id), line.env.memory.clock)
    line.settled()

    assert (line.row.state, line.row.attempt, len(line.env.memory.validators.started)) == (State.PUBLISHED, 4, 4)
    assert line.env.memory.registry.contract("_validator:probe").revision == 1
    assert line.upload.version.key == KEY


def test_a_person_neither_starts_nor_asks_validators() -> None:
    """A person has no right to them: a replay costs no attempt, and the next sweep does what the person may not."""
    line = ValidatedDataset.of(lambda asked: answer_of(asked, status="NOK")).settled()
    memory, dependencies = line.env.memory, line.env.dependencies
    before = (line.row.failed, list(memory.validators.started), list(memory.validators.asked))
    memory.validators.refusal = AccessDenied("AccessDenied")
    memory.validators.answer = lambda _: AccessDenied("AccessDenied")
    run(replay(dependencies, line.row.id), memory.clock)
    replayed = line.row
    again = (replayed.failed, list(memory.validators.started), list(memory.validators.asked))
    memory.validators.refusal = None
    memory.clock.sleep(360)
    run(sweep(dependencies), memory.clock)
    line.answer_jobs()
    validated, asked = line.row, len(memory.validators.asked)
    run(advance_decided(dependencies, validated), memory.clock)

    assert (again, replayed.state, replayed.attempt) == (before, State.SUBMITTING, 4)
    assert (line.row, validated.state, len(memory.validators.asked)) == (validated, State.VALIDATING, asked)
    memory.validators.answer = answer_of
    assert (line.settled().row.state, line.row.attempt) == (State.PUBLISHED, 4)


def test_a_replay_over_http_starts_no_validation() -> None:
    """The workload is only made due; the role of the API has no right to validators, either."""
    line = ValidatedDataset.of(lambda asked: answer_of(asked, status="NOK")).settled()
    run(judge_again(line.env.dependencies.without_lease(), line.row.id, WantedReplay("replay")), line.env.memory.clock)

    assert (line.row.state, len(line.env.memory.validators.started)) == (State.RECEIVED, 3)
