"""The built functions in Lambda's own emulator, as the built template says, against an AWS on this machine."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from contracts.codec import canonical
from contracts.plan import Plan, PlanField
from contracts.result import Result
from contracts.routes import Route
from contracts.types import LogicalType
from functions.adapters.dynamodb import Table
from functions.adapters.registry import DynamoRegistry
from functions.ports import Publication
from functions.workload import workload_id
from tests.sam.emulator import Emulator
from tests.sam.events import by_queue, generated, landed, moved, scheduled

if TYPE_CHECKING:
    from pathlib import Path

    from tests.sam.conftest import World

PLAN = Plan("orders", "1.0.0", "lines", (PlanField("a", "c0", LogicalType.INTEGER),), ())
TAKEN = {"batchItemFailures": []}
KEY = "in/orders/a.csv"


def publish(world: World) -> None:
    """A contract of one dataset, its keys below in/orders/."""
    world.deployed.s3.put_object(Bucket="lake", Key=f"plans/{PLAN.digest}.json", Body=canonical(PLAN))
    route = Route("landing", "in/orders/", "orders", "lines", 1, "1.0.0", "active", PLAN.digest)
    table = Table(world.deployed.dynamodb, "registry")
    DynamoRegistry(table, "landing").publish(Publication("orders", "1.0.0", "active", "doc", (route,)))


def submitted(world: World) -> tuple[str, Any]:
    """A routed object that intake took in: its workload, and the job run that was started for it."""
    publish(world)
    workload = workload_id("landing", KEY, world.deployed.land(KEY))
    assert world.intake.invoke(by_queue(landed(KEY))) == TAKEN
    (run,) = world.deployed.runs()
    return workload, run


def answer(world: World, workload: str, **changes: Any) -> None:
    """What the job writes last: an answer without a single row, which no contract accepts."""
    source = world.deployed.s3.list_object_versions(Bucket="landing")["Versions"][0]["VersionId"]
    result = replace(Result(workload, 1, PLAN.digest, source, 0), **changes)
    world.deployed.s3.put_object(Bucket="lake", Key=f"runs/{workload}/attempt=1/result.json", Body=canonical(result))


@pytest.mark.parametrize(
    "key", ["in/a.csv", "in/a b+c.csv", "in/100%.csv", "in/Zürich/[x]'\".csv", "in/../_a.csv", "in/" + "ä" * 500]
)
def test_a_key_without_a_route_ends_in_quarantine_whoever_tells_of_it(world: World, key: str) -> None:
    """However a key is written, the object of that name is found, judged and quarantined, and leaves landing."""
    version = world.deployed.land(key)

    assert world.intake.invoke(by_queue(landed(key))) == TAKEN

    assert {workload_id("landing", key, version): "QUARANTINED"} == world.deployed.states()
    assert world.deployed.keys("landing") == []
    assert [name for name in world.deployed.keys("lake") if name.startswith("quarantine/_unrouted/ingest_date=")]


def test_intake_reads_the_event_that_sam_generates(world: World) -> None:
    """A direct notification, whose key is encoded another way, names the same object."""
    key = "in/a b+c.csv"
    version = world.deployed.land(key)

    assert world.intake.invoke(by_queue(generated("s3", "put", "--bucket", "landing", "--key", key))) == TAKEN

    assert {workload_id("landing", key, version): "QUARANTINED"} == world.deployed.states()


def test_an_event_told_twice_is_done_once(world: World) -> None:
    """The second saying finds the claim."""
    world.deployed.land("in/a.csv")
    world.intake.invoke(by_queue(landed("in/a.csv"), landed("in/a.csv")))
    before = world.deployed.keys("lake")

    assert world.intake.invoke(by_queue(landed("in/a.csv"))) == TAKEN

    assert before == world.deployed.keys("lake")


def test_a_routed_object_is_staged_and_its_job_started_as_the_template_says(world: World) -> None:
    """StartJobRun is told the job role, the entry point and the parameters of the stack."""
    workload, run = submitted(world)
    environment = world.intake.properties["Environment"]["Variables"]

    assert {workload: "VALIDATING"} == world.deployed.states()
    assert [f"runs/{workload}/attempt=1/request.json", f"staging/{workload}/part-00000.csv"] == [
        key for key in world.deployed.keys("lake") if workload in key
    ]
    assert (workload, environment["LAKEGATE_JOB_ROLE"]) == (run.name, run.execution_role_arn)
    assert {
        "entryPoint": "s3://lake/code/current/validate.py",
        "entryPointArguments": ["--request", f"s3://lake/runs/{workload}/attempt=1/request.json"],
        "sparkSubmitParameters": environment["LAKEGATE_JOB_PARAMETERS"],
    } == run.job_driver["sparkSubmit"]


def test_completion_decides_by_the_result_and_clears_up(world: World) -> None:
    """The bundle judges: a result without rows is a rejection, its bytes move to quarantine, landing and staging empty."""
    workload, run = submitted(world)
    answer(world, workload)
    run.state = "SUCCESS"

    assert world.completion.invoke(by_queue(moved(run.id, world.deployed.application))) == TAKEN

    assert {workload: "QUARANTINED"} == world.deployed.states()
    assert world.deployed.keys("landing") == []
    assert {"plans", "quarantine", "runs"} == {key.split("/")[0] for key in world.deployed.keys("lake")}


def test_completion_believes_the_bucket_and_not_the_event(world: World) -> None:
    """An event that says SUCCESS of a run that goes on changes nothing."""
    workload, run = submitted(world)

    assert world.completion.invoke(by_queue(moved(run.id, world.deployed.application))) == TAKEN

    assert {workload: "VALIDATING"} == world.deployed.states()


def test_a_result_of_another_delivery_decides_nothing(world: World) -> None:
    """The attempt counts as lost, and the next one is started by the same call, after its back-off of seconds."""
    workload, run = submitted(world)
    answer(world, workload, source_version="another")
    run.state = "SUCCESS"

    assert world.completion.invoke(by_queue(moved(run.id, world.deployed.application))) == TAKEN

    request = f"s3://lake/runs/{workload}/attempt=2/request.json"
    (again,) = (each for each in world.deployed.runs() if each.id != run.id)
    assert {workload: "VALIDATING"} == world.deployed.states()
    assert again.job_driver["sparkSubmit"]["entryPointArguments"] == ["--request", request]


def test_sweep_finds_what_no_event_announced(world: World) -> None:
    """A lost event costs time and nothing else."""
    version = world.deployed.land("in/a.csv")

    assert world.sweep.invoke(scheduled()) == {"looked_at": 1, "troubles": 0}

    assert {workload_id("landing", "in/a.csv", version): "QUARANTINED"} == world.deployed.states()


def test_notify_puts_what_waits_on_the_bus_once(world: World) -> None:
    """What happened is told by an event on the stack's own bus; told, it waits no longer."""
    events, sqs = world.deployed.aws.client("events"), world.deployed.aws.client("sqs")
    queue = sqs.create_queue(QueueName="told")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    events.put_rule(Name="all", EventBusName="lakegate", EventPattern='{"source": ["lakegate"]}')
    events.put_targets(Rule="all", EventBusName="lakegate", Targets=[{"Id": "q", "Arn": arn}])
    world.deployed.land("in/a.csv")
    world.intake.invoke(by_queue(landed("in/a.csv")))

    assert world.notify.invoke(scheduled()) == {"unsent": 0}
    assert world.notify.invoke(scheduled()) == {"unsent": 0}

    assert [json.loads(body)["detail-type"] for body in world.deployed.messages(queue)] == ["workload quarantined"]


def test_each_message_fails_alone(world: World) -> None:
    """What cannot be understood is failed by its own id; its neighbours are taken in."""
    world.deployed.land("in/a.csv")

    answered = world.intake.invoke(by_queue("no json", landed("in/a.csv"), moved("00f1", "00f2")))

    assert [each["itemIdentifier"] for each in answered["batchItemFailures"]] == ["m0", "m2"]
    assert list(world.deployed.states().values()) == ["QUARANTINED"]


def test_what_aws_refuses_is_failed_and_done_the_next_time(world: World) -> None:
    """While S3 refuses to copy, the message fails, so that SQS gives it again; sweep does not even need it."""
    world.deployed.land("in/a.csv")
    world.deployed.aws.fault = lambda request: "refuse" if "HTTP_X_AMZ_COPY_SOURCE" in request else ""

    answered = world.intake.invoke(by_queue(landed("in/a.csv")))
    world.deployed.aws.fault = None
    overdue(world)

    assert [each["itemIdentifier"] for each in answered["batchItemFailures"]] == ["m0"]
    assert world.sweep.invoke(scheduled()) == {"looked_at": 1, "troubles": 0}
    assert list(world.deployed.states().values()) == ["QUARANTINED"]


def test_a_function_that_is_killed_leaves_work_that_sweep_carries_on(world: World, tmp_path: Path) -> None:
    """Lambda kills a function at its time limit, between two effects; the next sweep ends what it began."""
    world.deployed.land("in/a.csv")
    world.deployed.aws.fault = lambda request: "hang" if "HTTP_X_AMZ_COPY_SOURCE" in request else ""
    short = Emulator(world.intake.properties | {"Timeout": 4}, world.intake.folder, tmp_path / "short.log")

    try:
        told = short.invoke(by_queue(landed("in/a.csv")))
    finally:
        short.stop()
    world.deployed.aws.fault = None
    overdue(world)

    assert "Task timed out after 4.00 seconds" in told
    assert world.sweep.invoke(scheduled()) == {"looked_at": 1, "troubles": 0}
    assert list(world.deployed.states().values()) == ["QUARANTINED"]


def test_a_function_without_its_environment_says_all_that_is_missing(world: World, tmp_path: Path) -> None:
    """A stack set up wrongly shows at the first call, by name, and no message is lost."""
    environment = {
        name: value
        for name, value in world.intake.properties["Environment"]["Variables"].items()
        if name not in {"LAKEGATE_LAKE", "LAKEGATE_JOB_ROLE"}
    }
    bare = Emulator(
        world.intake.properties | {"Environment": {"Variables": environment}},
        world.intake.folder,
        tmp_path / "bare.log",
    )

    try:
        answered = bare.invoke(by_queue(landed("in/a.csv")))
    finally:
        bare.stop()

    assert [each["itemIdentifier"] for each in answered["batchItemFailures"]] == ["m0"]
    assert "LAKEGATE_LAKE is missing; LAKEGATE_JOB_ROLE is missing" in bare.log.read_text()


def test_logs_are_lines_of_json_without_the_words_of_producers(world: World) -> None:
    """Each line is one object; metrics are among them; a key is masked."""
    world.deployed.land("in/Erika.Mustermann@example.com.csv")
    world.intake.invoke(by_queue(landed("in/Erika.Mustermann@example.com.csv")))

    lines = world.intake.lines()

    assert "Erika" not in world.intake.log.read_text()
    assert [line["message"] for line in lines if "message" in line] == ["taken"]
    assert [{name: line[name] for name in ("Messages", "Failed")} for line in lines if "_aws" in line] == [
        {"Messages": [1.0], "Failed": [0.0]}
    ]


def overdue(world: World) -> None:
    """Let the lease of every open workload end."""
    for item in world.deployed.dynamodb.scan(TableName="workloads")["Items"]:
        if "at" in item and item["id"]["S"].startswith("workload#"):
            world.deployed.dynamodb.update_item(
                TableName="workloads",
                Key={"id": item["id"]},
                UpdateExpression="SET #at = :past",
                ExpressionAttributeNames={"#at": "at"},
                ExpressionAttributeValues={":past": {"S": "2000-01-01T00:00:00.000000Z"}},
            )
