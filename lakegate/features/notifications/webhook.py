"""Signed webhooks: the scheme of Standard Webhooks 1.0.0 (https://www.standardwebhooks.com), which libraries verify.

The secret has the address and the key. `webhook-signature` is the HMAC-SHA256 of id, timestamp and body: a receiver refuses
an old timestamp, and remembers ids.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Final

from lakegate.aws.https_client import Web
from lakegate.aws.secrets import Secrets
from lakegate.base.errors import PortError
from lakegate.features.notifications.notification_text import document
from lakegate.gate.channel_ports import OF_SECRET, Notification

PREFIX: Final = "whsec_"
SHORTEST_KEY, LONGEST_KEY = 24, 64
"""Bytes: Standard Webhooks 1.0.0, "Signature scheme"."""


@dataclass(frozen=True, slots=True)
class Webhook:
    """Receivers of signed requests."""

    form: ClassVar = OF_SECRET
    secrets: Secrets
    web: Web
    now: Callable[[], float] = time.time
    """Seconds since 1970."""

    def deliver(self, reference: str, notification: Notification) -> None:
        """Post the document of the notification, signed. Raises PortError."""
        secret = self.secrets.read(reference)
        body, at = document(notification), str(int(self.now()))
        headers = {
            "Content-Type": "application/json",
            "webhook-id": notification.id,
            "webhook-timestamp": at,
            "webhook-signature": signature(secret.key, notification.id, at, body),
        }
        self.web.post(secret.url, body, headers)

    def token(self, reference: str, about: str) -> str:
        """Derived from the key, so that it is kept nowhere and a repetition has the same; nothing that is signed begins so."""
        digest = hmac.new(_key(self.secrets.read(reference).key), f"callback.{about}".encode(), hashlib.sha256).digest()
        return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def signature(key: str, identity: str, at: str, body: bytes) -> str:
    """The value of `webhook-signature`. Raises as `_key` does."""
    signed = hmac.new(_key(key), f"{identity}.{at}.".encode() + body, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(signed).decode()}"


def _key(key: str) -> bytes:
    """The bytes of a key. Raises PortError for one that is not `whsec_` and 24 to 64 bytes in base64."""
    try:
        decoded = base64.b64decode(key.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        decoded = b""
    if not key.startswith(PREFIX) or not SHORTEST_KEY <= len(decoded) <= LONGEST_KEY:
        raise PortError("secret-malformed")
    return decoded
