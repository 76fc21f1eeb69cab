"""What the adapters of channels share: the words and the document of a notification."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from lakegate.contracts.words import printable

if TYPE_CHECKING:
    from lakegate.functions.ports.channels import Notification


def headline(notification: Notification) -> str:
    """The title; of a resolved cause with a word before it."""
    return printable(f"Resolved: {notification.title}" if notification.resolved else notification.title)


def lines(notification: Notification) -> list[str]:
    """The text. Signs that are not printed, such as those that turn the direction of text, are escaped."""
    return [printable(each) for each in notification.text]


def footer(notification: Notification) -> str:
    """How often, since when, and how to find out more."""
    often = "once" if notification.times == 1 else f"{notification.times:,} times"
    words = [f"{often} since {notification.since[:16].replace('T', ' ')} UTC"] if notification.since else []
    if notification.workload:
        words.append(f"lakegate reasons {notification.workload[:12]}")
    return " · ".join(words) or notification.line


def document(notification: Notification) -> bytes:
    """The notification as JSON; its schema is contracts/schemas/notification.json."""
    texts = {"title": printable(notification.title), "text": lines(notification)}
    content = {**notification._asdict(), **texts, "at": notification.at.isoformat()}
    if (callback := content.pop("callback")) is not None:
        content["callback"] = asdict(callback)
    return json.dumps(content, sort_keys=True, separators=(",", ":")).encode()
