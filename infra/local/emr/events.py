"""The events of applications and runs, on their way to EventBridge: one after the other, best effort, as AWS's own."""

from __future__ import annotations

import heapq
import itertools
import json
import sys
import threading
import time
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Protocol

from botocore.exceptions import BotoCoreError, ClientError

from infra.local.emr.faults import EventDelivery
from infra.local.emr.states import ENDS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mypy_boto3_events.client import EventBridgeClient

    from infra.local.emr.runs import Run
    from infra.local.emr.states import RunState

SOURCE: Final = "aws.emr-serverless"


APPLICATION: Final = "EMR Serverless Application State Change"


RUN: Final = "EMR Serverless Job Run State Change"


RETRY: Final = "EMR Serverless Job Run Retry"


@dataclass(frozen=True, slots=True)
class Event:
    """One event as it will be put."""

    kind: str
    detail: str
    time: datetime


def event(kind: str, detail: Mapping[str, Any], moment: datetime) -> Event:
    """An event of that kind and detail; times become text as AWS writes them."""
    return Event(kind, json.dumps(detail, default=_written), moment)


class Outlet(Protocol):
    """Where events go."""

    def put(self, sent: Event, delay: float = 0.0) -> None:
        """Send an event so many seconds later; events of the same delay keep their order."""
        ...


class Reporter:
    """Sends an event for every change of a run, as the run's fault allows. The caller holds the lock of `Life`."""

    def __init__(self, outlet: Outlet) -> None:
        self._outlet = outlet
        self._held: dict[str, list[Event]] = {}

    def changed(self, run: Run, previous: RunState | None) -> None:
        """Send the event of a run that entered its state."""
        document = event(RUN, run.detail(previous), run.latest.updated_at)
        match run.fault.delivery(run.state):
            case EventDelivery.NORMAL:
                self._outlet.put(document)
            case EventDelivery.DUPLICATE:
                self._outlet.put(document)
                self._outlet.put(document)
            case EventDelivery.DELAY:
                self._outlet.put(document, run.fault.delay_seconds)
            case EventDelivery.REORDER:
                self._held.setdefault(run.id, []).append(document)
            case EventDelivery.DROP:
                pass
        if run.state in ENDS:
            for held in reversed(self._held.pop(run.id, [])):
                self._outlet.put(held)

    def plain(self, kind: str, detail: Mapping[str, Any], moment: datetime) -> None:
        """Send an event that no fault affects: a change of an application, a retry."""
        self._outlet.put(event(kind, detail, moment))


class EventBridge:
    """An outlet that puts events on the default bus, from a thread of its own."""

    def __init__(self, client: EventBridgeClient) -> None:
        self._client = client
        self._due: list[tuple[float, int, Event]] = []
        self._order = itertools.count()
        self._changed = threading.Condition()
        self._open = True
        self._thread = threading.Thread(target=self._send, name="events", daemon=True)
        self._thread.start()

    def put(self, sent: Event, delay: float = 0.0) -> None:
        """See `Outlet`."""
        with self._changed:
            heapq.heappush(self._due, (time.monotonic() + delay, next(self._order), sent))
            self._changed.notify()

    def close(self) -> None:
        """Send what is due, drop what is not, and stop."""
        with self._changed:
            self._open = False
            self._changed.notify()
        self._thread.join()

    def _send(self) -> None:
        while (sent := self._next()) is not None:
            _put(self._client, sent)

    def _next(self) -> Event | None:
        with self._changed:
            while True:
                wait = self._due[0][0] - time.monotonic() if self._due else None
                if wait is not None and wait <= 0:
                    return heapq.heappop(self._due)[2]
                if not self._open:
                    return None
                self._changed.wait(wait)


def _put(client: EventBridgeClient, sent: Event) -> None:
    """Put one event; EventBridge refuses with HTTP 200, so that the answer has to be read."""
    try:
        answer = client.put_events(
            Entries=[
                {"Source": SOURCE, "DetailType": sent.kind, "Detail": sent.detail, "Time": sent.time, "Resources": []}
            ]
        )
    except (BotoCoreError, ClientError) as error:
        print(f"emr: an event was lost: {type(error).__name__}: {error}", file=sys.stderr)
        return
    if answer["FailedEntryCount"]:
        code = answer["Entries"][0].get("ErrorCode")
        print(f"emr: an event was refused: {code}: is {SOURCE} let through?", file=sys.stderr)


def _written(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat(timespec="microseconds").replace("+00:00", "Z")
    raise TypeError(type(value).__name__)
