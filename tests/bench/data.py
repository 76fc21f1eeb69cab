"""The files that are judged, and their contracts: written once below `.cache/bench`, the same bytes for the same seed."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import yaml
from pyarrow import csv, parquet

from infra.samples.sample_data import SAMPLES, write
from lakegate.base.extension_points import ROOT
from tests.bench.weather import FIELDS, TEXTS, odcs, with_checks

CACHE = ROOT / ".cache" / "bench"
CONTRACT = ROOT / "contracts/examples/weather.dcm.yaml"
CLEAN, DIRTY = "weather-clean.csv", "weather-dirty.csv"
SEED = 1


@dataclass(frozen=True, slots=True)
class Work:
    """One file and the contract it is judged by."""

    name: str
    rows: int
    sample: str = CLEAN
    kind: str = "csv"
    """Or `parquet`."""
    copies: int = 1
    """The number of copies of the 46 checks in the contract."""

    @property
    def data(self) -> Path:
        """Where the file is."""
        return CACHE / f"{self.sample.removesuffix('.csv')}-{self.rows}-{SEED}.{self.kind}"

    @property
    def contract(self) -> Path:
        """The contract for Lakegate."""
        return CACHE / f"{self.name}.dcm.yaml"

    @property
    def peer_contract(self) -> Path:
        """The same checks for datacontract-cli."""
        return CACHE / f"{self.name}.odcs.yaml"


def prepare(work: Work) -> None:
    """Write what is not there yet, and read the file once, so that no side finds a colder disk."""
    CACHE.mkdir(parents=True, exist_ok=True)
    document = yaml.safe_load(CONTRACT.read_text())
    document = with_checks(document, work.copies) | {"specific": {"lakegate": {"format": work.kind}}}
    work.contract.write_text(json.dumps(document, indent=1))
    work.peer_contract.write_text(odcs(str(work.data), work.kind, work.rows))
    text = work.data.with_suffix(".csv")
    _once(text, lambda path: write(SAMPLES[work.sample], path, work.rows, SEED))
    if work.kind == "parquet":
        _once(work.data, lambda path: _as_parquet(text, path))
    with work.data.open("rb", buffering=0) as file:
        while file.read(1 << 24):
            pass


def files(folder: Path, rows: int, count: int) -> list[Path]:
    """Small files of that many rows, each with other values."""
    folder.mkdir(parents=True)
    paths = [folder / f"{number:04}.csv" for number in range(count)]
    for number, path in enumerate(paths):
        write(SAMPLES[CLEAN], path, rows, number)
    return paths


def _once(path: Path, make: Callable[[Path], None]) -> None:
    if not path.exists():
        aside = path.with_suffix(".aside")
        make(aside)
        aside.rename(path)


def _as_parquet(text: Path, path: Path) -> None:
    """The same rows with typed columns, in row groups of 1 Mi rows, compressed by Snappy: what pyarrow does by itself."""
    types: dict[str, Any] = {name: pa.string() if name in TEXTS else pa.float64() for name in FIELDS}
    types |= {"index": pa.int64(), "date": pa.date32()}
    convert = csv.ConvertOptions(column_types=types, strings_can_be_null=True)
    with csv.open_csv(text, convert_options=convert) as reader:
        table = pa.Table.from_batches(reader)
    parquet.write_table(table, path)
