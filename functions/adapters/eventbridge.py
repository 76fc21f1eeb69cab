"""The notifier, on EventBridge: from there rules carry a message to topics, queues and webhooks."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lakegate.functions.adapters.errors import BY_CODE, port_errors
from lakegate.functions.ports.errors import PortError

if TYPE_CHECKING:
    from mypy_boto3_events import EventBridgeClient

    from lakegate.functions.workload import Message

SOURCE: Final = "lakegate"


def detail_type(message: Message) -> str:
    """What rules choose events by."""
    return f"{'line' if message.line else 'workload'} {message.kind}"


def detail(message: Message) -> dict[str, object]:
    """The detail of the event; its JSON Schema is contracts/schemas/event.json, about a line line-event.json."""
    about = {"line": message.line} if message.line else {"workload": message.workload}
    return {"id": message.id, **about, "kind": message.kind, "body": json.loads(message.body)}


@dataclass(frozen=True, slots=True)
class EventBridgeNotifier:
    """Notifier."""

    client: EventBridgeClient
    bus: str

    def send(self, message: Message) -> None:
        """PutEvents of one entry. The status is 200 also for a refused entry: the count of failures decides."""
        with port_errors():
            answer = self.client.put_events(
                Entries=[
                    {
                        "Source": SOURCE,
                        "DetailType": detail_type(message),
                        "Detail": json.dumps(detail(message), separators=(",", ":")),
                        "EventBusName": self.bus,
                        "Time": message.at,
                    }
                ]
            )
        if answer["FailedEntryCount"]:
            code = answer["Entries"][0].get("ErrorCode", "")
            raise BY_CODE.get(code, PortError)(f"PutEvents: {code}")
