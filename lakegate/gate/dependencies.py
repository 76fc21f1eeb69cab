"""The dependencies of every use case: the ports, the stack's buckets and job, and its times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, TypeVar

from lakegate.admission.ignored_keys import IGNORED
from lakegate.base.errors import AccessDenied, DeletionDenied, NotFound, UnreadableItem
from lakegate.base.extension_points import load_extension, names
from lakegate.base.json_codec import sha256_of
from lakegate.base.timestamps import moment
from lakegate.contract.delivery_policy import FieldTreatment
from lakegate.gate.datasets.dataset_states import (
    DatasetDeadlines,
    DatasetRowStore,
    DatasetState,
    dataset_deadlines,
    dataset_lifecycles,
)
from lakegate.gate.delivery.delivery_row import IDENTIFIER, Waiting, Workload, archived_row
from lakegate.gate.delivery.delivery_terms import UNROUTED, BatchLimits, Terms, terms_of
from lakegate.gate.delivery_store import Agenda, Arrivals, Batches, Outbox, Pauses, Workloads
from lakegate.gate.effects import Alarm, Steps, run
from lakegate.gate.lake_layout import row_key
from lakegate.gate.ledger.ledger_store import History, Ledger
from lakegate.gate.ports import (
    UNSIGNED,
    Address,
    Clock,
    Identity,
    JobRunner,
    Notifier,
    ObjectStore,
    ObjectVersion,
    SigningKeys,
)
from lakegate.gate.registry.registry_store import Registry
from lakegate.gate.table import Tables
from lakegate.plan.billed_cost import PRICES, Prices

T = TypeVar("T")
ALONE = BatchLimits(1, 64 << 20, 300)
"""The stack's setting that no delivery is batched, but by its contract."""
MOST_KEPT_BYTES = 32 << 20
"""Of the plans that a function remembers."""


@dataclass(frozen=True, slots=True)
class JobSettings:
    """Parameters of StartJobRun beside the workload; stored with the attempt, so a deployment cannot change a retry."""

    application: str
    role: str
    entry_point: str
    parameters: str = ""
    timeout_minutes: int = 60
    executors: int = 1
    """The most executors of a run, so that the runs of the stack fit the application's maximum capacity together."""
    judge: str = ""
    """Name of the judge function; empty where there is none."""
    small: int = 0
    """Bytes below which a delivery is given to the judge function first."""
    batch: BatchLimits = ALONE
    """Of contracts that set none; with one file, each delivery has a run of its own."""


@dataclass(frozen=True, slots=True)
class Places:
    """The two buckets, and the stack's setting for keys that no route covers."""

    landing: str
    lake: str
    job: JobSettings
    prices: Prices = PRICES
    landing_prefix: str = ""
    """The prefix of keys that are delivered. Other objects of the bucket belong to others: they are never touched."""
    ignore_unrouted: bool = False
    needs_approval: bool = False
    """Whether a contract version becomes valid only when a second person approves it."""
    ignored: tuple[str, ...] = IGNORED
    """Patterns of names of keys that are not deliveries."""
    missing_fields: FieldTreatment = FieldTreatment.WARN
    """Of files that lack declared fields, where the contract says nothing: it is pinned when a version is published."""
    segment_heights: int = 100
    """Heights of one segment of the readers' manifest; part of its format."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Time limits of steps, before `sweep` continues the workload."""

    lease: timedelta = timedelta(minutes=5)
    """Longer than a Lambda can run here, so that a lease outlives its worker; a delayed worker is rare, and harmless."""
    tries: int = 3
    """Workers that may take a workload and not be seen again, before that is an alarm."""
    aside: timedelta = timedelta(days=1)
    """The longest time that such a workload is set aside, after ever longer ones: another release may not end by it."""
    poll: timedelta = timedelta(minutes=5)
    backoff: timedelta = timedelta(seconds=5)
    """Before the second attempt; doubles with each further one."""
    longest_backoff: timedelta = timedelta(seconds=30)
    """Short enough for a worker to wait for the next attempt, for each message of a batch of five."""
    start_interval: timedelta = timedelta(seconds=1.2)
    """Between starts of job runs: EMR Serverless takes one a second of an account (its guide, Endpoints and quotas)."""
    start_burst: int = 20
    """Starts that need not wait: EMR Serverless takes 25 at once. Other users of the account have the rest of both."""
    waits: int = 20
    """Attempts of one round that only waited and are not counted: five days, with EMR Serverless' queue timeout of six hours."""
    splits: int = 8
    """Attempts of one round whose batch failed and that are not counted: after so many halves, a batch has one member."""
    invocation: timedelta = timedelta(minutes=10)
    """The time of the judge function: more than the age of its events and its time limit together (template.yaml)."""
    grace: timedelta = timedelta(minutes=15)
    """Beyond the job's own time limit, before it counts as hung: it may start slowly. Waiting for its turn does not count."""
    kept: timedelta = timedelta(days=400)
    """The time after intake for which the row of a finished delivery stays in the table; none: for ever.

    More than thirteen months, so that a month is compared with that of the year before without the archive.
    """


@dataclass(frozen=True)
class Dependencies:
    """Everything a use case may touch."""

    objects: ObjectStore
    table: Tables
    jobs: JobRunner
    notifier: Notifier
    clock: Clock
    identity: Identity
    places: Places
    of: Callable[[str], Any]
    """The adapter that a feature registers by this name at the point `wiring`; the feature declares its type."""
    signing: SigningKeys = UNSIGNED
    timing: Timing = field(default_factory=Timing)
    is_function: bool = True
    """Whether the caller has the rights of the functions; a person has not: companions of attempts are left to the next sweep."""
    remaining: Callable[[], float] = lambda: float("inf")
    """Seconds that this invocation has left."""
    takes_since: Callable[[], datetime | None] = lambda: None
    """The time before which landed objects are never touched; None: everything is a delivery."""
    undeletable: set[str] = field(default_factory=set, repr=False)
    """Buckets where judged objects could not be deleted; handlers report them."""
    waits: dict[str, Waiting | None] = field(default_factory=dict, repr=False)
    """By delivery what those that were carried on wait for now; handlers log it."""
    plans: dict[str, bytes] = field(default_factory=dict, repr=False)
    """Plans read before, by digest: content-addressed, so never stale."""

    @cached_property
    def registry(self) -> Registry:
        """Contracts and their routes."""
        return Registry(self.table, self.places.landing)

    @cached_property
    def workloads(self) -> Workloads:
        """The rows of workloads."""
        return Workloads(self.table, self._archived)

    @cached_property
    def arrivals(self) -> Arrivals:
        """When the objects of folders were there."""
        return Arrivals(self.table)

    @cached_property
    def agenda(self) -> Agenda:
        """Due rows, claims on contents, cursors."""
        return Agenda(self.table)

    @cached_property
    def outbox(self) -> Outbox:
        """Messages."""
        return Outbox(self.table)

    @cached_property
    def pauses(self) -> Pauses:
        """Paused datasets."""
        return Pauses(self.table)

    @cached_property
    def batches(self) -> Batches:
        """Batches of small files."""
        return Batches(self.table)

    @cached_property
    def ledger(self) -> Ledger:
        """The chains of blocks."""
        return Ledger(self.table, self.signing)

    @cached_property
    def history(self) -> History:
        """The index of finished deliveries."""
        return History(self.table)

    @cached_property
    def datasets(self) -> DatasetRowStore[DatasetState]:
        """Lifecycle and subscriptions of datasets."""
        return dataset_lifecycles(self.table)

    @cached_property
    def deadlines(self) -> DatasetRowStore[DatasetDeadlines]:
        """Deadlines by dataset."""
        return dataset_deadlines(self.table)

    @property
    def left_out(self) -> list[UnreadableItem]:
        """Rows that were left out because this release cannot read them; handlers and commands report them."""
        return self.table.left_out

    def _archived(self, workload: str) -> Workload | None:
        """The row of a finished delivery that has left the table; None: it has not, or the caller may not read the archive."""
        if not IDENTIFIER.fullmatch(workload):
            return None
        try:
            body = self.read_lake(row_key(workload))
        except (NotFound, AccessDenied):
            return None
        return archived_row(workload, body)

    @property
    def now(self) -> datetime:
        """The time, aware, UTC."""
        return self.clock.now()

    @property
    def moment(self) -> str:
        """The time, as rows and records have it."""
        return moment(self.now)

    def in_lake(self, key: str, version: str | None = None) -> Address:
        """The address of an object of the lake."""
        return Address(self.places.lake, key, version)

    def read_lake(self, key: str) -> bytes:
        """An object of the lake. Raises NotFound."""
        return self.objects.read(self.in_lake(key))

    def delete(self, at: Address) -> None:
        """Delete what is not needed any more. Where that is denied it stays, and its delivery goes on: the verdict stands."""
        try:
            self.objects.delete(at)
        except AccessDenied:
            self.undeletable.add(at.bucket)

    def rows(self, name: str) -> Any:  # noqa: ANN401 - its type is declared by the module that asks
        """The rows that a feature registers by this name at the point `rows`; None where the feature is absent."""
        return load_extension("rows", name)(self) if name in names("rows") else None

    def run(self, steps: Steps[T]) -> T:
        """Drive a use case to its end."""
        return run(steps, self.clock)

    def without_lease(self) -> Dependencies:
        """For a caller who does not carry on what it writes: the next sweep finds it due at once."""
        return replace(self, timing=replace(self.timing, lease=timedelta()))

    def may_deliver(self, version: ObjectVersion, announced: datetime | None = None) -> bool:
        """Whether an object of the landing bucket is for this stack: below its prefix, and not from before it was made.

        `announced`: the time of its event. Without one nobody knows whether an upload that began before ended after.
        """
        since = self.takes_since()
        is_before = since is not None and (announced or version.modified) < since
        return version.key.startswith(self.places.landing_prefix) and not is_before

    def taken_out(self) -> list[UnreadableItem]:
        """Items that were left out since the last call, each once."""
        found = {each.name: each for each in self.left_out}
        self.left_out.clear()
        return list(found.values())

    def denied_deletions(self) -> list[DeletionDenied]:
        """Of each bucket where judged objects could not be deleted since the last call."""
        buckets = sorted(self.undeletable)
        self.undeletable.clear()
        return [DeletionDenied(bucket) for bucket in buckets]

    def plan(self, workload: Workload) -> bytes:
        """The pinned plan, verified. Raises Alarm where it is missing or its bytes do not match its digest."""
        return self.plan_at(workload.pinned.plan, workload.id)

    def plan_at(self, digest: str, workload: str) -> bytes:
        """The plan of a digest, by which a workload was judged. Raises as `plan` does."""
        if digest not in self.plans:
            try:
                body = self.read_lake(f"plans/{digest}.json")
            except NotFound:
                raise Alarm("plan-missing", workload) from None
            if sha256_of(body) != digest:
                raise Alarm("plan-differs", workload)
            self.plans[digest] = body
            while len(self.plans) > 1 and sum(map(len, self.plans.values())) > MOST_KEPT_BYTES:
                del self.plans[next(iter(self.plans))]
        return self.plans[digest]

    def terms(self, workload: Workload) -> Terms:
        """The terms of the pinned plan; those of any upload before one is pinned and where no route covers the key."""
        if workload.pin is None or not workload.pin.plan:
            return UNROUTED
        return self.terms_at(workload.pin.plan, workload.id)

    def terms_at(self, digest: str, workload: str) -> Terms:
        """The terms of the plan of a digest, by which a workload was judged. Raises as `plan` does."""
        return terms_of(self.plan_at(digest, workload))
