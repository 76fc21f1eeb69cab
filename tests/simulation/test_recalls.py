"""Recalls and restorations: every effect with every fault, beside another person, a commit that supersedes, and an erasure."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

import pytest

from lakegate.base.errors import InputError, LakegateError, NotFound, Throttled, Unanswered
from lakegate.contract.delivery_policy import Replaces
from lakegate.features.erasure.erasure import Erasing, Why, erase, settle
from lakegate.gate.datasets.accepted_deliveries import newest_accepted
from lakegate.gate.datasets.compare_manifest import UNTRUE, manifest_faults
from lakegate.gate.delivery.advance import advance
from lakegate.gate.delivery.intake import intake
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.effects import Call, Steps, run
from lakegate.gate.ledger.blocks import Record, deliveries
from lakegate.gate.sweep import sweep
from lakegate.plan.plan import Plan
from tests.decisions import recall, restore
from tests.fakes.identity import ALICE, BOB, MemoryIdentity
from tests.simulation.contract import PLAN
from tests.simulation.environment import LANDING, LINE, PREFIX, Environment
from tests.simulation.stage import Fault, Stage
from tests.simulation.stage import settle as settled

BY_PERIOD = replace(PLAN, policy=replace(PLAN.policy, replaces=Replaces.PERIOD, period="name"))
"""Likewise, of the same period under any name."""
REPLACING = replace(PLAN, policy=replace(PLAN.policy, replaces=Replaces.DELIVERY))
"""The contract of the simulation, by which what is delivered again takes the place of what was accepted before."""
FAULTS = (Fault.NONE, Fault.CRASH_BEFORE, Fault.CRASH_AFTER, Fault.UNANSWERED, Fault.TWICE, Fault.THROTTLED)


class Town:
    """A dataset with three accepted deliveries, one that is decided and will supersede the second, and two people."""

    def __init__(self, plan: Plan = REPLACING, word: bytes = b"good") -> None:
        self.env = Environment(periods=plan.policy.replaces is Replaces.PERIOD)
        self.env.publish("1.0.0", "active", plan)
        stage = Stage(self.env, lambda _: Fault.NONE)
        uploads = []
        for number in range(3):
            uploads.append(self.env.upload(f"{PREFIX}{number}.csv", b"%s:%d" % (word, number)))
            settled(stage)
        self.rows = [self.env.dependencies.workloads.get(each.workload) for each in uploads]
        upload = self.env.upload(f"{PREFIX}{'new' if self.env.periods else 1}.csv", b"%s:1d" % word)
        run(intake(self.env.dependencies, LANDING, upload.version.key), self.env.dependencies.clock)
        for _, job in self.env.new_jobs():
            run(job, self.env.dependencies.clock)
        self.last = upload.workload
        self.objects = self.accepted()

    def decides(self, act: Callable[..., Steps[str]], height: int, actor: str = ALICE) -> Steps[str]:
        by = replace(self.env.dependencies, identity=MemoryIdentity(actor))
        return act(by, self.rows[height].id, f"by {actor}")

    def publish(self) -> None:
        """The last delivery is decided and published."""
        row = self.env.dependencies.workloads.get(self.last)
        run(advance(DeliveryTurn(self.env.dependencies, row)), self.env.dependencies.clock)

    def erase(self) -> None:
        """All of what is recalled is erased, for a person who demands it."""
        blocks = self.env.dependencies.ledger.blocks(LINE)
        (stored,) = deliveries(blocks)[1].objects
        erasing = Erasing(stored.key, stored.version, 1, None)
        why = Why("a ticket", ("id",))
        steps = erase(self.env.dependencies, LINE, self.rows[1].id, (erasing,), why, searched=len(blocks) - 1)
        run(steps, self.env.dependencies.clock)
        run(settle(self.env.dependencies, LINE), self.env.dependencies.clock)

    def accepted(self) -> set[tuple[str, str]]:
        """Every version of accepted data."""
        folder = f"accepted/{LINE}/ingest_date="
        return {(key, each.version) for key, some in self.env.lake.items() if key.startswith(folder) for each in some}

    def holds(self) -> None:
        """At every moment: manifest and references say what the ledger says up to their heights, and nothing is deleted."""
        blocks = self.env.dependencies.ledger.blocks(LINE)
        assert UNTRUE not in {each.what for each in manifest_faults(self.env.dependencies, LINE, len(blocks) - 1)}
        for height in range(len(blocks)):
            found = [each.height for each in newest_accepted(self.env.dependencies, LINE, height)]
            assert found == reference(blocks[: height + 1])
        assert self.accepted() >= self.objects

    def ended(self, decided: list[tuple[str, int]]) -> None:
        """Once all is repeated and swept: each act is recorded once, its event was put once, and the manifest shows it."""
        self.env.memory.clock.sleep(3600)
        run(sweep(self.env.dependencies), self.env.dependencies.clock)
        blocks = self.env.dependencies.ledger.blocks(LINE)
        acts = [
            (each.kind, each.content["height"]) for each in blocks if isinstance(each, Record) and each.kind[0] == "r"
        ]
        told = [each for each in self.env.dependencies.outbox.pending(100) if each.dataset]
        kinds = {"recall": "recalled", "restore": "restored"}
        assert sorted(acts) == sorted(decided)
        assert sorted((each.kind, json.loads(each.body)["height"]) for each in told) == sorted(
            (kinds[kind], height) for kind, height in decided
        )
        assert not list(manifest_faults(self.env.dependencies, LINE, len(blocks) - 1))


def reference(blocks: tuple[Any, ...]) -> list[int]:
    """The heights that are current, the newest first: written out for the deliveries of the town."""
    recalled: set[int] = set()
    for each in blocks:
        if isinstance(each, Record) and each.kind in {"recall", "restore"}:
            (recalled.add if each.kind == "recall" else recalled.discard)(each.content["height"])
    last = next((each for each in deliveries(blocks) if each.supersedes), None)
    out = recalled | ({1} if last is not None and last.height not in recalled else set())
    return [each.height for each in reversed(deliveries(blocks)) if each.height not in out]


class Observed(Protocol):
    """A world of a few use cases, with what holds in it at every moment."""

    def holds(self) -> None:
        """AssertionError where it does not."""


def play(
    town: Observed, steps: Steps[Any], at: int = -1, fault: Fault = Fault.NONE, meanwhile: Callable[[], object] = int
) -> int:
    """Drive a command with one fault at its effect of a number, before which something else happens. Returns its effects."""
    count = 0
    try:
        call = next(steps)
        while True:
            if count == at:
                meanwhile()
            faulty = fault if count == at else Fault.NONE
            count += 1
            if faulty is Fault.CRASH_BEFORE:
                return count
            call = _answered(steps, call, faulty)
            town.holds()
            if faulty is Fault.CRASH_AFTER:
                return count
    except (StopIteration, InputError, Unanswered, Throttled, NotFound):
        town.holds()
        return count


def _answered(steps: Steps[Any], call: Call, fault: Fault) -> Call:
    try:
        if fault is Fault.THROTTLED:
            raise Throttled
        answer = call.do()
        if fault is Fault.TWICE:
            answer = call.do()
        if fault is Fault.UNANSWERED:
            raise Unanswered
    except LakegateError as refused:
        return steps.throw(refused)
    return steps.send(answer)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_recall_is_whole_or_not_at_all_and_is_completed_by_repeating_it(fault: Fault) -> None:
    """With any fault at any effect; then it is restored with the same fault."""
    town = Town()
    effects = play(town, town.decides(recall, 1))
    for at in range(effects):
        town = Town()
        for act in (recall, restore):
            play(town, town.decides(act, 1), at, fault)
            play(town, town.decides(act, 1))
        town.publish()
        town.ended([("recall", 1), ("restore", 1)])


@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_recalled_is_superseded_at_the_same_time(fault: Fault) -> None:
    """Before any effect of the recall, which may fail there; restored, it is superseded, until the new one is recalled."""
    effects = play(town := Town(), town.decides(recall, 1))
    for at in range(effects):
        town = Town()
        play(town, town.decides(recall, 1), at, fault, town.publish)
        play(town, town.decides(recall, 1))
        play(town, town.decides(restore, 1), at, fault)
        play(town, town.decides(restore, 1))
        town.rows.append(town.env.dependencies.workloads.get(town.last))
        current = [each.height for each in newest_accepted(town.env.dependencies, LINE, 99)]
        play(town, town.decides(recall, 3))
        assert 1 not in current
        assert 1 in [each.height for each in newest_accepted(town.env.dependencies, LINE, 99)]
        town.ended([("recall", 1), ("restore", 1), ("recall", town.rows[3].height)])


@pytest.mark.parametrize("fault", FAULTS)
def test_two_people_at_once(fault: Fault) -> None:
    """Of one delivery one act is recorded, of two deliveries both: neither is taken for the other."""
    effects = play(town := Town(), town.decides(recall, 1))
    for at in range(effects):
        town = Town()

        def others(town: Town = town) -> None:
            play(town, town.decides(recall, 2, BOB))
            play(town, town.decides(recall, 1, BOB))

        play(town, town.decides(recall, 1), at, fault, others)
        play(town, town.decides(recall, 1))
        town.publish()
        town.ended([("recall", 1), ("recall", 2)])


def test_another_delivery_is_recalled_at_once() -> None:
    """The mark of the dataset is the same for both: it must not be taken for one's own."""
    town = Town()
    play(town, town.decides(recall, 1), 0, Fault.NONE, lambda: play(town, town.decides(recall, 2, BOB)))
    town.publish()
    town.ended([("recall", 1), ("recall", 2)])


def test_what_is_recalled_is_erased() -> None:
    """And stays recalled: the manifest is listed anew, with its state."""
    town = Town()
    play(town, town.decides(recall, 1))
    town.erase()
    town.objects = town.accepted()
    town.holds()
    play(town, town.decides(restore, 1))
    town.publish()
    town.ended([("recall", 1), ("restore", 1)])
