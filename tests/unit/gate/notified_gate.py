"""An environment whose deliveries end as a test wants them to, for tests of messages."""

from __future__ import annotations

from functools import partial
from typing import Any

from lakegate.gate.datasets.lifecycle import change
from lakegate.gate.datasets.subscriptions import add_subscription
from lakegate.gate.delivery.delivery_row import Decision, Workload
from lakegate.gate.delivery.protocol import State
from lakegate.gate.effects import run
from lakegate.gate.event_bodies import message
from lakegate.gate.send_messages import Notified, notify
from tests.unit.gate.scenarios import landed

LINE = "orders/lines_v1"
OPERATOR, CONSUMER, PRODUCER = "pagerduty:operator", "slack:consumer", "teams:producer"
REASONS = ("amount: wanted at least 95 % present", "duplicate-content")


class Gate:
    """An environment whose deliveries end as a test wants them to."""

    def __init__(self) -> None:
        self.env, self.row = landed()
        self.number = 0

    def subscribe(self, channel: str, *on: str, **given: Any) -> None:
        decide = partial(add_subscription, team=channel, on=on, to=[channel], **given)
        run(change(self.env.dependencies, LINE, "", decide), self.env.dependencies.clock)

    def ends(
        self,
        kind: str,
        verdict: str | None = None,
        reasons: tuple[str, ...] = REASONS,
        supersedes: tuple[int, ...] = (),
        **changes: Any,
    ) -> Workload:
        """One more delivery has come to an end, and its message is in the outbox."""
        self.number += 1
        decision = Decision(verdict, reasons, "") if verdict else None
        row = self.row._replace(
            id=f"{self.number:064x}", state=State(kind.upper()), decision=decision, attempt=1, **changes
        )
        self.env.memory.workloads[row.id] = row
        self.env.memory.post(message(self.env.dependencies, row, self.number, supersedes=supersedes))
        return row

    def turn(self, hours: float = 0) -> Notified:
        self.env.memory.clock.sleep(hours * 3_600 + 60)
        return run(notify(self.env.dependencies), self.env.dependencies.clock)

    def sent(self) -> list[tuple[str, str, int, bool]]:
        found = [(to, each.kind, each.times, each.resolved) for to, each in self.env.memory.channels.sent]
        self.env.memory.channels.sent.clear()
        return found
