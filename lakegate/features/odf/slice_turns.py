"""Turns: of each dataset with slices, what the next slice begins with, and the delivery that is decided and not committed.

One row of the table of workloads for each dataset. The decision takes the turn and the commit ends it, in their own transactions.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from lakegate.base.json_codec import encode
from lakegate.gate.delivery.delivery_row import Decision, Workload
from lakegate.gate.delivery.protocol import State
from lakegate.gate.delivery_store import Expected
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.ledger.blocks import Record
from lakegate.gate.ledger.ledger_store import record_writes
from lakegate.gate.table import (
    AllOf,
    AnyOf,
    Condition,
    ConditionName,
    Equals,
    Lacks,
    Row,
    RowKey,
    Tables,
    Update,
    Write,
    read_row,
    workloads_key,
)
from lakegate.plan.slice_order import StateRun


class NextSlice(NamedTuple):
    """The beginning of the next slice of a dataset, with the slices of the delivery that is DECIDED."""

    offset: int = 0
    """The offset after the last row."""
    watermark: str = ""
    """Empty: the dataset has none."""
    runs: tuple[StateRun, ...] = ()
    """The merge state of the dataset; the file of a delivery that is DECIDED may not be there yet."""
    writer: str = ""
    """The delivery that is DECIDED and not committed; empty: none."""
    system_time: str = ""
    """Of the last slice; empty: there is none."""


@dataclass(frozen=True, slots=True)
class DecidedSlices:
    """The members of a decision about slices; in JSON its members stand beside those of the decision."""

    offsets: tuple[int, int]
    """Of the first row, and after the last."""
    watermarks: tuple[str, str] = ("", "")
    """Of its dataset, by which it was judged, and from its slices on; empty: none."""
    before: tuple[StateRun, ...] = ()
    """The merge state of its dataset, with which its rows were compared."""
    runs: tuple[StateRun, ...] = ()
    """The merge state from its slices on."""
    system_time: str = ""
    """Of its slices; empty of a delivery without rows."""


def decided_slices(workload: Workload) -> DecidedSlices | None:
    """The slices of a delivery that is decided; None of one without."""
    members = json.loads(workload.decision.extensions) if workload.decision is not None else {}
    if not members.get("offsets"):
        return None
    before, runs = (tuple(StateRun(**each) for each in members.get(name, ())) for name in ("before", "runs"))
    marks, time = tuple(members.get("watermarks", ("", ""))), members.get("system_time", "")
    return DecidedSlices(tuple(members["offsets"]), marks, before, runs, time)


def with_slices(decision: Decision, slices: DecidedSlices) -> Decision:
    """The decision on a delivery with slices."""
    return replace(decision, extensions=json.dumps(json.loads(decision.extensions) | encode(slices)))


@dataclass(frozen=True, slots=True)
class Turns:
    """The turns of datasets with slices."""

    table: Tables

    def next_slice(self, dataset: str) -> NextSlice:
        """The beginning of the next slice of a dataset; strongly consistent."""
        return read_row(self.table, turn_key(dataset), next_slice) or NextSlice()

    def end_turn(self, workload: Workload) -> None:
        """End the turn of a delivery that is committed. Raises ConditionFailed (`turn`) where it is not its turn."""
        for each in CONDITIONS.committed(workload):
            self.table.transact([each])

    def replace_state(self, dataset: str, before: NextSlice, runs: tuple[StateRun, ...]) -> None:
        """Set the merge state of a dataset that is still as it was. ConditionFailed (`turn`) where a delivery was decided."""
        self.table.write(state_replaced(dataset, before, runs))

    def mark(self, record: Record, before: NextSlice) -> None:
        """Record, new head and the watermark of the dataset in one transaction.

        Conditions: those of `lakegate.gate.ledger.ledger_store.Ledger.append`, and that the next slice still begins as it did,
        with no delivery DECIDED; else a reason is `turn`.
        """
        turn = watermark_set(record.chain, before, record.content["watermark"])
        self.table.transact([*record_writes(record), turn])


def turns(dependencies: Dependencies) -> Turns:
    """Those of this stack."""
    return Turns(dependencies.table)


class TurnConditions:
    """See `lakegate.gate.delivery_store.RowConditions`."""

    def decided(self, workload: Workload, expected: Expected) -> list[Write]:
        """A decision with slices takes the turn of its dataset."""
        return turn_taken(workload, expected)

    def committed(self, workload: Workload) -> list[Write]:
        """Its commit ends the turn."""
        return turn_ended(workload)


CONDITIONS: Final = TurnConditions()


# ---- Rows and updates ----


def turn_key(dataset: str) -> RowKey:
    """The key of the row of a dataset."""
    return workloads_key("slices", dataset)


def next_slice(row: Row) -> NextSlice:
    """The beginning of the next slice by a row."""
    stored = ("watermark", "writer", "system_time")
    mark, writer, time = (row.text(each) if row.has(each) else "" for each in stored)
    runs = json.loads(row.text("runs")) if row.has("runs") else ()
    return NextSlice(row.number("following"), mark, tuple(StateRun(**run) for run in runs), writer, time)


def turn_taken(workload: Workload, expected: Expected) -> list[Write]:
    """The conditions of a decision on the slot of its dataset; none for other writes, and without slices."""
    decided = decided_slices(workload)
    if workload.state is not State.DECIDED or expected.state is State.DECIDED or decided is None:
        return []
    pin = workload.pinned
    (first, end), (before, after) = decided.offsets, decided.watermarks
    at_offset = Equals("following", first)
    start = at_offset if first else AnyOf(Lacks("following"), at_offset)
    sets: dict[str, str | int] = {"writer": workload.id, "following": end}
    if after:
        sets["watermark"] = after
    if decided.runs:
        sets["runs"] = _runs(decided.runs)
    if decided.system_time:
        sets["system_time"] = decided.system_time
    same, state = _is("watermark", before), _is("runs", _runs(decided.before))
    return [
        Update(
            turn_key(pin.dataset), sets=sets, if_=AllOf(Lacks("writer"), start, same, state), reason=ConditionName.TURN
        )
    ]


def state_replaced(dataset: str, before: NextSlice, runs: tuple[StateRun, ...]) -> Update:
    """The update that replaces the merge state between two deliveries.

    An offset that is the same does not prove that none was decided: a snapshot that changes nothing has another time in the
    state alone.
    """
    unchanged = AllOf(Lacks("writer"), Equals("following", before.offset), _is("runs", _runs(before.runs)))
    sets, removes = ({"runs": _runs(runs)}, ()) if runs else ({}, ("runs",))
    return Update(turn_key(dataset), sets=sets, removes=removes, if_=unchanged, reason=ConditionName.TURN)


def watermark_set(dataset: str, before: NextSlice, watermark: str) -> Update:
    """The update that sets the watermark of a dataset between two deliveries."""
    unchanged = AllOf(Lacks("writer"), Equals("following", before.offset), _is("watermark", before.watermark))
    return Update(turn_key(dataset), sets={"watermark": watermark}, if_=unchanged, reason=ConditionName.TURN)


def turn_ended(workload: Workload) -> list[Write]:
    """The end of the turn of a delivery, for the transaction that commits it."""
    if decided_slices(workload) is None:
        return []
    own = Equals("writer", workload.id)
    return [Update(turn_key(workload.pinned.dataset), removes=("writer",), if_=own, reason=ConditionName.TURN)]


def _is(attribute: str, value: str) -> Condition:
    """The attribute has the value; an empty one is not stored."""
    return Equals(attribute, value) if value else Lacks(attribute)


def _runs(runs: tuple[StateRun, ...]) -> str:
    """As a text that a condition compares: of a file without a digest, as releases wrote it that knew none; empty for none."""
    if not runs:
        return ""
    return json.dumps([{name: value for name, value in encode(run).items() if value != ""} for run in runs])
