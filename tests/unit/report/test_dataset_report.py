"""The report of a line: what it adds up, and what no text of others can do to it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pytest

from lakegate.report.dataset_report import ReportedDelivery, RuleHistory, columns, history_of, render_dataset
from lakegate.verdict.verdict import BrokenRule, Verdict
from tests.unit.report.test_delivery_report import HOSTILE, Page

SINCE = datetime(2026, 1, 1, tzinfo=UTC)
UNTIL = datetime(2026, 1, 30, 12, tzinfo=UTC)
PERIOD = (SINCE, UNTIL)
GOOD, WARNED, BAD = Verdict.ACCEPTED, Verdict.ACCEPTED_WITH_WARNINGS, Verdict.REJECTED


def delivery(
    day: int, verdict: Verdict = GOOD, *rules: BrokenRule, rows: int | None = 10, late: float | None = None
) -> ReportedDelivery:
    """One that was finished on a day of the month; `late`: hours from its youngest row."""
    at = SINCE + timedelta(days=day)
    youngest = None if late is None else at - timedelta(hours=late)
    return ReportedDelivery(at, verdict, rows, rules, youngest)


FAILED, MILD, CODE = BrokenRule("a", "fail", 4), BrokenRule("a", "warn", 1), BrokenRule("duplicate-content", "fail")
DELIVERIES = (
    delivery(0),
    delivery(1, BAD, FAILED),
    delivery(1, WARNED, MILD),
    delivery(2, BAD, CODE, rows=None),
    ReportedDelivery(SINCE, GOOD, 10, None),
)


def test_the_share_of_a_rule_is_of_the_deliveries_that_were_measured() -> None:
    """Not of those that the door refused, or that an earlier release did not index; the least reliable rule is the first."""
    found = history_of("shop/orders_v1", PERIOD, DELIVERIES, ["b", "a"])

    assert found.rules == [RuleHistory("a", 3, failed=1, warned=1, failing_rows=5), RuleHistory("b", 3)]
    assert [(each.passed, each.share) for each in found.rules] == [(1, 33.3), (3, 100.0)]
    assert found.reasons == [("a", 2, 5), ("duplicate-content", 1, 0)]
    assert [found.counted(each) for each in (GOOD, WARNED, BAD)] == [2, 1, 2]


def test_a_line_without_measured_deliveries_has_no_shares() -> None:
    """Nothing divided by nothing is not 100 %."""
    found = history_of("x", PERIOD, [delivery(1, BAD, CODE, rows=None)], ["a"])

    assert (found.rules, found.reasons) == ([], [("duplicate-content", 1, 0)])
    assert "Rules" not in Page(render_dataset(found)).text


@pytest.mark.parametrize(("days", "width"), [(30, 1), (90, 1), (91, 2), (3_650, 41)])
def test_a_column_has_as_many_days_as_needed(days: int, width: int) -> None:
    """At most ninety columns; each delivery is in one of them."""
    until = SINCE + timedelta(days=days - 1)
    made = columns(history_of("x", (SINCE, until), DELIVERIES))

    assert len(made) == -(-days // width) <= 90
    assert (made[0].first, made[-1].last) == (SINCE.date(), until.date())
    assert sum(sum(each.counts.values()) for each in made) == len(DELIVERIES)


def test_the_page_says_what_happened_first() -> None:
    """Verdicts and the most frequent reason are its first sentences; codes are explained."""
    page = Page(render_dataset(history_of("shop/orders_v1", PERIOD, DELIVERIES, ["a", "b"])))

    assert (
        "shop/orders_v1 5 deliveries from 2026-01-01 to 2026-01-30: 2 rejected, 1 warned, 2 accepted. Most often: a , in 2."
        in page.text
    )
    assert "duplicate-content : the very same content was accepted before 1 delivery 0 rows" in page.text
    assert "a 1 of 3 (33.3 %) 1 failed, 1 warned" in page.text
    assert page.labels[0] == "Deliveries by day, the oldest first: 2026-01-01 2, 2026-01-02 2, 2026-01-03 1"
    assert page.labels[1:] == ["33.3 % of the deliveries passed", "100.0 % of the deliveries passed"]
    assert "Freshness" not in page.text


def test_a_line_without_deliveries_says_so() -> None:
    """An empty time is no error."""
    page = Page(render_dataset(history_of("x", PERIOD, [])))

    assert "0 deliveries from 2026-01-01 to 2026-01-30: 0 rejected, 0 warned, 0 accepted." in page.text
    assert "No delivery was finished in this time." in page.text


def test_freshness_is_compared_with_its_promise() -> None:
    """The age of the youngest row when the delivery was finished; without a promise it is shown alone."""
    aged = [delivery(1, late=2), delivery(2), delivery(3, late=30)]
    promised = Page(render_dataset(history_of("x", PERIOD, aged, freshness_limit=Fraction(86_400))))
    alone = Page(render_dataset(history_of("x", PERIOD, aged)))

    assert "Promised: the youngest row at most 24 hours old. 1 of 2 deliveries was older" in promised.text
    assert promised.labels[1] == "Age of the youngest row by delivery, the oldest first: 2 hours, 30 hours"
    assert ("line" in promised.elements, "line" in alone.elements) == (True, False)
    assert "The contract promises no freshness." in alone.text


def test_a_row_from_the_future_is_not_older_than_nothing() -> None:
    """A negative age has the lowest bar."""
    text = render_dataset(history_of("x", PERIOD, [delivery(1, late=-5)], freshness_limit=Fraction(1)))

    assert 'y="39.0" height="1.0"' in text


def test_a_table_of_rules_is_bounded() -> None:
    """A page of ten thousand rules would not be read."""
    page = Page(render_dataset(history_of("x", PERIOD, [delivery(1)], map(str, range(1_001)))))

    assert "1 more rule is not listed here." in page.text
    assert page.elements.count("tr") == 1_001


@pytest.mark.parametrize("text", HOSTILE)
def test_texts_of_others_add_no_element_and_no_attribute(text: str) -> None:
    """Names of lines and rules are text in every position of the page."""

    def page(word: str) -> Page:
        broken = BrokenRule(word, "fail", 1)
        return Page(render_dataset(history_of(word, PERIOD, [delivery(1, BAD, broken)], [word, f"{word} again"])))

    harmless, hostile = page("plain"), page(text)

    assert (hostile.elements, hostile.attributes, hostile.addresses) == (
        harmless.elements,
        harmless.attributes,
        harmless.addresses,
    )
    assert "49" not in hostile.text
    assert all(each.isprintable() for each in hostile.text)
