"""`lakegate convert` writes a dataset for other tools, and lists what they cannot express."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from typer.testing import CliRunner

from lakegate.cli.convert import Target
from lakegate.cli.main import app
from lakegate.contracts.errors import InputError
from lakegate.infra.local.places import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

ORDERS = str(ROOT / "contracts/examples/orders.odcs.yaml")


def convert(*words: str) -> Result:
    """Run the command."""
    return CliRunner().invoke(app, ["convert", *words])


def test_every_format_is_written() -> None:
    """The text is on standard output, what it lacks on standard error; `--json` has both."""
    for target in Target:
        plain, document = convert(ORDERS, "--to", target), json.loads(convert(ORDERS, "--to", target, "--json").stdout)

        assert document | {"omitted": []} == {
            "to": target.value,
            "dataset": "orders",
            "file": None,
            "text": plain.stdout,
            "omitted": [],
        }
        assert f"{target.value} does not express {len(document['omitted'])} rules: " in plain.stderr
        assert "enough_orders" in document["omitted"]


def test_a_file_is_written_once(tmp_path: Path) -> None:
    """No file is overwritten, and an unknown dataset is refused."""
    path = tmp_path / "orders.sql"
    first, second = (convert(ORDERS, "--to", "duckdb", "-o", str(path)) for _ in range(2))
    other = convert(ORDERS, "--to", "duckdb", "--dataset", "none")

    assert (first.exit_code, path.read_text()[:12]) == (0, "CREATE TABLE")
    assert isinstance(second.exception, InputError)
    assert str(other.exception) == "choose a dataset of the contract with --dataset (orders)"
