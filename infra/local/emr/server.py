"""The HTTP server: REST-JSON as boto3 sends it, and the control addresses, only on loopback."""

from __future__ import annotations

import json
import sys
import traceback
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from infra.local.aws.guard import is_local, is_trusted
from infra.local.emr.emr_errors import AccessDeniedError, InternalServerError, Invalid, SerializationError, ServiceError
from infra.local.emr.shapes import read_request
from lakegate.errors import SetUpError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from infra.local.emr.executor import Executor
    from infra.local.emr.service import Service

HOST: Final = "127.0.0.1"


HEALTH: Final = ("GET", "/_health")


MAX_BYTES: Final = 4 << 20
"""Of a request: far above what the model's limits add up to."""


class ServiceServer(ThreadingHTTPServer):
    """Serves one `Service` on a port of loopback; SetUpError where the port cannot be had."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port: int, service: Service, executor: Executor, secret: str) -> None:
        try:
            super().__init__((HOST, port), Handler)
        except (OSError, OverflowError):
            raise SetUpError(
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
