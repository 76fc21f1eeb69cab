"""A local AWS (S3, EventBridge, SQS of moto) and the service as its users start it: a process, looked at through boto3."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import boto3
import pytest
from botocore.config import Config
from local_emr.guard import HEADER, VARIABLE
from moto.server import ThreadedMotoServer

Found = TypeVar("Found")
ROOT = Path(__file__).parents[3]
ROLE = "arn:aws:iam::000000000000:role/job"
BUCKET = "lake"
ENDS = {"SUCCESS", "FAILED", "CANCELLED"}
PATIENCE_SECONDS = 90.0
"""A condition that is not true by then never will be."""
BETWEEN_LOOKS = 0.02
COMMAND = str(Path(sys.executable).with_name("local-emr"))


def until(question: Callable[[], Found | None], what: str) -> Found:
    """The first answer that is not None or empty, within the patience of these tests."""
    pause, over = threading.Event(), time.monotonic() + PATIENCE_SECONDS
    while not (answer := question()):
        assert time.monotonic() < over, f"never: {what}"
        pause.wait(BETWEEN_LOOKS)
    return answer


def client(service: str, endpoint: str) -> Any:
    return boto3.client(
        service,  # type: ignore[call-overload] # one of four names
        endpoint_url=endpoint,
        region_name="us-east-1",
        aws_access_key_id="000000000000",
        aws_secret_access_key="local",
        config=Config(retries={"total_max_attempts": 1}),
    )


@dataclass
class Aws:
    """The AWS that the service works on."""

    endpoint: str
    s3: Any
    sqs: Any
    queue: str
    seen: list[dict[str, Any]] = field(default_factory=list)

    def program(self, source: str, name: str = "program.py") -> str:
        self.s3.put_object(Bucket=BUCKET, Key=f"code/{name}", Body=source.encode())
        return f"s3://{BUCKET}/code/{name}"

    def object(self, key: str) -> bytes | None:
        found = self.s3.list_objects_v2(Bucket=BUCKET, Prefix=key).get("Contents", [])
        body: bytes | None = self.s3.get_object(Bucket=BUCKET, Key=key)["Body"].read() if found else None
        return body

    def log(self, run: dict[str, Any], name: str = "stdout", below: str = "") -> str:
        key = f"logs/applications/{run['applicationId']}/jobs/{run['jobRunId']}{below}/SPARK_DRIVER/{name}.gz"
        return gzip.decompress(self.object(key) or b"").decode()

    def events(self, **detail: str) -> list[dict[str, Any]]:
        """All events so far whose detail has these members, in the order in which they came."""
        while got := self.sqs.receive_message(QueueUrl=self.queue, MaxNumberOfMessages=10).get("Messages", []):
            self.seen += [json.loads(message["Body"]) for message in got]
            read = [{"Id": each["MessageId"], "ReceiptHandle": each["ReceiptHandle"]} for each in got]
            self.sqs.delete_message_batch(QueueUrl=self.queue, Entries=read)
        return [each for each in self.seen if detail.items() <= each["detail"].items()]


@pytest.fixture(scope="session")
def aws() -> Iterator[Aws]:
    """A bucket, and a queue that gets every event of EMR Serverless."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    s3, sqs, bridge = (client(name, endpoint) for name in ("s3", "sqs", "events"))
    s3.create_bucket(Bucket=BUCKET)
    queue = sqs.create_queue(QueueName="events")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    bridge.put_rule(Name="emr", EventPattern=json.dumps({"source": ["aws.emr-serverless"]}))
    bridge.put_targets(Rule="emr", Targets=[{"Id": "queue", "Arn": arn}])
    yield Aws(endpoint, s3, sqs, queue)
    for each in (s3, sqs, bridge):
        each.close()
    server.stop()


@dataclass
class Emr:
    """A running service and one application of it."""

    aws: Aws
    process: subprocess.Popen[str]
    endpoint: str
    client: Any
    application: str

    def start(self, program: str, *arguments: str, parameters: str = "", **request: Any) -> str:
        submit: dict[str, Any] = {"entryPoint": program, "entryPointArguments": list(arguments)}
        if parameters:
            submit["sparkSubmitParameters"] = parameters
        logs = {"s3MonitoringConfiguration": {"logUri": f"s3://{BUCKET}/logs/"}}
        asked: dict[str, Any] = {
            "applicationId": self.application,
            "executionRoleArn": ROLE,
            "jobDriver": {"sparkSubmit": submit},
            "configurationOverrides": {"monitoringConfiguration": logs},
            **request,
        }
        run: str = self.client.start_job_run(**asked)["jobRunId"]
        return run

    def run(self, run: str, application: str = "") -> dict[str, Any]:
        of = application or self.application
        found: dict[str, Any] = self.client.get_job_run(applicationId=of, jobRunId=run)["jobRun"]
        return found

    def state(self, run: str) -> str:
        return str(self.run(run)["state"])

    def reaches(self, run: str, *states: str) -> dict[str, Any]:
        """The run, once it is in one of these states."""
        return until(lambda: found if (found := self.run(run))["state"] in states else None, f"{run} in {states}")

    def ended(self, run: str) -> dict[str, Any]:
        return self.reaches(run, *ENDS)

    def reported_states(self, run: str) -> list[str]:
        """The states in the run's events, once its end is among them."""

        def complete() -> list[str] | None:
            states = [each["detail"]["state"] for each in self.state_events(run)]
            return states if ENDS & set(states) else None

        return until(complete, f"the event of the end of {run}")

    def state_events(self, run: str) -> list[dict[str, Any]]:
        return [each for each in self.aws.events(jobRunId=run) if "state" in each["detail"]]

    def pid(self) -> int:
        return self.process.pid


@contextmanager
def service(
    aws: Aws, folder: Path, *options: str, quotas: tuple[str, ...] = ("--no-quotas",), **environment: str
) -> Iterator[Emr]:
    """The service as a process; unless a test killed it, it ends well on SIGTERM, without an error."""
    command = [COMMAND, "--aws-endpoint", aws.endpoint, "--state-dir", str(folder)]
    with (folder / "service.log").open("w") as log:
        process = subprocess.Popen(  # noqa: S603 - our own service
            [*command, *options, *quotas],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            cwd=ROOT,
            env=os.environ | {VARIABLE: "local"} | environment,
        )
    assert process.stdout is not None
    with process.stdout:
        try:
            endpoint = json.loads(process.stdout.readline())["endpoint"]
            emr = client("emr-serverless", endpoint)
            made = emr.create_application(name="tests", releaseLabel="emr-7.14.0", type="SPARK")
            yield Emr(aws, process, endpoint, emr, made["applicationId"])
            emr.close()
        finally:
            killed = process.poll()
            process.terminate()
            code = process.wait(PATIENCE_SECONDS)
    assert (killed or 0, "") == (code, (folder / "service.log").read_text())


@pytest.fixture(scope="session")
def emr(aws: Aws, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emr]:
    """A service that runs plain Python programs, and whose minutes last a tenth of a second."""
    with service(
        aws, tmp_path_factory.mktemp("emr"), "--mode", "process", "--minute", "0.1", "--seats", "4"
    ) as running:
        yield running


@pytest.fixture
def no_orders(emr: Emr) -> Iterator[None]:
    """Whatever a test ordered and nothing took is forgotten."""
    yield
    order(emr, "DELETE")


def order(emr: Emr, method: str, document: object = None) -> tuple[int, dict[str, Any]]:
    """Call the service's control address for faults."""
    return send(emr, method, "/_faults", "" if document is None else json.dumps(document))


def send(emr: Emr, method: str, path: str, body: str = "", **headers: str) -> tuple[int, dict[str, Any]]:
    """Status and JSON of a bare HTTP request."""
    from http.client import HTTPConnection  # noqa: PLC0415 - only here is boto3 not the client

    connection = HTTPConnection(emr.endpoint.removeprefix("http://"), timeout=PATIENCE_SECONDS)
    try:
        connection.request(method, path, body, {HEADER: "local", **headers})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def descendants(pid: int) -> set[int]:
    """Processes that a process started, and those that these started."""
    parents: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = stat.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        parents.setdefault(int(words[1]), []).append(int(stat.parent.name))
    found: set[int] = set()
    left = deque([pid])
    while left:
        below = parents.get(left.popleft(), [])
        found |= set(below)
        left.extend(below)
    return found


def running(pids: set[int]) -> set[int]:
    """Those of these processes that exist and are not mere entries of ended ones."""
    alive = set()
    for pid in pids:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            continue
        alive |= {pid} if state != "Z" else set()
    return alive
