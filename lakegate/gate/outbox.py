"""Messages stored with a state, sent afterwards."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING

from lakegate.gate.delivery.protocol import State
from lakegate.gate.lake_layout import uri_of
from lakegate.gate.ports import Message

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lakegate.gate.delivery.delivery_row import Workload
    from lakegate.gate.dependencies import Dependencies


def message(
    dependencies: Dependencies,
    workload: Workload,
    height: int | None = None,
    subscribers: Sequence[Mapping[str, object]] = (),
) -> Message:
    """The message about a workload that ended or waits for a person: ids, numbers and masked reasons, no text of the producer.

    `height`: of its block. `subscribers`: who asked to be notified. The JSON Schema of what is sent is
    lakegate/schemas/event.json.
    """
    decision, pin = workload.decision or workload.candidate, workload.pin
    counts = decision.counts if decision else None
    body = {
        "workload": workload.id,
        "state": workload.state,
        "attempt": workload.attempt,
        "line": pin.chain if pin else None,
        "height": height,
        "contract_version": pin.version if pin else None,
        "verdict": decision.verdict if decision else None,
        "reasons": list(decision.reasons) if decision else [],
        "rows": counts.rows if counts else None,
        "published_rows": counts.published_rows if counts else None,
        "rejected_rows": counts.rejected_rows if counts else None,
        "checks": counts.checks if counts else None,
        "cost": asdict(workload.cost) if workload.cost else None,
        "seconds": _since(pin.judging_time, dependencies.clock.now()) if pin else None,
        "cause": workload.failed[-1].cause if workload.state is State.FAILED else None,
        "subscribers": list(subscribers),
        "report": uri_of(dependencies.places.lake, workload),
        "waiver": asdict(workload.waiver) if workload.waiver and workload.state is State.PUBLISHED else None,
    }
    kind = workload.state.lower()
    return Message(message_id(workload), workload.id, kind, json.dumps(body, sort_keys=True), dependencies.clock.now())


def message_id(workload: Workload) -> str:
    """The id of the message about a workload: no two that are told of have the same state and attempt."""
    return f"{workload.id}:{workload.state.lower()}:{workload.attempt}"


def _since(judging_time: str, now: datetime) -> float:
    """Seconds from intake, or from the last replay, to now; clocks of two functions may differ."""
    return max(round((now - datetime.fromisoformat(judging_time)).total_seconds(), 3), 0.0)
