"""Turns: of each line with slices, the offset after the last decided row, and the delivery that is decided, not committed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from lakegate.functions.adapters.tables import number, text
from lakegate.functions.workload import State

if TYPE_CHECKING:
    from lakegate.functions.ports.workloads import Expected
    from lakegate.functions.workload import Workload

NAMES: Final = {"#writer": "writer"}


def turn_key(line: str) -> dict[str, dict[str, str]]:
    """The key of the item of a line."""
    return {"id": text(f"slices#{line}")}


def turn_taken(table: str, workload: Workload, expected: Expected) -> list[dict[str, Any]]:
    """What the write of a decision requires of the turn of its line; nothing for other writes, and without slices."""
    decision, pin = workload.decision, workload.pin
    if (
        workload.state is not State.DECIDED
        or expected.state is State.DECIDED
        or decision is None
        or not decision.offsets
    ):
        return []
    assert pin is not None
    first, end = decision.offsets
    start = "following = :first" if first else "(attribute_not_exists(following) OR following = :first)"
    update = {
        "TableName": table,
        "Key": turn_key(pin.chain),
        "UpdateExpression": "SET #writer = :workload, following = :end",
        "ConditionExpression": f"attribute_not_exists(#writer) AND {start}",
        "ExpressionAttributeNames": NAMES,
        "ExpressionAttributeValues": {":workload": text(workload.id), ":first": number(first), ":end": number(end)},
    }
    return [{"Update": update}]


def turn_ended(table: str, workload: Workload) -> list[dict[str, Any]]:
    """The end of the turn of a delivery, for the transaction that commits it."""
    decision, pin = workload.decision, workload.pin
    if decision is None or not decision.offsets:
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
