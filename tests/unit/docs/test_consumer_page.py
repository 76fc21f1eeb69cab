"""What a consumer copies from docs/manifest.md runs unchanged."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pandas as pd
import pytest

from lakegate.base.json_schemas import load
from tests.published_schemas import validate
from tests.unit.cli.conftest import Lakegate, with_segments
from tests.unit.cli.deployed_stack import LAKE
from tests.unit.docs.consumer_page import BY_COUNTRY, PAGE, fill, manifest_of_the_page, run

TITLES = 'Orders of "November", é;\n\n'
"""Lines above a header."""


@pytest.fixture(params=[100, 2, 1], ids=["in the head", "in a segment", "in two segments"])
def prepared(
    lakegate: Lakegate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Lakegate:
    """A stack whose segments have so many heights, and what the page sets before its examples."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LAKE", LAKE)
    return with_segments(lakegate, request.param)


def test_the_example_of_duckdb_reads_every_dialect_in_utf_8(prepared: Lakegate) -> None:
    """Values, nulls and quotes are those that were delivered, in both dialects."""
    fill(prepared, "utf-8", TITLES)
    prepared.ok("get", "orders_v1", "data")

    assert {country: (count, amount) for country, count, amount in run("duckdb").fetchall()} == BY_COUNTRY


def test_the_example_of_pandas_reads_the_bucket(prepared: Lakegate) -> None:
    """By version and dialect, straight from the lake; groups leave out rows without a country."""
    fill(prepared, titles=TITLES)
    found = run("pandas")
    known = {country: (row["size"], row["sum"]) for country, row in found.iterrows()}

    assert isinstance(found, pd.DataFrame)
    assert known == {country: value for country, value in BY_COUNTRY.items() if country is not None}


@pytest.mark.parametrize("prepared", [100], indirect=True)
@pytest.mark.parametrize("library", ["duckdb", "pandas"])
def test_the_examples_leave_out_what_does_not_count(prepared: Lakegate, library: str) -> None:
    """Also in a folder that has everything."""
    fill(prepared, "utf-8", TITLES)
    workload = prepared.json("get", "orders_v1", "--dry-run")["deliveries"][0]["workload"]
    prepared.ok("recall", workload, "--reason", "the wrong month")
    prepared.ok("get", "orders_v1", "data", "--all")
    found = run(library)
    rows = found.fetchall() if library == "duckdb" else found.reset_index().to_records(index=False)

    assert [tuple(row) for row in rows] == [("BR", 1, Decimal(100)), ("DE", 1, Decimal(2)), ("PT", 2, Decimal("1.05"))]


def test_the_manifest_on_the_page_fits_its_schema() -> None:
    """And every key of a delivery is explained."""
    manifest = manifest_of_the_page()
    validate("manifest", manifest)
    explained = PAGE.split("| key of a delivery | meaning |")[1].split("\n\n")[0]

    assert [key for key in manifest["deliveries"][0] if f"`{key}`" not in explained] == []
    assert manifest["format"] == load("manifest")["$defs"]["ManifestHead"]["properties"]["format"]["const"]  # type: ignore[index] # ours


def test_columns_stay_within_a_line(lakegate: Lakegate) -> None:
    """As the page promises: a version of the line that renames a column is refused."""
    fill(lakegate)
    path = lakegate.folder / "orders-1.2.0.yaml"
    path.write_text(
        (lakegate.folder / "orders-1.1.0.yaml").read_text().replace("1.1.0", "1.2.0").replace("country", "land")
    )
    refused = lakegate("publish", str(path))

    assert "within it no column disappears, is renamed or changes its type" in PAGE
    assert refused.exit_code == 1
    assert "The changes need MAJOR, and 1.1.0 → 1.2.0 is not: use 2.0.0 or higher." in refused.output
