"""Finds the rows to erase in the objects of a line, and stages what is left of each object."""

from __future__ import annotations

import base64
import json
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import duckdb

from lakegate.cli.transfer import To, read, send
from lakegate.contracts.door.file_signatures import UnreadableError
from lakegate.contracts.errors import InputError
from lakegate.contracts.lake.block import BlockKind, deliveries
from lakegate.contracts.lake.erasures import erasures_of
from lakegate.contracts.lake.states import State
from lakegate.contracts.plan.plan import Plan
from lakegate.contracts.plan.request import StagedPart
from lakegate.engine.measure.tables import database
from lakegate.engine.split.without import without
from lakegate.functions.adapters.clients import client
from lakegate.functions.ports.errors import NotFound
from lakegate.functions.ports.objects import Address
from lakegate.functions.usecases import layout, retention
from lakegate.functions.usecases.deliveries import ALWAYS, NO_VERDICT, SEARCHED_ROWS, Wanted, recent
from lakegate.functions.usecases.delivery import row_of
from lakegate.functions.usecases.erasure import Erasing, Staged
from lakegate.functions.workload import TERMINAL, replay_id
from lakegate.spark_jobs.store import Addresses, PinnedObject

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from lakegate.cli.aws import DeployedStack
    from lakegate.contracts.lake.block import Block
    from lakegate.contracts.lake.block_parts import LedgerObject
    from lakegate.contracts.lake.erasures import Erasures
    from lakegate.engine.split.without import Key
    from lakegate.functions.ports.objects import ObjectVersion
    from lakegate.functions.usecases.dependencies import Dependencies

ENDED: Final = TERMINAL | {State.FAILED, State.GONE}


@dataclass(frozen=True, slots=True)
class Hit:
    """An object with rows to erase."""

    key: str
    version: str
    records: int | None
    """None: it was not read."""
    rows: int | None
    """To erase; None: all of them, unread."""
    left: Path | None = None
    """The object without them; None: nothing is left."""


@dataclass(slots=True)
class ErasureSearch:
    """What was found in the objects of a line."""

    deliveries: list[tuple[Block, list[Hit]]] = field(default_factory=list)
    unsearched: list[tuple[Block, str, str]] = field(default_factory=list)
    """Delivery and key of each object that could not be searched, and why."""
    count: int = 0
    """Objects that were looked at."""

    @property
    def hits(self) -> list[Hit]:
        """All objects with rows to erase."""
        return [hit for _, hits in self.deliveries for hit in hits]


def searched(
    dependencies: Dependencies, chain: str, keys: tuple[Key, ...], folder: Path, looked: Callable[[int], None]
) -> ErasureSearch:
    """Read every object of a line, and write below a folder what is left of those with rows to erase."""
    search = ErasureSearch()
    blocks = dependencies.ledger.blocks(chain)
    erasures = erasures_of(blocks)
    for block in deliveries(blocks):
        hits: list[Hit] = []
        for each in erasures.objects_of(block):
            try:
                found = _found(dependencies, block, each, erasures)
                if found is not None:
                    hits += _hits(dependencies, block, found, keys, folder / f"{search.count}")
            except (InputError, UnreadableError, duckdb.Error, OSError) as error:
                search.unsearched.append((block, each.key, _why(error)))
            search.count += 1
            looked(search.count)
        if hits:
            search.deliveries.append((block, hits))
    return search


def whole(dependencies: Dependencies, chain: str, workloads: tuple[str, ...]) -> ErasureSearch:
    """All objects of some deliveries, unread. Raises InputError for one that is none of the line's."""
    search = ErasureSearch()
    blocks = dependencies.ledger.blocks(chain)
    erasures = erasures_of(blocks)
    for name in workloads:
        named = [each for each in deliveries(blocks) if each.workload.startswith(name)]
        if len(named) != 1:
            raise InputError(
                f"{chain} has {'several deliveries' if named else 'no delivery'} whose id begins so: {name}"
            )
        objects = filter(
            None, (_found(dependencies, named[0], each, erasures) for each in erasures.objects_of(named[0]))
        )
        hits = [Hit(each.key, each.version, None, None) for each in objects]
        search.count += len(hits)
        if hits:
            search.deliveries.append((named[0], hits))
    return search


def staged(there: DeployedStack, block: Block, hits: list[Hit]) -> tuple[Erasing, ...]:
    """Upload what is left of the objects of a delivery."""
    lake = there.output("LakeBucket")
    return tuple(Erasing(each.key, each.version, each.rows, _upload(there, lake, block, each)) for each in hits)


def remaining(dependencies: Dependencies, chain: str) -> Iterator[tuple[str, str]]:
    """Deliveries of the line whose data an erasure does not reach yet, each with its state."""
    wanted = Wanted(verdicts=frozenset({NO_VERDICT}), chains=frozenset({chain}))
    known = {each.id: each.row.state for each in recent(dependencies, SEARCHED_ROWS, wanted) if each.row}
    rows = (row_of(dependencies, each) for each in dependencies.agenda.due(ALWAYS, SEARCHED_ROWS))
    known |= {row.id: row.state for row in rows if row and row.pin and row.pin.chain == chain}
    yield from ((identity, str(state)) for identity, state in known.items() if state is not State.GONE)


def _found(dependencies: Dependencies, block: Block, each: LedgerObject, erasures: Erasures) -> ObjectVersion | None:
    """The object; None where it expired, or its replay ended, which deleted it."""
    try:
        return dependencies.objects.head(Address(dependencies.places.lake, each.key, each.version))
    except NotFound:
        row = row_of(dependencies, replay_id(block.workload))
        if row is not None and row.state in TERMINAL:
            return None
        until = retention.kept_until(dependencies, block, each.key, erasures)
        if until is not None and dependencies.clock.now() >= until:
            return None
        raise InputError(f"{each.key} is not there any more: lakegate verify {block.chain} --objects") from None


def _hits(
    dependencies: Dependencies, block: Block, found: ObjectVersion, keys: tuple[Key, ...], target: Path
) -> Iterator[Hit]:
    row = row_of(dependencies, replay_id(block.workload))
    if row is not None and row.state not in ENDED:
        raise InputError("it is being judged again: repeat the command when that has ended")
    if not block.plan:
        raise InputError("no contract covers it, so nobody knows its columns")
    plan = Plan.from_json(json.loads(dependencies.plan_at(block.plan, block.workload)))
    uri = f"s3://{found.bucket}/{found.key}"
    store = Addresses({uri: PinnedObject(found.bucket, found.key, found.size, found.etag, found.version)})
    is_rejected = block.kind is BlockKind.PUBLISHED and found.key.startswith("quarantine/")
    with database(target.parent) as connection:
        part = StagedPart(uri, found.size)
        rows = without(plan, part, store, keys, connection, target, is_rejected=is_rejected)
    if rows.erased:
        is_empty = rows.erased == rows.records
        yield Hit(found.key, found.version, rows.records, rows.erased, None if is_empty else target)


def _why(error: Exception) -> str:
    if isinstance(error, UnreadableError):
        return f"{error.finding.code}: {error.finding.message}"
    return str(error) if isinstance(error, InputError) else f"it cannot be read ({type(error).__name__})"


def _upload(there: DeployedStack, lake: str, block: Block, hit: Hit) -> Staged | None:
    if hit.left is None:
        return None
    local = read(hit.left)
    key = f"{layout.erasure_prefix(block.workload)}{secrets.token_hex(8)}"
    version = send(client("s3"), local, To(lake, key, there.account), lambda _: None)
    hit.left.unlink()
    checksum = base64.b64encode(bytes.fromhex(local.sha256)).decode()
    return Staged(key, version, local.size, f"sha256:{checksum}")
