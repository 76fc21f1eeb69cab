"""Every effect by seven kinds of fault, alone and in pairs, for each way a delivery can go."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from itertools import combinations_with_replacement

from lakegate.base.errors import AccessDenied, Archived, PortError
from lakegate.gate.delivery.delivery_terms import BatchLimits
from lakegate.gate.delivery.protocol import PASSIVE_STATES, State
from lakegate.gate.delivery_store import Pause
from lakegate.gate.effects import Effect, run
from lakegate.gate.ports import UNSIGNED
from lakegate.gate.sweep import sweep
from lakegate.plan.planned_workflow import PlannedState, PlannedTransition, PlannedWorkflow
from tests.fakes.jobs import Ending
from tests.simulation.environment import ALONE, BATCHES, PREFIX, SIGNED, TIMING, Environment, Upload
from tests.simulation.lifecycle import begin, command
from tests.simulation.pauses import LINE
from tests.simulation.promises import ATTEMPTS
from tests.simulation.stage import KINDS, Fault, Stage, settle
from tests.simulation.typed import with_typed_files
from tests.simulation.workflows import ASKING, DATED, waiting

KEY = f"{PREFIX}day.csv"
ASKING_TWICE = PlannedWorkflow(
    "twice@1.0.0",
    ATTEMPTS,
    (
        *(PlannedTransition("VALIDATING", each, "told") for each in ("accepted", "accepted_with_warnings")),
        PlannedTransition("told", "done", "first"),
        PlannedTransition("first", "approved", "second"),
        PlannedTransition("first", "expired", "first"),
        PlannedTransition("first", "declined", "ended"),
        PlannedTransition("second", "approved", "PUBLISHED"),
        PlannedTransition("ended", "done", "QUARANTINED"),
    ),
    states=(
        PlannedState("told", "notify"),
        PlannedState("first", "ask", 2),
        PlannedState("second", "ask", another=False),
        PlannedState("ended", "notify"),
    ),
)
"""A notice, two questions, of which the first is asked once more, and a notice of what was declined."""
OF_PARTS = {Effect.JOIN, Effect.WRITE_PARTS, Effect.NOTE_ARRIVAL}
"""Effects of deliveries of several objects, which tests/simulation/parts.py plays."""
OF_PEOPLE = {Effect.REPLAY, Effect.REVIVE, Effect.RECORD, Effect.PAUSE, Effect.RESUME}
PUBLISHING = {Effect.PROPOSE, Effect.DECLINE_PROPOSAL, Effect.WRITE_DOCUMENT, Effect.WRITE_PLAN, Effect.PUBLISH}
OF_NOTIFICATIONS = {
    Effect.NOTIFY,
    Effect.KEEP_CALLBACK,
    Effect.REPORT,
}
"""Of subscribers with channels, and of service levels: tests/unit/features/notifications and tests/unit/gate have them."""
OF_ANNOUNCEMENTS = {Effect.ANNOUNCE, Effect.HINT, Effect.LINK, Effect.VALIDATE}
"""Effects of announced deliveries, which tests/simulation/test_announcements.py plays, and of validations, which touch none."""
OF_PULLS = {
    *(Effect.BEGIN_UPLOAD, Effect.LAND_PART, Effect.LAND, Effect.END_UPLOAD),
}
"""Effects before an object has landed, which tests/simulation/test_pulls.py plays."""
OF_VALIDATORS = {Effect.START_VALIDATION, Effect.KEEP_ANSWERS}
"""Effects of rules that other services measure, which tests/simulation/test_validators.py plays."""
OF_ERASURE = {Effect.REPLACE, Effect.ERASE}
"""Effects of an erasure, which tests/simulation/test_erasures.py plays."""
OF_TABLES = {
    *(Effect.MAKE_TABLE, Effect.COMMIT_TABLE, Effect.DISCARD_METADATA, Effect.CLEAR_TABLE),
    *(Effect.MERGE_FILES, Effect.PUT_MERGED),
}
"""Effects in a catalog, which tests/simulation/test_tables.py, test_erased_tables.py and test_compacted_tables.py play."""
OF_GATED_TABLES = {Effect.PUBLISH_SNAPSHOT}
"""Effects in a catalog of others, which tests/simulation/test_gated_tables.py plays."""
OF_RESTORES = {Effect.SETTLE}
"""Effects after rows were set back, which tests/unit/gate/delivery/test_restored_rows.py plays."""
NOT_PLAYED = {
    *OF_RESTORES,
    *(Effect.KEEP_CURSOR, Effect.ANCHOR, Effect.RESERVE_COMMIT),
    *(*OF_PEOPLE, *OF_PARTS, *OF_NOTIFICATIONS, *OF_ANNOUNCEMENTS, *OF_ERASURE, *OF_PULLS, *OF_VALIDATORS, *OF_TABLES),
    *OF_GATED_TABLES,
    *PUBLISHING,
}
"""Effects of a person, of long listings, of parts, erasures and reports: the random schedules and unit tests have them."""
Planned = tuple[Effect, Fault]


@dataclass(frozen=True, slots=True)
class Scenario:
    """One way a delivery can go without a fault."""

    name: str
    body: bytes
    ends: str
    endings: tuple[Ending, ...] = ()
    before: tuple[tuple[Effect, Callable[[Environment, Upload], None]], ...] = ()
    """What else happens, right before an effect first does."""
    earlier: tuple[bytes, ...] = ()
    """Deliveries that ended before."""
    unseen: bool = False
    """Whether its producer deletes the upload before intake sees it."""
    refusal: type[PortError] | None = None
    """How S3 refuses to read the upload."""
    may_end: tuple[str, ...] = field(default=())
    """Other ends that a fault may lead to."""
    judge: bool = False
    """Whether the stack has a judge function."""
    signs: bool = False
    """Whether the stack signs its ledger."""
    batch: BatchLimits = ALONE
    """The stack's setting."""
    waits: bool = False
    """Whether every run waits for its time to start."""
    beside: tuple[bytes, ...] = ()
    """Deliveries that land shortly before, under other keys."""
    line: str = ""
    """The status that the dataset gets by its date, three minutes after the upload."""
    command: str = ""
    """A command about the dataset, given while the delivery is taken in."""
    answers: str = ""
    """What is answered, as often as needed: `approve`, `decline`, `silence`, or `withdraw` (approve, then decline).

    Empty: the workflow asks nobody.
    """
    dated: bool = False
    """Whether the workflow publishes at a time."""
    machine: PlannedWorkflow | None = None
    """A workflow with states of its own."""
    typed: bool = False
    """Whether accepted rows are published as typed files, too."""
    cancelled: Effect | None = None
    """Right before which effect a person cancels the delivery, and goes first."""
    waived: bool = False
    """Whether somebody waives the rejection once it is final; the faults happen then."""


def _delete(env: Environment, upload: Upload) -> None:
    env.delete(upload)


def _overwrite(env: Environment, _upload: Upload) -> None:
    env.upload(KEY, b"bad:overwritten")


def _publish(env: Environment, _upload: Upload) -> None:
    env.publish("1.1.0", "active")


def _retire(env: Environment, _upload: Upload) -> None:
    env.publish("1.0.0", "retired")


def _pause(env: Environment, _upload: Upload) -> None:
    env.pauses_begun += 1
    env.dependencies.pauses.begin(Pause(LINE, env.memory.clock.now(), "arn"))


def _resume(env: Environment, _upload: Upload) -> None:
    env.dependencies.pauses.resume(LINE, env.memory.clock.now())


def _expire(env: Environment, upload: Upload) -> None:
    """The producer deletes its upload, a sweep looks at the staged copies, and two days pass before anything else happens."""
    env.delete(upload)
    run(sweep(env.dependencies), env.dependencies.clock)
    env.memory.clock.sleep(2 * 24 * 3_600)
    env.expire()


def _deploy(env: Environment, _upload: Upload) -> None:
    env.deploy()


SCENARIOS = (
    Scenario("accepted", b"good:1", "PUBLISHED"),
    Scenario("rejected", b"bad:1", "QUARANTINED"),
    Scenario("signed", b"good:1", "PUBLISHED", signs=True),
    Scenario("refused at the door", b"%PDF:1", "QUARANTINED"),
    Scenario("approved", b"split:12", "PUBLISHED", answers="approve"),
    Scenario("at its time", b"good:1", "PUBLISHED", dated=True),
    Scenario("waived", b"bad:1", "PUBLISHED", may_end=("QUARANTINED",), waived=True),
    Scenario("rows split", b"split:12", "PUBLISHED"),
    Scenario("job failed", b"good:1", "PUBLISHED", (Ending.FAILED, Ending.CANCELLED), may_end=("FAILED",)),
    Scenario("job hung", b"good:1", "PUBLISHED", (Ending.HUNG, Ending.TIMED_OUT), may_end=("FAILED",)),
    Scenario("result without event", b"good:1", "PUBLISHED", (Ending.SILENT,)),
    Scenario("event without result", b"good:1", "PUBLISHED", (Ending.EMPTY, Ending.LATE_FAILURE), may_end=("FAILED",)),
    Scenario("does not fit", b"good:1", "PUBLISHED", (Ending.UNFIT,), judge=True),
    Scenario("version deleted", b"good:1", "GONE", before=((Effect.STAGE, _delete),), may_end=("PUBLISHED",)),
)
MORE = (
    Scenario("judged by the function", b"good:1", "PUBLISHED", judge=True),
    Scenario("rejected by the function", b"bad:1", "QUARANTINED", judge=True),
    Scenario("rows to be split", b"split:12", "PUBLISHED", judge=True),
    Scenario("invocation failed", b"good:1", "PUBLISHED", (Ending.FAILED,), judge=True),
    Scenario("invocation lost", b"good:1", "PUBLISHED", (Ending.HUNG,), judge=True),
    Scenario("invocation failed after its result", b"good:1", "PUBLISHED", (Ending.LATE_FAILURE,), judge=True),
    Scenario(
        "function and jobs failed",
        b"good:1",
        "FAILED",
        (Ending.FAILED,) * ATTEMPTS,
        may_end=("PUBLISHED",),
        judge=True,
    ),
    Scenario(
        "unfit, and jobs failed",
        b"good:1",
        "FAILED",
        (Ending.UNFIT, *(Ending.FAILED,) * ATTEMPTS),
        may_end=("PUBLISHED",),
        judge=True,
    ),
    Scenario("alone in a batch", b"good:1", "PUBLISHED", batch=BATCHES),
    Scenario("in a full batch", b"good:1", "PUBLISHED", batch=BATCHES, beside=(b"bad:1", b"good:2")),
    Scenario("beside a poisoned one", b"good:1", "PUBLISHED", batch=BATCHES, beside=(b"poison:1", b"good:2")),
    Scenario("poisoned in a batch", b"poison:1", "FAILED", batch=BATCHES, beside=(b"good:1",), may_end=("PUBLISHED",)),
    Scenario("batch failed", b"good:1", "PUBLISHED", (Ending.FAILED,), batch=BATCHES, beside=(b"good:2",)),
    Scenario(
        "batch waited for its turn",
        b"good:1",
        "PUBLISHED",
        (Ending.QUEUE_TIMED_OUT,),
        batch=BATCHES,
        beside=(b"good:2",),
    ),
    Scenario("batch without event", b"good:1", "PUBLISHED", (Ending.SILENT,), batch=BATCHES, beside=(b"split:12",)),
    Scenario("function removed", b"good:1", "PUBLISHED", before=((Effect.START_JOB, _deploy),), judge=True),
    Scenario("started at its time", b"good:1", "PUBLISHED", beside=(b"good:2",), waits=True),
    Scenario("started again at its time", b"good:1", "PUBLISHED", (Ending.FAILED,), waits=True),
    Scenario("declined", b"good:1", "QUARANTINED", answers="decline"),
    Scenario("own states", b"good:1", "PUBLISHED", answers="approve", machine=ASKING_TWICE),
    Scenario("own states declined", b"split:12", "QUARANTINED", answers="decline", machine=ASKING_TWICE),
    Scenario("own states unanswered", b"good:1", "QUARANTINED", answers="silence", machine=ASKING_TWICE),
    Scenario("withdrawn before its time", b"good:1", "QUARANTINED", answers="decline", dated=True),
    Scenario("withdrawn after an approval", b"split:12", "QUARANTINED", answers="withdraw", dated=True),
    Scenario("nobody answers", b"good:1", "QUARANTINED", answers="silence"),
    Scenario("approved late", b"good:1", "PUBLISHED", answers="approve", before=((Effect.ANSWER, _delete),)),
    Scenario("never measurable", b"error:1", "FAILED"),
    Scenario("key overwritten", b"good:1", "PUBLISHED", before=((Effect.STAGE, _overwrite),)),
    Scenario("contract changed", b"mild:1", "PUBLISHED", before=((Effect.STAGE, _publish),), may_end=("QUARANTINED",)),
    Scenario("contract retired", b"good:1", "PUBLISHED", before=((Effect.DECIDE, _retire),)),
    Scenario("deleted before intake", b"good:1", "GONE", unseen=True),
    Scenario("refused and deleted", b"%PDF:1", "GONE", before=((Effect.COPY, _delete),), may_end=("QUARANTINED",)),
    Scenario("line paused", b"good:1", "PUBLISHED", before=((Effect.CLAIM, _pause), (Effect.HOLD, _resume))),
    Scenario("segment completed", b"good:1", "PUBLISHED", earlier=(b"bad:1", b"good:2", b"good:3")),
    Scenario("key not granted", b"good:1", "FAILED", refusal=AccessDenied),
    Scenario("archived", b"%PDF:1", "FAILED", refusal=Archived),
    Scenario("deprecated by command", b"good:1", "PUBLISHED", command="deprecate"),
    Scenario("active again", b"good:1", "PUBLISHED", command="reactivate", line="retired", may_end=("QUARANTINED",)),
    Scenario("sunset by its date", b"good:1", "PUBLISHED", earlier=(b"good:2",), line="sunset"),
    Scenario("retired by its date", b"good:1", "QUARANTINED", line="retired", may_end=("PUBLISHED",)),
    Scenario("draft", b"good:1", "QUARANTINED", line="draft"),
    Scenario("deleted, swept and expired", b"good:1", "PUBLISHED", before=((Effect.COPY, _expire),)),
    Scenario("deleted while judged", b"good:1", "PUBLISHED", before=((Effect.DECIDE, _delete),)),
    *(
        Scenario(f"cancelled before: {effect}", b"good:1", "QUARANTINED", may_end=("PUBLISHED",), cancelled=effect)
        for effect in (
            *(Effect.PIN, Effect.STAGE, Effect.MARK_STAGED, Effect.SUBMIT, Effect.START_JOB),
            *(Effect.MARK_STARTED, Effect.WRITE_RESULT),
        )
    ),
    Scenario(  # the decision is written first; with a fault there, the cancellation
        "cancelled while it is decided", b"good:1", "PUBLISHED", may_end=("QUARANTINED",), cancelled=Effect.DECIDE
    ),
    Scenario(
        "cancelled in a batch",
        b"good:1",
        "QUARANTINED",
        may_end=("PUBLISHED",),
        batch=BATCHES,
        beside=(b"bad:1", b"good:2"),
        cancelled=Effect.WRITE_RESULT,
    ),
    Scenario(
        "cancelled while held",
        b"good:1",
        "QUARANTINED",
        before=((Effect.CLAIM, _pause),),
        may_end=("HELD",),
        cancelled=Effect.HOLD,
    ),
    Scenario("typed files", b"good:1", "PUBLISHED", typed=True),
    Scenario("typed files of a split", b"split:12", "PUBLISHED", typed=True),
    Scenario("rejected without typed files", b"bad:1", "QUARANTINED", typed=True),
    Scenario(
        "typed files of the second attempt", b"good:1", "PUBLISHED", (Ending.LATE_FAILURE, Ending.FAILED), typed=True
    ),
    Scenario("typed files by the function", b"good:1", "PUBLISHED", judge=True, typed=True),
    Scenario("typed files in a batch", b"good:1", "PUBLISHED", batch=BATCHES, beside=(b"bad:1", b"good:2"), typed=True),
    Scenario("typed files approved", b"split:12", "PUBLISHED", answers="approve", typed=True),
    Scenario("typed files declined", b"good:1", "QUARANTINED", answers="decline", typed=True),
)


@dataclass(slots=True)
class Played:
    """One schedule and what became of it."""

    end: str
    effects: dict[Effect, int]
    """How often each happened, or was about to."""
    steps: int
    left: int
    """Planned faults that never came to be."""


class Failed(AssertionError):  # noqa: N818 - what a promise did
    """A schedule that breaks a promise, with its whole trace as text: a worker process can hand it over."""


def play(scenario: Scenario, planned: tuple[Planned, ...] = ()) -> Played:
    """One delivery from upload to its end, with each planned fault at the first occurrence of its effect still free.

    Raises Failed where a promise breaks.
    """
    try:
        return _played(scenario, planned, None)
    except AssertionError:
        return _again(scenario, planned)


def _again(scenario: Scenario, planned: tuple[Planned, ...]) -> Played:
    """The same schedule once more, with its trace: recording one costs more than the schedule itself."""
    trace: list[str] = []
    try:
        return _played(scenario, planned, trace)
    except AssertionError as broken:
        faults = ", ".join(f"{kind.name} at {effect.name}" for effect, kind in planned) or "no fault"
        raise Failed("\n".join((f"BROKEN: {scenario.name}, {faults}: {broken}", *trace))) from None


def _played(scenario: Scenario, planned: tuple[Planned, ...], trace: list[str] | None) -> Played:
    workflow = scenario.machine or (DATED if scenario.dated else ASKING if scenario.answers else None)
    with waiting(workflow) if workflow else nullcontext(), with_typed_files() if scenario.typed else nullcontext():
        return _played_out(scenario, planned, trace)


def _played_out(scenario: Scenario, planned: tuple[Planned, ...], trace: list[str] | None) -> Played:
    left: list[Planned] = []

    def fault_at(effect: Effect) -> Fault:
        for each in left:
            if each[0] is effect:
                left.remove(each)
                return each[1]
        return Fault.NONE

    env = Environment(
        list(scenario.endings), judge=scenario.judge, batch=scenario.batch, signing=(UNSIGNED, SIGNED)[scenario.signs]
    )
    if scenario.waits:
        env.dependencies = replace(env.dependencies, timing=replace(TIMING, start_burst=0))
    stage = Stage(env, fault_at, trace)
    for number, body in enumerate(scenario.earlier):
        env.upload(f"{PREFIX}{number}.csv", body)
        settle(stage)
    if scenario.line:
        begin(env, scenario.line)
    stage.counted.clear()
    left += () if scenario.waived else planned
    upload = _uploaded(scenario, env)
    stage.before = [(effect, lambda act=act: act(env, upload)) for effect, act in scenario.before]  # type: ignore[misc]
    if scenario.cancelled is not None:
        stage.before.append((scenario.cancelled, lambda: _cancel(stage, upload)))
    if scenario.command:
        stage.start("command", command(env, scenario.command))
    settle(stage)
    _answer(scenario, stage, upload)
    if scenario.waived:
        stage.counted.clear()
        left += planned
        stage.waive(upload.workload, 60)
        settle(stage)
    row = env.memory.workloads.get(stage.promises.replays.get(upload.workload, upload.workload))
    end = str(row.state) if row else "never claimed"
    is_lost = row is None and upload.deleted and bool(planned)
    assert end in {scenario.ends, *scenario.may_end} or is_lost, f"{scenario.name} ended {end}"
    return Played(end, stage.counted, env.effects, len(left))


def _cancel(stage: Stage, upload: Upload) -> None:
    stage.cancel(upload.workload)
    stage.workers.insert(0, stage.workers.pop())


def _uploaded(scenario: Scenario, env: Environment) -> Upload:
    for number, body in enumerate(scenario.beside):
        env.upload(f"{PREFIX}beside-{number}.csv", body)
    upload = env.upload(KEY, scenario.body)
    if scenario.unseen:
        env.delete(upload)
    if scenario.refusal is not None:
        env.lock(upload, scenario.refusal)
    return upload


def _answer(scenario: Scenario, stage: Stage, upload: Upload) -> None:
    if scenario.dated and not scenario.answers:
        stage.pass_time(25 * 60)
        settle(stage)
    while scenario.answers and stage.env.memory.workloads[upload.workload].state in PASSIVE_STATES:
        if scenario.answers == "silence":
            stage.pass_time(8 * 24 * 60)
        else:
            is_asked = stage.env.memory.workloads[upload.workload].state is State.AWAITING
            is_approved = scenario.answers == "approve" or (scenario.answers == "withdraw" and is_asked)
            stage.answer(upload.workload, None if is_approved else "a reason")
        settle(stage)


def singles_of(scenario: Scenario) -> dict[Planned, Played]:
    """Every fault at every effect that happens, or that recovery from one fault brings about, and what became of it.

    Raises Failed where a promise breaks, and where no schedule ends as the scenario must.
    """
    singles: dict[Planned, Played] = {}
    met = dict.fromkeys(play(scenario).effects)
    for effect in met:
        for kind in KINDS:
            singles[effect, kind] = play(scenario, ((effect, kind),))
    recovery = dict.fromkeys(effect for each in singles.values() for effect in each.effects if effect not in met)
    singles |= {(effect, kind): play(scenario, ((effect, kind),)) for effect in recovery for kind in KINDS}
    if scenario.ends not in {each.end for each in singles.values()}:
        raise Failed(f"BROKEN: {scenario.name} never ended {scenario.ends}")
    return singles


def pairs_of(singles: dict[Planned, Played]) -> Iterator[tuple[Planned, Planned]]:
    """Every two faults that meet in one schedule.

    Where either keeps the other away, the pair is a single over again; so it is beside a throttled call, which a lone worker
    repeats at once.
    """
    lasting = [each for each in singles if each[1] is not Fault.THROTTLED]
    for one, other in combinations_with_replacement(lasting, 2):
        again = 2 if one[0] is other[0] else 1
        if singles[one].effects.get(other[0], 0) >= again and singles[other].effects.get(one[0], 0) >= again:
            yield one, other
