"""A table is judged as the same rows in a Parquet file: for generated contracts, and rows of generated types."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import time_machine
from click.testing import CliRunner
from deltalake import write_deltalake

from lakegate.cli.main import app
from lakegate.contract.file_formats import Format
from tests.agreement.cases import Case, case_of
from tests.deliveries.tables import folder_of, iceberg_table

CASES = 50
NOW = "2026-11-30T12:00:00Z"
RENAMED = {
    pa.uint64(): pa.int64(),
    pa.int8(): pa.int32(),
    pa.large_string(): pa.string(),
    pa.timestamp("ms"): pa.timestamp("us"),
    pa.timestamp("ns", "UTC"): pa.timestamp("us", "UTC"),
}
"""Types that neither table has, and those that are written instead."""


def cases() -> Iterator[Case]:
    """Cases whose delivery is one Parquet file, with rows, and without other data."""
    for seed in count():
        case = case_of(seed, Format.PARQUET)
        if len(case.objects) == 1 and not case.referred:
            yield case


@pytest.fixture(scope="module")
def drawn() -> list[tuple[Case, pa.Table]]:
    """Cases with the rows that tables can have."""
    found = []
    for case in cases():
        rows = pq.read_table(pa.BufferReader(case.objects[0]))
        names = [each.name for each in rows.schema if _kept(each.type) is not None and each.name.strip()]
        kept = rows.select(names)
        if names and len({name.casefold() for name in names}) == len(names):
            try:
                kept = kept.cast(pa.schema([(each.name, _kept(each.type)) for each in kept.schema]))
                kept.to_pylist()
            except (pa.ArrowInvalid, OverflowError):
                continue  # a value that the other type, or pyiceberg's statistics, cannot have
            found.append((case, kept))
        if len(found) == CASES:
            return found
    raise AssertionError


def _kept(kind: pa.DataType) -> pa.DataType | None:
    """The type in a table; None where neither has one, or where a list of records might be null."""
    if pa.types.is_dictionary(kind):
        return kind.value_type
    if pa.types.is_nested(kind):
        return kind if pa.types.is_struct(kind) and all(_kept(each.type) == each.type for each in kind) else None
    return None if pa.types.is_time(kind) else RENAMED.get(kind, kind)


def _iceberg(folder: Path, rows: pa.Table) -> Path:
    return folder_of(iceberg_table(folder, rows))


def _delta(folder: Path, rows: pa.Table) -> Path:
    write_deltalake(folder / "table", rows)
    return folder / "table"


def judged(case: Case, folder: Path, *words: str) -> Any:
    """The document of a check, without names, times and what was read."""
    document = folder / "contract.yaml"
    document.write_bytes(case.text)
    name = case.contract.datasets[0].name
    with time_machine.travel(NOW, tick=False):
        ended = CliRunner().invoke(
            app, ["check", "--contract", str(document), "--dataset", name, "--mask", "--json", *words]
        )
    assert ended.exit_code in {0, 1, 3}, (case.seed, ended.output, ended.exception)
    found = json.loads(ended.stdout)
    for check in found["checks"]:
        check["message"] = ""
        for sample in check["samples"]:
            sample["file"] = ""
    checks = {each["id"]: each for each in found["checks"]}
    return {name: found[name] for name in ("verdict", "rows", "rejected_rows", "breaking_rows", "counts")} | checks


def test_a_table_is_judged_as_its_rows_in_a_file(drawn: list[tuple[Case, pa.Table]], tmp_path: Path) -> None:
    """In every check: status, measurement, failing rows and samples; tables of Iceberg and Delta in turn."""
    verdicts, write = set(), (_iceberg, _delta)
    for case, rows in drawn:
        folder = tmp_path / str(case.seed)
        folder.mkdir()
        pq.write_table(rows, folder / "rows.parquet")
        expected = judged(case, folder, f"{folder}/rows.parquet")
        verdicts.add(expected["verdict"])

        found = judged(case, folder, "--table", str(write[case.seed % 2](folder, rows)))
        for name, value in expected.items():
            assert found[name] == value, (case.seed, name)

    assert len(verdicts) > 1  # else equality would say little
    assert len({each.type for _, rows in drawn for each in rows.schema}) > 10
