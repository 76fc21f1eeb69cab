"""`lakegate doctor`: each cause is injected alone, and is found alone, with its remedy; what cannot be read is reported."""

from __future__ import annotations

import json
import re
import threading
from typing import Any

import pytest

from lakegate.features.doctor import doctor_command
from lakegate.features.doctor.doctor_command import PROBES
from lakegate.features.doctor.examination import CAUSES, CauseFinding, Level, Probe
from tests.unit.features.doctor import causes_of_deliveries, causes_of_stack
from tests.unit.features.doctor.causes_of_stack import CONFIGURATION, GATEWAY, STACK, Case, private
from tests.unit.features.doctor.page import PAGE, generated
from tests.unit.features.doctor.stack_in_order import World

CASES = (*causes_of_stack.CASES, *causes_of_deliveries.CASES)
FIRST = {each.cause: each for each in reversed(CASES)}
"""Of each cause the case that runs per commit."""
LOGS = "please check complete logs in configured logging destination"
LOGGED = f"Job failed, {LOGS}."
PATIENT = ("--timeout", "60")
"""The tests' machine may be busy: the bound itself has a test of its own."""


def examined(world: World, *words: str) -> tuple[int, dict[str, Any]]:
    """Exit code and document."""
    result = world.lakegate("doctor", *words, *PATIENT, "--json")
    assert result.stdout, result.exception
    return result.exit_code, json.loads(result.stdout)


def wait(event: threading.Event) -> list[CauseFinding]:
    event.wait()
    return []


def test_a_stack_in_order_has_no_cause(world: World) -> None:
    """Every probe looks, and none finds anything."""
    code, document = examined(world)

    assert (code, document["findings"], document["unknown"]) == (0, [], [])
    assert (document["account"], document["region"], document["probes"]) == ("123456789012", "us-east-1", len(PROBES))
    assert world.lakegate.ok("doctor", *PATIENT).endswith("No cause was found.\n")


def test_a_stack_that_signs_has_no_cause(world: World) -> None:
    """The policy allows to sign by one algorithm: the simulator of policies is asked about that one."""
    causes_of_stack.setting("SIGNING_KEY", causes_of_stack.SIGNING_KEY)(world)
    code, document = examined(world)

    assert (code, document["findings"], document["unknown"]) == (0, [], [])


@pytest.mark.parametrize(
    "case",
    [pytest.param(each, marks=() if each is FIRST[each.cause] else pytest.mark.full) for each in CASES],
    ids=lambda each: f"{each.cause} {each.name}".strip(),
)
def test_an_injected_cause_is_found_with_its_remedy(world: World, case: Case) -> None:
    """The cause that was injected is the only one that is found, and all other probes can still look."""
    case.inject(world)
    code, document = examined(world, *case.words)
    cause = CAUSES[case.cause]

    assert {each["cause"] for each in document["findings"]} == {case.cause}, document["unknown"]
    assert {each["probe"] for each in document["unknown"]} == set(case.blind), document["unknown"]
    assert all(case.remedy in each["remedy"] for each in document["findings"])
    assert {each["level"] for each in document["findings"]} == {cause.level}
    assert code == (1 if cause.level is Level.FAULT else 0 if not document["unknown"] else 3)


@pytest.mark.parametrize(
    ("details", "shown"),
    [
        (causes_of_deliveries.SETTINGS_REFUSED, "between spark.dynamicAllocation.minExecutor 1 and spark.dyn"),
        (f"Job failed, {LOGS}. ExitCode: 1. Last few exceptions: ValueError: secret", f"({LOGGED} ExitCode: 1)"),
        ("secret", "no cause that is known\n"),
    ],
)
def test_of_the_details_of_a_run_only_what_emr_writes_is_shown(world: World, details: str, shown: str) -> None:
    """A text with fixed words and numbers; what a program wrote may repeat values of the data."""
    causes_of_deliveries.failed(details=details)(world)
    printed = world.lakegate("doctor", *PATIENT).stdout

    assert shown in printed
    assert "secret" not in printed


def test_every_cause_is_injected() -> None:
    """No row of the table is without a test, and no test without a row."""
    assert {each.cause for each in CASES} == set(CAUSES)


def test_causes_have_a_text_and_a_remedy_for_people(world: World) -> None:
    """On standard output, with the workloads that a cause holds up, and without control characters of keys."""
    world.ahead = causes_of_deliveries.LATER
    world.lakegate.clients["s3"].put_object(Bucket="lakegate-landing", Key="orders/\u202ex", Body=b"1")
    result = world.lakegate("doctor", *PATIENT)

    assert result.exit_code == 1
    assert "\u202e" not in result.stdout
    assert "fault   not-taken-in\n        orders/\\u202ex landed 30 minutes ago and was not taken in\n" in result.stdout
    assert "\n        do: remove the causes that are reported for events, intake and sweep" in result.stdout
    assert "\n        workloads: " in result.stdout


def test_what_was_deleted_by_hand_is_created_again_by_one_command() -> None:
    """A change set by hand would give each parameter that it does not name the default of the template."""
    repaired = {code for code, each in CAUSES.items() if "lakegate stack repair --stack {stack}" in each.remedy}

    assert {"rule-missing", "target-missing", "queue-missing", "function-missing", "bucket-events-off"} <= repaired
    assert not [code for code, each in CAUSES.items() if re.search("change-set|bucket-notification", each.remedy)]


def test_workloads_of_one_cause_are_listed_together(world: World) -> None:
    """Twelve deliveries with one cause are one entry, which counts those that it does not list."""
    for number in range(12):
        body = f"id,amount\na{number},1\n".encode()
        workload = world.lakegate.upload(name=f"{number}.csv", body=body)
        world.lakegate.intake(f"orders/{number}.csv")
        world.lakegate.fail(workload)
        world.lakegate.overwrite(workload, lambda row: row.pop("run"))
    printed = world.lakegate("doctor", *PATIENT).stdout

    assert printed.count("run-failed") == 1
    assert printed.count(", ") >= 10
    assert " and 2 more\n" in printed


def test_a_named_delivery_is_described(world: World) -> None:
    """The state of the delivery is shown, and a delivery that moves has no cause."""
    workload = causes_of_deliveries.delivered(world)
    world.run("RUNNING")
    result = world.lakegate("doctor", "orders/day.csv", *PATIENT)
    document = examined(world, workload)[1]

    assert (result.exit_code, result.stdout.split("\n")[1]) == (
        0,
        f"workload {workload[:12]}, orders/day.csv: validating: the job is reading and measuring",
    )
    assert (document["workload"], document["state"], document["findings"]) == (workload, "VALIDATING", [])


def test_a_delivery_with_a_verdict_has_no_cause(world: World) -> None:
    """Rejected by its contract, or published: nothing is stuck."""
    good = world.lakegate.delivered()
    bad = world.lakegate.delivered(1, name="bad.csv", body=b"id,amount\n,1\nb,2\nc,3\nd,5\n")

    assert examined(world, good)[1]["findings"] == examined(world, bad)[1]["findings"] == []


def test_a_delivery_that_waits_for_an_answer_has_time(world: World) -> None:
    """Nobody is warned before its last day."""
    causes_of_deliveries.waiting(world, 30)

    assert examined(world)[1]["findings"] == []


def test_a_stack_without_anchors_and_pulls_is_in_order(world: World) -> None:
    """Their functions and schedules exist by a parameter."""
    listed = world.usual("cloudformation", "list_stack_resources")

    def without(request: dict[str, Any]) -> dict[str, Any]:
        page = listed(request)
        kept = [
            each
            for each in page["StackResourceSummaries"]
            if not each["LogicalResourceId"].startswith(("Anchor", "Pull"))
        ]
        return page | {"StackResourceSummaries": kept}

    world.say("cloudformation", "list_stack_resources", without)
    world.refuse_only("scheduler", "get_schedule", "the-PullEvery", "ResourceNotFoundException")

    assert examined(world)[1]["findings"] == []


def test_what_the_stack_ignores_is_not_stuck(world: World) -> None:
    """Neither keys beside the data, nor keys without a route where the stack ignores those."""
    causes_of_deliveries.unrouted_and_ignored(world)
    world.lakegate.clients["s3"].put_object(Bucket="lakegate-landing", Key="orders/_SUCCESS", Body=b"")
    world.ahead = causes_of_deliveries.LATER

    assert examined(world)[1]["findings"] == []


def test_a_right_that_the_operator_lacks_is_reported(world: World) -> None:
    """The other probes still look; the exit code shows that something is unknown."""
    world.refuse("iam", "simulate_principal_policy", "AccessDenied", 403)
    world.refuse("sqs", "get_queue_attributes", "AccessDenied", 403)
    code, document = examined(world)

    assert code == 3
    assert document["unknown"] == [
        {"probe": "queues", "reason": "these credentials lack a right: sqs:GetQueueAttributes"},
        {
            "probe": "queue-ages",
            "reason": "these credentials lack a right: cloudwatch:GetMetricData, sqs:GetQueueAttributes",
        },
        {
            "probe": "rights",
            "reason": "these credentials lack a right: iam:SimulatePrincipalPolicy, lambda:GetFunctionConfiguration",
        },
    ]
    assert "unknown queues: these credentials lack a right" in world.lakegate("doctor", *PATIENT).stdout


def test_without_the_right_to_find_the_stack_there_is_no_examination(world: World) -> None:
    """One sentence that names the right."""
    world.refuse(*STACK, "AccessDenied", 403)

    assert "cloudformation:DescribeStacks" in str(world.lakegate("doctor").exception)


def test_a_probe_that_hangs_does_not_hold_up_the_others(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the time limit it is unknown; what the others found is reported."""
    never = threading.Event()
    hanging = Probe("hanging", ("x:Y",), lambda _: wait(never))
    monkeypatch.setattr(doctor_command, "PROBES", (*(each for each in PROBES if each.name == "stack"), hanging))
    result = world.lakegate("doctor", "--timeout", "0.5", "--json")
    never.set()

    assert result.exit_code == 3
    assert json.loads(result.stdout)["unknown"] == [{"probe": "hanging", "reason": "no response within 0.5 seconds"}]


@pytest.mark.parametrize(
    ("operation", "code", "reason"),
    [
        (("events", "describe_rule"), "InternalException", "AWS refused: DescribeRule: InternalException"),
        (("logs", "filter_log_events"), "ResourceNotFoundException", "what it reads is not there (FilterLogEvents: "),
    ],
)
def test_a_refusal_that_is_no_cause_is_reported(
    world: World, operation: tuple[str, str], code: str, reason: str
) -> None:
    """The probe's answer is unknown, never "in order"."""
    world.refuse(*operation, code)
    exit_code, document = examined(world)

    assert exit_code == 3
    assert [each["reason"].startswith(reason) for each in document["unknown"]] == [True]


def test_a_vpc_with_a_way_out_needs_no_endpoints(world: World) -> None:
    """A NAT gateway is enough."""
    private(world, route=GATEWAY)

    assert examined(world)[1]["findings"] == []


def test_a_job_in_a_vpc_needs_an_endpoint_for_its_data(world: World) -> None:
    """The application's own subnets are examined as well."""
    private(world, "dynamodb", "emr-serverless", "events", "s3")
    world.say("emr-serverless", "get_application", world.application(networkConfiguration={"subnetIds": ["s-1"]}))

    assert examined(world)[1]["findings"] == []


def test_two_probes_ask_a_question_once(world: World) -> None:
    """Answers are kept for one examination."""
    asked = []
    usual = world.usual(*CONFIGURATION)
    world.say(*CONFIGURATION, lambda request: asked.append(request["FunctionName"]) or usual(request))
    examined(world)

    assert sorted(asked) == sorted(set(asked))


def test_probes_only_read() -> None:
    """Every right that a probe needs is one to read."""
    reading = ("Get", "BatchGet", "List", "Describe", "Query", "Scan", "Filter", "Simulate")
    rights = {right for probe in PROBES for right in probe.rights}

    assert [right for right in rights if not right.partition(":")[2].startswith(reading)] == []


def test_the_page_has_every_cause_and_every_right() -> None:
    """docs/doctor.md is what `python -m tests.unit.features.doctor.page` writes."""
    assert PAGE.read_text() == generated(PAGE.read_text())


def test_a_local_stack_is_not_warned_of_what_has_no_effect_there(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables without protection and recovery, and alarms that nobody hears, are warnings in AWS alone."""
    described, backups = world.usual("dynamodb", "describe_table"), {"PointInTimeRecoveryStatus": "DISABLED"}
    world.say(
        "dynamodb",
        "describe_table",
        lambda request: {"Table": described(request)["Table"] | {"DeletionProtectionEnabled": False}},
    )
    world.say(
        "dynamodb",
        "describe_continuous_backups",
        lambda _: {"ContinuousBackupsDescription": {"PointInTimeRecoveryDescription": backups}},
    )
    world.say("sns", "list_subscriptions_by_topic", lambda _: {"Subscriptions": []})
    of_aws = world.lakegate("doctor", *PATIENT).stdout
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:4566")
    local = world.lakegate("doctor", *PATIENT).stdout

    causes = ("table-unprotected", "recovery-off", "alarms-unheard")
    assert [(cause in of_aws, cause in local) for cause in causes] == [(True, False)] * 3
    assert "fault" not in local


def test_the_embedded_aws_is_asked_for_what_it_can_answer(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has no quotas, states no status of an index, and filters no log lines by several words."""
    described = world.usual("dynamodb", "describe_table")

    def without_status(request: dict[str, Any]) -> Any:
        answer = described(request)
        for each in answer["Table"].get("GlobalSecondaryIndexes", ()):
            each.pop("IndexStatus", None)
        return answer

    asked: list[dict[str, Any]] = []
    lines = world.usual("logs", "filter_log_events")
    world.say("dynamodb", "describe_table", without_status)
    world.say("logs", "filter_log_events", lambda request: asked.append(request) or lines(request))  # type: ignore[func-returns-value]
    world.refuse("service-quotas", "list_service_quotas", "UnknownService", 404)
    elsewhere = world.lakegate("doctor", *PATIENT)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:4566")
    asked.clear()
    here = world.lakegate("doctor", *PATIENT)

    assert (elsewhere.exit_code, here.exit_code) == (3, 0), here.output
    assert {"filterPattern" in each for each in asked} == {False}
