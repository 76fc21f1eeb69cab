"""`lakegate init --table`: a contract drafted from what a table declares, and from its rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml
from click.testing import CliRunner, Result
from deltalake import DeltaTable, Field, Schema, write_deltalake
from deltalake.schema import PrimitiveType, StructType
from pyiceberg.schema import Schema as IcebergSchema
from pyiceberg.types import DecimalType, ListType, LongType, NestedField, StringType, TimestamptzType
from pyiceberg.types import StructType as IcebergStruct

from lakegate.base.errors import InputError
from lakegate.cli.main import app
from tests.deliveries.tables import NAME, catalog_in, folder_of, iceberg_table

HOSTILE = "first: line\n# second\n\x1b[31m'\" {{x}} ${Y} *a &b"


def run(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


def drafted(folder: Path, *words: str) -> Any:
    """The dataset of a draft, which lint accepts and which accepts the table that it was made from."""
    target = folder / f"{len(list(folder.iterdir()))}.odcs.yaml"
    ended = run("init", *words, "--output", str(target), "--json")
    assert ended.exit_code == 0, (ended.output, ended.exception)
    assert json.loads(ended.stdout)["verdict"] == "accepted"
    assert run("lint", str(target)).exit_code == 0
    assert run("check", "--contract", str(target), *words[:4]).exit_code == 0
    (dataset,) = yaml.safe_load(target.read_text())["schema"]
    return dataset


def iceberg(folder: Path) -> Path:
    """A table whose columns have types, descriptions and nullability that no value shows."""
    item = IcebergStruct(NestedField(7, "sku", StringType(), required=True, doc="The article."))
    columns = IcebergSchema(
        NestedField(1, "id", LongType(), required=True, doc="Counts up."),
        NestedField(2, "price", DecimalType(12, 2), required=False, doc=HOSTILE),
        NestedField(3, "seen", TimestamptzType(), required=False),
        NestedField(4, "note", StringType(), required=False),
        NestedField(5, "items", ListType(6, item, element_required=True), required=False, doc="What was bought."),
    )
    table = catalog_in(folder).create_table(NAME, columns, properties={"comment": "Orders of the shop."})
    arrow = table.schema().as_arrow()
    rows = [{"id": 1, "items": [{"sku": "a"}]}, {"id": 2, "note": "x", "items": []}]
    table.append(pa.Table.from_pylist(rows, arrow))
    return folder_of(table)


def test_a_table_of_iceberg_says_more_than_its_values(tmp_path: Path) -> None:
    """Types of columns without a value, descriptions as they are, required columns without `suggested`; nested ones, too."""
    dataset = drafted(tmp_path, "--table", str(iceberg(tmp_path / "lake")))
    columns = {each["name"]: each for each in dataset["properties"]}

    assert (dataset["name"], dataset["description"]) == ("orders", "Orders of the shop.")
    assert (columns["id"]["logicalType"], columns["id"]["required"], columns["id"]["description"]) == (
        "integer", True, "Counts up."
    )  # fmt: skip
    assert (columns["price"]["physicalType"], columns["price"]["description"]) == ("decimal(12,2)", HOSTILE)
    assert "required" not in columns["price"]
    assert columns["seen"]["logicalType"] == "timestamp"
    assert columns["items"]["description"] == "What was bought."
    (sku,) = columns["items"]["items"]["properties"]
    assert (sku["required"], sku["description"]) == (True, "The article.")


def test_what_is_declared_is_no_suggestion(tmp_path: Path) -> None:
    """What the rows show keeps its evidence."""
    place = str(iceberg(tmp_path / "lake"))
    lines = run("init", "--table", place, "--output", "-").stdout.splitlines()
    at = next(number for number, line in enumerate(lines) if line.strip() == "- name: id")

    assert lines[at + 3].strip() == "required: true"
    assert any("# suggested" in line for line in lines)


def test_a_table_of_delta_says_more_than_its_values(tmp_path: Path) -> None:
    """Comments and nullability are in its log; an empty table has them, too."""
    name = StructType([Field("given", PrimitiveType("string"), metadata={"comment": "As in the passport."})])
    columns = Schema(
        [
            Field("id", PrimitiveType("long"), nullable=False, metadata={"comment": "Counts up."}),
            Field("price", PrimitiveType("decimal(12,2)")),
            Field("who", name),
        ]
    )
    DeltaTable.create(tmp_path / "people", columns, description="Who bought.")
    ended = run("init", "--table", f"{tmp_path}/people", "--output", f"{tmp_path}/empty.yaml", "--json")
    assert ended.exit_code == 0, (ended.output, ended.exception)
    (empty,) = yaml.safe_load((tmp_path / "empty.yaml").read_text())["schema"]
    rows = [{"id": 1, "price": None, "who": {"given": "Ada"}}]
    arrow = pa.schema(DeltaTable(tmp_path / "people").schema().to_arrow())
    write_deltalake(tmp_path / "people", pa.Table.from_pylist(rows, arrow), mode="append")
    for dataset in (empty, drafted(tmp_path, "--table", f"{tmp_path}/people")):
        found = {each["name"]: each for each in dataset["properties"]}
        assert (dataset["name"], dataset["description"]) == ("people", "Who bought.")
        assert (found["id"]["required"], found["id"]["description"]) == (True, "Counts up.")
        assert found["price"]["physicalType"] == "decimal(12,2)"
        (given,) = found["who"]["properties"]
        assert given["description"] == "As in the passport."


def test_the_next_command_names_the_table(tmp_path: Path) -> None:
    """And the words say which snapshot was read; a number in them is no date of a file."""
    table = iceberg_table(tmp_path / "lake", pa.table({"id": pa.array([1, 2], pa.int64())}))
    place, first = str(folder_of(table)), str(table.metadata.current_snapshot_id)
    table.append(pa.table({"id": pa.array([3], pa.int64())}))
    ended = run("init", "--table", place, "--snapshot", first, "--output", f"{tmp_path}/a.yaml")

    assert f"drafted from 2 rows of {place} (Iceberg, snapshot {first})" in " ".join(ended.output.split())
    assert f"--table {place} --snapshot {first}" in " ".join(ended.output.split())
    assert "replaces" not in (tmp_path / "a.yaml").read_text()
    metadata = table.metadata_location.removeprefix("file://")
    assert drafted(tmp_path, "--table", metadata)["name"] == "orders"


@pytest.mark.parametrize("words", [[], ["a.csv", "--table", "t"], ["a.csv", "--snapshot", "1"], ["--table", "nothing"]])
def test_files_or_a_table_are_named(words: list[str]) -> None:
    """One of the two; a snapshot is that of a table."""
    refused = run("init", *words).exception

    assert isinstance(refused, InputError)
    assert any(each in str(refused) for each in ("name files, or a table", "--snapshot is that", "there is no table"))
