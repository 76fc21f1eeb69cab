"""The notifier, on EventBridge: from there rules carry a message to topics, queues and webhooks."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from functions.adapters.errors import BY_CODE, spoken
from functions.ports import PortError

if TYPE_CHECKING:
    from mypy_boto3_events import EventBridgeClient

    from functions.workload import Message

SOURCE: Final = "lakegate"


def detail_type(kind: str) -> str:
    """What rules choose events by."""
    return f"workload {kind}"


def detail(message: Message) -> dict[str, object]:
    """The detail of the event; its JSON Schema is contracts/schemas/event.json."""
    return {"id": message.id, "workload": message.workload, "kind": message.kind, "body": json.loads(message.body)}


@dataclass(frozen=True, slots=True)
class EventBridgeNotifier:
    """Notifier."""

    client: EventBridgeClient
    bus: str

    def send(self, message: Message) -> None:
        """PutEvents of one entry. It answers 200 also where it refused the entry: the count of failures decides."""
        with spoken():
            answer = self.client.put_events(
                Entries=[
                    {
                        "Source": SOURCE,
                        "DetailType": detail_type(message.kind),
                        "Detail": json.dumps(detail(message), separators=(",", ":")),
                        "EventBusName": self.bus,
                        "Time": message.at,
                    }
                ]
            )
        if answer["FailedEntryCount"]:
            code = answer["Entries"][0].get("ErrorCode", "")
            raise BY_CODE.get(code, PortError)(f"PutEvents: {code}")
