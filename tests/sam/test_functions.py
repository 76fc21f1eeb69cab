"""The built functions in Lambda's own emulator, as the built template configures them, against an AWS on this machine."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lakegate.aws.dynamodb_table import DynamoTable
from lakegate.base.json_codec import canonical
from lakegate.contract.logical_types import LogicalType
from lakegate.gate.delivery.delivery_row import workload_id
from lakegate.gate.registry.registry_rows import Publication, Route
from lakegate.gate.registry.registry_store import Registry
from lakegate.gate.table import TableName
from lakegate.plan.plan import Plan, PlanField
from lakegate.plan.result import Result
from tests.sam.conftest import Environment
from tests.sam.emulator import Emulator
from tests.sam.events import by_queue, landed, moved, scheduled

PLAN = Plan("orders", "1.0.0", "lines", (PlanField("a", "c0", LogicalType.INTEGER),), ())
TAKEN = {"batchItemFailures": []}
KEY = "in/orders/a.csv"


def publish(env: Environment) -> None:
    """A contract of one dataset, its keys below in/orders/."""
    env.deployed.s3.put_object(Bucket="lake", Key=f"plans/{PLAN.digest}.json", Body=canonical(PLAN))
    route = Route("landing", "in/orders/", "orders", "lines", 1, "1.0.0", "active", PLAN.digest)
    table = DynamoTable(env.deployed.dynamodb, {each: each.value for each in TableName})
    Registry(table, "landing").publish(Publication("orders", "1.0.0", "active", "doc", (route,)))


def submitted(env: Environment) -> tuple[str, Any]:
    """A routed object that intake took in: its workload, and the job run that was started for it."""
    publish(env)
    workload = workload_id("landing", KEY, env.deployed.land(KEY))
    assert env.intake.invoke(by_queue(landed(KEY))) == TAKEN
    (run,) = env.deployed.runs()
    return workload, run


def answer(env: Environment, workload: str, **changes: Any) -> None:
    """What the job writes last: an answer without a single row, which no contract accepts."""
    source = env.deployed.s3.list_object_versions(Bucket="landing")["Versions"][0]["VersionId"]
    result = replace(Result(workload, 1, PLAN.digest, source, 0), **changes)
    env.deployed.s3.put_object(Bucket="lake", Key=f"runs/{workload}/attempt=1/result.json", Body=canonical(result))


@pytest.mark.parametrize(
    "key", ["in/a.csv", "in/a b+c.csv", "in/100%.csv", "in/Zürich/[x]'\".csv", "in/../_a.csv", "in/" + "ä" * 500]
)
def test_a_key_without_a_route_is_quarantined_for_every_kind_of_event(env: Environment, key: str) -> None:
    """However a key is written, the object of that name is found, judged and quarantined, and leaves landing."""
    version = env.deployed.land(key)

    assert env.intake.invoke(by_queue(landed(key))) == TAKEN

    assert {workload_id("landing", key, version): "QUARANTINED"} == env.deployed.states()
    assert env.deployed.keys("landing") == []
    assert [name for name in env.deployed.keys("lake") if name.startswith("quarantine/_unrouted/ingest_date=")]


@pytest.mark.full  # tests/e2e/test_events.py has the same fault
def test_intake_is_idempotent(env: Environment) -> None:
    """The second event finds the claim."""
    env.deployed.land("in/a.csv")
    env.intake.invoke(by_queue(landed("in/a.csv"), landed("in/a.csv")))
    before = env.deployed.keys("lake")

    assert env.intake.invoke(by_queue(landed("in/a.csv"))) == TAKEN

    assert before == env.deployed.keys("lake")


def test_a_routed_object_is_staged_and_its_job_started_as_the_template_sets(env: Environment) -> None:
    """StartJobRun gets the job role, the entry point and the parameters of the stack."""
    workload, run = submitted(env)
    environment = env.intake.properties["Environment"]["Variables"]

    assert {workload: "VALIDATING"} == env.deployed.states()
    assert [f"runs/{workload}/attempt=1/request.json", f"staging/{workload}/part-00000.csv"] == [
        key for key in env.deployed.keys("lake") if workload in key
    ]
    assert (workload, environment["LAKEGATE_JOB_ROLE"]) == (run.name, run.execution_role_arn)
    assert {
        "entryPoint": "s3://lake/code/current/validate.py",
        "entryPointArguments": ["--request", f"s3://lake/runs/{workload}/attempt=1/request.json"],
        "sparkSubmitParameters": environment["LAKEGATE_JOB_PARAMETERS"]
        .replace("{executors}", "1")
        .replace("{disk}", "20"),
    } == run.job_driver["sparkSubmit"]


def test_completion_decides_by_the_result_and_clears_up(env: Environment) -> None:
    """The bundle judges: a result without rows is a rejection, its bytes move to quarantine, landing and staging empty."""
    workload, run = submitted(env)
    answer(env, workload)
    run.state = "SUCCESS"

    assert env.completion.invoke(by_queue(moved(run.id, env.deployed.application))) == TAKEN

    assert {workload: "QUARANTINED"} == env.deployed.states()
    assert env.deployed.keys("landing") == []
    assert {"plans", "quarantine", "runs"} == {key.split("/")[0] for key in env.deployed.keys("lake")}


def test_completion_believes_the_bucket_and_not_the_event(env: Environment) -> None:
    """An event with SUCCESS of a run that continues changes nothing."""
    workload, run = submitted(env)

    assert env.completion.invoke(by_queue(moved(run.id, env.deployed.application))) == TAKEN

    assert {workload: "VALIDATING"} == env.deployed.states()


def test_a_result_of_another_delivery_decides_nothing(env: Environment) -> None:
    """The attempt counts as lost, and the next one is started by the same call, after its back-off of seconds."""
    workload, run = submitted(env)
    answer(env, workload, source_version="another")
    run.state = "SUCCESS"

    assert env.completion.invoke(by_queue(moved(run.id, env.deployed.application))) == TAKEN

    request = f"s3://lake/runs/{workload}/attempt=2/request.json"
    (again,) = (each for each in env.deployed.runs() if each.id != run.id)
    assert {workload: "VALIDATING"} == env.deployed.states()
    assert again.job_driver["sparkSubmit"]["entryPointArguments"] == ["--request", request]


@pytest.mark.full  # tests/e2e/test_events.py has the same fault
def test_sweep_finds_what_no_event_announced(env: Environment) -> None:
    """A lost event costs time and nothing else."""
    version = env.deployed.land("in/a.csv")

    assert env.sweep.invoke(scheduled()) == {"looked_at": 1, "failures": 0}

    assert {workload_id("landing", "in/a.csv", version): "QUARANTINED"} == env.deployed.states()


def test_notify_puts_what_waits_on_the_bus_once(env: Environment) -> None:
    """A message becomes an event on the stack's own bus; once sent, it is pending no longer."""
    events, sqs = env.deployed.aws.client("events"), env.deployed.aws.client("sqs")
    queue = sqs.create_queue(QueueName="sent")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    events.put_rule(Name="all", EventBusName="lakegate", EventPattern='{"source": ["lakegate"]}')
    events.put_targets(Rule="all", EventBusName="lakegate", Targets=[{"Id": "q", "Arn": arn}])
    env.deployed.land("in/a.csv")
    env.intake.invoke(by_queue(landed("in/a.csv")))

    assert env.notify.invoke(scheduled()) == {"unsent": 0}
    assert env.notify.invoke(scheduled()) == {"unsent": 0}

    assert [json.loads(body)["detail-type"] for body in env.deployed.messages(queue)] == ["workload quarantined"]


def test_each_message_fails_alone(env: Environment) -> None:
    """What cannot be understood is failed by its own id; its neighbours are taken in."""
    env.deployed.land("in/a.csv")

    answered = env.intake.invoke(by_queue("no json", landed("in/a.csv"), moved("00f1", "00f2")))

    assert [each["itemIdentifier"] for each in answered["batchItemFailures"]] == ["m0", "m2"]
    assert list(env.deployed.states().values()) == ["QUARANTINED"]


def test_what_aws_refuses_is_failed_and_done_the_next_time(env: Environment) -> None:
    """While S3 refuses to copy, the message fails, so that SQS gives it again; sweep does not even need it."""
    env.deployed.land("in/a.csv")
    env.deployed.aws.fault = lambda request: "refuse" if "HTTP_X_AMZ_COPY_SOURCE" in request else ""

    answered = env.intake.invoke(by_queue(landed("in/a.csv")))
    env.deployed.aws.fault = None
    overdue(env)

    assert [each["itemIdentifier"] for each in answered["batchItemFailures"]] == ["m0"]
    assert env.sweep.invoke(scheduled()) == {"looked_at": 1, "failures": 0}
    assert list(env.deployed.states().values()) == ["QUARANTINED"]


@pytest.mark.full  # tests/e2e/test_killed_functions.py has the same fault
def test_a_function_that_is_killed_leaves_work_that_sweep_carries_on(env: Environment, tmp_path: Path) -> None:
    """Lambda kills a function at its time limit, between two effects; the next sweep ends what it began."""
    env.deployed.land("in/a.csv")
    env.deployed.aws.fault = lambda request: "hang" if "HTTP_X_AMZ_COPY_SOURCE" in request else ""
    short = Emulator(env.intake.properties | {"Timeout": 4}, env.intake.folder, tmp_path / "short.log")

    try:
        output = short.invoke(by_queue(landed("in/a.csv")))
    finally:
        short.stop()
    env.deployed.aws.fault = None
    overdue(env)

    assert "Task timed out after 4.00 seconds" in output
    assert env.sweep.invoke(scheduled()) == {"looked_at": 1, "failures": 0}
    assert list(env.deployed.states().values()) == ["QUARANTINED"]


def test_a_function_without_its_environment_reports_all_that_is_missing(env: Environment, tmp_path: Path) -> None:
    """A stack set up wrongly shows at the first call, by name, and no message is lost."""
    environment = {
        name: value
        for name, value in env.intake.properties["Environment"]["Variables"].items()
        if name not in {"LAKEGATE_LAKE", "LAKEGATE_JOB_ROLE"}
    }
    bare = Emulator(
        env.intake.properties | {"Environment": {"Variables": environment}},
        env.intake.folder,
        tmp_path / "bare.log",
    )

    try:
        answered = bare.invoke(by_queue(landed("in/a.csv")))
    finally:
        bare.stop()

    assert [each["itemIdentifier"] for each in answered["batchItemFailures"]] == ["m0"]
    assert "LAKEGATE_LAKE is missing; LAKEGATE_JOB_ROLE is missing" in bare.log.read_text()


def test_logs_are_lines_of_json_without_the_words_of_producers(env: Environment) -> None:
    """Each line is one object; metrics are among them; a key is masked."""
    env.deployed.land("in/Erika.Mustermann@example.com.csv")
    env.intake.invoke(by_queue(landed("in/Erika.Mustermann@example.com.csv")))

    lines = env.intake.lines()

    assert "Erika" not in env.intake.log.read_text()
    assert [line["message"] for line in lines if "message" in line] == ["taken"]
    assert [{name: line[name] for name in ("Messages", "Failed")} for line in lines if "_aws" in line] == [
        {"Messages": [1.0], "Failed": [0.0]}
    ]


def test_metrics_name_the_stack(env: Environment) -> None:
    """Stack and service are the dimensions that alarms look at: another stack of the account does not raise them."""
    env.sweep.invoke({})

    (metrics,) = [line for line in env.sweep.lines() if "_aws" in line]

    assert [each["Dimensions"] for each in metrics["_aws"]["CloudWatchMetrics"]] == [[["stack", "service"]]]
    assert (metrics["stack"], metrics["service"]) == ("lakegate", "sweep")


def overdue(env: Environment) -> None:
    """Let the lease of every open workload end."""
    for item in env.deployed.dynamodb.scan(TableName="workloads", ConsistentRead=True)["Items"]:
        if "at" in item and item["id"]["S"].startswith("workload#"):
            env.deployed.dynamodb.update_item(
                TableName="workloads",
                Key={"id": item["id"]},
                UpdateExpression="SET #at = :past",
                ExpressionAttributeNames={"#at": "at"},
                ExpressionAttributeValues={":past": {"S": "2000-01-01T00:00:00.000000Z"}},
            )
