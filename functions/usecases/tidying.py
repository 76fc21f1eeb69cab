"""Steps 11 and 12: what follows from the commit. All of it is idempotent."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING

from lakegate.contracts.lake.block import BlockKind
from lakegate.contracts.lake.states import State
from lakegate.functions.ports.errors import ConditionFailed, NotFound, TransactionConflict
from lakegate.functions.ports.objects import Address
from lakegate.functions.usecases import layout, manifest
from lakegate.functions.usecases.moves import move
from lakegate.functions.usecases.source import address
from lakegate.functions.usecases.steps import Effect, perform

if TYPE_CHECKING:
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.usecases.steps import Steps
    from lakegate.functions.workload import Workload

MANIFEST_TRIES = 5


def tidy(dependencies: Dependencies, workload: Workload) -> Steps[Workload]:
    """Bring the manifest up to date, then delete the judged version by its id and the staged copy, then close."""
    if workload.due_at is None:
        return workload
    assert workload.pin is not None
    if workload.state is State.PUBLISHED:
        yield from _manifest(dependencies, workload.pin.chain)
    yield from perform(Effect.DELETE_SOURCE, partial(dependencies.objects.delete, address(workload.source)))
    if workload.staged is not None:
        staged = Address(workload.staged.bucket, workload.staged.key)
        yield from perform(Effect.DELETE_STAGING, partial(dependencies.objects.delete, staged))
    return (yield from move(dependencies, Effect.CLOSE, workload, workload._replace(due_at=None)))


def _manifest(dependencies: Dependencies, chain: str) -> Steps[None]:
    """Write the manifest from the ledger, up to a height that never decreases."""
    where = Address(dependencies.places.lake, layout.manifest_key(chain))
    for _ in range(MANIFEST_TRIES):
        etag, height, deliveries = _current(dependencies, where)
        blocks = dependencies.ledger.blocks(chain, height)
        if not blocks:
            return
        deliveries += [manifest.delivery(dependencies, block) for block in blocks if block.kind is BlockKind.PUBLISHED]
        body = json.dumps(manifest.document(chain, blocks[-1].height, deliveries), sort_keys=True).encode()
        put = partial(dependencies.objects.put, where, body, absent=etag is None, etag=etag)
        try:
            yield from perform(Effect.WRITE_MANIFEST, put)
        except ConditionFailed:
            continue  # another worker's manifest came first; ours must be built on it
        return
    raise TransactionConflict


def _current(dependencies: Dependencies, where: Address) -> tuple[str | None, int, list[dict[str, object]]]:
    """ETag, height and deliveries to build on; of a manifest of another format only the ETag."""
    try:
        found = dependencies.objects.head(where)
    except NotFound:
        return None, -1, []
    document = json.loads(dependencies.objects.read(Address(where.bucket, where.key, found.version)))
    if document.get("format") != manifest.FORMAT:
        return found.etag, -1, []
    return found.etag, document["height"], document["deliveries"]
