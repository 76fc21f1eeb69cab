"""Reads AWS for probes: short patience, each question asked once, the difference of the clocks noted.

A probe must never hold up the others, so a client has one retry and seconds, not minutes, of patience.
"""

from __future__ import annotations

import json
import threading
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Final

from lakegate.functions.adapters.clients import session
from lakegate.functions.adapters.errors import port_errors

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lakegate.functions.ports.errors import PortError

SECONDS: Final = 5.0
"""The usual time for all probes together."""
CONNECT_SHARE, READ_SHARE = 0.3, 0.7
"""The shares of that time after which a connection, and an answer, count as missing."""
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
    """Reads of AWS that no port has. An answer is kept, so that two probes may ask the same question.

    One request has the seconds of all probes together, because they run at once.
    """

    def __init__(self, seconds: float = SECONDS, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self.now = now
        self._seconds = seconds
        self.skew = 0.0
        """Seconds that this machine's clock is ahead of AWS's, by the latest answer."""
        self._clients: dict[tuple[str, str | None], Any] = {}
        self._answers: dict[str, tuple[threading.Lock, list[Any]]] = {}
        self._lock = threading.Lock()

    def __call__(self, service: str, operation: str, **request: object) -> Any:  # noqa: ANN401 - as boto3 has it
        """One read. Raises PortError."""
        with self._lock:
            key = json.dumps([service, operation, request], sort_keys=True, default=str)
            alone, answers = self._answers.setdefault(key, (threading.Lock(), []))
        with alone:
            if not answers:
                answers.append(self._asked(service, operation, request))
            return answers[0]

    def in_region(self, region: str, service: str, operation: str, **request: object) -> Any:  # noqa: ANN401 - likewise
        """One read of another region. Raises PortError."""
        with port_errors():
            return getattr(self._client(service, region), operation)(**request)

    def _asked(self, service: str, operation: str, request: Mapping[str, object]) -> Any:  # noqa: ANN401 - likewise
        with port_errors():
            client = self._client(service)
            from botocore.exceptions import ClientError  # noqa: PLC0415 - loaded with the first client

            try:
                answer = getattr(client, operation)(**request)
            except ClientError as error:
                self._note(error.response)
                raise
            self._note(answer)
            return answer

    def _note(self, answer: Mapping[str, Any]) -> None:
        sent = answer.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get("date")
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
