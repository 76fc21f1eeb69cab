"""Measurements by schedule under faults: every effect fails in every way, sweeps and events interleave, and the line changes.

At the end of each run: each run that ended with a result has one record, one message and one end; the mark of the manifest is
what the last record states, and says of each rule that was measured what its last run found; the chain is whole.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from lakegate.base.errors import PortError
from lakegate.base.timestamps import instant_of
from lakegate.features.revalidation.revalidation import TASK, stale_rules
from lakegate.gate.datasets.dataset_states import DatasetStatus, StatusChange
from lakegate.gate.effects import Effect
from lakegate.gate.ledger.blocks import GENESIS, digest
from lakegate.gate.ports import JobState, Message
from lakegate.gate.scheduled_tasks import run_row
from tests.fakes.jobs import Ending, Run
from tests.simulation.environment import LINE
from tests.simulation.invocations import Fault, Invocation, is_found
from tests.unit.features.erasure.test_erasure import erased, erasing, settled
from tests.unit.features.revalidation.revalidation_stage import SCHEDULED, RevalidationStage, measured_hourly
from tests.unit.features.revalidation.test_run_ends import ended

SCHEDULES = 10_000 if os.environ.get("LAKEGATE_FULL") else 120
ENDINGS = (Ending.ANSWERED, Ending.ANSWERED, Ending.ANSWERED, Ending.FAILED, Ending.EMPTY)


REPEATED = frozenset({Effect.WRITE_PLAN, Effect.WRITE_REQUEST, Effect.START_JOB, Effect.REPORT})
"""Effects that need no condition, because they may be repeated."""


def sweep_of(stage: RevalidationStage) -> Invocation:
    """A sweep that is about the line alone; without an effect if nothing is due."""
    return Invocation(run_row(stage.env.dependencies, TASK, LINE), REPEATED, (PortError,))


def event_of(stage: RevalidationStage, about: Run, *, failed: bool = False) -> Invocation:
    """The function that receives the end of a run; also one that has not ended, and one that is over for long."""
    return Invocation(ended(stage, about, failed=failed), REPEATED, (PortError,))


def played(stage: RevalidationStage, fault_of: Callable[[int], Fault | None], *, by_event: bool) -> int:
    """One run from its beginning to its end, with faults. Returns how many effects there were. `by_event`: not by a sweep."""
    stage.env.memory.clock.sleep(3_600)
    count = sweep_of(stage).played(fault_of)
    for each in stage.runs:
        stage.answer(each)
    stage.env.memory.clock.sleep(360)
    last = event_of(stage, stage.runs[0]) if by_event and stage.runs else sweep_of(stage)
    return last.played(fault_of, count)


def finish(stage: RevalidationStage) -> None:
    """Sweeps without faults until no run is under way, and one more run; then what holds at the end."""
    for _ in range(25):
        for each in stage.runs:
            stage.answer(each)
        stage.sweep(6)
    check(stage)
    run, dependencies = stage.row.run, stage.env.dependencies
    assert run is None or dependencies.now - instant_of(run.at) < timedelta(hours=1), "a run is stuck"
    newest = max(dependencies.registry.contract("orders").versions, key=lambda each: each.version)
    if not newest.labels and dependencies.datasets.get(LINE).status_at(stage.now) is not DatasetStatus.RETIRED:
        assert stage.stale == [], "a mark that nobody lifts"


def check(stage: RevalidationStage) -> None:
    """What holds whenever no sweep is under way."""
    blocks = stage.env.dependencies.ledger.blocks(LINE)
    below = [GENESIS, *map(digest, blocks)]
    assert [each.previous for each in blocks] == below[:-1], "a broken chain"
    runs = [each["run"] for each in stage.records if each["rules"]]
    assert len(set(runs)) == len(runs), "a run twice in the ledger"
    found = {each.event for each in blocks if each.kind == "revalidation"}  # type: ignore[union-attr]  # of records
    assert len(found) == len(stage.records), "an event twice"
    latest: Any = next((each for each in reversed(blocks) if each.kind == "revalidation"), None)
    assert [each["rule"] for each in stale_rules(latest)] == stage.stale, "another mark"
    last: dict[str, bool] = {}
    for record in stage.records:
        if not record["rules"]:
            last = {}
        names = {"cron(0 * * * ? *)": "once", "cron(30 6 * * ? *)": "many"}
        broken = {each["rule"] for each in record["broken"]}
        last |= {names[each]: names[each] in broken for each in record["schedules"]}
        assert {each["rule"] for each in record["stale"]} == {name for name, bad in last.items() if bad}, "a wrong mark"
    messages = [each for each in stage.messages if each["outcome"] != "FAILED"]
    assert len(messages) == len(runs), "a message lost or twice"


@pytest.mark.parametrize("by_event", [False, True])
@pytest.mark.parametrize("broken", [set(), {"once"}])
@pytest.mark.parametrize("fault", Fault)
def test_every_effect_fails_in_every_way(fault: Fault, broken: set[str], *, by_event: bool) -> None:
    """Whatever happens to one effect, what was measured is recorded, marked and reported once."""
    whole = measured_hourly()
    whole.broken = broken
    most = played(whole, lambda _: None, by_event=by_event)
    assert len(whole.records) == 1
    for at in range(1, most + 1):
        stage = measured_hourly()
        stage.broken = broken
        played(stage, lambda number, at=at: fault if number == at else None, by_event=by_event)
        for _ in range(3):
            for each in stage.runs:
                stage.answer(each)
            stage.sweep(6)
        check(stage)
        assert (len(stage.records), stage.stale) == (1, sorted(broken)), (at, fault)


@pytest.mark.parametrize("seed", range(SCHEDULES))
def test_random_schedules(seed: int) -> None:
    """Sweeps and events interleave, with faults, while deliveries, erasures and versions arrive, and runs are lost or late."""
    choose = random.Random(seed)
    stage = measured_hourly(b"good", b"good", judge=choose.random() < 0.5)
    sweeps: list[Invocation] = []
    for _ in range(80):
        match choose.randrange(15):
            case 0 | 1 if len(sweeps) < 2:
                sweeps += [each] if (each := sweep_of(stage)).call else []
            case 8 if stage.runs and len(sweeps) < 3:
                about = choose.choice(stage.runs[-3:])
                each = event_of(stage, about, failed=about.state is JobState.FAILED)
                sweeps += [each] if each.call else []
            case 2 | 3 | 4 | 5 | 6 | 7 as number:
                happen(stage, choose, number)
            case _ if sweeps:
                sweep = choose.choice(sweeps)
                fault = choose.choice(list(Fault)) if choose.random() < 0.1 else None
                if not sweep.advance(fault):
                    sweeps.remove(sweep)
    for sweep in sweeps:
        sweep.steps.close()
    if choose.random() < 0.2:
        retire(stage)
    finish(stage)


def happen(stage: RevalidationStage, choose: random.Random, what: int) -> None:
    """Something that nobody's sweep does."""
    match what:
        case 2:
            stage.broken = {each for each in ("many", "once") if choose.random() < 0.5}
        case 3 if stage.runs:
            stage.answer(choose.choice(stage.runs), choose.choice(ENDINGS))
        case 4 if stage.delivered < 6:
            stage.deliver()
        case 5 if choose.random() < 0.3:
            stage.publish(*choose.choice([SCHEDULED, SCHEDULED, ()]), version=f"1.{choose.randrange(2)}.0")
        case 6 if choose.random() < 0.2:
            erase_one(stage, choose)
        case 7:
            stage.env.memory.clock.sleep(choose.choice([60, 300, 900, 3_600, 3_600, 43_200]))


def erase_one(stage: RevalidationStage, choose: random.Random) -> None:
    """A whole delivery is erased."""
    number = choose.randrange(stage.delivered)
    try:
        each = erasing(stage.env, None, number=number)
    except ValueError:  # nothing is left of it
        return
    erased(stage.env, each, number=number)
    settled(stage.env)


def retire(stage: RevalidationStage) -> None:
    """The line is retired."""
    line = stage.env.dependencies.datasets.get(LINE)
    changes = (StatusChange(DatasetStatus.RETIRED, stage.now),)
    after = replace(line, changes=changes, recorded=1, listed=True)
    stage.env.dependencies.datasets.write(after)


REVALIDATION = "lakegate.features.revalidation.revalidation"


def _never(*_: object) -> Any:
    """A use case that does nothing."""
    yield from ()


BUGS: dict[str, tuple[str, object]] = {
    "the event of a record is of the time": (f"{REVALIDATION}.event_id", lambda *_: f"{random.getrandbits(256):064x}"),
    "nothing is kept of other schedules": (
        f"{REVALIDATION}.stale_after",
        lambda _before, _scheduled, _measured, broken, at: [{"rule": each, "since": at} for each in sorted(broken)],
    ),
    "the manifest is not marked": (f"{REVALIDATION}.readers_manifest", SimpleNamespace(update=_never)),
    "a run that is lost is waited for": (f"{REVALIDATION}._is_over", lambda *_: False),
    "an end is reported by its time": (
        "lakegate.gate.datasets.lifecycle.Message",
        lambda identity, *rest: Message(f"{identity}:{rest[3]}", *rest),
    ),
    "a mark is never lifted": (f"{REVALIDATION}.lift", _never),
}


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_found(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The checks above are able to see, within as many schedules."""
    monkeypatch.setattr(*BUGS[bug])
    assert is_found(test_random_schedules, 150), bug
