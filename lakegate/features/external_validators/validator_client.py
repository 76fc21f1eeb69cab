"""DCM's Validator API called over HTTPS."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPResponse
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from lakegate.aws.clients import client, sign_request, signer
from lakegate.aws.https_client import Web, read_exactly, refuse_status, split
from lakegate.aws.secrets import CREDENTIAL_KEYS, Secrets, header_of
from lakegate.aws.settings import Settings
from lakegate.base.errors import NotFound, PortError, Unanswered
from lakegate.features.external_validators.registered_validators import ValidatorService
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.ports import Address

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


# ---- Requests to validators ----
# The address of the data is signed here and goes into the request alone: it is a right to read, so nothing else has it.


MAX_RESPONSE_BYTES: Final = 1 << 20
"""Bytes."""
PAUSE: Final = 60.0
"""Seconds for which a service is not polled that has used up its time, from the end of its first request."""
REQUESTS: Final = 2
"""Requests of the full length in the time that a service may take within a pause."""
NOT_FOUND, CONFLICT = 404, 409
SCOPE: Final = frozenset({"host"})
"""Of every secret: the only host that it is sent to, so that an address cannot be registered with the secret of another one."""


@dataclass(frozen=True, slots=True)
class HttpsValidators:
    """Validators."""

    web: Web
    secrets: Secrets
    hosts: frozenset[str]
    """In lower case; no other one is asked."""
    prefix: str
    """Of the names of secrets."""
    s3: S3Client
    """It signs addresses of data."""
    sign: Callable[[str, str, bytes, Mapping[str, str]], dict[str, str]]
    """The headers of a request (method, URL, body, headers) signed by IAM."""
    spent: dict[str, tuple[float, float]] = field(default_factory=dict, repr=False)
    """By address, since when seconds are counted, by the clock of the process, and how many its requests have taken."""

    def start(self, service: ValidatorService, validation: ExternalValidation) -> None:
        """POST /v1/validation/start. A validator that knows the id and compares requests (409) has started it before."""
        data = {"Bucket": validation.data.bucket, "Key": validation.data.key, "VersionId": validation.data.version}
        url = self.s3.generate_presigned_url("get_object", Params=data, ExpiresIn=validation.seconds, HttpMethod="GET")
        document = {
            "workloadId": validation.name,
            "validations": [json.loads(rule) for rule in validation.rules],
            "access": {"path": url, **validation.format},
        }
        body, to = json.dumps(document).encode(), f"{service.url}/v1/validation/start"
        if len(body) > self.web.most:
            raise PortError("too-large")
        headers = self._headers(service, "POST", to, body, {"Content-Type": "application/json"})
        with self._response(service, "POST", to, body, headers) as response:
            status = response.status
        if status != CONFLICT:
            refuse_status(status)

    def poll(self, service: ValidatorService, name: str, *, is_last: bool = False) -> bytes:
        """GET /v1/validation/{name}.

        A service whose requests took too long is not polled for a while, but for the last time. Else a sweep would spend its time
        on the deliveries that wait for it, and other deliveries would wait, too.
        """
        if not is_last and self._spent(service)[1] >= REQUESTS * self.web.seconds:
            raise Unanswered("silent")
        url = f"{service.url}/v1/validation/{name}"
        headers = self._headers(service, "GET", url, b"", {"Accept": "application/json", "Accept-Encoding": "identity"})
        with self._response(service, "GET", url, None, headers) as response:
            if response.status == NOT_FOUND:
                raise NotFound("http-404")
            refuse_status(response.status)
            body = read_exactly(response.read, MAX_RESPONSE_BYTES + 1)
            is_whole = not response.length
        if len(body) > MAX_RESPONSE_BYTES:
            raise PortError("too-large")
        if not is_whole:
            raise Unanswered("IncompleteRead")
        return body

    @contextmanager
    def _response(
        self, service: ValidatorService, method: str, url: str, body: bytes | None, headers: Mapping[str, str]
    ) -> Iterator[HTTPResponse]:
        """The response of a service; the time until it is read counts, whatever comes of it."""
        began = time.monotonic()
        try:
            with self.web.request(method, url, body, headers) as response:
                yield response
        finally:
            since, seconds = self._spent(service)
            self.spent[service.url] = since, seconds + time.monotonic() - began

    def _spent(self, service: ValidatorService) -> tuple[float, float]:
        """Since when seconds are counted, and how many they are."""
        now = time.monotonic()
        since, seconds = self.spent.get(service.url, (now, 0.0))
        return (since, seconds) if now < since + PAUSE else (now, 0.0)

    def _headers(
        self, service: ValidatorService, method: str, url: str, body: bytes, headers: dict[str, str]
    ) -> Mapping[str, str]:
        """Headers with the credentials that the service was registered with. Raises PortError."""
        host = split(url).hostname or ""
        if host not in self.hosts:
            raise PortError("host-refused")
        own: dict[str, str] = {"User-Agent": "lakegate", **headers}
        if not service.secret:
            return self.sign(method, url, body, own)
        content: dict[str, Any] = dict(self.secrets.content(f"{self.prefix}{service.secret}", SCOPE | CREDENTIAL_KEYS))
        if content.pop("host", "").lower() != host:
            raise PortError("secret-of-another")
        return own | header_of(content)


def https_validators(settings: Settings) -> HttpsValidators:
    """Services on the hosts that the stack's operator lists."""
    secrets, hosts = Secrets(client("secretsmanager")), frozenset(settings.validator_hosts.lower().split(",")) - {""}
    web = Web(is_local=secrets.are_local)
    return HttpsValidators(web, secrets, hosts, settings.validator_secrets, signer(), sign_request)


# ---- The port ----


class ExternalValidation(NamedTuple):
    """The rules of one technology, for one attempt."""

    name: str
    """Its id for the service: of the workload, the attempt and the technology. 64 letters and digits."""
    rules: tuple[str, ...]
    """In DCM's form, as JSON."""
    data: Address
    """The very version that is judged."""
    format: Mapping[str, object]
    """The form of the data: format, compression and, of CSV, its dialect."""
    seconds: int
    """Seconds for which the service may read it."""


class Validators(Protocol):
    """Services behind addresses that people registered. DCM's API has no operation that ends a validation.

    Errors contain no address, no secret and nothing of a response.
    """

    def start(self, service: ValidatorService, validation: ExternalValidation) -> None:
        """Start a validation; one that was started before by the same name goes on.

        Raises Unanswered and Throttled where calling again is right, and PortError where it is refused, by the service or because
        it may not be reached.
        """
        ...

    def poll(self, service: ValidatorService, name: str, *, is_last: bool = False) -> bytes:
        """The response of the service about a validation, as it came; at most 1 MiB.

        A service that takes long may be Unanswered without being asked, unless nobody will ask after this (`is_last`).
        Raises NotFound (it knows none of this name), and as `start` does.
        """
        ...


def services(dependencies: Dependencies) -> Validators:
    """Services that measure rules for this stack."""
    validators: Validators = dependencies.of("validators")
    return validators
