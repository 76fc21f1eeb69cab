"""The report of a dataset: its deliveries over time, how often each rule held, and what broke most often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Final

from lakegate.base.text import lasting, plural
from lakegate.report.delivery_report import template
from lakegate.verdict.reasons import CODES
from lakegate.verdict.verdict import BrokenRule, Verdict

MAX_BARS: Final = 90
"""Columns of a diagram."""
MAX_REASONS_OF_DATASET: Final = 10
MAX_RULES: Final = 1_000
"""Rules in the table."""
MAX_ANOMALIES: Final = 20
SHOWN_VERDICTS: Final = (Verdict.REJECTED, Verdict.ACCEPTED_WITH_WARNINGS, Verdict.ACCEPTED)
"""In a column, from its top."""


@dataclass(frozen=True, slots=True)
class DeadlineStatus:
    """The deadline of a frequency, freshness or latency, at the time of the report."""

    name: str
    seconds: int
    until: datetime
    """The time by which a delivery has to be accepted."""
    missed: bool


@dataclass(frozen=True, slots=True)
class ReportedDelivery:
    """One finished delivery, as the index has it."""

    at: datetime
    verdict: Verdict
    rows: int | None
    """None where nothing was measured."""
    rules: tuple[BrokenRule, ...] | None
    """Rules that failed or warned; None where the entry of the index cannot be read."""
    youngest: datetime | None = None
    """The latest event time in the data; None where the contract names none."""
    anomalies: tuple[str, ...] = ()
    """What was unusual of it, in words."""


@dataclass(slots=True)
class RuleHistory:
    """The shares with which a rule held."""

    rule: str
    measured: int = 0
    """Deliveries."""
    failed: int = 0
    warned: int = 0
    failing_rows: int = 0
    """Of all deliveries."""

    @property
    def passed(self) -> int:
        """Deliveries."""
        return self.measured - self.failed - self.warned

    @property
    def share(self) -> float:
        """Of the deliveries that passed, in percent."""
        return round(100 * self.passed / self.measured, 1)


@dataclass(frozen=True, slots=True)
class DeliveryDays:
    """One column of the diagram of deliveries: some days."""

    first: date
    last: date
    counts: dict[Verdict, int]


@dataclass(slots=True)
class DatasetHistory:
    """The content of a dataset's report."""

    dataset: str
    since: datetime
    until: datetime
    deliveries: tuple[ReportedDelivery, ...]
    """The oldest first."""
    freshness_limit: Fraction | None = None
    """Seconds: the oldest that the youngest row may be; None without such a service level."""
    rules: list[RuleHistory] = field(default_factory=list)
    """The least reliable first."""
    reasons: list[tuple[str, int, int]] = field(default_factory=list)
    """Rule or code, deliveries that it kept out or warned of, failing rows; the most frequent first."""
    last_accepted: datetime | None = None
    """The time of the latest accepted delivery; None where none was in this time, and no service level is stated."""
    deadlines: tuple[DeadlineStatus, ...] = ()
    """The service level about the time of the next acceptance."""
    replaced_by: str = ""
    """The dataset of the next major version, and when it takes effect, in words; empty if there is none."""
    name: str = ""
    """Of its contract; empty where the document has none."""
    owner: str = ""
    not_current: tuple[tuple[Verdict, str], ...] = ()
    """Of accepted deliveries that are not current, and not among `deliveries`: verdict, and `superseded` or `recalled`."""

    @property
    def title(self) -> str:
        """The name of the contract and the dataset without the contract's id; the whole name where there is no other."""
        return f"{self.name}: {self.dataset.rpartition('/')[2]}" if self.name else self.dataset

    @property
    def anomalies(self) -> list[tuple[datetime, str]]:
        """What was unusual of deliveries, each with the time of the delivery; the newest first."""
        newest = reversed(self.deliveries)
        found = [(delivery.at, text) for delivery in newest for text in delivery.anomalies]
        return found[:MAX_ANOMALIES]

    def counted(self, verdict: Verdict) -> int:
        """Deliveries with a verdict, also those that are not current."""
        return sum(
            each is verdict for each in (*(one.verdict for one in self.deliveries), *(v for v, _ in self.not_current))
        )

    def told(self, verdict: Verdict, word: str) -> str:
        """The number of deliveries with a verdict, and of those that are not current: `3 accepted, 2 of them superseded`."""
        out = Counter(why for each, why in self.not_current if each is verdict)
        return ", ".join(
            [f"{self.counted(verdict):,} {word}", *(f"{n:,} of them {why}" for why, n in sorted(out.items()))]
        )

    @property
    def ages(self) -> list[tuple[ReportedDelivery, float]]:
        """The latest deliveries with event times, the oldest first, and the seconds from the youngest row to the verdict."""
        aged = [
            (delivery, (delivery.at - delivery.youngest).total_seconds())
            for delivery in self.deliveries
            if delivery.youngest
        ]
        return aged[-MAX_BARS:]


def history_of(
    dataset: str,
    period: tuple[datetime, datetime],
    deliveries: Sequence[ReportedDelivery],
    rules: Iterable[str] = (),
    freshness_limit: Fraction | None = None,
) -> DatasetHistory:
    """Add up deliveries, the oldest first. `rules`: all that the dataset's plan measures."""
    found = DatasetHistory(dataset, *period, tuple(deliveries), freshness_limit)
    measured = [delivery for delivery in deliveries if delivery.rows is not None and delivery.rules is not None]
    by_rule = {rule: RuleHistory(rule) for rule in rules}
    for each in measured:
        for broken in each.rules or ():
            of_rule = by_rule.setdefault(broken.rule, RuleHistory(broken.rule))
            of_rule.failed += broken.status == "fail"
            of_rule.warned += broken.status != "fail"
            of_rule.failing_rows += broken.rows or 0
    for of_rule in by_rule.values():
        of_rule.measured = len(measured)
    if measured:
        found.rules = sorted(by_rule.values(), key=lambda each: (each.share, each.rule))
    times: Counter[str] = Counter(broken.rule for delivery in deliveries for broken in delivery.rules or ())
    rows: Counter[str] = Counter()
    for delivery in deliveries:
        rows.update({broken.rule: broken.rows or 0 for broken in delivery.rules or ()})
    found.reasons = [(rule, count, rows[rule]) for rule, count in times.most_common(MAX_REASONS_OF_DATASET)]
    return found


def last_times(found: DatasetHistory) -> list[str]:
    """The latest accepted delivery, the time by which the next one has to be, what replaces the dataset; a sentence each."""
    last = f"{found.last_accepted:%Y-%m-%d %H:%M} UTC" if found.last_accepted else "none in this time"
    return [
        f"Last accepted: {last}",
        *(
            f"{deadline.name}: {'missed since' if deadline.missed else 'the next delivery has to be accepted by'}"
            f" {deadline.until:%Y-%m-%d %H:%M} UTC"
            for deadline in found.deadlines
        ),
        *([f"Replaced by {found.replaced_by}"] if found.replaced_by else []),
    ]


def columns(found: DatasetHistory) -> list[DeliveryDays]:
    """The deliveries by day; of a long time by as many days as fit into the diagram."""
    days = (found.until.date() - found.since.date()).days + 1
    width = -(-days // MAX_BARS)
    made = []
    for begin in range(0, days, width):
        first = found.since.date() + timedelta(days=begin)
        last = min(first + timedelta(days=width - 1), found.until.date())
        inside = [delivery for delivery in found.deliveries if first <= delivery.at.date() <= last]
        made.append(
            DeliveryDays(
                first, last, {verdict: sum(one.verdict is verdict for one in inside) for verdict in SHOWN_VERDICTS}
            )
        )
    return made


def render_dataset(found: DatasetHistory) -> str:
    """The page."""
    made = columns(found)
    ages = found.ages
    longest, more = max((age for _, age in ages), default=0.0), len(found.rules) - MAX_RULES
    late = sum(found.freshness_limit is not None and age > found.freshness_limit for _, age in ages)
    of = f"of {plural(len(ages), 'delivery', 'deliveries')}"
    return template("dataset_report.html").render(
        found=found,
        times=last_times(found),
        verdicts=SHOWN_VERDICTS,
        titles={Verdict.REJECTED: "rejected", Verdict.ACCEPTED_WITH_WARNINGS: "warned", Verdict.ACCEPTED: "accepted"},
        columns=made,
        most=max((sum(each.counts.values()) for each in made), default=0) or 1,
        rules=found.rules[:MAX_RULES],
        unlisted=plural(more, "more rule is", "more rules are") if more > 0 else "",
        codes=CODES,
        ages=[(each, lasting(Fraction(age)), max(age, 0.0)) for each, age in ages],
        promised=lasting(found.freshness_limit) if found.freshness_limit is not None else "",
        limit=float(found.freshness_limit) if found.freshness_limit is not None else None,
        top=max(longest, float(found.freshness_limit or 0)) or 1,
        late=plural(late, f"{of} was", f"{of} were"),
    )
