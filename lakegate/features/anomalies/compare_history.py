"""The comparison of a delivery with those before it, as it is committed, and the row that keeps its numbers.

Both follow from blocks below its own: whoever commits it at this height finds the same, unless the chain is so busy that those of
the last second are left out (`publish_data`). A delivery is compared with the accepted ones that are neither recalled nor
superseded.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice, pairwise
from typing import Final, NamedTuple

from lakegate.base.timestamps import instant_of, moment
from lakegate.contract.delivery_policy import Anomalies
from lakegate.features.anomalies.delivery_numbers import GAP, ROW_COUNT, MeasuredNumber, numbers_of
from lakegate.features.anomalies.robust_band import FEWEST, Past, unusual
from lakegate.gate.datasets.accepted_deliveries import not_current_at
from lakegate.gate.delivery.decide_verdict import read_plan
from lakegate.gate.delivery.delivery_row import Anomaly, Workload
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.delivery_store import Expected
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.ledger.blocks import Block
from lakegate.gate.table import Put, Row, RowKey, TableName, Write, all_readable
from lakegate.plan.result import Result

COMPARED: Final = 140
"""Earlier deliveries that are read: twenty weeks of daily ones."""
MOST_ANOMALIES: Final = 10
"""Of one delivery."""
NUMBERS: Final = "numbers"
"""The member of the row of a delivery, and the attribute of the row that lists it, with its numbers as JSON."""


class EarlierDelivery(NamedTuple):
    """The numbers of an accepted delivery."""

    height: int
    landed: datetime
    numbers: dict[str, float]
    """By `MeasuredNumber.key`."""


def compare(turn: DeliveryTurn, result: Result, supersedes: tuple[int, ...] = ()) -> Workload:
    """The row of a delivery that is about to be committed, with its numbers, and with those that are unusual.

    What it supersedes is no history of it: a correction differs from it on purpose.
    """
    plan = read_plan(turn.plan)
    found = numbers_of(plan, result)
    landed = instant_of(turn.pin.arrived or turn.pin.judging_time)
    stored = {"landed": moment(landed), "of": {of.key: number for of, number in found.items()}}
    row = turn.row._replace(extensions=json.dumps(json.loads(turn.row.extensions) | {NUMBERS: stored}))
    if plan.policy.anomalies is Anomalies.IGNORE:
        return row
    history = past_deliveries(turn.gate, turn.pin.dataset, turn.row.height, supersedes)
    return row._replace(
        anomalies=tuple(islice(_anomalies(found, landed, history, plan.policy.anomalies), MOST_ANOMALIES))
    )


class CommittedNumbers:
    """See `lakegate.gate.delivery_store.RowConditions`."""

    def decided(self, workload: Workload, expected: Expected) -> list[Write]:  # noqa: ARG002 - only commits have numbers
        """Nothing: a decision has no height."""
        return []

    def committed(self, workload: Workload) -> list[Write]:
        """The row with the numbers of a delivery that was compared."""
        stored = json.loads(workload.extensions).get(NUMBERS)
        if stored is None:
            return []
        key = RowKey(TableName.LEDGER, numbers_key(workload.pinned.dataset), workload.height)
        return [Put(Row(key, {NUMBERS: json.dumps(stored, sort_keys=True, separators=(",", ":"))}))]


ROWS: Final = CommittedNumbers()


def numbers_key(chain: str) -> str:
    """The name of the rows with the numbers of accepted deliveries.

    It is one of the index by verdict, which rights of people leave out: no verdict has this name.
    """
    return f"{chain}#verdict#{NUMBERS}"


def past_deliveries(
    dependencies: Dependencies, chain: str, below: int, supersedes: tuple[int, ...] = ()
) -> tuple[EarlierDelivery, ...]:
    """The last accepted deliveries below a height, by the time when they landed, the newest first.

    Those that are not current once some heights are superseded count for gaps alone. None at all where they are too few: then
    the current state is not read.
    """
    rows = dependencies.table.heights(numbers_key(chain), below=below, newest=True, page=COMPARED)
    read = sorted(all_readable(dependencies.table, islice(rows, COMPARED), _stored), key=_landed, reverse=True)
    if len(read) < FEWEST:
        return ()
    state, superseded = not_current_at(dependencies, chain, below - 1), set(supersedes)
    recalled = [height for height in supersedes if height in state]
    while recalled:  # what it had superseded had come back, and is superseded now
        block = dependencies.ledger.block(chain, recalled.pop())
        before = block.supersedes if isinstance(block, Block) else ()
        superseded.update(before)
        recalled += (height for height in before if height in state)
    gaps = {after.height: {GAP.key: (after.landed - before.landed).total_seconds()} for after, before in pairwise(read)}
    return tuple(
        each._replace(
            numbers={}
            if each.height in state or each.height in superseded
            else each.numbers | gaps.get(each.height, {})
        )
        for each in read
    )


def _anomalies(
    found: Mapping[MeasuredNumber, float], landed: datetime, history: Sequence[EarlierDelivery], sides: Anomalies
) -> Iterator[Anomaly]:
    """The numbers that are outside of what is usual, in their order; the gap of what landed before the newest one is negative."""
    gap = {GAP: (landed - history[0].landed).total_seconds()} if history else {}
    rows = found[ROW_COUNT]
    for of, number in {ROW_COUNT: rows, **gap, **found}.items():
        past = [Past(each.landed, each.numbers[of.key]) for each in history if of.key in each.numbers]
        band = unusual(of.scale, landed, past, number, rows)
        if band is not None and (anomaly := of.compared(number, band, sides)) is not None:
            yield anomaly


def _stored(row: Row) -> EarlierDelivery:
    document = json.loads(row.text(NUMBERS))
    numbers = {str(key): float(number) for key, number in document["of"].items()}
    if not all(map(math.isfinite, numbers.values())):
        raise ValueError("a number is not finite")
    return EarlierDelivery(row.key.height, instant_of(document["landed"]), numbers)


def _landed(delivery: EarlierDelivery) -> tuple[datetime, int]:
    return delivery.landed, delivery.height
