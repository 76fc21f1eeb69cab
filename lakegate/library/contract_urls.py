"""Contracts and definitions by their address: public hosts, HTTPS, within bounds; for commands, never for the gate.

What is fetched becomes part of the document that a command works with, so that a publication stores it. No credentials are sent.
"""

from __future__ import annotations

from typing import Final

from lakegate.aws.https_client import Web, read_exactly, redirect_target, refuse_status
from lakegate.base.errors import InputError, LakegateError, PortError, Unanswered
from lakegate.base.text import quote

MAX_REDIRECTS: Final = 5
REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
SECONDS_OF_REQUEST: Final = 15.0
"""For each request."""
WEB: Final = Web(seconds=SECONDS_OF_REQUEST)
REASONS: Final = {
    "address-refused": "its host is not a public one, or it is no address of HTTPS",
    "port-refused": "its port is none of HTTPS",
    "certificate-refused": "its certificate is not trusted",
    "gaierror": "its host is not known here: is it written correctly, and is there a network?",
    "TimeoutError": "its host does not answer",
    "ConnectionRefusedError": "its host refuses connections",
    "too-many-redirects": f"it leads to more than {MAX_REDIRECTS} others",
    "too-large": "it has more bytes than a contract may have",
    "encoding-refused": "it is compressed, and was not to be",
}


def fetch_document(url: str, most: int, web: Web | None = None) -> bytes:
    """The first bytes at an address. InputError with the reason where nothing can be fetched."""
    try:
        return _fetched(url, most, web or WEB)
    except LakegateError as error:
        reason = str(error)
        raise InputError(f"{quote(url)} cannot be fetched: {REASONS.get(reason, reason)}") from None


def _fetched(url: str, most: int, web: Web) -> bytes:
    headers = {"Accept-Encoding": "identity", "User-Agent": "lakegate"}
    for _ in range(MAX_REDIRECTS + 1):
        with web.get(url, headers) as response:
            if response.status in REDIRECTS:
                url = redirect_target(url, response)
                continue
            refuse_status(response.status)
            if (response.getheader("Content-Encoding") or "identity").lower() != "identity":
                raise PortError("encoding-refused")
            found = read_exactly(response.read, most)
            if response.length and len(found) < most:
                raise Unanswered("its connection broke before its end")
            return found
    raise PortError("too-many-redirects")
