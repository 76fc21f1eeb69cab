"""Slack: a message of blocks to an incoming webhook, whose address is the secret.

https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks, https://docs.slack.dev/reference/block-kit/blocks
Blocks are `plain_text`, in which nothing is a link, a mention or a format.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from lakegate.aws.https_client import Web
from lakegate.aws.secrets import Secrets
from lakegate.features.notifications.notification_text import footer, headline, lines
from lakegate.gate.channel_ports import OF_SECRET, Notification

LONGEST_HEADER: Final = 150
LONGEST_TEXT: Final = 3_000
"""Characters: the limits of the blocks `header` and `section`."""


@dataclass(frozen=True, slots=True)
class Slack:
    """Incoming webhooks."""

    form: ClassVar = OF_SECRET
    secrets: Secrets
    web: Web

    def deliver(self, reference: str, notification: Notification) -> None:
        """Post the message. Raises PortError."""
        body = json.dumps(message(notification)).encode()
        self.web.post(self.secrets.read(reference).url, body, {"Content-Type": "application/json"})


def message(notification: Notification) -> dict[str, Any]:
    """The body of the request."""
    title = headline(notification)
    blocks: list[dict[str, Any]] = [{"type": "header", "text": _plain(title[:LONGEST_HEADER])}]
    if notification.text:
        blocks.append({"type": "section", "text": _plain("\n".join(lines(notification))[:LONGEST_TEXT])})
    blocks.append({"type": "context", "elements": [_plain(footer(notification))]})
    return {"text": _escaped(title), "blocks": blocks, "unfurl_links": False, "unfurl_media": False}


def _plain(text: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": text, "emoji": False}


def _escaped(text: str) -> str:
    """The text of the desktop notification, which may contain mentions: its three signs are escaped."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
