"""No rule can poison another: one that the engine cannot use is its own error, and its neighbours are answered as if alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from lakegate.engine.evaluate.predicate_sql import UNUSABLE
from lakegate.plan.check import NONE, Check, Tier, Unit
from lakegate.plan.metrics import Metric
from lakegate.plan.predicates import All, Length, Matches, MultipleOf, Not, OneOf, Predicate, Present, Typed, Within
from lakegate.verdict.check_status import Status
from lakegate.verdict.verdict import Verdict
from tests.deliveries.delivery import Judged, plan_of

FIELDS = {
    "text": "string",
    "whole": "integer",
    "share": "number",
    "exact": "decimal",
    "open": "boolean",
    "day": "date",
    "hour": "time",
    "moment": "timestamp",
}
GOOD: tuple[Predicate, ...] = (
    Present("text"),
    Typed("whole"),
    OneOf("text", ("a", "b")),
    Within("share", low="0.5"),
    Within("day", high="2024-01-31"),
    Within("moment", low="2024-01-01T00:00:00Z"),
    Length("text", 1, 1),
    Matches("text", r"\A[a-z]{1,2}\z"),
    Matches("text", r"\A(?:a|bc)*\z"),
    MultipleOf("exact", "0.5"),
    Not(OneOf("open", ("true",))),
    All((Present("hour"), Matches("hour", "^1"))),
)
BROKEN: tuple[Predicate, ...] = (
    OneOf("whole", ("1", "x")),
    OneOf("share", ("x",)),
    OneOf("exact", ("x",)),
    OneOf("day", ("2024-02-30",)),
    OneOf("moment", ("soon",)),
    Within("whole", low="x"),
    Within("share", high="x"),
    Within("day", high="soon"),
    Within("moment", low="soon"),
    Matches("text", "("),
    Matches("text", "a{2,1}"),
    Matches("text", r"x(?=.*y)\1"),
    Matches("text", "(?>(a)"),
    Matches("whole", "(?<=a+)b"),
    MultipleOf("whole", "x"),
    MultipleOf("share", ""),
    Not(Matches("text", "[")),
    Not(Within("whole", low="x")),
    All((Present("text"), Matches("text", "*"))),
    All((OneOf("text", ("a",)), OneOf("day", ("x",)))),
)
ROWS = b"""\
text,whole,share,exact,open,day,hour,moment
a,1,0.5,1.5,true,2024-01-01,10:00,2024-01-01T00:00:00
bc,x,0.25,0.3,false,2024-02-01,20:00,2023-01-01T00:00:00
,,,,,,,
"""


def counting(name: str, predicate: Predicate) -> Check:
    return Check(name, name, "enum", (), Metric.FAILING_ROWS, Unit.ROWS, Tier(NONE, predicate))


def test_every_kind_of_broken_predicate_is_an_error_of_its_own(judge_files: Callable[..., Judged]) -> None:
    """Broken predicates of every kind that can break, between good ones: each good one is answered as without them."""
    plan = plan_of(FIELDS)
    good = tuple(counting(f"good {at}", each) for at, each in enumerate(GOOD))
    broken = tuple(counting(f"broken {at}", each) for at, each in enumerate(BROKEN))
    alone = judge_files(replace(plan, checks=good), ROWS)

    mixed = judge_files(replace(plan, checks=(*broken[:7], *good[:5], *broken[7:], *good[5:])), ROWS)

    of_good = [each for each in mixed.result.measurements if each.check.startswith("good")]
    of_broken = [each for each in mixed.result.measurements if each.check.startswith("broken")]
    assert [None] * len(GOOD) == [each.error for each in of_good]
    assert list(alone.result.measurements) == of_good
    assert [UNUSABLE] * len(BROKEN) == [each.error for each in of_broken]
    assert {Status.ERROR} == {mixed.statuses()[check.id] for check in broken}
    assert mixed.verdict is Verdict.UNDECIDED
    assert alone.verdict is Verdict.REJECTED
