"""Metrics of single datasets: which are sent, with which values, and of how many datasets."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from lakegate.aws import dataset_metrics
from lakegate.aws.dataset_metrics import (
    MOST_DATASETS,
    NAMED,
    DatasetMetric,
    are_any_measured,
    count_ages,
    count_delivery,
)
from lakegate.aws.lambda_runtime import STACK
from lakegate.base.extension_points import ROOT
from tests.unit.report.test_overview_page import summary

BODY = {"line": "sales.eu/orders_v1", "verdict": "rejected", "rows": 200, "rejected_rows": 50, "seconds": 90.0}


@pytest.fixture(autouse=True)
def named(monkeypatch: pytest.MonkeyPatch) -> None:
    dataset_metrics._sent.cache_clear()  # noqa: SLF001 - of one environment of a function
    monkeypatch.setenv(STACK, "lakegate-test")
    monkeypatch.setenv(NAMED, "sales.*,orders")


def sent(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    for each in lines:
        (of_metrics,) = each.pop("_aws")["CloudWatchMetrics"]
        assert (of_metrics["Namespace"], sorted(of_metrics["Dimensions"][0])) == ("Lakegate", ["dataset", "stack"])
        assert {metric["Name"] for metric in of_metrics["Metrics"]} <= {metric.value for metric in DatasetMetric}
    return lines


def test_a_delivery_is_one_line_with_rows_share_and_minutes(capsys: pytest.CaptureFixture[str]) -> None:
    """By the body of its event; a share of no rows is none, and what was not measured has its time alone."""
    count_delivery(BODY)
    count_delivery(BODY | {"rows": 0, "rejected_rows": 0, "seconds": None, "verdict": "accepted"})
    count_delivery(BODY | {"rows": None, "rejected_rows": None})
    of = {"stack": "lakegate-test", "dataset": "sales.eu/orders_v1"}

    assert sent(capsys) == [
        {**of, "DatasetRows": [200.0], "DatasetRejectedShare": [25.0], "DatasetMinutesToVerdict": [1.5]},
        {**of, "DatasetRows": [0.0]},
        {**of, "DatasetMinutesToVerdict": [1.5]},
    ]


@pytest.mark.parametrize(
    "changes",
    [
        {"line": "hr/people_v1"},
        {"line": None},
        {"line": "_unrouted/2026-01-01"},
        {"line": "orders.x/a_v1"},
        {"verdict": None},
    ],
)
def test_other_datasets_have_no_metrics(changes: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    """Contracts that are not named, keys without a route, and what failed."""
    count_delivery(BODY | changes)

    assert sent(capsys) == []


@pytest.mark.parametrize("text", ["", ","])
def test_nothing_is_counted_by_default(
    text: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each metric is paid for."""
    monkeypatch.setenv(NAMED, text)
    count_delivery(BODY)
    count_ages([summary("sales.eu/orders_v1")], datetime(2026, 1, 30, 7, tzinfo=UTC))

    assert sent(capsys) == []
    assert not (are_any_measured() and not text)


def test_the_age_of_what_was_accepted_is_told_by_each_sweep(capsys: pytest.CaptureFixture[str]) -> None:
    """In minutes; not of a dataset that is retired, or of which nothing was accepted."""
    ages = [
        summary("sales.eu/orders_v1"),
        summary("sales.eu/gone_v1", status="retired"),
        summary("sales.eu/new_v1", last_accepted=None),
        summary("hr/people_v1"),
    ]
    count_ages(ages, datetime(2026, 1, 30, 7, 30, tzinfo=UTC))

    assert sent(capsys) == [
        {"stack": "lakegate-test", "dataset": "sales.eu/orders_v1", "DatasetMinutesSinceAccepted": [90.0]}
    ]


def test_the_dimension_is_bounded_and_in_ascii(capsys: pytest.CaptureFixture[str]) -> None:
    """CloudWatch takes no other characters; beyond so many datasets they are counted together."""
    names = [f"sales.ü{'x' * 300 if number == 1 else ''}/o{number}_v1" for number in range(MOST_DATASETS + 2)]
    for name in names:
        count_delivery(BODY | {"line": name})
    found = [each["dataset"] for each in sent(capsys)]

    assert found[0] == "sales.\\xfc/o0_v1"
    assert (len(found[1]), found[-2:]) == (16, ["others", "others"])
    assert all(each.isascii() and 0 < len(each) <= 250 for each in found)
    assert len(set(found)) == MOST_DATASETS + 1


@pytest.mark.parametrize("name", ["datasets.cloudwatch.json", "datasets.grafana.json"])
def test_the_dashboards_show_the_metrics_of_the_code(name: str) -> None:
    """Each of them, with the dimensions that they are sent with, and no other."""
    text = (ROOT / "infra/dashboards" / name).read_text()
    document = json.loads(text)
    shown = document.get("widgets") or document["panels"]

    assert len(shown) == len(DatasetMetric)
    for metric, each in zip(DatasetMetric, shown, strict=True):
        (query,) = each.get("targets") or each["properties"]["metrics"][0]
        if "expression" in query:
            assert query["expression"].startswith(
                f'SEARCH(\'{{Lakegate,dataset,stack}} MetricName="{metric}" stack="STACK"\', '
            )
        else:
            assert (query["namespace"], query["metricName"]) == ("Lakegate", metric)
            assert set(query["dimensions"]) == {"stack", "dataset"}
