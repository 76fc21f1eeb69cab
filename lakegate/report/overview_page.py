"""The overview of all datasets of a stack: what became of the newest deliveries, what is due, what is open, what is planned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from types import MappingProxyType
from typing import Final, NamedTuple

from lakegate.base.json_codec import Exact, NotEmpty, omit_default
from lakegate.base.text import plural
from lakegate.base.timestamps import Moment
from lakegate.contract.contract_model import DATASET_KEY
from lakegate.report.delivery_report import template
from lakegate.verdict.verdict import Verdict

NEWEST: Final = 10
"""Deliveries of a dataset that the overview describes."""
SHOWN: Final = 3
"""Broken rules, and anomalies, of a delivery that are shown."""
LETTERS: Final = {Verdict.ACCEPTED: "A", Verdict.ACCEPTED_WITH_WARNINGS: "W", Verdict.REJECTED: "R"}
"""Verdicts in a row of letters."""
LEGEND: Final = "Verdicts, the newest first: A accepted, W accepted with warnings, R rejected."
TWO_DIGITS: Final = 10
"""Percent, below which a share has two significant digits."""
NO_PAGES: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class StandingCause:
    """A reason for which a subscriber's channel was notified, and that is not resolved."""

    kind: NotEmpty
    title: str
    count: Exact
    """Of its occurrences."""
    since: Moment


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """A version, or a status of the dataset, that takes effect later."""

    what: NotEmpty
    at: Moment


@dataclass(frozen=True, slots=True)
class DatasetSummary:
    """One dataset of the overview."""

    dataset: NotEmpty = field(metadata=DATASET_KEY)
    name: str | None
    """Of its contract, by the document."""
    owner: str | None
    version: str
    """Of the contract: the current one."""
    status: str
    """By which deliveries are judged now."""
    last_accepted: Moment | None
    due: Moment | None
    """The time by which the next delivery has to be accepted; null without a service level."""
    missed: bool
    """Whether that time is over."""
    verdicts: tuple[Verdict, ...]
    """Of the newest deliveries, at most ten, the newest first."""
    rows: Exact
    """Of these deliveries, as far as they were measured."""
    rejected_rows: Exact
    rejected_share: float | None
    """From 0 to 1; null where no rows were measured."""
    broken_rules: tuple[str, ...]
    """Rules that the newest delivery broke."""
    causes: tuple[StandingCause, ...]
    planned: tuple[PlannedStep, ...]
    """By time."""
    height: int
    """Of the chain of the dataset, that this is of; -1: no delivery has ended."""
    anomalies: tuple[str, ...] = omit_default(())
    """What is unusual of the newest delivery, in words, at most three; absent: nothing."""

    @property
    def title(self) -> str:
        """The name that people know it by."""
        return self.name or self.dataset

    @property
    def open(self) -> tuple[str, ...]:
        """The open causes; without a channel that was notified, the rules that keep the newest delivery from being accepted.

        Then what is unusual of it.
        """
        told = tuple(f"{each.title} ({each.count:,} times)" if each.count > 1 else each.title for each in self.causes)
        is_accepted = not self.verdicts or self.verdicts[0] is Verdict.ACCEPTED
        return (*(told or (() if is_accepted else self.broken_rules[:SHOWN])), *self.anomalies)

    @property
    def is_rejected(self) -> bool:
        """Whether the newest delivery was rejected."""
        return self.verdicts[:1] == (Verdict.REJECTED,)

    @property
    def share_in_words(self) -> str:
        """The share of rejected rows in percent; empty where no rows were measured."""
        if self.rejected_share is None:
            return ""
        percent = 100 * self.rejected_share
        return f"{percent:.2g} %" if 0 < percent < TWO_DIGITS else f"{percent:.0f} %"

    @property
    def attention(self) -> bool:
        """Whether a person should look at it."""
        return self.missed or self.is_rejected or bool(self.open)


@dataclass(frozen=True, slots=True)
class DatasetsOverview:
    """All datasets of a stack, by their names."""

    at: Moment
    """When it was made; of the one in the lake, when it last changed."""
    datasets: tuple[DatasetSummary, ...]

    def by_urgency(self) -> list[DatasetSummary]:
        """The datasets as people read them: first those that need somebody, last the retired ones."""
        return sorted(self.datasets, key=lambda each: (each.status == "retired", not each.attention, each.dataset))

    def in_words(self) -> str:
        """The counts in a sentence."""
        counts = Counter(
            word
            for each in self.datasets
            for word, holds in (
                ("overdue", each.missed),
                ("with a rejected newest delivery", each.is_rejected),
                ("with open causes", bool(each.causes)),
                ("with an unusual newest delivery", bool(each.anomalies)),
            )
            if holds
        )
        told = ", ".join(f"{count:,} {word}" for word, count in counts.items())
        return f"{plural(len(self.datasets), 'dataset')}: {told or 'none needs attention'}."


def minute(at: str | None) -> str:
    """A time to the minute, UTC; empty for none."""
    return at[:16].replace("T", " ") if at else ""


class _Letters(NamedTuple):
    """Equal verdicts in succession."""

    verdict: str
    text: str


def letters(verdicts: Iterable[Verdict]) -> str:
    """The verdicts as letters, the newest first."""
    return "".join(LETTERS[each] for each in verdicts)


def _grouped(verdicts: Iterable[Verdict]) -> list[_Letters]:
    return [_Letters(verdict.value, letters(each)) for verdict, each in groupby(verdicts)]


def render_overview(found: DatasetsOverview, pages: Mapping[str, str] = NO_PAGES) -> str:
    """The page. `pages`: of each dataset that has a page of its own, the address."""
    return template("overview_page.html").render(
        found=found, pages=pages, legend=LEGEND, letters=letters, grouped=_grouped, minute=minute
    )
