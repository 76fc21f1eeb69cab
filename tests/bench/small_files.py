"""What many small deliveries of a table cost its readers, before and after a compaction: `python -m tests.bench.small_files`.

Each delivery is one typed file of 100 rows in a folder of this machine, committed as the table function does. DuckDB reads the
table in a process of its own, which has the extension for Iceberg; each statement is run five times, and the fastest counts. In
S3 each file costs requests as well.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.catalog.sql import SqlCatalog

from infra.setup.environments import install
from lakegate.features.tables.compact_table import compact_table
from lakegate.features.tables.iceberg_tables import IcebergTables
from lakegate.features.tables.keep_table import ShownState, TableSnapshot, table_name
from lakegate.features.tables.table_description import COMPACTED, TableDescription
from lakegate.gate.effects import run
from lakegate.gate.ledger.blocks import TableFile
from tests.simulation.environment import Environment

DATASET = "shop/orders_v1"
ROWS = 100
STATEMENTS = ("SELECT count(*)", "SELECT sum(amount)", "SELECT sum(amount) WHERE number = 50050")
QUERIES = """\
import duckdb, glob, importlib, sys, time
connection = duckdb.connect()
for name in ("avro", "iceberg"):
    folder = importlib.import_module(f"duckdb_extension_{name}").__path__[0]
    (path,) = glob.glob(f"{folder}/**/*.duckdb_extension", recursive=True)
    connection.execute(f"LOAD '{path}'")
for statement in sys.argv[2:]:
    what, _, condition = statement.partition(" WHERE ")
    text = f"{what} FROM iceberg_scan('{sys.argv[1]}')" + (f" WHERE {condition}" if condition else "")
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        rows = connection.sql(text).fetchall()
        times.append(time.perf_counter() - begin)
    print(f"  {statement}: {rows[0][0]}, {min(times) * 1000:.0f} ms")
"""


def main(count: int) -> None:
    """Print the times of readers with so many deliveries, then of the compaction, then of readers again."""
    python = install("duckdb-iceberg") / "bin/python"
    with TemporaryDirectory() as name:
        folder = Path(name)
        catalog = SqlCatalog("lake", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}")
        catalog.create_namespace("accepted")
        tables = IcebergTables(lambda: catalog, "accepted", f"file://{folder}")
        begin = perf_counter()
        _deliver(tables, folder, count)
        print(f"{count} deliveries of {ROWS} rows, committed in {perf_counter() - begin:.0f} s")  # noqa: T201
        _read(python, catalog)
        gate = Environment().dependencies
        before, begin = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, perf_counter()
        compacted = run(compact_table(gate, tables, DATASET), gate.clock)
        took, more = perf_counter() - begin, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        print(f"compacted {compacted.merged} in {took:.1f} s, with {more >> 10} MiB more memory")  # noqa: T201
        _read(python, catalog)


def _deliver(tables: IcebergTables, folder: Path, count: int) -> None:
    description = TableDescription(((COMPACTED, "true"),))
    shown = ShownState()
    for height in range(count):
        numbers = range(height * ROWS, (height + 1) * ROWS)
        rows = pa.table(
            {
                "number": pa.array(numbers, pa.int64()),
                "customer": [f"customer {number % 997}" for number in numbers],
                "amount": [number / 100 for number in numbers],
            }
        )
        path = folder / f"accepted/{DATASET}/workload={height}/_table/part-00000.parquet"
        path.parent.mkdir(parents=True)
        pq.write_table(rows, path, compression="zstd", write_page_index=True)
        file = TableFile(str(path.relative_to(folder)), ROWS)
        if not height:
            tables.make(DATASET, file)
        snapshot = TableSnapshot(DATASET, height, "d", (("kind", "published"),), (file,))
        shown = tables.commit(replace(snapshot, description=description), shown)


def _read(python: Path, catalog: SqlCatalog) -> None:
    metadata = catalog.load_table(("accepted", table_name(DATASET))).metadata_location.removeprefix("file://")
    subprocess.run([python, "-c", QUERIES, metadata, *STATEMENTS], check=True)  # noqa: S603 - a program of ours


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--deliveries", type=int, default=1_000)
    sys.exit(main(parser.parse_args().deliveries))
