"""Steps 1 to 6: a hint that something landed becomes claimed, pinned, checked, staged and submitted workloads."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from lakegate.admission.ignored_keys import is_ignored
from lakegate.admission.multi_file_delivery import COMPLETED_BY, folder_of, name_of
from lakegate.base.errors import ConditionFailed, InputError
from lakegate.base.extension_points import load_extensions
from lakegate.base.json_codec import sha256_of
from lakegate.contract.delivery_policy import DeliveryUnit
from lakegate.gate.delivery.advance import advance
from lakegate.gate.delivery.delivery_row import SourceObject, Workload, workload_id
from lakegate.gate.delivery.delivery_terms import Terms
from lakegate.gate.delivery.find_landed_data import is_unfinished
from lakegate.gate.delivery.protocol import State
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.delivery_store import ObjectArrival
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import Effect, Steps, perform
from lakegate.gate.ports import ObjectVersion
from lakegate.gate.registry.routes import candidates, covering
from lakegate.gate.waiting import note_wait


def intake(  # noqa: PLR0913, PLR0917 - what an event says
    dependencies: Dependencies, bucket: str, key: str, version: str = "", size: int = 0, at: datetime | None = None
) -> Steps[None]:
    """An event is only a hint: claim every unclaimed version of the key, and advance each.

    `version` and `size` of the event are used where the bucket has no such version any more: a delivery that was deleted
    before intake saw it is claimed, too, and counts as gone. `at`, its time, is when the version arrived.
    Raises InputError for another bucket than landing, and for a version that cannot be judged safely.
    """
    if bucket != dependencies.places.landing:
        raise InputError("intake reads the landing bucket only")
    is_deleted = bool(version)
    at = min(at, dependencies.now) if at else None  # whose clock is fast makes nobody wait
    for each in _versions(dependencies, key):
        is_deleted = is_deleted and each.version != version
        yield from admit(dependencies, each, at if each.version == version else None)
    if is_deleted:
        deleted = ObjectVersion(bucket, key, version, "", size, "", at or dependencies.now, current=False)
        yield from admit(dependencies, deleted, at, is_deleted=True)


def admit(
    dependencies: Dependencies, version: ObjectVersion, announced: datetime | None = None, *, is_deleted: bool = False
) -> Steps[None]:
    """Claim one version if it is unclaimed and no key beside the data, and advance it.

    `announced`: the time of its event, which is when it arrived; without one, see `ObjectArrival`.
    A part of a delivery of several is claimed once its delivery is complete; one that was deleted before is part of none.
    Features of the point `claims` are called before the claim: what is claimed may be finished and deleted before anybody sees
    its key again.
    """
    ignored = is_ignored(version.key, version.size, dependencies.places.ignored)
    if not dependencies.may_deliver(version, announced) or (
        ignored and name_of(version.key) not in COMPLETED_BY.values()
    ):
        return
    identity = workload_id(version.bucket, version.key, version.version)
    if dependencies.workloads.claimed(identity) or (is_deleted and dependencies.workloads.find(identity)):
        return
    if version.version == "null" and not ignored:
        raise InputError("the landing bucket is not versioned: a version that can change cannot be judged")
    terms = _terms(dependencies, version, identity)
    completes = terms is not None and _completes(version, terms)
    of_folder = terms if terms and terms.delivery is not DeliveryUnit.OBJECT else None
    is_beside = terms is None and dependencies.places.ignore_unrouted
    if is_beside or (ignored and not completes) or (is_deleted and of_folder and not completes):
        return
    workload = _received(dependencies, version, identity, announced)
    if of_folder:
        claimed = yield from _of_folder(dependencies, version, of_folder, workload, announced)
        if claimed is None:
            return
        workload = claimed
    for before_claim in load_extensions("claims"):
        yield from before_claim(dependencies, workload)
    try:
        yield from perform(Effect.CLAIM, dependencies.workloads.create, workload)
    except ConditionFailed:
        if dependencies.workloads.get(workload.id) != workload:
            return  # another worker was first; otherwise an earlier try of ours had arrived
    note_wait(dependencies, (yield from advance(DeliveryTurn(dependencies, workload))))


def _of_folder(
    dependencies: Dependencies, version: ObjectVersion, terms: Terms, fresh: Workload, announced: datetime | None
) -> Steps[Workload | None]:
    """The row of an object of a folder: of what completes a delivery, or of a part that has waited too long for that.

    None: it is left to its delivery, which is opened where no object completes one. When it arrived is kept until then.
    """
    known = dependencies.arrivals.of([fresh.id]).get(fresh.id)
    arrival = ObjectArrival(
        known.seen if known else dependencies.now, announced or (known.announced if known else None)
    )
    if arrival != known:
        yield from perform(Effect.NOTE_ARRIVAL, dependencies.arrivals.note, fresh.id, *arrival)
    if _completes(version, terms):
        return fresh._replace(completed_by=terms.delivery.value)
    if terms.delivery is DeliveryUnit.QUIET:
        yield from _open_quiet(dependencies, version, terms)
        return None
    if dependencies.now < arrival.time_of(version) + terms.parts_within:
        return None
    if is_unfinished(dependencies, version.bucket, folder_of(version.key), terms.delivery):
        return None
    return fresh._replace(arrived=arrival.time_of(version))


def _completes(version: ObjectVersion, terms: Terms) -> bool:
    """Whether an object completes the delivery of its folder."""
    return name_of(version.key) == COMPLETED_BY.get(terms.delivery)


def _quiet(secret: str, number: int) -> str:
    """The version of a quiet delivery: no version id of S3 has this form, and nobody can guess it.

    `secret`: the version id of an object in the folder.
    """
    return f"quiet-{number}-{secret}"


def _open_quiet(dependencies: Dependencies, version: ObjectVersion, terms: Terms) -> Steps[None]:
    """Make sure that a delivery of the folder is open, which `sweep` completes once no part has arrived for a while.

    Deliveries of a folder are numbered. The cursor holds a number that is not above the open one's. Their ids cannot be
    computed from folder and number: who knows an id may read the delivery.
    """
    folder = folder_of(version.key)
    cursor = f"quiet#{sha256_of(folder)}"
    secret = f"{cursor}#secret"
    begun = dependencies.agenda.cursor(secret)
    if begun is None:
        begun = yield from perform(Effect.KEEP_CURSOR, dependencies.agenda.keep_first, secret, version.version)
    kept = dependencies.agenda.cursor(cursor) or ""
    known = int(kept) if kept.isdecimal() else 0
    number = known
    while row := dependencies.workloads.find(workload_id(version.bucket, folder, _quiet(begun, number))):
        if row.state in {State.RECEIVED, State.HELD, State.PINNED}:
            return  # it is still open, or has not claimed its parts yet
        number += 1
    name = _quiet(begun, number)
    identity = workload_id(version.bucket, folder, name)
    source = SourceObject(version.bucket, folder, name)
    due = dependencies.now + terms.quiet
    fresh = Workload(identity, source, State.RECEIVED, due, completed_by=DeliveryUnit.QUIET.value)
    try:
        yield from perform(Effect.CLAIM, dependencies.workloads.create, fresh)
    except ConditionFailed:
        return  # another worker was first
    if number > known:
        yield from perform(Effect.KEEP_CURSOR, dependencies.agenda.keep, cursor, str(number))


def _versions(dependencies: Dependencies, key: str) -> Iterator[ObjectVersion]:
    after: str | None = None
    while True:
        page = dependencies.objects.versions(dependencies.places.landing, key, after)
        yield from (version for version in page.versions if version.key == key)
        # Keys are listed in order and the key itself is the first of its prefix: what follows belongs to others.
        if page.after is None or page.last != key:
            return
        after = page.after


def _terms(dependencies: Dependencies, version: ObjectVersion, identity: str) -> Terms | None:
    """The terms of the dataset that the key belongs to now; None where no route covers it."""
    route = covering(version.key, dependencies.registry.routes(version.bucket, candidates(version.key)))
    return dependencies.terms_at(route.plan, identity) if route else None


def _received(
    dependencies: Dependencies, version: ObjectVersion, identity: str, announced: datetime | None
) -> Workload:
    arrived = ObjectArrival(dependencies.now, announced).time_of(version)
    due = dependencies.now + dependencies.timing.lease
    # who claims it takes it
    return Workload(identity, SourceObject.of(version), State.RECEIVED, due, tries=1, arrived=arrived)
