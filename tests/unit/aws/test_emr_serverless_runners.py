"""The judge function as a runner of attempts, and who is asked about which run."""

from __future__ import annotations

import json
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from lakegate.aws.emr_serverless import JudgeFunction, Runners
from lakegate.base.errors import NotFound, Throttled
from lakegate.gate.ports import JobRun, JobState
from tests.fakes import FaultInjector
from tests.fakes.jobs import Ending, MemoryJobs

PAYLOAD = {"workload": "ab" * 32, "attempt": 3, "request": "s3://lake/runs/w/attempt=3/request.json"}
INVOKE = {"FunctionName": "lakegate-judge", "InvocationType": "Event", "Payload": json.dumps(PAYLOAD)}
START = {"clientToken": "t", "name": "w", "jobDriver": {}}
RUN = f"lambda/{PAYLOAD['workload']}/3"


@pytest.fixture(scope="module")
def client() -> Any:
    known = {"aws_access_key_id": "testing", "aws_secret_access_key": "testing"}
    return boto3.client("lambda", region_name="eu-west-1", **known)


def test_the_function_is_invoked_with_the_stored_request_and_nothing_else(client: Any) -> None:
    """Invoke gets exactly what was stored; the run is named after the attempt, whichever invocation it is."""
    with Stubber(client) as stub:
        stub.add_response("invoke", {"StatusCode": 202}, dict(INVOKE))

        assert JudgeFunction(client).start(INVOKE) == RUN


@pytest.mark.parametrize(
    ("code", "kind"), [("ResourceNotFoundException", NotFound), ("TooManyRequestsException", Throttled)]
)
def test_a_refusal_is_a_port_error(client: Any, code: str, kind: type[Exception]) -> None:
    """A function that does not exist, and one that is invoked too often, are distinguished."""
    with Stubber(client) as stub:
        stub.add_client_error("invoke", code)
        with pytest.raises(kind):
            JudgeFunction(client).start(INVOKE)


def test_an_invocation_is_described_by_its_name(client: Any) -> None:
    """Lambda describes no invocation: the workload is in the name, and there is nothing to cancel."""
    judge = JudgeFunction(client)
    judge.cancel(RUN)

    assert judge.describe(RUN) == JobRun(PAYLOAD["workload"], JobState.INVOKED)
    with pytest.raises(NotFound):
        judge.describe("lambda/")


def test_each_request_and_each_run_goes_to_its_runner() -> None:
    """Invocations are the judge function's; all else is EMR Serverless's."""
    emr, judge = MemoryJobs(FaultInjector()), MemoryJobs(FaultInjector())
    judge.functions = {"lakegate-judge"}
    runners = Runners(emr, judge)
    invoked, started = runners.start(INVOKE), runners.start(START)
    runners.cancel(invoked)
    judge.end(started, Ending.FAILED)
    runners.cancel(started)

    assert (invoked, len(judge.runs), len(emr.runs)) == (RUN, 1, 1)
    assert runners.describe(invoked).state is JobState.INVOKED
    assert (runners.describe(started).name, runners.describe(started).state) == ("w", JobState.CANCELLED)
