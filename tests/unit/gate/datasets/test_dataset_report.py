"""The history of a line: which deliveries, rules and promises it reads."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction

from lakegate.contract.service_levels import ServiceLevel
from lakegate.gate.datasets.delivery_history import report_dataset
from lakegate.gate.ledger.blocks import Block, BlockKind
from lakegate.plan.check import Check, Interval, Tier, Unit
from lakegate.plan.metrics import Metric
from lakegate.report.dataset_report import DeadlineStatus, RuleHistory, last_times
from tests.simulation.contract import PLAN
from tests.simulation.environment import LINE, Environment
from tests.simulation.stage import Fault, Stage, settle
from tests.unit.gate.scenarios import KEY

DAY = timedelta(days=1)


def judged(env: Environment, *bodies: bytes) -> None:
    for number, body in enumerate(bodies):
        env.upload(f"{KEY}{number}", body)
    settle(Stage(env, lambda _: Fault.NONE))


def test_a_line_is_added_up_from_index_and_ledger() -> None:
    """The rules are those of the latest plan; a refusal at the door is a delivery and no measurement."""
    env = Environment()
    judged(env, b"good:1", b"bad:1", b"%PDF:1")
    found = report_dataset(env.dependencies, LINE, env.dependencies.now - DAY)

    assert sorted(each.verdict for each in found.deliveries) == ["accepted", "rejected", "rejected"]
    assert found.rules == [
        RuleHistory("amount", 2, failed=1),
        RuleHistory("name", 2, failed=1, failing_rows=1),
    ]
    assert {rule for rule, _, _ in found.reasons} == {"amount", "name", "file/readable"}
    assert found.freshness_limit is None


def test_what_was_finished_before_is_left_out() -> None:
    """A time that has not come yet has no deliveries, and no plan is read."""
    env = Environment()
    judged(env, b"good:1")
    found = report_dataset(env.dependencies, LINE, env.dependencies.now + DAY)

    assert (found.deliveries, found.rules) == ((), [])


def test_keys_without_a_route_have_a_history_without_rules() -> None:
    """No plan judged them."""
    env = Environment()
    env.upload("elsewhere/day.csv", b"good:1")
    settle(Stage(env, lambda _: Fault.NONE))
    (chain,) = env.memory.chains
    found = report_dataset(env.dependencies, chain, env.dependencies.now - DAY)

    assert (len(found.deliveries), found.rules, found.reasons) == (1, [], [("unrouted", 1, 0)])


def test_freshness_is_that_of_the_blocks_and_the_promise_that_of_the_plan() -> None:
    """The strictest limit of the plan, and the latest event time of each block."""
    env = Environment()
    limits = [Tier(Interval(high=Decimal(seconds))) for seconds in (7_200, 3_600)]
    levels = [
        Check(f"f{number}", f"f{number}", "serviceLevel", ("amount",), Metric.YOUNGEST, Unit.VALUE, limit)
        for number, limit in enumerate(limits)
    ]
    plan = replace(PLAN, checks=(*PLAN.checks, *levels))
    env.publish("1.0.0", "active", plan)
    judged(env, b"%PDF:1")
    (block,) = env.memory.chains[LINE]
    assert isinstance(block, Block)
    assert block.kind is BlockKind.QUARANTINED
    at = "2026-01-01T00:00:00Z"
    env.memory.put_block(replace(block, event_time=(at, at)))
    found = report_dataset(env.dependencies, LINE, env.dependencies.now - DAY)

    assert found.freshness_limit == Fraction(3_600)
    assert [each.youngest.isoformat() for each in found.deliveries if each.youngest] == ["2026-01-01T00:00:00+00:00"]


def test_the_last_acceptance_and_the_next_promised_one_are_listed() -> None:
    """From the latest accepted delivery on, each promise about time has its end, whatever arrived since."""
    env = Environment()
    env.publish(
        "1.0.0",
        "active",
        replace(PLAN, service_levels=(ServiceLevel("frequency", 8_640_000), ServiceLevel("freshness", 60))),
    )
    judged(env, b"good:1")
    env.memory.clock.sleep(120)
    found = report_dataset(env.dependencies, LINE, env.dependencies.now - DAY)
    (accepted,) = (each.at for each in found.deliveries)
    later, minute = accepted + timedelta(days=100), accepted + timedelta(minutes=1)

    assert found.last_accepted == accepted
    assert found.deadlines == (
        DeadlineStatus("frequency", 8_640_000, later, missed=False),
        DeadlineStatus("freshness", 60, minute, missed=True),
    )
    assert last_times(found) == [
        f"Last accepted: {accepted:%Y-%m-%d %H:%M} UTC",
        f"frequency: the next delivery has to be accepted by {later:%Y-%m-%d %H:%M} UTC",
        f"freshness: missed since {minute:%Y-%m-%d %H:%M} UTC",
    ]


def test_a_time_without_acceptance_has_no_last_one() -> None:
    """Nothing was accepted, and nothing is promised."""
    env = Environment()
    judged(env, b"bad:1")
    found = report_dataset(env.dependencies, LINE, env.dependencies.now - DAY)

    assert last_times(found) == ["Last accepted: none in this time"]
