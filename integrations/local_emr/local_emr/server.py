"""The HTTP server: REST-JSON as boto3 sends it, and the control addresses, only on loopback."""

from __future__ import annotations

import base64
import json
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from local_emr import run_life
from local_emr.api_shapes import (
    ENDS,
    Absent,
    AccessDeniedError,
    ApplicationState,
    Conflict,
    Home,
    InternalServerError,
    Invalid,
    Members,
    RunState,
    SerializationError,
    ServiceError,
    StartError,
    Unsupported,
    new_id,
    now,
    read_parameters,
    read_request,
    refuse_unsupported,
)
from local_emr.faults import Orders
from local_emr.guard import is_local, is_trusted
from local_emr.job_runs import Application, Run, restored
from local_emr.quotas import TokenBuckets
from local_emr.run_life import Life
from local_emr.spark_processes import Executor
from local_emr.spark_rules import refuse_workers

HOST: Final = "127.0.0.1"
HEALTH: Final = ("GET", "/_health")
MAX_BYTES: Final = 4 << 20
"""Of a request: far above what the model's limits add up to."""


class ServiceServer(ThreadingHTTPServer):
    """Serves one `Service` on a port of loopback; StartError where the port cannot be had."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port: int, service: Service, executor: Executor, secret: str) -> None:
        try:
            super().__init__((HOST, port), Handler)
        except (OSError, OverflowError):
            raise StartError(
                f"port {port} of {HOST} cannot be used: another program has it; take another, or 0 for a free one"
            ) from None
        self.service = service
        self.executor = executor
        self.secret = secret
        """By which requests are signed."""

    @property
    def endpoint(self) -> str:
        """The address to point boto3 at."""
        return f"http://{HOST}:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    """One connection; each answer leaves in one piece, for a header sent alone waits for the client's delayed answer."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True
    server: ServiceServer

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the library's
        """Requests are not logged: errors are answered."""

    def _answer(self) -> None:
        body = self._body()
        try:
            self._refuse_foreign(body)
            members = self._performed(body)
        except ServiceError as error:
            self._refuse(error)
        except Exception as error:  # noqa: BLE001 - a defect must answer as AWS's would, not cut the connection
            traceback.print_exc(file=sys.stderr)
            self._refuse(InternalServerError(type(error).__name__))
        else:
            self._send(200, members, {})

    do_GET = do_POST = do_PATCH = do_DELETE = _answer  # noqa: N815 - the names are the library's

    def _body(self) -> bytes:
        size = self.headers.get("Content-Length", "0")
        if not size.isdecimal() or int(size) > MAX_BYTES:
            self.close_connection = True
            return b""
        return self.rfile.read(int(size))

    def _refuse_foreign(self, body: bytes) -> None:
        """Runs execute code: neither a page in a browser nor another user of this machine may ask for one."""
        headers = {name.lower(): value for name, value in self.headers.items()}
        if not is_local(headers):
            raise AccessDeniedError("only programs on this machine are served, by the name 127.0.0.1 or localhost")
        is_open = (self.command, self.path) == HEALTH
        if not is_open and not is_trusted(self.server.secret, self.command, self.path, headers, body):
            raise AccessDeniedError("sign the request by the secret key of this start")

    def _performed(self, body: bytes) -> Mapping[str, Any]:
        control = _CONTROLS.get((self.command, self.path))
        if control is not None:
            return control(self.server, body)
        operation, request = read_request(self.command, self.path, body)
        return self.server.service.perform(operation, request)

    def _refuse(self, error: ServiceError) -> None:
        self._send(error.status, {"__type": error.code, "message": str(error)}, {"x-amzn-ErrorType": error.code})

    def _send(self, status: int, members: Mapping[str, Any], headers: Mapping[str, str]) -> None:
        content = json.dumps(members, default=_written).encode()
        own = {
            "Content-Type": "application/json",
            "Content-Length": str(len(content)),
            "x-amzn-RequestId": str(uuid4()),
        }
        self.send_response(status)
        for name, value in {**own, **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)


def _add_fault(server: ServiceServer, body: bytes) -> Mapping[str, Any]:
    try:
        document = json.loads(body)
    except ValueError:
        raise SerializationError("the body is not JSON") from None
    if not isinstance(document, dict):
        raise Invalid("an order is a JSON object")
    server.service.order(document)
    return _list_faults(server, body)


def _list_faults(server: ServiceServer, _body: bytes) -> Mapping[str, Any]:
    return {"faults": server.service.waiting_orders()}


def _clear_faults(server: ServiceServer, body: bytes) -> Mapping[str, Any]:
    server.service.forget_orders()
    return _list_faults(server, body)


def _health(server: ServiceServer, _body: bytes) -> Mapping[str, Any]:
    return {"ready": server.executor.ready()}


_CONTROLS: Final[Mapping[tuple[str, str], Callable[[ServiceServer, bytes], Mapping[str, Any]]]] = {
    HEALTH: _health,
    ("GET", "/_faults"): _list_faults,
    ("POST", "/_faults"): _add_fault,
    ("DELETE", "/_faults"): _clear_faults,
}


def _written(value: object) -> float:
    if isinstance(value, datetime):
        return value.timestamp()
    raise TypeError(type(value).__name__)


# ---- Operations by AWS's names ----


_IDLE: Final = frozenset({ApplicationState.CREATED, ApplicationState.STOPPED})


class Service:
    """Applications and runs of one account in one region, in memory.

    Applications are also in a file, if one is given: a service that is started again has them, not started, and no runs.
    """

    def __init__(
        self, home: Home, life: Life, reporter: run_life.Reporter, orders: Orders, kept: Path | None = None
    ) -> None:
        self._buckets = TokenBuckets(life.quotas.rates, time.monotonic)
        self._home = home
        self._life = life
        self._reporter = reporter
        self._orders = orders
        self._applications: dict[str, Application] = {}
        self._runs: dict[str, Run] = {}
        self._tokens: dict[tuple[str, ...], tuple[Members, Members]] = {}
        self._kept = kept
        if kept is not None and kept.exists():
            self._applications = {
                application.id: application for application in map(restored, json.loads(kept.read_text()))
            }

    def perform(self, operation: str, request: Members) -> Members:
        """Perform an operation; ServiceError where it is refused."""
        performed = OPERATIONS.get(operation)
        if performed is None:
            raise Unsupported(f"{operation} is not played by the local EMR Serverless")
        with self._life.changed:
            self._orders.refuse(operation)
            self._buckets.take(operation)
            return performed(self, request)

    def order(self, document: Mapping[str, Any]) -> None:
        """Take a fault or an error that the next runs or calls get; Invalid where it is none."""
        with self._life.changed:
            self._orders.add(document)

    def forget_orders(self) -> None:
        """No fault and no error is due any more."""
        with self._life.changed:
            self._orders.clear()

    def waiting_orders(self) -> list[Members]:
        """Due orders, with the times that are left."""
        with self._life.changed:
            return self._orders.documents()

    def create_application(self, request: Members) -> Members:
        if request["type"].upper() != "SPARK":
            raise Invalid("Value at 'type': only Spark applications are played by the local EMR Serverless")
        return self._once(("CreateApplication",), request, self._new_application)

    def get_application(self, request: Members) -> Members:
        return {"application": self._application(request).document()}

    def list_applications(self, request: Members) -> Members:
        """ListApplications, newest first."""
        wanted = set(request.get("states", ApplicationState))
        applications = [
            application for application in reversed(self._applications.values()) if application.state in wanted
        ]
        return _page("applications", [application.summary() for application in applications], request)

    def update_application(self, request: Members) -> Members:
        """UpdateApplication: of one that is not started."""
        application = self._application(request)
        if application.state not in _IDLE:
            raise Invalid(
                f"Application {application.id} must be in state CREATED or STOPPED, it is {application.state}"
            )
        application.request |= {name: request[name] for name in request.keys() - {"applicationId", "clientToken"}}
        application.updated_at = now()
        self._keep()
        return {"application": application.document()}

    def start_application(self, request: Members) -> Members:
        """StartApplication; of a started one nothing is changed."""
        application = self._application(request)
        if application.state in _IDLE:
            self._change(application, ApplicationState.STARTING, ApplicationState.STARTED)
        return {}

    def stop_application(self, request: Members) -> Members:
        """StopApplication: once all its runs have ended."""
        application = self._application(request)
        if any(run.application is application and run.state not in ENDS for run in self._runs.values()):
            raise Invalid(f"Application {application.id} cannot be stopped: it has job runs that have not ended")
        if application.state is ApplicationState.STARTED:
            self._change(application, ApplicationState.STOPPING, ApplicationState.STOPPED)
        return {}

    def delete_application(self, request: Members) -> Members:
        """DeleteApplication: of one that is not started. It can still be looked at."""
        application = self._application(request)
        if application.state not in _IDLE:
            raise Invalid(
                f"Application {application.id} must be in state CREATED or STOPPED, it is {application.state}"
            )
        self._change(application, ApplicationState.TERMINATED)
        return {}

    def start_job_run(self, request: Members) -> Members:
        application = self._application(request)
        refuse_unsupported(request)
        refuse_workers(read_parameters(request["jobDriver"]["sparkSubmit"].get("sparkSubmitParameters", "")).cluster)
        return self._once(("StartJobRun", application.id), request, self._new_run)

    def get_job_run(self, request: Members) -> Members:
        """GetJobRun, as of the latest attempt or the one asked for."""
        run = self._run(request)
        number = request.get("attempt", run.latest.number)
        if number > run.latest.number:
            raise Absent(f"Job run {run.id} has no attempt {number}")
        return {"jobRun": run.document(run.attempts[number - 1])}

    def list_job_runs(self, request: Members) -> Members:
        """ListJobRuns, newest first."""
        application = self._application(request)
        summaries = [
            run.summary()
            for run in reversed(self._runs.values())
            if run.application is application and _wanted(run, request)
        ]
        return _page("jobRuns", summaries, request)

    def list_job_run_attempts(self, request: Members) -> Members:
        """ListJobRunAttempts, first one first."""
        run = self._run(request)
        return _page("jobRunAttempts", [run.attempt_summary(attempt) for attempt in run.attempts], request)

    def cancel_job_run(self, request: Members) -> Members:
        """CancelJobRun; refused for a run that has ended."""
        run = self._run(request)
        if run.state in ENDS:
            raise Invalid(f"Job run {run.id} is not in a cancellable state: it is {run.state}")
        self._life.cancel(run, "Cancelled by CancelJobRun")
        return {"applicationId": run.application.id, "jobRunId": run.id}

    def list_tags(self, request: Members) -> Members:
        return {"tags": self._tagged(request).get("tags", {})}

    def tag(self, request: Members) -> Members:
        self._tagged(request).setdefault("tags", {}).update(request["tags"])
        return {}

    def untag(self, request: Members) -> Members:
        tags = self._tagged(request).get("tags", {})
        for key in request["tagKeys"]:
            tags.pop(key, None)
        return {}

    def _once(self, scope: tuple[str, ...], request: Members, make: Callable[[Members], Members]) -> Members:
        """The result of a client token, from before or made now; Conflict if it was made for another request."""
        key = (*scope, request["clientToken"])
        if key not in self._tokens:
            self._tokens[key] = request, make(request)
        before, answer = self._tokens[key]
        if before != request:
            raise Conflict("The client token was used before, for another request")
        return answer

    def _new_application(self, request: Members) -> Members:
        identity, moment = new_id(), now()
        members = {name: value for name, value in request.items() if name != "clientToken"}
        application = Application(identity, self._home.application(identity), members, moment, moment)
        self._applications[identity] = application
        self._reporter.plain(run_life.APPLICATION, application.detail(""), moment)
        self._change(application, ApplicationState.CREATED)
        named = {"name": members["name"]} if "name" in members else {}
        return {"applicationId": identity, "arn": application.arn, **named}

    def _new_run(self, request: Members) -> Members:
        application = self._application(request)
        self._life.refuse_full_queue()
        if application.state in _IDLE:
            if not application.starts_itself:
                raise Conflict(f"Application {application.id} is {application.state} and does not start itself")
            self._change(application, ApplicationState.STARTING, ApplicationState.STARTED)
        fault = self._orders.fault_for(request)
        identity = new_id()
        arn = self._home.run(application.id, identity)
        members = {**request, "tags": dict(request.get("tags", {}))}
        run = Run(identity, arn, application, members, self._home.caller, now(), fault)
        self._runs[identity] = run
        self._life.submit(run)
        return {"applicationId": application.id, "jobRunId": identity, "arn": arn}

    def _change(self, application: Application, *states: ApplicationState) -> None:
        for state in states:
            previous, application.state, application.updated_at = application.state, state, now()
            self._reporter.plain(run_life.APPLICATION, application.detail(previous), application.updated_at)
        self._keep()

    def _keep(self) -> None:
        """Write the applications that are not deleted, whole or not at all."""
        if self._kept is not None:
            present = [
                application
                for application in self._applications.values()
                if application.state is not ApplicationState.TERMINATED
            ]
            aside = self._kept.with_suffix(".aside")
            aside.write_text(json.dumps([application.kept() for application in present]))
            aside.replace(self._kept)

    def _application(self, request: Members) -> Application:
        application = self._applications.get(request["applicationId"])
        if application is None:
            raise Absent(f"Application {request['applicationId']} does not exist")
        return application

    def _run(self, request: Members) -> Run:
        application = self._application(request)
        run = self._runs.get(request["jobRunId"])
        if run is None or run.application is not application:
            raise Absent(f"Job run {request['jobRunId']} does not exist")
        return run

    def _tagged(self, request: Members) -> Members:
        """The request of an application or run: what holds its tags."""
        applications = {application.arn: application.request for application in self._applications.values()}
        requests = applications | {run.arn: run.request for run in self._runs.values()}
        if request["resourceArn"] not in requests:
            raise Absent(f"Resource {request['resourceArn']} does not exist")
        return requests[request["resourceArn"]]


OPERATIONS: Final[Mapping[str, Callable[[Service, Members], Members]]] = {
    "CreateApplication": Service.create_application,
    "GetApplication": Service.get_application,
    "ListApplications": Service.list_applications,
    "UpdateApplication": Service.update_application,
    "StartApplication": Service.start_application,
    "StopApplication": Service.stop_application,
    "DeleteApplication": Service.delete_application,
    "StartJobRun": Service.start_job_run,
    "GetJobRun": Service.get_job_run,
    "ListJobRuns": Service.list_job_runs,
    "ListJobRunAttempts": Service.list_job_run_attempts,
    "CancelJobRun": Service.cancel_job_run,
    "ListTagsForResource": Service.list_tags,
    "TagResource": Service.tag,
    "UntagResource": Service.untag,
}

_PAGE: Final = 50


def _wanted(run: Run, request: Members) -> bool:
    """Whether a ListJobRuns request means this run."""
    return (
        run.state in request.get("states", RunState)
        and request.get("createdAtAfter", run.created_at) <= run.created_at
        and run.created_at <= request.get("createdAtBefore", run.created_at)
        and request.get("mode", "BATCH") == "BATCH"
    )


def _page(name: str, items: Sequence[Members], request: Members) -> Members:
    """The page that a request asks for, and the token of the next one where there is one."""
    start = _place(request["nextToken"]) if "nextToken" in request else 0
    end = start + request.get("maxResults", _PAGE)
    following = {"nextToken": base64.urlsafe_b64encode(str(end).encode()).decode()} if end < len(items) else {}
    return {name: list(items[start:end]), **following}


def _place(token: str) -> int:
    try:
        return int(base64.urlsafe_b64decode(token))
    except ValueError:
        raise Invalid("Value at 'nextToken' is none that was given out") from None
