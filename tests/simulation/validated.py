"""A dataset of which another service measures a rule, and workers whose effects fail."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from lakegate.base.errors import LakegateError, PortError, Unanswered
from lakegate.features.external_validators.registered_validators import ValidatorService, add_validator
from lakegate.features.external_validators.validator_client import ExternalValidation
from lakegate.gate.delivery.delivery_row import Workload
from lakegate.gate.delivery.intake import intake
from lakegate.gate.delivery.protocol import State
from lakegate.gate.effects import Call, Effect, Steps, run
from lakegate.gate.ledger.blocks import Block
from lakegate.gate.ports import Address
from lakegate.gate.sweep import sweep
from lakegate.plan.check import NONE, Check, Tier, Unit
from lakegate.plan.external_rule import ExternalRule
from lakegate.plan.metrics import Metric
from tests.fakes.validators import answer_of
from tests.simulation.contract import plan_version
from tests.simulation.environment import LAKE, LANDING, LINE, PREFIX, Environment, Upload
from tests.simulation.stage import Fault

if TYPE_CHECKING:
    Answer = Callable[[ExternalValidation], "bytes | PortError"]

SERVICE = ValidatorService("probe", "https://probe.example", ("Probe",), "probe")
RULE = ExternalRule("order", "Probe", "probe", json.dumps({"id": "order", "ruleType": "custom", "technology": "Probe"}))
ORDER = Check("order", "order", "custom", (), Metric.EXTERNAL, Unit.VALUE, Tier(NONE), Tier(NONE), wanted="in order")
SIMPLE = plan_version("1.1.0", 1)
PLAN = replace(SIMPLE, checks=(*SIMPLE.checks, ORDER), external=(RULE,))
KEY = f"{PREFIX}day.csv"
ENDS = frozenset({State.PUBLISHED, State.QUARANTINED, State.FAILED})
FAULTS = (Fault.CRASH_BEFORE, Fault.CRASH_AFTER, Fault.UNANSWERED, Fault.TWICE)
REPEATED = frozenset({Effect.START_VALIDATION, Effect.KEEP_ANSWERS})
"""Effects that are performed twice by the fault of this name; those of all deliveries are played elsewhere."""
MOST_SWEEPS = 60


def broken(validation: ExternalValidation) -> bytes:
    """An honest answer: the rule is not kept to."""
    return answer_of(validation, success=False)


def performed(call: Call, fault: Fault) -> Any:
    """One effect with a fault; raises what its worker gets, and StopIteration where it ends."""
    if fault is Fault.CRASH_BEFORE:
        raise StopIteration
    answer = call.do()
    if fault is Fault.TWICE and call.effect in REPEATED:
        answer = call.do()
    if fault is Fault.CRASH_AFTER:
        raise StopIteration
    if fault is Fault.UNANSWERED:
        raise Unanswered
    return answer


@dataclass
class Worker:
    """One worker, stopped before its next effect."""

    steps: Steps[Any]
    call: Call | None = None

    def __post_init__(self) -> None:
        self._go(lambda: next(self.steps))

    def turn(self, fault: Fault = Fault.NONE) -> None:
        """The effect, with its fault."""
        call = self.call
        if call is None:
            return
        try:
            answer = performed(call, fault)
        except StopIteration:
            self.call = None
        except LakegateError as refused:
            error = refused
            self._go(lambda: self.steps.throw(error))
        else:
            self._go(lambda: self.steps.send(answer))

    def _go(self, proceed: Callable[[], Call]) -> None:
        try:
            self.call = proceed()
        except (StopIteration, LakegateError):
            self.call = None


@dataclass
class ValidatedDataset:
    """A dataset with a rule that a validator measures, and one delivery."""

    env: Environment
    upload: Upload
    kept: dict[int, bytes] = field(default_factory=dict)
    """By attempt, what was kept first."""

    @staticmethod
    def of(
        answer: Answer = answer_of, body: bytes = b"good:1", *, judge: bool = False, registered: bool = True
    ) -> ValidatedDataset:
        env = Environment(judge=judge)
        env.publish("1.1.0", "active", PLAN)
        env.memory.validators.answer = answer
        dataset = ValidatedDataset(env, env.upload(KEY, body))
        if registered:
            dataset.register(SERVICE)
        return dataset

    def register(self, service: ValidatorService) -> None:
        run(add_validator(self.env.dependencies, service), self.env.memory.clock)

    def intake(self) -> Steps[None]:
        return intake(self.env.dependencies, LANDING, KEY)

    @property
    def row(self) -> Workload:
        return self.env.memory.workloads[self.upload.workload]

    def answer_jobs(self) -> None:
        """Each run that was started writes its result."""
        for _, job in self.env.new_jobs():
            run(job, self.env.memory.clock)

    def settled(self, minutes: int = 6) -> ValidatedDataset:
        """Sweeps until the delivery has ended; every promise is looked at after each."""
        for _ in range(MOST_SWEEPS):
            self.answer_jobs()
            self.hold()
            row = self.env.memory.workloads.get(self.upload.workload)
            if row is not None and row.state in ENDS and row.due_at is None:
                return self
            self.env.memory.clock.sleep(minutes * 60)
            run(sweep(self.env.dependencies), self.env.memory.clock)
        raise AssertionError(f"it has not ended: {self.row}")

    def hold(self) -> None:
        """What is promised at any time."""
        row = self.env.memory.workloads.get(self.upload.workload)
        blocks = [each for each in self.env.memory.ledger.blocks(LINE) if isinstance(each, Block)]
        for validation in self.env.memory.validators.started.values():
            assert self.env.memory.objects.read(validation.data) == self.upload.body
        if row is None or row.decision is None:
            assert not blocks
            return
        where = Address(LAKE, f"runs/{row.id}/merged/attempt={row.attempt}/result.json")
        body = self.env.memory.objects.read(where)
        assert self.kept.setdefault(row.attempt, body) == body
        assert hashlib.sha256(body).hexdigest() == row.decision.result
        answered = {each["check"]: each for each in json.loads(body)["measurements"]}["order"]
        is_kept_to = answered["accept"]["failing"] == 0
        name = hashlib.sha256(f"{row.id}:{row.attempt}:Probe".encode()).hexdigest()
        assert name in self.env.memory.validators.started
        own = {b"good": "accepted", b"bad": "rejected"}[self.upload.body.partition(b":")[0]]
        assert row.decision.verdict == (own if is_kept_to else "rejected")
        assert [each.verdict for each in blocks] in ([], [row.decision.verdict])
