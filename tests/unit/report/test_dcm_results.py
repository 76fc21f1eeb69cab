"""Results of checks in DCM's representation: id and column name one of them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from lakegate.api import check
from lakegate.report.dcm_results import results_of

DOCUMENT = """\
specVersion: 0.1.3
id: x-p-1.0.0
name: x
kind: DataContract
version: 1.0.0
producer: {{name: p, group: g}}
access: {{eventType: push, protocol: FTP, location: /, accessConfiguration: {{}}}}
dataset: {{name: d, schema: [{columns}]}}
quality: [{rules}]
"""


def results(folder: Path, columns: str, rules: str, rows: str) -> dict[tuple[str, str | None], dict[str, Any]]:
    """The results of a contract and a CSV file, by id and column."""
    contract, data = folder / "contract.yaml", folder / "data.csv"
    contract.write_text(DOCUMENT.format(columns=columns, rules=rules))
    data.write_text(rows)
    found = list(results_of(check(contract, data)._report))  # noqa: SLF001 - what `results_of` takes
    assert set(Counter((each["id"], each["column"]) for each in found).values()) == {1}
    return {(each["id"], each["column"]): each for each in found}


def test_id_and_column_name_one_result(tmp_path: Path) -> None:
    """A primary key has two checks of its column: that it is there, and that it is unique."""
    columns = "{name: k, dataType: int, constraint: PRIMARY_KEY}, {name: n, dataType: number, constraint: UNIQUE}"
    rules = "{id: few, name: few, type: size, parameter: 2}, {id: all, name: all, type: complete, columns: [k, n], parameter: 1}"
    found = results(tmp_path, columns, rules, "k,n\n1,1\n1,2\n")

    assert found["k:primaryKey:1:required", "k"]["success"] == "pass"
    assert found["k:primaryKey:1", "k"]["success"] == "fail"
    assert {("n:unique:1", "n"), ("few", None), ("all", "k"), ("all", "n")} <= set(found)
