"""Tables as pyiceberg, DuckDB and Spark read them: equal rows for every type, also of an older version (`make nightly`)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from pyiceberg.catalog.sql import SqlCatalog

from infra.setup.environments import install
from infra.setup.jars import install_jars, sound
from lakegate.base.extension_points import TOOLS
from lakegate.cli.main import app
from lakegate.contract.contract_model import Shape
from lakegate.contract.file_formats import Format, Storage
from lakegate.contract.logical_types import LogicalType
from lakegate.engine.read.data_source import path_of
from lakegate.features.table_readers.iceberg_reader import write_table
from lakegate.features.tables.iceberg_tables import IcebergTables
from lakegate.features.tables.keep_table import ShownState, TableSnapshot, table_name
from lakegate.features.tables.table_description import COMPACTED, MOST_AGE, TableDescription
from lakegate.gate.ledger.blocks import TableFile
from lakegate.local_check.table_readers import TablePlace
from lakegate.plan.slice_order import SliceOrder
from lakegate.spark.local_spark import FOLDER, Jar, java_home
from tests.deliveries.sliced import slices
from tests.deliveries.typed import plan_in, typed_files
from tests.engine.formats import stored

pytestmark = [pytest.mark.tools, pytest.mark.full]

DATASET = "shop/all_v1"
RUNTIME = Jar(
    "iceberg-spark-runtime-3.5_2.12-1.10.0.jar",
    "org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.10.0",
    "70f9471870b2d456167d703c829f098a446b86bb1379eee338c0efa03a341026",
)
MODEL = """\
dataContractSpecification: 1.2.1
id: all
info: {title: All types, version: 1.VERSION.0}
models:
  all:
    config: {lakegate: {publishAs: iceberg, format: jsonl}}
    fields:
      whole: {type: long}
      part: {type: double}
      price: {type: decimal}
      ok: {type: boolean}
      day: {type: date}
      at: {type: time}
      seen: {type: timestamp}
      name: {type: string}
      items: {type: array, items: {type: record, fields: {sku: {type: string}, counts: {type: array, items: {type: long}}}}}
      prices: {type: map, keys: {type: string}, values: {type: decimal}}
      unzoned: {type: timestamp_ntz}
      raw: {type: bytes}
      wide: {type: decimal, precision: 38, scale: 0}
      fine: {type: decimal, precision: 38, scale: 38}
      inner:
        type: record
        fields:
          day: {type: date}
          seen: {type: timestamp}
          fine: {type: decimal, precision: 38, scale: 2}
          raw: {type: bytes}
      moments: {type: array, items: {type: timestamp}}
"""
PRICE = "12345678901234567890.123456789012345678"
WIDE = "-99999999999999999999999999999999999999"
FINE = "0.12345678901234567890123456789012345678"
FULL = {
    "whole": 2**63 - 1,
    "part": 0.1,
    "price": PRICE,
    "ok": True,
    "day": "2024-02-29",
    "at": "23:59:59.999999",
    "seen": "2024-02-29T17:30:00.000001+05:30",
    "name": "Größe 'x'",
    "items": [{"sku": "a", "counts": [1, 2]}, {"sku": None, "counts": []}],
    "prices": {"p": 0.5},
    "unzoned": "1900-01-01T23:59:59.999999",
    "raw": "Größe",
    "wide": WIDE,
    "fine": FINE,
    "inner": {"day": "0001-01-01", "seen": "9999-12-31T23:59:59.999999Z", "fine": -0.05, "raw": ""},
    "moments": ["2024-10-27T02:30:00+02:00", None, "2024-10-27T02:30:00+01:00"],
}
TEXTS = FULL | {
    "seen": "2024-02-29T12:00:00.000001",
    "prices": {"p": "0.500000000000000000"},
    "raw": "Größe".encode().hex(),
    "inner": {"day": "0001-01-01", "seen": "9999-12-31T23:59:59.999999", "fine": "-0.05", "raw": ""},
    "moments": ["2024-10-27T00:30:00", None, "2024-10-27T01:30:00"],
}
"""The same as every program prints it: moments in UTC, bytes in hexadecimal, decimals with all digits of their scale."""
DESCRIPTION = TableDescription(
    (("comment", "Größe"), (MOST_AGE, "1"), (COMPACTED, "true")), ((("whole",), "A number"),)
)
"""The snapshot of the first delivery leaves with the second one."""
GAPS = {
    "whole": 3,
    "added": "",
    "inner": {"day": None, "seen": None, "fine": None, "raw": None},
    "prices": {"q": None},
    "moments": [],
    "items": [{"sku": "b", "counts": None}, None],
}
"""A record without values, empty lists and texts, and nulls in them, are not the same as null."""
ROWS = [FULL, {"whole": 1}, {"whole": 2, "added": "new"}, GAPS]
DUCKDB = """\
import duckdb, glob, importlib, json, sys
connection = duckdb.connect()
connection.execute("SET TimeZone = 'UTC'")
for name in ("avro", "iceberg"):
    folder = importlib.import_module(f"duckdb_extension_{name}").__path__[0]
    (path,) = glob.glob(f"{folder}/**/*.duckdb_extension", recursive=True)
    connection.execute(f"LOAD '{path}'")
found = connection.sql(f"SELECT * FROM iceberg_scan('{sys.argv[1]}')")
rows = [dict(zip(found.columns, row)) for row in found.fetchall()]
"""
SPARK = """\
import json, sys
from pyspark.sql import SparkSession
spark = (
    SparkSession.builder.master("local[1]").config("spark.jars", sys.argv[2]).config("spark.ui.enabled", "false")
    .config("spark.sql.session.timeZone", "UTC").getOrCreate()
)
rows = [each.asDict(recursive=True) for each in spark.read.format("iceberg").load(sys.argv[1]).collect()]
"""
PRINT = """
from datetime import datetime

def plain(value):
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).hex()
    if isinstance(value, datetime):
        return value.replace(tzinfo=None).isoformat()
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)

print(json.dumps(sorted(map(plain, rows), key=lambda row: row["whole"])))
"""


def typed_table(folder: Path, *, is_compacted: bool) -> str:
    """The newest metadata of a table of two deliveries: the second has a column more, the snapshot of the first has expired."""
    catalog = SqlCatalog("lake", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}")
    catalog.create_namespace("accepted")
    tables, shown = IcebergTables(lambda: catalog, "accepted", f"file://{folder}"), ShownState()
    for number, rows in enumerate((ROWS[:2], ROWS[2:])):
        model = MODEL.replace("VERSION", str(number)) + "      added: {type: string}\n" * number
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        for number_text in (PRICE, WIDE, FINE):
            lines = lines.replace(f'"{number_text}"', number_text)  # a number, which Python's JSON would round
        body = lines.encode()
        (written,) = typed_files(stored(plan_in(model.encode()), Storage(Format.JSONL)), folder / str(number), body)
        file = TableFile(str(path_of(written.uri).relative_to(folder)), written.rows)
        if not number:
            tables.make(DATASET, file)
        shown = tables.commit(TableSnapshot(DATASET, number, "d", (), (file,), description=DESCRIPTION), shown)
        time.sleep(0.002)
    if is_compacted:
        tables.put(DATASET, tables.merge(DATASET, tables.files(DATASET, shown)), shown)
    return catalog.load_table(("accepted", table_name(DATASET))).metadata_location.removeprefix("file://")


def answered(python: Path, script: str, *words: str) -> Any:
    command = [str(python), "-c", script + PRINT, *words]
    environment = {**os.environ, "TZ": "UTC", "JAVA_HOME": str(java_home())}
    ended = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)  # noqa: S603 - ours
    assert ended.returncode == 0, ended.stderr[-2000:]
    return json.loads(ended.stdout.splitlines()[-1])


@pytest.mark.parametrize("is_compacted", [False, True])
def test_three_programs_read_equal_rows_of_every_type(tmp_path: Path, *, is_compacted: bool) -> None:
    """What was delivered, with nulls for a column that the first version had not; also once its files are put together."""
    model = plan_in(MODEL.replace("VERSION", "0").encode())
    assert {field.type for field in model.fields if field.shape is Shape.VALUE} == set(LogicalType)
    metadata = typed_table(tmp_path, is_compacted=is_compacted)
    runtime = TOOLS / "iceberg"
    if not sound(runtime / FOLDER, (RUNTIME,)):
        install_jars(runtime, java_home(), (RUNTIME,))
    by_duckdb = answered(install("duckdb-iceberg") / "bin/python", DUCKDB, metadata)
    by_spark = answered(Path(sys.executable), SPARK, metadata, str(runtime / FOLDER / RUNTIME.file))
    by_pyiceberg = answered(
        Path(sys.executable),
        "import json, sys\nfrom pyiceberg.table import StaticTable\n"
        "found = StaticTable.from_metadata(sys.argv[1]).scan().to_arrow()\n"
        "rows = [dict(row, prices=None if row['prices'] is None else dict(row['prices'])) for row in found.to_pylist()]\n",
        metadata,
    )
    nothing = dict.fromkeys([*FULL, "added"])
    expected = [
        nothing | {"whole": 1},
        nothing | {"whole": 2, "added": "new"},
        nothing | GAPS,
        nothing | TEXTS,
    ]

    # pyiceberg 0.12 reads a list of records that is not there as an empty one
    assert by_pyiceberg == [row | {"items": row["items"] or []} for row in expected]
    assert by_duckdb == expected
    assert by_spark == expected


SLICED = """\
dataContractSpecification: 1.2.1
id: seen
info: {title: Seen, version: 1.0.0}
models:
  seen:
    config: {lakegate: {publishAs: parquet, format: jsonl, eventTime: at}}
    fields: {id: {type: long}, at: {type: timestamp}, place: {type: record, fields: {city: {type: string}}}}
"""
SPARK_OF_SLICES = """\
from pyspark.errors.exceptions.base import PySparkException
from py4j.protocol import Py4JJavaError
table = spark.read.format("iceberg").load(sys.argv[1])
table.createOrReplaceTempView("seen")

def count(columns, condition):
    try:
        found = spark.sql(f"SELECT {columns} FROM seen WHERE {condition}").collect()
        return [str(each[0]) for each in found]
    except Py4JJavaError as error:
        return str(error.java_exception.getCause()).partition(": ")[2]

rows = [
    {
        "whole": 1,
        "by time": count("id", "event_time >= TIMESTAMP '2026-10-01 00:00:00'"),
        "time": count("max(event_time)", "id > 0"),
        "op": count("op", "id > 0"),
        "nested": count("place.city", "id > 0"),
    }
]
"""


def test_slices_are_no_data_files_of_a_table(tmp_path: Path) -> None:
    """Spark takes their milliseconds for microseconds, and refuses their whole numbers: decision 166 is to be read again."""
    runtime, rows = TOOLS / "iceberg", [{"id": 1, "at": "2026-10-01T00:00:00Z", "place": {"city": "Recife"}}]
    if not sound(runtime / FOLDER, (RUNTIME,)):
        install_jars(runtime, java_home(), (RUNTIME,))
    plan = stored(plan_in(SLICED.encode()), Storage(Format.JSONL))
    (written,) = slices(plan, tmp_path / "0", json.dumps(rows[0]).encode(), order=SliceOrder(0, "at"))
    catalog = SqlCatalog("lake", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}")
    catalog.create_namespace("accepted")
    tables = IcebergTables(lambda: catalog, "accepted", f"file://{tmp_path}")
    file = TableFile(str(path_of(written.uri).relative_to(tmp_path)), written.rows)
    tables.make(DATASET, file)
    tables.commit(TableSnapshot(DATASET, 0, "d", (), (file,)), ShownState())
    table = catalog.load_table(("accepted", table_name(DATASET)))
    metadata, jar = table.metadata_location.removeprefix("file://"), str(runtime / FOLDER / RUNTIME.file)
    session = SPARK.partition("rows = ")[0]
    (by_spark,) = answered(Path(sys.executable), session + SPARK_OF_SLICES, metadata, jar)

    assert table.scan("event_time >= '2026-10-01T00:00:00+00:00'").to_arrow().num_rows == 1
    assert by_spark == {
        "whole": 1,
        "by time": [],
        "time": ["1970-01-21 17:26:52.800000"],
        "op": "Unsupported logical type: UINT_8",
        "nested": "Unsupported logical type: UINT_64",
    }


WRITE = """\
import json, sys
from pyspark.sql import SparkSession
spark = (
    SparkSession.builder.master("local[1]").config("spark.jars", sys.argv[2]).config("spark.ui.enabled", "false")
    .config("spark.sql.extensions", "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions")
    .config("spark.sql.catalog.lake", "org.apache.iceberg.spark.SparkCatalog").config("spark.sql.catalog.lake.type", "hadoop")
    .config("spark.sql.catalog.lake.warehouse", sys.argv[1]).getOrCreate()
)
for version in (2, 3):
    name = f"lake.shop.orders{version}"
    spark.sql(
        f"CREATE TABLE {name} (id BIGINT, state STRING, n INT) USING iceberg TBLPROPERTIES ('format-version' = '{version}', "
        "'write.delete.mode' = 'merge-on-read', 'write.update.mode' = 'merge-on-read')"
    )
    spark.sql(f"INSERT INTO {name} VALUES (1, 'new', 1), (2, 'BAD', 2), (3, 'paid', 3)")
    spark.sql(f"DELETE FROM {name} WHERE id = 2")
    spark.sql(f"ALTER TABLE {name} ADD PARTITION FIELD bucket(4, id)")
    spark.sql(f"ALTER TABLE {name} RENAME COLUMN state TO status")
    spark.sql(f"ALTER TABLE {name} ALTER COLUMN n TYPE BIGINT")
    spark.sql(f"ALTER TABLE {name} ADD COLUMN added STRING")
    spark.sql(f"INSERT INTO {name} VALUES (4, 'sent', 4000000000, 'x'), (5, 'done', 5, 'y')")
    spark.sql(f"UPDATE {name} SET status = 'paid' WHERE id = 5")

"""
GATE = """\
apiVersion: v3.1.0
kind: DataContract
id: shop
name: Shop
version: 1.0.0
status: active
schema:
- name: orders
  properties:
  - {name: id, logicalType: integer, required: true, primaryKey: true, primaryKeyPosition: 1}
  - {name: status, logicalType: string, logicalTypeOptions: {pattern: "^[a-z]+$"}}
  - {name: n, logicalType: integer}
  - {name: added, logicalType: string}
"""


def test_a_table_of_spark_is_judged_as_spark_reads_it(tmp_path: Path) -> None:
    """With deletes of rows (files of positions, and deletion vectors of version 3), other schemas and other partitions."""
    runtime, document = TOOLS / "iceberg", tmp_path / "shop.odcs.yaml"
    document.write_text(GATE)
    if not sound(runtime / FOLDER, (RUNTIME,)):
        install_jars(runtime, java_home(), (RUNTIME,))
    answered(Path(sys.executable), f"{WRITE}\nrows = []", str(tmp_path / "lake"), str(runtime / FOLDER / RUNTIME.file))
    for version in (2, 3):
        file = tmp_path / f"rows{version}.parquet"
        write_table(TablePlace(f"{tmp_path}/lake/shop/orders{version}"), file, {})
        rows = sorted(pq.read_table(file).to_pylist(), key=lambda row: row["id"])

        assert rows == [
            {"id": 1, "status": "new", "n": 1, "added": None},
            {"id": 3, "status": "paid", "n": 3, "added": None},
            {"id": 4, "status": "sent", "n": 4_000_000_000, "added": "x"},
            {"id": 5, "status": "paid", "n": 5, "added": "y"},
        ]
        words = ["check", "--contract", str(document), "--table", f"{tmp_path}/lake/shop/orders{version}", "--json"]
        ended = CliRunner().invoke(app, words)
        assert (ended.exit_code, json.loads(ended.stdout)["verdict"]) == (0, "accepted"), ended.output
