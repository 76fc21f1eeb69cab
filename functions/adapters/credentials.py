"""Credentials of requests to other services, from the content of a secret."""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING, Final

from lakegate.functions.ports.errors import PortError

if TYPE_CHECKING:
    from collections.abc import Mapping

KEYS: Final = frozenset({"user", "password", "token", "header", "key"})
"""Of a secret: user and password (Basic), a token (Bearer), or the name of a header and its value."""
OWN: Final = frozenset(
    {"host", "range", "if-range", "if-none-match", "if-modified-since", "connection", "content-length"}
)
"""Headers that a secret cannot name."""
_HEADER: Final = re.compile(r"[A-Za-z0-9-]{1,64}")
_VALUE: Final = re.compile(r"[!-~]([ -~]{0,2000}[!-~])?")


def header_of(content: Mapping[str, str]) -> dict[str, str]:
    """The header with the credentials. Raises PortError, `secret-malformed`."""
    match sorted(content):
        case ["token"]:
            header, value = "Authorization", f"Bearer {content['token']}"
        case ["password", "user"]:
            pair = f"{content['user']}:{content['password']}".encode()
            header, value = "Authorization", f"Basic {base64.b64encode(pair).decode()}"
        case ["header", "key"]:
            header, value = content["header"], content["key"]
        case _:
            raise PortError("secret-malformed")
    if not _HEADER.fullmatch(header) or header.lower() in OWN or not _VALUE.fullmatch(value):
        raise PortError("secret-malformed")
    return {header: value}
