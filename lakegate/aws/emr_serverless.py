"""Job runner on EMR Serverless, and the judge function beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from lakegate.aws.clients import port_errors
from lakegate.base.errors import IdempotencyMismatch, InputError, NotFound, PortError, Throttled
from lakegate.gate.ports import INVOCATION, JobRun, JobRunner, JobState, invocation, is_invocation, names_invocation

if TYPE_CHECKING:
    from mypy_boto3_emr_serverless import EMRServerlessClient


# ---- The job runner ----


ACCEPTING: Final = frozenset({"CREATED", "STARTED", "STOPPED"})
"""States of an application in which it takes runs: it starts by itself when one is submitted."""
ENDS: Final = frozenset({JobState.SUCCESS, JobState.FAILED, JobState.CANCELLED})


@dataclass(frozen=True, slots=True)
class EmrServerless:
    """JobRunner."""

    client: EMRServerlessClient
    application: str

    def start(self, request: Mapping[str, Any]) -> str:
        """StartJobRun with the request as it was stored, and nothing else.

        A request without clientToken is refused: boto3 would make one, another one each time, and start two jobs.
        """
        if not request.get("clientToken"):
            raise InputError("a StartJobRun request needs its own clientToken")
        try:
            return self._start(request)
        except IdempotencyMismatch:  # so far only ConflictException: "conflict in the current state of the resource"
            self._refuse_while_changing()
        return self._start(request)

    def _start(self, request: Mapping[str, Any]) -> str:
        with port_errors():
            return self.client.start_job_run(**request)["jobRunId"]

    def _refuse_while_changing(self) -> None:
        """Raise Throttled while the application takes no runs: its state is the conflict, and no token."""
        with port_errors():
            state = self.client.get_application(applicationId=self.application)["application"]["state"]
        if state not in ACCEPTING:
            raise Throttled(f"StartJobRun: the application is {state}")

    def describe(self, run: str) -> JobRun:
        """GetJobRun; what neither waits nor has ended is RUNNING."""
        with port_errors():
            found = self.client.get_job_run(applicationId=self.application, jobRunId=run)["jobRun"]
        state = found["state"]
        known = JobState(state) if state in set(JobState) else JobState.RUNNING
        queued = timedelta(milliseconds=found.get("queuedDurationMilliseconds", 0))
        used = found.get("billedResourceUtilization", {})
        billed = (used["vCPUHour"], used["memoryGBHour"]) if {"vCPUHour", "memoryGBHour"} <= set(used) else None
        return JobRun(found.get("name", ""), known, queued, started="startedAt" in found, billed=billed)

    def cancel(self, run: str) -> None:
        """CancelJobRun. EMR refuses to cancel an ended run with one of several codes: what counts is that it ended."""
        try:
            with port_errors():
                self.client.cancel_job_run(applicationId=self.application, jobRunId=run)
        except NotFound:
            return
        except PortError as refused:
            if type(refused) not in {PortError, IdempotencyMismatch} or self.describe(run).state not in ENDS:
                raise


# ---- The judge function ----


@dataclass(frozen=True, slots=True)
class JudgeFunction:
    """JobRunner: asynchronous invocations, which Lambda queues (Lambda developer guide, Invoking a function asynchronously)."""

    client: Any
    """Of Lambda."""

    def start(self, request: Mapping[str, Any]) -> str:
        """Invoke, with the request as it was stored."""
        with port_errors():
            self.client.invoke(**request)
        payload = json.loads(request["Payload"])
        return invocation(payload["workload"], payload["attempt"])

    def describe(self, run: str) -> JobRun:
        """As the name states: Lambda has no operation that describes an invocation."""
        workload = run.removeprefix(INVOCATION).partition("/")[0]
        if not workload:
            raise NotFound(run)
        return JobRun(workload, JobState.INVOKED)

    def cancel(self, run: str) -> None:
        """Nothing: Lambda has no operation that ends an invocation. Its result is one of an attempt that is over."""


@dataclass(frozen=True, slots=True)
class Runners:
    """JobRunner: each request and each run where it belongs."""

    emr: JobRunner
    judge: JobRunner

    def start(self, request: Mapping[str, object]) -> str:
        """By the request's shape."""
        return (self.judge if is_invocation(request) else self.emr).start(request)

    def describe(self, run: str) -> JobRun:
        """By the run's name."""
        return self._of(run).describe(run)

    def cancel(self, run: str) -> None:
        """By the run's name."""
        self._of(run).cancel(run)

    def _of(self, run: str) -> JobRunner:
        return self.judge if names_invocation(run) else self.emr
