"""Deliveries found by name, day, verdict; what became of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from heapq import merge, nlargest
from itertools import islice
from typing import Final, Protocol

from lakegate.admission.ignored_keys import is_ignored
from lakegate.base.errors import AccessDenied, InputError, UnreadableItem
from lakegate.base.text import did_you_mean, join_words, plural
from lakegate.gate import lake_layout
from lakegate.gate.datasets.dataset_names import chains
from lakegate.gate.delivery.admit_delivery import content
from lakegate.gate.delivery.delivery_row import TERMINAL, SourceObject, Workload, replay_id, workload_id
from lakegate.gate.delivery.protocol import State
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.ledger.blocks import Block
from lakegate.gate.ports import ObjectVersion, every_version
from lakegate.gate.registry.registry_rows import Route

# ---- One delivery with its row, block and result ----


class AnnouncedWorkload(Protocol):
    """A workload that a producer has announced, and that nothing has landed for."""

    @property
    def id(self) -> str:
        """The id, as that of a workload."""

    @property
    def contract(self) -> str:
        """The contract that it was announced for."""

    @property
    def version(self) -> str:
        """The version of the contract."""

    @property
    def full_name(self) -> str:
        """The dataset."""

    @property
    def key(self) -> str:
        """The key at which its data lands; ends with `/` where it may have any name in this folder."""

    def takes(self, key: str) -> bool:
        """Whether an object at a landing key is its data."""

    @property
    def at(self) -> datetime:
        """The time when it was announced."""

    @property
    def place(self) -> str:
        """The place in the list of its contract's: by that time, and unique."""

    @property
    def data_summary(self) -> object:
        """The statements about the data, as a document."""

    @property
    def refusals(self) -> tuple[str, ...]:
        """The reasons for which nothing is to be sent."""

    def has_expired(self, now: datetime) -> bool:
        """Whether its time is over."""
        ...


class AnnouncedWorkloads(Protocol):
    """The rows that the feature of announcements registers at the point `rows`."""

    def get(self, announcement: str, /) -> AnnouncedWorkload | None:
        """The announcement with this id, also one whose data has landed; strongly consistent."""
        ...

    def latest(self, contract: str, now: datetime, limit: int, until: str) -> tuple[tuple[AnnouncedWorkload, ...], str]:
        """Some of those of a contract of the last days, the newest first, from a place on; empty: from the first one.

        And the place where the others begin; empty: there are no more. By an index that lags: data may have landed.
        """
        ...


@dataclass(frozen=True, slots=True)
class Delivery:
    """One upload and what is known of it; or an announced one, that nothing has landed for."""

    id: str
    key: str
    """The landing key: text of the producer's."""
    size: int
    """Bytes."""
    at: datetime | None
    """The latest known time: of its block, else of its intake, else of its landing."""
    row: Workload | None = None
    """None: it landed, and nobody has claimed it yet."""
    block: Block | None = None
    """None: it is neither published nor quarantined."""
    announced: AnnouncedWorkload | None = None
    """None: it has landed."""


def first_of_content(turn: DeliveryTurn) -> Delivery | None:
    """The delivery that brought the same content first; None where nobody has claimed it, or the caller may not find out.

    Claims of contents can be computed by whoever has the content: owners of contracts may not read them.
    """
    claim = content(turn.row, turn.row.staged or turn.row.source)
    try:
        owner = turn.gate.agenda.owner(claim) if claim else None
    except AccessDenied:
        return None
    claimed = turn.gate.workloads.find(owner) if owner else None
    return delivery_of(claimed) if claimed else None


def readable_row(dependencies: Dependencies, workload: str) -> Workload | None:
    """The row of a workload; None also where it cannot be read, which is reported (`Dependencies.left_out`)."""
    try:
        return dependencies.workloads.find(workload)
    except UnreadableItem as refused:
        dependencies.left_out.append(refused)
        return None


def at_rest(dependencies: Dependencies, block: Block) -> Delivery:
    """The delivery of a block. Without its row, neither file nor size are known."""
    row = readable_row(dependencies, block.workload)
    return delivery_of(row, block) if row else delivery_of_block(block)


def delivery_of_block(block: Block) -> Delivery:
    """The delivery of a block whose row is not read: its file and its size are not known."""
    return Delivery(block.workload, "", 0, datetime.fromisoformat(block.system_time), None, block)


def delivery_of(row: Workload, block: Block | None = None) -> Delivery:
    """The delivery of a row, with its block if it has one."""
    landed: SourceObject = row.landed or row.source
    return Delivery(row.id, landed.key, (row.parts or landed).size, _latest(row, block), row, block)


def places_of(dependencies: Dependencies, delivery: Delivery) -> tuple[str, ...]:
    """The place of the data now: the objects of its block but for those of a table, else their folder; landing before its end."""
    row, lake = delivery.row, dependencies.places.lake
    if delivery.block is not None:
        typed = delivery.block.typed_keys
        return tuple(f"s3://{lake}/{stored.key}" for stored in delivery.block.objects if stored.key not in typed)
    if row is None:
        return (f"s3://{dependencies.places.landing}/{delivery.key}",)
    if row.state is State.GONE:
        return ()
    if row.state not in TERMINAL or row.pin is None:
        return (f"s3://{row.source.bucket}/{row.source.key}",)
    share = "accepted" if row.state is State.PUBLISHED else "quarantine"
    return (f"s3://{lake}/{lake_layout.destination_key(share, row.pin, row.id, '')}",)


def delivery_of_announcement(announced: AnnouncedWorkload) -> Delivery:
    """An announced one, which has no landing key as long as nothing is there."""
    return Delivery(announced.id, "", 0, announced.at, announced=announced)


def _latest(row: Workload, block: Block | None) -> datetime | None:
    if block is not None:
        return datetime.fromisoformat(block.system_time)
    if row.pin is not None:
        return datetime.fromisoformat(row.pin.judging_time)
    return row.due_at


# ---- Deliveries from what the protocol leaves ----
# * A published or quarantined delivery is in the ledger, the newest on top of its chain.
# * An open, FAILED or not yet claimed one is still in the landing bucket: only what has a block is deleted there by the gate.
# * Of a FAILED one whose landed version was deleted by others the staged copy is left.
# * An open replay of a quarantined copy is on the agenda, and its id follows from the workload that it replays.
# * An announced one has a row of its own kind, which an index lists by contract until its data is taken in.
#
# A workload that is GONE, because its producer deleted the version and no staged copy is left, is found by its id alone.


PAGES: Final = 20
"""Pages of the landing bucket that are listed: 20,000 versions. What is open longer raises an alarm of its own."""
SEARCHED_BLOCKS: Final = 5_000
"""Of each dataset, where only some deliveries are wanted."""
SEARCHED_ROWS: Final = 1_000
"""The same for unfinished deliveries."""
SEARCHED_OPEN: Final = 200
"""Unfinished deliveries, of the stack and below each route, among which a page looks for those of some datasets: a request has
seconds."""
NO_VERDICT: Final = "none"
WHOLE_ID: Final = 64
ALWAYS: Final = datetime(9999, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A filter of deliveries: all, unless something is given."""

    verdicts: frozenset[str] = frozenset()
    """NO_VERDICT for what is on its way, failed or gone."""
    chains: frozenset[str] = frozenset()
    day: date | None = None
    """UTC, of the delivery's latest time."""
    announced: bool = False
    """Whether also those of the contracts of these chains that were announced, and that nothing has landed for."""

    def admits(self, delivery: Delivery) -> bool:
        """Whether it is one of those."""
        row, block = delivery.row, delivery.block
        decided = block.verdict if block else row.decision.verdict if row and row.decision else NO_VERDICT
        pinned = row.pin.dataset if row and row.pin else ""
        chain = block.chain if block else delivery.announced.full_name if delivery.announced else pinned
        day = delivery.at.date() if delivery.at else None
        return (
            decided in (self.verdicts or {decided}) and chain in (self.chains or {chain}) and day == (self.day or day)
        )


EVERY: Final = Wanted()


def recent(dependencies: Dependencies, limit: int, wanted: Wanted = EVERY) -> tuple[Delivery, ...]:
    """The latest of the deliveries that are wanted, newest first."""
    known: dict[str, Delivery] = {}
    of = sorted({chain.partition("/")[0] for chain in wanted.chains}) if wanted.announced else ()
    announced = [each for contract in of for each in _announced(dependencies, contract, "", limit)[0]]
    rows = limit if wanted == EVERY else max(limit, SEARCHED_ROWS)
    for delivery in (
        *_merge_chains(dependencies, limit, wanted),
        *_landed(dependencies, rows),
        *_open(dependencies, rows),
    ):
        known.setdefault(delivery.id, delivery)
    for failed in failed_and_staged(dependencies, frozenset(known)):
        known.setdefault(failed.id, failed)
    for replayed in _replays(dependencies, tuple(known.values())):
        known.setdefault(replayed.id, replayed)
    known |= {each.id: delivery_of_announcement(each) for each in _not_among(announced, known.values())}
    return tuple(nlargest(limit, filter(wanted.admits, known.values()), key=lambda each: each.at or ALWAYS))


@dataclass(frozen=True, slots=True)
class ListPosition:
    """A place in the list of the deliveries to some datasets: below a height of a dataset, or at its top."""

    dataset: str = ""
    """Empty: before all datasets."""
    below: int | None = None
    announced: str = ""
    """Before all datasets: the place among announcements; empty: the beginning of the list."""


def page_of(
    dependencies: Dependencies, datasets: Iterable[str], routes: Iterable[Route], place: ListPosition, limit: int
) -> tuple[tuple[Delivery, ...], ListPosition | None]:
    """A page of the deliveries to some datasets of a contract: first those that are not finished, then those that were announced
    and that nothing has landed for, then line by line, the newest first.

    And where the next page begins; None after the last one. `routes`: below them unfinished ones have landed.
    """
    ordered = sorted(datasets, reverse=True)
    deliveries: list[Delivery] = []
    if not ordered:  # the contract has no dataset
        return (), None
    if not place.dataset:
        wanted, contract = Wanted(chains=frozenset(ordered)), ordered[0].partition("/")[0]
        announced, others = _announced(dependencies, contract, place.announced, limit)
        if not place.announced:
            landed = (_landed(dependencies, SEARCHED_OPEN, route.prefix) for route in routes)
            staged = failed_and_staged(dependencies, most=SEARCHED_OPEN)
            unfinished = _open(dependencies, SEARCHED_OPEN), staged, *landed
            deliveries += filter(
                wanted.admits, {delivery.id: delivery for some in unfinished for delivery in some}.values()
            )
        shown = [each for each in _not_among(announced, deliveries) if each.full_name in wanted.chains]
        room = max(limit - len(deliveries), 0)
        deliveries += map(delivery_of_announcement, shown[:room])
        if rest := shown[room].place if len(shown) > room else others:
            return tuple(deliveries), ListPosition(announced=rest)
    for dataset in ordered:
        if place.dataset and dataset > place.dataset:
            continue
        below = place.below if dataset == place.dataset else None
        for block in dependencies.ledger.newest(dataset, limit, below):
            if not isinstance(block, Block):
                continue
            if len(deliveries) >= limit:
                return tuple(deliveries), ListPosition(dataset, block.height + 1)
            deliveries.append(at_rest(dependencies, block))
    return tuple(deliveries), None


def _announced(
    dependencies: Dependencies, contract: str, until: str, limit: int
) -> tuple[list[AnnouncedWorkload], str]:
    """The announcements of a contract that nothing has landed for, of at most `limit` from a place on; and that of the others."""
    rows: AnnouncedWorkloads | None = dependencies.rows("announcements")
    if rows is None:
        return [], ""
    listed, others = rows.latest(contract, dependencies.now, limit, until)
    return [each for each in listed if readable_row(dependencies, each.id) is None], others


def _not_among(announced: Iterable[AnnouncedWorkload], deliveries: Iterable[Delivery]) -> Iterator[AnnouncedWorkload]:
    """Those whose data is in no delivery that was read since."""
    keys = {delivery.key for delivery in deliveries}
    return (each for each in announced if not any(map(each.takes, keys)))


def find_delivery(
    dependencies: Dependencies, name: str, among: int, fits: Callable[[Workload], bool] = lambda _: False
) -> Delivery:
    """The delivery of a workload id, of its beginning (6 characters at least), or of a landing key.

    A key selects the newest delivery under it whose row `fits`; where none does, the newest upload, never a replay: a replay
    keeps the name of its source. The beginning of an id is looked up among the latest deliveries. Raises InputError where none
    is found, or several; UnreadableItem.
    """
    if len(name) == WHOLE_ID and _is_hex(name):
        return _by_id(dependencies, name.lower())
    latest, landing = recent(dependencies, among), dependencies.places.landing
    key = name.removeprefix(f"s3://{landing}/")
    same = [delivery for delivery in latest if delivery.key == key]
    if same:
        fitting = (delivery for delivery in same if delivery.row is not None and fits(delivery.row))
        uploads = (delivery for delivery in same if not _replayed(delivery))
        return next((each for some in (fitting, uploads) for each in some), None) or _original(dependencies, same[0])
    if len(name) >= len("a1b2c3") and _is_hex(name):
        same = [delivery for delivery in latest if delivery.id.startswith(name.lower())]
    if len(same) == 1:
        return same[0]
    if same:
        raise InputError(
            f"{len(same)} of the latest {among} deliveries have an id that begins so: {join_words(e.id for e in same)}"
        )
    if dependencies.left_out and key.isprintable():  # it may not be among them because its row cannot be read
        for version in every_version(dependencies.objects, landing, key, PAGES):
            dependencies.workloads.find(workload_id(landing, version.key, version.version))
    hint = did_you_mean(name, (delivery.key for delivery in latest))
    raise InputError(
        f"none of the latest {plural(among, 'delivery', 'deliveries')} is called so: give the whole workload id.{hint}"
    )


def _merge_chains(dependencies: Dependencies, limit: int, wanted: Wanted) -> Iterator[Delivery]:
    """Finished deliveries, of all datasets the newest first: of each chain no more is read than is needed for the list."""
    count = limit if wanted == EVERY else max(limit, SEARCHED_BLOCKS)
    among = set(wanted.chains or chains(dependencies)) | (
        {f"{lake_layout.UNROUTED}/{wanted.day}"} if wanted.day else set()
    )
    page = count // len(among) + 1
    tops = (islice(_newest(dependencies, chain, page), count) for chain in among)
    newest = merge(*tops, key=lambda block: block.system_time, reverse=True)
    admitted = (block for block in newest if wanted.admits(delivery_of_block(block)))
    for block in islice(admitted, limit):
        yield at_rest(dependencies, block)


def _newest(dependencies: Dependencies, chain: str, page: int) -> Iterator[Block]:
    """The deliveries of a chain from its top; none where its head cannot be read, which is reported."""
    try:
        is_begun = dependencies.ledger.head(chain).height >= 0
    except UnreadableItem as refused:
        dependencies.left_out.append(refused)
        return
    if is_begun:
        yield from (block for block in dependencies.ledger.newest(chain, page) if isinstance(block, Block))


def _landed(dependencies: Dependencies, limit: int, prefix: str | None = None) -> Iterator[Delivery]:
    versions = sorted(
        _listed(dependencies, prefix or dependencies.places.landing_prefix),
        key=lambda each: each.modified,
        reverse=True,
    )
    for version in versions[:limit]:
        identity = workload_id(version.bucket, version.key, version.version)
        try:
            row = dependencies.workloads.claimed(identity)
            row = dependencies.workloads.find(row.joined) if row and row.joined else row
        except UnreadableItem as refused:
            dependencies.left_out.append(refused)
            continue
        yield delivery_of(row) if row else Delivery(identity, version.key, version.size, version.modified)


def _listed(dependencies: Dependencies, prefix: str) -> Iterator[ObjectVersion]:
    below = every_version(dependencies.objects, dependencies.places.landing, prefix, PAGES)
    return (version for version in below if not is_ignored(version.key, version.size, dependencies.places.ignored))


def failed_and_staged(
    dependencies: Dependencies, known: frozenset[str] = frozenset(), most: int | None = None
) -> Iterator[Delivery]:
    """FAILED deliveries with a staged copy, but for those that are known: also where the landed version was deleted.

    `most`: rows that are read; None: those of all copies that are listed.
    """
    rows = (readable_row(dependencies, each) for each in islice(_staged(dependencies, known), most))
    return (delivery_of(row) for row in rows if row is not None and row.state is State.FAILED)


def _staged(dependencies: Dependencies, known: frozenset[str]) -> Iterator[str]:
    """The workloads of staged copies, each once, but for those that are known."""
    seen = set(known)
    staged = every_version(dependencies.objects, dependencies.places.lake, lake_layout.STAGING, PAGES)
    with suppress(AccessDenied):  # owners of contracts list their own prefixes alone
        for identity in (lake_layout.staged_workload(version.key) for version in staged if version.current):
            if identity not in seen:
                seen.add(identity)
                yield identity


def _open(dependencies: Dependencies, limit: int) -> Iterator[Delivery]:
    rows = (readable_row(dependencies, identity) for identity in dependencies.agenda.due(ALWAYS, limit))
    return (delivery_of(row) for row in rows if row)


def _replays(dependencies: Dependencies, known: Iterable[Delivery]) -> Iterator[Delivery]:
    for delivery in known:
        if delivery.row is not None and delivery.row.state is State.QUARANTINED:
            row = readable_row(dependencies, replay_id(delivery.id))
            if row is not None:
                yield delivery_of(row)


def _replayed(delivery: Delivery) -> str:
    """The workload that it replays; empty for an upload."""
    return delivery.row.replay_of if delivery.row else ""


def _original(dependencies: Dependencies, delivery: Delivery) -> Delivery:
    """The upload that a replay goes back to, where that itself is too old to be among the latest."""
    while before := _replayed(delivery):
        delivery = _by_id(dependencies, before)
    return delivery


def _by_id(dependencies: Dependencies, identity: str) -> Delivery:
    row = dependencies.workloads.find(identity)
    if row is None:
        rows: AnnouncedWorkloads | None = dependencies.rows("announcements")
        with suppress(AccessDenied):  # owners of contracts read those of theirs over the API
            if rows is not None and (announced := rows.get(identity)) is not None:
                return delivery_of_announcement(announced)
        raise InputError("no workload has this id")
    if row.joined:
        return _by_id(dependencies, row.joined)
    if row.state not in TERMINAL or row.pin is None:
        return delivery_of(row)
    return delivery_of(row, _block_of(DeliveryTurn(dependencies, row), row.pin.dataset))


def _block_of(turn: DeliveryTurn, chain: str) -> Block | None:
    """The block of a finished delivery; None where it cannot be read, or the ledger is that of an earlier time."""
    try:
        block = turn.gate.ledger.block(chain, turn.row.height)
    except UnreadableItem as refused:
        turn.gate.left_out.append(refused)
        return None
    return block if isinstance(block, Block) and block.workload == turn.row.id else None


def _is_hex(text: str) -> bool:
    return set(text) <= set("0123456789abcdefABCDEF")
