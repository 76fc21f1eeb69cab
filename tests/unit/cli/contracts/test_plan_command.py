"""`lakegate plan` and `lakegate check` before data is read: contracts that compile, and contracts that are refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from lakegate.base.extension_points import ROOT
from lakegate.cli.main import main
from lakegate.library.contract_files import NO_DATASET

WEATHER = ROOT / "contracts/examples/weather.dcm.yaml"
ORDERS = ROOT / "contracts/examples/orders.odcs.yaml"


class Ended(NamedTuple):
    """What a command wrote, and its exit code."""

    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ended]:
    """Run the command in this process, as its entry point does."""

    def run(*arguments: object) -> Ended:
        monkeypatch.setattr("sys.argv", ["lakegate", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        code = ended.value.code
        assert isinstance(code, int)
        return Ended(code, *capsys.readouterr())

    return run


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """The orders contract with a type that there is not, in line 28."""
    path = tmp_path / "broken.yaml"
    path.write_text(ORDERS.read_text().replace("logicalType: string", "logicalType: strin", 1))
    return path


def test_a_plan_is_one_document(run: Callable[..., Ended]) -> None:
    """`plan` prints the plan whose digest names it, and nothing else."""
    answer = run("plan", WEATHER)

    assert (answer.returncode, answer.stderr) == (0, "")
    assert json.loads(answer.stdout)["dataset"] == "weather_record"


def test_an_explained_plan_names_every_check(run: Callable[..., Ended]) -> None:
    """`plan --explain` has one line for each check, and their number."""
    checks = json.loads(run("plan", WEATHER).stdout)["checks"]
    explained = run("plan", WEATHER, "--explain").stdout

    assert f"{len(checks)} checks; plan " in explained
    assert [each["rule"] for each in checks if each["rule"] not in explained] == []


def test_an_explained_plan_names_what_a_broken_rule_rejects(run: Callable[..., Ended], tmp_path: Path) -> None:
    """With `onReject: rows`: its rows, or the file; otherwise a rule rejects the file."""
    head = "dataContractSpecification: 1.2.1\nid: x\ninfo: {title: t, version: 1.0.0}\nmodels:\n  m:\n"
    fields = "    fields: {n: {type: long, required: true}}\n"
    quality = "    quality: [{type: library, metric: rowCount, mustBeGreaterThan: 1}]\n"
    text = f"{head}    config: {{lakegate: {{onReject: ROWS}}}}\n{fields}{quality}"
    found = {}
    for each in ("rows", "file"):
        path = tmp_path / f"{each}.yaml"
        path.write_text(text.replace("ROWS", each))
        lines = run("plan", str(path), "--explain").stdout.splitlines()
        found[each] = {line.split()[0]: line.strip() for line in lines if line.startswith(("n:required", "m:rowCount"))}

    assert found["rows"]["n:required:1"].endswith("fail (its rows)")
    assert found["rows"]["m:rowCount:1"].endswith("fail (the file)")
    assert found["file"]["m:rowCount:1"].endswith("fail")


@pytest.mark.parametrize(("command", "code"), [(["plan"], 1), (["check", "x.csv", "--contract"], 2)])
def test_a_refused_contract_is_told_line_by_line(
    command: list[str], code: int, broken: Path, run: Callable[..., Ended]
) -> None:
    """Each problem stands on a line of its own, with its line in the document and the word that was meant."""
    answer = run(*command, broken)

    first, *_, last = answer.stderr.splitlines()
    assert (answer.returncode, answer.stdout) == (code, "")
    assert first.startswith("lakegate: line 28: not-allowed: `strin` is not one of")
    assert first.endswith("Did you mean `string`? @ $.schema[0].properties[0].logicalType")
    assert last == "lakegate: the contract is refused; `lakegate lint` shows its lines"


def test_a_dataset_is_chosen_by_its_name(run: Callable[..., Ended]) -> None:
    """Where a contract has several datasets one is named; a name it does not have is answered with those it has."""
    chosen, unknown = run("plan", ORDERS, "--dataset", "orders"), run("plan", ORDERS, "--dataset", "order")

    assert json.loads(chosen.stdout)["dataset"] == "orders"
    expected = "lakegate: the contract has no dataset order: choose one with --dataset, in Python dataset= (orders)\n"
    assert (unknown.returncode, unknown.stderr) == (2, expected)


@pytest.mark.parametrize("options", [(), ("--explain",)])
def test_a_contract_without_a_dataset_is_told_so(
    options: tuple[str, ...], run: Callable[..., Ended], tmp_path: Path
) -> None:
    """A draft may have none: there is nothing to plan, in both forms."""
    contract = tmp_path / "draft.yaml"
    contract.write_text("apiVersion: v3.1.0\nkind: DataContract\nid: shop\nversion: 1.0.0\nstatus: draft\n")

    ended = run("plan", *options, contract)

    assert (ended.returncode, ended.stdout, ended.stderr) == (2, "", f"lakegate: {NO_DATASET}\n")


def test_every_dataset_is_explained(run: Callable[..., Ended], tmp_path: Path) -> None:
    """Without a name, one table of rules for each."""
    contract = tmp_path / "shop.yaml"
    contract.write_text(
        "apiVersion: v3.1.0\nkind: DataContract\nid: shop\nversion: 1.0.0\nstatus: active\nname: Shop\nschema:\n"
        "  - {name: a, logicalType: object, properties: [{name: x, logicalType: string, required: true}]}\n"
        "  - {name: b, logicalType: object, properties: [{name: y, logicalType: integer}]}\n"
    )
    lines = run("plan", "--explain", str(contract)).stdout.splitlines()

    assert [line for line in lines if line in {"a", "b"}] == ["a", "b"]
    assert [line.split()[0] for line in lines if ":1 " in line] == ["x:type:1", "x:required:1", "y:type:1"]
