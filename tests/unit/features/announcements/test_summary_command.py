"""`lakegate summary`: what it states of a file is true of it, refuses no good file, and has no classified value."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from lakegate.base.errors import InputError
from lakegate.base.json_codec import canonical, decode
from lakegate.cli.main import app
from lakegate.features.announcements.data_summary import summary_refusals
from lakegate.features.announcements.wanted_delivery import DataSummary
from lakegate.library.contract_files import load, plan_of

CONTRACT = """\
apiVersion: v3.1.0
kind: DataContract
id: shop
name: Shop
version: 1.0.0
status: active
schema:
- name: orders
  properties:
  - {name: id, logicalType: string, required: true}
  - {name: amount, logicalType: integer, logicalTypeOptions: {maximum: 9}}
  - {name: price, logicalType: number}
  - {name: salary, logicalType: integer, classification: confidential}
"""


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["summary", *arguments])


def summary(folder: Path, text: str) -> dict[str, Any]:
    (folder / "orders.odcs.yaml").write_text(CONTRACT)
    (folder / "orders.csv").write_text(text)
    result = run(str(folder / "orders.csv"), "--contract", str(folder / "orders.odcs.yaml"))
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def codes(folder: Path, found: dict[str, Any]) -> list[str]:
    plan = canonical(plan_of(load(folder / "orders.odcs.yaml"), None))
    return [each.code for each in summary_refusals(plan, None, decode(DataSummary, found, strict=True))]


def test_a_file_is_summed_up_as_its_contract_reads_it(tmp_path: Path) -> None:
    """Rows, columns, missing values, extremes of numbers; a column that the contract does not name by its name."""
    found = summary(tmp_path, "id,amount,price,salary,extra\na,1,0.5,100,x\nb,,2.25,200,y\nc,7,,,z\n")
    none = {"minimum": None, "maximum": None}

    assert found == {
        "rows": 3,
        "columns": [
            {"name": "id", "nulls": 0, **none},
            {"name": "amount", "nulls": 1, "minimum": "1", "maximum": "7"},
            {"name": "price", "nulls": 1, "minimum": 0.5, "maximum": 2.25},
            {"name": "salary", "nulls": 1, **none},
            {"name": "extra", **none},
        ],
        "format": "csv",
        "compression": "none",
        "size": 65,
        "shape": [3, 5],
    }
    assert codes(tmp_path, found) == []


@pytest.mark.parametrize(
    ("row", "expected"), [(",1,1,1", ["required"]), ("a,10,1,1", ["maximum"]), ("a,9007199254740993,1,1", [])]
)
def test_a_file_that_would_be_rejected_has_a_summary_that_says_so(
    tmp_path: Path, row: str, expected: list[str]
) -> None:
    """A number that is not exact in it is left out."""
    assert codes(tmp_path, summary(tmp_path, f"id,amount,price,salary\n{row}\n")) == expected


def test_a_file_that_cannot_be_read_has_none(tmp_path: Path) -> None:
    """Neither has one that is not there."""
    (tmp_path / "orders.odcs.yaml").write_text(CONTRACT)
    (tmp_path / "page.csv").write_text("<html></html>")
    contract = str(tmp_path / "orders.odcs.yaml")

    for name in ("page.csv", "none.csv"):
        assert isinstance(run(str(tmp_path / name), "--contract", contract).exception, InputError)
