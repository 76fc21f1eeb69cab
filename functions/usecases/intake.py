"""Steps 1 to 6: a hint that something landed becomes claimed, pinned, checked, staged and submitted workloads."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from contracts.errors import InputError
from contracts.routes import candidates, covering
from functions.ports import ConditionFailed, NotFound
from functions.usecases.advance import advance
from functions.usecases.steps import Effect, perform
from functions.workload import Source, State, Workload, workload_id

if TYPE_CHECKING:
    from collections.abc import Iterator

    from functions.ports import ObjectVersion
    from functions.usecases.gate import Gate
    from functions.usecases.steps import Steps


def intake(gate: Gate, bucket: str, key: str) -> Steps[None]:
    """An event is only a hint: claim every version of the key that nobody has claimed, and carry each on.

    Raises InputError for another bucket than landing, and for a version that cannot be judged safely.
    """
    if bucket != gate.places.landing:
        raise InputError("intake reads the landing bucket only")
    for version in _versions(gate, key):
        yield from admit(gate, version)


def admit(gate: Gate, version: ObjectVersion) -> Steps[None]:
    """Claim one version if nobody has, and carry it on."""
    if _is_claimed(gate, version):
        return
    if version.version == "null":
        raise InputError("the landing bucket is not versioned: a version that can change cannot be judged")
    if gate.places.ignore_unrouted and not _is_routed(gate, version):
        return
    workload = _received(gate, version)
    try:
        yield from perform(Effect.CLAIM, partial(gate.workloads.create, workload))
    except ConditionFailed:
        if gate.workloads.get(workload.id) != workload:
            return  # another worker was first; otherwise an earlier saying of ours had arrived
    yield from advance(gate, workload)


def _versions(gate: Gate, key: str) -> Iterator[ObjectVersion]:
    after: str | None = None
    while True:
        page = gate.objects.versions(gate.places.landing, key, after)
        yield from (version for version in page.versions if version.key == key)
        # Keys are listed in order and the key itself is the first of its prefix: what follows belongs to others.
        if page.after is None or page.versions[-1].key != key:
            return
        after = page.after


def _is_claimed(gate: Gate, version: ObjectVersion) -> bool:
    try:
        gate.workloads.get(workload_id(version.bucket, version.key, version.version))
    except NotFound:
        return False
    return True


def _is_routed(gate: Gate, version: ObjectVersion) -> bool:
    return covering(version.key, gate.registry.routes(version.bucket, candidates(version.key))) is not None


def _received(gate: Gate, version: ObjectVersion) -> Workload:
    identity = workload_id(version.bucket, version.key, version.version)
    source = Source(version.bucket, version.key, version.version, version.etag, version.size, version.checksum)
    return Workload(identity, source, State.RECEIVED, gate.clock.now() + gate.timing.lease)
