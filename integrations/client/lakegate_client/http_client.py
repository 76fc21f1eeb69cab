"""Client of the HTTP API of a stack, with the standard library: it needs nothing of Airflow, and not the package `lakegate`."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.client import HTTPException, HTTPMessage
from pathlib import Path
from typing import IO, Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

SECONDS = 60
"""The longest wait for the next bytes of a response."""
LARGEST_RESPONSE = 8 << 20
LARGEST_FILE = 5 << 30
"""Of one upload URL: S3's limit."""
ANNOUNCEMENTS = 3
"""The number of times that an upload whose time is over is announced again."""
PAGES = 10
"""Of deliveries that are not finished, and stand before the latest ones that are."""
UPLOAD_EXISTS = 412
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
REGION = re.compile(r"\.execute-api\.([a-z0-9-]+)\.")
FINISHED = frozenset({"Accepted", "Rejected", "Failed", "Gone", "Expired"})
FINAL = frozenset({400, 404, 409, 422})
"""Statuses of refusals that another try does not change."""
BLOCK = 1 << 20


class LakegateApiError(Exception):
    """A request that the API, S3 or this package refuses. `status`: of the response; 0 without one."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class _NoRedirect(HTTPRedirectHandler):
    """A redirect is a refusal: another address would get the token."""

    def redirect_request(  # noqa: PLR0913, PLR0917 - the library's own
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> None:
        del req, fp, code, msg, headers, newurl


@dataclass(frozen=True)
class Client:
    """An API with the caller's token; without one, requests are signed by IAM with the credentials that botocore finds."""

    url: str
    token: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        if not _is_private(self.url):
            raise LakegateApiError("the address of the API begins with https://")

    def deliver(self, contract: str, file: Path, known: Mapping[str, Any], key: str) -> dict[str, Any]:
        """Announce a file, upload it and notify; the workload. Repeated with the same key, it is the same delivery.

        `known`: more members of the announcement, such as `dataset` and `summary`. Raises LakegateApiError.
        """
        size = file.stat().st_size
        if size > LARGEST_FILE:
            raise LakegateApiError(
                f"{file.name} has more than 5 GiB: upload it to the landing bucket with rights of its own"
            )
        checksum = f"sha256:{base64.b64encode(_sha256(file)).decode()}"
        wanted = {"name": file.name, **known, "size": size, "checksum": checksum}
        for number in range(ANNOUNCEMENTS):
            of_request = hashlib.sha256(json.dumps([key, number, wanted], sort_keys=True).encode()).hexdigest()
            announced = self.ask("POST", f"{_address(contract)}/workload", wanted, key=of_request)
            found = self.workload(announced["workloadId"], contract)
            if found["deliveryId"] is not None and found["status"] != "Gone":
                return found
            upload = announced["upload"]
            if found["status"] in FINISHED or _is_over(upload["expiresAt"]):
                continue
            with file.open("rb") as body:
                self._put(upload["url"], {**upload["headers"], "content-length": str(size)}, body)
            return self.ask("POST", f"{_address(contract)}/workload/{announced['workloadId']}/notify")
        raise LakegateApiError(
            f"{file.name} was announced {ANNOUNCEMENTS} times, and its upload URL was over each time"
        )

    def workload(self, workload: str, contract: str) -> dict[str, Any]:
        """Status and result of a delivery."""
        return self.ask("GET", f"{_address(contract)}/workload/{quote(workload, safe='')}")

    def finished(self, workload: str, contract: str, poll_interval: float, timeout: timedelta) -> dict[str, Any]:
        """A delivery once it has ended. Raises LakegateApiError, also where that takes longer."""
        end = time.monotonic() + timeout.total_seconds()
        while (found := self.workload(workload, contract))["status"] not in FINISHED:
            if time.monotonic() > end:
                raise LakegateApiError(f"there is no verdict in time: workload {workload} is {found['status']}")
            time.sleep(poll_interval)
        return found

    def accepted(self, contract: str, dataset: str, since: datetime) -> dict[str, Any] | None:
        """The latest accepted delivery to a dataset (`shop/orders_v1`) that landed at this time or later; None if there is none.

        Raises LakegateApiError.
        """
        for each in self._judged(contract, dataset):
            landed = each["details"]["at"]
            if each["status"] == "Accepted" and landed is not None and datetime.fromisoformat(landed) >= since:
                return {name: value for name, value in each.items() if name != "details"}
        return None

    def newest(self, contract: str, dataset: str) -> dict[str, Any] | None:
        """The latest delivery to a dataset with a verdict; None if there is none. Raises LakegateApiError."""
        found = next(iter(self._judged(contract, dataset)), None)
        return None if found is None else self.workload(found["workloadId"], contract)

    def _judged(self, contract: str, dataset: str) -> list[dict[str, Any]]:
        """Deliveries with a verdict, of the first page that has any: the latest deliveries come first."""
        query = {"line": dataset, "details": "true"}
        for _ in range(PAGES):
            page = self.ask("GET", f"{_address(contract)}/workload", query=query)
            judged = [each for each in page["workloads"] if each["status"] in {"Accepted", "Rejected"}]
            if judged or not page["cursor"]:
                return judged
            query["cursor"] = page["cursor"]
        return []

    def ask(
        self, method: str, path: str, document: object = None, *, key: str = "", query: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        """The JSON object of a response. `key`: the API knows the request again by it. Raises LakegateApiError."""
        body = b"" if document is None else json.dumps(document).encode()
        headers = {"content-type": "application/json"} if body else {}
        if key:
            headers["idempotency-key"] = key
        url = self.url.rstrip("/") + path + (f"?{urlencode(query, quote_via=quote)}" if query else "")
        headers |= {"authorization": f"Bearer {self.token}"} if self.token else _signature(method, url, headers, body)
        status, response = _sent(Request(url, body or None, headers, method=method), "the API")  # noqa: S310 - checked
        try:
            found = json.loads(response)
        except ValueError:
            found = None
        if status not in {200, 202} or not isinstance(found, dict):
            raise LakegateApiError("; ".join(_refusal(status, found if isinstance(found, dict) else {})), status)
        return found

    def _put(self, url: str, headers: Mapping[str, str], body: IO[bytes]) -> None:
        """Send a file; what is there already, from an earlier try, is not sent again."""
        if not _is_private(url):
            raise LakegateApiError("the API named an upload address that is not of HTTPS: the file was not sent")
        status, _ = _sent(Request(url, body, dict(headers), method="PUT"), "S3")  # noqa: S310 - checked
        if status not in {200, UPLOAD_EXISTS}:
            raise LakegateApiError(f"S3 refused the file with status {status}", status)


def words(found: Mapping[str, Any]) -> str:
    """A finished delivery in a sentence; values are masked by the API."""
    info = found["result"]["info"]
    reasons = info["errors"] if info else []
    return f"workload {found['deliveryId'] or found['workloadId']}: {found['status']}" + "".join(
        f"\n  {each}" for each in reasons
    )


def _address(contract: str) -> str:
    return f"/api/v1/data-contract/{quote(contract, safe='')}"


def _is_private(url: str) -> bool:
    """Whether nobody on the way reads what is sent."""
    parts = urlsplit(url)
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK)


def _is_over(moment: str) -> bool:
    return datetime.fromisoformat(moment) <= datetime.now(UTC)


def _sha256(file: Path) -> bytes:
    digest = hashlib.sha256()
    with file.open("rb") as content:
        while block := content.read(BLOCK):
            digest.update(block)
    return digest.digest()


def _sent(request: Request, what: str) -> tuple[int, bytes]:
    try:
        with build_opener(_NoRedirect).open(request, timeout=SECONDS) as response:
            return response.status, response.read(LARGEST_RESPONSE)
    except HTTPError as refused:
        with refused:
            return refused.code, refused.read(LARGEST_RESPONSE)
    except (URLError, HTTPException, OSError) as error:
        reason = error.reason if isinstance(error, URLError) else error
        raise LakegateApiError(f"{what} does not answer ({type(reason).__name__})") from None


def _refusal(status: int, problem: Mapping[str, Any]) -> Iterator[str]:
    """The problem document of a refusal in words."""
    yield f"the API refused it with status {status}: {problem.get('detail') or problem.get('message') or 'no reason'}"
    yield from (str(each.get("message")) for each in problem.get("errors", ()))


def _signature(method: str, url: str, headers: Mapping[str, str], body: bytes) -> dict[str, str]:
    """The headers of a request that is signed by IAM. Raises LakegateApiError."""
    try:
        import botocore.session  # noqa: PLC0415 - a token needs none of it
        from botocore.auth import SigV4Auth  # noqa: PLC0415 - likewise
        from botocore.awsrequest import AWSRequest  # noqa: PLC0415 - likewise
    except ImportError:
        raise LakegateApiError("give the client a token, or install lakegate-client[iam]") from None
    session = botocore.session.get_session()
    credentials, named = session.get_credentials(), REGION.search(urlsplit(url).hostname or "")
    region = named[1] if named else session.get_config_variable("region")
    if credentials is None or not region:
        raise LakegateApiError("there is no token, and there are no credentials of AWS, or no region")
    request = AWSRequest(method, url, headers=dict(headers), data=body)
    SigV4Auth(credentials, "execute-api", region).add_auth(request)
    return dict(request.headers.items())
