"""Job runs on EMR Serverless: what is sent, what each refusal means, and what a run reports."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from lakegate.aws.emr_serverless import EmrServerless
from lakegate.base.errors import IdempotencyMismatch, InputError, NotFound, PortError, Throttled, Unanswered
from lakegate.gate.ports import JobRun, JobState
from tests.unit.aws.test_clients import KNOWN

REQUEST = {"applicationId": "a1", "clientToken": "t1", "name": "w1", "executionRoleArn": "arn:aws:iam::1:role/job-role"}


@pytest.fixture(scope="module")
def emr() -> Any:
    return boto3.client("emr-serverless", **KNOWN)


def described(state: str, name: str | None = "w1") -> dict[str, Any]:
    at = datetime(2026, 11, 21, tzinfo=UTC)
    run: dict[str, Any] = {
        "applicationId": "a1",
        "jobRunId": "r1",
        "arn": "arn:" + "x" * 60,
        "createdBy": "arn:aws:iam::1:role/x",
    }
    run |= {"createdAt": at, "updatedAt": at, "executionRole": "arn:aws:iam::1:role/x", "state": state}
    run |= {"stateDetails": "x", "releaseLabel": "emr-7.14.0", "jobDriver": {"hive": {"query": "x"}}}
    return {"jobRun": run | ({"name": name} if name else {})}


def test_a_job_is_started_with_the_stored_request_and_nothing_else(emr: Any) -> None:
    """StartJobRun gets exactly what was stored, token included."""
    with Stubber(emr) as stub:
        stub.add_response(
            "start_job_run", {"applicationId": "a1", "jobRunId": "r1", "arn": "arn:" + "x" * 60}, dict(REQUEST)
        )

        assert EmrServerless(emr, "a1").start(REQUEST) == "r1"


@pytest.mark.parametrize(
    ("used", "billed"),
    [
        ({"vCPUHour": 0.5, "memoryGBHour": 2.0, "storageGBHour": 0.0}, (0.5, 2.0)),
        ({"vCPUHour": 0.5}, None),
        (None, None),
    ],
    ids=["whole", "in part", "not yet"],
)
def test_what_a_run_was_billed_is_read(emr: Any, used: dict[str, float] | None, billed: object) -> None:
    """EMR Serverless reports it when the run is over; until then it is not known."""
    run = described("SUCCESS")
    if used is not None:
        run["jobRun"]["billedResourceUtilization"] = used
    with Stubber(emr) as stub:
        stub.add_response("get_job_run", run, {"applicationId": "a1", "jobRunId": "r1"})

        assert EmrServerless(emr, "a1").describe("r1").billed == billed


def test_a_job_without_a_token_is_not_started(emr: Any) -> None:
    """boto3 would make up a token, a new one each time, and a lost answer would start a second job."""
    with Stubber(emr), pytest.raises(InputError):
        EmrServerless(emr, "a1").start({key: value for key, value in REQUEST.items() if key != "clientToken"})


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [
        ("ThrottlingException", 429, Throttled),
        ("ServiceQuotaExceededException", 402, Throttled),
        ("InternalServerException", 500, Unanswered),
        ("ValidationException", 400, PortError),
    ],
)
def test_a_refused_start_has_the_right_error(emr: Any, code: str, status: int, kind: type[PortError]) -> None:
    """A token used before, a full application and a broken connection have different errors."""
    with Stubber(emr) as stub:
        stub.add_client_error("start_job_run", code, "canary", status)
        with pytest.raises(PortError) as raised:
            EmrServerless(emr, "a1").start(REQUEST)

    assert kind is type(raised.value)


def application(state: str) -> dict[str, Any]:
    at = datetime(2026, 11, 21, tzinfo=UTC)
    named = {"applicationId": "a1", "arn": "arn:" + "x" * 60, "releaseLabel": "emr-7.14.0", "type": "SPARK"}
    return {"application": named | {"state": state, "createdAt": at, "updatedAt": at}}


@pytest.mark.parametrize(
    ("state", "kind"),
    [(state, Throttled) for state in ("CREATING", "STARTING", "STOPPING", "TERMINATED")]
    + [(state, IdempotencyMismatch) for state in ("CREATED", "STARTED", "STOPPED")],
)
def test_a_conflict_is_of_the_token_only_where_the_application_takes_runs(
    emr: Any, state: str, kind: type[PortError]
) -> None:
    """ConflictException names no reason. While the application changes, it means: later; and costs no attempt."""
    with Stubber(emr) as stub:
        stub.add_client_error("start_job_run", "ConflictException", "canary", 409)
        stub.add_response("get_application", application(state), {"applicationId": "a1"})
        if kind is IdempotencyMismatch:
            stub.add_client_error("start_job_run", "ConflictException", "canary", 409)
        with pytest.raises(kind):
            EmrServerless(emr, "a1").start(REQUEST)

        stub.assert_no_pending_responses()


def test_a_conflict_that_is_over_is_none(emr: Any) -> None:
    """An application that has started since takes the same request, and no attempt is lost."""
    with Stubber(emr) as stub:
        stub.add_client_error("start_job_run", "ConflictException", "canary", 409)
        stub.add_response("get_application", application("STARTED"))
        stub.add_response(
            "start_job_run", {"applicationId": "a1", "jobRunId": "r1", "arn": "arn:" + "x" * 60}, dict(REQUEST)
        )

        assert EmrServerless(emr, "a1").start(REQUEST) == "r1"


@pytest.mark.parametrize(
    ("state", "expected"),
    [(state, JobState.RUNNING) for state in ("SUBMITTED", "PENDING", "SCHEDULED", "RUNNING", "CANCELLING")]
    + [(state.value, state) for state in (JobState.QUEUED, JobState.SUCCESS, JobState.FAILED, JobState.CANCELLED)],
)
def test_a_run_is_running_until_it_has_ended(emr: Any, state: str, expected: JobState) -> None:
    """Every state of EMR before an end is RUNNING, but for waiting; a run without a name has none."""
    with Stubber(emr) as stub:
        stub.add_response("get_job_run", described(state), {"applicationId": "a1", "jobRunId": "r1"})
        stub.add_response("get_job_run", described(state, None))
        runner = EmrServerless(emr, "a1")

        assert JobRun("w1", expected, started=False) == runner.describe("r1")
        assert JobRun("", expected, started=False) == runner.describe("r1")


def test_a_run_reports_how_long_it_waited(emr: Any) -> None:
    """The time in the queue is EMR's own count."""
    with Stubber(emr) as stub:
        waited = described("RUNNING")
        waited["jobRun"] |= {"queuedDurationMilliseconds": 90_000, "startedAt": datetime(2026, 11, 21, tzinfo=UTC)}
        stub.add_response("get_job_run", waited)

        assert JobRun("w1", JobState.RUNNING, timedelta(seconds=90)) == EmrServerless(emr, "a1").describe("r1")


def test_an_unknown_run_is_not_found(emr: Any) -> None:
    """A run that EMR does not know is NotFound."""
    with Stubber(emr) as stub:
        stub.add_client_error("get_job_run", "ResourceNotFoundException", "canary", 404)
        with pytest.raises(NotFound):
            EmrServerless(emr, "a1").describe("r1")


@pytest.mark.parametrize("code", ["ValidationException", "ConflictException", "ResourceNotFoundException", None])
def test_cancelling_what_has_ended_is_done(emr: Any, code: str | None) -> None:
    """A run that has ended, or that nobody knows, is as good as cancelled."""
    with Stubber(emr) as stub:
        if code is None:
            stub.add_response("cancel_job_run", {"applicationId": "a1", "jobRunId": "r1"})
        else:
            stub.add_client_error("cancel_job_run", code, "canary", 400)
            stub.add_response("get_job_run", described("FAILED"))
        EmrServerless(emr, "a1").cancel("r1")

        if code != "ResourceNotFoundException":
            stub.assert_no_pending_responses()


@pytest.mark.parametrize("code", ["ValidationException", "ThrottlingException"])
def test_cancelling_what_runs_on_is_not_done(emr: Any, code: str) -> None:
    """A refusal that leaves the run running is not hidden."""
    with Stubber(emr) as stub:
        stub.add_client_error("cancel_job_run", code, "canary", 400)
        stub.add_response("get_job_run", described("RUNNING"))
        with pytest.raises(PortError):
            EmrServerless(emr, "a1").cancel("r1")
