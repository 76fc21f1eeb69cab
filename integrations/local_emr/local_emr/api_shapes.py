"""Refusals of the service, in AWS's own codes.

::

    ServiceError
    ├── Invalid              ValidationException        400
    ├── SerializationError   SerializationException     400  the body is not JSON, or a member has another type
    ├── Absent               ResourceNotFoundException  404
    ├── Conflict             ConflictException          409
    ├── QuotaExceeded        ServiceQuotaExceededException 402
    ├── ThrottlingError      ThrottlingException        429
    ├── InternalServerError  InternalServerException    500
    ├── Unsupported          UnknownOperationException  501  an operation that this local service does not have
    └── AccessDeniedError    AccessDeniedException      403  a caller that is not a program of this machine
"""

from __future__ import annotations

import json
import re
import secrets
import shlex
import string
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Final
from urllib.parse import parse_qs, unquote, urlsplit

from botocore.loaders import Loader
from botocore.model import ServiceModel
from botocore.utils import parse_timestamp

if TYPE_CHECKING:
    from botocore.model import OperationModel, Shape, StructureShape


class StartError(Exception):
    """The reason why the service does not start, in one sentence with what to do."""


class ServiceError(Exception):
    """An answer other than the one asked for; its text is the message that the caller gets."""

    code: ClassVar[str]
    status: ClassVar[int]


class Invalid(ServiceError):  # noqa: N818 - named as AWS names it, like its siblings
    """The request breaks a constraint, or the resource is in no state for it."""

    code, status = "ValidationException", 400


class SerializationError(ServiceError):
    """The request cannot be read."""

    code, status = "SerializationException", 400


class Absent(ServiceError):  # noqa: N818 - as above
    """No such application, run or attempt."""

    code, status = "ResourceNotFoundException", 404


class Conflict(ServiceError):  # noqa: N818 - as above
    """A client token that belongs to another request, or an application that takes no runs."""

    code, status = "ConflictException", 409


class ThrottlingError(ServiceError):
    """Too many requests of an operation."""

    code, status = "ThrottlingException", 429


class QuotaExceeded(ServiceError):  # noqa: N818 - as above
    """The account has as many as it may."""

    code, status = "ServiceQuotaExceededException", 402


class InternalServerError(ServiceError):
    """The service failed, whether or not the effect happened."""

    code, status = "InternalServerException", 500


class Unsupported(ServiceError):  # noqa: N818 - as above
    """An operation of AWS that is not played here."""

    code, status = "UnknownOperationException", 501


class AccessDeniedError(ServiceError):
    """A request that a web page sent, or that came by another name than loopback's."""

    code, status = "AccessDeniedException", 403


# ---- Names of the service ----


_LETTERS: Final = string.digits + string.ascii_lowercase


@dataclass(frozen=True, slots=True)
class Home:
    """The account and region that this service plays."""

    account: str
    region: str

    def application(self, identity: str) -> str:
        """The ARN of an application."""
        return f"arn:aws:emr-serverless:{self.region}:{self.account}:/applications/{identity}"

    def run(self, application: str, identity: str) -> str:
        """The ARN of a job run."""
        return f"{self.application(application)}/jobruns/{identity}"

    @property
    def caller(self) -> str:
        """The creator of everything: signatures are not looked at, so it is always the same user."""
        return f"arn:aws:iam::{self.account}:user/local"


def new_id() -> str:
    """An id as EMR Serverless gives them: sixteen digits and small letters, two zeros first."""
    return "00" + "".join(secrets.choice(_LETTERS) for _ in range(14))


def now() -> datetime:
    """The time, in UTC."""
    return datetime.now(UTC)


# ---- StartJobRun: what is refused, and Spark's parameters ----


Members = dict[str, Any]
"""Of a request or a response, as boto3 has them."""
_DRIVER: Final = "spark.emr-serverless.driverEnv."
_OF_AWS: Final = (
    "spark.emr-serverless.",
    "spark.executor",
    "spark.dynamicAllocation.",
    "spark.driver.cores",
    "spark.driver.memory",
    "spark.driver.maxResultSize",
    "spark.driver.disk",
    "spark.driver.extraJavaOptions",
    "spark.archives",
    "spark.app.name",
)
"""Settings of a size or place that one machine does not have: `local_emr.spark_rules` judges them."""
_INTERPRETER: Final = frozenset({"PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"})
"""These name an interpreter inside an archive; here it is the service's own."""
_STATIC: Final = ("spark.sql.extensions", "spark.sql.warehouse.dir", "spark.sql.catalogImplementation")
"""Settings of Spark SQL that a running session cannot change."""
_FLAGS: Final = frozenset({"--verbose", "-v", "--supervise"})
_LISTS: Final[Mapping[str, str]] = {
    "--py-files": "spark.submit.pyFiles",
    "--jars": "spark.jars",
    "--archives": "spark.archives",
    "--name": "spark.app.name",
    "--driver-memory": "spark.driver.memory",
    "--driver-cores": "spark.driver.cores",
    "--executor-memory": "spark.executor.memory",
    "--executor-cores": "spark.executor.cores",
    "--num-executors": "spark.executor.instances",
}
"""Options that are another name of a setting."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """The parameters of a run: settings that a live session takes, those that need a session of their own, files, environment."""

    live: Mapping[str, str]
    fixed: Mapping[str, str]
    environment: Mapping[str, str]
    py_files: tuple[str, ...]
    jars: tuple[str, ...]
    options: tuple[str, ...]
    """The remaining options, as spark-submit takes them."""
    cluster: Mapping[str, str]
    """Settings of a cluster: this machine has none, but they must be those of a run that EMR Serverless can start."""


def read_parameters(text: str) -> Parameters:
    """Sort the parameters of a run; Invalid where spark-submit would not understand them."""
    settings, options = _words(text)
    files, jars = (_split(settings.pop(name, "")) for name in ("spark.submit.pyFiles", "spark.jars"))
    environment = {
        name.removeprefix(_DRIVER): settings[name]
        for name in settings
        if name.startswith(_DRIVER) and name.removeprefix(_DRIVER) not in _INTERPRETER
    }
    here = {name: value for name, value in settings.items() if not name.startswith(_OF_AWS)}
    live = {name: value for name, value in here.items() if name.startswith("spark.sql.") and name not in _STATIC}
    fixed = {name: value for name, value in here.items() if name not in live}
    cluster = {name: value for name, value in settings.items() if name.startswith(_OF_AWS)}
    return Parameters(live, fixed, environment, files, jars, options, cluster)


def _words(text: str) -> tuple[dict[str, str], tuple[str, ...]]:
    settings: dict[str, str] = {}
    others: list[str] = []
    for option, value in _pairs(text):
        if option in {"--conf", "-c"}:
            name, equals, setting = value.partition("=")
            if not equals:
                raise Invalid("sparkSubmitParameters: --conf takes name=value")
            settings[name.strip()] = setting
        elif option in _LISTS:
            settings[_LISTS[option]] = value
        else:
            others += [option] if option in _FLAGS else [option, value]
    return settings, tuple(others)


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    try:
        words = iter(shlex.split(text))
    except ValueError as error:
        raise Invalid(f"sparkSubmitParameters: {error}") from None
    for word in words:
        option, equals, value = word.partition("=")
        if not option.startswith("-"):
            raise Invalid("sparkSubmitParameters hold options only: the program is the entry point")
        if equals or option in _FLAGS:
            yield option, value
            continue
        following = next(words, None)
        if following is None:
            raise Invalid(f"sparkSubmitParameters: {option} lacks its value")
        yield option, following


def _split(text: str) -> tuple[str, ...]:
    return tuple(part for part in text.split(",") if part)


MIN_MINUTES: Final = 5
MAX_ATTEMPTS: Final = 10


def refuse_unsupported(request: Members) -> None:
    """Invalid for a request that AWS refuses beyond its model, or that this service does not support."""
    if request.get("mode", "BATCH") != "BATCH":
        raise Invalid("Value at 'mode': only BATCH is played by the local EMR Serverless")
    if "sparkSubmit" not in request.get("jobDriver", {}):
        raise Invalid("Value at 'jobDriver': only sparkSubmit is played by the local EMR Serverless")
    if request.get("executionTimeoutMinutes", MIN_MINUTES) < MIN_MINUTES:
        raise Invalid(f"RunTimeout must be at least {MIN_MINUTES} minutes")
    if request.get("retryPolicy", {}).get("maxAttempts", 1) > MAX_ATTEMPTS:
        raise Invalid(f"Value at 'retryPolicy.maxAttempts': at most {MAX_ATTEMPTS}")
    _refuse_policy(request.get("executionIamPolicy", {}).get("policy"))


def _refuse_policy(text: str | None) -> None:
    try:
        document = json.loads(text) if text is not None else {"Statement": []}
    except ValueError:
        document = None
    if not isinstance(document, dict) or "Statement" not in document:
        raise Invalid("Value at 'executionIamPolicy.policy': not a policy document")


# ---- The API by botocore's model ----
# Nothing about members, lengths, patterns or values is written down a second time here.


SERVICE: Final = "emr-serverless"
_LABEL: Final = re.compile(r"\\{(\w+)\\}")


@dataclass(frozen=True, slots=True)
class OperationRoute:
    """Method and path of an operation."""

    operation: str
    method: str
    path: re.Pattern[str]


@cache
def model() -> ServiceModel:
    """Botocore's description of the service."""
    return ServiceModel(Loader().load_service_model(SERVICE, "service-2"), SERVICE)


@cache
def routes() -> tuple[OperationRoute, ...]:
    """One route for every operation that AWS has."""
    return tuple(_route(model().operation_model(name)) for name in model().operation_names)


def read_request(method: str, target: str, body: bytes) -> tuple[str, dict[str, Any]]:
    """The operation that an HTTP request names, and its members, checked against the model.

    Raises Unsupported for no operation of AWS, Malformed and Invalid for one that AWS would refuse unseen.
    """
    parts = urlsplit(target)
    for route in routes():
        place = route.path.fullmatch(parts.path)
        if place and route.method == method:
            operation = model().operation_model(route.operation)
            assert operation.input_shape is not None, "every operation of this service takes something"
            query = parse_qs(parts.query, keep_blank_values=True)
            request = _members(operation.input_shape, place.groupdict(), query, _document(body))
            refuse_violations(operation.input_shape, request)
            return route.operation, request
    raise Unsupported(f"no operation answers to {method} {parts.path}")


def refuse_violations(shape: Shape, request: Mapping[str, Any]) -> None:
    """Invalid with every constraint of the model that a request breaks; the values themselves are not repeated."""
    violations = list(_violations(shape, request, ""))
    if violations:
        raise Invalid(
            f"{len(violations)} validation error{'s' * (len(violations) > 1)} detected: {'; '.join(violations)}"
        )


def _route(operation: OperationModel) -> OperationRoute:
    path = _LABEL.sub(r"(?P<\1>[^/]+)", re.escape(operation.http["requestUri"]))
    return OperationRoute(operation.name, operation.http["method"], re.compile(path))


def _document(body: bytes) -> Mapping[str, Any]:
    try:
        document = json.loads(body or b"{}")
    except ValueError:
        raise SerializationError("the body is not JSON") from None
    if not isinstance(document, dict):
        raise SerializationError("the body is not a JSON object")
    return document


def _members(
    shape: StructureShape, labels: Mapping[str, str], query: Mapping[str, list[str]], document: Mapping[str, Any]
) -> dict[str, Any]:
    request: dict[str, Any] = {}
    for name, member in shape.members.items():
        wire = member.serialization.get("name", name)
        match member.serialization.get("location"):
            case "uri":
                request[name] = unquote(labels[wire])
            case "querystring":
                if wire in query:
                    request[name] = _from_query(member, query[wire], name)
            case _:
                if document.get(wire) is not None:
                    request[name] = document[wire]
    return request


def _from_query(shape: Shape, values: list[str], name: str) -> object:
    readers: dict[str, Callable[[str], object]] = {"integer": int, "timestamp": parse_timestamp}
    if shape.type_name == "list":
        return values
    try:
        return readers.get(shape.type_name, str)(values[0])
    except ValueError:
        raise SerializationError(f"{name} is not of type {shape.type_name}") from None


def _violations(shape: Shape, value: object, path: str) -> Iterator[str]:
    expected, inner = _KINDS[shape.type_name]
    if not isinstance(value, expected) or (isinstance(value, bool) and bool not in expected):
        raise SerializationError(f"{path} is not of type {shape.type_name}")
    yield from _bounds(shape, value, path)
    yield from inner(shape, value, path)


def _bounds(shape: Shape, value: Any, path: str) -> Iterator[str]:  # noqa: ANN401 - whatever JSON holds
    size, measured = (value, "value") if isinstance(value, int | float) else (_length(value), "length")
    if size is not None and size < shape.metadata.get("min", size):
        yield _violation(path, f"have {measured} greater than or equal to {shape.metadata['min']}")
    if size is not None and size > shape.metadata.get("max", size):
        yield _violation(path, f"have {measured} less than or equal to {shape.metadata['max']}")


def _length(value: object) -> int | None:
    return len(value) if isinstance(value, str | list | dict) else None


def _structure(shape: Any, value: Mapping[str, Any], path: str) -> Iterator[str]:  # noqa: ANN401 - botocore's shapes are untyped
    for name in shape.required_members:
        if value.get(name) is None:
            yield _violation(_below(path, name), "not be null")
    for name, member in shape.members.items():
        if value.get(name) is not None:
            yield from _violations(member, value[name], _below(path, name))


def _list(shape: Any, value: list[object], path: str) -> Iterator[str]:  # noqa: ANN401 - as above
    for place, member in enumerate(value, 1):
        yield from _violations(shape.member, member, f"{path}.{place}.member")


def _map(shape: Any, value: Mapping[str, object], path: str) -> Iterator[str]:  # noqa: ANN401 - as above
    for key, member in value.items():
        yield from _violations(shape.key, key, f"{path}.key")
        yield from _violations(shape.value, member, f"{path}.{key}.member")


def _string(shape: Any, value: str, path: str) -> Iterator[str]:  # noqa: ANN401 - as above
    if shape.enum and value not in shape.enum:
        yield _violation(path, f"satisfy enum value set: [{', '.join(shape.enum)}]")
    pattern = shape.metadata.get("pattern")
    if pattern is not None and not re.fullmatch(pattern, value):
        yield _violation(path, f"satisfy regular expression pattern: {pattern}")


def _scalar(_shape: object, _value: object, _path: str) -> Iterator[str]:
    return iter(())


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _violation(path: str, constraint: str) -> str:
    return f"Value at '{path}' failed to satisfy constraint: Member must {constraint}"


_KINDS: Final[Mapping[str, tuple[Any, Callable[[Any, Any, str], Iterator[str]]]]] = {
    "structure": ((dict,), _structure),
    "list": ((list,), _list),
    "map": ((dict,), _map),
    "string": ((str,), _string),
    "integer": ((int,), _scalar),
    "long": ((int,), _scalar),
    "double": ((int, float), _scalar),
    "boolean": ((bool,), _scalar),
    "timestamp": ((object,), _scalar),
}


# ---- States of applications and job runs ----


class ApplicationState(StrEnum):
    """Of an application."""

    CREATING = "CREATING"
    CREATED = "CREATED"
    STARTING = "STARTING"
    STARTED = "STARTED"
    STOPPING = "STOPPING"
    STOPPED = "STOPPED"
    TERMINATED = "TERMINATED"


class RunState(StrEnum):
    """Of a job run."""

    SUBMITTED = "SUBMITTED"
    QUEUED = "QUEUED"
    """The application runs as many as it may at once."""
    PENDING = "PENDING"
    SCHEDULED = "SCHEDULED"
    """Taken by the application, waiting for what it runs on."""
    RUNNING = "RUNNING"
    SUCCESS = "SUCCESS"
    FAILED = "FAILED"
    CANCELLING = "CANCELLING"
    CANCELLED = "CANCELLED"


ENDS: Final = frozenset({RunState.SUCCESS, RunState.FAILED, RunState.CANCELLED})
WAITING: Final = frozenset({RunState.SUBMITTED, RunState.QUEUED})


# ---- Stopping a run ----


class StoppedError(Exception):
    """The run was cancelled, or its time is over."""


class Stop:
    """The reason why a run must end before its program does; no reason, no stop."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requested = threading.Event()
        self._ends: list[Callable[[], None]] = []
        self.reason = ""

    @property
    def requested(self) -> bool:
        """Whether the run must end."""
        return self._requested.is_set()

    def say(self, reason: str) -> None:
        """End the run; the first reason stays."""
        with self._lock:
            if self.requested:
                return
            self.reason = reason
            self._requested.set()
            ends = list(self._ends)
        for end in ends:
            end()

    def wait(self, seconds: float | None) -> None:
        """Let that much time pass (None: all of it); StoppedError as soon as the run must end."""
        if self._requested.wait(seconds):
            raise StoppedError(self.reason)

    @contextmanager
    def calls(self, end: Callable[[], None]) -> Iterator[None]:
        """While inside, a request to stop calls `end`, at once if it was made before."""
        with self._lock:
            self._ends.append(end)
            requested = self.requested
        if requested:
            end()
        try:
            yield
        finally:
            with self._lock:
                self._ends.remove(end)
