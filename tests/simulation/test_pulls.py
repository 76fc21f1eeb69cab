"""Pulls under faults: every effect fails in every way, ticks interleave, and the source changes, breaks off and lies.

At the end of each run: every object in landing is one version of the source, whole; no version is there twice; the last version
of the source is there, once the source can be read; and no upload is left open but by a crash right after its beginning.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from dataclasses import replace
from functools import partial

import pytest

from lakegate.features.pull.pull_sources import SourceIdentity
from lakegate.features.pull.pull_task import ended
from lakegate.gate.effects import Effect
from tests.fakes.pulls import MemorySource
from tests.simulation.invocations import Fault, Invocation, is_found
from tests.unit.features.pull.pull_stage import PullStage, scheduled

SCHEDULES = 20_000 if os.environ.get("LAKEGATE_FULL") else 300
REPEATED = frozenset({Effect.LAND_PART, Effect.END_UPLOAD})
"""Effects that need no condition, because they may be repeated."""
BODIES = (b"id", b"id\n1\n2\n3\n4", b"id\n1\n2\n3")


def tick_of(stage: PullStage) -> Invocation:
    """A tick; without an effect if nothing is due."""
    return Invocation(stage.steps(), REPEATED)


def finish(stage: PullStage, versions: tuple[bytes, ...]) -> None:
    """Ticks without faults, until the last version is there; then what holds at the end."""
    for _ in range(40):
        stage.tick(0.5)
    counts = Counter(stage.bodies)
    assert set(counts) <= set(versions), "a mixed object"
    assert max(counts.values()) == 1, "a version twice"
    assert stage.source.body in counts, "lost"


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("fault", Fault)
def test_every_effect_fails_in_every_way(fault: Fault, body: bytes) -> None:
    """Whatever happens to one effect, the source lands once."""
    most = tick_of(scheduled(body)).played(lambda _: None)
    for at in range(1, most + 1):
        stage = scheduled(body)
        tick_of(stage).played(lambda number, at=at: fault if number == at else None)
        finish(stage, (body,))


@pytest.mark.parametrize("seed", range(SCHEDULES))
def test_random_schedules(seed: int) -> None:
    """Two ticks interleave, with faults, while the source changes, breaks off, and lies about its length."""
    choose = random.Random(seed)
    stage = scheduled(choose.choice(BODIES), says=True, resumes=choose.random() < 0.8)
    versions, ticks = [stage.source.body], list[Invocation]()
    for _ in range(60):
        match choose.randrange(12):
            case 0 | 1 if len(ticks) < 2:
                ticks += [each] if (each := tick_of(stage)).call else []
            case 2:
                versions.append(b"%d:%s" % (len(versions), choose.choice(BODIES)))
                stage.source.body = versions[-1]
            case 3:
                setattr(stage.source, choose.choice(["breaks_at", "ends_at"]), choose.randrange(10))
            case 4:
                stage.source.size = choose.choice([len, lambda body: len(body) + 1])
            case 5:
                stage.env.memory.clock.sleep(choose.choice([60, 300, 900, 3_600] if not ticks else [60, 60, 1_500]))
            case _ if ticks:
                tick = choose.choice(ticks)
                fault = choose.choice(list(Fault)) if choose.random() < 0.1 else None
                if not tick.advance(fault):
                    ticks.remove(tick)
            case _:
                continue
    for tick in ticks:
        tick.steps.close()
    stage.source.size, stage.source.breaks_at, stage.source.ends_at = len, None, None
    finish(stage, tuple(versions))


PULLING = "lakegate.features.pull.pull_task"
BUGS: dict[str, tuple[str, object]] = {
    "all goes to one key": (f"{PULLING}.key_of", lambda prefix, *_: f"{prefix}rows.csv"),
    "what was fetched is forgotten": (
        f"{PULLING}.ended",
        lambda row, end: replace(ended(row, end), seen=SourceIdentity()),
    ),
    "a length is not compared": ("lakegate.features.pull.pull_task.verify_size", lambda *_: None),
    "a remainder is of any source": (
        "tests.unit.features.pull.pull_stage.MemorySource",
        partial(MemorySource, checks=False),
    ),
}


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_found(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The checks above are able to see, within as many schedules."""
    monkeypatch.setattr(*BUGS[bug])
    assert is_found(test_random_schedules, 300), bug
