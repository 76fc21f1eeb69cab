"""Which versions of a folder are the parts of a delivery: read only, and the same for every reader after it is pinned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakegate.contracts.door.ignored import is_ignored
from lakegate.contracts.door.parts import (
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
from lakegate.contracts.model.policy import DeliveryUnit
from lakegate.functions.ports.errors import NotFound
from lakegate.functions.usecases import parts
from lakegate.functions.usecases.delivery import row_of
from lakegate.functions.usecases.source import address, described, of_the_source
from lakegate.functions.workload import SourceObject, State, workload_id

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakegate.contracts.door.terms import Terms
    from lakegate.functions.ports.objects import ObjectVersion
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.workload import Workload


def collected(dependencies: Dependencies, workload: Workload, terms: Terms) -> parts.PartList | None:
    """The parts of a delivery; None: it is not complete yet.

    Raises NotFound where nothing is left to deliver, and UnreadableSource.
    """
    source = workload.source
    listed = list(versions(dependencies, source.bucket, folder_of(source.key)))
    with of_the_source():
        match DeliveryUnit(workload.completed_by):
            case DeliveryUnit.SUCCESS:
                chosen = _by_success(dependencies, workload, listed)
            case DeliveryUnit.MANIFEST:
                chosen = _by_manifest(dependencies, workload, terms, listed)
            case _:
                chosen = _by_quiet(dependencies, workload, terms, listed)
        if chosen.is_waiting:
            return None
        at = {(each.key, each.version): each for each in listed}
        folder = folder_of(source.key)
        wanted = [at[folder + each.name, each.version] for each in chosen.parts]
        try:
            sources = tuple(_described(dependencies, each) for each in wanted)
        except NotFound:
            return None  # deleted meanwhile: the next look lists the folder again
    return parts.PartList(sources, chosen.problems)


def versions(dependencies: Dependencies, bucket: str, folder: str) -> Iterator[ObjectVersion]:
    """Every version of the objects directly in a folder; of one key the newest first."""
    after: str | None = None
    while True:
        page = dependencies.objects.versions(bucket, folder, after)
        yield from (each for each in page.versions if each.key != folder and folder_of(each.key) == folder)
        after = page.after
        if after is None:
            return


def is_unfinished(dependencies: Dependencies, bucket: str, folder: str, delivery: DeliveryUnit) -> bool:
    """Whether a delivery of the folder is under way, or FAILED: it may still take what lies there."""
    key = folder + COMPLETED_BY[delivery]
    for each in versions(dependencies, bucket, folder):
        if each.key == key:
            row = row_of(dependencies, workload_id(bucket, key, each.version))
            if row is None or row.state not in {State.PUBLISHED, State.QUARANTINED, State.GONE}:
                return True
    return False


def _by_success(dependencies: Dependencies, workload: Workload, listed: list[ObjectVersion]) -> ChosenParts:
    of_marker = [each for each in listed if each.key == workload.source.key]
    place = next((at for at, each in enumerate(of_marker) if each.version == workload.source.version), None)
    if place is None or not of_marker[0].current:
        raise NotFound  # withdrawn by its producer
    earlier = (each.modified for each in of_marker[place + 1 :] if not _is_gone(dependencies, each))
    before = next(earlier, None)
    free = _free(dependencies, workload, listed)
    return completed_by_success(map(_plain, free), of_marker[place].modified, before)


def _is_gone(dependencies: Dependencies, version: ObjectVersion) -> bool:
    """Whether a marker completed nothing, because its producer withdrew it."""
    row = row_of(dependencies, workload_id(version.bucket, version.key, version.version))
    return row is not None and row.state is State.GONE


def _by_manifest(
    dependencies: Dependencies, workload: Workload, terms: Terms, listed: list[ObjectVersion]
) -> ChosenParts:
    manifest = dependencies.objects.head(address(workload.source))
    body = dependencies.objects.read(address(workload.source), 0, MAX_BYTES + 1)
    data = _data(dependencies, listed, DeliveryUnit.MANIFEST)
    may_arrive = dependencies.clock.now() < manifest.modified + terms.parts_within
    return completed_by_manifest([_compared(dependencies, each) for each in data], body, may_arrive=may_arrive)


def _by_quiet(dependencies: Dependencies, workload: Workload, terms: Terms, listed: list[ObjectVersion]) -> ChosenParts:
    free = _free(dependencies, workload, listed)
    chosen = completed_by_quiet(map(_plain, free))
    if not chosen.parts:
        raise NotFound
    newest = max(each.modified for each in free)
    return chosen._replace(is_waiting=dependencies.clock.now() < newest + terms.quiet)


def _free(dependencies: Dependencies, workload: Workload, listed: list[ObjectVersion]) -> list[ObjectVersion]:
    """Without what belongs to another delivery of the folder already."""
    data = _data(dependencies, listed, DeliveryUnit(workload.completed_by))
    return [each for each in data if not _is_taken(dependencies, workload, each)]


def _is_taken(dependencies: Dependencies, workload: Workload, version: ObjectVersion) -> bool:
    part = described(version)
    own = workload_id(part.bucket, part.key, part.version)
    free = (
        {None, workload.id} if DeliveryUnit(workload.completed_by) is DeliveryUnit.QUIET else {None, workload.id, own}
    )
    return parts.owner(dependencies, part) not in free


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
