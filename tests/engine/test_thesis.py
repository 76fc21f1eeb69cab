"""The thesis's result, from a run: docs/thesis.md shows what the engine finds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from infra.samples.sample_data import CORRECTED, DELIVERED, SampleFile
from lakegate.plan.plan import Plan
from lakegate.verdict.check_status import CheckOutcome, Status
from lakegate.verdict.verdict import Verdict
from tests.deliveries.delivery import Judged
from tests.reference import thesis


def test_the_page_shows_what_is_found(judge_files: Callable[..., Judged]) -> None:
    """Both tables of docs/thesis.md are those of a run on the same data."""

    def outcomes(plan: Plan, content: bytes) -> tuple[CheckOutcome, ...]:
        return judge_files(plan, content).judgement.outcomes

    page = thesis.PAGE.read_text()
    for name, table in thesis.tables(outcomes).items():
        assert table == page.partition(f"<!-- {name} -->\n")[2].partition("\n<!-- end -->")[0]


def test_what_was_put_in_is_what_is_found(judge_files: Callable[..., Judged]) -> None:
    """Of the cleaned data just the two injected columns fail and just two are warned of: the rest of the 46 checks pass."""
    judged = judge_files(thesis.plan(), thesis.content(CORRECTED))
    of_rules = [each for each in judged.judgement.outcomes if each.rule.endswith("_rule")]
    bad = {each.id: each.status for each in of_rules if each.status is not Status.PASS}

    assert (judged.verdict, len(of_rules)) == (Verdict.REJECTED, 46)
    assert bad == {
        "max_percent_measurements_rule/humidity_perc": Status.FAIL,
        "max_degrees_measurements_rule/wind_direct_grad": Status.FAIL,
        "not_null_measurements_rule/gust_max_m_s": Status.WARN,
        "not_null_measurements_rule/wind_speed_m_s": Status.WARN,
    }


def test_of_the_45_checks_of_the_thesis_32_and_then_41_pass(judge_files: Callable[..., Judged]) -> None:
    """Its nine rules are those of Appendix A without `unique_index_rule`; its second run has the same numbers."""

    def counted(sample: SampleFile) -> Counter[Status]:
        outcomes = judge_files(thesis.plan(), thesis.content(sample)).judgement.outcomes
        nine = [each for each in outcomes if each.rule.endswith("_rule") and each.rule != "unique_index_rule"]
        return Counter(each.status for each in nine)

    assert counted(DELIVERED) == {Status.PASS: 32, Status.FAIL: 13}
    assert counted(CORRECTED) == thesis.THESIS["cleaned"] == {Status.PASS: 41, Status.WARN: 2, Status.FAIL: 2}
