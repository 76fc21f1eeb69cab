"""Events and their bodies: messages that are stored with a state and sent afterwards."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

from lakegate.base.extension_points import names
from lakegate.base.json_codec import Bounds, Exact, NotEmpty, Permitted, Sha256, encode, omit_default
from lakegate.base.timestamps import Moment
from lakegate.contract.contract_model import DATASET_KEY
from lakegate.gate.delivery.delivery_row import Anomaly, FailureCause, Waiver, Workload
from lakegate.gate.delivery.protocol import JUDGED_STATES, State
from lakegate.gate.lake_layout import uri_of
from lakegate.gate.ports import Message
from lakegate.plan.billed_cost import Amount, BilledCost
from lakegate.verdict.check_status import Status

if TYPE_CHECKING:
    from lakegate.gate.dependencies import Dependencies

TOLD = ("published", "quarantined", "failed", "gone", "awaiting", "passing")
"""The states of which there are events."""


@dataclass(frozen=True, slots=True)
class EventSubscriber:
    """Subscribers that are notified."""

    team: NotEmpty
    audience: Annotated[str, Permitted(("consumer", "producer", "operator"))]
    to: tuple[NotEmpty, ...]
    """Channels; empty: this event alone."""


@dataclass(frozen=True, slots=True)
class EventBody:
    """The outcome of a delivery: ids, numbers and masked reasons, no text of the producer."""

    workload: Sha256
    state: Annotated[str, Permitted(tuple(each.upper() for each in TOLD))]
    attempt: Exact
    """The number of job runs that were started; 0: the delivery was refused before."""
    dataset: NotEmpty | None = field(metadata=DATASET_KEY)
    height: Exact | None
    contract_version: str | None
    verdict: Annotated[str, Permitted(("accepted", "accepted_with_warnings", "rejected"))] | None
    reasons: tuple[NotEmpty, ...]
    rows: Exact | None
    published_rows: Exact | None
    rejected_rows: Exact | None
    checks: (
        Annotated[dict[Annotated[str, Permitted(tuple(each.value for each in Status))], Exact], Bounds(len(Status))]
        | None
    )
    """By status."""
    cost: BilledCost | None
    """Of all its attempts whose costs are known, by the price table of the stack."""
    seconds: Amount | None
    """From intake, or from the last replay, to the end; null where no route was looked for."""
    cause: FailureCause | None
    """Of a failed delivery: why its last attempt came to nothing."""
    subscribers: tuple[EventSubscriber, ...]
    """Of a rejected delivery, or one that a person let through: who asked to be notified."""
    report: NotEmpty | None
    """Address of the HTML report; null for failed and gone."""
    waiver: Waiver | None
    """Of a rejected delivery that a person let through."""
    supersedes: Annotated[tuple[Exact, ...], Bounds(1)] = omit_default(())
    """Of an accepted delivery the heights of those in whose place it comes; absent for none."""
    anomalies: Annotated[tuple[Anomaly, ...], Bounds(1)] = omit_default(())
    """What is unusual of a published delivery, by the last ones of its dataset; absent where nothing is."""
    workflow_state: str = omit_default("")
    """The state of its workflow's own that a delivery is in; absent where it is in none."""


@dataclass(frozen=True, slots=True)
class EventDetail:
    """The detail of an event.

    The stack puts it on its event bus when a delivery has come to an end, or waits for a person. docs/events.md explains it.
    """

    id: NotEmpty
    """The same for every repetition of this event."""
    workload: Sha256
    kind: Annotated[str, Permitted(TOLD)]
    body: EventBody


@dataclass(frozen=True, slots=True)
class ChangedDelivery:
    """Another accepted delivery of the dataset that a recall or restoration changed."""

    workload: Sha256
    height: Exact
    """Of its block."""


@dataclass(frozen=True, slots=True)
class RecallEvent:
    """The body of an event about an accepted delivery that was recalled, or restored."""

    dataset: NotEmpty = field(metadata=DATASET_KEY)
    workload: Sha256
    height: Exact
    """Of its block."""
    actor: NotEmpty
    """ARN or identity of the person."""
    reason: NotEmpty
    current: bool
    """Whether the delivery is part of the current state now; a restored one is not where another one supersedes it."""
    subscribers: tuple[EventSubscriber, ...]
    """All of the dataset."""
    accepted_at: Moment | None = omit_default(None)
    """The time when the delivery was accepted."""
    changed_with: Annotated[tuple[ChangedDelivery, ...], Bounds(1)] = omit_default(())
    """Deliveries that it had superseded, and that are current again by a recall, or not any more by a restoration."""


RECALLS = ("recalled", "restored")
"""The kinds of events about a delivery that a person took out of the current state of its dataset, or put back."""
DATASET_KINDS = (
    *("draft", "active", "deprecated", "sunset", "retired", "planned", "breaking"),
    *("late", *RECALLS, *names("dataset events")),
)
"""The kinds of events about a dataset: those of its lifecycle, then those with a body of their own, most of them by features."""


@dataclass(frozen=True, slots=True)
class DatasetEventDetail:
    """The detail of an event about a dataset.

    The stack puts it on its event bus when the lifecycle of a dataset changes or is planned to, when its accepted data
    drifts, when it misses a service level, when a delivery is recalled or restored, when its data cannot be fetched, and when
    its accepted data was measured by schedule (docs/events.md).
    """

    id: NotEmpty
    """The same for every repetition of this event."""
    dataset: NotEmpty = field(metadata=DATASET_KEY)
    """Of the dataset."""
    kind: Annotated[str, Permitted(DATASET_KINDS)]
    body: object
    """By the kind."""


def message(
    dependencies: Dependencies,
    workload: Workload,
    height: int | None = None,
    subscribers: tuple[EventSubscriber, ...] = (),
    supersedes: tuple[int, ...] = (),
) -> Message:
    """The message about a workload that ended or waits for a person: ids, numbers and masked reasons, no text of the producer.

    `height`, `supersedes`: of its block. `subscribers`: who asked to be notified.
    """
    decision, pin = workload.decision or workload.candidate, workload.pin
    counts = decision.counts if decision else None
    body = EventBody(
        workload=workload.id,
        state=workload.state.value,
        attempt=workload.attempt,
        dataset=pin.dataset if pin else None,
        height=height,
        contract_version=pin.version if pin else None,
        verdict=decision.verdict if decision else None,
        reasons=tuple(decision.reasons) if decision else (),
        rows=counts.rows if counts else None,
        published_rows=counts.published_rows if counts else None,
        rejected_rows=counts.rejected_rows if counts else None,
        checks=counts.checks if counts else None,
        cost=workload.cost,
        seconds=_since(pin.judging_time, dependencies.now) if pin else None,
        cause=workload.failed[-1].cause if workload.state is State.FAILED else None,
        subscribers=subscribers,
        report=uri_of(dependencies.places.lake, workload),
        waiver=workload.waiver if workload.state is State.PUBLISHED else None,
        supersedes=supersedes,
        anomalies=workload.anomalies,
        workflow_state=workload.passed[-1] if workload.passed and workload.state in JUDGED_STATES else "",
    )
    kind = workload.state.lower()
    return Message(message_id(workload), workload.id, kind, json.dumps(encode(body), sort_keys=True), dependencies.now)


def message_id(workload: Workload) -> str:
    """The id of the message about a workload: no two that are told of have the same state, attempt and number of own states."""
    passed = f":{len(workload.passed)}" if workload.passed and workload.state in JUDGED_STATES else ""
    return f"{workload.id}:{workload.state.lower()}:{workload.attempt}{passed}"


def _since(judging_time: str, now: datetime) -> float:
    """Seconds from intake, or from the last replay, to now; clocks of two functions may differ."""
    return max(round((now - datetime.fromisoformat(judging_time)).total_seconds(), 3), 0.0)
