"""The judge function on the embedded AWS, and the other functions that a stack has by its parameters."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import suppress
from hashlib import sha256
from typing import Any
from urllib.parse import urlencode

import pytest
from botocore.exceptions import ClientError

from infra.samples.demo import PARTNER
from lakegate.aws.clients import client
from lakegate.aws.open_stack import ACCOUNT
from lakegate.base.extension_points import ROOT
from lakegate.features.pull.named_objects import NamedObject, named_objects
from lakegate.features.pull.pull_task import run_now
from lakegate.gate.datasets.dataset_names import published_datasets
from lakegate.gate.delivery.delivery_row import FailureCause, Workload
from lakegate.gate.delivery.protocol import State
from lakegate.gate.effects import run
from lakegate.gate.registry.publish_contract import compile_document, publish, referred_of
from lakegate.gate.registry.routes import add_route
from tests.e2e.deployed import Deployed, until
from tests.e2e.probe_service import probing
from tests.e2e.running import lakegate
from tests.e2e.test_api import answered
from tests.fakes.receiver import certificate, receiving
from tests.reference.sampling import FULL
from tests.unit.features.pull.test_pull_sources import answer

ROWS = b"id,name\n1,abc\n2,x\n3,def\n"
"""The second record breaks the contract of `rows/`, which keeps bad records apart."""


def engines(stack: Deployed, row: Workload, attempt: int) -> set[str]:
    """The engines that an attempt names in its result."""
    return set(json.loads(stack.body(f"runs/{row.id}/attempt={attempt}/result.json"))["engines"])


def test_small_deliveries_are_judged_without_a_job_run(stack: Deployed) -> None:
    """Several at once: each is published by its first attempt, an invocation, once."""
    landed = [stack.upload(stack.fresh()) for _ in range(5)]
    rows = [stack.finished(each) for each in landed]

    assert [(row.state, row.attempt, row.run, row.failed) for row in rows] == [
        (State.PUBLISHED, 1, f"lambda/{row.id}/1", ()) for row in rows
    ]
    assert [(len(stack.destinations(row)), stack.blocks(row)) for row in rows] == [(1, 1)] * 5
    assert [stack.runs(each) for each in landed] == [[]] * 5
    assert engines(stack, rows[0], 1) == {"duckdb", "pyarrow"}


def test_the_smoke_test_passes(stack: Deployed) -> None:
    """On a stack that is in order, whose function judges its files; nightly, a second run finds what the first one published."""
    assert stack.state.endpoint
    for _ in range(2 if FULL else 1):
        command = [sys.executable, "-m", "lakegate.cli.main", "stack", "smoke", "--local", "--json"]
        ended = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)  # noqa: S603 - our own command

        assert ended.returncode == 0, ended.stderr
        steps = json.loads(ended.stdout)["steps"]
        assert [each.partition(":")[0] for each in steps[1:5]] == ["good", "bad", "header", "duplicate"]
        assert steps[5:7] == [
            "the ledger and its objects are as recorded",
            "what was accepted is read as it was uploaded",
        ]
        assert [line[8:].strip() for line in ended.stderr.splitlines()] == steps


def test_rows_that_are_kept_apart_are_written_by_spark(stack: Deployed) -> None:
    """onReject: rows: the function answers that it does not fit; Spark follows, and the attempt costs none of the round's.

    The good rows are in accepted/, the bad ones in quarantine/ with their reasons, in one block.
    """
    row = stack.finished(stack.upload(ROWS, "rows/day.csv"))
    accepted, rejected = (stack.body(key) for key in sorted(stack.destinations(row)))

    assert (row.state, row.attempt, row.limit) == (State.PUBLISHED, 2, 4)
    assert [each.cause for each in row.failed] == [FailureCause.DOES_NOT_FIT]
    assert "spark" in engines(stack, row, 2)
    assert row.decision is not None
    assert row.decision.verdict == "accepted_with_warnings"
    assert accepted == b"id,name\n1,abc\n3,def\n"
    assert rejected.splitlines()[0] == b"_reasons,id,name"
    assert rejected.splitlines()[1].endswith(b",2,x")
    assert stack.blocks(row) == 1


def test_a_larger_delivery_is_sparks_from_the_start(stack: Deployed) -> None:
    """Its first attempt is a job run."""
    landed = stack.upload(stack.larger())
    row = stack.finished(landed)

    assert (row.state, row.attempt, [each["id"] for each in stack.runs(landed)]) == (State.PUBLISHED, 1, [row.run])


def test_an_invocation_that_fails_is_followed_by_spark(stack: Deployed) -> None:
    """Lambda reports the failure to the queue of completion: the next attempt follows within seconds, without a sweep."""
    name = stack.resources["JudgeFunction"]
    settings = client("lambda").get_function_configuration(FunctionName=name)
    client("lambda").update_function_configuration(FunctionName=name, Handler="lakegate.job.judge_function.absent")
    try:
        row = stack.finished(stack.upload(stack.fresh()))
    finally:
        client("lambda").update_function_configuration(FunctionName=name, Handler=settings["Handler"])

    assert (row.state, row.attempt, row.limit) == (State.PUBLISHED, 2, 3)
    assert [each.cause for each in row.failed] == [FailureCause.NO_ANSWER]


def test_rules_of_another_manager_are_measured(stack: Deployed) -> None:
    """DCM's Validator API over an accepted delivery, and over one that is rejected: no workload, no block, the same data.

    What cannot be read ends as failed.
    """
    good, bad = stack.finished(stack.upload(stack.fresh())), stack.finished(stack.upload(b"id,name\n1,a\n,long\n"))
    rules = [
        {"id": "rows", "ruleType": "size", "parameter": 3, "severity": {"warn": {"tolerance": 0.1}}},
        {"id": "named", "ruleType": "complete", "columns": ["id"], "parameter": 1, "dimension": "completeness"},
    ]
    before = [stack.blocks(row) for row in (good, bad)]
    send = ("-H", "Content-Type: application/json", "-d")

    def validated(name: str, path: str) -> Any:
        body = {"workloadId": name, "validations": rules, "access": {"path": path}}
        started = [answered(stack, "/v1/validation/start", *send, json.dumps(body)) for _ in range(2)]
        assert [each.get("status") for each in started] == ["OK", "OK"], started
        seen = lambda: (found := answered(stack, f"/v1/validation/{name}"))["status"] != "Running" and found  # noqa: E731 - waited for
        return until(f"{name} is validated", seen)

    answers = [validated("of-good", good.id), validated("of-bad", bad.id)]
    reported = [[(each["id"], each["metric"], each["success"]) for each in one["result"]] for one in answers]

    assert [each["status"] for each in answers] == ["OK", "OK"]
    assert reported == [[("rows", 3, "pass"), ("named", 1, "pass")], [("rows", 2, "warn"), ("named", 0.5, "fail")]]
    assert [stack.blocks(row) for row in (good, bad)] == before
    assert answered(stack, "/v1/validation/start", *send, json.dumps({})).get("status") == 400


def drift(stack: Deployed) -> dict[str, int]:
    """What the deployed drift function answers to its schedule."""
    answer = client("lambda").invoke(FunctionName=stack.resources["DriftFunction"], Payload=b"{}")
    counts: dict[str, int] = json.loads(answer["Payload"].read())
    assert "FunctionError" not in answer, counts
    return counts


def test_drift_is_found_by_the_function_and_by_the_command(stack: Deployed) -> None:
    """An accepted object that somebody replaced by one without a field: both find it, and nothing before."""
    row = stack.finished(stack.upload(stack.fresh()))
    (key,) = stack.destinations(row)
    before = drift(stack)
    place = {"Bucket": stack.dependencies.places.lake, "Key": key}
    replaced = client("s3").put_object(**place, Body=b"id\n1\n")
    after = drift(stack)
    command = lakegate("drift", "e2e-shop/sales_v1", "--local", "--json")
    found = json.loads(command.stdout)
    client("s3").delete_object(**place, VersionId=replaced["VersionId"])

    lines = len(published_datasets(stack.dependencies))
    assert before == {"compared": lines, "drifted": 0, "failures": 0}
    assert after == {"compared": lines, "drifted": 1, "failures": 0}
    assert command.exit_code == 1
    assert [(each["key"], [one["difference"] for one in each["differences"]]) for each in found["drifted"]] == [
        (key, ["replaced", "absent"])
    ]
    rule = client("scheduler").list_schedules()["Schedules"]
    assert [each["Target"]["Arn"].rpartition(":")[2] for each in rule].count(stack.resources["DriftFunction"]) == 1


def test_heads_are_anchored_where_nobody_can_delete_them(stack: Deployed) -> None:
    """The anchor of the day is written once, locked, signed by the stack, and what `verify --anchors` compares chains with."""
    stack.finished(stack.upload(stack.fresh()))
    bucket, answers = stack.resources["AnchorBucket"], []
    rule = {"DefaultRetention": {"Mode": "COMPLIANCE", "Days": 1}}
    client("s3").put_object_lock_configuration(  # which the CloudFormation of the embedded AWS leaves out
        Bucket=bucket, ObjectLockConfiguration={"ObjectLockEnabled": "Enabled", "Rule": rule}
    )
    for _ in range(2):
        answer = client("lambda").invoke(FunctionName=stack.resources["AnchorFunction"], Payload=b"{}")
        answers.append(json.loads(answer["Payload"].read()))
        assert "FunctionError" not in answer, answers
    (version,) = client("s3").list_object_versions(Bucket=bucket)["Versions"]
    place = {"Bucket": bucket, "Key": version["Key"], "VersionId": version["VersionId"]}
    retention = client("s3").get_object_retention(**place)["Retention"]
    with pytest.raises(ClientError, match="AccessDenied"):
        client("s3").delete_object(**place)
    command = lakegate("verify", "--anchors", "stack", "--key", "kms", "--local", "--json")
    found = json.loads(command.stdout)

    assert answers[0] == {"documents": 1, "heads": found["chains"], "contradicted": 0, "complete": 1}
    assert answers[1] == {"documents": 0, "heads": 0, "contradicted": 0, "complete": 1}
    assert retention["Mode"] == "COMPLIANCE"
    assert (command.exit_code, found["faults"], found["anchors"]["proven_by"]) == (0, [], "kms")
    assert found["chains"] > len(published_datasets(stack.dependencies))


PULLED = """
apiVersion: v3.1.0
kind: DataContract
id: e2e-pulled
version: 1.0.0
status: active
customProperties: [{property: lakegate, value: {pull: {source: "SOURCE", schedule: rate(1 day), secret: e2e}}}]
schema:
  - name: rows
    logicalType: object
    properties: [{name: id, logicalType: integer, required: true}]
"""


def _workload(key: str, contract: str = "e2e-pulled") -> str:
    """The id of the delivery that landed at a key, once it is known."""

    def found() -> str:
        listed = lakegate("status", "--contract", contract, "--local", "--json")
        deliveries = json.loads(listed.stdout)["deliveries"]
        return next((str(each["workload"]) for each in deliveries if each["key"] == key and each["workload"]), "")

    return str(until(f"{key} is taken in", found))


def test_a_source_is_pulled_by_the_deployed_function(stack: Deployed) -> None:
    """Over HTTPS from this machine, with credentials of the embedded Secrets Manager; the second tick finds it unchanged."""
    function, line = stack.resources["PullFunction"], "e2e-pulled/rows_v1"
    trusted = client("lambda").get_function_configuration(FunctionName=function)["Environment"]["Variables"]
    variables = {**trusted, "SSL_CERT_FILE": str(certificate())}
    client("lambda").update_function_configuration(FunctionName=function, Environment={"Variables": variables})
    secret = {"contract": "e2e-pulled", "host": "localhost", "token": "t"}
    client("secretsmanager").create_secret(Name="lakegate-source-e2e", SecretString=json.dumps(secret))

    def tick() -> dict[str, int]:
        answered = client("lambda").invoke(FunctionName=function, Payload=b"{}")
        counts: dict[str, int] = json.loads(answered["Payload"].read())
        return counts

    with receiving() as receiver:
        receiver.answer = answer(body=b"id\n1\n2\n", ETag='"v1"')
        body = PULLED.replace("SOURCE", f"https://localhost:{receiver.port}/day.csv").encode()
        compiled = compile_document(body, referred_of(stack.dependencies, body))
        run(publish(stack.dependencies, compiled), stack.dependencies.clock)
        run(add_route(stack.dependencies, "pulled/", "e2e-pulled", "rows", 1), stack.dependencies.clock)
        counts = [tick()]
        for _ in range(2):
            run(run_now(stack.dependencies, line), stack.dependencies.clock)
            counts.append(tick())
    ends = stack.dependencies.rows("pulls").get(line).ends
    row = stack.finished(_workload(ends[-1].key))

    nothing = {"fetched": 0, "unchanged": 0, "failed": 0, "failures": 0}
    assert counts == [nothing, nothing | {"fetched": 1}, nothing | {"unchanged": 1}]
    assert [each.outcome.value for each in ends] == ["UNCHANGED", "FETCHED"]
    assert [headers["authorization"] for _, headers, _ in receiver.requests] == ["Bearer t"] * 2
    assert (row.state, stack.blocks(row), len(stack.destinations(row))) == (State.PUBLISHED, 1, 1)


def test_an_object_that_its_producer_names_is_delivered_once(stack: Deployed) -> None:
    """From the producer's own bucket, over the API; the message is repeated before and after the delivery."""
    s3, source = client("s3"), f"s3://{PARTNER}/out/day.csv"
    s3.create_bucket(Bucket=PARTNER, CreateBucketConfiguration={"LocationConstraint": s3.meta.region_name})
    s3.put_bucket_versioning(Bucket=PARTNER, VersioningConfiguration={"Status": "Enabled"})
    version = s3.put_object(Bucket=PARTNER, Key="out/day.csv", Body=b"id\n7\n8\n")["VersionId"]
    pulled = '{source: "SOURCE", schedule: rate(1 day), secret: e2e}'
    body = PULLED.replace("e2e-pulled", "e2e-named").replace(pulled, f'{{source: "s3://{PARTNER}/out/"}}').encode()
    compiled = compile_document(body, referred_of(stack.dependencies, body))
    run(publish(stack.dependencies, compiled), stack.dependencies.clock)
    run(add_route(stack.dependencies, "named/", "e2e-named", "rows", 1), stack.dependencies.clock)
    path = f"/api/v1/data-contract/e2e-named/pull?{urlencode({'object': source, 'version': version})}"

    def named() -> dict[str, Any]:
        (found,) = answered(stack, path, "-X", "POST")["pulls"]
        return dict(found)

    before = [named()["status"] for _ in range(2)]
    for _ in range(2):
        client("lambda").invoke(FunctionName=stack.resources["PullFunction"], Payload=b"{}")
    after = named()
    row = stack.finished(_workload(after["latest"]["key"], "e2e-named"))

    assert (before, after["status"], after["latest"]["outcome"]) == (["Due", "Due"], "Done", "FETCHED")
    assert (row.state, stack.blocks(row), len(stack.destinations(row))) == (State.PUBLISHED, 1, 1)
    assert named() == after


def test_an_object_that_a_message_names_is_delivered_once(stack: Deployed) -> None:
    """By the deployed queue and function: an event of S3 and a claim check, repeated, beside a message that names nothing."""
    s3, sqs, queue = client("s3"), client("sqs"), stack.resources["NamedQueue"]
    with suppress(s3.exceptions.BucketAlreadyOwnedByYou):
        s3.create_bucket(Bucket=PARTNER, CreateBucketConfiguration={"LocationConstraint": s3.meta.region_name})
    s3.put_bucket_versioning(Bucket=PARTNER, VersioningConfiguration={"Status": "Enabled"})
    versions = [
        s3.put_object(Bucket=PARTNER, Key="sent/day 1.csv", Body=f"id\n{number}\n".encode())["VersionId"]
        for number in (11, 12)
    ]
    publish_folder(stack, "e2e-sent", f"s3://{PARTNER}/sent/")
    described = {"bucket": {"name": PARTNER}, "object": {"key": "sent/day+1.csv", "versionId": versions[0]}}
    event = {"Records": [{"eventSource": "aws:s3", "eventName": "ObjectCreated:Put", "s3": described}]}
    claim = {"object": f"s3://{PARTNER}/sent/day 1.csv", "version": versions[1]}
    bodies = ["no event at all", *(json.dumps(each) for each in (claim, event, claim, event))]
    entries = [{"Id": str(number), "MessageBody": each} for number, each in enumerate(bodies)]
    sqs.send_message_batch(QueueUrl=queue, Entries=entries)

    until("what names an object is taken", lambda: waiting(queue) == 1)
    sqs.purge_queue(QueueUrl=queue)
    for _ in range(2):
        client("lambda").invoke(FunctionName=stack.resources["PullFunction"], Payload=b"{}")
    ends = [named_row(stack, "e2e-sent/rows_v1", claim["object"], each).end for each in versions]
    ended = [stack.finished(_workload(each.key, "e2e-sent")) for each in ends if each]

    assert [(row.state, stack.blocks(row), len(stack.destinations(row))) for row in ended] == [
        (State.PUBLISHED, 1, 1),
        (State.PUBLISHED, 1, 1),
    ]
    assert sorted(stack.body(stack.destinations(row)[0]) for row in ended) == [b"id\n11\n", b"id\n12\n"]


def test_a_queue_of_an_owner_names_objects_of_its_contracts_only(stack: Deployed) -> None:
    """As tenant.yaml makes it, read by the function of the stack, in its VPC; another owner's object stays unnamed."""
    for contract in ("e2e-owner-a", "e2e-other"):
        publish_folder(stack, contract, f"s3://{PARTNER}/{contract}/")
    given = {"Stack": stack.stack.name, "Prefix": "owner/", "Contract": "e2e-owner-*", "NamingSenders": ACCOUNT}
    parameters: Any = [{"ParameterKey": name, "ParameterValue": value} for name, value in given.items()]
    formation, sqs = client("cloudformation"), client("sqs")
    formation.create_stack(
        StackName="owner",
        TemplateBody=(ROOT / "tenant.yaml").read_text(),
        Parameters=parameters,
        Capabilities=["CAPABILITY_IAM"],
    )

    def made() -> str:
        found = formation.describe_stacks(StackName="owner")["Stacks"][0]
        assert "FAILED" not in found["StackStatus"], found
        outputs = {each["OutputKey"]: each["OutputValue"] for each in found.get("Outputs", ())}
        return outputs["NamedQueueUrl"] if found["StackStatus"] == "CREATE_COMPLETE" else ""

    queue = str(until("the owner's stack is made", made))
    objects = {name: f"s3://{PARTNER}/{name}/day.csv" for name in ("e2e-other", "e2e-owner-a")}
    for name in objects.values():
        sqs.send_message(QueueUrl=queue, MessageBody=json.dumps({"object": name}))
    until("the owner's own object is named", lambda: waiting(queue) == 1)
    named = {name: named_row(stack, f"{name}/rows_v1", address).dataset for name, address in objects.items()}
    sqs.purge_queue(QueueUrl=queue)

    assert queue.endswith(f"/{stack.stack.name}-named-owner")
    assert named == {"e2e-other": "", "e2e-owner-a": "e2e-owner-a/rows_v1"}


def publish_folder(stack: Deployed, contract: str, folder: str) -> None:
    """Publish a contract whose producer names objects of a folder, with a route."""
    pulled = '{source: "SOURCE", schedule: rate(1 day), secret: e2e}'
    body = PULLED.replace("e2e-pulled", contract).replace(pulled, f'{{source: "{folder}"}}').encode()
    run(
        publish(stack.dependencies, compile_document(body, referred_of(stack.dependencies, body))),
        stack.dependencies.clock,
    )
    run(add_route(stack.dependencies, f"{contract}/", contract, "rows", 1), stack.dependencies.clock)


def named_row(stack: Deployed, line: str, address: str, version: str = "") -> NamedObject:
    """The row of an object that may be named."""
    return named_objects(stack.dependencies).get(sha256(json.dumps([line, address, version]).encode()).hexdigest())


def waiting(queue: str) -> int:
    """Messages of a queue that nobody holds, and those that somebody does."""
    names: Any = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    found = client("sqs").get_queue_attributes(QueueUrl=queue, AttributeNames=names)["Attributes"]
    return sum(map(int, found.values()))


PROBED = """
apiVersion: v3.1.0
kind: DataContract
id: e2e-probed
version: 1.0.0
status: active
schema:
  - name: rows
    logicalType: object
    properties: [{name: id, logicalType: integer, required: true}]
    quality: [{type: custom, engine: probe, implementation: {expectation_type: lines, kwargs: {most: 3}}}]
"""


def test_a_rule_is_measured_by_a_registered_service(stack: Deployed) -> None:
    """It reads the very bytes by a signed address, with credentials of its own, and its answer decides."""
    for name in ("IntakeFunction", "CompletionFunction", "SweepFunction"):
        function = stack.resources[name]
        trusted = client("lambda").get_function_configuration(FunctionName=function)["Environment"]["Variables"]
        variables = {**trusted, "SSL_CERT_FILE": str(certificate())}
        client("lambda").update_function_configuration(FunctionName=function, Environment={"Variables": variables})
    secret = {"host": "localhost", "token": "t"}
    client("secretsmanager").create_secret(Name="lakegate-validator-e2e", SecretString=json.dumps(secret))
    short, long = b"id\n1\n2\n", b"id\n1\n2\n3\n"
    with probing() as service:
        command = ["validator", "add", "probe", service.url, "-t", "Probe", "--secret", "e2e", "--local"]
        registered = lakegate(*command)
        body = PROBED.encode()
        compiled = compile_document(body, referred_of(stack.dependencies, body))
        run(publish(stack.dependencies, compiled), stack.dependencies.clock)
        run(add_route(stack.dependencies, "probed/", "e2e-probed", "rows", 1), stack.dependencies.clock)
        rows = [stack.finished(stack.upload(each, f"probed/{number}.csv")) for number, each in enumerate((short, long))]
    shown = lakegate("reasons", rows[1].id, "--local")

    assert registered.exit_code == 0
    assert [(row.state, row.attempt, row.failed) for row in rows] == [
        (State.PUBLISHED, 1, ()),
        (State.QUARANTINED, 1, ()),
    ]
    assert (service.read, service.credentials) == ([short, long], {"Bearer t"})
    assert [stack.blocks(row) for row in rows] == [1, 1]
    words = " ".join(shown.stdout.split())
    assert "1 of 1 answers of the validator says that it is broken (its metric: 4)" in words
