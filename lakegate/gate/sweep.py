"""Interrupted deliveries continued, due tasks run, landing listed."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import takewhile
from typing import Any, NamedTuple, TypeVar

from lakegate.base.errors import ConditionFailed, LakegateError, NotFound, UnreadableItem
from lakegate.base.extension_points import load_extensions
from lakegate.contract.contract_model import parts_of
from lakegate.gate import lake_layout
from lakegate.gate.datasets import lifecycle, readers_manifest
from lakegate.gate.datasets.dataset_names import datasets_of_versions
from lakegate.gate.datasets.datasets_overview import keep_overview
from lakegate.gate.delivery.advance import SECONDS_OF_STEP, advance, pause_of, resume
from lakegate.gate.delivery.delivery_row import TERMINAL, Workload, workload_id
from lakegate.gate.delivery.intake import admit
from lakegate.gate.delivery.paced_starts import start_waiting
from lakegate.gate.delivery.protocol import State
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import Effect, EndsWorkers, Steps, perform
from lakegate.gate.ports import Address, ObjectVersion
from lakegate.gate.scheduled_tasks import ScheduledTask, Turn, discover, due_rows, run_batch
from lakegate.gate.waiting import note_wait

T = TypeVar("T")
BATCH = 100
"""Workloads of one turn."""
PAGE = 1_000
"""Versions of one turn: S3 lists so many in one request, which is paid for."""
DUE_PER_SWEEP = 10_000
"""Workloads of one sweep: more than its time is enough for. Further ones are left to the next."""
HEADS = "heads"
"""The cursor of the datasets whose manifest was looked for."""


@dataclass(slots=True)
class Swept(Turn):
    """Counts of a sweep, for metrics."""

    metrics: tuple[str, ...] = ()
    """Every one that counts what ended of what features do by schedule."""
    paused_long: set[str] = field(default_factory=set)
    """Datasets whose pause may have been forgotten."""


def sweep(dependencies: Dependencies, batch: int = BATCH, page: int = PAGE) -> Steps[Swept]:
    """Continue what is due, judge what resumed datasets held, claim what no event announced, delete staging of ended workloads,
    record what began by its date, do what features do by schedule, schedule what is published, write lost manifests and
    what replaces a dataset into its own, and keep the overview of all datasets.

    The parts take turns, a batch at a time, until all is done or time is short. The index of what is due is read once. Each
    listing continues where the last sweep stopped, so that several sweeps cover a large bucket. Attempts that were prepared
    on the way are started in the end, after one pause for all of them; then what waits for its time to start.

    What may have ended a worker (its memory, its time) comes last, those with the fewest tries first, and is set aside after
    some tries: whatever it does, everything else is done before.
    """
    tasks: tuple[ScheduledTask[Any], ...] = (lifecycle.TASK, *load_extensions("scheduled tasks"))
    swept = Swept(metrics=tuple(metric for task in tasks for metric in task.metrics))
    due = deque(dependencies.agenda.due(dependencies.now, DUE_PER_SWEEP))
    rows = [(task, deque(due_rows(dependencies, task))) for task in tasks]
    resumed: list[Workload] = []
    doubtful: list[tuple[int, str]] = []
    released: set[str] = set()
    landing = Listing(
        "landing", dependencies.places.landing, dependencies.places.landing_prefix, partial(admit, dependencies)
    )
    staging = Listing("staging", dependencies.places.lake, lake_layout.STAGING, partial(_unstage, dependencies))
    parts: list[Callable[[], Steps[object]]] = [
        partial(_due, dependencies, swept, due, resumed, doubtful, batch),
        partial(_listed, dependencies, swept, landing, page),
        partial(_listed, dependencies, swept, staging, page),
        *(partial(run_batch, dependencies, swept, task, of_task, batch) for task, of_task in rows),
        *(partial(discover, dependencies, swept, task) for task in tasks),
        partial(_heads, dependencies, swept),
        partial(_released, dependencies, swept, released, batch),
    ]
    while parts:
        part = parts.pop(0)
        if (yield from part()):
            parts.append(part)
    yield from _retried(dependencies, swept, resumed)
    for _, identity in takewhile(lambda _: _has_time(dependencies), sorted(doubtful)):
        yield from _guarded(swept, identity, _tried_again(dependencies, swept, identity))
    swept.failures += (yield from start_waiting(dependencies)).failures
    yield from swept.guarded("overview", keep_overview(dependencies))
    swept.failures += dependencies.taken_out()
    return swept


def _due(  # noqa: PLR0913, PLR0917 - what a sweep has found so far
    dependencies: Dependencies,
    swept: Swept,
    due: deque[str],
    resumed: list[Workload],
    doubtful: list[tuple[int, str]],
    batch: int,
) -> Steps[bool]:
    """Continue a batch of workloads, but those that some worker took and did not finish. Returns whether there are more."""
    for _ in range(min(batch, len(due))):
        if not _has_time(dependencies):
            return False
        identity = due.popleft()
        row = yield from _guarded(swept, identity, resume(dependencies, identity))
        if row is not None and row.tries:
            doubtful.append((row.tries, identity))
        elif row is not None:
            resumed.append(row)
    return bool(due)


def _released(dependencies: Dependencies, swept: Swept, released: set[str], batch: int) -> Steps[bool]:
    """Judge a batch of what each resumed dataset held, in order of arrival. Returns whether there may be more."""
    more = False
    for dataset in dependencies.pauses.listed():
        more |= (
            yield from _guarded(swept, dataset, _of_dataset(dependencies, swept, dataset, released, batch))
        ) or False
    return more


def _of_dataset(dependencies: Dependencies, swept: Swept, dataset: str, released: set[str], batch: int) -> Steps[bool]:
    """A dataset, if it is resumed: nothing overtakes a delivery that cannot be judged now; the pause ends with the last one.

    What cannot be read is passed over, because nobody knows when it can be.
    """
    pause = dependencies.pauses.pause_of(dataset)
    if pause is not None and pause.is_long(dependencies.now):
        swept.paused_long.add(dataset)
    if pause is None or pause.resumed is None:
        return False
    held = dependencies.pauses.held(dataset, len(released) + batch)
    fresh = [identity for identity in held if identity not in released][:batch]
    for identity in fresh:
        if not _has_time(dependencies):
            return False
        released.add(identity)
        try:
            row = dependencies.workloads.get(identity)
        except UnreadableItem as failure:
            swept.failures.append(failure)
            continue
        if row.state is not State.HELD:  # the index lags: who let it go continues it
            continue
        after = yield from _guarded(swept, identity, advance(DeliveryTurn(dependencies, row)))
        if after is not None:
            note_wait(dependencies, after)
        if after is None or after.state is State.HELD:
            return False
    if len(fresh) < batch:
        with suppress(ConditionFailed):  # the index lags, or the dataset is paused again
            yield from perform(Effect.END_PAUSE, dependencies.pauses.end, dataset)
    return len(fresh) == batch


def _heads(dependencies: Dependencies, swept: Swept) -> Steps[bool]:
    """Write lost heads of readers' manifests, and what replaces a dataset, of one page of the registry.

    Returns that others are left to the next sweep.
    """
    if not _has_time(dependencies):
        return False
    kept = dependencies.agenda.cursor(HEADS)
    before, _, done = (kept or "").partition("\n")
    try:
        page = dependencies.registry.page(before)
    except LakegateError as failure:
        swept.failures.append(failure)
        return False
    datasets = sorted(datasets_of_versions(version for contract in page.contracts for version in contract.versions))
    highest = dict(sorted((parts[:2], parts[2]) for parts in map(parts_of, datasets)))
    place = page.after or None
    for dataset in (each for each in datasets if each > done):
        if not _has_time(dependencies):
            place = f"{before}\n{done}"  # so that a page of very many does not keep the next sweep from the others
            break
        yield from _guarded(swept, dataset, readers_manifest.write_lost(dependencies, dataset))
        contract, name, number = parts_of(dataset)
        if number < highest[contract, name]:
            yield from _guarded(swept, dataset, readers_manifest.write_next(dependencies, dataset))
        done = dataset
    if place != kept:
        yield from perform(Effect.KEEP_CURSOR, dependencies.agenda.keep, HEADS, place)
    return False


def _has_time(dependencies: Dependencies) -> bool:
    return dependencies.remaining() >= SECONDS_OF_STEP


def _guarded(swept: Swept, at: str, steps: Steps[T]) -> Steps[T | None]:
    """The step of one workload or dataset; an exception stops none of the others."""
    swept.looked_at += 1
    return (yield from swept.guarded(at, steps))


def _retried(dependencies: Dependencies, swept: Swept, rows: list[Workload]) -> Steps[None]:
    pauses = {row.id: pause for row in rows if (pause := pause_of(DeliveryTurn(dependencies, row)))}
    if pauses:
        yield from perform(Effect.WAIT, dependencies.clock.sleep, max(pauses.values()))
    for identity in pauses:
        if not _has_time(dependencies):
            return
        yield from _guarded(swept, identity, resume(dependencies, identity))


def _tried_again(dependencies: Dependencies, swept: Swept, identity: str) -> Steps[None]:
    """Take up what some worker did not finish; that it is set aside is told each time."""
    if dependencies.workloads.get(identity).tries >= dependencies.timing.tries:
        swept.failures.append(EndsWorkers(identity))
    yield from resume(dependencies, identity, again=True)


class Listing(NamedTuple):
    """A listing, a page at a time."""

    name: str
    bucket: str
    prefix: str
    each: Callable[[ObjectVersion], Steps[None]]


def _listed(dependencies: Dependencies, swept: Swept, listing: Listing, size: int) -> Steps[bool]:
    """Go through one page. Returns whether there is another; a page that was not finished is listed again next time.

    The clock is looked at before each page, because a page of delete markers has no versions.
    """
    if not _has_time(dependencies):
        return False
    before = dependencies.agenda.cursor(listing.name)
    page = dependencies.objects.versions(listing.bucket, listing.prefix, before, size)
    for version in page.versions:
        if not _has_time(dependencies):
            return False
        identity = workload_id(version.bucket, version.key, version.version)
        yield from _guarded(swept, identity, listing.each(version))
    if page.after != before:
        yield from perform(Effect.KEEP_CURSOR, dependencies.agenda.keep, listing.name, page.after)
    return page.after is not None


def _unstage(dependencies: Dependencies, version: ObjectVersion) -> Steps[None]:
    """Delete the late copy of a delayed worker, whose workload is finished."""
    if not version.current:
        return
    identity = lake_layout.staged_workload(version.key)
    try:
        workload = dependencies.workloads.get(identity)
    except NotFound:
        return
    if workload.state in TERMINAL or workload.state is State.GONE:
        where = Address(version.bucket, version.key)
        yield from perform(Effect.DELETE_STAGING, dependencies.delete, where)
