"""Objects of a delivery: one, or the parts of a folder."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

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
from lakegate.base.errors import AccessDenied, Archived, ConditionFailed, LakegateError, NotFound
from lakegate.contract.delivery_policy import DeliveryUnit
from lakegate.gate import lake_layout
from lakegate.gate.delivery.delivery_row import IDENTIFYING, FailureCause, PartList, SourceObject, Workload, workload_id
from lakegate.gate.delivery.delivery_terms import BatchLimits, Terms
from lakegate.gate.delivery.protocol import State
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.effects import Alarm, Effect, Steps, perform
from lakegate.gate.ports import Address, ObjectVersion, every_version

if TYPE_CHECKING:
    from lakegate.gate.dependencies import Dependencies


IDENTIFIER: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)
"""Of workloads and announcements."""


def row_of(dependencies: Dependencies, workload: str) -> Workload | None:
    """The row of a workload, also an archived one; None where there is none."""
    try:
        return dependencies.workloads.get(workload)
    except NotFound:
        return None


# ---- Groups of deliveries, and their copies ----


def staging_key(turn: DeliveryTurn) -> str:
    """The key of the staged copy: in the folder of its group, which the runs of batches may read.

    A delivery that is replayed stays in its folder, so that its copy is found if it was deleted in landing since.
    """
    group = lake_layout.staged_group(turn.staged.key) if turn.row.staged else group_of(turn)
    return lake_layout.staging_key(turn.row.id, turn.terms.suffix, group=group)


def group_of(turn: DeliveryTurn) -> str:
    """The dataset and plan of deliveries that may share a run; empty: this one has a run of its own.

    So is one of several objects, one that becomes slices (of a group only the first could have the next offset), and one with
    rules that others measure, who are asked before its own run.
    """
    limits, job = limits_of(turn), turn.gate.places.job
    pin, size, terms = turn.row.pin, turn.row.source.size, turn.terms
    if pin is None or not pin.plan or turn.row.parts is not None or terms.as_slices:
        return ""
    if terms.has_companion:
        return ""
    invoked = bool(job.judge) and size < job.small
    if limits.files == 1 or size >= (limits.bytes or 0) or invoked:
        return ""
    return hashlib.sha256(f"{pin.chain}\0{pin.plan}".encode()).hexdigest()[:32]


def limits_of(turn: DeliveryTurn) -> BatchLimits:
    """The limits of a batch of these deliveries: by the contract, else by the stack."""
    own, others = turn.terms.batch, turn.gate.places.job.batch
    return BatchLimits(*(other if mine is None else mine for mine, other in zip(own, others, strict=True)))


# ---- The object of a workload ----


class UnreadableSource(LakegateError):  # noqa: N818 - the name is what was observed
    """The landed object cannot be read before a person grants a right or restores it."""

    def __init__(self, cause: FailureCause) -> None:
        super().__init__(cause)
        self.cause = cause


def address(source: SourceObject) -> Address:
    """The address of one version."""
    return Address(source.bucket, source.key, source.version)


def described(version: ObjectVersion) -> SourceObject:
    """One version as the store describes it."""
    return SourceObject(version.bucket, version.key, version.version, version.etag, version.size, version.checksum)


def data_of(turn: DeliveryTurn) -> ObjectVersion | None:
    """The version to judge, or its staged copy where the producer deleted it since; None: there are no bytes left.

    Raises UnreadableSource.
    """
    keys = (staging_key(turn), *filter(None, [turn.row.unnamed_copy]))
    unnamed = (Address(turn.gate.places.lake, key) for key in keys)
    try:
        with of_the_source():
            return turn.gate.objects.head(address(turn.row.source))
    except NotFound:
        pass
    for copy in (address(turn.row.staged),) if turn.row.staged else unnamed:
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


# ---- The objects of a delivery of several ----
# The list is an object of its own (`runs/<workload>/parts-<digest>.json`), because a row has 400 KB. A part has a row, too, in
# the state JOINED: put if absent, so that a version belongs to one delivery only.


def written(dependencies: Dependencies, workload: str, listed: PartList) -> Steps[SourceObject]:
    """Write a list. Its description has size and checksum of what it lists, by which `content` identifies a delivery."""
    body = listed.to_bytes()
    where = Address(dependencies.places.lake, lake_layout.parts_key(workload, hashlib.sha256(body).hexdigest()))
    found = yield from perform(Effect.WRITE_PARTS, dependencies.objects.put, where, body)
    return SourceObject(found.bucket, found.key, "", "", listed.size, listed.checksum)


def read(dependencies: Dependencies, at: SourceObject, workload: str) -> PartList:
    """The list at an address, verified by its name. Raises Alarm where it is missing or differs."""
    try:
        body = dependencies.objects.read(Address(at.bucket, at.key))
    except NotFound:
        raise Alarm("parts-missing", workload) from None
    if at.key != lake_layout.parts_key(at.key.split("/")[1], hashlib.sha256(body).hexdigest()):
        raise Alarm("parts-differ", workload)
    document = json.loads(body)
    return PartList(tuple(SourceObject(**each) for each in document["parts"]), tuple(document["problems"]))


def landed(turn: DeliveryTurn) -> PartList:
    """The delivered objects: the parts, or the one object."""
    if turn.row.parts is None:
        return PartList((turn.row.source,))
    return read(turn.gate, turn.row.parts, turn.row.id)


def staged(turn: DeliveryTurn) -> tuple[SourceObject, ...]:
    """The staged copies, in the order of the parts; none before they are staged."""
    if turn.row.staged is None:
        return ()
    if turn.row.parts is None:
        return (turn.row.staged,)
    return read(turn.gate, turn.row.staged, turn.row.id).parts


def owner(dependencies: Dependencies, part: SourceObject) -> str | None:
    """The delivery that a version of the landing bucket belongs to; None: it is free."""
    identity = workload_id(part.bucket, part.key, part.version)
    row = dependencies.workloads.claimed(identity)
    return (row.joined or identity) if row else None


def owned(turn: DeliveryTurn, parts: Iterable[SourceObject]) -> tuple[bool, ...]:
    """Of each part whether it belongs to the workload: copies in the lake do, and versions in landing that joined it."""
    if turn.row.parts is None:
        return tuple(True for _ in parts)
    lake = turn.gate.places.lake
    return tuple(part.bucket == lake or owner(turn.gate, part) == turn.row.id for part in parts)


def join(turn: DeliveryTurn) -> Steps[bool]:
    """Claim every part for the delivery. Returns whether all are its own now."""
    whole = True
    parts = landed(turn).parts
    for part, is_own in zip(parts, owned(turn, parts), strict=True):
        if is_own:
            continue
        identity = workload_id(part.bucket, part.key, part.version)
        row = Workload(identity, part, State.JOINED, None, joined=turn.row.id)
        try:
            yield from perform(Effect.JOIN, turn.gate.workloads.create, row)
        except ConditionFailed:
            whole = whole and owner(turn.gate, part) == turn.row.id
    return whole


def completing(workload: Workload) -> SourceObject | None:
    """The object that completed a delivery of parts; None where none did."""
    is_object = workload.parts is not None and not workload.replay_of and not workload.source.key.endswith("/")
    return workload.source if is_object else None


def delete(turn: DeliveryTurn) -> Steps[None]:
    """Delete the judged versions by their ids: the parts, then the object that completed them."""
    listed = landed(turn).parts
    for part, is_own in zip(listed, owned(turn, listed), strict=True):
        if is_own:
            yield from delete_object(turn.gate, Effect.DELETE_SOURCE, address(part))
    if (last := completing(turn.row)) is not None:
        yield from delete_object(turn.gate, Effect.DELETE_SOURCE, address(last))


def delete_object(dependencies: Dependencies, effect: Effect, at: Address) -> Steps[None]:
    """Delete what is not needed any more. Where that is denied it stays, and its delivery goes on: the verdict stands."""
    try:
        yield from perform(effect, dependencies.objects.delete, at)
    except AccessDenied:
        dependencies.undeletable.add(at.bucket)


# ---- Parts of a folder ----


def collected(turn: DeliveryTurn, terms: Terms) -> PartList | None:
    """The parts of a delivery; None: it is not complete yet.

    Raises NotFound where nothing is left to deliver, and UnreadableSource.
    """
    source = turn.row.source
    listed = list(versions(turn.gate, source.bucket, folder_of(source.key)))
    with of_the_source():
        match DeliveryUnit(turn.row.completed_by):
            case DeliveryUnit.SUCCESS:
                chosen = _by_success(turn, listed)
            case DeliveryUnit.MANIFEST:
                chosen = _by_manifest(turn, terms, listed)
            case _:
                chosen = _by_quiet(turn, terms, listed)
        if chosen.is_waiting:
            return None
        at = {(each.key, each.version): each for each in listed}
        folder = folder_of(source.key)
        wanted = [at[folder + each.name, each.version] for each in chosen.parts]
        try:
            sources = tuple(_described(turn.gate, each) for each in wanted)
        except NotFound:
            return None  # deleted meanwhile: the next look lists the folder again
    return PartList(sources, chosen.problems)


def versions(dependencies: Dependencies, bucket: str, folder: str) -> Iterator[ObjectVersion]:
    """Every version of the objects directly in a folder; of one key the newest first."""
    below = every_version(dependencies.objects, bucket, folder)
    return (each for each in below if each.key != folder and folder_of(each.key) == folder)


def is_unfinished(dependencies: Dependencies, bucket: str, folder: str, delivery: DeliveryUnit) -> bool:
    """Whether a delivery of the folder is under way, or FAILED: it may still take what lies there."""
    key = folder + COMPLETED_BY[delivery]
    for each in versions(dependencies, bucket, folder):
        if each.key == key:
            row = dependencies.workloads.claimed(workload_id(bucket, key, each.version))
            if row is None or row.state not in {State.PUBLISHED, State.QUARANTINED, State.GONE}:
                return True
    return False


def _by_success(turn: DeliveryTurn, listed: list[ObjectVersion]) -> ChosenParts:
    of_marker = [each for each in listed if each.key == turn.row.source.key]
    place = next((at for at, each in enumerate(of_marker) if each.version == turn.row.source.version), None)
    if place is None or not of_marker[0].current:
        raise NotFound  # withdrawn by its producer
    earlier = (each.modified for each in of_marker[place + 1 :] if not _is_gone(turn.gate, each))
    before = next(earlier, None)
    free = _free(turn, listed)
    return completed_by_success(map(_plain, free), of_marker[place].modified, before)


def _is_gone(dependencies: Dependencies, version: ObjectVersion) -> bool:
    """Whether a marker completed nothing, because its producer withdrew it."""
    row = dependencies.workloads.claimed(workload_id(version.bucket, version.key, version.version))
    return row is not None and row.state is State.GONE


def _by_manifest(turn: DeliveryTurn, terms: Terms, listed: list[ObjectVersion]) -> ChosenParts:
    manifest = turn.gate.objects.head(address(turn.row.source))
    body = turn.gate.objects.read(address(turn.row.source), 0, MAX_BYTES + 1)
    data = _data(turn.gate, listed, DeliveryUnit.MANIFEST)
    may_arrive = turn.now < manifest.modified + terms.parts_within
    return completed_by_manifest([_compared(turn.gate, each) for each in data], body, may_arrive=may_arrive)


def _by_quiet(turn: DeliveryTurn, terms: Terms, listed: list[ObjectVersion]) -> ChosenParts:
    free = _free(turn, listed)
    chosen = completed_by_quiet(map(_plain, free))
    if not chosen.parts:
        raise NotFound
    newest = max(each.modified for each in free)
    return chosen._replace(is_waiting=turn.now < newest + terms.quiet)


def _free(turn: DeliveryTurn, listed: list[ObjectVersion]) -> list[ObjectVersion]:
    """Without what belongs to another delivery of the folder already."""
    data = _data(turn.gate, listed, DeliveryUnit(turn.row.completed_by))
    return [each for each in data if not _is_taken(turn, each)]


def _is_taken(turn: DeliveryTurn, version: ObjectVersion) -> bool:
    part = described(version)
    own = workload_id(part.bucket, part.key, part.version)
    free = (
        {None, turn.row.id} if DeliveryUnit(turn.row.completed_by) is DeliveryUnit.QUIET else {None, turn.row.id, own}
    )
    return owner(turn.gate, part) not in free


def _data(dependencies: Dependencies, listed: list[ObjectVersion], delivery: DeliveryUnit) -> list[ObjectVersion]:
    ignored, last = dependencies.places.ignored, COMPLETED_BY.get(delivery)
    return [each for each in listed if not is_ignored(each.key, each.size, ignored) and name_of(each.key) != last]


def _plain(version: ObjectVersion) -> PartVersion:
    return PartVersion(
        name_of(version.key), version.version, version.size, version.checksum, version.modified, version.current
    )


def _compared(dependencies: Dependencies, version: ObjectVersion) -> PartVersion:
    """With its checksum, which a listing does not contain."""
    return _plain(version)._replace(checksum=_described(dependencies, version).checksum)


def _described(dependencies: Dependencies, version: ObjectVersion) -> SourceObject:
    return described(dependencies.objects.head(address(described(version))))


# ---- Repeated content ----


def content(workload: Workload, data: SourceObject) -> str:
    """The identity of content within a dataset; empty where no checksum identifies it."""
    if workload.pin is None or data.checksum.partition(":")[0] not in IDENTIFYING:
        return ""
    return hashlib.sha256(f"{workload.pin.chain}\0{data.size}\0{data.checksum}".encode()).hexdigest()


def duplicate(turn: DeliveryTurn, data: SourceObject) -> tuple[str, ...]:
    """The reason to refuse content that another delivery of the line brought before; none: it is new, or may be repeated."""
    claim = content(turn.row, data)
    if not claim or turn.terms.duplicates:
        return ()
    return () if turn.gate.agenda.owner(claim) in {None, turn.row.id} else ("duplicate-content",)
