"""Pulls under faults: every effect fails in every way, ticks interleave, and the source changes, breaks off and lies.

At the end of each run: every object in landing is one version of the source, whole; no version is there twice; the last version
of the source is there, once the source can be read; and no upload is left open but by a crash right after its beginning.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from lakegate.contracts.lake.pulls import SourceIdentity, ended
from lakegate.functions.ports.errors import PortError, Unanswered
from lakegate.functions.usecases.steps import Effect
from tests.fakes.pulls import MemorySource
from tests.unit.usecases.pull_stage import PullStage, scheduled

if TYPE_CHECKING:
    from collections.abc import Callable

    from lakegate.functions.usecases.pull_landing import Pulled
    from lakegate.functions.usecases.steps import Call, Steps

SCHEDULES = 20_000 if os.environ.get("LAKEGATE_FULL") else 300
BODIES = (b"id", b"id\n1\n2\n3\n4", b"id\n1\n2\n3")


class Fault(StrEnum):
    """What happens to one effect."""

    BEFORE = "the tick ends before it"
    AFTER = "the tick ends behind it"
    UNKNOWN = "it happens, and the answer is lost"
    REFUSED = "it does not happen, and no answer comes"
    TWICE = "it happens twice"


class Ended(Exception):  # noqa: N818 - the name is what happened
    """The function was stopped."""


def performed(call: Call, fault: Fault | None) -> Any:
    """An effect with a fault."""
    if fault is Fault.BEFORE:
        raise Ended
    if fault is Fault.REFUSED:
        raise Unanswered("refused")
    answer = call.do()
    if fault is Fault.TWICE and call.effect in {Effect.LAND_PART, Effect.END_UPLOAD}:
        call.do()
    if fault is Fault.AFTER:
        raise Ended
    if fault is Fault.UNKNOWN:
        raise Unanswered("unknown")
    return answer


def played(steps: Steps[Pulled], fault_of: Callable[[int], Fault | None]) -> int:
    """One tick with faults. Returns how many effects there were."""
    count = 0
    try:
        call = next(steps)
        while True:
            count += 1
            try:
                answer = performed(call, fault_of(count))
            except PortError as refused:
                call = steps.throw(refused)
            else:
                call = steps.send(answer)
    except StopIteration:
        return count
    except Ended:
        steps.close()
        return count


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
    most = played(scheduled(body).steps(), lambda _: None)
    for at in range(1, most + 1):
        stage = scheduled(body)
        played(stage.steps(), lambda number, at=at: fault if number == at else None)
        finish(stage, (body,))


@dataclass
class Tick:
    """A tick under way."""

    steps: Steps[Pulled]
    call: Call | None

    def advance(self, fault: Fault | None) -> bool:
        """One effect. Returns whether the tick goes on."""
        assert self.call is not None
        try:
            try:
                answer = performed(self.call, fault)
            except PortError as refused:
                self.call = self.steps.throw(refused)
            else:
                self.call = self.steps.send(answer)
        except (StopIteration, Ended):
            self.steps.close()
            return False
        return True


@pytest.mark.parametrize("seed", range(SCHEDULES))
def test_random_schedules(seed: int) -> None:
    """Two ticks interleave, with faults, while the source changes, breaks off, and lies about its length."""
    choose = random.Random(seed)
    stage = scheduled(choose.choice(BODIES), says=True, resumes=choose.random() < 0.8)
    versions, ticks = [stage.source.body], list[Tick]()
    for _ in range(60):
        match choose.randrange(12):
            case 0 | 1 if len(ticks) < 2:
                steps = stage.steps()
                ticks.append(Tick(steps, next(steps, None)))
                ticks = [each for each in ticks if each.call is not None]
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


PULLING = "lakegate.functions.usecases.pulling"
BUGS: dict[str, tuple[str, object]] = {
    "all goes to one key": (f"{PULLING}.key_of", lambda prefix, *_: f"{prefix}rows.csv"),
    "what was fetched is forgotten": (f"{PULLING}.ended", lambda row, end, _: ended(row, end, SourceIdentity())),
    "a length is not compared": ("lakegate.functions.usecases.pull_landing._verify", lambda *_: None),
    "a remainder is of any source": (
        "tests.unit.usecases.pull_stage.MemorySource",
        partial(MemorySource, checks=False),
    ),
}


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_found(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The checks above are able to see, within as many schedules."""
    monkeypatch.setattr(*BUGS[bug])
    for seed in range(300):
        try:
            test_random_schedules(seed)
        except AssertionError:
            return
    pytest.fail(bug)
