"""A gated table that Spark writes: what becomes main is what Spark wrote to the branch, with deletes and another schema."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from infra.setup.jars import install_jars, sound
from lakegate.base.extension_points import TOOLS
from lakegate.contract.delivery_policy import Pull
from lakegate.features.pull.pull_sources import SourceIdentity
from lakegate.features.pull.snapshots.gated_tables import GatedBranch, SnapshotStep, next_step, version_of
from lakegate.spark.local_spark import FOLDER, java_home
from tests.integrations.test_table_readers import RUNTIME, answered
from tests.unit.features.pull.test_snapshot_sources import Producer

pytestmark = [pytest.mark.tools, pytest.mark.full]

BRANCH = GatedBranch("sales", "spark", "audit")
STAGED = GatedBranch("sales", "staged", "")
SOURCE = Pull("iceberg://sales/spark?branch=audit")
SPARK = """\
import json, sys
from pyspark.sql import SparkSession
spark = (
    SparkSession.builder.master("local[1]").config("spark.jars", sys.argv[2]).config("spark.ui.enabled", "false")
    .config("spark.sql.extensions", "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions")
    .config("spark.sql.catalog.lake", "org.apache.iceberg.spark.SparkCatalog").config("spark.sql.catalog.lake.type", "hadoop")
    .config("spark.sql.catalog.lake.warehouse", sys.argv[1]).getOrCreate()
)
"""
WRITE = """\
name = "lake.sales.spark"
spark.sql(
    f"CREATE TABLE {name} (id BIGINT, state STRING) USING iceberg TBLPROPERTIES ('format-version' = '2', "
    "'write.delete.mode' = 'merge-on-read')"
)
spark.sql(f"INSERT INTO {name} VALUES (1, 'new'), (2, 'BAD')")
spark.sql(f"ALTER TABLE {name} CREATE BRANCH audit")
spark.sql(f"ALTER TABLE {name} ADD COLUMN n INT")
spark.sql(f"INSERT INTO {name}.branch_audit VALUES (3, 'paid', 3)")
spark.sql(f"DELETE FROM {name}.branch_audit WHERE id = 2")
name = "lake.sales.staged"
spark.sql(f"CREATE TABLE {name} (id BIGINT, state STRING) USING iceberg TBLPROPERTIES ('write.wap.enabled' = 'true')")
spark.sql(f"INSERT INTO {name} VALUES (1, 'new')")
spark.conf.set("spark.wap.id", "run-1")
spark.sql(f"INSERT INTO {name} VALUES (2, 'paid')")
rows = []
"""
READ = """\
rows = [each.asDict() | {"whole": each["id"]} for each in spark.read.format("iceberg").load(sys.argv[3]).collect()]
"""


def test_what_spark_wrote_to_a_branch_becomes_main(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Judged as Spark reads the branch, and read by Spark as main afterwards."""
    runtime = TOOLS / "iceberg"
    if not sound(runtime / FOLDER, (RUNTIME,)):
        install_jars(runtime, java_home(), (RUNTIME,))
    jar = str(runtime / FOLDER / RUNTIME.file)
    answered(Path(sys.executable), f"{SPARK}\n{WRITE}", str(tmp_path / "lake"), jar)
    producer = Producer(tmp_path, monkeypatch)
    newest = max(
        (tmp_path / "lake/sales/spark/metadata").glob("v*.metadata.json"), key=lambda each: each.stat().st_mtime
    )
    producer.catalog.register_table("sales.spark", f"file://{newest}")
    before = producer.tables.state(BRANCH)
    assert before is not None
    begun = SourceIdentity("", "", version_of(before.uuid, *before.heads))
    with producer.source.open("shop", SOURCE, SourceIdentity(), begun) as opened:
        judged = pq.read_table(io.BytesIO(opened.read(1 << 20)))
    producer.tables.set_main(BRANCH, before, *before.heads)
    after = producer.tables.state(BRANCH)
    assert after is not None
    metadata = producer.catalog.load_table("sales.spark").metadata_location
    by_spark = answered(Path(sys.executable), f"{SPARK}\n{READ}", str(tmp_path / "lake"), jar, metadata)
    expected = [{"id": 1, "state": "new", "n": None}, {"id": 3, "state": "paid", "n": 3}]

    newest = max(
        (tmp_path / "lake/sales/staged/metadata").glob("v*.metadata.json"), key=lambda each: each.stat().st_mtime
    )
    producer.catalog.register_table("sales.staged", f"file://{newest}")
    staged = producer.tables.state(STAGED)
    assert staged is not None
    begun = SourceIdentity("", "", version_of(staged.uuid, *staged.heads))
    with producer.source.open(
        "shop", Pull("iceberg://sales/staged?wap=*", rows="added"), SourceIdentity(), begun
    ) as opened:
        added = pq.read_table(io.BytesIO(opened.read(1 << 20)))

    assert added.to_pylist() == [{"id": 2, "state": "paid"}]
    assert (after.main, before.main in after.line(after.main)) == (*before.heads, True)
    assert next_step(after, before.uuid, *before.heads, before.main) is SnapshotStep.DONE
    assert sorted(judged.to_pylist(), key=lambda row: row["id"]) == expected
    assert by_spark == [each | {"whole": each["id"]} for each in expected]
