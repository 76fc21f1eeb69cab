"""Turns: of each line with slices, what the next slice begins with, and the delivery that is decided and not committed.

One item of the table `workloads` for each line. The decision takes the turn and the commit ends it, in their own transactions.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from lakegate.aws.clients import client
from lakegate.aws.dynamodb_table import DynamoTable, decoded, number, text, transact
from lakegate.aws.ledger_table import RECORD_REASONS, record_puts, record_reasons
from lakegate.errors import ConditionFailed
from lakegate.gate.delivery.protocol import State
from lakegate.json_codec import encode
from lakegate.plan.slice_order import StateRun

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lakegate.aws.settings import Settings
    from lakegate.gate.delivery.delivery_row import Decision, Workload
    from lakegate.gate.dependencies import Dependencies
    from lakegate.gate.ledger.blocks import Record
    from lakegate.gate.table import Expected


class NextSlice(NamedTuple):
    """The beginning of the next slice of a dataset, with the slices of the delivery that is DECIDED."""

    offset: int = 0
    """The offset after the last row."""
    watermark: str = ""
    """Empty: the line has none."""
    runs: tuple[StateRun, ...] = ()
    """The merge state of the line; the file of a delivery that is DECIDED may not be there yet."""
    writer: str = ""
    """The delivery that is DECIDED and not committed; empty: none."""


@dataclass(frozen=True, slots=True)
class DecidedSlices:
    """What the decision on a delivery has of its slices; in JSON its members stand beside those of the decision."""

    offsets: tuple[int, int]
    """Of the first row, and after the last."""
    watermarks: tuple[str, str] = ("", "")
    """Of its line, by which it was judged, and from its slices on; empty: none."""
    before: tuple[StateRun, ...] = ()
    """The merge state of its line, with which its rows were compared."""
    runs: tuple[StateRun, ...] = ()
    """That from its slices on."""


def decided_slices(workload: Workload) -> DecidedSlices | None:
    """The slices of a delivery that is decided; None of one without."""
    members = json.loads(workload.decision.extensions) if workload.decision is not None else {}
    if not members.get("offsets"):
        return None
    before, runs = (tuple(StateRun(**each) for each in members.get(name, ())) for name in ("before", "runs"))
    return DecidedSlices(tuple(members["offsets"]), tuple(members.get("watermarks", ("", ""))), before, runs)


def with_slices(decision: Decision, slices: DecidedSlices) -> Decision:
    """The decision on a delivery with slices."""
    return replace(decision, extensions=json.dumps(json.loads(decision.extensions) | encode(slices)))


class Turns(Protocol):
    """The turns of lines with slices."""

    def next_slice(self, line: str) -> NextSlice:
        """The beginning of the next slice of a dataset; strongly consistent."""
        ...

    def end_turn(self, workload: Workload) -> None:
        """End the turn of a delivery that is committed. Raises ConditionFailed (`turn`) where it is not its turn."""
        ...

    def replace_state(self, line: str, before: NextSlice, runs: tuple[StateRun, ...]) -> None:
        """Set the merge state of a line that is still as it was. ConditionFailed (`turn`) where a delivery was decided."""
        ...

    def mark(self, record: Record, before: NextSlice) -> None:
        """Record, new head and the watermark of the line in one transaction.

        Conditions: those of `lakegate.gate.table.Ledger.append`, and that the next slice still begins as it did, with no
        delivery DECIDED; else the third reason is `turn`.
        """
        ...


def turns(dependencies: Dependencies) -> Turns:
    """Those of this stack."""
    found: Turns = dependencies.of("turns")
    return found


def turns_of_stack(settings: Settings) -> DynamoTurns:
    """See `turns`."""
    dynamodb = client("dynamodb")
    return DynamoTurns(DynamoTable(dynamodb, settings.workloads_table), DynamoTable(dynamodb, settings.ledger_table))


@dataclass(frozen=True, slots=True)
class DynamoTurns:
    """Turns."""

    workloads: DynamoTable
    ledger: DynamoTable

    def next_slice(self, line: str) -> NextSlice:
        """A strongly consistent read."""
        return next_slice(self.workloads.get(turn_key(line)))

    def end_turn(self, workload: Workload) -> None:
        """An update of the item of the line."""
        for each in turn_ended(self.workloads.name, workload):
            transact(self.workloads.client, [each], ("turn",))

    def replace_state(self, line: str, before: NextSlice, runs: tuple[StateRun, ...]) -> None:
        """An update of the item of the line."""
        self.workloads.update(turn_key(line), "turn", **state_replaced(before, runs))

    def mark(self, record: Record, before: NextSlice) -> None:
        """The puts of `record_puts`, and an update of the item of the turn."""
        turn = watermark_set(self.workloads.name, record.chain, before, record.content["watermark"])
        try:
            transact(self.ledger.client, [*record_puts(self.ledger.name, record), turn], (*RECORD_REASONS, "turn"))
        except ConditionFailed as failed:
            *of_record, turned = failed.reasons
            raise ConditionFailed(*record_reasons(tuple(of_record)), *filter(None, [turned])) from None


class TurnConditions:
    """See `lakegate.aws.delivery_tables.RowConditions`."""

    def decided(self, table: str, workload: Workload, expected: Expected) -> list[dict[str, Any]]:
        """A decision with slices takes the turn of its line."""
        return turn_taken(table, workload, expected)

    def committed(self, table: str, workload: Workload) -> list[dict[str, Any]]:
        """Its commit ends the turn."""
        return turn_ended(table, workload)


CONDITIONS: Final = TurnConditions()


# ---- Items and updates ----


NAMES: Final = {"#writer": "writer"}


def turn_key(line: str) -> dict[str, dict[str, str]]:
    """The key of the item of a line."""
    return {"id": text(f"slices#{line}")}


def next_slice(item: Mapping[str, Any] | None) -> NextSlice:
    """The beginning of the next slice by an item. Raises UnreadableItem."""
    return NextSlice() if item is None else decoded(item, _next_slice)


def _next_slice(item: Mapping[str, Any]) -> NextSlice:
    offset, mark, writer = (
        int(item["following"]["N"]),
        *(item.get(each, {}).get("S", "") for each in ("watermark", "writer")),
    )
    runs = json.loads(item["runs"]["S"]) if "runs" in item else ()
    return NextSlice(offset, mark, tuple(StateRun(**each) for each in runs), writer)


def turn_taken(table: str, workload: Workload, expected: Expected) -> list[dict[str, Any]]:
    """The conditions of a decision on the slot of its dataset; none for other writes, and without slices."""
    decided, pin = decided_slices(workload), workload.pin
    if workload.state is not State.DECIDED or expected.state is State.DECIDED or decided is None:
        return []
    assert pin is not None
    (first, end), (before, after) = decided.offsets, decided.watermarks
    start = "following = :first" if first else "(attribute_not_exists(following) OR following = :first)"
    mark = "watermark = :before" if before else "attribute_not_exists(watermark)"
    marks = {":before": text(before)} if before else {}
    same, states = _same(decided.before)
    state = {":runs": _runs(decided.runs)} if decided.runs else {}
    moves = {":after": text(after)} if after else {}
    sets = [
        "#writer = :workload",
        "following = :end",
        *["watermark = :after"] * bool(after),
        *["runs = :runs"] * bool(state),
    ]
    update = {
        "TableName": table,
        "Key": turn_key(pin.chain),
        "UpdateExpression": f"SET {', '.join(sets)}",
        "ConditionExpression": f"attribute_not_exists(#writer) AND {start} AND {mark} AND {same}",
        "ExpressionAttributeNames": NAMES,
        "ExpressionAttributeValues": {
            ":workload": text(workload.id),
            ":first": number(first),
            ":end": number(end),
            **marks,
            **moves,
            **states,
            **state,
        },
    }
    return [{"Update": update}]


def state_replaced(before: NextSlice, runs: tuple[StateRun, ...]) -> dict[str, Any]:
    """The update that replaces the merge state between two deliveries.

    An offset that is the same does not prove that none was decided: a snapshot that changes nothing has another time in the
    state alone.
    """
    values = {":runs": _runs(runs)} if runs else {}
    same, states = _same(before.runs)
    return {
        "UpdateExpression": "SET runs = :runs" if runs else "REMOVE runs",
        "ConditionExpression": f"attribute_not_exists(#writer) AND following = :following AND {same}",
        "ExpressionAttributeNames": NAMES,
        "ExpressionAttributeValues": {":following": number(before.offset), **values, **states},
    }


def watermark_set(table: str, line: str, before: NextSlice, watermark: str) -> dict[str, Any]:
    """The update that sets the watermark of a line between two deliveries."""
    marks = {":before": text(before.watermark)} if before.watermark else {}
    mark = "watermark = :before" if before.watermark else "attribute_not_exists(watermark)"
    values = {":after": text(watermark), ":following": number(before.offset), **marks}
    update = {
        "TableName": table,
        "Key": turn_key(line),
        "UpdateExpression": "SET watermark = :after",
        "ConditionExpression": f"attribute_not_exists(#writer) AND following = :following AND {mark}",
        "ExpressionAttributeNames": NAMES,
        "ExpressionAttributeValues": values,
    }
    return {"Update": update}


def _same(runs: tuple[StateRun, ...]) -> tuple[str, dict[str, dict[str, str]]]:
    """The condition that the merge state is this one, with its values."""
    return ("runs = :state", {":state": _runs(runs)}) if runs else ("attribute_not_exists(runs)", {})


def _runs(runs: tuple[StateRun, ...]) -> dict[str, str]:
    """As a text that a condition compares: of a file without a digest, as releases wrote it that knew none."""
    return text(json.dumps([{name: value for name, value in encode(each).items() if value != ""} for each in runs]))


def turn_ended(table: str, workload: Workload) -> list[dict[str, Any]]:
    """The end of the turn of a delivery, for the transaction that commits it."""
    pin = workload.pin
    if decided_slices(workload) is None:
        return []
    assert pin is not None
    update = {
        "TableName": table,
        "Key": turn_key(pin.chain),
        "UpdateExpression": "REMOVE #writer",
        "ConditionExpression": "#writer = :workload",
        "ExpressionAttributeNames": NAMES,
        "ExpressionAttributeValues": {":workload": text(workload.id)},
    }
    return [{"Update": update}]
