"""Turns: of each line with slices, what the next slice begins with, and the delivery that is decided, not committed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from lakegate.contracts.plan.serialization import encode
from lakegate.contracts.plan.slices import StateRun
from lakegate.functions.adapters.tables import decoded, number, text
from lakegate.functions.ports.workloads import NextSlice
from lakegate.functions.workload import State

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lakegate.functions.ports.workloads import Expected
    from lakegate.functions.workload import Workload

NAMES: Final = {"#writer": "writer"}


def turn_key(line: str) -> dict[str, dict[str, str]]:
    """The key of the item of a line."""
    return {"id": text(f"slices#{line}")}


def next_slice(item: Mapping[str, Any] | None) -> NextSlice:
    """What an item leaves to the next slice. Raises UnreadableItem."""
    return NextSlice() if item is None else decoded(item, _next_slice)


def _next_slice(item: Mapping[str, Any]) -> NextSlice:
    offset, mark, writer = (
        int(item["following"]["N"]),
        *(item.get(each, {}).get("S", "") for each in ("watermark", "writer")),
    )
    runs = json.loads(item["runs"]["S"]) if "runs" in item else ()
    return NextSlice(offset, mark, tuple(StateRun(**each) for each in runs), writer)


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
    (first, end), (before, after) = decision.offsets, decision.watermarks
    start = "following = :first" if first else "(attribute_not_exists(following) OR following = :first)"
    mark = "watermark = :before" if before else "attribute_not_exists(watermark)"
    marks = {":before": text(before)} if before else {}
    same, states = _same(decision.before)
    state = {":runs": _runs(decision.runs)} if decision.runs else {}
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
