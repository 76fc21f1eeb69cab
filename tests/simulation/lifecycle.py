"""Lifecycles in the simulation: commands, datasets that change by date, and the promises about them.

What is promised is computed a second time here, from docs/lifecycle.md: the status of a dataset at a time from its changes, the
transitions there are, and the ids of records and messages.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from itertools import pairwise
from typing import Any, TypeVar

from lakegate.gate.datasets.dataset_states import DatasetState, Ending
from lakegate.gate.datasets.lifecycle import begin_draft, change, deprecate, reactivate, retire, sunset
from lakegate.gate.datasets.subscriptions import add_subscription, remove_subscription
from lakegate.gate.delivery.delivery_row import Workload
from lakegate.gate.effects import Steps, run
from lakegate.gate.ledger.blocks import Record
from tests.simulation.contract import read_json
from tests.simulation.environment import LINE, Environment

T = TypeVar("T")
ENDING = Ending("replaced", "orders/lines_v2")
COMMANDS: dict[str, Callable[[DatasetState, str], DatasetState]] = {
    "deprecate": partial(deprecate, ending=ENDING),
    "sunset": sunset,
    "retire": retire,
    "reactivate": reactivate,
    "draft": begin_draft,
    "subscribe": partial(add_subscription, team="finance", on=("rejected",)),
    "unsubscribe": lambda line, _now: remove_subscription(line, "finance"),
}
UNRECORDED = frozenset({"subscribe", "unsubscribe"})
LEGAL = {
    ("active", "deprecated"): timedelta(0),
    ("deprecated", "sunset"): timedelta(days=30),
    ("sunset", "retired"): timedelta(days=7),
    ("draft", "active"): timedelta(0),
    ("deprecated", "active"): timedelta(0),
    ("sunset", "active"): timedelta(0),
    ("retired", "active"): timedelta(0),
}
STRICTER = ("active", "deprecated", "sunset", "draft", "retired")
REFUSALS = {"contract-retired": "retired", "contract-draft": "draft", "contract-sunset": "sunset"}
SOON = timedelta(minutes=3)
BEGINNINGS = (None, "deprecated", "sunset", "retired", "draft")


def command(env: Environment, name: str) -> Steps[DatasetState]:
    """A person's command."""
    return change(env.dependencies, LINE, "" if name in UNRECORDED else name, COMMANDS[name])


def begin(env: Environment, status: str) -> None:
    """The dataset changes to a status in three minutes, by its date; one that begins as a draft is one at once."""
    if status == "draft":
        run(command(env, "draft"), env.dependencies.clock)
        return
    run(command(env, "deprecate"), env.dependencies.clock)
    days = {"deprecated": 0, "sunset": 30, "retired": 37}[status]
    if days:
        env.memory.clock.sleep((timedelta(days=days) - SOON).total_seconds())


@dataclass(frozen=True, slots=True)
class Broken:
    """A promise about datasets that does not hold."""

    promise: str
    seen: str


class Lifecycles:
    """What was seen of datasets, and of the deliveries that were judged by their status."""

    def __init__(self, env: Environment) -> None:
        self.env = env
        self.seen = 0
        """Writes of datasets that were checked."""
        self.accepted: dict[tuple[str, str], datetime] = {}
        """When the first delivery of a dataset and a prefix was accepted."""
        self.messages: set[str] = set()
        """Ids of the messages that have to be sent."""
        self.last: dict[str, DatasetState] = {}

    def look(self, recorded: Collection[str]) -> Broken | None:
        """Check what was written since the last look; `recorded`: the events of all records."""
        written = self.env.memory.datasets_written
        for at, line in written[self.seen :]:
            if broken := self._written(at, line, recorded):
                return broken
            self.last[line.name] = line
        self.seen = len(written)
        return None

    def _written(self, at: datetime, line: DatasetState, recorded: Collection[str]) -> Broken | None:
        before = self.last.get(line.name, DatasetState(line.name))
        if line.revision != before.revision + 1:
            return Broken("P6", "a line was written over")
        if line.changes[: before.recorded] != before.changes[: before.recorded]:
            return Broken("P21", "a change that is in the ledger was changed")
        if illegal := _illegal(line):
            return Broken("P21", illegal)
        if line.recorded > before.recorded + 1:
            return Broken("P3", "two changes of a line have one record")
        if line.recorded and _time(line.changes[line.recorded - 1].at) > at:
            return Broken("P21", "a change is in the ledger before it began")
        return self._announced(before, line, recorded)

    def _announced(self, before: DatasetState, line: DatasetState, recorded: Collection[str]) -> Broken | None:
        """A change, and a stricter parent, have a record and a message; a subscription has none."""
        parts = ("changes", "recorded", "ending")
        announced = any(getattr(before, each) != getattr(line, each) for each in parts)
        changed = announced or before.notice != line.notice or before.parents != line.parents
        event = hashlib.sha256(f'["lifecycle","{line.name}",{line.revision}]'.encode()).hexdigest()
        if changed is not (event in recorded):
            return Broken("P3", "a change of a line has no record, or a record has no change")
        if announced:
            begun = line.recorded > before.recorded
            kind = line.changes[line.recorded - 1].status.value if begun else "planned"
            kind = "breaking" if line.notice and not before.notice else kind
            self.messages.add(f"{line.name}:{kind}:{line.revision}")
        if before.parents != line.parents:
            self.messages.add(f"{line.name}:breaking:{line.revision}")
        return None

    def decided(self, row: Workload) -> None:
        """Once a delivery is accepted, its producer is known."""
        accepted = row.decision is not None and row.decision.verdict.startswith("accepted")
        if accepted and row.pin is not None and row.pin.prefix:
            self.accepted.setdefault((row.pin.dataset, row.pin.prefix), self.env.memory.clock.now())

    def pinned(self, row: Workload) -> Broken | None:
        """P21: the status is the stricter one of version and dataset, as the dataset was when the delivery was observed."""
        pin = row.pin
        assert pin is not None
        if not pin.plan:
            return None
        at = datetime.fromisoformat(pin.judging_time)
        lines = [(written, line) for written, line in self.env.memory.datasets_written if line.name == pin.dataset]
        there = [*([] if any(then < at for then, _ in lines) else [None]), *_current(lines, at)]
        statuses = {_status(line, at) for line in there}
        published = _current([each[:2] for each in self.env.statuses if _is_of(row, each[2])], at)
        allowed = {max(one, other, key=STRICTER.index) for one in published for other in statuses}
        if pin.status not in allowed:
            return Broken("P21", f"a delivery was pinned as {pin.status}, and the line was {sorted(allowed)}")
        if pin.status != "sunset":
            return None
        first = self.accepted.get((pin.dataset, pin.prefix))
        if pin.known is not (first is not None and first <= at) and first != at:
            return Broken("P21", "a known producer was taken for a new one, or a new one for a known one")
        return None

    def refused_rightly(self, row: Workload, reason: str) -> bool:
        """Whether a refusal at the door by the status follows from what was pinned."""
        assert row.pin is not None
        return row.pin.status == REFUSALS[reason] and not (reason == "contract-sunset" and row.pin.known)

    def accepts(self, row: Workload) -> bool:
        """Whether the status that was pinned lets anything in."""
        pin = row.pin
        assert pin is not None
        return pin.status not in {"retired", "draft"} and not (pin.status == "sunset" and not pin.known)

    def verdict(self, row: Workload, verdict: str) -> str:
        """The verdict that a delivery must have beside the warning of its status."""
        assert row.pin is not None
        return "accepted_with_warnings" if row.pin.warning and verdict == "accepted" else verdict

    def warned(self, row: Workload) -> bool:
        """Whether the reasons have the warning of the status, and none of another."""
        assert row.pin is not None
        assert row.decision is not None
        warnings = [each.partition(":")[0] for each in row.decision.reasons if each.startswith("line-")]
        return warnings == ([f"line-{row.pin.status}"] if row.pin.status in {"deprecated", "sunset"} else [])

    def finished(self, manifests: dict[str, Any]) -> Broken | None:
        """Once all is finished: what has begun is in the ledger and the manifest, and every event was sent."""
        now = self.env.memory.clock.now()
        for name, line in self.env.memory.stored_datasets.items():
            if line.recorded != sum(_time(each.at) <= now for each in line.changes):
                return Broken("P4", "a change that began by its date is not in the ledger")
            contents = [
                block.content
                for block in self.env.memory.chains.get(name, ())
                if isinstance(block, Record) and block.kind == "lifecycle" and block.content["act"] != "parent"
            ]
            if not contents:
                continue
            stated = manifests.get(name)
            if stated is None or any(contents[-1][key] != value for key, value in stated.items()):
                return Broken("P4", "the manifest does not state the lifecycle of its line")
            if line.recorded and contents[-1]["status"] != line.changes[line.recorded - 1].status:
                return Broken("P3", "the last record has another status than the line")
        missing = self.messages - {message.id for message in self.env.memory.notifier.sent}
        return Broken("P5", f"no event was sent of {sorted(missing)}") if missing else None


def manifests(env: Environment) -> dict[str, Any]:
    """The lifecycle that the manifest of each dataset states."""
    heads = {key: stored[-1].body for key, stored in env.lake.items() if key.endswith("/_manifest.json")}
    found = {
        key.removeprefix("accepted/").removesuffix("/_manifest.json"): read_json(body) for key, body in heads.items()
    }
    return {name: head.get("lifecycle") for name, head in found.items()}


def _illegal(line: DatasetState) -> str:
    """The first step of a dataset that the lifecycle does not have, or that comes too early; empty if there is none."""
    steps = [("active", ""), *((each.status.value, each.at) for each in line.changes)]
    begins = 1 if steps[1:] and steps[1][0] == "draft" else 0
    for (low, since), (high, then) in pairwise(steps[begins:]):
        if (low, high) not in LEGAL or (since and _time(then) - _time(since) < LEGAL[low, high]):
            return f"{low} became {high}"
    return ""


def _is_of(row: Workload, version: str) -> bool:
    """Whether a version counts for a delivery: every one that its route has, or the one that a person chose."""
    return row.chosen is None or row.chosen.version == version


def _current(dated: list[tuple[datetime, T]], at: datetime) -> list[T]:
    """What was in force at a time: the last before it, and everything of that very moment."""
    return [*[each for then, each in dated if then < at][-1:], *(each for then, each in dated if then == at)]


def _status(line: DatasetState | None, at: datetime) -> str:
    begun = [each.status.value for each in (line.changes if line else ()) if _time(each.at) <= at]
    return begun[-1] if begun else "draft" if line and line.changes and line.changes[0].status == "draft" else "active"


def _time(at: str) -> datetime:
    return datetime.fromisoformat(at)
