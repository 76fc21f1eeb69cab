"""Deliveries with their periods, for both engines."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, NamedTuple

from lakegate.base.json_codec import sha256_of
from lakegate.contract.delivery_policy import Mode, OnReject, Policy, Replaces
from lakegate.plan.plan import Plan
from lakegate.plan.result import DeliveredPeriod
from tests.deliveries.delivery import plan_of, rule

POLICY: Final = Policy(replaces=Replaces.PERIOD, period="day", allow_empty=True)
BY_ROWS: Final = replace(POLICY, on_reject=OnReject.ROWS)
OBSERVED: Final = replace(POLICY, mode=Mode.OBSERVE)


def plan(kind: str = "date", policy: Policy = POLICY) -> Plan:
    """A plan with the column `day` of a type, and numbers up to 9."""
    return plan_of({"n": "integer", "day": kind}, rule("maximum", "n", value=9), policy=policy)


def of_day(text: str) -> DeliveredPeriod:
    """One period, by its text."""
    return DeliveredPeriod(1, has_rows_without=False, digest=sha256_of(text.encode()))


def several(values: int, *, has_rows_without: bool = False) -> DeliveredPeriod:
    """No period."""
    return DeliveredPeriod(values, has_rows_without, None)


class PeriodCase(NamedTuple):
    """A delivery, with what is found in it."""

    plan: Plan
    rows: tuple[str, ...]
    """The rows of each object, without the header."""
    period: DeliveredPeriod | None
    verdict: str
    reason: str = ""
    """The reason about the period; empty for none."""

    @property
    def objects(self) -> tuple[bytes, ...]:
        """The files."""
        return tuple(f"n,day\n{rows}".encode() for rows in self.rows)


TWO: Final = "the delivery has 2 values of day: deliver the rows of each as a file of its own"
NONE: Final = "rows have no value of day, and so belong to no period: fill it in"
PERIODS: Final = {
    "a day": PeriodCase(plan(), ("1,2026-11-28\n2,2026-11-28\n",), of_day("2026-11-28"), "accepted"),
    "of several objects": PeriodCase(plan(), ("1,2026-11-28\n", "2,2026-11-28\n"), of_day("2026-11-28"), "accepted"),
    "a number, written twice": PeriodCase(plan("integer"), ("1,7\n2,+07\n3,007\n",), of_day("7"), "accepted"),
    "a text as it is": PeriodCase(plan("string"), ("1,Ä x\n2,Ä x\n",), of_day("Ä x"), "accepted"),
    "texts in other capitals": PeriodCase(plan("string"), ("1,a\n2,A\n",), several(2), "rejected", TWO),
    "two days": PeriodCase(plan(), ("1,2026-11-28\n2,2026-11-27\n",), several(2), "rejected", TWO),
    "two days in two objects": PeriodCase(plan(), ("1,2026-11-28\n", "2,2026-11-27\n"), several(2), "rejected", TWO),
    "a row without a day": PeriodCase(
        plan(), ("1,2026-11-28\n2,\n",), several(1, has_rows_without=True), "rejected", NONE
    ),
    "no row with a day": PeriodCase(plan(), ("1,\n2,\n",), several(0, has_rows_without=True), "rejected", NONE),
    "a day that is none": PeriodCase(
        plan(), ("1,2026-11-28\n2,2026-11-31\n",), several(1, has_rows_without=True), "rejected", NONE
    ),
    "no rows": PeriodCase(plan(), ("",), None, "accepted"),
    "more than are counted": PeriodCase(
        plan("integer"),
        ("".join(f"1,{day}\n" for day in range(300)),),
        several(101),
        "rejected",
        "the delivery has more than 100 values of day: deliver the rows of each as a file of its own",
    ),
    "rows without a day are rejected": PeriodCase(
        plan(policy=BY_ROWS), ("1,2026-11-28\n2,2026-11-31\n",), of_day("2026-11-28"), "accepted_with_warnings"
    ),
    "the row of another day is rejected": PeriodCase(
        plan(policy=BY_ROWS), ("1,2026-11-28\n99,2026-11-27\n",), of_day("2026-11-28"), "accepted_with_warnings"
    ),
    "one of two rows of another day is rejected": PeriodCase(
        plan(policy=BY_ROWS), ("1,2026-11-28\n99,2026-11-27\n2,2026-11-27\n",), several(2), "rejected", TWO
    ),
    "an object whose rows are all rejected": PeriodCase(
        plan(policy=BY_ROWS), ("1,2026-11-28\n", "99,2026-11-27\n"), of_day("2026-11-28"), "accepted_with_warnings"
    ),
    "every row is rejected": PeriodCase(plan(policy=BY_ROWS), ("99,2026-11-28\n",), None, "rejected"),
    "many days by rows": PeriodCase(
        plan("integer", BY_ROWS),
        ("".join(f"1,{day}\n" for day in range(9)),),
        several(9),
        "rejected",
        TWO.replace("2", "9"),
    ),
    "two days, observed": PeriodCase(
        plan(policy=OBSERVED), ("1,2026-11-28\n2,2026-11-27\n",), several(2), "accepted_with_warnings", TWO
    ),
}
