"""Objects that a producer names in a folder of its own (claim check): each version becomes one delivery, however often named.

The contract says which folder (`pull.source: s3://BUCKET/FOLDER/`), so that a message decides neither contract nor place. A row
of each version says how far it is. A tick leases the row, and writes what it is going to do before it does it:

1. begin an upload in parts, and write its id: all that follows goes into this upload;
2. write the parts of this version of the object, by its ETag;
3. write that the upload is being completed, and complete it; S3 makes one object of an upload, and forgets it;
4. write how it ended.

A tick that comes later completes the same upload. Where it is not there any more, the object was made: it may be judged and gone
from landing, and is not made again.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from operator import attrgetter
from typing import Final
from urllib.parse import urlsplit

from lakegate.base.errors import ConditionFailed, InputError, NotFound, PortError
from lakegate.base.json_codec import DOCUMENT_NAME, EXTENSIONS, omit_default
from lakegate.base.timestamps import instant_of, moment
from lakegate.contract.delivery_policy import Pull
from lakegate.features.pull.pull_sources import OpenedSource, SourceChanged, SourceIdentity
from lakegate.features.pull.pull_task import (
    AGAIN,
    LEASE,
    MAX_FAILURES,
    MAX_NAME,
    RETRIED,
    FinishedPull,
    PullOutcome,
    PullPlan,
    TimeIsUp,
    Work,
    has_time,
    plan_of,
    pull_of,
    pulled_datasets,
    pulls,
    report_end,
    verify_size,
    with_named,
    write,
)
from lakegate.features.pull.pull_task import TASK as PULL_TASK
from lakegate.gate.datasets.dataset_states import DatasetRowStore
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import Effect, Steps, perform
from lakegate.gate.ports import Address
from lakegate.gate.scheduled_tasks import ScheduledTask, Turn, change_row, run_due
from lakegate.gate.table import ConditionName

FORGOTTEN: Final = timedelta(days=6)
"""Uploads that are not completed are deleted after seven days (template.yaml): one that is missing earlier was completed."""
LONGEST_ADDRESS: Final = 1_100
"""Bytes of an address: a key has at most 1,024."""
VERSION: Final = re.compile(r"[!-~]{0,1024}", re.ASCII)


@dataclass(frozen=True, slots=True)
class NamedObject:
    """A version of an object that a producer has named."""

    id: str = field(metadata={DOCUMENT_NAME: "line"})
    """The id of the row: a hash of dataset, object and version."""
    dataset: str = ""
    """The dataset that it is delivered to; empty: nobody has named it."""
    source: str = ""
    """`s3://BUCKET/KEY`"""
    version: str = ""
    """Its version id; empty: the object at this key, whatever it is when it is fetched."""
    by: str = ""
    """The actor who named it last."""
    named: str = ""
    """The time when it was named first."""
    key: str = ""
    """In landing; empty before the upload is begun."""
    upload: str = ""
    etag: str = ""
    size: int = 0
    began: str = ""
    """The time when the upload was begun."""
    completing: bool = False
    """Whether the upload may be completed already."""
    next: str = ""
    leased: str = ""
    failures: int = 0
    end: FinishedPull | None = None
    published: FinishedPull | None = omit_default(None)
    """How the publication of an accepted snapshot of a table ended; None: it did not, or it is an object."""
    revision: int = 0
    extensions: str = field(default="{}", metadata=EXTENSIONS)
    """As `lakegate.base.json_codec.EXTENSIONS`."""

    @property
    def due(self) -> str:
        """The time when a tick has to look at it; empty: never."""
        return max(self.next, self.leased) if self.next else ""

    @property
    def where(self) -> Pull:
        """The object as a source."""
        return Pull(self.source)


def named_objects(dependencies: Dependencies) -> DatasetRowStore[NamedObject]:
    """Named objects by the hash of dataset, object and version."""
    return DatasetRowStore(dependencies.table, "object", "object", NamedObject, attrgetter("id"))


# ---- Naming an object ----


def datasets_of(dependencies: Dependencies, contract: str, source: str) -> Iterator[str]:
    """The datasets of a contract whose folder has an object."""
    for dataset in pulled_datasets(dependencies, contract):
        pull = pull_of(dependencies, dataset)
        if pull is not None and is_in(source, pull):
            yield dataset


def datasets_of_branch(dependencies: Dependencies, contract: str, source: str) -> Iterator[str]:
    """The datasets of a contract whose snapshots come from a branch of a table."""
    for dataset in pulled_datasets(dependencies, contract):
        pull = pull_of(dependencies, dataset)
        if pull is not None and pull.is_table and pull.source == source:
            yield dataset


def is_in(source: str, pull: Pull) -> bool:
    """Whether an object is in the folder of a contract."""
    return pull.is_folder and source.startswith(pull.source) and source != pull.source


def _is_source(row: NamedObject, pull: Pull) -> bool:
    """Whether a contract still names the source of what was named."""
    return row.source == pull.source if pull.is_table else is_in(row.source, pull)


def name_object(dependencies: Dependencies, dataset: str, source: str, version: str = "") -> Steps[NamedObject]:
    """Let the next tick deliver a version of an object of the dataset's folder, once. One that failed is tried again.

    Raises InputError for an object that is none of the folder.
    """
    pull = pull_of(dependencies, dataset)
    if pull is None or not is_in(source, pull):
        raise InputError(f"{dataset} takes no object at this address: its contract names another folder, or none")
    if not VERSION.fullmatch(version) or len(source.encode()) > LONGEST_ADDRESS:
        raise InputError("the version or the key is too long, or has signs that S3 has not")
    return (yield from name_version(dependencies, TASK, dataset, source, version))


def name_version(
    dependencies: Dependencies, task: ScheduledTask[NamedObject], dataset: str, source: str, version: str
) -> Steps[NamedObject]:
    """Let the next run of a task deliver a version, once. One that failed is tried again."""
    caller, now = dependencies.identity.caller(), dependencies.moment

    def wanted(row: NamedObject) -> NamedObject:
        if not row.dataset:
            return replace(row, dataset=dataset, source=source, version=version, by=caller, named=now, next=now)
        if row.end is not None and row.end.outcome is PullOutcome.FAILED:
            return row if row.next else replace(row, by=caller, next=now, failures=0)
        return row

    return (yield from change_row(dependencies, task, name_of_row(dataset, source, version), wanted))


def name_of_row(dataset: str, source: str, version: str) -> str:
    """The id of the row of a version."""
    return hashlib.sha256(json.dumps([dataset, source, version]).encode()).hexdigest()


# ---- Delivering named objects ----


def _ended(before: NamedObject, after: NamedObject) -> FinishedPull | None:
    return after.end if after.end != before.end else None


TASK: Final = ScheduledTask(named_objects, end=_ended)
"""Its step needs sources and landing, which only the function that pulls has."""


def deliver_named(work: Work, turn: Turn, task: ScheduledTask[NamedObject] = TASK) -> Steps[None]:
    """Deliver what is due; its ends have the names of datasets."""
    before, rows = len(turn.ends), task.rows(work.dependencies)
    yield from run_due(work.dependencies, turn, replace(task, step=lambda _, row, now: _deliver(work, task, row, now)))
    turn.ends[before:] = [(rows.get(name).dataset, end) for name, end in turn.ends[before:]]


def _deliver(work: Work, task: ScheduledTask[NamedObject], row: NamedObject, now: str) -> Steps[NamedObject]:
    """One object, leased, so that two ticks do not do one thing twice. Returns the row that ends the lease."""
    row = yield from write(work, task, replace(row, leased=moment(instant_of(now) + LEASE)))
    plan = plan_of(work.dependencies, row.dataset)
    if plan is not None and plan.is_paused and not row.upload:
        return _released(work, row)
    try:
        size = yield from _landed(work, task, row, plan)
    except TimeIsUp:
        return replace(_taken(work, task, row), leased="", next=work.dependencies.moment)
    except ConditionFailed:
        raise
    except PortError as failure:
        row = _taken(work, task, row)
        if isinstance(failure, SourceChanged) and row.where.is_table and row.upload and not row.completing:
            yield from perform(Effect.END_UPLOAD, work.landing.abort, row.key, row.upload)  # it is written once more
            row = yield from write(work, task, replace(row, upload="", key="", etag="", size=0))
        if isinstance(failure, RETRIED) and row.failures + 1 < MAX_FAILURES:
            return _released(work, row, failures=row.failures + 1)
        reason = str(failure) or type(failure).__name__
        end = FinishedPull(PullOutcome.FAILED, work.dependencies.moment, reason=reason)
    else:
        row = _taken(work, task, row)
        end = FinishedPull(PullOutcome.FETCHED, work.dependencies.moment, row.key, size)
    yield from _report(work, row, end)
    return replace(row, leased="", next="", failures=0, end=end)


def _report(work: Work, row: NamedObject, end: FinishedPull) -> Steps[None]:
    """Send the message about an end, if one is due, and list it with its dataset; a tick that dies then does both again."""
    state = pulls(work.dependencies).get(row.dataset)
    if not state.plan:  # the contract was published within five minutes, or is not pulled any more
        return
    was = row.end and (row.end.outcome, row.end.reason)
    if not (
        row.where.is_table and was == (end.outcome, end.reason)
    ):  # nobody has asked again: its branch was looked at
        yield from report_end(work.dependencies, state, end, row.end, f"{row.next}:{row.id[:12]}")
    listed = replace(end, object=row.source, version=row.version)
    yield from change_row(work.dependencies, PULL_TASK, row.dataset, lambda before: with_named(before, listed))


def _landed(work: Work, task: ScheduledTask[NamedObject], row: NamedObject, plan: PullPlan | None) -> Steps[int]:
    """Land the object, unless that was done. Returns its bytes."""
    if row.completing and (yield from _completed(work, row)):
        return row.size
    if plan is None or not _is_source(row, plan.pull):
        raise PortError("source-refused")
    if plan.prefix is None:
        raise PortError("no-route")
    sizes = _arrived(work, row)
    if not sizes or not row.key.startswith(plan.prefix):  # the upload is lost, empty, or below another route
        if row.upload:
            yield from perform(Effect.END_UPLOAD, work.landing.abort, row.key, row.upload)
            row = yield from write(work, task, replace(row, upload="", key="", etag="", completing=False))
        sizes = ()
    if not (sizes and sum(sizes) == row.size):
        begun = SourceIdentity(row.etag, "", row.version)
        where = plan.pull if plan.pull.is_table else row.where
        with work.transfer.open(plan.contract, where, SourceIdentity(), begun, sum(sizes)) as opened:
            assert opened is not None  # nothing is known of it that it could be unchanged from
            row = yield from _filled(work, task, row, plan, opened, sizes)
    row = yield from write(work, task, replace(row, completing=True))
    if not (yield from _completed(work, row)):
        raise SourceChanged("upload-lost")
    return row.size


def _filled(  # noqa: PLR0913, PLR0917 - what is read, and where it goes
    work: Work,
    task: ScheduledTask[NamedObject],
    row: NamedObject,
    plan: PullPlan,
    opened: OpenedSource,
    sizes: tuple[int, ...],
) -> Steps[NamedObject]:
    """Write the parts that are missing. Returns the row as it is then."""
    if (opened.size or 0) > plan.limit:
        raise PortError("too-large")
    if not row.upload:
        key = _key_of(plan.prefix or "", row)
        upload = yield from perform(Effect.BEGIN_UPLOAD, work.landing.begin, key)
        etag, whole, now = opened.identity.etag, opened.size or 0, work.dependencies.moment
        row = yield from write(work, task, replace(row, key=key, upload=upload, etag=etag, size=whole, began=now))
    number, size, began = len(sizes), sum(sizes), work.dependencies.now
    while True:
        body = opened.read(work.part)
        if body or not number:  # of an empty object one empty part
            number, size = number + 1, size + len(body)
            yield from perform(Effect.LAND_PART, work.landing.add, row.key, row.upload, number, body)
        if len(body) < work.part:
            break
        has_time(work, opened, (work.dependencies.now - began).total_seconds())
    verify_size(opened, size, plan.limit)
    return row


def _arrived(work: Work, row: NamedObject) -> tuple[int, ...]:
    """Sizes of the parts that can be gone on with; none if there are no such parts, or no upload."""
    try:
        parts = work.landing.arrived(row.key, row.upload) if row.upload else ()
    except NotFound:
        return ()
    sizes = tuple(each.size for number, each in enumerate(parts, 1) if each.number == number)
    is_whole = sum(sizes) == row.size and len(sizes) == len(parts)
    return sizes if len(sizes) == len(parts) and (is_whole or set(sizes) == {work.part}) else ()


def _completed(work: Work, row: NamedObject) -> Steps[bool]:
    """Complete the upload, at most once whoever else does; whether its object was made."""
    try:
        yield from perform(Effect.LAND, work.landing.complete, row.key, row.upload)
    except ConditionFailed:
        return True  # the object is there
    except NotFound:
        if work.dependencies.now < instant_of(row.began) + FORGOTTEN:
            return True
        try:  # the upload may have been deleted for its age
            work.dependencies.objects.head(Address(work.dependencies.places.landing, row.key))
        except NotFound:
            return False
    return True


def _key_of(prefix: str, row: NamedObject) -> str:
    """The key in landing: below the dataset's route, by the time when the object was named, its hash, and its name."""
    name = re.sub(r"[^A-Za-z0-9._-]", "_", urlsplit(row.source).path.rpartition("/")[2])[-MAX_NAME:]
    stamp = re.sub(r"[-:]", "", row.named[:19])
    return f"{prefix}{stamp}Z-{row.id[:12]}-{name or 'data'}{'.parquet' if row.where.is_table else ''}"


def _released(work: Work, row: NamedObject, *, failures: int = 0) -> NamedObject:
    return replace(row, leased="", next=moment(work.dependencies.now + AGAIN), failures=failures)


def _taken(work: Work, task: ScheduledTask[NamedObject], row: NamedObject) -> NamedObject:
    """The row as the attempt left it. Raises ConditionFailed if somebody else has taken it."""
    found = task.rows(work.dependencies).get(row.id)
    if found.leased != row.leased:
        raise ConditionFailed(ConditionName.ROW)
    return found
