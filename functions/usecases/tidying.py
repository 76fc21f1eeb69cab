"""Steps 11 and 12: what follows from the commit. All of it can be said again, by anyone, at any time."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from contracts.ledger import BlockKind
from contracts.workflow import State
from functions.ports import Address, ConditionFailed, NotFound, TransactionConflict
from functions.usecases import layout, manifest
from functions.usecases.moves import move
from functions.usecases.observe import address
from functions.usecases.steps import Effect, perform

if TYPE_CHECKING:
    from functions.usecases.gate import Gate
    from functions.usecases.steps import Steps
    from functions.workload import Workload

MANIFEST_TRIES = 5


def tidy(gate: Gate, workload: Workload) -> Steps[Workload]:
    """Bring the manifest up to date, then delete the judged version by its id and the staged copy, then close."""
    if workload.due_at is None:
        return workload
    assert workload.pin is not None
    if workload.state is State.PUBLISHED:
        yield from _manifest(gate, workload.pin.chain)
    yield from perform(Effect.DELETE_SOURCE, partial(gate.objects.delete, address(workload.source)))
    if workload.staged is not None:
        staged = Address(workload.staged.bucket, workload.staged.key)
        yield from perform(Effect.DELETE_STAGING, partial(gate.objects.delete, staged))
    return (yield from move(gate, Effect.CLOSE, workload, replace(workload, due_at=None)))


def _manifest(gate: Gate, chain: str) -> Steps[None]:
    """The manifest says what the ledger says, up to a height that never goes back."""
    where = Address(gate.places.lake, layout.manifest_key(chain))
    for _ in range(MANIFEST_TRIES):
        etag, height, deliveries = _current(gate, where)
        blocks = gate.ledger.blocks(chain, height)
        if not blocks:
            return
        deliveries += [manifest.delivery(gate, block) for block in blocks if block.kind is BlockKind.PUBLISHED]
        body = json.dumps(manifest.document(chain, blocks[-1].height, deliveries), sort_keys=True).encode()
        put = partial(gate.objects.put, where, body, absent=etag is None, etag=etag)
        try:
            yield from perform(Effect.WRITE_MANIFEST, put)
        except ConditionFailed:
            continue  # another worker's manifest came first; ours must be built on it
        return
    raise TransactionConflict


def _current(gate: Gate, where: Address) -> tuple[str | None, int, list[dict[str, object]]]:
    """ETag, height and deliveries to build on; of a manifest of another format only the ETag."""
    try:
        found = gate.objects.head(where)
    except NotFound:
        return None, -1, []
    document = json.loads(gate.objects.read(Address(where.bucket, where.key, found.version)))
    if document.get("format") != manifest.FORMAT:
        return found.etag, -1, []
    return found.etag, document["height"], document["deliveries"]
