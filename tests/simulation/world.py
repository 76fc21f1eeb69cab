"""The world around the use cases: a producer, jobs, events, an operator, and the truth about every upload."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from contracts.routes import Route
from functions.memory import Memory
from functions.memory.jobs import TELLS, WRITES, Ending
from functions.ports import Address, JobState, NotFound, Publication
from functions.usecases.gate import Gate, Job, Places, Timing
from functions.usecases.steps import Call, Effect
from functions.workload import job_token, workload_id
from tests.simulation.meaning import DIGESTS, MEANING, PLANS, kind

if TYPE_CHECKING:
    from collections.abc import Generator

    from functions.ports import ObjectVersion

LANDING, LAKE = "landing", "lake"
PREFIX = "shop/orders/"
LINE = "orders/lines_v1"
TIMING = Timing()


@dataclass(slots=True)
class Upload:
    """One version that landed, and what its producer did to it later."""

    version: ObjectVersion
    body: bytes
    workload: str
    deleted: bool = False


@dataclass(slots=True)
class World:
    """Twins, gate, and what is on its way."""

    endings: list[Ending] = field(default_factory=list)
    """How the next job runs end; after the last one all answer."""
    memory: Memory = field(default_factory=lambda: Memory.of(LANDING, LAKE, lag=30.0))
    uploads: list[Upload] = field(default_factory=list)
    inbox: list[tuple[str, str]] = field(default_factory=list)
    """Events: (`landed`, key) or (`job`, run id)."""
    dead: set[tuple[str, str]] = field(default_factory=set)
    """Job runs that ended without a usable verdict, by any cause, with their workload."""
    answered: set[tuple[str, str]] = field(default_factory=set)
    """Job runs that gave a usable verdict before anybody cancelled them."""
    effects: int = 0
    runs_seen: int = 1
    stranger: str = ""
    """A job run of somebody else's in the same application."""
    gate: Gate = field(init=False)

    def __post_init__(self) -> None:
        m = self.memory
        places = Places(LANDING, LAKE, Job("app", "role", "s3://code/validate.py"))
        self.gate = Gate(
            m.objects,
            m.registry,
            m.rows,
            m.rows,
            m.rows,
            m.ledger,
            m.jobs,
            m.notifier,
            m.clock,
            MEANING,
            places,
            TIMING,
        )
        for version, body in PLANS.items():
            m.objects.put(Address(LAKE, f"plans/{DIGESTS[version]}.json"), body)
        self.publish("1.0.0", "active")
        self.stranger = m.jobs.start({"clientToken": "somebody-else", "name": "somebody-else", "jobDriver": {}})

    def publish(self, version: str, status: str) -> None:
        route = Route(LANDING, PREFIX, "orders", "lines", 1, version, status, DIGESTS[version])
        self.memory.registry.publish(Publication("orders", version, status, f"contracts/{version}", (route,)))

    def upload(self, key: str, body: bytes) -> Upload:
        version = self.memory.objects.put(Address(LANDING, key), body)
        upload = Upload(version, body, workload_id(LANDING, key, version.version))
        self.uploads.append(upload)
        self.inbox.append(("landed", key))
        return upload

    def delete(self, upload: Upload) -> None:
        upload.deleted = True
        self.memory.objects.delete(Address(LANDING, upload.version.key, upload.version.version))

    def collide(self, workload: str, attempt: int) -> None:
        """Somebody has used the token of an attempt for another request: the attempt is lost, the next one is not."""
        token = job_token(workload, attempt)
        if token not in self.memory.jobs.tokens:
            self.memory.jobs.tokens[token] = self.stranger
            self.dead.add((workload, token))

    def deaths(self, workload: str | None = None) -> int:
        """Attempts that came to nothing, of one workload or of all; who is cancelled is dead, too."""
        runs = self.memory.jobs.runs.values()
        self.dead |= {(str(run.request["name"]), run.id) for run in runs if run.state is JobState.CANCELLED}
        return sum(1 for each, _ in self.dead if workload in {None, each})

    def new_jobs(self) -> list[tuple[tuple[str, str], Generator[Call, object, None]]]:
        """The job runs started since the last look, each as one more who moves, with its workload and id."""
        if len(self.memory.jobs.runs) == self.runs_seen:
            return []
        runs = list(self.memory.jobs.runs.values())[self.runs_seen :]
        self.runs_seen += len(runs)
        endings = [self.endings.pop(0) if self.endings else Ending.ANSWERED for _ in runs]
        names = [(str(run.request["name"]), run.id) for run in runs]
        return [(name, self.job(run.id, end)) for name, run, end in zip(names, runs, endings, strict=True)]

    def job(self, run: str, ending: Ending) -> Generator[Call, object, None]:
        """The data plane, honest: it reads what it is told to read and writes its result last of all."""
        request = self.memory.jobs.runs[run].request
        uri = request["jobDriver"]["sparkSubmit"]["entryPointArguments"][1]  # type: ignore[index]
        answered = False
        try:
            asked = json.loads(self.memory.objects.read(Address(LAKE, uri.removeprefix(f"s3://{LAKE}/"))))
            if ending in WRITES:
                answered = yield from self._write_result(asked, confused=ending is Ending.CONFUSED)
        except NotFound:
            ending = Ending.FAILED
        finally:
            ended = self.memory.jobs.runs[run].state is not JobState.RUNNING
            (self.answered if answered and not ended else self.dead).add((str(request["name"]), run))
        self.memory.jobs.end(run, ending)
        if ending in TELLS:
            self.inbox.append(("job", run))

    def _write_result(self, asked: dict[str, object], *, confused: bool) -> Generator[Call, object, bool]:
        part = asked["parts"][0]["uri"].removeprefix(f"s3://{LAKE}/")  # type: ignore[index]
        body = self.memory.objects.read(Address(LAKE, part))
        prefix = str(asked["output_uri"]).removeprefix(f"s3://{LAKE}/")
        said = kind(body)
        shares = self._split(prefix, body) if said == "split" else None
        result = {
            "workload": asked["workload"],
            "attempt": asked["attempt"],
            "plan_digest": asked["plan_digest"],
            "source_version": asked["source_version"],
            "rows": len(body),
            "rejected_rows": 1 if said in {"split", "bad"} else 0,
            "measured": None if said == "error" else body.decode(),
            "shares": shares,
        }
        if confused:
            result |= {"source_version": "another", "measured": "good:another", "shares": None}
        to = Address(LAKE, f"{prefix}/result.json")
        put = partial(self.memory.objects.put, to, json.dumps(result, sort_keys=True).encode(), absent=True)
        yield Call(Effect.WRITE_RESULT, put)
        return said != "error" and not confused

    def _split(self, prefix: str, body: bytes) -> dict[str, list[dict[str, object]]]:
        shares = {}
        for share, rows in (("accepted", body[:-1]), ("rejected", body[-1:])):
            key = f"{prefix}/rows/{share}/{share}-00000.csv"
            written = self.memory.objects.put(Address(LAKE, key), rows)
            shares[share] = [{"uri": f"s3://{LAKE}/{key}", "size": written.size, "etag": written.etag}]
        return shares
