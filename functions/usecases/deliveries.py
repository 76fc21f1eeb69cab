"""What has become of deliveries: found by reading what the protocol leaves behind, so that no second list can be wrong.

* A published or quarantined delivery is in the ledger, the newest on top of its chain.
* An open, FAILED or not yet claimed one is still in the landing bucket: only what has a block is deleted there.
* An open replay of a quarantined copy is on the agenda, and its id follows from the workload that it replays.

A workload that is GONE, because its producer deleted the version before it was staged, is found by its id alone.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from heapq import nlargest
from typing import TYPE_CHECKING, Final

from lakegate.contracts.errors import InputError
from lakegate.contracts.words import did_you_mean, listed
from lakegate.functions.ports.errors import NotFound
from lakegate.functions.ports.objects import Address
from lakegate.functions.usecases import layout
from lakegate.functions.usecases.lines import chains
from lakegate.functions.usecases.observe import content
from lakegate.functions.usecases.steps import Alarm
from lakegate.functions.workload import TERMINAL, State, replay_id, workload_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import date

    from lakegate.contracts.lake.ledger import Block
    from lakegate.functions.ports.objects import ObjectVersion
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.workload import SourceObject, Workload

LOOKED_BACK: Final = 500
"""Blocks of a chain that are searched for one workload."""
PAGES: Final = 20
"""Pages of the landing bucket that are listed: 20,000 versions. What is open longer raises an alarm of its own."""
SEARCHED_BLOCKS: Final = 5_000
"""Of each line, where only some deliveries are wanted."""
SEARCHED_ROWS: Final = 1_000
"""The same for unfinished deliveries."""
NO_VERDICT: Final = "none"
WHOLE_ID: Final = 64
ALWAYS: Final = datetime(9999, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Delivery:
    """One upload and what is known of it."""

    id: str
    key: str
    """Where it landed: text of the producer's."""
    size: int
    """Bytes."""
    at: datetime | None
    """The latest known time: of its block, else of its intake, else of its landing."""
    row: Workload | None = None
    """None: it landed, and nobody has claimed it yet."""
    block: Block | None = None
    """None: it is neither published nor quarantined."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A filter of deliveries: all, unless something is given."""

    verdicts: frozenset[str] = frozenset()
    """NO_VERDICT for what is on its way, failed or gone."""
    chains: frozenset[str] = frozenset()
    day: date | None = None
    """UTC, of the delivery's latest time."""

    def admits(self, delivery: Delivery) -> bool:
        """Whether it is one of those."""
        row, block = delivery.row, delivery.block
        decided = block.verdict if block else row.decision.verdict if row and row.decision else NO_VERDICT
        chain = block.chain if block else row.pin.chain if row and row.pin else ""
        day = delivery.at.date() if delivery.at else None
        return (
            decided in (self.verdicts or {decided}) and chain in (self.chains or {chain}) and day == (self.day or day)
        )


EVERY: Final = Wanted()


def recent(dependencies: Dependencies, limit: int, wanted: Wanted = EVERY) -> tuple[Delivery, ...]:
    """The latest of the deliveries that are wanted, newest first."""
    known: dict[str, Delivery] = {}
    rows = limit if wanted == EVERY else max(limit, SEARCHED_ROWS)
    for delivery in (*_at_rest(dependencies, limit, wanted), *_landed(dependencies, rows), *_open(dependencies, rows)):
        known.setdefault(delivery.id, delivery)
    for replayed in _replays(dependencies, tuple(known.values())):
        known.setdefault(replayed.id, replayed)
    return tuple(nlargest(limit, filter(wanted.admits, known.values()), key=lambda each: each.at or ALWAYS))


def named(dependencies: Dependencies, name: str, among: int) -> Delivery:
    """The delivery of a workload id, of its beginning (6 characters at least), or of a landing key.

    A key selects the newest upload under it, never a replay: a replay keeps the name of its source. The beginning of an
    id is looked up among the latest deliveries. Raises InputError where none is found, or several.
    """
    if len(name) == WHOLE_ID and _is_hex(name):
        return _by_id(dependencies, name.lower())
    latest = recent(dependencies, among)
    same = [each for each in latest if each.key == name.removeprefix(f"s3://{dependencies.places.landing}/")]
    if same:
        return next((each for each in same if not _replayed(each)), None) or _original(dependencies, same[0])
    if len(name) >= len("a1b2c3") and _is_hex(name):
        same = [each for each in latest if each.id.startswith(name.lower())]
    if len(same) == 1:
        return same[0]
    if same:
        raise InputError(
            f"{len(same)} of the latest {among} deliveries have an id that begins so: {listed(e.id for e in same)}"
        )
    hint = did_you_mean(name, (each.key for each in latest))
    raise InputError(f"none of the latest {among} deliveries is called so: give the whole workload id.{hint}")


def first_of_content(dependencies: Dependencies, row: Workload) -> Delivery | None:
    """The delivery that brought the same content first; None where nobody has claimed it."""
    claim = content(row, row.staged or row.source)
    owner = dependencies.agenda.owner(claim) if claim else None
    claimed = row_of(dependencies, owner) if owner else None
    return _delivered(claimed) if claimed else None


def result_of(dependencies: Dependencies, row: Workload) -> bytes | None:
    """`result.json` of the attempt that was decided on, or of the last one of a FAILED workload; None where there is none.

    Raises Alarm where it is not the one that was decided on.
    """
    if not row.attempt or (row.decision is not None and not row.decision.result):
        return None
    where = Address(dependencies.places.lake, f"{layout.attempt_prefix(row.id, row.attempt)}/result.json")
    try:
        body = dependencies.objects.read(where)
    except NotFound:
        return None
    if row.decision is not None and hashlib.sha256(body).hexdigest() != row.decision.result:
        raise Alarm("result-differs", row.id)
    return body


def row_of(dependencies: Dependencies, workload: str) -> Workload | None:
    """The row of a workload; None where there is none."""
    try:
        return dependencies.workloads.get(workload)
    except NotFound:
        return None


def at_rest(dependencies: Dependencies, block: Block) -> Delivery:
    """The delivery of a block. Without its row, neither file nor size are known."""
    row = row_of(dependencies, block.workload)
    return _delivered(row, block) if row else _delivered_block(block)


def _at_rest(dependencies: Dependencies, limit: int, wanted: Wanted) -> Iterator[Delivery]:
    count = limit if wanted == EVERY else max(limit, SEARCHED_BLOCKS)
    among = set(wanted.chains or chains(dependencies)) | ({f"{layout.UNROUTED}/{wanted.day}"} if wanted.day else set())
    blocks = (
        block for chain in among for block in _top(dependencies, chain, count) if wanted.admits(_delivered_block(block))
    )
    for block in nlargest(limit, blocks, key=lambda each: each.system_time):
        yield at_rest(dependencies, block)


def _delivered_block(block: Block) -> Delivery:
    return Delivery(block.workload, "", 0, datetime.fromisoformat(block.system_time), None, block)


def _top(dependencies: Dependencies, chain: str, count: int) -> tuple[Block, ...]:
    head = dependencies.ledger.head(chain).height
    return dependencies.ledger.blocks(chain, max(head - count, -1)) if head >= 0 else ()


def _landed(dependencies: Dependencies, limit: int) -> Iterator[Delivery]:
    versions = sorted(_listed(dependencies), key=lambda each: each.modified, reverse=True)
    for version in versions[:limit]:
        identity = workload_id(version.bucket, version.key, version.version)
        row = row_of(dependencies, identity)
        yield _delivered(row) if row else Delivery(identity, version.key, version.size, version.modified)


def _listed(dependencies: Dependencies) -> Iterator[ObjectVersion]:
    after: str | None = None
    for _ in range(PAGES):
        page = dependencies.objects.versions(dependencies.places.landing, "", after)
        yield from page.versions
        after = page.after
        if after is None:
            return


def _open(dependencies: Dependencies, limit: int) -> Iterator[Delivery]:
    rows = (row_of(dependencies, identity) for identity in dependencies.agenda.due(ALWAYS, limit))
    return (_delivered(row) for row in rows if row)


def _replays(dependencies: Dependencies, known: Iterable[Delivery]) -> Iterator[Delivery]:
    for delivery in known:
        if delivery.row is not None and delivery.row.state is State.QUARANTINED:
            row = row_of(dependencies, replay_id(delivery.id))
            if row is not None:
                yield _delivered(row)


def _replayed(delivery: Delivery) -> str:
    """The workload that it replays; empty for an upload."""
    return delivery.row.replay_of if delivery.row else ""


def _original(dependencies: Dependencies, delivery: Delivery) -> Delivery:
    """The upload that a replay goes back to, where that itself is too old to be among the latest."""
    while before := _replayed(delivery):
        delivery = _by_id(dependencies, before)
    return delivery


def _by_id(dependencies: Dependencies, identity: str) -> Delivery:
    row = row_of(dependencies, identity)
    if row is None:
        raise InputError("no workload has this id")
    if row.state not in TERMINAL or row.pin is None:
        return _delivered(row)
    blocks = _top(dependencies, row.pin.chain, LOOKED_BACK)
    return _delivered(row, next((block for block in blocks if block.workload == identity), None))


def _delivered(row: Workload, block: Block | None = None) -> Delivery:
    landed: SourceObject = row.landed or row.source
    return Delivery(row.id, landed.key, landed.size, _latest(row, block), row, block)


def _latest(row: Workload, block: Block | None) -> datetime | None:
    if block is not None:
        return datetime.fromisoformat(block.system_time)
    if row.pin is not None:
        return datetime.fromisoformat(row.pin.judging_time)
    return row.due_at


def _is_hex(text: str) -> bool:
    return set(text) <= set("0123456789abcdefABCDEF")
