"""Step 2: what landed: one version, or the parts of a folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from lakegate.admission.ignored_keys import is_ignored
from lakegate.admission.multi_file_delivery import (
    COMPLETED_BY,
    MAX_BYTES,
    ChosenParts,
    PartVersion,
    completed_by_manifest,
    completed_by_quiet,
    completed_by_success,
    folder_of,
    name_of,
)
from lakegate.base.errors import AccessDenied, Archived, LakegateError, NotFound
from lakegate.base.json_codec import sha256_of
from lakegate.contract.delivery_policy import DeliveryUnit
from lakegate.gate import lake_layout
from lakegate.gate.delivery.delivery_row import FailureCause, PartList, SourceObject, workload_id
from lakegate.gate.delivery.delivery_terms import Terms
from lakegate.gate.delivery.protocol import State
from lakegate.gate.delivery.small_file_batches import staging_key
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.delivery_store import ObjectArrival
from lakegate.gate.effects import Effect, Steps, perform
from lakegate.gate.ports import ObjectVersion, every_version

if TYPE_CHECKING:
    from lakegate.gate.dependencies import Dependencies


# ---- The version to judge ----


class UnreadableSource(LakegateError):  # noqa: N818 - the name is what was observed
    """The landed object cannot be read before a person grants a right or restores it."""

    def __init__(self, cause: FailureCause) -> None:
        super().__init__(cause)
        self.cause = cause


def data_of(turn: DeliveryTurn) -> ObjectVersion | None:
    """The version to judge, or its staged copy where the producer deleted it since; None: there are no bytes left.

    Raises UnreadableSource.
    """
    keys = (staging_key(turn), *filter(None, [turn.row.unnamed_copy]))
    unnamed = (turn.gate.in_lake(key) for key in keys)
    try:
        with of_the_source():
            return turn.gate.objects.head(turn.row.source.address)
    except NotFound:
        pass
    for copy in (turn.row.staged.address,) if turn.row.staged else unnamed:
        with suppress(NotFound):
            return turn.gate.objects.head(copy)
    return None


@contextmanager
def of_the_source() -> Iterator[None]:
    """A refusal inside concerns what landed: another caller, key policy or storage class is needed, and no repetition."""
    try:
        yield
    except AccessDenied:
        raise UnreadableSource(FailureCause.ACCESS_DENIED) from None
    except Archived:
        raise UnreadableSource(FailureCause.ARCHIVED) from None


# ---- Parts of a folder ----
# The list is an object of its own (`runs/<workload>/parts-<digest>.json`), because a row has 400 KB. A part has a row, too, in
# the state JOINED: put if absent, so that a version belongs to one delivery only.


def write_parts(dependencies: Dependencies, workload: str, listed: PartList) -> Steps[SourceObject]:
    """Write a list. Its description has size and checksum of what it lists, by which `content` identifies a delivery."""
    body = listed.to_bytes()
    where = dependencies.in_lake(lake_layout.parts_key(workload, sha256_of(body)))
    version = yield from perform(Effect.WRITE_PARTS, dependencies.objects.put, where, body)
    return SourceObject(version.bucket, version.key, "", "", listed.size, listed.checksum)


def collect_parts(turn: DeliveryTurn, terms: Terms) -> PartList | None:
    """The parts of a delivery; None: it is not complete yet.

    Raises NotFound where nothing is left to deliver, and UnreadableSource.
    """
    source = turn.row.source
    folder = _Folder.of(turn.gate, source.bucket, folder_of(source.key))
    with of_the_source():
        match DeliveryUnit(turn.row.completed_by):
            case DeliveryUnit.SUCCESS:
                chosen = _by_success(turn, folder)
            case DeliveryUnit.MANIFEST:
                chosen = _by_manifest(turn, terms, folder)
            case _:
                chosen = _by_quiet(turn, terms, folder)
        if chosen.is_waiting:
            return None
        at = {(name_of(version.key), version.version): version for version in folder.listed}
        wanted = [at[part.name, part.version] for part in chosen.parts]
        try:
            described = [_described(turn.gate, version) for version in wanted]
        except NotFound:
            return None  # deleted meanwhile: the next look lists the folder again
    corrects = described[0].corrects if described else ""
    return PartList(tuple(map(SourceObject.of, described)), chosen.problems, corrects)


class _Folder(NamedTuple):
    """The versions of the objects directly in a folder, and what is known of their arrival."""

    listed: list[ObjectVersion]
    arrivals: dict[str, ObjectArrival]

    @classmethod
    def of(cls, dependencies: Dependencies, bucket: str, folder: str) -> _Folder:
        """As it is now."""
        listed = list(versions(dependencies, bucket, folder))
        return cls(listed, dependencies.arrivals.of(map(_identity, listed)))

    def announced(self, version: ObjectVersion) -> datetime | None:
        """The time of its event; None where nobody got it so far."""
        arrival = self.arrivals.get(_identity(version))
        return arrival.announced if arrival else None

    def plain(self, version: ObjectVersion) -> PartVersion:
        """One version as the rules of deliveries see it."""
        arrived = self.announced(version) or version.modified
        name = name_of(version.key)
        return PartVersion(name, version.version, version.size, version.checksum, arrived, version.current)

    def data(self, dependencies: Dependencies, delivery: DeliveryUnit) -> list[ObjectVersion]:
        """Without what is no part: ignored keys, what completes a delivery, objects from before the stack."""
        ignored, last = dependencies.places.ignored, COMPLETED_BY.get(delivery)
        return [
            version
            for version in self.listed
            if not is_ignored(version.key, version.size, ignored)
            and name_of(version.key) != last
            and dependencies.may_deliver(version, self.announced(version))
        ]


def _identity(version: ObjectVersion) -> str:
    return workload_id(version.bucket, version.key, version.version)


def versions(dependencies: Dependencies, bucket: str, folder: str) -> Iterator[ObjectVersion]:
    """Every version of the objects directly in a folder; of one key the newest first."""
    below = every_version(dependencies.objects, bucket, folder)
    return (version for version in below if version.key != folder and folder_of(version.key) == folder)


def is_unfinished(dependencies: Dependencies, bucket: str, folder: str, delivery: DeliveryUnit) -> bool:
    """Whether a delivery of the folder is under way, or FAILED: it may still take what lies there."""
    key = folder + COMPLETED_BY[delivery]
    for version in versions(dependencies, bucket, folder):
        if version.key == key:
            row = dependencies.workloads.claimed(workload_id(bucket, key, version.version))
            if row is None or row.state not in {State.PUBLISHED, State.QUARANTINED, State.GONE}:
                return True
    return False


def _by_success(turn: DeliveryTurn, folder: _Folder) -> ChosenParts:
    of_marker = [version for version in folder.listed if version.key == turn.row.source.key]
    place = next((at for at, version in enumerate(of_marker) if version.version == turn.row.source.version), None)
    if place is None or not of_marker[0].current:
        raise NotFound  # withdrawn by its producer
    earlier = (version for version in of_marker[place + 1 :] if not _is_gone(turn.gate, version))
    completed, *before = (folder.plain(version).arrived for version in (of_marker[place], *islice(earlier, 1)))
    parts = map(folder.plain, _free(turn, folder))
    return completed_by_success(parts, completed, before[0] if before else None)


def _is_gone(dependencies: Dependencies, version: ObjectVersion) -> bool:
    """Whether a marker completed nothing, because its producer withdrew it."""
    row = dependencies.workloads.claimed(_identity(version))
    return row is not None and row.state is State.GONE


def _by_manifest(turn: DeliveryTurn, terms: Terms, folder: _Folder) -> ChosenParts:
    manifest = turn.gate.objects.head(turn.row.source.address)
    body = turn.gate.objects.read(turn.row.source.address, 0, MAX_BYTES + 1)
    compared = [
        folder.plain(version)._replace(
            checksum=_described(turn.gate, version).checksum
        )  # which a listing does not contain
        for version in folder.data(turn.gate, DeliveryUnit.MANIFEST)
    ]
    known = folder.arrivals.get(turn.row.id)
    may_arrive = turn.now < (known.time_of(manifest) if known else manifest.modified) + terms.parts_within
    return completed_by_manifest(compared, body, may_arrive=may_arrive)


def _by_quiet(turn: DeliveryTurn, terms: Terms, folder: _Folder) -> ChosenParts:
    free = _free(turn, folder)
    chosen = completed_by_quiet(map(folder.plain, free))
    if not chosen.parts:
        raise NotFound
    unseen = ObjectArrival(turn.now)
    newest = max(folder.arrivals.get(_identity(version), unseen).time_of(version) for version in free)
    return chosen._replace(is_waiting=turn.now < newest + terms.quiet)


def _free(turn: DeliveryTurn, folder: _Folder) -> list[ObjectVersion]:
    """Without what belongs to another delivery of the folder already."""
    data = folder.data(turn.gate, DeliveryUnit(turn.row.completed_by))
    return [version for version in data if not _is_taken(turn, version)]


def _is_taken(turn: DeliveryTurn, version: ObjectVersion) -> bool:
    part = SourceObject.of(version)
    own = _identity(version)
    free = (
        {None, turn.row.id} if DeliveryUnit(turn.row.completed_by) is DeliveryUnit.QUIET else {None, turn.row.id, own}
    )
    return turn.owner_of(part) not in free


def _described(dependencies: Dependencies, version: ObjectVersion) -> ObjectVersion:
    return dependencies.objects.head(SourceObject.of(version).address)
