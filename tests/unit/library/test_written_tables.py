"""A frame gets the verdict of the file that it was read from."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
import yaml
from pyarrow.parquet import write_table

import lakegate

TYPES = {
    "number": "integer",
    "amount": "number",
    "price": "decimal",
    "is_gift": "boolean",
    "day": "date",
    "at": "timestamp",
    "name": "string",
}
GAPS: dict[str, list[Any]] = {
    "number": [1, None, 3],
    "amount": [1.5, None, 2.0],
    "price": [Decimal("1.50"), None, Decimal("2.00")],
    "is_gift": [True, None, False],
    "day": [dt.date(2026, 11, 1), None, dt.date(2026, 11, 3)],
    "at": [dt.datetime(2026, 11, 1, 8, tzinfo=dt.UTC), None, dt.datetime(2026, 11, 3, 8, tzinfo=dt.UTC)],
    "name": ["a", None, "c"],
}


def contract(folder: Path, types: dict[str, str], form: str = "parquet") -> Path:
    properties = [{"name": name, "logicalType": kind} for name, kind in types.items() if kind != "decimal"]
    properties += [
        {"name": name, "logicalType": "number", "physicalType": "decimal(10,2)"}
        for name, kind in types.items()
        if kind == "decimal"
    ]
    document = {
        "apiVersion": "v3.1.0",
        "kind": "DataContract",
        "id": "shop",
        "version": "1.0.0",
        "status": "active",
        "name": "Shop",
        "schema": [{"name": "orders", "logicalType": "object", "properties": properties}],
        "customProperties": [{"property": "lakegate", "value": {"format": form}}],
    }
    path = folder / "shop.odcs.yaml"
    path.write_text(yaml.safe_dump(document, sort_keys=False))
    return path


def outcomes(result: lakegate.CheckResult) -> dict[str, object]:
    return {"verdict": result.verdict} | {each.id: (each.status.value, each.failing_rows) for each in result.checks}


def test_a_frame_has_the_verdict_of_its_file(tmp_path: Path) -> None:
    """Of each type, with a gap in each column: pandas widened integers, and the notes say which."""
    place = tmp_path / "orders.parquet"
    write_table(pa.table({name: pa.array(values) for name, values in GAPS.items()}), place)
    path = contract(tmp_path, TYPES)

    of_file, of_frame = lakegate.check(path, place), lakegate.check(path, pd.read_parquet(place))

    assert outcomes(of_frame) == outcomes(of_file)
    assert of_file.verdict in {lakegate.Verdict.ACCEPTED, lakegate.Verdict.ACCEPTED_WITH_WARNINGS}
    note = "`number` is measured as integers: pandas makes floats of integers where some are missing"
    assert (of_file.notes, of_frame.notes) == ((), (note,))
    assert note in str(of_frame)
    assert f"<p>{note}</p>" in of_frame._repr_html_()


@pytest.mark.parametrize("name", [None, "place"])
def test_an_index_that_the_contract_declares_is_measured(name: str | None, tmp_path: Path) -> None:
    """Pandas takes a column of its own file away, under the name of the index or `__index_level_0__`."""
    place, column = tmp_path / "orders.parquet", name or "__index_level_0__"
    frame = pd.DataFrame({"name": ["a", "b"]}, index=pd.Index([7, 9], name=name))
    frame.to_parquet(place)
    path = contract(tmp_path, {"name": "string", column: "integer"})

    of_file, of_frame = lakegate.check(path, place), lakegate.check(path, pd.read_parquet(place))

    assert outcomes(of_frame) == outcomes(of_file)
    assert of_frame.notes == (f"`{column}` is measured: it is the index of the frame",)


@pytest.mark.parametrize("values", [[1.0, 2.0], [1.5, None], [float("inf"), None], [2.0**60, None]])
def test_floats_that_pandas_did_not_widen_stay_floats(values: list[float | None], tmp_path: Path) -> None:
    """Without a gap, with a fraction, infinite, or beyond what a float holds exactly: the file had floats, too."""
    frame = pd.DataFrame({"number": pd.Series(values, dtype="float64")})
    place = tmp_path / "orders.parquet"
    frame.to_parquet(place)
    path = contract(tmp_path, {"number": "integer"})

    of_file, of_frame = lakegate.check(path, place), lakegate.check(path, frame)

    assert (outcomes(of_frame), of_frame.notes) == (outcomes(of_file), ())
    assert of_frame.verdict is lakegate.Verdict.REJECTED


def test_a_widened_column_is_written_as_integers_into_text(tmp_path: Path) -> None:
    """`to_csv` would write `1.0`, which is no integer."""
    path = contract(tmp_path, {"name": "string", "number": "integer"}, "csv")

    assert (
        lakegate.check(path, pd.DataFrame({"name": ["a", "b", "c"], "number": [1, None, 3]})).verdict
        is lakegate.Verdict.ACCEPTED
    )


def test_a_table_is_written_below_as_many_lines_as_are_skipped(tmp_path: Path) -> None:
    """A table has no titles: the lines are empty, so that the contract that skips some reads what was written."""
    path = contract(tmp_path, {"name": "string", "number": "integer"}, "csv")
    path.write_text(path.read_text().replace("format: csv", "format: csv\n    csv: {skipRows: 3}"))
    frame = pd.DataFrame({"name": ["a", "b"], "number": [1, 2]})

    for table in (frame, pa.Table.from_pandas(frame)):
        found = lakegate.check(path, table)
        assert (found.verdict, found.rows) == (lakegate.Verdict.ACCEPTED, 2)


class SparkFrame:
    """What a DataFrame of Spark 3.5 is to this package."""

    def toPandas(self) -> pd.DataFrame:  # noqa: N802 - as Spark has it
        return pd.DataFrame({"number": [1, None]})


def test_a_frame_of_spark_is_collected(tmp_path: Path) -> None:
    """By its own method; gaps are integers again."""
    assert lakegate.check(contract(tmp_path, {"number": "integer"}), SparkFrame()).verdict is lakegate.Verdict.ACCEPTED


def test_causes_come_first_in_a_notebook_and_what_passed_is_folded(tmp_path: Path) -> None:
    """A file with totals: the one fault stands before the rules that it breaks, which are folded."""
    path = contract(tmp_path, {"name": "string", "number": "integer", "count": "integer"}, "csv")
    lines = [f"n{row},{row},{row}" for row in range(50)]
    (tmp_path / "orders.csv").write_text("\n".join(["name,number,count", *lines, "Total,1225.5,0.5", ""]))

    shown = lakegate.check(path, tmp_path / "orders.csv")._repr_html_()

    first, _, folded = shown.partition("<details>")
    assert "row 52 holds totals" in first
    assert "2 more findings have the same cause" in folded
    assert "1 check passed" in folded
