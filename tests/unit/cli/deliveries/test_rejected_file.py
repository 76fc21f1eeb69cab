"""With `onReject: rows`: why a whole file is rejected stands in every output, of a local check and of the gate."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

import lakegate as api
from lakegate.cli.main import app
from lakegate.library.http_messages import representation
from tests.unit.cli.conftest import Lakegate
from tests.unit.cli.deployed_stack import LAKE

POLICY = "customProperties: [{property: lakegate, value: {onReject: rows, maxRejectedShare: 0.5}}]\nschema:\n"
CONTRACT = f"""\
apiVersion: v3.1.0
kind: DataContract
id: shop
version: 1.0.0
status: active
name: Shop
{POLICY}\
  - name: orders
    logicalType: object
    quality: [{{id: few, metric: rowCount, mustBeLessThan: 6}}]
    properties:
      - {{name: id, logicalType: string, required: true}}
      - {{name: amount, logicalType: integer}}
"""
BY_SHARE = "because 75 % of the rows break a rule, more than 50 % (`maxRejectedShare`)"
FILES = {
    b"id,amount\na,1\n,2\n,3\n,4\n": BY_SHARE,
    b"id,amount\n,1\n,2\n": "because every row breaks a rule",
    b"id,amount\n" + b"a,1\n" * 6: "because few rejects the file, and no single rows",
}
"""What is delivered, and why it is rejected whole."""


def plain(text: str) -> str:
    """Without the line breaks of a table, and without escapes of Markdown, JSON and commands."""
    found = text.replace("\\u0060", "`").replace("%25", "%").replace("&#x27;", "'")
    return " ".join(re.sub(r"\\([`_()|])", r"\1", found).split())


def ran(*words: str) -> str:
    return CliRunner().invoke(app, list(words)).output


@pytest.mark.parametrize(("body", "why"), FILES.items(), ids=["share", "every row", "rule of the file"])
def test_a_local_check_states_why_in_every_format(
    body: bytes, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Text, JSON, the formats of continuous integration, the report, and Python."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop.yaml").write_text(CONTRACT)
    (tmp_path / "day.csv").write_bytes(body)
    found = {
        form: ran("check", "--contract", "shop.yaml", "day.csv", "--format", form, "--report", "page.html")
        for form in ("text", "json", "junit", "sarif", "github", "markdown")
    }
    found["report"] = (tmp_path / "page.html").read_text()
    result = api.check("shop.yaml", "day.csv")
    found |= {"python": str(result), "notebook": result.to_html()}

    assert [name for name, text in found.items() if why not in plain(text)] == []


@pytest.mark.parametrize(
    ("share", "why"),
    [
        ("0.5", "fails, more than 50 % of the rows that break a rule (`maxRejectedShare`), and where every row breaks"),
        ("1", "The whole file is rejected by a rule of the file that fails, and where every row breaks a rule."),
    ],
)
def test_an_explained_plan_states_what_rejects_a_whole_file(share: str, why: str, tmp_path: Path) -> None:
    """Also the limit, where the contract sets one; of a contract that rejects files, nothing is added."""
    contract = tmp_path / "shop.yaml"
    contract.write_text(CONTRACT.replace("0.5", share))
    by_rows = ran("plan", "--explain", str(contract))
    contract.write_text(CONTRACT.replace("onReject: rows", "onReject: file").replace(", maxRejectedShare: 0.5", ""))
    by_file = ran("plan", "--explain", str(contract))

    assert why in plain(by_rows)
    assert ("The whole file" in by_file, "few" in by_file) == (False, True)


def test_the_gate_states_why_in_every_output(lakegate: Lakegate, tmp_path: Path) -> None:
    """Status, reasons, both as JSON, the pages, the HTTP API, the event, and the list of deliveries."""
    lakegate.routed(**{"schema:\n": POLICY})
    workload = lakegate.delivered(3)
    page = str(tmp_path / "page.html")
    found = {
        "status": lakegate("status", workload).output,
        "status --json": lakegate("status", workload, "--json").output,
        "reasons": lakegate("reasons", workload, "--report", page).output,
        "reasons --json": lakegate("reasons", workload, "--json").output,
        "reasons --report": (tmp_path / "page.html").read_text(),
        "report.html": stored(lakegate, f"runs/{workload}/report.html"),
        "HTTP": json.dumps(over_http(lakegate, workload)),
        "event": json.dumps(events(lakegate)),
    }

    assert [name for name, text in found.items() if BY_SHARE not in plain(text)] == []


def test_a_waived_delivery_keeps_why_it_was_rejected(lakegate: Lakegate) -> None:
    """After the waiver come all reasons of the rejection: they state what the waiver has let through."""
    lakegate.routed(**{"schema:\n": POLICY})
    rejected = lakegate.delivered(3)
    before = lakegate.dependencies.workloads.get(rejected).decision
    expires = f"{datetime.now(UTC) + timedelta(days=30):%Y-%m-%d}"
    accepted = lakegate.json("waive", rejected, "--reason", "known", "--expires", expires)["workload"]
    after = lakegate.dependencies.workloads.get(accepted)
    assert before is not None
    assert after.decision is not None
    assert after.waiver is not None

    assert before.reasons[0].endswith(BY_SHARE)
    assert after.decision.verdict == "accepted_with_warnings"
    assert after.decision.reasons == (after.waiver.in_words, *before.reasons)
    assert BY_SHARE in plain(lakegate("status", accepted).output)


def stored(lakegate: Lakegate, key: str) -> str:
    body: bytes = lakegate.clients["s3"].get_object(Bucket=LAKE, Key=key)["Body"].read()
    return body.decode()


def over_http(lakegate: Lakegate, workload: str) -> object:
    return representation(lakegate.dependencies, lakegate.dependencies.workloads.get(workload))


def events(lakegate: Lakegate) -> list[str]:
    return [each.body for each in lakegate.dependencies.outbox.pending(10)]
