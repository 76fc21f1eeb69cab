"""The page of all datasets: its order, its words, and what no text of others can do to it."""

from __future__ import annotations

from typing import Any

import pytest

from lakegate.report.overview_page import (
    DatasetsOverview,
    DatasetSummary,
    PlannedStep,
    StandingCause,
    letters,
    render_overview,
)
from lakegate.verdict.verdict import Verdict
from tests.unit.report.test_delivery_report import HOSTILE, Page

AT = "2026-01-30T12:00:00.000000Z"
GOOD, WARNED, BAD = Verdict.ACCEPTED, Verdict.ACCEPTED_WITH_WARNINGS, Verdict.REJECTED


def summary(dataset: str = "shop/orders_v1", word: str = "", **given: Any) -> DatasetSummary:
    """A dataset with everything that one can have; `word` in each text."""
    members: dict[str, Any] = {
        "name": f"Web shop orders{word}",
        "owner": f"sales{word}",
        "version": f"1.2.0{word}",
        "status": "active",
        "last_accepted": "2026-01-30T06:00:00.000000Z",
        "due": "2026-01-31T06:00:00.000000Z",
        "missed": False,
        "verdicts": (GOOD, GOOD, WARNED, BAD),
        "rows": 1_000,
        "rejected_rows": 4,
        "rejected_share": 0.004,
        "broken_rules": (),
        "causes": (
            StandingCause("rejected", f"Rejected: orders{word}", 3, AT),
            StandingCause("late", f"Late{word}", 1, AT),
        ),
        "planned": (PlannedStep(f"2.0.0{word}", AT),),
        "height": 3,
    }
    return DatasetSummary(dataset + word, **(members | given))


QUIET: dict[str, Any] = {"causes": (), "planned": ()}


def overview(*datasets: DatasetSummary) -> DatasetsOverview:
    return DatasetsOverview(AT, datasets)


def test_what_needs_somebody_is_the_first_and_what_is_retired_the_last() -> None:
    """Overdue, rejected and notified datasets before the others, by name."""
    datasets = (
        summary("a/retired_v1", status="retired", **QUIET),
        summary("b/fine_v1", **QUIET),
        summary("c/late_v1", missed=True, **QUIET),
        summary("d/new_v1", **QUIET, verdicts=()),
        summary("e/bad_v1", verdicts=(BAD,), broken_rules=("id", "age"), **QUIET),
        summary("f/told_v1"),
        summary("g/unusual_v1", anomalies=("rows: 112, usual is 1,820 to 2,240",), **QUIET),
        summary("h/warned_v1", verdicts=(WARNED,), broken_rules=("age",), **QUIET),
    )
    found = overview(*datasets)

    assert [each.dataset[0] for each in found.by_urgency()] == ["c", "e", "f", "g", "h", "b", "d", "a"]
    assert found.in_words() == (
        "8 datasets: 1 overdue, 1 with a rejected newest delivery, 1 with open causes, 1 with an unusual newest delivery,"
        " 1 with warnings about the newest delivery."
    )
    assert [each.attention for each in datasets] == [bool(each.open or each.missed) for each in datasets]
    assert [each.open for each in found.by_urgency()[:5]] == [
        (),
        ("id", "age"),
        ("Rejected: orders (3 times)", "Late"),
        ("rows: 112, usual is 1,820 to 2,240",),
        ("age",),
    ]
    assert overview(datasets[1]).in_words() == "1 dataset: none needs attention."


@pytest.mark.parametrize(
    ("share", "words"), [(None, ""), (0.0, "0 %"), (0.00123, "0.12 %"), (0.0999, "10 %"), (0.5, "50 %"), (1.0, "100 %")]
)
def test_a_share_has_two_digits_where_it_is_small(share: float | None, words: str) -> None:
    """So that one row in a thousand is not nothing."""
    assert summary(rejected_share=share).share_in_words == words


def test_a_page_has_a_row_for_each_dataset_with_all_that_is_known() -> None:
    """The name before the id; a link where there is a page; a missed time says so."""
    late = summary("c/late_v1", missed=True, name=None, owner=None, **QUIET)
    page = Page(render_overview(overview(summary(), late), {"c/late_v1": "datasets/late.html"}))

    for text in (
        "Web shop orders shop/orders_v1 sales 2026-01-30 06:00 2026-01-31 06:00 AAWR 0.4 %",
        "Rejected: orders (3 times) Late 2.0.0 on 2026-01-30",
        "missed 2026-01-31 06:00",
    ):
        assert text in " ".join(page.text.split()).replace("AA W R", "AAWR")
    out = summary(verdicts=(GOOD, GOOD, WARNED, BAD), not_current=("", "superseded", "recalled", ""), newest="0a1b")
    assert [letters(each.outcomes) for each in (summary(), out)] == ["AAWR", "ASXR"]
    linked = render_overview(overview(out), reports=lambda workload: f"../runs/{workload}/report.html")
    assert 'href="../runs/0a1b/report.html"' in linked
    assert "S superseded, X recalled" in Page(linked).text
    assert 'href="datasets/late.html"' in render_overview(overview(late), {"c/late_v1": "datasets/late.html"})
    assert "No dataset is published." in Page(render_overview(overview())).text


@pytest.mark.parametrize("text", HOSTILE)
def test_texts_of_others_add_no_element_and_no_attribute(text: str) -> None:
    """Names, owners, versions, causes, rules and anomalies are text in every position."""

    def page(word: str) -> Page:
        bad = summary("x/bad_v1", word, verdicts=(BAD,), broken_rules=(word,), anomalies=(word,), **QUIET)
        return Page(render_overview(overview(summary(word=word), bad)))

    harmless, hostile = page("plain"), page(text)

    assert (hostile.elements, hostile.attributes, hostile.addresses) == (
        harmless.elements,
        harmless.attributes,
        harmless.addresses,
    )
    assert "49" not in hostile.text
    assert all(each.isprintable() for each in hostile.text)
