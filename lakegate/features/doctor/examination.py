"""Probes run at once; table of causes with remedies."""

from __future__ import annotations

import json
import queue
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

import yaml

from lakegate.aws.clients import port_errors, session
from lakegate.aws.open_stack import DeployedStack
from lakegate.aws.settings import Settings, read
from lakegate.base.errors import LakegateError, NotFound, PortError, SetUpError, Unanswered, UnreadableItem
from lakegate.gate.delivery.find_deliveries import Delivery
from lakegate.gate.dependencies import Dependencies

# ---- Causes ----


class Level(StrEnum):
    """The weight of a finding."""

    FAULT = "fault"
    """Deliveries are stuck, or will be."""
    WARNING = "warning"
    """Deliveries move; a person should still know."""


POLICIES: Final = {
    "aws cloudformation describe-stack-events": "OperatorPolicy",
    "aws dynamodb update-continuous-backups": "ResponderPolicy",
    "aws emr-serverless get-dashboard-for-job-run": "OperatorPolicy",
    "aws emr-serverless start-application": "ResponderPolicy",
    "aws emr-serverless stop-application": "ResponderPolicy",
    "aws emr-serverless update-application": "ResponderPolicy",
    "aws events enable-rule": "ResponderPolicy",
    "aws kms cancel-key-deletion": "",
    "aws kms enable-key": "",
    "aws lambda delete-function-concurrency": "ResponderPolicy",
    "aws lambda update-event-source-mapping": "ResponderPolicy",
    "aws logs tail": "OperatorPolicy",
    "aws s3 sync": "DeployerPolicy",
    "aws s3api delete-object": "",
    "aws s3api put-bucket-versioning": "ResponderPolicy",
    "aws s3api restore-object": "ResponderPolicy",
    "aws sns subscribe": "ResponderPolicy",
    "lakegate approve": "EnginePolicy",
    "lakegate decline": "EnginePolicy",
    "lakegate publish": "StewardPolicy",
    "lakegate reactivate": "LifecyclePolicy",
    "lakegate reasons": "OperatorPolicy",
    "lakegate redrive": "ResponderPolicy",
    "lakegate replay": "EnginePolicy",
    "lakegate resume": "ResponderPolicy",
    "lakegate route add": "StewardPolicy",
    "lakegate show": "OperatorPolicy",
    "lakegate stack protect": "",
    "lakegate stack repair": "DeployerPolicy",
    "lakegate subscribers": "OperatorPolicy",
    "lakegate validator list": "OperatorPolicy",
    "lakegate verify": "OperatorPolicy",
}
"""The policy of the stack that holds the rights for a command, by how it begins; empty: an administrator's rights."""
ADMINISTRATOR: Final = "an administrator's rights"


def rights_for(remedy: str) -> tuple[str, ...]:
    """The policies, and an administrator's rights, that the commands of a remedy take, each once, as they come."""
    starts = sorted((remedy.find(command), policy) for command, policy in POLICIES.items() if command in remedy)
    return tuple(dict.fromkeys(policy or ADMINISTRATOR for _, policy in starts))


@dataclass(frozen=True, slots=True)
class CauseFinding:
    """One cause that was found."""

    cause: str
    level: Level
    text: str
    remedy: str
    workload: str = ""
    """The workload that it holds up; empty for the stack."""


@dataclass(frozen=True, slots=True)
class KnownCause:
    """A row of the table: what the cause means, and what to do; both with places for names."""

    code: str
    text: str
    remedy: str
    level: Level

    def found(self, workload: str = "", **names: object) -> CauseFinding:
        """The cause as it was found."""
        return CauseFinding(self.code, self.level, self.text.format(**names), self.remedy.format(**names), workload)


def _read() -> Mapping[str, KnownCause]:
    rows = yaml.safe_load((Path(__file__).parent / "causes.yaml").read_text(encoding="utf-8"))
    return {
        code: KnownCause(code, row["text"], row["remedy"], Level(row.get("level", Level.FAULT)))
        for code, row in rows.items()
    }


CAUSES: Final = _read()


# ---- A reader of AWS for probes ----
# A probe must never hold up the others, so a client has one retry and seconds, not minutes, of patience.


SECONDS_OF_EXAMINATION: Final = 5.0
"""The usual time for all probes together."""
CONNECT_SHARE, READ_SHARE = 0.3, 0.7
"""The shares of that time after which a connection, and a response, count as missing."""
READ_SHARES: Final = {"emr-serverless": 0.25}
"""Of a service whose silence is a cause: both attempts end well within the time."""
DENIED: Final = frozenset(
    {
        "AccessDenied",
        "AccessDeniedException",
        "UnauthorizedOperation",
        "AuthorizationError",
        "AuthorizationErrorException",
        "403",
    }
)
"""Error codes of a right that is missing."""


def code_of(error: PortError) -> str:
    """The error code of AWS, or the name of what botocore raised."""
    return str(error).rpartition(": ")[2]


class StackReader:
    """Reads of AWS that no port has. A response is kept, so that two probes may ask the same question.

    One request has the seconds of all probes together, because they run at once.
    """

    def __init__(
        self, seconds: float = SECONDS_OF_EXAMINATION, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self.now = now
        self._seconds = seconds
        self.skew = 0.0
        """Seconds that this machine's clock is ahead of AWS's, by the latest answer."""
        self._clients: dict[tuple[str, str | None], Any] = {}
        self._responses: dict[str, tuple[threading.Lock, list[Any]]] = {}
        self._lock = threading.Lock()

    def __call__(self, service: str, operation: str, **request: object) -> Any:  # noqa: ANN401 - as boto3 has it
        """One read. Raises PortError."""
        with self._lock:
            key = json.dumps([service, operation, request], sort_keys=True, default=str)
            alone, responses = self._responses.setdefault(key, (threading.Lock(), []))
        with alone:
            if not responses:
                responses.append(self._ask_service(service, operation, request))
            return responses[0]

    def in_region(self, region: str, service: str, operation: str, **request: object) -> Any:  # noqa: ANN401 - likewise
        """One read of another region. Raises PortError."""
        with port_errors():
            return getattr(self._client(service, region), operation)(**request)

    def _ask_service(self, service: str, operation: str, request: Mapping[str, object]) -> Any:  # noqa: ANN401 - likewise
        with port_errors():
            client = self._client(service)
            from botocore.exceptions import ClientError  # noqa: PLC0415 - loaded with the first client

            try:
                response = getattr(client, operation)(**request)
            except ClientError as error:
                self._note(error.response)
                raise
            self._note(response)
            return response

    def _note(self, response: Mapping[str, Any]) -> None:
        sent = response.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get("date")
        if sent:
            self.skew = (self.now() - parsedate_to_datetime(sent)).total_seconds()

    def _client(self, service: str, region: str | None = None) -> Any:  # noqa: ANN401 - the caller names the service
        from botocore.config import Config  # noqa: PLC0415 - loaded with the first client

        with self._lock:  # a botocore session is not safe in threads, its clients are
            if (service, region) not in self._clients:
                self._clients[service, region] = session().create_client(
                    service,
                    region_name=region,
                    config=Config(
                        retries={"mode": "standard", "total_max_attempts": 2 if region is None else 1},
                        connect_timeout=CONNECT_SHARE * self._seconds,
                        read_timeout=READ_SHARES.get(service, READ_SHARE) * self._seconds,
                        max_pool_connections=30,
                    ),
                )
            return self._clients[service, region]


# ---- The examination: every probe in a thread of its own ----


MINUTES: Final = 15
"""Minutes of logs and metrics that are read: three sweeps, each of which reports again what still fails."""


@dataclass(frozen=True, slots=True)
class ExaminedStack:
    """The examined stack, and one of its workloads where the operator names one."""

    stack: DeployedStack
    resources: Mapping[str, str]
    """Physical names by logical ones."""
    dependencies: Dependencies
    ask: StackReader
    delivery: Delivery | None = None
    """The one that the operator names."""
    embedded: bool = False
    """Whether it is on the embedded AWS of a local stack, which cannot answer everything (docs/local-stack.md)."""

    def name(self, logical: str) -> str:
        """The physical name of a resource. Raises SetUpError for a stack of another version."""
        try:
            return self.resources[logical]
        except KeyError:
            raise SetUpError(f"the stack has no resource {logical}: it is of another version") from None

    def there(self, *logical: str) -> tuple[str, ...]:
        """Those of these resources that the stack has: some are made by a parameter."""
        return tuple(entry for entry in logical if entry in self.resources)

    def settings(self) -> Settings:
        """The settings of intake. Raises SetUpError where they are wrong, NotFound without the function."""
        response = self.ask("lambda", "get_function_configuration", FunctionName=self.name("IntakeFunction"))
        return read(response.get("Environment", {}).get("Variables", {}))


@dataclass(frozen=True, slots=True)
class Probe:
    """One look at one thing: read-only, and independent of all others."""

    name: str
    rights: tuple[str, ...]
    """IAM actions that it needs."""
    look: Callable[[ExaminedStack], Iterable[CauseFinding]]


@dataclass(frozen=True, slots=True)
class Unknown:
    """A probe that could not look, and why."""

    probe: str
    reason: str


@dataclass(frozen=True, slots=True)
class Examination:
    """The findings of an examination."""

    findings: tuple[CauseFinding, ...]
    unknown: tuple[Unknown, ...]
    probes: int
    seconds: float


def examine(examined: ExaminedStack, probes: Sequence[Probe], seconds: float) -> Examination:
    """Run all probes at once; one that has not answered after `seconds` is reported as unknown."""
    began = time.monotonic()
    responses: queue.SimpleQueue[tuple[Probe, list[CauseFinding] | str]] = queue.SimpleQueue()
    for probe in probes:  # a thread that hangs must not keep the process
        threading.Thread(
            target=lambda entry: responses.put((entry, _run_probe(entry, examined))), args=(probe,), daemon=True
        ).start()
    found: dict[str, list[CauseFinding] | str] = {}
    while len(found) < len(probes) and (left := began + seconds - time.monotonic()) > 0:
        try:
            probe, response = responses.get(timeout=left)
        except queue.Empty:
            break
        found[probe.name] = response
    late = f"no response within {seconds:g} seconds"
    results = [(probe.name, found.get(probe.name, late)) for probe in probes]
    causes = [entry for _, response in results if isinstance(response, list) for entry in response]
    causes += map(unreadable, examined.dependencies.taken_out())
    return Examination(
        tuple(dict.fromkeys(causes)),
        tuple(Unknown(name, response) for name, response in results if isinstance(response, str)),
        len(probes),
        time.monotonic() - began,
    )


def _run_probe(probe: Probe, examined: ExaminedStack) -> list[CauseFinding] | str:
    try:
        return list(probe.look(examined))
    except UnreadableItem as error:
        return [unreadable(error)]
    except PortError as error:
        return _why(probe, error)
    except LakegateError as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 - a response in an unknown form must not hide what the others found
        return f"the response of AWS could not be read ({type(error).__name__})"


def unreadable(error: UnreadableItem) -> CauseFinding:
    """Stored items that cannot be read, as a cause."""
    return CAUSES["row-unreadable"].found(name=error.name, why=error.why)


def _why(probe: Probe, error: PortError) -> str:
    if code_of(error) in DENIED:
        return f"these credentials lack a right: {', '.join(probe.rights)}"
    if isinstance(error, Unanswered):
        return f"AWS does not answer ({error})"
    return f"what it reads is not there ({error})" if isinstance(error, NotFound) else f"AWS refused: {error}"
