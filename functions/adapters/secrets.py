"""Secrets of channels and of sources: read from Secrets Manager when they are needed, never written anywhere."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from lakegate.functions.adapters.errors import port_errors
from lakegate.functions.ports.errors import PortError

KEYS = frozenset({"url", "key"})
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
        return Secret(**self.content(name, KEYS))

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
