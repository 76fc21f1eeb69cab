"""What has become of deliveries: found by reading what the protocol leaves behind, so that no second list can be wrong.

* What came to rest stands in the ledger, the newest on top of its chain.
* What is open, or FAILED, or not yet seen, still lies in the landing bucket: only what came to rest is deleted there.
* What is open and replays a quarantined copy stands on the agenda, and beside the workload it replays.

A workload that is GONE, because its producer deleted the version before it was staged, is found by its id alone.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from heapq import nlargest
from typing import TYPE_CHECKING, Final

from contracts.errors import InputError
from contracts.words import did_you_mean, listed
from functions.ports import Address, NotFound
from functions.usecases import layout
from functions.usecases.lines import chains
from functions.usecases.observe import content
from functions.usecases.steps import Alarm
from functions.workload import TERMINAL, State, replay_id, workload_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import date

    from contracts.ledger import Block
    from functions.ports import ObjectVersion
    from functions.usecases.gate import Gate
    from functions.workload import Source, Workload

LOOKED_BACK: Final = 500
"""Blocks of a chain that are searched for one workload."""
PAGES: Final = 20
"""Pages of the landing bucket that are listed: 20,000 versions. What is open longer rises an alarm of its own."""
SEARCHED_BLOCKS: Final = 5_000
"""Of each line, where only some deliveries are wanted."""
SEARCHED_ROWS: Final = 1_000
"""Of those not yet at rest, likewise."""
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
    """The latest that is known of it: when it came to rest, else when it was taken in, else when it landed."""
    row: Workload | None = None
    """None: it landed, and nobody has claimed it yet."""
    block: Block | None = None
    """None: it has not come to rest."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which deliveries are asked for: all, unless something is given."""

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


def recent(gate: Gate, limit: int, wanted: Wanted = EVERY) -> tuple[Delivery, ...]:
    """The latest of the deliveries that are wanted, newest first."""
    known: dict[str, Delivery] = {}
    rows = limit if wanted == EVERY else max(limit, SEARCHED_ROWS)
    for delivery in (*_at_rest(gate, limit, wanted), *_landed(gate, rows), *_open(gate, rows)):
        known.setdefault(delivery.id, delivery)
    for replayed in _replays(gate, tuple(known.values())):
        known.setdefault(replayed.id, replayed)
    return tuple(nlargest(limit, filter(wanted.admits, known.values()), key=lambda each: each.at or ALWAYS))


def named(gate: Gate, name: str, among: int) -> Delivery:
    """The delivery of a workload id, of its beginning (6 characters at least), or of a landing key.

    A key stands for the newest upload under it, never for a replay: what is replayed keeps its name. What is no whole id is
    looked for among the latest deliveries. Raises InputError where none is found, or several.
    """
    if len(name) == WHOLE_ID and _is_hex(name):
        return _by_id(gate, name.lower())
    latest = recent(gate, among)
    same = [each for each in latest if each.key == name.removeprefix(f"s3://{gate.places.landing}/")]
    if same:
        return next((each for each in same if not _replayed(each)), None) or _original(gate, same[0])
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


def first_of_content(gate: Gate, row: Workload) -> Delivery | None:
    """The delivery that brought the same content first; None where nobody has claimed it."""
    claim = content(row, row.staged or row.source)
    owner = gate.agenda.owner(claim) if claim else None
    claimed = row_of(gate, owner) if owner else None
    return _delivered(claimed) if claimed else None


def result_of(gate: Gate, row: Workload) -> bytes | None:
    """`result.json` of the attempt that was decided on, or of the last one of a FAILED workload; None where there is none.

    Raises Alarm where it is not the one that was decided on.
    """
    if not row.attempt or (row.decision is not None and not row.decision.result):
        return None
    where = Address(gate.places.lake, f"{layout.attempt_prefix(row.id, row.attempt)}/result.json")
    try:
        body = gate.objects.read(where)
    except NotFound:
        return None
    if row.decision is not None and hashlib.sha256(body).hexdigest() != row.decision.result:
        raise Alarm("result-differs", row.id)
    return body


def row_of(gate: Gate, workload: str) -> Workload | None:
    """The row of a workload; None where there is none."""
    try:
        return gate.workloads.get(workload)
    except NotFound:
        return None


def at_rest(gate: Gate, block: Block) -> Delivery:
    """The delivery of a block. Without its row, neither file nor size are known."""
    row = row_of(gate, block.workload)
    return _delivered(row, block) if row else _resting(block)


def _at_rest(gate: Gate, limit: int, wanted: Wanted) -> Iterator[Delivery]:
    count = limit if wanted == EVERY else max(limit, SEARCHED_BLOCKS)
    among = set(wanted.chains or chains(gate)) | ({f"{layout.UNROUTED}/{wanted.day}"} if wanted.day else set())
    blocks = (block for chain in among for block in _top(gate, chain, count) if wanted.admits(_resting(block)))
    for block in nlargest(limit, blocks, key=lambda each: each.system_time):
        yield at_rest(gate, block)


def _resting(block: Block) -> Delivery:
    return Delivery(block.workload, "", 0, datetime.fromisoformat(block.system_time), None, block)


def _top(gate: Gate, chain: str, count: int) -> tuple[Block, ...]:
    head = gate.ledger.head(chain).height
    return gate.ledger.blocks(chain, max(head - count, -1)) if head >= 0 else ()


def _landed(gate: Gate, limit: int) -> Iterator[Delivery]:
    versions = sorted(_listed(gate), key=lambda each: each.modified, reverse=True)
    for version in versions[:limit]:
        identity = workload_id(version.bucket, version.key, version.version)
        row = row_of(gate, identity)
        yield _delivered(row) if row else Delivery(identity, version.key, version.size, version.modified)


def _listed(gate: Gate) -> Iterator[ObjectVersion]:
    after: str | None = None
    for _ in range(PAGES):
        page = gate.objects.versions(gate.places.landing, "", after)
        yield from page.versions
        after = page.after
        if after is None:
            return


def _open(gate: Gate, limit: int) -> Iterator[Delivery]:
    rows = (row_of(gate, identity) for identity in gate.agenda.due(ALWAYS, limit))
    return (_delivered(row) for row in rows if row)


def _replays(gate: Gate, known: Iterable[Delivery]) -> Iterator[Delivery]:
    for delivery in known:
        if delivery.row is not None and delivery.row.state is State.QUARANTINED:
            row = row_of(gate, replay_id(delivery.id))
            if row is not None:
                yield _delivered(row)


def _replayed(delivery: Delivery) -> str:
    """The workload that it replays; empty for an upload."""
    return delivery.row.replay_of if delivery.row else ""


def _original(gate: Gate, delivery: Delivery) -> Delivery:
    """The upload that a replay goes back to, where that itself is too old to be among the latest."""
    while before := _replayed(delivery):
        delivery = _by_id(gate, before)
    return delivery


def _by_id(gate: Gate, identity: str) -> Delivery:
    row = row_of(gate, identity)
    if row is None:
        raise InputError("no workload has this id")
    if row.state not in TERMINAL or row.pin is None:
        return _delivered(row)
    blocks = _top(gate, row.pin.chain, LOOKED_BACK)
    return _delivered(row, next((block for block in blocks if block.workload == identity), None))


def _delivered(row: Workload, block: Block | None = None) -> Delivery:
    landed: Source = row.landed or row.source
    return Delivery(row.id, landed.key, landed.size, _latest(row, block), row, block)


def _latest(row: Workload, block: Block | None) -> datetime | None:
    if block is not None:
        return datetime.fromisoformat(block.system_time)
    if row.pin is not None:
        return datetime.fromisoformat(row.pin.judging_time)
    return row.due_at


def _is_hex(text: str) -> bool:
    return set(text) <= set("0123456789abcdefABCDEF")
