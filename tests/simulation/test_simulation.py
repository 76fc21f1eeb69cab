from __future__ import annotations

import gc
import pickle
from dataclasses import replace
from itertools import islice

import pytest

from lakegate.base.errors import AccessDenied
from lakegate.gate.delivery.advance import advance
from lakegate.gate.delivery.protocol import PUSH, Outcome, State
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.effects import Effect
from tests.fakes.jobs import Ending
from tests.simulation import environment, stage
from tests.simulation.__main__ import PLANTED_LIMIT, caught, main, until_caught
from tests.simulation.choices import Choices
from tests.simulation.environment import BATCHES, LAKE, PREFIX, Environment
from tests.simulation.exhaustive import MORE, SCENARIOS, Failed, Scenario, pairs_of, play, singles_of
from tests.simulation.planted import PLANTED, Planted, planted
from tests.simulation.promises import Violation
from tests.simulation.schedules import broken, run, shrunk, trace_text
from tests.simulation.stage import Fault, Stage, settle

SCHEDULES, SHARE = 1_000, 40
"""A sample: `make test` runs more by the command, `make nightly` a million and all pairs."""
EVERY = (*SCENARIOS, *MORE)
SLIPS = ("NameError", "IndexError", "TypeError", "AttributeError", "KeyError")


@pytest.mark.full  # `make test` plays all singles by the command
@pytest.mark.parametrize("scenario", EVERY, ids=lambda s: s.name)
def test_a_delivery_survives_every_single_fault(scenario: Scenario) -> None:
    """Each kind of fault at each effect of each way a delivery can go: every promise holds, and it ends as it must."""
    ends = {single.end for single in singles_of(scenario).values()}

    assert ends <= {scenario.ends, *scenario.may_end, "never claimed"}
    assert scenario.ends in ends


@pytest.mark.full  # `make test` plays every twentieth pair by the command
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.name)
def test_a_delivery_survives_pairs_of_faults(scenario: Scenario) -> None:
    """Two faults in one delivery, one within the other's recovery included, break no promise."""
    ends = {play(scenario, pair).end for pair in islice(pairs_of(singles_of(scenario)), 0, None, SHARE)}

    assert ends <= {scenario.ends, *scenario.may_end, "never claimed"}


def test_the_exhaustive_run_meets_every_effect_of_a_delivery(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the scenarios of batches, the command names what no scenario meets, and ends with 1; `make test` runs all."""
    monkeypatch.setattr("tests.simulation.__main__.SCENARIOS", SCENARIOS[:1])
    monkeypatch.setattr("tests.simulation.__main__.MORE", ())
    status = main(["0", "--pairs", "1000000", "--jobs", "1"])
    (missed,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("No scenario meets ")]

    assert (status, "CLOSE_BATCH" in missed.split(", ")) == (1, True)


def test_a_scenario_that_never_ends_as_it_must_is_reported(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where every schedule of a scenario ends in another state that is allowed, the command ends with 1."""
    wrong = replace(SCENARIOS[0], ends="GONE", may_end=(SCENARIOS[0].ends,))
    monkeypatch.setattr("tests.simulation.__main__.SCENARIOS", (wrong,))
    monkeypatch.setattr("tests.simulation.__main__.MORE", ())
    status = main(["0", "--pairs", "1000000", "--jobs", "1"])

    assert (status, f"BROKEN: {wrong.name} never ended GONE" in capsys.readouterr().out) == (1, True)


@pytest.mark.full  # `make test` plays more by the command
def test_random_schedules_break_no_promise(capsys: pytest.CaptureFixture[str]) -> None:
    """Two to four workers, a producer with a mind of its own and lying events: every promise holds at every step."""
    status = main([str(SCHEDULES), "--jobs", "1"])

    assert status == 0, capsys.readouterr().out


def test_deliveries_that_wait_to_start_break_no_promise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no run may start at once: whoever makes the starts may end at any time, and the next sweep makes them."""
    monkeypatch.setattr(environment, "TIMING", replace(environment.TIMING, start_burst=0))
    monkeypatch.setattr(stage, "SWEEPS", stage.SWEEPS + 1)

    assert [broken(Choices(seed)) for seed in range(300)] == [None] * 300


@pytest.mark.full  # `make test` plants all bugs by the command
@pytest.mark.parametrize("bug", PLANTED, ids=lambda b: b.name)
def test_a_planted_bug_falls(bug: Planted) -> None:
    """The checker sees this bug within a hundred thousand schedules, by a promise it breaks and not by a slip of the plant."""
    needed, seen = caught(bug, seed=7)

    assert seen, f"survived {needed:,} schedules"
    assert needed <= PLANTED_LIMIT
    assert [slip for slip in SLIPS if slip in seen] == []


def test_a_run_whose_list_of_members_is_missing_breaks_a_promise() -> None:
    """The checker reports a batch that was started without its list, and does not fail when it looks for it."""
    bug = next(each for each in PLANTED if each.name == "a conflict counts as done in the driver")
    env = Environment(batch=BATCHES)
    env.upload(f"{PREFIX}day.csv", b"good:1")
    stage = Stage(env, lambda effect: Fault.CONFLICT if effect is Effect.WRITE_BATCH else Fault.NONE)
    with planted(bug), pytest.raises(Violation, match="P23: a batch was started before the list of its members"):
        settle(stage)


@pytest.mark.parametrize(
    "name",
    [
        "result.json is read twice, the digest of the first and the verdict of the second",
        "the door sees that the newest version is the one that landed, then reads the newest",
    ],
)
def test_who_reads_an_object_twice_may_find_another_one(name: str) -> None:
    """Others act between two reads of one step, too: what is checked in the first and used of the second breaks a promise."""
    (bug,) = [each for each in PLANTED if each.name == name]
    needed, violation = until_caught(bug, seed=512, known=True)

    assert needed < PLANTED_LIMIT
    assert str(violation).startswith("P21: the ledger has rejected (")


def test_a_person_puts_back_the_result_that_was_decided_on() -> None:
    """It was exchanged after the decision: nothing is published of the other one, and its delivery ends once it is back."""
    env = Environment()
    upload = env.upload(f"{PREFIX}day.csv", b"good:1")
    env.after_read(LAKE, f"/{upload.workload}/attempt=1/result.json", 0, lambda key: env.exchange(upload, key))
    trace: list[str] = []
    stage = Stage(env, lambda _: Fault.NONE, trace)
    sweeps = settle(stage)

    assert (env.memory.workloads[upload.workload].state, stage.faults, sweeps) == (State.PUBLISHED, 1, 1)
    assert "    (a person puts back the result that was decided on)" in trace


def test_at_least_twenty_bugs_are_planted_and_leave_no_trace() -> None:
    """The list is long enough to mean something, and the real code is the same after it."""
    bug = PLANTED[0]
    inside = until_caught(bug, seed=9)[1] is not None

    assert len(PLANTED) >= 20
    assert inside
    assert sum(broken(Choices(seed)) is None for seed in range(200)) == 200


def test_a_known_schedule_is_tried_first() -> None:
    """It shows a rare bug at once; where it does not any more, the random schedules follow."""
    bug = next(each for each in PLANTED if until_caught(each, seed=9)[0] > 1)
    needed, violation = until_caught(bug, seed=9)
    known = until_caught(replace(bug, seed=8 + needed), seed=9, known=True)
    outdated = until_caught(replace(bug, seed=9), seed=9, known=True)

    assert [(many, str(seen)) for many, seen in (known, outdated)] == [
        (1, str(violation)),
        (needed + 1, str(violation)),
    ]


def test_a_seed_repeats_the_same_schedule() -> None:
    """A schedule is its numbers and nothing else: the same seed leads to the same steps."""
    stories: list[list[str]] = [[], []]
    for trace in stories:
        run(Choices(4711), trace)

    assert stories[0] == stories[1]
    assert len(stories[0]) > 10


def test_a_schedule_frees_its_environment() -> None:
    """No cycle keeps an environment: reference counts free it when its schedule ends, so a run needs no collector."""
    gc.collect()
    of_other_tests = environments()
    gc.disable()
    try:
        for seed in range(100):
            run(Choices(seed))
        left = [each for each in environments() if all(each is not other for other in of_other_tests)]
    finally:
        gc.enable()

    assert left == []


def environments() -> list[Environment]:
    """All of this process."""
    return [each for each in gc.get_objects() if type(each) is Environment]


def test_a_failing_schedule_shrinks_to_a_short_trace() -> None:
    """The shrunk script is shorter than the one found, and still breaks the same promise."""
    bug = next(each for each in PLANTED if each.name == "delete by key")
    needed, violation = until_caught(bug, seed=3)
    assert violation is not None
    with planted(bug):
        choices = Choices(2 + needed)
        broken(choices)
        script = shrunk(tuple(choices.made), violation.promise)
        trace = trace_text(script)

    assert len(script) < len(choices.made)
    assert f"=> {violation.promise}" in trace
    assert "intake #1 does claim the version" in trace
    assert len(trace.splitlines()) < 60


def test_the_command_ends_non_zero_on_a_violation(capsys: pytest.CaptureFixture[str]) -> None:
    """`python -m tests.simulation` prints the seed and the trace, and ends with 1, when a promise breaks."""
    bug = next(each for each in PLANTED if each.name == "copy before decide")
    with planted(bug):
        status = main(["50", "--seed", "1", "--jobs", "2"])

    told_us = capsys.readouterr().out
    assert status == 1
    assert "seed 1\n" in told_us
    assert "=> P2" in told_us


@pytest.mark.parametrize(
    "broken", [Violation("P1", "an object was lost"), Failed("BROKEN: accepted\nits trace")], ids=repr
)
def test_a_violation_survives_the_way_from_a_worker_process(broken: AssertionError) -> None:
    """The starting process reports what a worker process finds: the same kind, the same text."""
    handed = pickle.loads(pickle.dumps(broken))  # noqa: S301 - our own bytes, as multiprocessing hands them over

    assert (type(handed), str(handed), vars(handed)) == (type(broken), str(broken), vars(broken))


def test_a_broken_single_is_reported_and_does_not_stop_the_run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A promise that one fault breaks, found in a worker process: its schedule, its trace, and the planted bugs still run."""
    bug = next(each for each in PLANTED if each.name == "closed before the source is deleted")
    monkeypatch.setattr("tests.simulation.__main__.PLANTED", PLANTED[:1])
    monkeypatch.setattr("tests.simulation.__main__.SCENARIOS", SCENARIOS[:1])
    monkeypatch.setattr("tests.simulation.__main__.MORE", ())
    with planted(bug):
        status = main(["0", "--seed", "1", "--pairs", "1000000", "--planted", "--jobs", "2"])

    first, second, third, *_, last = capsys.readouterr().out.splitlines()
    assert (status, first, second, third, last) == (
        1,
        "seed 1",
        "BROKEN: accepted, no fault: P4: a judged version was left behind",
        "intake #1 does claim the version: delivery 1 (shop/orders/day.csv)",
        "1 planted bugs, 0 survived; schedules until caught above",
    )


def test_a_run_that_died_before_recovery_began_costs_as_much_as_a_later_one() -> None:
    """The budget of P4: a hung run whose start got no answer, then a run whose event is lost, are within it."""
    unanswered = [Effect.START_JOB]

    def fault_at(effect: Effect) -> Fault:
        if effect in unanswered:
            unanswered.remove(effect)
            return Fault.UNANSWERED
        return Fault.NONE

    env = Environment([Ending.HUNG, Ending.SILENT])
    upload = env.upload(f"{PREFIX}day.csv", b"good:1")
    stage = Stage(env, fault_at)
    stage.deliver(0)
    while stage.workers:
        stage.step(stage.workers[0])
    sweeps = settle(stage)

    assert env.memory.workloads[upload.workload].state is State.PUBLISHED
    assert sweeps == 3


def test_recovery_that_takes_too_long_is_a_violation() -> None:
    """The budget has an end: a delivery that no sweep finds is not waited for without limit."""
    bug = next(each for each in PLANTED if each.name == "sweep lists no landing")
    env = Environment()
    env.upload(f"{PREFIX}day.csv", b"good:1")
    env.inbox.clear()
    with planted(bug), pytest.raises(Violation, match="P1: a version was never claimed"):
        settle(Stage(env, lambda _: Fault.NONE))


def test_every_transition_of_the_workflow_is_taken() -> None:
    """No row of the workflow's table is beyond the reach of the random schedules."""
    left = {(each.source, each.to) for each in PUSH.transitions if each.on is not Outcome.CONFLICT}
    for seed in range(1_500):
        left -= run(Choices(seed)).taken
        if not left:
            break

    assert left == set()


@pytest.mark.parametrize(("what", "effect"), [("delete", Effect.VANISH), ("lock", Effect.FAIL), ("", Effect.PIN)])
def test_who_was_refused_a_lease_may_let_go_what_is_held(what: str, effect: Effect) -> None:
    """The pause of a line lets go what it holds, whoever leased it before: no promise is broken by any of its ends."""
    env = Environment()
    stage = Stage(env, lambda _: Fault.NONE)
    upload = env.upload(f"{PREFIX}day.csv", b"good:1")
    stage.pause()
    while stage.workers or env.inbox:
        stage.step(stage.workers[0]) if stage.workers else stage.deliver(0)
    stage.resume()
    stage.step(stage.workers[0])
    if what == "delete":
        env.delete(upload)
    elif what == "lock":
        env.lock(upload, AccessDenied)
    stage.start("sweep", advance(DeliveryTurn(env.dependencies, env.memory.workloads[upload.workload])))
    stage.workers[-1].barred.add(upload.workload)
    assert stage.workers[-1].call.effect is effect
    stage.step(stage.workers[-1])

    assert env.memory.workloads[upload.workload].state is not State.HELD


def test_the_first_broken_promise_ends_the_run_with_its_story(capsys: pytest.CaptureFixture[str]) -> None:
    """Other tasks are left; the story is short, and names the deliveries by number and key."""
    (bug,) = [each for each in PLANTED if each.name == "unrouted deliveries are in the chain of the day of the sweep"]
    with planted(bug):
        status = main(["100000", "--seed", "1", "--jobs", "2"])
    story = capsys.readouterr().out

    assert status == 1
    assert story.startswith("seed 1\nBROKEN by schedule ")
    assert " claim the version: delivery 1 (elsewhere/c.csv)\n" in story
    assert story.rstrip().endswith("=> P3: an unrouted delivery is in the chain or the folder of another day")
    assert len(story.splitlines()) < 30
