"""Schedules of rules: cron's five fields and Quartz as EventBridge writes them, and what a plan makes of the rules."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakegate.contract.schedules import NICKNAMES, ScheduleError, of_cron, of_quartz, schedule, to_cron
from lakegate.diff.change_kinds import Bump
from lakegate.diff.compared_versions import read_version
from lakegate.diff.diff_contracts import compare
from lakegate.lints.linter import examine
from lakegate.plan.plan import Plan
from lakegate.plan.result import Result
from lakegate.rules.compile_plan import compile_plan
from lakegate.verdict.check_status import Status
from lakegate.verdict.verdict import judge

CONTRACT = """\
apiVersion: v3.1.0
kind: DataContract
id: shop
version: 1.0.0
status: active
name: Shop
schema:
  - name: orders
    logicalType: object
    properties:
      - {name: id, logicalType: string, required: true}
    quality:
      - {id: once, metric: duplicateValues, arguments: {properties: [id]}, mustBe: 0, SCHEDULED}
      - {id: some, metric: rowCount, mustBeGreaterThan: 0}
"""


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("0 6 * * *", "cron(0 6 * * ? *)"),
        ("*/15 8-18 1,15 jan-jun *", "cron(*/15 8-18 1,15 JAN-JUN ? *)"),
        ("0 6 * * mon-fri", "cron(0 6 ? * 2,3,4,5,6 *)"),
        ("0 6 * * 5-7", "cron(0 6 ? * 1,6,7 *)"),
        ("0 6 * * 0,7", "cron(0 6 ? * 1 *)"),
        ("0 6 * 2 */2", "cron(0 6 ? 2 1,3,5,7 *)"),
        ("0 6 * * 1/3", "cron(0 6 ? * 2,5 *)"),
        ("@hourly", "cron(0 * * * ? *)"),
        ("@weekly", "cron(0 0 ? * 1 *)"),
    ],
)
def test_five_fields_are_written_as_eventbridge_does(text: str, written: str) -> None:
    """Days of the week begin with Sunday as 1 there."""
    assert of_cron(text) == written
    assert schedule(written).next_after(datetime(2026, 1, 1, tzinfo=UTC)) is not None


@pytest.mark.parametrize("text", NICKNAMES)
def test_every_nickname_is_a_schedule(text: str) -> None:
    """Lint accepts them, so they are followed."""
    assert schedule(of_cron(text)).next_after(datetime(2026, 1, 1, tzinfo=UTC)) is not None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("0 6 * *", "not 4"),
        ("0 6 1 * 1", "not both"),
        ("0 6 * * 8", "out of range for day of week"),
        ("0 6 * * 5-2", "out of range for day of week"),
        ("0 6 * * */0", "out of range for day of week"),
        ("0 6 * * foo", "out of range for day of week"),
        ("0 6 * * mon-", "is no day of week"),
    ],
)
def test_what_cannot_be_followed_is_refused(text: str, problem: str) -> None:
    """With the reason."""
    with pytest.raises(ScheduleError, match=problem):
        of_cron(text)


@given(
    st.sets(st.sampled_from(range(0, 60, 5)), min_size=1, max_size=3),
    st.sets(st.integers(0, 23), min_size=1, max_size=3),
    st.sets(st.integers(0, 7), min_size=1, max_size=4),
    st.datetimes(datetime(2024, 1, 1), datetime(2032, 1, 1)),  # noqa: DTZ001 - the strategy wants no zone
)
@settings(max_examples=60, deadline=None)
def test_the_next_time_is_the_one_that_cron_means(
    minutes: set[int], hours: set[int], weekdays: set[int], at: datetime
) -> None:
    """Minute by minute, by Python's own weekdays: 0 and 7 are Sunday."""
    text = " ".join([",".join(map(str, minutes)), ",".join(map(str, hours)), "*", "*", ",".join(map(str, weekdays))])
    found = at.replace(second=0, microsecond=0, tzinfo=UTC) + timedelta(minutes=1)
    days = {each % 7 for each in weekdays}
    while not (found.minute in minutes and found.hour in hours and found.isoweekday() % 7 in days):
        found += timedelta(minutes=1)

    assert schedule(of_cron(text)).next_after(at.replace(tzinfo=UTC)) == found


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("0 0 6 * * ?", "cron(0 6 * * ? *)"),
        ("0 0/15 8-18 ? * mon-fri 2030", "cron(0/15 8-18 ? * MON-FRI 2030)"),
        ("0 0 6 ? * 6L", "cron(0 6 ? * 6L *)"),
    ],
)
def test_quartz_is_written_as_eventbridge_does(text: str, written: str) -> None:
    """The seconds are left out."""
    assert of_quartz(text) == written


@pytest.mark.parametrize(
    ("text", "written"),
    [("0 20 * * *", "cron(0 20 * * ? *)"), ("0 6 * * 1", "cron(0 6 ? * 2 *)"), ("0 0 6 ? * 1", "cron(0 6 ? * 1 *)")],
)
def test_five_fields_in_dcm_are_those_of_cron(text: str, written: str) -> None:
    """Table A.3's own example: Quartz has six at least. Monday is 1 there, and 2 in Quartz."""
    document = {
        "specVersion": "0.1.3",
        "kind": "DataContract",
        "id": "x-p-1.0.0",
        "name": "x",
        "version": "1.0.0",
        "producer": {"name": "p", "group": "g"},
        "access": {"eventType": "push", "protocol": "HTTP", "location": "/", "accessConfiguration": {}},
        "dataset": {"name": "d", "schema": [{"name": "n", "dataType": "int"}]},
        "quality": [{"id": "r", "name": "r", "type": "size", "parameter": 1, "scheduleCronExpression": text}],
    }
    contract = examine(json.dumps(document).encode()).contract
    assert contract is not None

    assert [each.schedule for each in compile_plan(contract, contract.datasets[0]).scheduled] == [written]


@pytest.mark.parametrize("text", ["0 6 * * *", "5/10 8-18 1,15 jan *", "0 6 * * 0,3", "@weekly", "0 6 * 2 mon-fri"])
def test_what_cron_has_is_written_back(text: str) -> None:
    """It means the same when it is read again."""
    assert of_cron(to_cron(of_cron(text))) == of_cron(text)


@pytest.mark.parametrize(
    "text", ["", "cron(0 6 L * ? *)", "cron(0 6 ? * 2#1 *)", "cron(0 6 1 1 ? 2030)", "rate(1 hour)"]
)
def test_what_cron_does_not_have_is_not_written(text: str) -> None:
    """Last days, numbered weekdays and years."""
    assert to_cron(text) == ""


@pytest.mark.parametrize(("text", "problem"), [("0 6 * * ?", "not 5"), ("30 0 6 * * ?", "0 as the second")])
def test_other_quartz_is_refused(text: str, problem: str) -> None:
    """With the reason."""
    with pytest.raises(ScheduleError, match=problem):
        of_quartz(text)


def plan_of(scheduled: str) -> Plan:
    contract = examine(CONTRACT.replace("SCHEDULED", scheduled).encode()).contract
    assert contract is not None
    return compile_plan(contract, contract.datasets[0])


def test_a_rule_with_a_schedule_is_skipped_with_deliveries() -> None:
    """It is named with its schedule, its check stands aside, and nothing else changes."""
    plan, plain = plan_of('scheduler: cron, schedule: "0 6 * * *"'), plan_of("dimension: uniqueness")
    (once,) = (each.check for each in plan.scheduled)
    result = Result("w", 1, plan.digest, "v", rows=0)
    outcome = next(each for each in judge(plan, result).outcomes if each.rule == "once")

    assert (outcome.status, outcome.message) == (Status.SKIP, "measured by schedule: cron(0 6 * * ? *)")
    assert (once, plain.scheduled) == (next(each for each in plain.checks if each.rule == "once"), ())
    assert replace(plan, checks=plain.checks, scheduled=()) == plain
    assert Plan.from_bytes(plan.to_bytes()) == plan


def test_a_schedule_that_is_not_followed_changes_nothing() -> None:
    """The rule is judged with each delivery, as lint warns."""
    assert plan_of("scheduler: airflow, schedule: nightly") == plan_of("dimension: uniqueness")


@pytest.mark.parametrize(("hours", "followed"), [(36, True), (120, False)])
def test_a_long_schedule_is_not_followed(hours: int, followed: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """The row of a line holds the schedules of its rules, so each has at most 200 characters; lint says it."""
    text = ",".join(str(each % 24) for each in range(hours))
    found = examine(CONTRACT.replace("SCHEDULED", f'scheduler: cron, schedule: "0 {text} * * *"').encode())
    problems = [each.message for each in found.warnings if each.code == "schedule-of-rule"]

    assert bool(plan_of(f'scheduler: cron, schedule: "0 {text} * * *"').scheduled) is followed
    assert ["at most 200 characters" in each for each in problems] == ([] if followed else [True])


def test_a_rule_that_cannot_be_measured_is_not_scheduled() -> None:
    """It is the same skip as without a schedule."""
    contract = CONTRACT.replace("SCHEDULED", 'scheduler: cron, schedule: "0 6 * * *"')
    text = contract.replace(
        "metric: duplicateValues, arguments: {properties: [id]}, mustBe: 0", "type: text, description: x"
    )
    found = examine(text.encode()).contract
    assert found is not None
    plan = compile_plan(found, found.datasets[0])

    assert plan.scheduled == ()
    assert "measured by schedule" not in str([each.skip for each in plan.checks])


def test_the_plan_of_a_run_has_the_checks_that_are_due() -> None:
    """Nothing of a delivery's policy, and no samples."""
    plan = plan_of('scheduler: cron, schedule: "0 6 * * *"')
    run = plan.of_schedules(["cron(0 6 * * ? *)"])

    assert [each.rule for each in run.checks] == ["once"]
    assert (run.policy.samples, run.policy.allow_empty, run.scheduled) == (False, True, ())
    assert plan.of_schedules(["cron(0 7 * * ? *)"]).checks == ()


def test_moving_a_rule_to_a_schedule_needs_a_major_version() -> None:
    """Deliveries do not keep it any more; another time of the schedule changes nothing that is accepted."""
    plain, daily, later = (
        read_version(CONTRACT.replace("SCHEDULED", each).encode())
        for each in (
            "dimension: uniqueness",
            'dimension: uniqueness, scheduler: cron, schedule: "0 6 * * *"',
            'dimension: uniqueness, scheduler: cron, schedule: "0 7 * * *"',
        )
    )
    (moved,) = (each for each in compare(plain, daily).changes if each.kind != "metadata")

    assert (moved.kind, moved.before, moved.after) == (
        "rule-changed",
        "no duplicates",
        "no duplicates, by schedule",
    )
    assert compare(plain, daily).bump is Bump.MAJOR
    assert [each.kind for each in compare(daily, later).changes] == ["metadata"]


def test_rules_with_schedules_are_compared_as_others_are() -> None:
    """What is stricter is stricter; a rule by schedule makes no rule about deliveries superfluous."""
    daily = 'scheduler: cron, schedule: "0 6 * * *"'
    strict = CONTRACT.replace("SCHEDULED", daily)
    loose = strict.replace("mustBe: 0, scheduler", "mustBeLessThan: 5, scheduler")
    both = strict + "      - {id: always, metric: duplicateValues, arguments: {properties: [id]}, mustBe: 0}\n"
    versions = [read_version(each.encode()) for each in (strict, loose, both)]

    assert [each.kind for each in compare(versions[1], versions[0]).changes] == ["rule-stricter"]
    assert [each.kind for each in compare(versions[2], versions[0]).changes] == ["rule-removed"]
