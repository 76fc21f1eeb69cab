"""Requests to the HTTP API of a stack (docs/api.md), for people without rights in its account.

They have a token of the stack's issuer, or sign by IAM with the credentials that botocore finds. Redirects are never followed: an
answer from elsewhere would get the token.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from lakegate.contracts.errors import InputError, SetUpError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import IO

TOKEN, TOKEN_FILE = "LAKEGATE_TOKEN", "LAKEGATE_TOKEN_FILE"
LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})
REGION: Final = re.compile(r"\.execute-api\.([a-z0-9-]+)\.")
SECONDS: Final = 60
CONTRACTS: Final = "/api/v1/data-contract"
LARGEST_ANSWER: Final = 8 << 20
DONE: Final = frozenset({200, 202})
NO_QUERY: Final[Mapping[str, str]] = MappingProxyType({})


class _NoRedirect(HTTPRedirectHandler):
    """A redirect is an answer that is refused."""

    def redirect_request(self, *_: object, **__: object) -> None:
        """Nothing follows."""


OPENER: Final = build_opener(_NoRedirect)


class Refused(InputError):  # noqa: N818 - the name is what happened
    """The API refused a request: problem details of RFC 9457."""

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        super().__init__(
            str(problem.get("detail") or problem.get("message") or f"the API answered {status}").rstrip(".")
        )
        self.kind = str(problem.get("type", "")).rpartition(":")[2]
        self.problem = problem
        self.errors: list[Mapping[str, Any]] = problem.get("errors", [])


def sent(request: Request, what: str) -> tuple[int, bytes]:
    """Status and body of the answer. Raises InputError where there is none; `what`: who was asked."""
    try:
        with OPENER.open(request, timeout=SECONDS) as answer:
            return answer.status, answer.read(LARGEST_ANSWER)
    except HTTPError as refused:
        with refused:
            return refused.code, refused.read(LARGEST_ANSWER)
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


@contextmanager
def known_form() -> Iterator[None]:
    """What reads an answer; InputError for one of another form, from a later version or from something else."""
    try:
        yield
    except (KeyError, TypeError, AttributeError):
        raise InputError(
            "the answer has a form that this command does not know: is the address that of a Lakegate?"
        ) from None


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
        """The JSON answer, an object or a text. `document`: bytes are YAML. `key`: the API knows the request again by it.

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
        status, answer = sent(request, "the API")
        try:
            found = json.loads(answer)
        except ValueError:
            found = None
        if status not in DONE or not isinstance(found, dict | str):
            raise Refused(status, found if isinstance(found, dict) else {})
        return found


def put(url: str, headers: Mapping[str, str], file: IO[bytes]) -> None:
    """Send a file to an upload URL: of HTTPS, or of this machine. Raises InputError for another one, and where S3 refuses it."""
    parts = urlsplit(url)
    if (parts.scheme, parts.hostname) not in {("http", "127.0.0.1"), ("http", "localhost")} and parts.scheme != "https":
        raise InputError("the API named an upload address that is not of HTTPS: the file was not sent")
    request = Request(url, data=file, headers=dict(headers), method="PUT")  # noqa: S310 - of the API's answer
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
