"""Stack facade over HTTP, with token or signature."""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import Request

from lakegate.aws.https_client import send_request
from lakegate.base.errors import ContractError, InputError, LakegateError, Problem, SetUpError
from lakegate.base.json_codec import decode, encode
from lakegate.contract.semantic_versions import major, precedence
from lakegate.gate.person_decisions import WantedDecision, WantedReplay
from lakegate.gate.registry.named_contract import LATEST
from lakegate.inheritance.inherited_documents import ParentDocument, Parents
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
from lakegate.library.stack import (
    CONTRACTS,
    NO_QUERY,
    DecidedT,
    Refused,
    RemoteStack,
    contract_path,
    known_form,
    workload_path,
)

if TYPE_CHECKING:
    from datetime import date

    from lakegate.gate.dependencies import Dependencies
    from lakegate.library.described_deliveries import Sections

# ---- Requests without rights in the account ----
# They have a token of the stack's issuer, or sign by IAM with the credentials that botocore finds. Redirects are never
# followed: a response from elsewhere would get the token.


TOKEN, TOKEN_FILE = "LAKEGATE_TOKEN", "LAKEGATE_TOKEN_FILE"
LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})
REGION: Final = re.compile(r"\.execute-api\.([a-z0-9-]+)\.")
ROUTES: Final = "/api/v1/route"
DONE: Final = frozenset({200, 202})
DETAILS: Final[Mapping[str, str]] = MappingProxyType({"details": "true"})
"""Wants what commands print beside DCM's representation."""
T = TypeVar("T")


class Api(RemoteStack):
    """An API, with the caller's credentials."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in LOOPBACK):
            raise InputError(f"{url} is not the address of an API: it begins with https://")
        super().__init__(_refuse_opening)
        self.url = url

    def ask(self, method: str, path: str, document: object = None, *, query: Mapping[str, str] = NO_QUERY) -> Any:  # noqa: ANN401 - JSON
        """See `RemoteStack`."""
        is_yaml = isinstance(document, bytes)
        body = document if isinstance(document, bytes) else b"" if document is None else json.dumps(document).encode()
        headers = {"content-type": "application/yaml" if is_yaml else "application/json"} if body else {}
        if method == "POST":
            headers["idempotency-key"] = secrets.token_hex(16)
        url = self.url.rstrip("/") + path + (f"?{urlencode(query, quote_via=quote)}" if query else "")
        headers |= _credentials(method, url, headers, body)
        request = Request(url, data=body or None, headers=headers, method=method)  # noqa: S310 - the scheme was checked
        status, response = send_request(request, "the API")
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
        query = {"inUse": "true"} if version is None else {} if version == LATEST else {"version": version}
        return decode(ContractDocument, self.ask("GET", contract_path(contract), query={**DETAILS, **query})["details"])

    def parents(self, found: ContractDocument) -> Parents:
        """See `StackFacade`. The newest version of a parent, where that has the major number."""
        del found

        def find(contract: str, number: int) -> ParentDocument | None:
            parent = self.document(contract, LATEST)
            is_meant = major(parent.version) == number
            return ParentDocument(parent.text.encode(), find, is_published=True) if is_meant else None

        return find

    @known_form()
    def routes(self) -> Routes:
        """See `StackFacade`."""
        found = [decode(DescribedRoute, each) for page in self._pages(ROUTES, NO_QUERY) for each in page["routes"]]
        return Routes(tuple(sorted(found, key=lambda each: each.prefix)))

    @known_form()
    def add_route(self, wanted: WantedRoute, agree: Agree) -> DescribedRoute:
        """See `StackFacade`. To the address of the contract, by its whole id."""
        body = {name: value for name, value in encode(wanted).items() if value is not None}
        path = f"{contract_path(body.pop('contract'))}/route"
        found = self._confirmed("POST", path, body, NO_QUERY, lambda problem: agree(problem["effects"]))
        return decode(DescribedRoute, found)

    @known_form()
    def remove_route(self, prefix: str, contract: str | None) -> DescribedRoute:
        """See `StackFacade`."""
        path = f"{contract_path(contract)}/route" if contract else ROUTES
        return decode(DescribedRoute, self.ask("DELETE", path, query={"prefix": prefix}))

    def publish(self, document: DocumentToPublish, confirm: Confirm | None) -> PublishedVersion | NewProposal:
        """See `StackFacade`. To the contract's own address, which policies name; a document without an id has none."""
        from lakegate.gate.registry.parent_contracts import identity  # noqa: PLC0415 - the compiler, for publishing alone

        query = {**DETAILS, **({"allowUnmeasured": "true"} if document.allow_unmeasured else {})}
        query |= {} if document.inherited_from is None else {"from": document.inherited_from}
        agree = None if confirm is None else lambda problem: confirm(decode(PublicationEffects, problem))
        try:
            with known_form():
                contract = identity(document.text)[0]
                method, path = ("PUT", contract_path(contract)) if contract else ("POST", CONTRACTS)
                found = self._confirmed(method, path, document.text, query, agree)
                details = found["details"]
                return decode(NewProposal, details) if "proposal" in found else decode(PublishedVersion, details)
        except Refused as refused:
            raise _refusal(refused, document.text) from None

    def _confirmed(
        self,
        method: str,
        path: str,
        document: object,
        query: Mapping[str, str],
        agree: Callable[[Mapping[str, Any]], None] | None,
    ) -> Any:  # noqa: ANN401 - JSON
        """The response once effects are confirmed: they are refused, and then the document is sent again. None: they are."""
        if agree is not None:
            try:
                return self.ask(method, path, document, query=query)
            except Refused as refused:
                if refused.kind != "confirmation-needed":
                    raise
                agree(refused.problem)
        return self.ask(method, path, document, query={**query, "confirm": "true"})

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

    def _pages(self, path: str, query: Mapping[str, str] = DETAILS) -> Iterator[Any]:
        """The pages of a list, with what commands print."""
        while True:
            page = self.ask("GET", path, query=query)
            yield page
            if not page["cursor"]:
                return
            query = {**query, "cursor": page["cursor"]}

    @known_form()
    def perform(self, in_aws: Callable[[Dependencies], T], over_http: Callable[[RemoteStack], T]) -> T:
        """See `StackFacade`."""
        del in_aws
        return over_http(self)

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
        return decode(form, self.ask("POST", path, body, query=DETAILS)["details"])


def _refuse_opening() -> NoReturn:
    raise InputError("this is done with rights in the account of the stack: leave out --api (LAKEGATE_API)")


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
