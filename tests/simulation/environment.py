"""The environment of the use cases: a producer, jobs, events, an operator, and the expected verdict of every upload."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from lakegate.base.errors import ConditionFailed, NotFound, PortError
from lakegate.contract.delivery_policy import PublishAs
from lakegate.gate.delivery.advance import completion
from lakegate.gate.delivery.delivery_row import Workload
from lakegate.gate.delivery.delivery_terms import BatchLimits
from lakegate.gate.delivery.intake import intake
from lakegate.gate.dependencies import ALONE, Dependencies, JobSettings, Places, Timing
from lakegate.gate.effects import Call, Effect, run
from lakegate.gate.ports import UNSIGNED, Address, JobState, ObjectVersion, SigningKeys, is_invocation
from lakegate.gate.registry.registry_rows import Publication, Route
from lakegate.plan.plan import Plan
from lakegate.plan.result import DeliveredPeriod, Result, Shares, WrittenObject
from lakegate.plan.slice_order import StateRun
from tests.fakes import Memory, MemoryIdentity
from tests.fakes.jobs import SENDS_EVENT, WRITES, Ending, Run
from tests.fakes.objects import Stored
from tests.fakes.signing import MemoryKey
from tests.simulation.contract import (
    ACCEPTED,
    DIGESTS,
    PLANS,
    digest,
    kind,
    measurements_of,
    read_json,
    truth,
)
from tests.simulation.sliced_job import slices_of, time_of
from tests.simulation.typed import typed_files_of

LANDING, LAKE = "landing", "lake"
PREFIX = "shop/orders/"
LINE = "orders/lines_v1"
SEGMENT_HEIGHTS = 2
"""Of the readers' manifest: few, so that schedules complete segments."""
BATCHES = BatchLimits(3, 14, 240)
"""Of the stack, in some schedules: up to three deliveries, or two with a larger one."""
PARTS_ABOVE = 6
"""Bytes: some bodies of the schedules are copied whole, some in parts."""
TIMING = Timing()
INVOCATION_LIMIT = timedelta(minutes=10)
"""The age of Lambda's event, the function's limit and some more: an invocation that takes longer answers too late."""


def request_of(request: Mapping[str, object]) -> str:
    """The address of request.json, or of batch.json, from the request that starts a run."""
    if is_invocation(request):
        return str(read_json(str(request["Payload"]))["request"])
    return str(request["jobDriver"]["sparkSubmit"]["entryPointArguments"][1])  # type: ignore[index]


def key_of(uri: str) -> str:
    """The key of an address in the lake."""
    return uri.removeprefix(f"s3://{LAKE}/")


def period_of(body: bytes) -> bytes:
    """The period of a content."""
    return body.partition(b":")[2][:1]


def result_key(request: str) -> str:
    """Where the result of a request goes."""
    return f"{request.removesuffix('request.json')}result.json"


SIGNED = SigningKeys(MemoryKey(1))
"""Of a stack that signs its ledger."""


@dataclass(slots=True)
class Upload:
    """One version that landed, and what its producer did to it later."""

    version: ObjectVersion
    body: bytes
    workload: str
    """Its id, by the formula of docs/ledger.md and not by the code under test."""
    arrived: datetime
    """When its upload was complete."""
    deleted: bool = False
    refusal: type[PortError] | None = None
    """How S3 refused to read it when it landed, for a reason that a person removes."""

    @property
    def ignored(self) -> bool:
        """Whether it lies beside the data: written a second time from docs/producer.md."""
        return "/_temporary/" in self.version.key or (self.version.key.endswith("/") and not self.body)

    @property
    def routed(self) -> bool:
        """Whether a route covers its key."""
        return self.version.key.startswith(PREFIX)


@dataclass(slots=True, eq=False)
class ReadHook:
    """Somebody who waits for the reads of an object, and acts once."""

    hooks: list[Callable[[Address], None]]
    """All who wait."""
    bucket: str
    key: str
    """The end of the object's."""
    passed: int
    """Reads that are let pass before the one that is waited for."""
    act: Callable[[str], None]

    def __call__(self, read: Address) -> None:
        if read.bucket == self.bucket and read.key.endswith(self.key):
            self.passed -= 1
            if self.passed < 0:
                self.hooks.remove(self)
                self.act(read.key)


@dataclass(slots=True)
class Environment:
    """In-memory doubles, gate, and pending events."""

    endings: list[Ending] = field(default_factory=list)
    """How the next job runs end; after the last one all answer."""
    memory: Memory = field(default_factory=lambda: Memory.of(LANDING, LAKE, lag=30.0))
    uploads: list[Upload] = field(default_factory=list)
    inbox: list[tuple[str, str]] = field(default_factory=list)
    """Events: (`landed`, key and version, with NUL between), (`job`, run id) or (`invocation`, its id)."""
    looked_for: set[str] = field(default_factory=set)
    """Versions whose event intake has dealt with."""
    by_version: dict[str, Upload] = field(default_factory=dict)
    dead: set[tuple[str, int]] = field(default_factory=set)
    """Attempts that came to nothing, by any cause: workload and number."""
    waited: set[tuple[str, int]] = field(default_factory=set)
    """Those of them that only waited for their turn, and do not count."""
    answered: set[str] = field(default_factory=set)
    """Keys of usable results that a run wrote before anybody cancelled it; an attempt that joined two batches may have two."""
    began: dict[str, datetime] = field(default_factory=dict)
    """When each job run was first seen."""
    offered: set[tuple[str, str, str]] = field(default_factory=lambda: {("", "", "")})
    """Version, status and plan of all that was ever published; the empty ones are pinned where no route covers the key."""
    statuses: list[tuple[datetime, str, str]] = field(default_factory=list)
    """Each status with the time when it was published, and of which version; the last one is that of the route."""
    releases: int = 0
    pauses_begun: int = 0
    """How often somebody paused the dataset."""
    judge: bool = False
    """Whether the stack has a judge function, which is given small deliveries first."""
    batch: BatchLimits = ALONE
    """The stack's setting."""
    sliced: bool = False
    """Whether the contract publishes slices (`tests.simulation.slice_promises.slicing`)."""
    signing: SigningKeys = UNSIGNED
    """Of the stack."""
    shared: set[tuple[str, int]] = field(default_factory=set)
    """Attempts that came to nothing because the run of their batch did: they cost none of a round's."""
    collided: set[str] = field(default_factory=set)
    """Batches whose token somebody else has used."""
    free: set[tuple[str, int]] = field(default_factory=set)
    """Attempts that the judge function could not hold, or that it was gone for: they cost none of a round's."""
    results: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    """By their digests the results that somebody exchanged, and those that took their place: key and bytes."""
    told: dict[str, bytes] = field(default_factory=dict)
    """By their digests the content that results of the second kind are about, in place of what was uploaded."""
    replaced: list[tuple[StateRun, ...]] = field(default_factory=list)
    """Each merge state that took the place of another one between two deliveries."""
    effects: int = 0
    runs_seen: int = 1
    periods: bool = False
    """Whether jobs find a period: the character behind the colon of a content."""
    stranger: str = ""
    """A job run of somebody else's in the same application."""
    dependencies: Dependencies = field(init=False)

    def __post_init__(self) -> None:
        m = self.memory
        m.signing = self.signing
        judge, role = "judge" if self.judge else "", "arn:aws:iam::123456789012:role/job"
        job = JobSettings("app", role, "s3://code/1/validate.py", judge=judge, small=1_000, batch=self.batch)
        places = Places(LANDING, LAKE, job, segment_heights=SEGMENT_HEIGHTS)
        self.dependencies = Dependencies(
            m.objects,
            m.table,
            m.jobs,
            m.notifier,
            m.clock,
            MemoryIdentity(),
            places,
            m.adapter,
            self.signing,
            TIMING,
        )
        m.objects.parts_above = PARTS_ABOVE
        m.uploads.hints = self.inbox
        for version, body in PLANS.items():
            m.objects.put(Address(LAKE, f"plans/{DIGESTS[version]}.json"), body)
        self.publish("1.0.0", "active")
        self.stranger = m.jobs.start({"clientToken": "somebody-else", "name": "somebody-else", "jobDriver": {}})

    def publish(self, version: str, status: str, plan: Plan | None = None) -> None:
        """Publish a version of the contract, with a plan of a test's own if one is given."""
        address = DIGESTS[version]
        if plan is not None:
            body = plan.to_bytes()
            address = digest(body)
            self.memory.objects.put(Address(LAKE, f"plans/{address}.json"), body)
        self.offered.add((version, status, address))
        self.statuses.append((self.memory.clock.now(), status, version))
        route = Route(LANDING, PREFIX, "orders", "lines", 1, version, status, address)
        plans = (("lines", address),)
        publication = Publication("orders", version, status, f"contracts/{version}", (route,), plans=plans)
        self.memory.registry.publish(publication)

    def upload(self, key: str, body: bytes, algorithm: str = "sha256", took: timedelta | None = None) -> Upload:
        """An upload that is complete now; one whose checksum is of its parts took an hour, unless it is said otherwise."""
        took = (timedelta() if algorithm else timedelta(hours=1)) if took is None else took
        version = self.memory.objects.land(Address(LANDING, key), body, algorithm, took)
        identity = hashlib.sha256(f"{LANDING}\0{key}\0{version.version}".encode()).hexdigest()
        upload = self.by_version[version.version] = Upload(version, body, identity, self.memory.clock.now())
        self.uploads.append(upload)
        self.inbox.append(("landed", f"{key}\0{version.version}"))
        return upload

    def deliver(self, key: str, body: bytes) -> None:
        """One delivery from its upload to its end, by one worker and without a fault."""
        upload, dependencies = self.upload(key, body), self.dependencies
        run(intake(dependencies, LANDING, upload.version.key), dependencies.clock)
        row = dependencies.workloads.get(upload.workload)
        for identity, job in self.new_jobs():
            if identity.startswith(row.run):
                run(job, dependencies.clock)
        run(completion(dependencies, row.run), dependencies.clock)

    def expire(self) -> None:
        """What the rules of the lake do at midnight (template.yaml, LakeBucket)."""
        day = timedelta(days=1)
        self.memory.objects.expire(LAKE, "staging/", day, 45 * day)
        self.memory.objects.expire(LAKE, "runs/", day)

    def lock(self, upload: Upload, refusal: type[PortError]) -> None:
        """The upload is encrypted by a key that the gate may not use, or it is archived: only a person can change that."""
        upload.refusal = refusal
        self.memory.objects.locked[upload.version.version] = refusal

    def unlock(self) -> None:
        """The right is granted, and what is archived restored."""
        self.memory.objects.locked.clear()

    def delete(self, upload: Upload) -> None:
        upload.deleted = True
        self.memory.objects.delete(Address(LANDING, upload.version.key, upload.version.version))

    def collide(self, workload: str, attempt: int) -> None:
        """Somebody has used the token of an attempt for another request: the attempt is lost, the next one is not."""
        token = hashlib.sha256(f"{workload}:{attempt}".encode()).hexdigest()
        if token not in self.memory.jobs.tokens:
            self.memory.jobs.tokens[token] = self.stranger
            self.dead.add((workload, attempt))
        row = self.memory.workloads.get(workload)
        batch = row.batch if row else ""
        if batch and not self.memory.batches[batch].run and batch not in self.memory.jobs.tokens:
            self.memory.jobs.tokens[batch] = self.stranger
            self.collided.add(batch)

    def after_read(self, bucket: str, key: str, passed: int, act: Callable[[str], None]) -> None:
        """Somebody acts between two reads of an object, whose key ends so: `passed` reads after the next one."""
        hooks = self.memory.objects.read_hooks
        hooks.append(ReadHook(hooks, bucket, key, passed, act))

    def exchange(self, upload: Upload, key: str) -> None:
        """The result of an attempt is replaced by one of the same attempt that is about another content."""
        own = self.lake[key][-1].body
        result = Result.from_bytes(own)
        policy = read_json(self.lake[f"plans/{result.plan_digest}.json"][-1].body)["policy"]
        is_other = policy["publish_as"] != PublishAs.ORIGINAL.value
        if kind(upload.body) not in {"good", "mild", "bad"} or result.does_not_fit or is_other:
            return
        word = b"good:" if kind(upload.body) == "bad" else b"bad:"
        told = word.ljust(len(upload.body), b"1")
        other = replace(result, measurements=measurements_of(told), rejected_rows=int(word == b"bad:")).to_bytes()
        self.results |= {digest(own): (key, own), digest(other): (key, other)}
        self.told[digest(other)] = told
        self.memory.objects.land(Address(LAKE, key), other, "sha256")

    def exchanged(self, workload: str) -> tuple[str, bytes] | None:
        """Key and bytes of the result that was decided on, if it is one of those that were exchanged."""
        row = self.memory.workloads.get(workload)
        return self.results.get(row.decision.result) if row is not None and row.decision is not None else None

    def restore(self, key: str, result: bytes) -> bool:
        """Put a result back. Returns False where it is there already."""
        if self.lake[key][-1].body == result:
            return False
        self.memory.objects.land(Address(LAKE, key), result, "sha256")
        return True

    def measured(self, row: Workload) -> bytes:
        """The content that a decision is about: what was uploaded, or what an exchanged result has in its place."""
        assert row.decision is not None
        return self.told.get(row.decision.result, self.by_version[(row.landed or row.source).version].body)

    def deploy(self) -> None:
        """A new release: from now on functions start with another job in their settings; those under way keep theirs.

        One that has a judge function removes it, the next one makes it again.
        """
        self.releases += 1
        places = self.dependencies.places
        judge = "judge" if self.judge and not places.job.judge else ""
        self.memory.jobs.functions = {judge}
        job = replace(places.job, entry_point=f"s3://code/{self.releases}/validate.py", judge=judge)
        self.dependencies = replace(self.dependencies, places=replace(places, job=job))

    def deaths(self, workload: str | None = None, above: int = 0) -> int:
        """Attempts that came to nothing, of one workload above a number or of all."""
        return sum(1 for each, number in self.dead if workload in {None, each} and number > above)

    def uncounted(self, workload: str, above: int) -> set[int]:
        """Those of one workload above a number that cost it nothing: they only waited, or ended with the run of their batch."""
        return {number for each, number in self.waited | self.shared if each == workload and number > above}

    def requests_of(self, run: Run) -> list[str]:
        """The keys of request.json of all attempts that a run was started for."""
        uri = request_of(run.request)
        if not uri.endswith("/batch.json"):
            return [key_of(uri)]
        return [key_of(each) for each in read_json(self.memory.objects.read(Address(LAKE, key_of(uri))))["requests"]]

    def attempts_of(self, run: Run) -> list[tuple[str, int]]:
        """Workload and number of these attempts."""
        named = (each.removesuffix("/request.json").rpartition("/attempt=") for each in self.requests_of(run))
        return [(prefix.rpartition("/")[2], int(number)) for prefix, _, number in named]

    def attempt_of(self, run: Run) -> tuple[str, int]:
        """That of a run of one attempt."""
        (attempt,) = self.attempts_of(run)
        return attempt

    def lost(self, run: Run, at: tuple[str, int]) -> None:
        """An attempt comes to nothing with its run; in a batch that costs it nothing."""
        self.dead.add(at)
        if len(self.attempts_of(run)) > 1 and not self.has_result(run, at):
            self.shared.add(at)

    def note_missing(self) -> None:
        """What was invoked and is gone costs its attempt, and allows another one."""
        for request in self.memory.jobs.unknown:
            at = self.attempt_of(Run("", request))
            self.dead.add(at)
            self.free.add(at)
        self.memory.jobs.unknown.clear()

    def allowed_more(self, workload: str, above: int) -> int:
        """How many further attempts a round of a workload is allowed, that began above an attempt: one at the most."""
        return int(any(each == workload and number > above for each, number in self.free))

    @property
    def lake(self) -> dict[str, list[Stored]]:
        """What lies in the lake bucket."""
        return self.memory.objects.buckets[LAKE]

    @property
    def landing(self) -> dict[str, list[Stored]]:
        """What lies in the landing bucket."""
        return self.memory.objects.buckets[LANDING]

    def new_jobs(self) -> list[tuple[str, Generator[Call, object, None]]]:
        """The job runs started since the last look, each as one more who moves."""
        runs = list(self.memory.jobs.runs.values())[self.runs_seen :]
        self.runs_seen += len(runs)
        endings = [self.endings.pop(0) if self.endings else Ending.ANSWERED for _ in runs]
        self.began.update(dict.fromkeys((run.id for run in runs), self.memory.clock.now()))
        return [(run.id, self.job(run.id, end)) for run, end in zip(runs, endings, strict=True)]

    def job(self, run: str, ending: Ending) -> Generator[Call, object, None]:
        """A correct data plane: it reads its requests, and writes each result as soon as it has it."""
        started = self.memory.jobs.runs[run]
        invoked = is_invocation(started.request)
        attempts = self.attempts_of(started)
        answered: set[tuple[str, int]] = set()
        try:
            if ending in WRITES and any(map(self._is_poisoned, self.requests_of(started))):
                ending = Ending.FAILED
            for key, attempt in zip(self.requests_of(started), attempts, strict=True):
                if ending not in WRITES:
                    break
                try:
                    asked = read_json(self.memory.objects.read(Address(LAKE, key)))
                    self._judged(asked)
                except NotFound:
                    ending = Ending.FAILED if len(attempts) == 1 else ending
                    continue
                try:
                    usable = yield from self.write_result(asked, ending, attempt, invoked=invoked)
                except ConditionFailed:  # it is there already, and as usable as this one if it can be measured at all
                    if kind(self._judged(asked)) == "error":
                        self.dead.add(attempt)
                    continue
                if usable:
                    answered.add(attempt)
        finally:
            self._ended(started, ending, answered)
        self.memory.jobs.end(run, ending)
        if ending in SENDS_EVENT:
            self.inbox.append(("invocation" if invoked else "job", run))

    def _ended(self, run: Run, ending: Ending, answered: set[tuple[str, int]]) -> None:
        """Remember which attempts of a run may be given up now."""
        invoked, attempts = is_invocation(run.request), self.attempts_of(run)
        is_over = run.state is not JobState.RUNNING
        for at, request in zip(attempts, self.requests_of(run), strict=True):
            if invoked:  # nobody can cancel it: its result may come after its attempt was given up
                is_over = at in self.dead or self.memory.clock.now() - self._first(at) >= INVOCATION_LIMIT
            if at in answered and not is_over:
                self.answered.add(result_key(request))
            else:
                self.dead.add(at)
            if ending is Ending.QUEUE_TIMED_OUT and run.state is JobState.RUNNING and not invoked:
                self.waited.add(at)
            elif at not in answered:
                self.lost(run, at)

    def has_result(self, run: Run, at: tuple[str, int]) -> bool:
        """Whether a run left a result of an attempt: a usable one, or one that counts against it."""
        results = map(result_key, self.requests_of(run))
        return any(each in self.lake for each in results if f"/{at[0]}/attempt={at[1]}/" in f"/{each}")

    def unanswered(self, run: Run) -> list[tuple[str, int]]:
        """The attempts of a run that have not come to nothing, and have no usable result of it."""
        pairs = zip(self.attempts_of(run), map(result_key, self.requests_of(run)), strict=True)
        return [at for at, result in pairs if at not in self.dead and result not in self.answered]

    def _is_poisoned(self, key: str) -> bool:
        """Whether a delivery ends every run that is to judge it, before any result is written."""
        try:
            return kind(self._judged(read_json(self.memory.objects.read(Address(LAKE, key))))) == "poison"
        except NotFound:
            return False

    def _judged(self, asked: Mapping[str, Any]) -> bytes:
        """The bytes that a request is about."""
        return b"".join(self.memory.objects.read(Address(LAKE, key_of(each["uri"]))) for each in asked["parts"])

    def _first(self, attempt: tuple[str, int]) -> datetime:
        """When an attempt's first run or invocation was seen: a delayed worker may invoke once more, when it is given up."""
        return min(at for run, at in self.began.items() if attempt in self.attempts_of(self.memory.jobs.runs[run]))

    def write_result(
        self, asked: dict[str, Any], ending: Ending, attempt: tuple[str, int], *, invoked: bool
    ) -> Generator[Call, object, bool]:
        body = self._judged(asked)
        prefix = str(asked["output_uri"]).removeprefix(f"s3://{LAKE}/")
        content, confused = kind(body), ending is Ending.CONFUSED
        unfit = ending is Ending.UNFIT or (invoked and content == "split")
        published: dict[str, Any] = {}
        accepted = body[:-1] if content == "split" else body
        is_asked = asked["slices"] or asked.get("typed_files")
        if is_asked and not confused and not unfit and truth(str(asked["plan_digest"]), body) in ACCEPTED:
            published = (
                slices_of(self.memory.objects, asked, accepted, time_of(body))
                if asked["slices"]
                else typed_files_of(self.memory.objects, asked, accepted, body[len(accepted) :])
            )
        result = Result(
            workload=str(asked["workload"]),
            attempt=asked["attempt"],  # type: ignore[arg-type]  # of a document
            plan_digest=str(asked["plan_digest"]),
            source_version="another" if confused else str(asked["source_version"]),
            rows=len(body),
            rejected_rows=1 if content in {"split", "bad"} else 0,
            measurements=measurements_of(b"good:another" if confused or unfit else body),
            shares=self._split(prefix, body) if content == "split" and not unfit else None,
            engines={"duckdb": "2.0.0"} | ({} if invoked else {"spark": "3.5.8"}),
            does_not_fit="rows" if unfit else None,
            period=DeliveredPeriod(1, has_rows_without=False, digest=digest(period_of(body))) if self.periods else None,
            **published,
        )
        if unfit and invoked and not confused:
            self.free.add(attempt)
        to, usable = Address(LAKE, f"{prefix}/result.json"), content != "error" and not confused and not unfit

        def write(to: Address, body: bytes) -> None:
            self.memory.objects.put(to, body, absent=True)
            if not usable:  # from the write on: who reads it gives the attempt up, before the job takes its next step
                self.dead.add(attempt)

        yield Call(Effect.WRITE_RESULT, partial(write, to, result.to_bytes()))
        return usable

    def _split(self, prefix: str, body: bytes) -> Shares:
        shares = []
        for share, rows in (("accepted", body[:-1]), ("rejected", body[-1:])):
            key = f"{prefix}/rows/{share}/{share}-00000.csv"
            written = self.memory.objects.put(Address(LAKE, key), rows)
            shares.append((WrittenObject(f"s3://{LAKE}/{key}", written.size, written.etag),))
        return Shares(*shares)
