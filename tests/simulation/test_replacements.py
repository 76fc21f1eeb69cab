"""Replacements: two of one name at once with every fault at every effect, beside recall, erasure, replay, and a row set back."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from lakegate.base.errors import ConditionFailed, InputError
from lakegate.gate.datasets.accepted_deliveries import newest_accepted
from lakegate.gate.datasets.compare_manifest import UNTRUE, manifest_faults
from lakegate.gate.delivery.advance import advance
from lakegate.gate.delivery.intake import intake
from lakegate.gate.delivery.protocol import State
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.effects import Effect, Steps, run
from lakegate.gate.ledger.blocks import Record, deliveries
from lakegate.gate.ledger.ledger_store import Ledger
from lakegate.gate.sweep import sweep
from lakegate.plan.plan import Plan
from tests.decisions import recall, replay, restore
from tests.simulation.contract import plan_version
from tests.simulation.environment import LANDING, LINE, PREFIX, period_of
from tests.simulation.stage import Fault
from tests.simulation.test_recalls import BY_PERIOD, FAULTS, REPLACING, Town, play

DAY = f"{PREFIX}1.csv"


class Rivals(Town):
    """A town with one more version of the second delivery: two of one name are judged, and neither is decided."""

    def __init__(self, plan: Plan = REPLACING) -> None:
        super().__init__(plan)
        self.other = self.judged(b"good:1e")

    def judged(self, body: bytes) -> str:
        """Upload a version of the day; its job has answered, and nobody has looked yet."""
        upload = self.env.upload(DAY, body)
        run(intake(self.env.dependencies, LANDING, DAY), self.env.dependencies.clock)
        for _, job in self.env.new_jobs():
            run(job, self.env.dependencies.clock)
        return upload.workload

    def publishes(self, workload: str) -> Steps[Any]:
        return advance(DeliveryTurn(self.env.dependencies, self.env.dependencies.workloads.get(workload)))

    def publish_other(self) -> None:
        """The rival is decided and published."""
        run(self.publishes(self.other), self.env.dependencies.clock)

    def name(self, workload: str) -> object:
        source = self.env.dependencies.workloads.get(workload).source
        if self.env.periods:
            return period_of(self.env.by_version[source.version].body)
        return self.env.dependencies.workloads.get(workload).landing_key

    def current(self) -> list[int]:
        return sorted(each.height for each in newest_accepted(self.env.dependencies, LINE, 99))

    def holds(self) -> None:
        """At every moment: of each name the last accepted delivery that is not recalled is current, by the keys alone."""
        blocks = self.env.dependencies.ledger.blocks(LINE)
        recalled: dict[int, bool] = {}
        accepted: dict[object, list[int]] = {}
        for block in blocks:
            if isinstance(block, Record):
                recalled[block.content.get("height", -1)] = block.kind == "recall"
            elif block.kind == "published":
                accepted.setdefault(self.name(block.workload), []).append(block.height)
        left = ([height for height in heights if not recalled.get(height)] for heights in accepted.values())
        assert self.current() == sorted(heights[-1] for heights in left if heights)
        assert UNTRUE not in {each.what for each in manifest_faults(self.env.dependencies, LINE, len(blocks) - 1)}
        assert self.accepted() >= self.objects

    def swept(self) -> None:
        """Who stopped is continued; both are published, and each event says what its block does."""
        self.env.memory.clock.sleep(3600)
        run(sweep(self.env.dependencies), self.env.dependencies.clock)
        self.holds()
        rows = [self.env.dependencies.workloads.get(each) for each in (self.last, self.other)]
        assert [row.state for row in rows] == [State.PUBLISHED] * 2
        blocks = self.env.dependencies.ledger.blocks(LINE)
        assert not list(manifest_faults(self.env.dependencies, LINE, len(blocks) - 1))
        self.env.memory.clock.sleep(60)  # the index lags
        told = [*self.env.dependencies.outbox.pending(100), *self.env.memory.notifier.sent]
        said = {each.workload: json.loads(each.body).get("supersedes", []) for each in told if each.kind == "published"}
        accepted = [block for block in deliveries(blocks) if block.kind == "published"]
        assert said == {block.workload: list(block.supersedes) for block in accepted}


@pytest.mark.parametrize("plan", [REPLACING, BY_PERIOD], ids=["delivery", "period"])
@pytest.mark.parametrize("fault", FAULTS)
def test_two_replacements_of_one_delivery_at_once(fault: Fault, plan: Plan) -> None:
    """Before any effect of the first one, which may fail there, the second is published: one supersedes the other."""
    effects = play(town := Rivals(plan), town.publishes(town.last))
    assert effects >= len(("decide", "copy", "commit"))
    for at in range(effects):
        town = Rivals(plan)
        play(town, town.publishes(town.last), at, fault, town.publish_other)
        town.swept()
        assert [block.supersedes for block in deliveries(town.env.dependencies.ledger.blocks(LINE))[3:]] == [(1,), (3,)]


def test_one_is_published_between_two_readings_of_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the head of the chain was read, and before its name: what is not below that head is not superseded by it."""
    town, read = Rivals(), Ledger.accepted_as
    meanwhile: list[Callable[[], None]] = [town.publish_other]

    def after_another(ledger: Ledger, chain: str, name: str) -> int | None:
        if meanwhile:
            meanwhile.pop()()
        return read(ledger, chain, name)

    monkeypatch.setattr("lakegate.gate.ledger.ledger_store.Ledger.accepted_as", after_another)
    run(town.publishes(town.last), town.env.dependencies.clock)
    town.swept()
    assert town.current() == [0, 2, 4]


def test_on_a_busy_chain_a_delivery_supersedes_the_last_of_its_name() -> None:
    """Two others of the name are published before it, each right before its commit: the second time it is not compared again.

    Its commit is refused by the name, and then it is.
    """
    town = Rivals()
    rivals = [town.other, town.judged(b"good:1f")]
    steps = town.publishes(town.last)
    call, refused = next(steps), []
    with suppress(StopIteration):
        while True:
            if call.effect is Effect.COMMIT and rivals:
                run(town.publishes(rivals.pop(0)), town.env.dependencies.clock)
            try:
                answer = call.do()
            except ConditionFailed as error:
                refused.append(error.reasons)
                call = steps.throw(error)
            else:
                call = steps.send(answer)
    town.swept()

    assert refused == [("head", "name"), ("head", "name"), ("name",)]
    blocks = deliveries(town.env.dependencies.ledger.blocks(LINE))
    assert [block.supersedes for block in blocks[3:]] == [(1,), (3,), (4,)]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_replacement_is_recalled_while_the_next_one_is_published(fault: Fault) -> None:
    """Whichever comes first, the next one takes the place of both; recalled as well, it gives the first one back."""
    town = Rivals()
    town.publish()
    town.rows.append(town.env.dependencies.workloads.get(town.last))
    effects = play(town, town.decides(recall, 3))
    for at in range(effects):
        town = Rivals()
        town.publish()
        town.rows.append(town.env.dependencies.workloads.get(town.last))
        play(town, town.decides(recall, 3), at, fault, town.publish_other)
        play(town, town.decides(recall, 3))
        town.swept()
        other = town.env.dependencies.workloads.get(town.other)
        assert town.current() == [0, 2, other.height]
        town.rows.append(other)
        play(town, town.decides(recall, 4))
        assert town.current() == [0, 1, 2]
        play(town, town.decides(restore, 3))
        assert town.current() == [0, 2, 3]


def test_what_is_replaced_is_erased() -> None:
    """A right to erasure is about all that is kept; what is erased is not current again, but as the empty place that it is."""
    town = Rivals()
    town.publish()
    town.erase()
    town.objects = town.accepted()
    town.publish_other()
    town.swept()
    town.rows += [town.env.dependencies.workloads.get(each) for each in (town.last, town.other)]
    for height in (3, 4):
        play(town, town.decides(recall, height))

    accepted = {each.height: each.objects for each in newest_accepted(town.env.dependencies, LINE, 99)}
    assert [len(accepted[height]) for height in sorted(accepted)] == [1, 0, 1]


def test_a_replayed_delivery_takes_the_place_of_what_came_meanwhile() -> None:
    """The order is that of acceptance. What was replaced is accepted, and accepted data is judged once."""
    town = Rivals()
    stricter = plan_version("1.1.0", 0)
    town.env.publish("1.1.0", "active", replace(stricter, policy=REPLACING.policy))
    rejected = town.judged(b"mild:1f")
    run(town.publishes(rejected), town.env.dependencies.clock)
    town.publish()
    town.publish_other()
    again = run(replay(town.env.dependencies, rejected, "orders@1.0.0"), town.env.dependencies.clock)
    for _, job in town.env.new_jobs():
        run(job, town.env.dependencies.clock)
    play(town, town.publishes(again))
    town.swept()

    assert [
        (block.height, block.supersedes) for block in deliveries(town.env.dependencies.ledger.blocks(LINE))[3:]
    ] == [
        (3, ()),
        (4, (1,)),
        (5, (4,)),
        (7, (5,)),
    ]
    assert town.current() == [0, 2, 7]
    with pytest.raises(InputError, match="only a failed or quarantined workload can be replayed"):
        run(replay(town.env.dependencies, town.rows[1].id), town.env.dependencies.clock)


def test_a_replacement_whose_row_is_set_back_is_told_as_it_was_committed() -> None:
    """A backup of the rows is of before the commit: the block is not written again, and its event names what it replaced."""
    town = Rivals()
    decided = town.env.dependencies.workloads.get(town.last)
    town.publish()
    town.env.memory.write(decided)
    run(town.publishes(town.last), town.env.dependencies.clock)
    town.publish_other()
    town.swept()

    assert [block.supersedes for block in deliveries(town.env.dependencies.ledger.blocks(LINE))[3:]] == [(1,), (3,)]
