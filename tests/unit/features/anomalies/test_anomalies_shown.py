"""An anomaly in commands, pages and over HTTP: beside the verdict, with its numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from lakegate.features.anomalies.robust_band import FEWEST
from tests.unit.cli.conftest import Lakegate
from tests.unit.report.test_delivery_report import Page

TEXT = "rows: 12, usual is 145 to 276 (median of the last 14 deliveries: 200)"
ANOMALY = {
    "measure": "rows",
    "subject": "",
    "value": 12.0,
    "low": 144.599718,
    "high": 276.479933,
    "median": 200.0,
    "deliveries": 14,
    "season": "",
    "text": TEXT,
}


@pytest.fixture
def unusual(lakegate: Lakegate, monkeypatch: pytest.MonkeyPatch) -> str:
    """Deliveries of 200 rows, and the workload of one of 12 that follows."""
    lakegate.routed()
    for rows in (*[200] * FEWEST, 12):
        monkeypatch.setattr("tests.unit.cli.conftest.ROWS", rows)
        name = f"{len(lakegate.dependencies.ledger.blocks('shop/orders_v1'))}.csv"
        workload = lakegate.delivered(body=f"id,amount\n{name},1\n".encode(), name=name)
    return workload


def test_commands_show_what_is_unusual_beside_the_verdict(lakegate: Lakegate, unusual: str, tmp_path: Path) -> None:
    """One delivery, its reasons, the history and the report of the dataset; the verdict is accepted."""
    status, reasons = lakegate.json("status", unusual), lakegate.json("reasons", unusual)
    newest, *others = lakegate.json("history", "orders")["deliveries"]
    report = lakegate.json("report", "orders", "--html", str(tmp_path / "report.html"))
    page = Page((tmp_path / "report.html").read_text())

    assert (status["verdict"], status["reasons"]) == ("accepted", [])
    assert status["anomalies"] == reasons["anomalies"] == [ANOMALY]
    assert [newest["anomalies"], *(each.get("anomalies") for each in others)] == [[TEXT], *[None] * FEWEST]
    assert [each["text"] for each in report["anomalies"]] == [TEXT]
    assert f"Anomalies {newest['at'][:16].replace('T', ' ')} UTC: {TEXT} Numbers of accepted deliveries" in page.text
    assert f"   anomaly  {TEXT}\n" in lakegate.ok("status", unusual)
    assert f"\nAnomaly: {TEXT}\n" in lakegate.ok("reasons", unusual)
    assert f"\nAnomaly at {newest['at'][:16].replace('T', ' ')} UTC: {TEXT}\n" in lakegate.ok("report", "orders")
    assert lakegate.ok("history", "orders").count("(anomaly)") == 1


def test_the_overview_of_all_datasets_shows_it(lakegate: Lakegate, unusual: str, tmp_path: Path) -> None:
    """Of the newest delivery alone, which was accepted: in the table, the page and the document."""
    page = tmp_path / "all.html"
    text = lakegate.ok("report", "--html", str(page))
    (found,) = lakegate.json("report")["datasets"]

    assert lakegate.json("status", unusual)["verdict"] == "accepted"
    assert (found["verdicts"][0], found["anomalies"]) == ("accepted", [TEXT])
    assert text.startswith("1 dataset: 1 with an unusual newest delivery.")
    assert TEXT in " ".join(text.split())
    assert TEXT in Page(page.read_text()).text
    lakegate.delivered(body=b"id,amount\nusual,1\n".ljust(200), name="usual.csv")
    (later,) = lakegate.json("report")["datasets"]
    assert later.get("anomalies", []) != [TEXT]


def test_the_report_of_the_delivery_shows_it(lakegate: Lakegate, unusual: str, tmp_path: Path) -> None:
    """Among its facts, with every text escaped."""
    file = tmp_path / "delivery.html"
    lakegate.ok("reasons", unusual, "--report", str(file))

    assert f"Anomaly {TEXT} The data is at" in Page(file.read_text()).text


def test_the_words_of_an_anomaly_are_explained(lakegate: Lakegate) -> None:
    """The measure as the document has it, and the setting."""
    assert "outside of what the last deliveries had" in lakegate.ok("explain", "anomaly")
    assert "Of an anomaly: the number of rows." in lakegate.ok("explain", "rows")
    assert "docs/operator.md" in lakegate.ok("explain", "gap")
    assert "`both`, `decrease`, `ignore`" in lakegate.ok("explain", "anomalies")
