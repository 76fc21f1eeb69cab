"""PagerDuty: Events API v2, `trigger` and `resolve` under one key; the secret is the routing key of an integration.

https://developer.pagerduty.com/docs/events-api-v2/trigger-events/
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from lakegate.aws.https_client import Web
from lakegate.aws.secrets import Secrets
from lakegate.base.errors import PortError
from lakegate.features.notifications.notification_text import headline, lines
from lakegate.gate.channel_ports import OF_SECRET, Notification

ADDRESS: Final = "https://events.pagerduty.com/v2/enqueue"
"""Of accounts in the United States; others have their own address in the secret, as `url`."""
LONGEST_SUMMARY: Final = 1_024
SEVERITIES: Final[Mapping[str, str]] = {
    "failed": "critical",
    "rejected": "error",
    "late": "error",
    "accepted": "info",
    "test": "info",
}
"""By kind; all others are a `warning`."""


@dataclass(frozen=True, slots=True)
class PagerDuty:
    """Integrations of services."""

    form: ClassVar = OF_SECRET
    secrets: Secrets
    web: Web

    def deliver(self, reference: str, notification: Notification) -> None:
        """Post the event. Raises PortError."""
        secret = self.secrets.read(reference)
        if not secret.key:
            raise PortError("secret-malformed")
        body = json.dumps(message(secret.key, notification)).encode()
        self.web.post(secret.url or ADDRESS, body, {"Content-Type": "application/json"})


def message(routing_key: str, notification: Notification) -> dict[str, Any]:
    """The body of the request. A test is resolved at once: it opens no incident."""
    over = notification.resolved or notification.kind == "test"
    about = {
        "routing_key": routing_key,
        "event_action": "resolve" if over else "trigger",
        "dedup_key": notification.key,
    }
    details = {"times": notification.times, "since": notification.since, "workload": notification.workload}
    return about | {
        "payload": {
            "summary": headline(notification)[:LONGEST_SUMMARY],
            "source": notification.dataset,
            "severity": SEVERITIES.get(notification.kind, "warning"),
            "timestamp": notification.at.isoformat(),
            "component": notification.dataset,
            "class": notification.kind,
            "custom_details": details | {"text": lines(notification)},
        }
    }
