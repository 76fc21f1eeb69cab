"""Steps 11 to 13: manifest, report, landing and staging deleted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Final

from lakegate.gate import lake_layout
from lakegate.gate.datasets import readers_manifest
from lakegate.gate.delivery.delivery_row import Workload, archived_bytes
from lakegate.gate.delivery.protocol import State
from lakegate.gate.delivery.transition import DeliveryTurn, move
from lakegate.gate.delivery.write_report import write_report
from lakegate.gate.effects import Effect, Steps, perform
from lakegate.gate.ports import Address, every_version

_SHARE: Final = re.compile("/(?:rows|slices)/")


def tidy(turn: DeliveryTurn) -> Steps[Workload]:
    """Bring the manifest up to date, delete the judged version by its id and all other copies, write the report, then close.

    Each of it may be done again.
    """
    if turn.row.due_at is None:
        return turn.row
    if turn.row.state is State.PUBLISHED or _ends_segment(turn):
        yield from readers_manifest.update(turn.gate, turn.pin.chain, turn.row.height)
    for effect, at in _unneeded(turn):
        yield from perform(effect, turn.gate.delete, at)
    closed, kept = turn.row._replace(due_at=None, request=""), turn.gate.timing.kept
    if kept and turn.row.source.bucket not in turn.gate.undeletable:  # else it would be taken in again
        # the time follows from the row, so that every worker writes the same
        leaves = datetime.fromisoformat(turn.pin.judging_time) + kept
        closed = closed._replace(expires=int(leaves.timestamp()))
    yield from write_report(turn)
    where = turn.gate.in_lake(lake_layout.row_key(turn.row.id))
    yield from perform(Effect.ARCHIVE, turn.gate.objects.put, where, archived_bytes(closed))
    return (yield from move(turn, Effect.CLOSE, closed))


def _ends_segment(turn: DeliveryTurn) -> bool:
    """Whether the block completes a segment of the manifest: rejected deliveries are no part of it, but are read from it on."""
    return bool(turn.row.pin and turn.pin.plan) and (turn.row.height + 1) % turn.gate.places.segment_heights == 0


def _unneeded(turn: DeliveryTurn) -> Iterator[tuple[Effect, Address]]:
    """The judged versions by their ids: the parts, then the object that completed them; then every other copy.

    Copies are staged ones, and rows of a split and slices, which are committed; of attempts that were given up and of rejected
    deliveries, too.
    """
    for part in turn.landed.parts:
        if turn.owns(part):
            yield Effect.DELETE_SOURCE, part.address
    if (last := turn.row.marker) is not None:
        yield Effect.DELETE_SOURCE, last.address
    for copy in turn.copies:
        yield Effect.DELETE_STAGING, Address(copy.bucket, copy.key)
    if turn.terms.by_rows or turn.terms.as_slices:
        folder = f"{lake_layout.batch_prefix(turn.row.batch)}{turn.row.id}/"
        for share in [*every_version(turn.gate.objects, turn.gate.places.lake, folder)]:
            if share.current and _SHARE.search(share.key):
                yield Effect.DELETE_STAGING, Address(share.bucket, share.key)
