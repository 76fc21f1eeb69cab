"""The index of finished deliveries: what enforcement would have decided, and pages by time."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from lakegate.contract.contract_model import Severity
from lakegate.contract.delivery_policy import Mode, OnReject, Policy
from lakegate.gate.datasets.delivery_history import Refusals, chosen, history, observe_report
from lakegate.gate.delivery.advance import advance
from lakegate.gate.delivery.delivery_row import EnforcedVerdict
from lakegate.gate.delivery.intake import intake
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.effects import run
from lakegate.gate.ledger.ledger_store import History
from tests.simulation.contract import PLAN
from tests.simulation.environment import LANDING, PREFIX, Environment
from tests.unit.gate.scenarios import drive

LINE = "orders/lines_v1"


def delivered(env: Environment, *bodies: bytes) -> None:
    """Upload files and let each reach its end, an hour after the one before."""
    for body in bodies:
        key = f"{PREFIX}{len(env.uploads)}.csv"
        upload = env.upload(key, body)
        drive(env.dependencies, intake(env.dependencies, LANDING, key))
        for _, job in env.new_jobs():
            run(job, env.memory.clock)
        drive(env.dependencies, advance(DeliveryTurn(env.dependencies, env.memory.workloads[upload.workload])))
        env.memory.clock.sleep(3_600)


@pytest.mark.parametrize(
    ("unit", "enforced", "reported"),
    [
        (OnReject.FILE, EnforcedVerdict("rejected", 8), Refusals(2, 1, 8)),
        (OnReject.ROWS, EnforcedVerdict("accepted_with_warnings", 1), Refusals(2, 0, 1)),
    ],
)
def test_an_observed_delivery_is_judged_as_if_it_were_enforced(
    unit: OnReject, enforced: EnforcedVerdict, reported: Refusals
) -> None:
    """The record has both verdicts: what was decided, and what enforcement of the same plan would have decided."""
    env = Environment()
    env.publish("1.0.0", "active", replace(PLAN, policy=Policy(mode=Mode.OBSERVE, on_reject=unit)))
    delivered(env, b"good:1", b"split:12")
    split, good = history(env.dependencies, LINE).entries
    total = observe_report(env.dependencies, LINE, env.memory.clock.now() - timedelta(days=1)).total

    assert (good.enforced, split.enforced) == (EnforcedVerdict("accepted", 0), enforced)
    assert {each.kind for each in (good, split)} == {"published"}
    assert total == reported


def test_warnings_are_no_refusals() -> None:
    """The report lists rules that failed: enforcement lets a warning through."""
    env = Environment()
    check = replace(PLAN.checks[1], worst=Severity.WARN)
    plan = replace(PLAN, checks=(PLAN.checks[0], check), policy=Policy(mode=Mode.OBSERVE))
    env.publish("1.0.0", "active", plan)
    delivered(env, b"bad:1")
    (entry,) = history(env.dependencies, LINE).entries
    report = observe_report(env.dependencies, LINE, env.memory.clock.now() - timedelta(days=1))

    assert {each.rule: each.status for each in entry.rules} == {"name": "fail", "amount": "warn"}
    assert list(report.rules) == ["name"]


def test_a_history_ends_at_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is older is neither listed nor read: heights grow with time, but for the difference of two clocks."""
    env = Environment()
    delivered(env, *(f"good:{n}".encode() for n in range(5)))
    since = env.memory.clock.now() - timedelta(hours=3, minutes=5)
    read = []
    entries = History.entries

    def counted(history: History, chain: str, **which: object) -> object:
        found = entries(history, chain, **which)  # type: ignore[arg-type]  # as given
        read.extend(found)
        return found

    monkeypatch.setattr(History, "entries", counted)
    found = list(chosen(env.dependencies, LINE, since=since, page=2))

    assert [each.height for each in found] == [4, 3, 2]
    assert [each.height for each in read] == [4, 3, 2, 1]
