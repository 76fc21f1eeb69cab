"""Every case of every kind of rule, through the reference evaluator and the verdict."""

from __future__ import annotations

import re

import pytest

from lakegate.base.errors import ContractError
from lakegate.plan.check import Check
from lakegate.plan.metrics import Metric, Number
from lakegate.plan.result import Measured, Measurement, Result
from lakegate.rules import rule_kinds
from lakegate.rules.rule_kinds import RULES
from lakegate.verdict.check_status import of_header
from lakegate.verdict.verdict import judge
from tests.reference.cases import Case, cases, cases_of_parts, good_cases, refused_cases
from tests.reference.evaluator import measure

CASES = cases()
GOOD = [*good_cases(), *cases_of_parts()]


def found(case: Case, result: Result) -> list[dict[str, str]]:
    """The outcome of each check, in the notation of the case files."""
    measurements = {each.check: each for each in result.measurements}
    words = []
    for check, outcome in zip(
        case.plan.checks, judge(case.plan, result).outcomes[-len(case.plan.checks) :], strict=True
    ):
        answer = measurements.get(check.id)
        if check.needs_rows is False and check.skip is None and result.columns:
            answer = Measurement(check.id, of_header(check, result.columns))
        if answer is None or answer.accept is None:
            words.append({outcome.status.value: outcome.message})
            continue
        word = {outcome.status.value: figures(check, answer.accept)}
        words.append(word | ({"tolerate": figures(check, answer.tolerate)} if answer.tolerate else {}))
    return words


def figures(check: Check, measured: Measured) -> str:
    if check.metric.spec.number is Number.TOTAL:
        return str(measured.of)
    if check.metric.spec.number is Number.REMAINING:
        return f"{measured.of - (measured.failing or 0)}/{measured.of}"
    if check.metric is Metric.ANSWER:
        return f"{'none' if measured.exact is None else format(float(measured.exact), '.9g')}/{measured.of}"
    if check.metric.floating or check.metric.is_duration:
        return f"{'none' if measured.number is None else format(measured.number, '.9g')}/{measured.of}"
    return f"{measured.failing}/{measured.of}"


def wanted(case: Case) -> list[dict[str, str]]:
    def word(value: object) -> str:
        number, slash, of = str(value).partition("/")
        exact = re.fullmatch(r"-?[0-9]+\.[0-9]+", number)
        return f"{float(number):.9g}{slash}{of}" if exact else str(value)

    return [{status: word(value) for status, value in check.items()} for check in case.checks]


@pytest.mark.parametrize("case", GOOD, ids=lambda case: case.id)
def test_a_rule_measures_and_decides_as_written(case: Case) -> None:
    """The numbers and the status of each check are those the case file names."""
    assert wanted(case) == found(case, measure(case.plan, case.header, case.rows))


@pytest.mark.parametrize("case", refused_cases(), ids=lambda case: case.id)
def test_a_rule_without_meaning_is_refused(case: Case) -> None:
    """A rule that cannot mean anything is a problem of the contract, with a stable code and its place."""
    with pytest.raises(ContractError) as refusal:
        _ = case.plan

    assert [(case.refused, "$.rule", 1)] == [(each.code, each.path, each.line) for each in refusal.value.problems]


def test_case_ids_differ() -> None:
    """Each case can be named in a report."""
    assert len(CASES) == len({case.id for case in CASES})


@pytest.mark.parametrize("kind", sorted(RULES))
def test_every_kind_is_shown_an_empty_dataset_and_nothing_but_nulls(kind: str) -> None:
    """Each kind of rule has cases for an empty dataset and for nulls only, so that vacuous outcomes are specified."""
    of_kind = [case for case in GOOD if case.kind == kind]

    assert any(not case.rows for case in of_kind)
    assert any(case.rows and all(value is None for row in case.rows for value in row) for case in of_kind)


def test_the_table_in_words_names_every_kind() -> None:
    """The table that readers of documents follow lists exactly the kinds that compile."""
    table = (rule_kinds.__doc__ or "").split("\n=====")[2]
    rows = [line[:24].strip() for line in table.splitlines() if line[:1].islower()]

    assert set(RULES) == {name.strip() for row in rows for name in row.split(",")}
