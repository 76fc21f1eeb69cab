"""Requests, responses, problems and callers of the HTTP API; workloads as DCM represents them."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import UnionType
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import parse_qsl, quote

from lakegate.base.errors import LakegateError
from lakegate.base.json_codec import LONGEST_STEP, MOST_ERRORS, DecodeError, decode, encode
from lakegate.base.text import did_you_mean, join_words
from lakegate.contract.contract_model import is_usable
from lakegate.gate.delivery.delivery_row import IDENTIFIER, Workload
from lakegate.gate.delivery.protocol import State
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.registry.contract_owners import EVERY_CONTRACT, are_named
from lakegate.gate.registry.named_contract import numbered_version
from lakegate.report.dcm_results import results_of
from lakegate.verdict.reasons import DUPLICATE, in_words
from lakegate.verdict.verdict import ACCEPTING

if TYPE_CHECKING:
    from lakegate.gate.delivery.find_deliveries import AnnouncedWorkload
    from lakegate.gate.dependencies import Dependencies
    from lakegate.gate.registry.registry_rows import RegistrySnapshot

# ---- Requests and responses ----
# API Gateway's events have the payload format 2.0
# (https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html): names of headers are
# in lower case, paths are decoded.


T = TypeVar("T")
LARGEST_BODY: Final = 2 << 20
"""Bytes of a request's body; a contract document has at most one MiB, and escapes of JSON lengthen it."""
JSON: Final = "application/json"
PROBLEM: Final = "application/problem+json"
CALLBACK_ROUTE: Final = "POST /api/v1/workload/{id}/callback"
"""The one route that API Gateway authorises nobody for: who has a token of a delivery may use it."""
OF_CONTRACT: Final = "/data-contract/{id}"
"""Of routes whose address names a contract: by IAM a caller may use this one, and of others nothing is known."""
CLAIM: Final = "lakegate_contracts"
"""The claim of a token that limits its holder to contracts."""
PREFIXES: Final = "lakegate_prefixes"
"""The claim that names the prefixes of the landing bucket below which the holder of a token may add routes."""
HOLDER: Final = "lakegate_arn"
"""The claim that names the AWS identity of the person who has the token."""
TOKEN: Final = re.compile(r"(?:bearer +)?[\w-]+\.(?P<payload>[\w-]+)\.[\w-]+", re.ASCII | re.IGNORECASE)
"""The value of the header with a token: one, because of two nobody says which was verified."""
ARN: Final = re.compile(r"arn:aws[a-z-]*:(iam::[0-9]{12}:user|sts::[0-9]{12}:assumed-role)/[!-~]{1,1000}", re.ASCII)


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request that API Gateway has authorised."""

    route: str
    """As the template names it, such as `GET /api/v1/workload/{id}`."""
    id: str
    """Of API Gateway; the access log has it too."""
    caller: str
    """The caller's ARN, or issuer and subject of a token; never a text that the caller chose. Empty for `CALLBACK_ROUTE`."""
    contracts: tuple[str, ...] = EVERY_CONTRACT
    """The contracts that the caller may use: ids, or the beginning of ids and a star."""
    own: tuple[str, ...] = EVERY_CONTRACT
    """Those that a document it publishes may refer to, beside its own and what is shared with it."""
    prefixes: tuple[str, ...] = ("",)
    """The prefixes of the landing bucket below which it may add routes, beside those of its contracts."""
    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    repeated: frozenset[str] = frozenset()
    """Parameters that are given more than once: API Gateway has put commas between their values."""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    holder: str = ""
    """The ARN of the person who has the token, by its claim; empty without it, and by IAM."""
    token: str = field(default="", repr=False)
    """Random: what the request creates is known by it, also when it is sent again under the same `Idempotency-Key`."""

    def allows(self, contract: str) -> bool:
        """Whether the caller may use a contract."""
        return are_named(self.contracts, contract)

    def details(self, made: Callable[[], object]) -> dict[str, object]:
        """With the parameter `details`, what commands print of a response, beside DCM's representation."""
        return {"details": encode(made())} if self.flag("details") else {}

    def flag(self, name: str) -> bool:
        """Whether a parameter of the query is `true`; absent means no. Raises HttpProblem for any other value."""
        value = self.query.get(name, "false")
        if value not in {"true", "false"}:
            raise HttpProblem(400, "invalid-parameter", f"`{name}` is `true` or `false`.")
        return value == "true"


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A response with a JSON document as its body."""

    status: int
    body: object
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = JSON

    def for_gateway(self, request: str) -> dict[str, Any]:
        """As API Gateway takes it. Nothing may be stored, sniffed or shown as a page; all text is ASCII."""
        headers = {
            "content-type": self.content_type,
            "cache-control": "no-store",
            "x-content-type-options": "nosniff",
            "x-request-id": request,
            **self.headers,
        }
        return {"statusCode": self.status, "headers": headers, "body": json.dumps(self.body), "isBase64Encoded": False}


class HttpProblem(LakegateError):  # noqa: N818 - RFC 9457 calls it a problem
    """A request that is refused: problem details of RFC 9457."""

    def __init__(self, status: int, kind: str, detail: str, **members: object) -> None:
        super().__init__(detail)
        self.status = status
        self.kind = kind
        """Stable and public: the last part of `type`."""
        self.members = members

    def response(self, request: str) -> HttpResponse:
        """The response; `instance` names the request, as the logs do."""
        body = {
            "type": f"urn:lakegate:problem:{self.kind}",
            "title": TITLES[self.kind],
            "status": self.status,
            "detail": str(self),
            "instance": f"urn:lakegate:request:{request}",
            **self.members,
        }
        headers = {"retry-after": "1"} if self.kind == "unavailable" else {}
        return HttpResponse(self.status, body, headers, PROBLEM)


TITLES: Final[Mapping[str, str]] = {
    "another-contract": "The caller may not use this contract",
    "confirmation-needed": "The effects have to be confirmed",
    "illegal-transition": "The workload has no such transition now",
    "incompatible-version": "The version number is too low for the changes",
    "internal": "The request failed",
    "invalid-body": "The body cannot be read",
    "invalid-rules": "The rules have errors",
    "invalid-contract": "The contract document has errors",
    "invalid-parameter": "A parameter is not valid",
    "key-reused": "The idempotency key belongs to another request",
    "not-found": "There is no such resource",
    "other-validation": "The id belongs to another validation",
    "refused": "The request cannot be done",
    "summary-refused": "The data would be rejected",
    "too-large": "The body is too large",
    "unauthenticated": "The caller is not known",
    "unavailable": "A service does not answer, or too much is asked at once",
    "unsupported-media-type": "The content type is not supported",
}
"""By kind of problem; docs/api.md explains each."""


@dataclass(frozen=True, slots=True)
class GatewayEvent:
    """The event of API Gateway."""

    event: Mapping[str, Any] = field(repr=False)

    @property
    def id(self) -> str:
        """The id of the request."""
        return str(self.event["requestContext"]["requestId"])

    def request(self) -> HttpRequest:
        """The request. Raises HttpProblem for a caller without a name and a body that is too large or cannot be read."""
        authorizer, route = self.event["requestContext"].get("authorizer") or {}, str(self.event["routeKey"])
        headers = self.event.get("headers") or {}
        by_address = bool(authorizer.get("iam")) and OF_CONTRACT in route
        contracts, prefixes = limits_of(authorizer, headers.get("authorization", ""))
        return HttpRequest(
            route,
            self.id,
            caller_of(authorizer) if route != CALLBACK_ROUTE else "",
            contracts,
            () if by_address else contracts,
            () if by_address else prefixes,
            self.event.get("pathParameters") or {},
            self.event.get("queryStringParameters") or {},
            self._repeated(),
            headers,
            self._body(),
            holder_of(authorizer),
        )

    def _repeated(self) -> frozenset[str]:
        names = Counter(name for name, _ in parse_qsl(self.event.get("rawQueryString") or "", keep_blank_values=True))
        return frozenset(name for name, count in names.items() if count > 1)

    def _body(self) -> bytes:
        text = self.event.get("body") or ""
        try:
            body = base64.b64decode(text, validate=True) if self.event.get("isBase64Encoded") else text.encode()
        except (binascii.Error, UnicodeError):
            raise HttpProblem(400, "invalid-body", "The body is not the bytes that were announced.") from None
        if len(body) > LARGEST_BODY:
            raise HttpProblem(413, "too-large", f"A body has at most {LARGEST_BODY:,} bytes.")
        return body


def caller_of(authorizer: Mapping[str, Any]) -> str:
    """The caller: the ARN of IAM, or `<issuer>#<subject>` of a token. Raises HttpProblem where there is neither.

    API Gateway has verified both; without an authorizer nothing is answered.
    """
    arn = (authorizer.get("iam") or {}).get("userArn")
    if isinstance(arn, str) and arn:
        return arn
    claims = (authorizer.get("jwt") or {}).get("claims") or {}
    issuer, subject = str(claims.get("iss") or ""), str(claims.get("sub") or "")
    if issuer.startswith("https://") and subject:
        return f"{quote(issuer, safe=':/')}#{quote(subject, safe='')}"
    raise HttpProblem(401, "unauthenticated", "The request was signed by nobody whom API Gateway names.")


def holder_of(authorizer: Mapping[str, Any]) -> str:
    """The ARN of a user or of a role's session that the claim of a token names; empty where it names none."""
    found = str(((authorizer.get("jwt") or {}).get("claims") or {}).get(HOLDER) or "")
    return found if ARN.fullmatch(found) else ""


def limits_of(authorizer: Mapping[str, Any], authorization: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The contracts, and the prefixes of routes, that a token is limited to by its claims: lists, or texts with blanks or
    commas between them.

    Everything without a claim, and of callers by IAM, whose policies name the contract in the address. A token that is limited
    to contracts has no other prefixes than it names. API Gateway, which has verified the token, writes a list as `[a b]`, which
    is the same for `["a b"]`: claims are read from the token itself.
    """
    claims = (authorizer.get("jwt") or {}).get("claims") or {}
    named = {each: _named(_claim_of(authorization, each)) for each in (CLAIM, PREFIXES) if each in claims}
    prefixes = tuple(f"{each.rstrip('/')}/" for each in named.get(PREFIXES, ()))
    return named.get(CLAIM, EVERY_CONTRACT), prefixes if named else ("",)


def _named(claim: object) -> tuple[str, ...]:
    if isinstance(claim, str):
        return tuple(claim.replace(",", " ").split())
    return tuple(each for each in claim if isinstance(each, str) and each) if isinstance(claim, list) else ()


def _claim_of(authorization: str, name: str) -> object:
    """A claim in the payload of a verified token; None where it cannot be read."""
    token = TOKEN.fullmatch(authorization)
    text = token["payload"] if token else ""
    try:
        return json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))[name]
    except (ValueError, LookupError, TypeError):
        return None


# ---- Contracts by the ids of their documents ----
# DCM's id of a contract ends in the version. The contract's own id, which addresses, claims and policies name, is without it.


VERSION: Final = "version"
"""In the path of a request whose address has the id of a version: its number."""
PUT_ROUTE: Final = f"PUT /api/v1{OF_CONTRACT}"
DOCUMENT_ROUTES: Final = (f"GET /api/v1{OF_CONTRACT}", PUT_ROUTE)


def with_contract(dependencies: Dependencies, request: HttpRequest) -> HttpRequest:
    """The request with the contract's id in its path, where the address has DCM's id of a version. Raises HttpProblem.

    By IAM, which sees the address alone, only for a document, which everybody may read who may read contracts: a policy for
    `sales-*` lets nobody reach the deliveries and routes of a DCM contract `sales`.
    """
    if OF_CONTRACT not in request.route:
        return request
    contract, version = contract_named(dependencies, request.path.get("id", ""))
    if not version or (request.route == PUT_ROUTE and not request.own):  # which refuses the document of another id
        return request
    if not request.own and request.route not in DOCUMENT_ROUTES:
        detail = "By IAM, whose policies name contracts, the address has the id of the contract, without the version."
        raise HttpProblem(404, "not-found", detail)
    return replace(request, path={**request.path, "id": contract, VERSION: version})


def usable_contract(dependencies: Dependencies, request: HttpRequest, name: str) -> RegistrySnapshot:
    """What the registry has of a contract; nothing of one that the caller may not use."""
    return dependencies.registry.contract(name if is_usable(name) and request.allows(name) else "")


def published_contract(dependencies: Dependencies, request: HttpRequest, name: str) -> RegistrySnapshot:
    """The same of a published contract. Raises HttpProblem."""
    snapshot = usable_contract(dependencies, request, name)
    if not snapshot.versions:
        raise HttpProblem(404, "not-found", "No contract is published with this id.")
    return snapshot


def contract_named(dependencies: Dependencies, name: str) -> tuple[str, str]:
    """The contract that a person names, and the version where they name it by DCM's id of one; else empty."""
    publication = numbered_version(dependencies.registry, name)
    return (publication.contract, publication.version) if publication else (name, "")


def contract_wanted(dependencies: Dependencies, request: HttpRequest, in_body: str) -> tuple[str, str]:
    """The contract of the body, or of the address, likewise. Raises HttpProblem where there is none, and where they differ."""
    contract, version = contract_named(dependencies, in_body) if in_body else _of_address(request)
    if not contract:
        raise HttpProblem(400, "invalid-body", "`contract` is missing.")
    if contract != request.path.get("id", contract):
        raise HttpProblem(400, "invalid-parameter", "The body has another contract than the address names.")
    return contract, version


def _of_address(request: HttpRequest) -> tuple[str, str]:
    return request.path.get("id", ""), request.path.get(VERSION, "")


def document_id(dependencies: Dependencies, contract: str, version: str) -> str:
    """The id in the document of a version."""
    versions = dependencies.registry.contract(contract).versions if contract else ()
    return next((publication.id for publication in versions if publication.version == version), contract)


# ---- Bodies of a schema ----


def media_type(request: HttpRequest) -> str:
    """The content type without its parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def body_of(request: HttpRequest, form: type[T] | UnionType, number: Callable[[str], object] = str) -> T:
    """The body in the form of a dataclass, or of a union of some; numbers with a point are texts, to keep their digits.

    `number` reads these otherwise; its ValueError refuses the body. Raises HttpProblem for another content type, and for a body
    of another form, with the position of each error.
    """
    if media_type(request) != JSON:
        raise HttpProblem(415, "unsupported-media-type", f"Send a JSON document (`{JSON}`).")
    try:
        document = json.loads(request.body, parse_float=number, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise HttpProblem(400, "invalid-body", "The body is not a JSON document.") from None
    try:
        return decode(form, document, strict=True)
    except DecodeError as error:
        raise other_form([_located(each) for each in (error, *error.others)]) from None


def other_form(errors: list[dict[str, str]]) -> HttpProblem:
    """The problem of a body of another form: `path` (JSON Pointer) and `message` of each violation."""
    return HttpProblem(400, "invalid-body", "The body does not have the form that it should have.", errors=errors)


def _located(error: DecodeError) -> dict[str, str]:
    if error.rule == "additionalProperties":
        return {"path": error.pointer, "message": f"There is no such member.{did_you_mean(*error.requirement)}"}
    return {"path": error.pointer, "message": f"must fit {error.rule}: {json.dumps(error.requirement)[:LONGEST_STEP]}"}


def _refuse_constant(name: str) -> None:
    raise ValueError(name)


# ---- Routes of a feature ----


READ, PUBLISH, DELIVER, OPERATE = "lakegate/read", "lakegate/publish", "lakegate/deliver", "lakegate/operate"
VALIDATE: Final = "lakegate/validate"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A responder for a route of the template; docs/openapi.json is made of it."""

    name: str
    """Of the operation."""
    respond: Callable[[Dependencies, HttpRequest], HttpResponse]
    scope: str
    """The scope that a token must have; with IAM the ARN of the route is granted. Empty: who has a token of a callback."""
    summary: str
    responses: Mapping[int, str]
    """By status, the definition of the body in docs/openapi.json."""
    problems: tuple[int, ...]
    """Statuses of its problem details, beside those of every route."""
    query: tuple[str, ...] = ()
    """Parameters that are texts."""
    flags: tuple[str, ...] = ()
    """Parameters that are `true` or `false`."""
    takes: Any = None
    """The form of its body, as `body_of` reads it; `str`: a contract document, as a JSON string or as YAML; None: it has none."""

    def of_contract(self, summary: str, **others: Any) -> Endpoint:  # noqa: ANN401 - of any field
        """The same below the address of a contract, with some other fields."""
        return replace(self, name=f"{self.name}OfContract", summary=summary, **others)

    def refuse_unknown(self, request: HttpRequest) -> None:
        """Raise HttpProblem for parameters of the query that it does not have, and for one that is there twice."""
        known = (*self.query, *self.flags)
        errors = [
            {"path": f"?{name[:LONGEST_STEP]}", "message": f"There is no such parameter.{did_you_mean(name, known)}"}
            for name in request.query
            if name not in known
        ]
        errors += [
            {"path": f"?{name}", "message": "It is given more than once."}
            for name in sorted(request.repeated & set(known))
        ]
        if errors:
            names = join_words(error["path"].removeprefix("?") for error in errors)
            detail = f"These parameters are not understood, and nothing was done: {names}."
            raise HttpProblem(400, "invalid-parameter", detail, errors=errors[:MOST_ERRORS])


# ---- Workloads in DCM's representation (DCM 3.2.3) ----


STATUSES: Final[Mapping[State, str]] = {
    State.RECEIVED: "Created",
    State.HELD: "Held",
    State.PINNED: "DataTransferInProgress",
    State.STAGED: "DataTransferInProgress",
    State.SUBMITTING: "RuntimeValidationInProgress",
    State.VALIDATING: "RuntimeValidationInProgress",
    State.AWAITING: "AwaitingApproval",
    State.ANSWERED: "RuntimeValidationInProgress",
    State.SCHEDULED: "Scheduled",
    State.PASSING: "RuntimeValidationInProgress",
    State.DECIDED: "RuntimeValidationInProgress",
    State.PUBLISHED: "Accepted",
    State.QUARANTINED: "Rejected",
    State.FAILED: "Failed",
    State.GONE: "Gone",
    State.JOINED: "Joined",
}
"""DCM's names where it has one: Created, RuntimeValidationInProgress, Accepted, Rejected."""
EXPIRED: Final = "announcement-expired"
RUNNING: Final = frozenset(STATUSES) - {State.PUBLISHED, State.QUARANTINED, State.FAILED, State.GONE}


def workload_named(
    dependencies: Dependencies, request: HttpRequest
) -> tuple[Workload | AnnouncedWorkload, AnnouncedWorkload | None]:
    """The workload that the address names, or the announcement that nothing has landed for; and of a workload without a pin its
    announcement. Raises HttpProblem.

    Until its contract is pinned, a workload belongs to the one that it was announced for.
    """
    name = asked_for(request)
    is_id = IDENTIFIER.fullmatch(name) is not None
    row = dependencies.workloads.find(name) if is_id else None
    if row is not None and row.joined:
        row = dependencies.workloads.find(row.joined)
    announced = _announced(dependencies, name) if is_id and (row is None or row.pin is None) else None
    there = row or announced
    source = announced or (row.pin if row else None)
    if there is None or not _is_visible(request, source.contract if source else ""):
        raise HttpProblem(404, "not-found", "No workload has this id.")
    return there, announced


def _announced(dependencies: Dependencies, name: str) -> AnnouncedWorkload | None:
    rows = dependencies.rows("announcements")
    kept: AnnouncedWorkload | None = rows and rows.get(name)
    return kept


def _is_visible(request: HttpRequest, contract: str) -> bool:
    """Whether it is of the contract that the address names, and of one that the caller may use."""
    return request.allows(contract) and ("workload" not in request.path or contract == request.path["id"])


def asked_for(request: HttpRequest) -> str:
    """The id of a workload or announcement in an address."""
    return request.path.get("workload", request.path.get("id", ""))


def representation(
    dependencies: Dependencies,
    row: Workload | AnnouncedWorkload,
    announced: AnnouncedWorkload | None = None,
    asked: str = "",
) -> dict[str, object]:
    """A workload as DCM has it; before its pin, with the contract that it was `announced` for.

    Its id is the one that was `asked` for, so that an announcement has one id to its result; `deliveryId` is that of events.
    Raises Alarm where the result is not the one that was decided on.
    """
    if not isinstance(row, Workload):
        body = announced_body(row, document_id(dependencies, row.contract, row.version), dependencies.now)
        if body["result"] == {"result": "OK", "info": None}:
            return body
        errors = list(row.refusals) or [EXPIRED]
        info = {"dataSummary": row.data_summary, "errors": errors, "results": [], "success": "fail"}
        return body | {"result": {"result": "NOK", "info": info}}
    source = row.pin or announced
    return {
        "workloadId": asked or row.id,
        "deliveryId": row.id,
        "dataContractId": document_id(dependencies, source.contract, source.version) or None if source else None,
        "dataContractVersion": source.version or None if source else None,
        "status": STATUSES[row.state],
        "verdict": row.decision.verdict if row.decision else None,
        "result": _result(dependencies, row),
    }


def announced_body(row: AnnouncedWorkload, contract: str, now: datetime) -> dict[str, object]:
    """An announcement likewise, without its result. `contract`: the id in the document of its version."""
    expired = row.has_expired(now)
    return {
        "workloadId": row.id,
        "deliveryId": None,
        "dataContractId": contract,
        "dataContractVersion": row.version,
        "status": "Rejected" if row.refusals else "Expired" if expired else STATUSES[State.RECEIVED],
        "verdict": "rejected" if row.refusals else None,
        "result": {"result": "NOK" if row.refusals or expired else "OK", "info": None},
    }


def _result(dependencies: Dependencies, row: Workload) -> dict[str, object]:
    if row.state in RUNNING:
        return {"result": "Running", "info": None}
    from lakegate.gate.delivery.decide_verdict import report_of  # noqa: PLC0415 - plans are read by jsonschema

    report, verdict = report_of(DeliveryTurn(dependencies, row)), row.decision.verdict if row.decision else ""
    reasons = row.decision.reasons if row.decision else [attempt.cause.value for attempt in row.failed[-1:]]
    info = {
        "dataSummary": _data_summary(dependencies, row),
        "errors": [_sentence(dependencies, row, reason) for reason in reasons],
        "results": list(results_of(report)) if report else [],
        "success": _success(row),
    }
    return {"result": result_word(row.state, verdict), "info": info}


def _data_summary(dependencies: Dependencies, row: Workload) -> object:
    """The summary that the producer announced the data with; None without one."""
    key = row.landing_key
    *_, folder, _name = ("", *key.split("/"))
    announced = _announced(dependencies, folder) if IDENTIFIER.fullmatch(folder) else None
    return announced.data_summary if announced is not None and announced.takes(key) else None


def _sentence(dependencies: Dependencies, row: Workload, reason: str) -> str:
    """A reason with the meaning of its code; of repeated content also the workload that brought it first."""
    from lakegate.gate.delivery.find_deliveries import first_of_content  # noqa: PLC0415 - as above

    first = first_of_content(DeliveryTurn(dependencies, row)) if reason == DUPLICATE else None
    return in_words(reason) + (f", as workload {first.id}" if first else "")


def result_word(state: State, verdict: str | None) -> str:
    """DCM's word for a state: the outcome of a workload is OK, WARNING or NOK (DCM 3.2.2)."""
    if state in RUNNING:
        return "Running"
    if state is not State.PUBLISHED:
        return "NOK"
    return "WARNING" if _warns(verdict or "") else "OK"


def _warns(verdict: str) -> bool:
    return verdict.endswith("warnings")


def _success(row: Workload) -> str:
    """The worst severity that was broken: `fail`, `warn`, or `pass`."""
    verdict = row.decision.verdict if row.decision else ""
    return "fail" if verdict not in ACCEPTING else "warn" if _warns(verdict) else "pass"
