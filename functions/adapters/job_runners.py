"""The judge function as a runner of attempts, beside EMR Serverless."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lakegate.functions.adapters.errors import port_errors
from lakegate.functions.ports.errors import NotFound
from lakegate.functions.ports.jobs import INVOCATION, JobRun, JobState, invocation, is_invocation, names_invocation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lakegate.functions.ports.jobs import JobRunner


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
