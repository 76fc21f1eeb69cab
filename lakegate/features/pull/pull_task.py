"""Due pulls: row, lease, fetch, retry, end."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, timedelta
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import Any, Final, NamedTuple, Protocol

from lakegate.aws.clients import port_errors
from lakegate.aws.s3_objects import arrived_parts, part_of
from lakegate.base.errors import ConditionFailed, InputError, LakegateError, NotFound, PortError, Throttled, Unanswered
from lakegate.base.json_codec import EXTENSIONS, NotEmpty
from lakegate.base.timestamps import Moment, instant_of, moment
from lakegate.contract.contract_model import DATASET_KEY, PULL
from lakegate.contract.delivery_policy import Policy, Pull
from lakegate.features.pull.pull_sources import OpenedSource, SourceChanged, SourceIdentity, Transfer
from lakegate.gate.datasets.dataset_states import DatasetRowStore, RowT
from lakegate.gate.datasets.lifecycle import report
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import Effect, Steps, perform
from lakegate.gate.event_bodies import EventSubscriber
from lakegate.gate.ports import Address
from lakegate.gate.scheduled_tasks import (
    RETIRED,
    SECONDS_OF_ROW,
    Discovery,
    LabelledDataset,
    ScheduledTask,
    Turn,
    change_row,
    current,
    discover,
    following,
    is_due,
    is_retired,
    labelled_datasets,
    run_due,
)
from lakegate.gate.table import ConditionName
from lakegate.plan.plan import Plan

# ---- The state of a pull, as pure functions ----


MAX_ENDS: Final = 20
"""Ends that a dataset remembers."""
MAX_NAME: Final = 100
"""Characters of a source's name in the key of its object."""


class PullOutcome(StrEnum):
    """The end of a pull."""

    FETCHED = "FETCHED"
    UNCHANGED = "UNCHANGED"
    PUBLISHED = "PUBLISHED"
    """Of an accepted snapshot of a table: it is `main`."""
    FAILED = "FAILED"


@dataclass(frozen=True, slots=True)
class SourceFetch:
    """A source that is being fetched: all of it has this identity, and goes to this key."""

    due: str
    """The time of the schedule."""
    began: str
    key: str
    source: SourceIdentity
    size: int | None = None
    """Bytes; None: the source does not state it."""
    resumable: bool = False
    """Whether the source can be opened again in its middle."""
    upload: str = ""
    """Id of the upload in parts; empty before there is one."""


@dataclass(frozen=True, slots=True)
class FinishedPull:
    """One pull that has ended, as the row of its dataset keeps it; `EndOfPull` is what is printed of it."""

    outcome: PullOutcome
    at: str
    key: str = ""
    """Of what was fetched."""
    size: int = 0
    """Bytes of what was fetched."""
    reason: str = ""
    """A code, of what failed."""
    object: str = ""
    """The address of an object that its producer has named; empty: of what is fetched by schedule."""
    version: str = ""
    """Of that object; empty: whatever is at its address."""


@dataclass(frozen=True, slots=True)
class PullState:
    """The pull of a dataset. Times are as `moment` writes them."""

    dataset: str = field(metadata=DATASET_KEY)
    plan: str = ""
    """Digest of the plan that the schedule is of; empty: the dataset is not pulled."""
    version: str = ""
    """Of the contract."""
    source: str = ""
    schedule: str = ""
    next: str = ""
    """The time when it is due; empty: never."""
    leased: str = ""
    """Until when a tick has it."""
    failures: int = 0
    """Of this pull, in a row: each is followed by another attempt."""
    fetch: SourceFetch | None = None
    seen: SourceIdentity = SourceIdentity()  # noqa: RUF009 - a value that nobody changes
    """Of what was fetched last."""
    ends: tuple[FinishedPull, ...] = ()
    """The latest first."""
    revision: int = 0
    extensions: str = field(default="{}", metadata=EXTENSIONS)
    """As `lakegate.base.json_codec.EXTENSIONS`."""

    @property
    def due(self) -> str:
        """The time when a scheduled run has to look at it; empty: never."""
        return max(self.next, self.leased) if self.next else ""


def planned(dataset: PullState, pull: Pull, version: str, plan: str, now: str) -> PullState:
    """The dataset under another plan: due as before if the schedule is the same one; of another source nothing is known.

    The objects of a folder are named: it is never due.
    """
    due = dataset.next if dataset.next and dataset.schedule == pull.schedule else following(pull.schedule, now)
    known = (
        dataset if dataset.source == pull.source else replace(dataset, fetch=None, seen=SourceIdentity(), failures=0)
    )
    return replace(known, plan=plan, version=version, source=pull.source, schedule=pull.schedule, next=due)


def with_named(dataset: PullState, end: FinishedPull) -> PullState:
    """The dataset with the end of an object that its producer has named, in the place of an earlier one of the same version."""
    others = (each for each in dataset.ends if (each.object, each.version) != (end.object, end.version))
    return replace(dataset, ends=(end, *others)[:MAX_ENDS])


def is_table(dataset: PullState) -> bool:
    """Whether the source is a branch of a table."""
    return Pull(dataset.source).is_table


def unplanned(dataset: PullState) -> PullState:
    """The dataset when nothing is pulled any more; how pulls ended stays."""
    return replace(dataset, plan="", version="", source="", schedule="", next="", leased="", fetch=None, failures=0)


def ended(dataset: PullState, end: FinishedPull) -> PullState:
    """The dataset after a pull has ended: due again by its schedule."""
    seen = dataset.fetch.source if dataset.fetch and end.outcome is PullOutcome.FETCHED else dataset.seen
    return replace(
        dataset,
        next=following(dataset.schedule, end.at),
        leased="",
        failures=0,
        fetch=None,
        seen=seen,
        ends=(end, *dataset.ends)[:MAX_ENDS],
    )


def key_of(prefix: str, dataset: PullState, source: SourceIdentity) -> str:
    """The key in landing: below the dataset's route, by the time of the schedule, what is fetched, and the source's name.

    Before the name is the time when a web server says that it was modified: `snapshotTime` may find it there.
    """
    name = re.sub(r"[^A-Za-z0-9._-]", "_", dataset.source.partition("?")[0].rpartition("/")[2])[-MAX_NAME:]
    what = json.dumps([dataset.dataset, dataset.revision, dataset.source, asdict(source)])
    digest = hashlib.sha256(what.encode()).hexdigest()[:12]
    stamp, modified = re.sub(r"[-:]", "", dataset.next[:19]), _modified(source)
    return f"{prefix}{stamp}Z-{digest}-{modified}{name or 'data'}"


def _modified(source: SourceIdentity) -> str:
    """`Last-Modified` in the form of the schedule's time; empty where the source states none, or no time."""
    try:
        return f"{parsedate_to_datetime(source.modified).astimezone(UTC):%Y%m%dT%H%M%SZ-}"
    except (ValueError, TypeError, OverflowError):
        return ""


class LandedPart(NamedTuple):
    """A part that arrived."""

    number: int
    size: int
    etag: str


class LandingParts(Protocol):
    """Objects of the landing bucket that are written in parts; parts of an upload that ended raise NotFound."""

    def begin(self, key: str) -> str:
        """Begin an upload; its id."""
        ...

    def add(self, key: str, upload: str, number: int, body: bytes) -> None:
        """Write a part. The same part again replaces it."""
        ...

    def arrived(self, key: str, upload: str) -> tuple[LandedPart, ...]:
        """The parts that are there, by number."""
        ...

    def complete(self, key: str, upload: str) -> None:
        """Make the object of all parts. Raises ConditionFailed if there is one already."""
        ...

    def abort(self, key: str, upload: str) -> None:
        """End an upload without an object. One that is not there is done."""
        ...


def pulls(dependencies: Dependencies) -> DatasetRowStore[PullState]:
    """Pulls by dataset."""
    return DatasetRowStore(dependencies.table, "pull", "pull", PullState)


# ---- Objects written in parts ----


ALGORITHM = "CRC32"
"""Of each part and of the whole: what botocore computes without a further library."""


@dataclass(frozen=True, slots=True)
class S3LandingParts:
    """LandingParts."""

    client: Any
    bucket: str
    owner: str
    """The account that the bucket must belong to."""

    def begin(self, key: str) -> str:
        """CreateMultipartUpload."""
        with port_errors():
            upload: str = self.client.create_multipart_upload(
                ChecksumAlgorithm=ALGORITHM, ChecksumType="FULL_OBJECT", **self._at(key)
            )["UploadId"]
        return upload

    def add(self, key: str, upload: str, number: int, body: bytes) -> None:
        """UploadPart."""
        with port_errors():
            self.client.upload_part(
                UploadId=upload, PartNumber=number, Body=body, ChecksumAlgorithm=ALGORITHM, **self._at(key)
            )

    def arrived(self, key: str, upload: str) -> tuple[LandedPart, ...]:
        """ListParts."""
        return tuple(LandedPart(part["PartNumber"], part["Size"], part["ETag"]) for part in self._parts(key, upload))

    def complete(self, key: str, upload: str) -> None:
        """CompleteMultipartUpload of the parts that S3 has, if nothing is at the key."""
        parts: list[Any] = [part_of(part, part["PartNumber"]) for part in self._parts(key, upload)]
        with port_errors("absent"):
            self.client.complete_multipart_upload(
                UploadId=upload, MultipartUpload={"Parts": parts}, IfNoneMatch="*", **self._at(key)
            )

    def abort(self, key: str, upload: str) -> None:
        """AbortMultipartUpload."""
        with suppress(NotFound), port_errors():
            self.client.abort_multipart_upload(UploadId=upload, **self._at(key))

    def _parts(self, key: str, upload: str) -> Iterator[Any]:
        with port_errors():
            yield from arrived_parts(self.client, {"UploadId": upload, **self._at(key)})

    def _at(self, key: str) -> dict[str, Any]:
        return {"Bucket": self.bucket, "Key": key, "ExpectedBucketOwner": self.owner}


# ---- Objects of a scheduled run ----


PART: Final = 32 << 20
"""Bytes that are in memory at a time, and that a tick may have to fetch again."""
MAX_BYTES: Final = 64 << 30
"""Bytes of a source."""
TURN_SECONDS: Final = 240
"""After so long a source that can be resumed is left to the next tick, so that others have their turn."""


class Work(NamedTuple):
    """The means of a scheduled run."""

    dependencies: Dependencies
    transfer: Transfer
    landing: LandingParts
    part: int


class TimeIsUp(Exception):  # noqa: N818 - the name is what happened
    """Another tick continues."""


def to_landing(work: Work, row: PullState, opened: OpenedSource, sizes: tuple[int, ...], limit: int) -> Steps[int]:
    """Write what is read to landing. Returns the bytes of the whole object."""
    fetch, size, began = row.fetch, sum(sizes), work.dependencies.now
    assert fetch is not None
    number, body = len(sizes), opened.read(work.part)
    if not sizes and len(body) < work.part:
        verify_size(opened, len(body), limit)
        to = Address(work.dependencies.places.landing, fetch.key)
        with suppress(ConditionFailed):  # as below
            yield from perform(Effect.LAND, work.dependencies.objects.put, to, body, absent=True)
        return len(body)
    if not fetch.upload:
        upload = yield from perform(Effect.BEGIN_UPLOAD, work.landing.begin, fetch.key)
        fetch = replace(fetch, upload=upload)
        row = yield from write(work, TASK, replace(row, fetch=fetch))
    while body:
        number, size = number + 1, size + len(body)
        if size > limit:
            raise PortError("too-large")
        yield from perform(Effect.LAND_PART, work.landing.add, fetch.key, fetch.upload, number, body)
        if len(body) < work.part:
            break
        has_time(work, opened, (work.dependencies.now - began).total_seconds())
        body = opened.read(work.part)
    verify_size(opened, size, limit)
    yield from complete(work, fetch)
    return size


def write(work: Work, task: ScheduledTask[RowT], row: RowT) -> Steps[RowT]:
    """Write how far a row is. Raises ConditionFailed if somebody else has written it, also an earlier try of this tick."""
    return (yield from perform(Effect.WRITE_ROW, task.rows(work.dependencies).write, row))


def complete(work: Work, fetch: SourceFetch) -> Steps[None]:
    """Make the object of the parts."""
    with suppress(ConditionFailed):  # it is there: written by this fetch, whose answer was lost
        yield from perform(Effect.LAND, work.landing.complete, fetch.key, fetch.upload)


def has_time(work: Work, opened: OpenedSource, seconds: float) -> None:
    """Whether another part is read now."""
    if work.dependencies.remaining() < SECONDS_OF_ROW:
        if not opened.resumable:
            raise PortError("too-slow")
        raise TimeIsUp
    if opened.resumable and seconds > TURN_SECONDS:
        raise TimeIsUp


def verify_size(opened: OpenedSource, size: int, limit: int) -> None:
    """Raise where another number of bytes came than the source states, or more than are allowed."""
    if opened.size is not None and size != opened.size:
        raise Unanswered("length-differs")
    if size > limit:
        raise PortError("too-large")


def arrived(work: Work, fetch: SourceFetch) -> tuple[int, ...]:
    """Sizes of the parts of an upload, from the first one without a gap; none if there is no upload."""
    try:
        parts = work.landing.arrived(fetch.key, fetch.upload) if fetch.upload else ()
    except NotFound:
        return ()
    return tuple(each.size for number, each in enumerate(parts, 1) if each.number == number)


def landed(work: Work, fetch: SourceFetch | None) -> int | None:
    """Bytes of the object of a fetch, if it is there."""
    if fetch is None:
        return None
    try:
        return work.dependencies.objects.head(Address(work.dependencies.places.landing, fetch.key)).size
    except NotFound:
        return None


# ---- Datasets that are pulled ----


CURSOR: Final = "pulls"
"""The name of the place in the registry where the next tick goes on."""


class PullPlan(NamedTuple):
    """The pull of a dataset as it is now."""

    pull: Pull
    contract: str
    version: str
    """Of the contract."""
    plan: str
    """Its digest."""
    prefix: str | None
    """Of the first route of the dataset by name; None if no key delivers to it."""
    limit: int
    """Bytes of a source."""
    is_paused: bool


def plan_of(dependencies: Dependencies, dataset: str) -> PullPlan | None:
    """The pull of a dataset, by the version that is current now; None: it is not pulled any more."""
    found = current(dependencies, dataset, PULL)
    if found is None:
        return None
    snapshot, (_, version, digest) = found
    policy = policy_of(dependencies, dataset, digest)
    assert policy.pull is not None  # as its plan was found by it
    routes = sorted(route.prefix for route in snapshot.routes if route.full_name == dataset and route.status != RETIRED)
    return PullPlan(
        pull=policy.pull,
        contract=version.contract,
        version=version.version,
        plan=digest,
        prefix=next(iter(routes), None),
        limit=min(MAX_BYTES, policy.max_bytes or MAX_BYTES),
        is_paused=dependencies.pauses.pause_of(dataset) is not None,
    )


def pull_of(dependencies: Dependencies, dataset: str) -> Pull | None:
    """The pull of a dataset by the version that is current now; None: it is not pulled any more."""
    found = current(dependencies, dataset, PULL)
    return None if found is None else policy_of(dependencies, dataset, found[1].plan).pull


def pulled_datasets(dependencies: Dependencies, contract: str) -> tuple[str, ...]:
    """The datasets that a contract pulls by its current versions; none of a contract that is not published."""
    return tuple(each.dataset for each in labelled_datasets(dependencies.registry.contract(contract), PULL))


def published_pulls(dependencies: Dependencies) -> Iterator[LabelledDataset]:
    """The datasets that contracts pull by their current versions."""
    for page in dependencies.registry.pages():
        yield from (found for contract in page.contracts for found in labelled_datasets(contract, PULL))


def run_now(dependencies: Dependencies, dataset: str) -> Steps[PullState]:
    """Let the next tick pull a dataset, unless one is fetching it, or it is due already.

    Raises InputError for one that is not pulled, or whose objects are named.
    """
    now = dependencies.moment

    def wanted(row: PullState) -> PullState:
        if row.plan and not row.schedule and not is_table(row):
            raise InputError(f"{dataset} is not pulled by schedule: its producer names objects of {row.source}")
        if not row.plan:
            raise InputError(
                f"{dataset} is not pulled: its contract has no `pull`, or was published within five minutes"
            )
        return row if row.leased > now or is_due(row, now) else replace(row, next=now)

    return (yield from change_row(dependencies, TASK, dataset, wanted))


def pulls_of(dependencies: Dependencies, datasets: Iterable[str] | None = None) -> tuple[PullState, ...]:
    """The datasets that are pulled, the next one first, and before it those whose objects are named: all, or these."""
    found = (pull.dataset for pull in published_pulls(dependencies)) if datasets is None else datasets
    rows = [row for row in map(pulls(dependencies).get, found) if row.plan]
    return tuple(sorted(rows, key=lambda row: (row.due, row.dataset)))


@dataclass(frozen=True, slots=True)
class PullEvent:
    """The body of an event about a pull."""

    dataset: NotEmpty = field(metadata=DATASET_KEY)
    contract_version: NotEmpty
    outcome: PullOutcome
    reason: str | None
    """A code, of a pull that failed; else null."""
    at: Moment
    next: Moment | None
    """The next pull; null: there is none."""
    subscribers: tuple[EventSubscriber, ...]


def report_end(
    dependencies: Dependencies, row: PullState, end: FinishedPull, before: FinishedPull | None, pull: str
) -> Steps[None]:
    """Report the end of a pull, unless nobody has to know: it has not failed, and neither has the one before.

    The message has no address and no text of the source. `pull` identifies it among those of its dataset.
    """
    if PullOutcome.FAILED not in {end.outcome, before and before.outcome}:
        return
    about = {"contract_version": row.version, "next": following(row.schedule, end.at)}
    yield from report(dependencies, "pull", row.dataset, f"{pull}:{end.outcome.lower()}", PullEvent, end, **about)


def newly_planned(dependencies: Dependencies, found: LabelledDataset) -> PullState | None:
    """The row of a dataset by its current version; None: it has that plan, or cannot be changed now."""
    row, now = pulls(dependencies).get(found.dataset), dependencies.moment
    if row.leased > now:  # a tick is fetching it, and would lose what it does: the next one plans it
        return None
    if row.plan == found.plan or is_retired(dependencies, found.dataset):
        return None
    pull = policy_of(dependencies, found.dataset, found.plan).pull
    assert pull is not None  # likewise
    return planned(row, pull, found.version.version, found.plan, now)


def policy_of(dependencies: Dependencies, dataset: str, digest: str) -> Policy:
    """The policy of the plan of a dataset. Raises Alarm where the plan is damaged."""
    return Plan.from_bytes(dependencies.plan_at(digest, dataset)).policy


# ---- A scheduled run ----
# The row of a dataset says where its pull is. A tick leases the row, and writes what it is going to do before it does it:
#
# 1. open the source; unchanged, that was all;
# 2. write identity and key of what is fetched: all that follows is of this identity and goes to this key;
# 3. what is small is put as one object, anything else in parts, each of which stays if the tick ends;
# 4. make the object, unless there is one at the key, and write how the pull ended.
#
# A tick that comes later first looks whether the object is there. It goes on behind the last part only if the source says that
# it is still the same; else it ends the upload and begins again, under another key.


LEASE: Final = timedelta(minutes=20)
"""Longer than a function can run, so that a lease outlives its tick."""
MAX_TIME: Final = timedelta(hours=6)
"""From the beginning of a fetch to its end, over all ticks."""
MAX_FAILURES: Final = 3
"""Attempts that failed; then the pull ends as FAILED."""
AGAIN: Final = timedelta(minutes=5)
"""Until the next attempt."""
RETRIED: Final = (Unanswered, Throttled, SourceChanged)
"""Failures that are followed by another attempt."""


def tick(
    dependencies: Dependencies,
    transfer: Transfer,
    landing: LandingParts,
    part: int = PART,
    also: Callable[[Work, Turn], Steps[None]] | None = None,
) -> Steps[Turn]:
    """Plan what contracts say is pulled, and pull what is due; then `also`. `ends` of the turn are FinishedPulls.

    Tables are left to the function that has their library.
    """
    work, turn = Work(dependencies, transfer, landing, part), Turn()
    task = replace(TASK, step=lambda _, row, now: _pull(work, row, now))
    yield from discover(dependencies, turn, task)
    yield from run_due(dependencies, turn, task)
    if also is not None:
        yield from also(work, turn)
    turn.failures += dependencies.taken_out()
    return turn


def _ended_pull(before: PullState, after: PullState) -> FinishedPull | None:
    return after.ends[0] if after.ends != before.ends else None


TASK: Final = ScheduledTask(pulls, end=_ended_pull, discovery=Discovery(PULL, CURSOR, newly_planned))
"""Its step needs sources and landing, which only the function that pulls has."""


def _pull(work: Work, row: PullState, now: str) -> Steps[PullState | None]:
    """One dataset, leased, so that two ticks do not do one thing twice. Returns the row that ends the lease."""
    if is_table(row):
        return None
    row = yield from write(work, TASK, replace(row, leased=moment(instant_of(now) + LEASE)))
    try:
        return (yield from _leased(work, row, now))
    except ConditionFailed:
        raise
    except LakegateError:
        # of the dataset itself, such as a plan that does not have its digest: the next tick looks again
        with suppress(PortError):  # else the lease ends by its time
            yield from write(work, TASK, replace(_reread(work, row), leased=""))
        raise


def _leased(work: Work, row: PullState, now: str) -> Steps[PullState]:
    """The next step for a dataset that this run has leased."""
    plan = plan_of(work.dependencies, row.dataset)
    if plan is None:
        yield from _abort(work, row)
        return unplanned(row)
    if plan.plan != row.plan:
        if plan.pull.source != row.source:
            yield from _abort(work, row)
        row = yield from write(work, TASK, planned(row, plan.pull, plan.version, plan.plan, now))
    if row.fetch is not None and not row.fetch.key.startswith(plan.prefix or ""):  # the route is another one now
        yield from _abort(work, row)
        row = yield from write(work, TASK, replace(row, fetch=None))
    if plan.pull.is_folder or plan.pull.is_table or (plan.is_paused and row.fetch is None):
        return replace(row, next=following(row.schedule, now), leased="")
    return (yield from _attempt(work, row, plan))


def _attempt(work: Work, row: PullState, plan: PullPlan) -> Steps[PullState]:
    """Fetch. Returns the row after it, which is read again, because the fetch has written it."""
    try:
        size = yield from _fetched(work, row, plan)
    except TimeIsUp:
        return replace(_reread(work, row), leased="", next=work.dependencies.moment)
    except ConditionFailed:
        raise
    except PortError as failure:
        return (yield from _failed(work, _reread(work, row), failure))
    return (yield from _end(work, _reread(work, row), size))


def _failed(work: Work, row: PullState, failure: PortError) -> Steps[PullState]:
    """Another attempt where that is right; else the pull has failed, unless its object is there all the same."""
    begins = isinstance(failure, SourceChanged)
    if isinstance(failure, RETRIED) and row.failures + 1 < MAX_FAILURES:
        if begins:
            yield from _abort(work, row)
        due = moment(work.dependencies.now + AGAIN)
        fetch, failures = None if begins else row.fetch, row.failures + 1
        return replace(row, leased="", next=due, fetch=fetch, failures=failures)
    yield from _abort(work, row)
    return (yield from _end(work, row, landed(work, row.fetch), str(failure) or type(failure).__name__))


def _end(work: Work, row: PullState, size: int | None, reason: str = "") -> Steps[PullState]:
    """The row after a pull has ended; a message goes before if it has failed, or is the first one that has not.

    `size`: bytes of what was fetched; None: nothing was. `reason`: why not; empty: it is unchanged.
    """
    now = work.dependencies.moment
    if row.fetch is not None and size is not None:
        end = FinishedPull(PullOutcome.FETCHED, now, row.fetch.key, size)
    else:
        end = FinishedPull(PullOutcome.FAILED if reason else PullOutcome.UNCHANGED, now, reason=reason)
    yield from report_end(work.dependencies, row, end, next(iter(row.ends), None), row.next)
    return ended(row, end)


def _fetched(work: Work, row: PullState, plan: PullPlan) -> Steps[int | None]:
    """Bytes of what was fetched; None: the source is unchanged."""
    if plan.prefix is None:
        raise PortError("no-route")
    fetch, there = row.fetch, landed(work, row.fetch)
    if there is not None:
        return there
    if fetch is not None and work.dependencies.now - instant_of(fetch.began) > MAX_TIME:
        raise PortError("too-slow")
    sizes = () if fetch is None else arrived(work, fetch)
    if fetch is not None and sizes and sum(sizes) == fetch.size:
        yield from complete(work, fetch)
        return fetch.size
    if fetch is not None and not (fetch.resumable and set(sizes) == {work.part}):  # there is nothing to go on with
        yield from _abort(work, row)
        sizes = ()
    begun = fetch.source if fetch is not None and sizes else None
    with work.transfer.open(plan.contract, plan.pull, row.seen, begun, sum(sizes)) as opened:
        if opened is None:
            return None
        if (opened.size or 0) > plan.limit:
            raise PortError("too-large")
        if begun is None:
            fetch = _begun(work, row, plan.prefix, opened)
            row = yield from write(work, TASK, replace(row, fetch=fetch))
        return (yield from to_landing(work, row, opened, sizes, plan.limit))


def _begun(work: Work, row: PullState, prefix: str, opened: OpenedSource) -> SourceFetch:
    """A fetch from the beginning: the same content goes to the same key, another one to another key."""
    before, identity = row.fetch, opened.identity
    if before is not None and identity.is_as(before.source):
        return replace(before, source=identity, size=opened.size, resumable=opened.resumable, upload="")
    key = key_of(prefix, row, identity)
    return SourceFetch(row.next, work.dependencies.moment, key, identity, opened.size, opened.resumable)


def _abort(work: Work, row: PullState) -> Steps[None]:
    if row.fetch is not None and row.fetch.upload:
        yield from perform(Effect.END_UPLOAD, work.landing.abort, row.fetch.key, row.fetch.upload)


def _reread(work: Work, row: PullState) -> PullState:
    """The row as the attempt left it. Raises ConditionFailed if somebody else has taken it."""
    found = pulls(work.dependencies).get(row.dataset)
    if found.leased != row.leased:
        raise ConditionFailed(ConditionName.ROW)
    return found
