"""Secrets Manager, and credentials of requests."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from lakegate.aws.clients import port_errors
from lakegate.base.errors import PortError

# ---- Credentials from the content of a secret ----


CREDENTIAL_KEYS: Final = frozenset({"user", "password", "token", "header", "key"})
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


# ---- Secrets Manager ----


SECRET_KEYS = frozenset({"url", "key"})
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


@dataclass(frozen=True, slots=True)
class Secret:
    """The content of a secret: a JSON object with `url`, `key` or both."""

    url: str = ""
    key: str = ""

    def __repr__(self) -> str:
        """Nothing of the content: a secret may be part of what is logged about an error."""
        return "Secret()"


@dataclass(frozen=True, slots=True)
class Secrets:
    """Secrets by name."""

    client: Any

    def are_local(self) -> bool:
        """Whether they come from the loopback: never on AWS, where Secrets Manager has an address of AWS."""
        return urlsplit(self.client.meta.endpoint_url).hostname in LOOPBACK

    def read(self, name: str) -> Secret:
        """The secret of a channel. Raises PortError, `secret-malformed` if it is not as `Secret` states."""
        return Secret(**self.content(name, SECRET_KEYS))

    def content(self, name: str, keys: frozenset[str]) -> dict[str, str]:
        """GetSecretValue: a JSON object of texts. Raises PortError, `secret-malformed` if it is none, or has other keys."""
        with port_errors():
            text = self.client.get_secret_value(SecretId=name).get("SecretString", "")
        try:
            content = json.loads(text)
        except ValueError:
            content = None
        if not isinstance(content, dict) or not content.keys() <= keys:
            raise PortError("secret-malformed")
        if not all(isinstance(each, str) for each in content.values()):
            raise PortError("secret-malformed")
        return content
