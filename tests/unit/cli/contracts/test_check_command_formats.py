"""`lakegate check --format`: what programs of continuous integration read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner

from lakegate.cli.main import app
from lakegate.report.github_output import workflow_command

if TYPE_CHECKING:
    from click.testing import Result

CONTRACT = """\
apiVersion: v3.1.0
kind: DataContract
id: shop
version: 1.0.0
status: active
name: Shop
schema:
  - name: orders
    logicalType: object
    quality: [{id: many, metric: rowCount, mustBeGreaterThan: 2, severity: warning}]
    properties:
      - {name: id, logicalType: integer, required: true}
      - {name: country, quality: [{id: known, metric: invalidValues, mustBe: 0, arguments: {validValues: [DE]}}]}
      - {name: ref, logicalType: string, relationships: [{to: "crm_v2.yaml#/schema/customers/properties/id"}]}
"""
DATA = "id,country,ref\n1,DE,a\n,FR,b\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a contract and a file that breaks two rules, warns of one and cannot be measured by another."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop.yaml").write_text(CONTRACT)
    (tmp_path / "or ders.csv").write_text(DATA)
    return tmp_path


def check(form: str, *files: str) -> Result:
    return CliRunner().invoke(app, ["check", "--contract", "shop.yaml", "--format", form, *(files or ("or ders.csv",))])


def test_junit_has_a_test_case_for_each_check() -> None:
    """A failed check is a failure with its row, a check that was not measured is skipped, a warning passes with a text."""
    found = check("junit")
    root = ET.fromstring(found.stdout.encode())  # noqa: S314 - written by the command
    cases = {each.get("name"): each for each in root.iter("testcase")}
    failed = cases["id:required:1/id"].find("failure")
    skipped = [name for name, each in cases.items() if each.find("skipped") is not None]
    warned = cases["many"].findtext("system-out")

    assert found.exit_code == 1
    assert [root.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["6", "2", "0", "1"]
    assert failed is not None
    assert (failed.get("message"), failed.text) == ("id: wanted present; measured 1 of 2 rows fails (50 %)", "row 3")
    assert skipped == ["ref:foreignKey:1/ref"]
    assert warned == "warning: the dataset: wanted more than 2 rows; measured 2 rows"


def test_sarif_has_a_result_for_each_reason_at_its_row() -> None:
    """Rows of a text are lines of its file; the levels are those of the statuses."""
    (run,) = json.loads(check("sarif").stdout)["runs"]
    found = {each["ruleId"]: each for each in run["results"]}

    assert {name: each["level"] for name, each in found.items()} == {
        "id:required:1/id": "error",
        "known/country": "error",
        "many": "warning",
    }
    assert found["id:required:1/id"]["locations"] == [
        {
            "physicalLocation": {"artifactLocation": {"uri": "or%20ders.csv"}, "region": {"startLine": 3}},
            "message": {"text": "row 3"},
            "logicalLocations": [{"fullyQualifiedName": "id"}],
        }
    ]
    assert [run["tool"]["driver"]["rules"][each["ruleIndex"]]["id"] for each in run["results"]] == list(found)
    assert run["invocations"] == [{"executionSuccessful": True, "toolExecutionNotifications": []}]


def test_github_has_an_annotation_for_each_reason() -> None:
    """An annotation stands at the first failing row."""
    lines = check("github").stdout.splitlines()

    measured = "measured 1 of 2 rows fails (50 %25)"
    known = f"country: wanted no invalid rows (valid: one of DE); {measured}"

    assert lines == [
        f"::error file=or ders.csv,line=3,title=lakegate id%3Arequired%3A1::id: wanted present; {measured}",
        f"::error file=or ders.csv,line=3,title=lakegate known::{known}",
        "::warning file=or ders.csv,title=lakegate many::the dataset: wanted more than 2 rows; measured 2 rows",
    ]


def test_markdown_is_a_summary() -> None:
    """The verdict, the counts, and a row for each reason."""
    lines = check("markdown").stdout.splitlines()

    assert lines[0] == "**Rejected**: 2 rows"
    assert (
        lines[2]
        == "or ders\\.csv as orders, contract shop 1\\.0\\.0. Checks: 2 passed, 1 warned, 2 failed, 1 not measured."
    )
    assert "| warn | many |  | the dataset: wanted more than 2 rows; measured 2 rows |  |" in lines


@pytest.mark.parametrize("form", ["junit", "sarif", "github", "markdown"])
def test_an_unreadable_file_is_an_error_in_every_format(form: str) -> None:
    """A program that reads the answer sees the error too, and the exit code is 2."""
    found = check(form, "missing.csv")

    assert found.exit_code != 0
    assert "missing.csv" in found.stdout.replace("\\", "")


HOSTILE = "x|y\n::error::z]]><b>@team http://h ${{ a }} \x1b[2J`"


@pytest.mark.parametrize("form", ["junit", "sarif", "github", "markdown"])
def test_hostile_names_form_no_syntax(folder: Path, form: str) -> None:
    """A field whose name holds the syntax of each format is text in all of them."""
    document = json.dumps(
        {
            "apiVersion": "v3.1.0",
            "kind": "DataContract",
            "id": "shop",
            "version": "1.0.0",
            "status": "active",
            "schema": [{"name": "orders", "properties": [{"name": "a", "logicalType": "integer"}]}],
        }
    )
    (folder / "shop.yaml").write_text(document)
    (folder / "h.csv").write_text('a,"' + HOSTILE.replace('"', "") + '"\n1,2\n')
    found = check(form, "h.csv").stdout

    assert "\x1b" not in found
    assert not any(line.startswith("::error::z") for line in found.splitlines())
    if form == "junit":
        assert ET.fromstring(found.encode()).tag == "testsuites"  # noqa: S314 - as above
    if form == "markdown":
        assert all(each not in found for each in ("<b>", "@team", "http://", "x|y"))


def test_annotations_move_no_cursor() -> None:
    """Neither by escapes nor by the direction of writing; letters stay."""
    found = workflow_command("error", {"file": "a\x1b[2J\u202e.csv"}, "ü\x9b1A\x85\u2066")

    assert found == "::error file=a\\x1b[2J\\u202e.csv::ü\\x9b1A\\x85\\u2066"
