"""The words and the document of a notification: title, sentences, remedies, footer."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final

from lakegate.base.json_codec import Bounds, NotEmpty, Permitted, Sha256, encode, omit_default
from lakegate.base.text import plural, printable
from lakegate.contract.contract_model import DATASET_KEY
from lakegate.gate.channel_ports import CallbackInvitation, Channels, Notification
from lakegate.gate.datasets.freshness_deadlines import LATENCY
from lakegate.gate.datasets.subscriptions import OF_ALL
from lakegate.gate.delivery.delivery_row import Workload
from lakegate.gate.dependencies import Dependencies

KINDS: Final = (
    *("accepted", "rejected", "warned", "failed", "awaiting", "passing", "late"),
    *("breaking", "deprecated", "recalled", "drift", "pull", "revalidation", "test"),
)


@dataclass(frozen=True, slots=True)
class NotificationDocument:
    """A notification.

    It is sent to signed webhooks and to SNS topics. docs/notifications.md explains it.
    """

    id: Sha256
    """The same for every repetition of this notification."""
    key: Sha256
    """Of the cause: the same for all notifications about it."""
    kind: Annotated[str, Permitted(KINDS)]
    dataset: str = field(metadata=DATASET_KEY)
    """`<contract>/<dataset>_v<major>`; empty for a test."""
    title: NotEmpty
    text: tuple[str, ...]
    """Lines: reasons, values masked."""
    at: str
    """RFC 3339: when it was sent first."""
    times: Annotated[int, Bounds(1)]
    """The number of times that the cause has occurred."""
    since: str
    """The time when it occurred first; empty for a test."""
    resolved: bool
    """Whether the cause is over."""
    workload: str
    """The latest delivery, or the one that was recalled or restored; empty if it is about a dataset."""
    callback: CallbackInvitation | None = omit_default(None)
    """The way to call back for the delivery: of webhooks, where its workflow waits for that."""


def headline(notification: Notification) -> str:
    """The title; of a resolved cause with a word before it."""
    return printable(f"Resolved: {notification.title}" if notification.resolved else notification.title)


def lines(notification: Notification) -> list[str]:
    """The text. Signs that are not printed, such as those that turn the direction of text, are escaped."""
    return [printable(each) for each in notification.text]


def footer(notification: Notification) -> str:
    """The number of occurrences, since when, and the command that tells more."""
    often = "once" if notification.times == 1 else f"{notification.times:,} times"
    words = [f"{often} since {notification.since[:16].replace('T', ' ')} UTC"] if notification.since else []
    if notification.workload:
        command = "status" if notification.kind == OF_ALL else "reasons"
        words.append(f"lakegate {command} {notification.workload[:12]}")
    return " · ".join(words) or notification.dataset


def document(notification: Notification) -> bytes:
    """The notification as JSON."""
    texts = {"title": printable(notification.title), "text": tuple(lines(notification))}
    content = {**notification._asdict(), **texts, "at": notification.at.isoformat()}
    return json.dumps(encode(NotificationDocument(**content)), sort_keys=True, separators=(",", ":")).encode()


def channels(dependencies: Dependencies) -> Channels:
    """Channels of this stack."""
    found: Channels = dependencies.of("channels")
    return found


MAX_REASONS_OF_CAUSE: Final = 5
"""Sentences of one message."""
TITLES: Final = {
    "rejected": "Rejected",
    "warned": "Accepted with warnings",
    "failed": "No verdict",
    "awaiting": "Waits for approval",
    "passing": "Judged, not published yet",
}


def reasons_text(workload: Workload, kind: str, causes: list[str]) -> tuple[str, ...]:
    """The reasons of a delivery's end, one sentence each."""
    if kind == "failed":
        return tuple(causes)
    if kind == "passing":  # by its event: it may be published by now
        return ()
    if kind != "awaiting":
        return (*workload.decision.reasons, *anomalies_text(workload)) if workload.decision else tuple(causes)
    return (
        f"To publish it: lakegate approve {workload.id}",
        f'To reject it: lakegate decline {workload.id} --reason "…"',
        f"Without an answer it is rejected at {workload.deadline:%Y-%m-%d %H:%M} UTC",
        *workload.required(workload.candidate).reasons,
        *anomalies_text(workload),
    )


def passing_text(body: Mapping[str, Any]) -> tuple[str, ...]:
    """The state of its workflow that a delivery came to, by its event, and why it has warnings, or is rejected."""
    return (f"State of its workflow: {body['workflow_state']}", *body["reasons"])


def accepted_text(workload: Workload, body: Mapping[str, Any]) -> tuple[str, ...]:
    """What is new, by the event of the delivery: rows, what it replaces, broken rules, anomalies and the command."""
    decision = workload.decision
    rows = [decision.counts.rows_in_words] if decision and decision.counts else []
    first, command = (*rows, *replaced_text(workload, body)), f"To read it: lakegate get {body['line']} FOLDER"
    found = (*(decision.reasons if decision else ()), *anomalies_text(workload))
    return (*first, *found[: MAX_REASONS_OF_CAUSE - len(first) - 1], command)


def replaced_text(workload: Workload, body: Mapping[str, Any]) -> tuple[str, ...]:
    """The deliveries in whose place an accepted one comes, by its event: one sentence, or none."""
    heights = ", ".join(map(str, body.get("supersedes", ())))
    return (f"Takes the place of height {heights}: lakegate status {workload.id[:12]} names it",) if heights else ()


def anomalies_text(workload: Workload) -> tuple[str, ...]:
    """What is unusual of an accepted delivery, one sentence each, in printable signs."""
    return tuple(printable(f"Anomaly: {anomaly.text}") for anomaly in workload.anomalies)


EventText = tuple[str, list[str]]
"""Title and reasons of a message about a dataset."""


def lifecycle_text(body: Mapping[str, Any]) -> EventText:
    """Sentence and details of a change of the lifecycle."""
    return f"{body['line']} is {body['status']}", _planned(body) + _given(body)


def _planned(body: Mapping[str, Any]) -> list[str]:
    return [f"{each['status']} from {_minute(each['at'])}" for each in body["planned"]]


def _given(body: Mapping[str, Any]) -> list[str]:
    texts = {"Reason": body["reason"], "Use instead": body["replacement"], "Guide": body["guide"]}
    return [f"{name}: {text}" for name, text in texts.items() if text]


def _minute(at: str) -> str:
    return f"{at[:16].replace('T', ' ')} UTC"


def _breaking(body: Mapping[str, Any]) -> EventText:
    version, follows, day = body["version"], body["follows"], body.get("inherited_from", "")[:10]
    title = f"{version} breaks {follows}"
    if day:
        owner = f", whose owner is {body['owner']}" if body.get("owner") else ""
        weaker = f"{body['line']}{owner}, is weaker: new versions inherit from it from {day} on"
        return title, [weaker, *_planned(body), *_given(body)]
    contract = follows.rpartition("/")[0]
    commands = [
        f"{follows} goes on beside it until it is retired",
        f"What changes: lakegate diff {contract} {contract}@{version}",
        f"When you are ready: lakegate acknowledge {follows}@{version} --as TEAM",
    ]
    return title, [*_planned(body), *commands, *_given(body)]


def _drift(body: Mapping[str, Any]) -> EventText:
    of = f"of {plural(body['compared'], 'object')} of {body['line']}"
    title = f"Drift: {plural(body['drifted'], f'{of} differs', f'{of} differ')} from {body['contract_version']}"
    fields = body["fields"]
    return title, [f"{each['field'] or 'object'}: {each['difference']} ({each['objects']})" for each in fields]


def _late(body: Mapping[str, Any]) -> EventText:
    since = body["since"][:16].replace("T", " ")
    title = f"Late: {body['line']} has missed its {body['promise']}"
    if body["promise"] == LATENCY:
        return (
            title,
            [f"What was taken in at {since} UTC was not accepted within {plural(body['seconds'], 'second')}"],
        )
    return title, [f"No delivery was accepted within {plural(body['seconds'], 'second')} after {since} UTC"]


def _recalled(body: Mapping[str, Any]) -> EventText:
    changed = _changed_with(body)
    others = f"Current again: {changed}" if changed else "No other delivery is current again"
    return _of_recall("Recalled", body, "Its rows are not part of the dataset any more", others)


def _restored(body: Mapping[str, Any]) -> EventText:
    changed = _changed_with(body)
    again = "Its rows are part of the dataset again" if body["current"] else "A later delivery has come in its place"
    return _of_recall("Restored", body, again, f"Not current any more: {changed}" if changed else "")


def _of_recall(act: str, body: Mapping[str, Any], standing: str, others: str) -> EventText:
    accepted = body.get("accepted_at")
    texts = (
        f"Reason: {body['reason']}",
        f"Accepted at {_minute(accepted)}" if accepted else "",
        standing,
        others if accepted else "",  # an event of an earlier release names neither
        f"To have the current state in a folder: lakegate get {body['line']} FOLDER",
    )
    title = f"{act}: delivery {body['workload'][:12]} of {body['line']}, height {body['height']}"
    return title, [each for each in texts if each]


def _changed_with(body: Mapping[str, Any]) -> str:
    return ", ".join(f"{each['workload'][:12]} (height {each['height']})" for each in body.get("changed_with", ()))


def _pull(body: Mapping[str, Any]) -> EventText:
    again = (
        f"It is tried again at {body['next'][:16].replace('T', ' ')} UTC" if body["next"] else "It is not tried again"
    )
    return f"Not fetched: {body['line']}, {body['reason']}", [again]


def _revalidation(body: Mapping[str, Any]) -> EventText:
    if body["outcome"] == "FAILED":
        title = f"Not measured: rules with a schedule over {body['line']}, {body['reason']}"
        return title, ["Nothing is known about the accepted data since the run before"]
    found = [f"{each['rule']} does not hold since {each['since'][:16].replace('T', ' ')} UTC" for each in body["stale"]]
    return f"Accepted data of {body['line']} does not keep its contract", found


DESCRIBED: Final[Mapping[str, Callable[[Mapping[str, Any]], EventText]]] = {
    "breaking": _breaking,
    "drift": _drift,
    "late": _late,
    "pull": _pull,
    "recalled": _recalled,
    "restored": _restored,
    "revalidation": _revalidation,
}
"""Title and reasons of a message about a dataset, by its kind; all others are about its lifecycle."""
