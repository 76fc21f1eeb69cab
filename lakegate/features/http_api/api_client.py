"""Stack facade over HTTP, with token or signature."""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from http.client import HTTPException
from pathlib import Path
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, Any, Final, NoReturn, TypeVar
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import Request

from lakegate.aws.https_client import API_SECONDS, OPENER
from lakegate.base.errors import ContractError, InputError, LakegateError, Problem, SetUpError
from lakegate.base.json_codec import decode, encode
from lakegate.contract.semantic_versions import precedence
from lakegate.gate.person_decisions import WantedDecision, WantedReplay
from lakegate.library.described_deliveries import DeliveryStatus, StartedReplay
from lakegate.library.published_contracts import (
    Confirm,
    ContractDocument,
    DescribedVersion,
    DescribedVersions,
    DocumentToPublish,
    NewProposal,
    PublicationEffects,
    PublishedVersion,
)
from lakegate.library.published_routes import Agree, DescribedRoute, Routes, WantedRoute
from lakegate.library.stack import DecidedT, Refused, StackOperation, known_form

if TYPE_CHECKING:
    from datetime import date

    from lakegate.library.described_deliveries import Sections

# ---- Requests without rights in the account ----
# They have a token of the stack's issuer, or sign by IAM with the credentials that botocore finds. Redirects are never
# followed: a response from elsewhere would get the token.


TOKEN, TOKEN_FILE = "LAKEGATE_TOKEN", "LAKEGATE_TOKEN_FILE"
LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})
REGION: Final = re.compile(r"\.execute-api\.([a-z0-9-]+)\.")
CONTRACTS: Final = "/api/v1/data-contract"
ROUTES: Final = "/api/v1/route"
MAX_RESPONSE_BYTES: Final = 8 << 20
DONE: Final = frozenset({200, 202})
NO_QUERY: Final[Mapping[str, str]] = MappingProxyType({})
DETAILS: Final[Mapping[str, str]] = MappingProxyType({"details": "true"})
"""Wants what commands print beside DCM's representation."""
T = TypeVar("T")


def sent(request: Request, what: str) -> tuple[int, bytes]:
    """Status and body of the response. Raises InputError where there is none; `what`: who was asked."""
    try:
        with OPENER.open(request, timeout=API_SECONDS) as response:
            return response.status, response.read(MAX_RESPONSE_BYTES)
    except HTTPError as refused:
        with refused:
            return refused.code, refused.read(MAX_RESPONSE_BYTES)
    except (URLError, HTTPException, OSError) as error:
        reason = error.reason if isinstance(error, URLError) else error
        raise InputError(f"{what} does not answer ({type(reason).__name__}): is the address right?") from None


def contract_path(contract: str) -> str:
    """The address of a contract."""
    return f"{CONTRACTS}/{quote(contract, safe='')}"


def workload_path(workload: str, contract: str | None) -> str:
    """The address of a workload; below its contract's, if that is given, which policies name."""
    below = f"{contract_path(contract)}/workload" if contract else "/api/v1/workload"
    return f"{below}/{quote(workload, safe='')}"


@dataclass(frozen=True, slots=True)
class Api:
    """An API, with the caller's credentials."""

    url: str

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in LOOPBACK):
            raise InputError(f"{self.url} is not the address of an API: it begins with https://")

    def ask(
        self,
        method: str,
        path: str,
        document: object = None,
        *,
        key: str = "",
        query: Mapping[str, str] = NO_QUERY,
    ) -> Any:  # noqa: ANN401 - JSON
        """The JSON response, an object or a text. `document`: bytes are YAML. `key`: the API knows the request again by it.

        Raises Refused.
        """
        is_yaml = isinstance(document, bytes)
        body = document if isinstance(document, bytes) else b"" if document is None else json.dumps(document).encode()
        headers = {"content-type": "application/yaml" if is_yaml else "application/json"} if body else {}
        if key:
            headers["idempotency-key"] = key
        url = self.url.rstrip("/") + path + (f"?{urlencode(query, quote_via=quote)}" if query else "")
        headers |= _credentials(method, url, headers, body)
        request = Request(url, data=body or None, headers=headers, method=method)  # noqa: S310 - the scheme was checked
        status, response = sent(request, "the API")
        try:
            found = json.loads(response)
        except ValueError:
            found = None
        if status not in DONE or not isinstance(found, dict | str):
            raise Refused(status, found if isinstance(found, dict) else {})
        return found

    @known_form()
    def contracts(
        self, labels: Mapping[str, Sequence[str] | None], statuses: Sequence[str] | None
    ) -> DescribedVersions:
        """See `StackFacade`."""
        found: list[DescribedVersion] = []
        for page in self._pages(CONTRACTS):
            found += (decode(DescribedVersion, each) for one in page["contracts"] for each in one["details"])
        ordered = sorted(found, key=lambda each: (each.contract, precedence(each.version)))
        return DescribedVersions(
            tuple(each for each in ordered if each.has(labels) and each.is_of(statuses)), is_empty=not found
        )

    @known_form()
    def document(self, contract: str, version: str | None) -> ContractDocument:
        """See `StackFacade`."""
        query = {"version": version} if version else {}
        return decode(ContractDocument, self.ask("GET", contract_path(contract), query={**DETAILS, **query})["details"])

    @known_form()
    def routes(self) -> Routes:
        """See `StackFacade`."""
        found: list[DescribedRoute] = []
        cursor: Mapping[str, str] = {}
        while True:
            page = self.ask("GET", ROUTES, query=cursor)
            found += (decode(DescribedRoute, each) for each in page["routes"])
            if not page["cursor"]:
                return Routes(tuple(sorted(found, key=lambda each: each.prefix)))
            cursor = {"cursor": page["cursor"]}

    @known_form()
    def add_route(self, wanted: WantedRoute, agree: Agree) -> DescribedRoute:
        """See `StackFacade`. To the address of the contract, by its whole id."""
        body = {name: value for name, value in encode(wanted).items() if value is not None}
        path, key = f"{contract_path(body.pop('contract'))}/route", secrets.token_hex(16)
        try:
            found = self.ask("POST", path, body, key=key)
        except Refused as refused:
            if refused.kind != "confirmation-needed":
                raise
            agree(refused.problem["effects"])
            found = self.ask("POST", path, body, query={"confirm": "true"}, key=secrets.token_hex(16))
        return decode(DescribedRoute, found)

    @known_form()
    def remove_route(self, prefix: str, contract: str | None) -> DescribedRoute:
        """See `StackFacade`."""
        path = f"{contract_path(contract)}/route" if contract else ROUTES
        return decode(DescribedRoute, self.ask("DELETE", path, query={"prefix": prefix}))

    def publish(self, document: DocumentToPublish, confirm: Confirm | None) -> PublishedVersion | NewProposal:
        """See `StackFacade`. Effects that are not confirmed are refused; then the document is sent again."""
        query = {"allowUnmeasured": "true"} if document.allow_unmeasured else {}
        query |= {} if document.inherited_from is None else {"from": document.inherited_from}
        confirmed = {**query, "confirm": "true"}
        try:
            if confirm is None:
                return self._published(document.text, confirmed)
            try:
                return self._published(document.text, query)
            except Refused as refused:
                if refused.kind != "confirmation-needed":
                    raise
                with known_form():
                    effects = decode(PublicationEffects, refused.problem)
            confirm(effects)
            return self._published(document.text, confirmed)
        except Refused as refused:
            raise _refusal(refused, document.text) from None

    @known_form()
    def _published(self, text: bytes, query: Mapping[str, str]) -> PublishedVersion | NewProposal:
        """The outcome. To the contract's own address, which policies name; a document without an id has none."""
        from lakegate.gate.registry.parent_contracts import identity  # noqa: PLC0415 - the compiler, for publishing alone

        contract = identity(text)[0]
        method, path = ("PUT", contract_path(contract)) if contract else ("POST", CONTRACTS)
        found = self.ask(method, path, text, query={**DETAILS, **query})
        details = found["details"]
        return decode(NewProposal, details) if "proposal" in found else decode(PublishedVersion, details)

    @property
    def aws(self) -> NoReturn:
        """See `StackFacade`."""
        raise InputError("this is done with rights in the account of the stack: leave out --api (LAKEGATE_API)")

    def refuse(self, **options: object) -> None:
        """See `StackFacade`."""
        if names := [f"--{name.replace('_', '-')}" for name, value in options.items() if value]:
            raise InputError(
                f"the HTTP API has nothing for {' and '.join(names)}: leave it out, or --api (LAKEGATE_API)"
            )

    @known_form()
    def deliveries(
        self, limit: int, verdicts: frozenset[str], contract: str | None, day: date | None
    ) -> tuple[tuple[DeliveryStatus, ...], Sections]:
        """See `StackFacade`. As many pages are asked for as the limit needs."""
        self.refuse(verdict=verdicts, day=day)
        if contract is None:
            raise InputError("the HTTP API lists the deliveries to a contract: name it (--contract), or a workload")
        found, sections = list[DeliveryStatus](), None
        for page in self._pages(f"{contract_path(contract)}/workload"):
            found += (decode(DeliveryStatus, each["details"]) for each in page["workloads"])
            sections = page.get("details", {}) if sections is None else sections
            if len(found) >= limit:
                break
        return tuple(found[:limit]), sections or {}

    def _pages(self, path: str) -> Iterator[Any]:
        """The pages of a list, with what commands print."""
        cursor: Mapping[str, str] = {}
        while True:
            page = self.ask("GET", path, query={**DETAILS, **cursor})
            yield page
            if not page["cursor"]:
                return
            cursor = {"cursor": page["cursor"]}

    @known_form()
    def perform(self, operation: StackOperation[T]) -> T:
        """See `StackFacade`."""
        return operation.over_http(self.ask)

    @known_form()
    def delivery(self, name: str, contract: str | None) -> DeliveryStatus:
        """See `StackFacade`."""
        return decode(DeliveryStatus, self.ask("GET", workload_path(name, contract), query=DETAILS)["details"])

    def replay(self, name: str, contract: str | None) -> StartedReplay:
        """See `StackFacade`. The address is that of the contract, if it is named."""
        own, at, _ = (contract or "").rpartition("@")
        wanted = WantedReplay("replay", str(contract) if at else "")
        return self._transition(StartedReplay, name, own if at else contract, wanted)

    def decide(self, form: type[DecidedT], name: str, contract: str | None, wanted: WantedDecision) -> DecidedT:
        """See `StackFacade`."""
        return replace(self._transition(form, name, contract, wanted), left_to_sweep=True)

    @known_form()
    def _transition(self, form: type[T], workload: str, contract: str | None, wanted: WantedDecision) -> T:
        path = f"{workload_path(workload, contract)}/transition"
        body = encode(wanted)
        return decode(form, self.ask("POST", path, body, key=secrets.token_hex(16), query=DETAILS)["details"])

    def workload(self, workload: str, contract: str | None) -> dict[str, Any]:
        """See `RemoteStack`."""
        found: dict[str, Any] = self.ask("GET", workload_path(workload, contract))
        return found

    def announce(self, contract: str, wanted: Mapping[str, Any]) -> dict[str, Any]:
        """See `RemoteStack`."""
        found: dict[str, Any] = self.ask(
            "POST", f"{contract_path(contract)}/workload", wanted, key=secrets.token_hex(16)
        )
        return found

    def upload(self, url: str, headers: Mapping[str, str], file: IO[bytes]) -> None:
        """See `RemoteStack`."""
        put(url, headers, file)

    def notify(self, workload: str, contract: str) -> dict[str, Any]:
        """See `RemoteStack`."""
        found: dict[str, Any] = self.ask("POST", f"{workload_path(workload, contract)}/notify")
        return found


@known_form()
def _refusal(refused: Refused, text: bytes) -> LakegateError:
    """The refusal of a document, as that of a stack in AWS; another one as it is."""
    from lakegate.contract.documents.document_formats import read_alone  # noqa: PLC0415 - the compiler, for publishing alone
    from lakegate.diff.change_kinds import VersionComparison  # noqa: PLC0415 - likewise
    from lakegate.gate.registry.publish_contract import DocumentRefused, IncompatibleVersion  # noqa: PLC0415 - likewise
    from lakegate.lints.linter import Examined  # noqa: PLC0415 - likewise

    if refused.kind == "incompatible-version":
        return IncompatibleVersion(decode(VersionComparison, refused.problem["comparison"]))
    if refused.kind != "invalid-contract":
        return refused
    try:
        lines = read_alone(text).document.lines
    except ContractError:
        lines = ()
    errors, warnings = (
        tuple(decode(Problem, each) for each in refused.problem[name]) for name in ("errors", "warnings")
    )
    return DocumentRefused(Examined(errors, warnings, lines))


def put(url: str, headers: Mapping[str, str], file: IO[bytes]) -> None:
    """Send a file to an upload URL: of HTTPS, or of this machine. Raises InputError for another one, and where S3 refuses it."""
    parts = urlsplit(url)
    if (parts.scheme, parts.hostname) not in {("http", "127.0.0.1"), ("http", "localhost")} and parts.scheme != "https":
        raise InputError("the API named an upload address that is not of HTTPS: the file was not sent")
    request = Request(url, data=file, headers=dict(headers), method="PUT")  # noqa: S310 - of the API's response
    status, _ = sent(request, "S3")
    if status != 200:  # noqa: PLR2004 - HTTP
        raise InputError(f"S3 refused the file with status {status}: has it changed, or is the URL's time over?")


def _credentials(method: str, url: str, headers: Mapping[str, str], body: bytes) -> Mapping[str, str]:
    """A token, or a signature of IAM."""
    if token := _token():
        return {"authorization": f"Bearer {token}"}
    import botocore.session  # noqa: PLC0415 - a token needs none of it
    from botocore.auth import SigV4Auth  # noqa: PLC0415 - likewise
    from botocore.awsrequest import AWSRequest  # noqa: PLC0415 - likewise

    session = botocore.session.get_session()
    found = session.get_credentials()
    if found is None:
        raise SetUpError(f"there are no credentials: set {TOKEN} or {TOKEN_FILE}, or configure those of AWS")
    named = REGION.search(urlsplit(url).hostname or "")
    region = named[1] if named else session.get_config_variable("region")
    if not region:
        raise SetUpError("no region is configured to sign for: set AWS_DEFAULT_REGION")
    request = AWSRequest(method, url, headers=dict(headers), data=body)
    SigV4Auth(found, "execute-api", region).add_auth(request)
    return dict(request.headers.items())


def _token() -> str:
    """The token of the environment, or of the file that it names. Raises SetUpError."""
    if token := os.environ.get(TOKEN, "").strip():
        return token
    place = os.environ.get(TOKEN_FILE, "")
    try:
        return Path(place).read_text().strip() if place else ""
    except (OSError, UnicodeDecodeError):
        raise SetUpError(f"the file that {TOKEN_FILE} names cannot be read") from None
