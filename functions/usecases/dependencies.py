"""What every use case is given: the ports, what contracts mean, and where and when things are."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, TypeAlias

from lakegate.contracts.lake.states import PUSH
from lakegate.functions.ports.errors import NotFound
from lakegate.functions.ports.objects import Address
from lakegate.functions.usecases.steps import Alarm

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lakegate.contracts.lake.states import Workflow
    from lakegate.functions.ports.agenda import Agenda
    from lakegate.functions.ports.clock import Clock
    from lakegate.functions.ports.jobs import JobRunner
    from lakegate.functions.ports.judgement import Judge
    from lakegate.functions.ports.ledger import Ledger
    from lakegate.functions.ports.notifier import Notifier
    from lakegate.functions.ports.objects import ObjectStore
    from lakegate.functions.ports.outbox import Outbox
    from lakegate.functions.ports.registry import Registry
    from lakegate.functions.ports.workloads import Workloads
    from lakegate.functions.workload import Workload


@dataclass(frozen=True, slots=True)
class Terms:
    """What the control plane itself needs to know of a plan."""

    suffix: str = ""
    """How keys of this dataset end, from the contract's codec: `.csv`, `.csv.gz`, `.parquet`."""
    duplicates: bool = False
    """Whether the same content is accepted again."""
    by_rows: bool = False
    """Whether bad rows are kept apart from good ones."""
    references: tuple[str, ...] = ()
    """The lines whose accepted data its rules refer to."""
    workflow: Workflow = PUSH
    dialect: Mapping[str, object] = field(default_factory=dict)
    """What a reader needs to read a file of this dataset, as the manifest has it: format, compression and `csv`."""


UNROUTED = Terms()
"""Those of any upload before a plan is pinned, and where no route covers the key."""
Door: TypeAlias = Callable[[bytes, int, bytes], tuple[str, ...]]
"""(plan, size in bytes, first bytes) → why the object is refused before any job; none: it may pass."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """The functions of contracts/ that the use cases call, on documents."""

    terms: Callable[[bytes], Terms]
    door: Door
    judge: Judge


@dataclass(frozen=True, slots=True)
class JobSettings:
    """Parameters of StartJobRun beside the workload; stored with the attempt, so a deployment cannot change a retry."""

    application: str
    role: str
    entry_point: str
    parameters: str = ""
    timeout_minutes: int = 60


@dataclass(frozen=True, slots=True)
class Places:
    """The two buckets, and the stack's setting for keys that no route covers."""

    landing: str
    lake: str
    job: JobSettings
    ignore_unrouted: bool = False


@dataclass(frozen=True, slots=True)
class Timing:
    """How long a step may take before `sweep` continues the workload."""

    lease: timedelta = timedelta(minutes=5)
    """Longer than a Lambda can run here, so that a lease outlives its worker; a delayed worker is rare, and harmless."""
    poll: timedelta = timedelta(minutes=5)
    backoff: timedelta = timedelta(seconds=5)
    """Before the second attempt; doubles with each further one."""
    longest_backoff: timedelta = timedelta(seconds=30)
    """Short enough for a worker to wait for the next attempt, for each message of a batch of five."""
    grace: timedelta = timedelta(minutes=15)
    """Beyond the job's own time limit, before it counts as hung: it may start slowly. Waiting for its turn does not count."""


FIRST_BYTES = 65_536
"""What the door sees of an object: enough for any header and every magic number."""


@dataclass(frozen=True, slots=True)
class Dependencies:
    """Everything a use case may touch."""

    objects: ObjectStore
    registry: Registry
    workloads: Workloads
    agenda: Agenda
    outbox: Outbox
    ledger: Ledger
    jobs: JobRunner
    notifier: Notifier
    clock: Clock
    meaning: Meaning
    places: Places
    timing: Timing = field(default_factory=Timing)
    plans: dict[str, bytes] = field(default_factory=dict, repr=False)
    """Plans read before, by digest: content-addressed, so never stale."""

    def plan(self, workload: Workload) -> bytes:
        """The pinned plan, verified. Raises Alarm where it is missing or its bytes do not match its digest."""
        assert workload.pin is not None
        return self.plan_at(workload.pin.plan, workload.id)

    def plan_at(self, digest: str, workload: str) -> bytes:
        """The plan of a digest, by which a workload was judged. Raises as `plan` does."""
        if digest not in self.plans:
            try:
                body = self.objects.read(Address(self.places.lake, f"plans/{digest}.json"))
            except NotFound:
                raise Alarm("plan-missing", workload) from None
            if hashlib.sha256(body).hexdigest() != digest:
                raise Alarm("plan-differs", workload)
            self.plans[digest] = body
        return self.plans[digest]

    def terms(self, workload: Workload) -> Terms:
        """The terms of the pinned plan; those of any upload before one is pinned and where no route covers the key."""
        if workload.pin is None or not workload.pin.plan:
            return UNROUTED
        return self.meaning.terms(self.plan(workload))
