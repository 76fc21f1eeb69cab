from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from lakegate.contract.delivery_policy import OnReject
from lakegate.contract.file_formats import Compression, Format
from lakegate.plan.metrics import Metric
from lakegate.plan.plan import Plan
from lakegate.plan.request import Request
from lakegate.plan.result import Result
from tests.agreement import run
from tests.agreement.cases import Case, case_of
from tests.agreement.choice import chosen
from tests.agreement.engines import differences
from tests.agreement.run import Disagreement, compared, smaller
from tests.deliveries.delivery import measure_natively

DRAWN = 150


def _first(result: Result, **more: int) -> Result:
    """The result with other counts in its first measurement."""
    first, *others = result.measurements
    assert first.accept is not None
    counts = {name: (getattr(first.accept, name) or 0) + number for name, number in more.items()}
    return replace(result, measurements=(replace(first, accept=replace(first.accept, **counts)), *others))


def _without_samples(result: Result) -> Result:
    """The result without the last sample of each check."""
    return replace(result, measurements=tuple(replace(each, samples=each.samples[:-1]) for each in result.measurements))


ALTERED: dict[str, Callable[[Result], Result]] = {
    "rows": lambda it: replace(it, rows=it.rows + 1),
    "rejected rows": lambda it: replace(it, rejected_rows=it.rejected_rows + 1),
    "a failing row": lambda it: _first(it, failing=1),
    "the rows of a check": lambda it: _first(it, of=1),
    "a sample": _without_samples,
    "a column": lambda it: replace(it, columns=it.columns and replace(it.columns, extra=("planted",))),
    "the measurements": lambda it: replace(it, measurements=it.measurements[:-1]),
}


@pytest.fixture(scope="module")
def drawn() -> list[Case]:
    """The cases of the first seeds."""
    return [case_of(seed) for seed in range(DRAWN)]


@pytest.fixture(scope="module")
def failing(drawn: list[Case], tmp_path_factory: pytest.TempPathFactory) -> Case:
    """A case with samples of failing rows, whose delivery is not split."""
    for case in drawn:
        folder = tmp_path_factory.mktemp("case")
        if case.plan.policy.on_reject is OnReject.FILE:
            found = measure_natively(case.request(folder), case.plan)
            if found.columns and any(each.samples for each in found.measurements):
                return case
    raise AssertionError


def test_a_seed_gives_one_case(drawn: list[Case]) -> None:
    """The contract, the bytes and the accepted data of a seed are the same each time."""
    assert [case_of(each.seed) for each in drawn[:5]] == drawn[:5]


def test_every_metric_format_and_codec_is_drawn(drawn: list[Case]) -> None:
    """All metrics of contracts and all forms of files occur in a few generated cases."""
    measured = {check.metric for case in drawn for check in case.plan.checks if check.skip is None}
    storages = [case.plan.storage for case in drawn]

    assert measured == set(Metric) - {Metric.DELAY, Metric.EXTERNAL}  # what no engine measures
    assert {each.format for each in storages} == set(Format) - {Format.UNKNOWN}
    assert {each.compression for each in storages} == set(Compression)
    assert {case.plan.policy.on_reject for case in drawn} == set(OnReject)
    assert {case.contract.format.split(" ")[0] for case in drawn} == {"ODCS", "DCS", "DCM"}


def test_chosen_cases_have_every_kind_of_all_cases(drawn: list[Case]) -> None:
    """A run of the chosen cases has each metric, rule, type, format with each codec, and place of records; it is much shorter."""
    short = chosen(drawn)

    def met(cases: list[Case]) -> set[object]:
        checks = [(case, each) for case in cases for each in case.plan.checks]
        return (
            {(each.metric, case.plan.policy.on_reject) for case, each in checks if each.skip is None}
            | {(each.kind, each.skip is None) for _, each in checks}
            | {(each.metric, each.row_filter is None) for _, each in checks if each.skip is None}
            | {(case.plan.storage.format, case.plan.storage.compression) for case in cases}
            | {(case.plan.storage.records != "", case.plan.csv.skip_rows > 0) for case in cases}
            | {(each.type, each.shape) for case in cases for each in case.plan.fields}
        )

    assert met(short) == met(drawn)
    assert len(short) < DRAWN / 4
    assert len(short) == len({each.seed for each in short})


def test_one_engine_agrees_with_itself(failing: Case, tmp_path: Path) -> None:
    """The same engine twice gives no difference."""
    assert differences(failing, measure_natively, tmp_path) == []


@pytest.mark.parametrize("what", ALTERED)
def test_a_planted_difference_is_found(what: str, failing: Case, tmp_path: Path) -> None:
    """An engine whose answer differs in one place only is reported."""

    def altered(request: Request, plan: Plan) -> Result:
        return ALTERED[what](measure_natively(request, plan))

    assert differences(failing, altered, tmp_path) != []


def test_a_disagreement_is_found_again_with_a_smaller_contract(failing: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of the contract that the difference does not need are left out; the delivery stays, and the answers still differ."""

    def altered(request: Request, plan: Plan) -> Result:
        return ALTERED["rows"](measure_natively(request, plan))

    monkeypatch.setattr(run, "MAX_ATTEMPTS", 8)
    found = smaller(Disagreement(failing, compared(failing, altered)), altered)

    assert len(found.case.text) < len(failing.text)
    assert found.case.objects == failing.objects
    assert compared(found.case, altered) == found.lines != ()
