"""The overview of all datasets of a stack: what became of the newest deliveries, what is due, what is open, what is planned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
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
LETTERS: Final = {
    Verdict.ACCEPTED.value: "A",
    Verdict.ACCEPTED_WITH_WARNINGS.value: "W",
    Verdict.REJECTED.value: "R",
    "superseded": "S",
    "recalled": "X",
}
"""Verdicts in a row of letters, and by what an accepted delivery is not current."""
LEGEND: Final = (
    "Verdicts, the newest first: A accepted, W accepted with warnings, R rejected; accepted, and not current: S superseded,"
    " X recalled."
)
ATTENTION: Final = (
    "Those that need attention are the first: overdue, the newest delivery rejected, accepted with warnings or unusual, or an"
    " open cause."
)
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
    not_current: tuple[str, ...] = omit_default(())
    """Of the deliveries of `verdicts`, `superseded` or `recalled`, else empty; absent: all accepted ones are current."""
    newest: str = omit_default("")
    """The workload of the newest delivery; absent: none has ended."""

    @property
    def title(self) -> str:
        """The name that people know it by."""
        return self.name or self.dataset

    @property
    def open(self) -> tuple[str, ...]:
        """The open causes; without a channel that was notified, the rules that the newest delivery broke or that warned of it.

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
    def needs(self) -> tuple[str, ...]:
        """Why it needs attention, in the words of the sentence about all datasets; empty: it needs none.

        Whatever is `open` has one of them.
        """
        is_warned = self.verdicts[:1] == (Verdict.ACCEPTED_WITH_WARNINGS,)
        holds = (
            ("overdue", self.missed),
            ("with a rejected newest delivery", self.is_rejected),
            ("with warnings about the newest delivery", is_warned),
            ("with open causes", bool(self.causes)),
            ("with an unusual newest delivery", bool(self.anomalies)),
        )
        return tuple(word for word, is_so in holds if is_so)

    @property
    def attention(self) -> bool:
        """Whether it needs attention."""
        return bool(self.needs)

    @property
    def outcomes(self) -> tuple[str, ...]:
        """Of the newest deliveries by what they are not current, else their verdicts."""
        out = self.not_current or ("",) * len(self.verdicts)
        return tuple(word or verdict.value for word, verdict in zip(out, self.verdicts, strict=True))


@dataclass(frozen=True, slots=True)
class DatasetsOverview:
    """All datasets of a stack, by their names."""

    at: Moment
    """When it was made; of the one in the lake, when it last changed."""
    datasets: tuple[DatasetSummary, ...]

    def by_urgency(self) -> list[DatasetSummary]:
        """The datasets as people read them: first those that need attention, last the retired ones."""
        return sorted(self.datasets, key=lambda each: (each.status == "retired", not each.attention, each.dataset))

    def in_words(self) -> str:
        """The counts in a sentence."""
        counts = Counter(word for each in self.datasets for word in each.needs)
        told = ", ".join(f"{count:,} {word}" for word, count in counts.items())
        return f"{plural(len(self.datasets), 'dataset')}: {told or 'none needs attention'}."


def minute(at: str | None) -> str:
    """A time to the minute, UTC; empty for none."""
    return at[:16].replace("T", " ") if at else ""


class _Letters(NamedTuple):
    """Equal outcomes in succession."""

    style: str
    text: str


def letters(outcomes: Iterable[str]) -> str:
    """The outcomes of deliveries as letters, the newest first."""
    return "".join(LETTERS[each] for each in outcomes)


def _grouped(outcomes: Iterable[str]) -> list[_Letters]:
    verdicts = {each.value for each in Verdict}
    return [_Letters(outcome if outcome in verdicts else "dim", letters(each)) for outcome, each in groupby(outcomes)]


def render_overview(
    found: DatasetsOverview, pages: Mapping[str, str] = NO_PAGES, reports: Callable[[str], str] | None = None
) -> str:
    """The page. `pages`: of each dataset that has a page of its own, the address; `reports`: that of a workload's report."""
    return template("overview_page.html").render(
        found=found, pages=pages, legend=LEGEND, attention=ATTENTION, reports=reports, grouped=_grouped, minute=minute
    )
