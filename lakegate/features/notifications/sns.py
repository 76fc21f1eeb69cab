"""SNS: the document of a notification to a topic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Final

from lakegate.aws.clients import port_errors
from lakegate.features.notifications.notification_text import document, headline
from lakegate.gate.channel_ports import Notification, ReferenceForm

LONGEST_SUBJECT: Final = 99
"""Characters: SNS API Reference, Publish: printable ASCII, less than 100."""


@dataclass(frozen=True, slots=True)
class Sns:
    """Topics."""

    form: ClassVar = ReferenceForm(r"arn:aws[a-z-]*:sns:[a-z0-9-]+:\d{12}:[A-Za-z0-9_-]{1,256}", "the ARN of a topic")
    client: Any

    def deliver(self, reference: str, notification: Notification) -> None:
        """Publish. `kind` and `line` are attributes, by which subscriptions of the topic filter. Raises PortError."""
        subject = headline(notification).encode("ascii", "replace").decode()[:LONGEST_SUBJECT]
        attributes = {"kind": notification.kind, "line": notification.dataset}
        with port_errors():
            self.client.publish(
                TopicArn=reference,
                Subject=subject,
                Message=document(notification).decode(),
                MessageAttributes={
                    name: {"DataType": "String", "StringValue": value} for name, value in attributes.items()
                },
            )
