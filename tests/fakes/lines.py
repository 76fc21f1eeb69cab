"""Lines in memory: conditions on their revision, on the head of their chain and on the event, in one transaction."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING

from lakegate.errors import ConditionFailed, InputError
from lakegate.gate.datasets.dataset_lines import Line
from lakegate.json_codec import encode
from lakegate.timestamps import instant_of

if TYPE_CHECKING:
    from datetime import datetime

    from lakegate.gate.ledger.blocks import Record
    from lakegate.gate.ports import Message
    from tests.fakes.ledger import MemoryLedger
    from tests.fakes.rows import MemoryRows

MAX_CONTENT = 390_000


class MemoryLines:
    """Lines; its index is `lag` seconds behind."""

    def __init__(self, rows: MemoryRows, ledger: MemoryLedger, lag: float = 0.0) -> None:
        self._rows = rows
        self._ledger = ledger
        self._lag = timedelta(seconds=lag)
        self.lines: dict[str, Line] = {}
        self.written: list[tuple[datetime, Line]] = []
        """Every write with its time: for tests that compare what was in force."""
        self._late: list[tuple[datetime, str, str]] = []
        self._due: dict[str, str] = {}

    def get(self, name: str) -> Line:
        """The line."""
        return self.lines.get(name, Line(name))

    def write(self, line: Line, record: Record | None = None, message: Message | None = None) -> None:
        """Line, record and message, all or nothing."""
        if len(json.dumps(encode(line))) > MAX_CONTENT:
            raise InputError("the line would need more than an item holds")
        self._rows.faults.pass_or_refuse()
        changed = "" if self.get(line.name).revision == line.revision - 1 else "line"
        head, event = self._ledger.reasons(record) if record else ("", "")
        if changed or head or event:
            raise ConditionFailed(changed, head, event)
        if record:
            self._ledger.write(record)
        if message:
            self._rows.post(message)
        self.lines[line.name] = line
        now = self._rows.clock.now()
        self.written.append((now, line))
        self._late.append((now + self._lag, line.name, line.due))

    def due(self, now: datetime, limit: int) -> tuple[str, ...]:
        """Names by the index."""
        while self._late and self._late[0][0] <= self._rows.clock.now():
            _, name, due = self._late.pop(0)
            if due:
                self._due[name] = due
            else:
                self._due.pop(name, None)
        ripe = sorted((due, name) for name, due in self._due.items() if instant_of(due) <= now)
        return tuple(name for _, name in ripe[:limit])

    def knows(self, name: str, prefix: str) -> bool:
        """Whether an accepted delivery of the prefix was written."""
        return (name, prefix) in self._rows.producers
