"""Routes and scopes; requests, responses, problems, callers."""

from __future__ import annotations

import base64
import binascii
import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from lakegate.errors import LakegateError
from lakegate.gate.registry.contract_owners import EVERY_CONTRACT, are_named
from lakegate.json_codec import problems

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# ---- Requests and answers of the HTTP API --------------------------------------------------------------------------
#
# API Gateway's events have the payload format 2.0
# (https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html): names of
# headers are
# in lower case, paths are decoded.


LARGEST_BODY: Final = 2 << 20
"""Bytes of a request's body; a contract document has at most one MiB, and escapes of JSON lengthen it."""


JSON: Final = "application/json"


PROBLEM: Final = "application/problem+json"


CALLBACK_ROUTE: Final = "POST /api/v1/workload/{id}/callback"
"""The one route that API Gateway authorises nobody for: who has a token of a delivery may use it."""


OF_CONTRACT: Final = "/data-contract/{id}"
"""Of routes whose address names a contract: by IAM a caller may use this one, and of others nothing is known."""


CLAIM: Final = "lakegate_contracts"


HOLDER: Final = "lakegate_arn"
"""The claim that names the AWS identity of the person who has the token."""


ARN: Final = re.compile(r"arn:aws[a-z-]*:(iam::[0-9]{12}:user|sts::[0-9]{12}:assumed-role)/[!-~]{1,1000}", re.ASCII)
"""The claim of a token that limits its holder to contracts."""


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
    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    holder: str = ""
    """The ARN of the person who has the token, by its claim; empty without it, and by IAM."""
    token: str = field(default="", repr=False)
    """Random: what the request creates is known by it, also when it is sent again under the same `Idempotency-Key`."""

    def allows(self, contract: str) -> bool:
        """Whether the caller may use a contract."""
        return are_named(self.contracts, contract)

    def flag(self, name: str) -> bool:
        """Whether a parameter of the query is `true`; absent means no. Raises HttpProblem for any other value."""
        value = self.query.get(name, "false")
        if value not in {"true", "false"}:
            raise HttpProblem(400, "invalid-parameter", f"`{name}` is `true` or `false`.")
        return value == "true"


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """An answer with a JSON document as its body."""

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

    def answer(self, request: str) -> HttpAnswer:
        """The answer; `instance` names the request, as the logs do."""
        body = {
            "type": f"urn:lakegate:problem:{self.kind}",
            "title": TITLES[self.kind],
            "status": self.status,
            "detail": str(self),
            "instance": f"urn:lakegate:request:{request}",
            **self.members,
        }
        headers = {"retry-after": "1"} if self.kind == "unavailable" else {}
        return HttpAnswer(self.status, body, headers, PROBLEM)


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
    """What API Gateway sends."""

    event: Mapping[str, Any] = field(repr=False)

    @property
    def id(self) -> str:
        """The request's id."""
        return str(self.event["requestContext"]["requestId"])

    def request(self) -> HttpRequest:
        """The request. Raises HttpProblem for a caller without a name and a body that is too large or cannot be read."""
        authorizer, route = self.event["requestContext"].get("authorizer") or {}, str(self.event["routeKey"])
        headers = self.event.get("headers") or {}
        contracts = contracts_of(authorizer, headers.get("authorization", ""))
        return HttpRequest(
            route,
            self.id,
            caller_of(authorizer) if route != CALLBACK_ROUTE else "",
            contracts,
            () if authorizer.get("iam") and OF_CONTRACT in route else contracts,
            self.event.get("pathParameters") or {},
            self.event.get("queryStringParameters") or {},
            headers,
            self._body(),
            holder_of(authorizer),
        )

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
    """Who calls: the ARN of IAM, or `<issuer>#<subject>` of a token. Raises HttpProblem where there is neither.

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


def contracts_of(authorizer: Mapping[str, Any], authorization: str) -> tuple[str, ...]:
    """The contracts that a token is limited to by its claim: a list, or one text with blanks or commas between them.

    Every contract without the claim, and of callers by IAM, whose policies name the contract in the address. API Gateway, which
    has verified the token, writes a list as `[a b]`, which is the same for `["a b"]`: the claim is read from the token itself.
    """
    claims = (authorizer.get("jwt") or {}).get("claims") or {}
    if CLAIM not in claims:
        return EVERY_CONTRACT
    claim = _claim_of(authorization)
    if isinstance(claim, str):
        return tuple(claim.replace(",", " ").split())
    return tuple(each for each in claim if isinstance(each, str) and each) if isinstance(claim, list) else ()


def _claim_of(authorization: str) -> object:
    """The claim in the payload of a verified token; None where it cannot be read."""
    _, _, payload = authorization.rpartition(" ")[2].partition(".")
    text = payload.partition(".")[0]
    try:
        return json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))[CLAIM]
    except (ValueError, LookupError, TypeError):
        return None


# ---- Bodies of requests: documents of a schema, bounded before they are read ---------------------------------------


SCHEMA: Final = "api"


MAX_ERRORS: Final = 20


def media_type(request: HttpRequest) -> str:
    """The content type without its parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def document_of(request: HttpRequest, definition: str, number: Callable[[str], object] = str) -> Any:  # noqa: ANN401 - what the definition allows
    """The JSON document of a definition in lakegate/schemas/api.json; numbers with a point are texts, to keep their digits.

    `number` reads these otherwise; its ValueError refuses the body. Raises HttpProblem for another content type, and for a body
    that is no such document, with the position of each error.
    """
    if media_type(request) != JSON:
        raise HttpProblem(415, "unsupported-media-type", f"Send a JSON document (`{JSON}`).")
    try:
        document = json.loads(request.body, parse_float=number, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise HttpProblem(400, "invalid-body", "The body is not a JSON document.") from None
    if errors := problems(SCHEMA, definition, document, MAX_ERRORS):
        located = [{"path": path, "message": message} for path, message in errors]
        raise HttpProblem(400, "invalid-body", "The body does not have the form that it should have.", errors=located)
    return document


def _refuse_constant(name: str) -> None:
    raise ValueError(name)
