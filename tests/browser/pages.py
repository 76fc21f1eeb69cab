"""Pages that a browser is shown, with every part that a report can have."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from lakegate.contract.contract_model import Severity
from lakegate.contract.logical_types import LogicalType
from lakegate.plan.check import Check, Interval, Tier, Unit
from lakegate.plan.metrics import Metric
from lakegate.plan.plan import Plan, PlanField
from lakegate.plan.predicates import Present
from lakegate.plan.result import Columns, Measured, Measurement, Result, Sample
from lakegate.report.dataset_report import history_of, render_dataset
from lakegate.report.delivery_report import PastDelivery, Report, render, render_unmeasured
from lakegate.report.overview_page import render_overview
from lakegate.verdict.verdict import BrokenRule, Verdict, judge
from tests.unit.report.test_dataset_report import PERIOD, delivery
from tests.unit.report.test_overview_page import overview, summary

RULES = {"wind_speed": ("warn", 40), "station_id": ("fail", 95), "observed_at": ("pass", 0), "temperature": ("pass", 3)}


def report_of(word: str = "", gate: tuple[str, ...] = ("duplicate-content",)) -> str:
    """A rejected delivery with warnings, rows of values, shapes and nulls, a skipped check, a history; `word` in each text."""
    checks, answers = [], []
    for name, (status, rows) in RULES.items():
        worst = Severity.WARN if status == "warn" else Severity.FAIL
        accept = Tier(Interval(high=Decimal("0.05") * 1_000 if rows < 95 else Decimal(20)), Present(name + word))
        if status == "warn":
            accept = Tier(Interval(high=Decimal(10)), Present(name + word))
        id_ = f"not_null_{name}{word}"
        checks.append(
            Check(
                id_,
                id_,
                "required",
                (name + word,),
                Metric.FAILING_ROWS,
                Unit.ROWS,
                accept,
                worst=worst,
                wanted="at least 95 % present",
            )
        )
        samples = [
            Sample(4 + 3 * at, (f"aaa-{at}{word}", f"A{900 + at}", "null"), raw=(False, True, False)) for at in range(8)
        ]
        answers.append(Measurement(id_, Measured(1_000, rows), samples=tuple(samples[:rows]), good=(f"aa-999{word}",)))
    checks.append(
        Check(
            f"timeliness{word}",
            f"timeliness{word}",
            "serviceLevel",
            (),
            Metric.FAILING_ROWS,
            Unit.ROWS,
            Tier(Interval()),
            skip=f"timeliness cannot be measured on a delivery{word}",
        )
    )
    fields = tuple(PlanField(name + word, f"c{at}", LogicalType.STRING) for at, name in enumerate(RULES))
    plan = Plan(f"weather{word}", "1.4.0", f"stations{word}", fields, tuple(checks))
    result = Result(
        "w",
        1,
        "0" * 64,
        "v",
        1_000,
        columns=Columns(tuple(name + word for name in RULES)),
        measurements=tuple(answers),
        timings={"read": 1.24},
    )
    broken = [(0, 0, 1, 0, 0, 0, 4, 0, 0, 2)[day % 10] for day in range(30)]
    verdicts = {0: Verdict.ACCEPTED, 1: Verdict.ACCEPTED_WITH_WARNINGS}
    past = [
        PastDelivery(f"2026-01-{1 + day:02}T06:00:00Z", verdicts.get(each, Verdict.REJECTED), each)
        for day, each in enumerate(broken)
    ]
    facts = [
        ("Workload", "8e8a1a2598f6" * 5),
        ("Taken in", "2026-01-30 06:00:04 UTC"),
        ("Completed", "2026-01-30 06:00:10 UTC, after 6.2 s"),
        ("Cost", "0.000124 USD (8.1 vCPU-seconds, 24.4 GB-seconds, prices of 2026-01-01)"),
        (f"The data is at{word}", f"s3://lake/quarantine/weather/stations_v1/{word}"),
    ]
    return render(
        Report(plan, judge(plan, result), result, (f"weather/southeast.csv{word}",)),
        facts,
        past,
        gate,
    )


def dataset_report_of(word: str = "") -> str:
    """The report of a dataset with every kind of verdict, a service level of freshness, and reasons."""
    bad, mild = (
        BrokenRule(f"not_null_station_id{word}", "fail", 95),
        BrokenRule(f"not_null_wind_speed{word}", "warn", 40),
    )
    days = [delivery(day, Verdict.ACCEPTED, late=3 + day % 4) for day in range(30) if day % 6]
    days += [delivery(5, Verdict.REJECTED, bad, late=31), delivery(11, Verdict.ACCEPTED_WITH_WARNINGS, mild, late=5)]
    days.append(delivery(17, Verdict.REJECTED, BrokenRule("duplicate-content", "fail"), rows=None))
    ordered = sorted(days, key=lambda each: each.at)
    return render_dataset(
        history_of(
            f"weather/stations_v1{word}",
            PERIOD,
            ordered,
            [f"not_null_{name}{word}" for name in RULES],
            Fraction(86_400),
        )
    )


def refused(word: str = "") -> str:
    """A delivery that the door refused."""
    return render_unmeasured(
        Verdict.REJECTED,
        None,
        [f"file/columns: the column station_id is missing{word}"],
        [("Files", f"a.csv{word}")],
    )


def overview_of(word: str = "") -> str:
    """All datasets: one with everything that one can have, and one of each kind that needs somebody, or has nothing yet."""
    datasets = (
        summary("shop/orders_v1", word),
        summary("shop/late_v1", word, missed=True, causes=(), planned=()),
        summary("shop/bad_v1", word, verdicts=(Verdict.REJECTED,), broken_rules=(f"not_null{word}",), causes=()),
        summary("shop/fine_v1", word, causes=(), planned=()),
        summary("shop/odd_v1", word, causes=(), planned=(), anomalies=(f"rows: 112, usual is 1,820 to 2,240{word}",)),
        summary("shop/new_v1", word, verdicts=(), last_accepted=None, due=None, rejected_share=None, causes=()),
        summary("shop/gone_v1", word, status="retired", causes=(), planned=()),
    )
    return render_overview(overview(*datasets), {"shop/orders_v1" + word: "datasets/orders.html"})


PAGES = {"report": report_of, "line": dataset_report_of, "overview": overview_of, "refused": refused}
