"""`lakegate lint` for machines: SARIF, annotations of GitHub, and the hook of pre-commit."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from lakegate.base.errors import Problem
from lakegate.cli.main import app
from lakegate.contract.documents.document_formats import declares_format
from lakegate.lints.linter import Examined, examine
from lakegate.report.github_output import github_problems
from lakegate.report.sarif import sarif_problems
from tests.unit.lints.examples import document

ROOT = Path(__file__).parents[4]
BAD = document("odcs", {"version": "1.0", "quality": "{metric: rowCount, mustBe: -1}"})
GOOD = document("dcs", {})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a good contract, a bad one, and files that are none."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad contract.yaml").write_bytes(BAD)
    (tmp_path / "good.yaml").write_bytes(GOOD)
    (tmp_path / "chart.yaml").write_text("apiVersion: v1\nkind: Deployment\nmetadata: {{ template }}\n")
    (tmp_path / "notes.yaml").write_text("a: [")
    return tmp_path


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["lint", *arguments])
    return result.exit_code, result.stdout


@pytest.mark.usefixtures("folder")
def test_sarif_names_every_problem_at_its_line() -> None:
    """One run, the codes that were found as its rules, a result for each problem with file, line and path."""
    code, text = run("--format", "sarif", "bad contract.yaml", "good.yaml")
    found: dict[str, Any] = json.loads(text)
    (only,) = found["runs"]
    rules = only["tool"]["driver"]["rules"]
    first = only["results"][0]
    place = first["locations"][0]

    assert (code, found["version"]) == (1, "2.1.0")
    assert [rule["id"] for rule in rules] == sorted({result["ruleId"] for result in only["results"]})
    assert all(rules[result["ruleIndex"]]["id"] == result["ruleId"] for result in only["results"])
    assert (first["ruleId"], first["level"]) == ("wrong-type", "error")
    assert place["physicalLocation"] == {
        "artifactLocation": {"uri": "bad%20contract.yaml"},
        "region": {"startLine": 4, "startColumn": 1},
    }
    assert place["logicalLocations"] == [{"fullyQualifiedName": "$.version"}]


def test_sarif_names_standard_input_and_whole_paths() -> None:
    """An address is a URI, whatever the document was called."""
    examined = examine(b"")
    found = sarif_problems({"-": examined, "/tmp/ü.yaml": examined}, {}, "0")  # noqa: S108 -- a name, no file
    uris = [each["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for each in found["runs"][0]["results"]]

    assert uris == ["stdin", "file:///tmp/%C3%BC.yaml"]


@pytest.mark.usefixtures("folder")
def test_github_gets_one_command_for_each_problem() -> None:
    """Errors and warnings, in order of lines, nothing else on standard output."""
    _, text = run("--format", "github", "bad contract.yaml")

    assert text.splitlines()[0] == (
        "::error file=bad contract.yaml,line=4,col=1,title=lakegate wrong-type::"
        "Write a text here, not a number: put it in quotes. @ $.version"
    )
    assert all(line.startswith(("::error file=", "::warning file=")) for line in text.splitlines())


def test_github_never_sees_a_command_of_a_document() -> None:
    """Text of a document or a file name can neither start a line nor end a property."""
    problem = Problem("syntax", "$", None, "one\n::error::two%")
    (line,) = github_problems({"a,b:c\r.yaml": Examined((problem,), ())}, {})

    assert line == ("::error file=a%2Cb%3Ac%0D.yaml,line=1,title=lakegate syntax::one%0A::error::two%25 @ $")


@pytest.mark.parametrize("form", ["json", "sarif", "github"])
def test_unreadable_input_is_invalid_in_every_format(folder: Path, form: str) -> None:
    """A missing file and an empty folder exit with 2 and a machine-readable message."""
    (folder / "empty").mkdir()
    for name, why in (
        ("no.yaml", "no.yaml cannot be read"),
        ("empty", "empty holds no"),
        (".git", ".git cannot be read"),
    ):
        code, text = run("--format", form, name, "good.yaml")

        assert code == 2
        assert why in _refusals(form, text)[name]


def _refusals(form: str, text: str) -> dict[str, str]:
    """The inputs that an answer of a form refuses, each with its message."""
    if form == "github":
        found = [re.fullmatch(r"::error file=(.*),title=lakegate unreadable::(.*)", line) for line in text.splitlines()]
        return {match[1]: match[2] for match in found if match}
    answer = json.loads(text)
    if form == "json":
        assert answer["valid"] is False
        return {each["file"]: each["message"] for each in answer["errors"] if each["code"] == "unreadable"}
    (invocation,) = answer["runs"][0]["invocations"]
    assert invocation["executionSuccessful"] is False
    return {
        each["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]: each["message"]["text"]
        for each in invocation["toolExecutionNotifications"]
    }


@pytest.mark.usefixtures("folder")
def test_sarif_of_what_could_be_read_is_a_run_that_succeeded() -> None:
    """Problems of documents are results, not a failure of the tool."""
    _, text = run("--format", "sarif", "bad contract.yaml")

    assert json.loads(text)["runs"][0]["invocations"] == [
        {"executionSuccessful": True, "toolExecutionNotifications": []}
    ]


def test_strict_refuses_warnings(folder: Path) -> None:
    """The same document is valid without `--strict`, and ends in 1 with it; one without warnings ends in 0."""
    (folder / "warned.yaml").write_bytes(
        document("odcs", {"quality": "{type: custom, engine: dbt, implementation: x}"})
    )
    codes = [run(*arguments, "warned.yaml")[0] for arguments in ((), ("--strict",), ("--strict", "--json"))]

    assert (codes, run("--strict", "good.yaml")[0]) == ([0, 1, 1], 0)


@pytest.mark.usefixtures("folder")
def test_a_hook_passes_over_what_is_no_contract() -> None:
    """Files of other kinds are no reason to stop a commit, be they YAML at all or not."""
    assert run("--only-contracts", "chart.yaml", "notes.yaml")[0] == 0
    assert run("--only-contracts", "chart.yaml", "good.yaml")[0] == 0
    assert run("--only-contracts", "bad contract.yaml", "notes.yaml")[0] == 1
    assert run("notes.yaml")[0] == 1


@pytest.mark.usefixtures("folder")
def test_a_folder_is_judged_by_its_contracts() -> None:
    """Of all files in a folder those count that declare a format."""
    code, text = run("--json", ".")

    assert code == 1
    assert {problem["file"] for problem in json.loads(text)["errors"]} == {"./bad contract.yaml"}


def test_ports_are_judged_where_no_contract_stands_beside_them(folder: Path) -> None:
    """A product in a folder gives a contract of its own; broken ports are refused at their lines."""
    (folder / "product").mkdir()
    product = folder / "product/floe.yaml"
    product.write_text("metadata: {name: p}\noutput_ports: [{name: t, columns: [{name: a, type: date}]}]\n")
    good = run("product")
    product.write_text("metadata: {name: p}\noutput_ports: [{name: t, columns: [{name: a, type: dat}]}]\n")
    bad = run("--json", "product")
    (folder / "product/datacontract.yaml").write_bytes(GOOD)
    beside = run("product")

    assert (good[0], "product/floe.yaml (ports): valid" in good[1]) == (0, True)
    assert (bad[0], json.loads(bad[1])["errors"][0]["line"]) == (1, 2)
    assert (beside[0], "ports" in beside[1]) == (0, False)


@pytest.mark.parametrize(
    ("text", "declares"),
    [
        (b"apiVersion: v3.1.0\nkind: DataContract", True),
        (b"apiVersion: v3.1.0\nkind: [", False),
        (b"apiVersion: v3.1.0", True),
        (b"apiVersion: apps/v1\nkind: Deployment", False),
        (b'{"kind": "DataContract", "apiVersion": "v3.1.0"}', True),
        (b"dataContractSpecification: 1.1.0\nkind: x\na: [", True),
        (b"'specVersion' : 0.1.3", True),
        (b"\xef\xbb\xbfapiVersion: v3.1.0\nkind: DataContract", True),
        (b"\xef\xbb\xbfkind: Deployment\napiVersion: apps/v1", False),
        ("apiVersion: v3.1.0\nkind: DataContract".encode("utf-16"), True),
        (b"name: specVersion", False),
        (b"", False),
    ],
)
def test_a_contract_is_known_by_its_key(text: bytes, declares: bool) -> None:  # noqa: FBT001 -- a row of a table
    """Broken or not, a text with a format's own key is meant as a contract; another kind is not."""
    assert declares is declares_format(text)


def test_the_hook_is_the_command() -> None:
    """The shipped definition calls what there is."""
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())

    assert (hook["id"], hook["entry"]) == ("lakegate-lint", "lakegate lint --only-contracts")
