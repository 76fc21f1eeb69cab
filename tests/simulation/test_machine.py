from __future__ import annotations

import os

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from lakegate.gate.delivery.protocol import State
from tests.fakes.jobs import Ending
from tests.simulation.environment import Environment
from tests.simulation.lifecycle import COMMANDS, command
from tests.simulation.schedules import BODIES, KEYS
from tests.simulation.stage import Fault, Stage, settle

FULL = "LAKEGATE_FULL" in os.environ


class Gatekeeping(RuleBasedStateMachine):
    """The second opinion: hypothesis chooses the rules and the order, and shrinks in its own way."""

    @initialize(endings=st.lists(st.sampled_from(list(Ending)), max_size=3))
    def begin(self, endings: list[Ending]) -> None:
        self.next_fault = Fault.NONE
        self.stage = Stage(Environment(endings), self._fault)

    def _fault(self, _effect: object) -> Fault:
        fault, self.next_fault = self.next_fault, Fault.NONE
        return fault

    @rule(key=st.sampled_from(KEYS), body=st.sampled_from(BODIES))
    def upload_or_overwrite(self, key: str, body: bytes) -> None:
        self.stage.env.upload(key, body)

    @precondition(lambda self: self.stage.env.uploads)
    @rule(data=st.data())
    def the_producer_deletes(self, data: st.DataObject) -> None:
        self.stage.env.delete(data.draw(st.sampled_from(self.stage.env.uploads)))

    @precondition(lambda self: self.stage.env.inbox)
    @rule(place=st.integers(0, 9), doubled=st.booleans())
    def an_event_arrives(self, place: int, doubled: bool) -> None:  # noqa: FBT001 - hypothesis passes by keyword
        inbox = self.stage.env.inbox
        if doubled:
            inbox.append(inbox[place % len(inbox)])
        self.stage.deliver(place % len(inbox))

    @precondition(lambda self: self.stage.env.inbox)
    @rule()
    def an_event_is_lost(self) -> None:
        self.stage.env.inbox.pop()

    @precondition(lambda self: self.stage.workers)
    @rule(place=st.integers(0, 9), fault=st.sampled_from([Fault.NONE] * 8 + list(Fault)))
    def somebody_moves(self, place: int, fault: Fault) -> None:
        self.next_fault = fault
        self.stage.step(self.stage.workers[place % len(self.stage.workers)])

    @precondition(lambda self: self.stage.asleep)
    @rule()
    def a_zombie_wakes(self) -> None:
        self.stage.wake()

    @rule(minutes=st.sampled_from([0, 6, 90]))
    def the_schedule_fires(self, minutes: int) -> None:
        self.stage.sweep(minutes)
        self.stage.notify()

    @rule(version=st.sampled_from(["1.0.0", "1.1.0"]), status=st.sampled_from(["active", "retired"]))
    def a_contract_is_published_or_retired(self, version: str, status: str) -> None:
        self.stage.env.publish(version, status)

    @rule(name=st.sampled_from(list(COMMANDS)))
    def somebody_commands(self, name: str) -> None:
        self.stage.start(name, command(self.stage.env, name))

    @rule(days=st.sampled_from([8, 31]))
    def days_pass(self, days: int) -> None:
        self.stage.pass_time(days * 24 * 60)

    @rule()
    def the_operator_replays(self) -> None:
        rows = self.stage.env.memory.workloads.values()
        for row in [each for each in rows if each.state in {State.FAILED, State.QUARANTINED}][:1]:
            self.stage.replay(row.id)

    @invariant()
    def every_promise_holds(self) -> None:
        if hasattr(self, "stage"):
            self.stage.promises.hold()

    def teardown(self) -> None:
        if hasattr(self, "stage"):
            self.next_fault = Fault.NONE
            settle(self.stage)


Gatekeeping.TestCase.settings = settings(
    max_examples=2_000 if FULL else 100,
    stateful_step_count=60,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)
test_any_order_of_rules_keeps_every_promise = Gatekeeping.TestCase
