"""Microsoft Teams: an adaptive card to the webhook of a workflow, whose address is the secret.

https://learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors/how-to/connectors-using
Text is written as `TextRun`, which is not read as Markdown.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from lakegate.aws.secrets import Secrets
from lakegate.features.notifications.notification_text import footer, headline, lines
from lakegate.gate.channel_ports import OF_SECRET, Notification

if TYPE_CHECKING:
    from lakegate.aws.https_client import Web


@dataclass(frozen=True, slots=True)
class Teams:
    """Webhooks of workflows."""

    form: ClassVar = OF_SECRET
    secrets: Secrets
    web: Web

    def deliver(self, reference: str, notification: Notification) -> None:
        """Post the card. Raises PortError."""
        body = json.dumps(message(notification)).encode()
        self.web.post(self.secrets.read(reference).url, body, {"Content-Type": "application/json"})


def message(notification: Notification) -> dict[str, Any]:
    """The body of the request: a message with one card of version 1.4."""
    card = {
        "type": "AdaptiveCard",
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "version": "1.4",
        "body": [
            _text(headline(notification), size="Medium", weight="Bolder"),
            *(_text(line) for line in lines(notification)),
            _text(footer(notification), isSubtle=True),
        ],
    }
    attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": None, "content": card}
    return {"type": "message", "attachments": [attachment]}


def _text(text: str, **style: object) -> dict[str, Any]:
    return {"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": text, **style}]}
