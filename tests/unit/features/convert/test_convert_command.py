"""`lakegate convert` writes a dataset for other tools, and lists what they cannot express."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from click.testing import CliRunner

from lakegate.base.errors import InputError
from lakegate.base.extension_points import ROOT
from lakegate.cli.main import app
from lakegate.features.convert.convert_command import WRITERS
from lakegate.library.contract_files import NO_DATASET

if TYPE_CHECKING:
    from click.testing import Result

WEATHER = str(ROOT / "contracts/examples/weather.dcm.yaml")
ORDERS = str(ROOT / "contracts/examples/orders.odcs.yaml")


def convert(*words: str) -> Result:
    """Run the command."""
    return CliRunner().invoke(app, ["convert", *words])


def test_every_format_is_written(tmp_path: Path) -> None:
    """The text is on standard output, what it lacks on standard error; `--json` has both."""
    path = tmp_path / "orders.odcs.yaml"
    path.write_text(Path(ORDERS).read_text().replace("header: true", "header: false"))
    for target in WRITERS:
        plain, answer = (convert(str(path), "--to", target.value, *more) for more in ((), ("--json",)))
        document = json.loads(answer.stdout)

        assert document | {"omitted": []} == {
            "to": target.value,
            "dataset": "orders",
            "file": None,
            "text": plain.stdout,
            "omitted": [],
        }
        assert f"{target.value} has no equivalent of {len(document['omitted'])}:\n" in plain.stderr
        assert "enough_orders" in document["omitted"]


def test_athena_gets_no_table_of_a_csv_with_a_header() -> None:
    """It would read by position what the gate accepts by name."""
    assert "Athena reads the columns of CSV by position" in str(convert(ORDERS, "--to", "athena").exception)


def test_a_contract_without_a_dataset_has_nothing_to_convert(tmp_path: Path) -> None:
    """The sentence names no empty list of datasets to choose from."""
    path = tmp_path / "draft.yaml"
    path.write_text("apiVersion: v3.1.0\nkind: DataContract\nid: shop\nversion: 1.0.0\nstatus: draft\n")

    assert str(convert(str(path), "--to", "postgres").exception) == NO_DATASET


def test_a_file_is_written_once(tmp_path: Path) -> None:
    """No file is overwritten, and an unknown dataset is refused."""
    path = tmp_path / "orders.sql"
    first, second = (convert(ORDERS, "--to", "duckdb", "-o", str(path)) for _ in range(2))
    other = convert(ORDERS, "--to", "duckdb", "--dataset", "none")

    assert (first.exit_code, path.read_text()[:12]) == (0, "CREATE TABLE")
    assert isinstance(second.exception, InputError)
    assert str(other.exception) == "choose a dataset of the contract with --dataset (orders)"


def test_a_contract_is_written_as_odcs(tmp_path: Path) -> None:
    """The whole document, which lint accepts; what it loses is on standard error, one by one."""
    path = tmp_path / "weather.odcs.yaml"
    found = convert(WEATHER, "--to", "odcs", "-o", str(path))
    linted = CliRunner().invoke(app, ["lint", str(path)])
    chosen = convert(WEATHER, "--to", "odcs", "--dataset", "weather_record")

    assert (found.exit_code, found.stdout, linted.exit_code) == (0, "", 0)
    assert found.stderr.splitlines()[:3] == ["lakegate: odcs has no equivalent of 10:", "  $.consumer", "  $.producer"]
    assert str(chosen.exception) == "--to odcs writes the whole contract: leave out --dataset"


def test_a_child_keeps_its_parent(tmp_path: Path) -> None:
    """What a contract inherits is not written into it: it still inherits."""
    child = {
        "dataContractSpecification": "1.2.1",
        "id": "x",
        "info": {"title": "x", "version": "1.0.0"},
        "config": {"lakegate": {"inherits": "policies@1"}},
        "models": {"orders": {"fields": {"id": {"type": "text"}}}},
    }
    path = tmp_path / "x.json"
    path.write_text(json.dumps(child))
    document = json.loads(convert(str(path), "--to", "odcs", "--json").stdout)

    assert 'inherits: "policies@1"' in document["text"]
    assert (document["dataset"], document["omitted"]) == (None, [])
