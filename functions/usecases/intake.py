"""Steps 1 to 6: a hint that something landed becomes claimed, pinned, checked, staged and submitted workloads."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from lakegate.contracts.door.ignored import is_ignored
from lakegate.contracts.errors import InputError
from lakegate.contracts.lake.routes import candidates, covering
from lakegate.functions.ports.errors import ConditionFailed, NotFound
from lakegate.functions.usecases.advance import advance
from lakegate.functions.usecases.steps import Effect, perform
from lakegate.functions.workload import SourceObject, State, Workload, workload_id

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakegate.functions.ports.objects import ObjectVersion
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.usecases.steps import Steps


def intake(dependencies: Dependencies, bucket: str, key: str) -> Steps[None]:
    """An event is only a hint: claim every unclaimed version of the key, and advance each.

    Raises InputError for another bucket than landing, and for a version that cannot be judged safely.
    """
    if bucket != dependencies.places.landing:
        raise InputError("intake reads the landing bucket only")
    for version in _versions(dependencies, key):
        yield from admit(dependencies, version)


def admit(dependencies: Dependencies, version: ObjectVersion) -> Steps[None]:
    """Claim one version if it is unclaimed and no key beside the data, and advance it."""
    if is_ignored(version.key, version.size, dependencies.places.ignored):
        return
    identity = workload_id(version.bucket, version.key, version.version)
    if _is_claimed(dependencies, identity):
        return
    if version.version == "null":
        raise InputError("the landing bucket is not versioned: a version that can change cannot be judged")
    if dependencies.places.ignore_unrouted and not _is_routed(dependencies, version):
        return
    workload = _received(dependencies, version, identity)
    try:
        yield from perform(Effect.CLAIM, partial(dependencies.workloads.create, workload))
    except ConditionFailed:
        if dependencies.workloads.get(workload.id) != workload:
            return  # another worker was first; otherwise an earlier try of ours had arrived
    yield from advance(dependencies, workload)


def _versions(dependencies: Dependencies, key: str) -> Iterator[ObjectVersion]:
    after: str | None = None
    while True:
        page = dependencies.objects.versions(dependencies.places.landing, key, after)
        yield from (version for version in page.versions if version.key == key)
        # Keys are listed in order and the key itself is the first of its prefix: what follows belongs to others.
        if page.after is None or page.versions[-1].key != key:
            return
        after = page.after


def _is_claimed(dependencies: Dependencies, workload: str) -> bool:
    try:
        dependencies.workloads.get(workload)
    except NotFound:
        return False
    return True


def _is_routed(dependencies: Dependencies, version: ObjectVersion) -> bool:
    return covering(version.key, dependencies.registry.routes(version.bucket, candidates(version.key))) is not None


def _received(dependencies: Dependencies, version: ObjectVersion, identity: str) -> Workload:
    source = SourceObject(version.bucket, version.key, version.version, version.etag, version.size, version.checksum)
    return Workload(identity, source, State.RECEIVED, dependencies.clock.now() + dependencies.timing.lease)
