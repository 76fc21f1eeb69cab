"""`lakegate check --server` of servers that hold tables: `format: iceberg` and `delta`, in a folder, in S3 and in Glue."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import boto3
import pyarrow as pa
import pytest
from click.testing import CliRunner, Result
from deltalake import write_deltalake
from moto.server import ThreadedMotoServer
from pyiceberg.catalog import Catalog, load_catalog

from lakegate.base.errors import LakegateError
from lakegate.cli.main import app
from lakegate.contract.file_formats import Format
from lakegate.library.contract_files import load
from lakegate.local_check import data_in_s3
from lakegate.local_check.contract_servers import DataOnServer, ServedData
from lakegate.local_check.table_data import PARQUET
from tests.deliveries.tables import add_file, folder_of, iceberg_table

CONTRACT = """apiVersion: v3.1.0
kind: DataContract
id: shop
name: Shop
version: 1.0.0
status: active
servers:
SERVERS
schema:
- name: orders
  physicalName: orders_table
  properties:
  - {name: id, logicalType: integer, required: true}
  - {name: state, logicalType: string, required: true}
- name: lines
  properties:
  - {name: id, logicalType: integer, required: true}
"""
ROWS = pa.table({"id": pa.array([1, 2], pa.int64()), "state": ["new", None]})
LINES = ROWS.select(["id"])


def contract(folder: Path, *servers: str) -> Path:
    made = folder / "shop.odcs.yaml"
    made.write_text(CONTRACT.replace("SERVERS", "\n".join(f"- {{server: {each}}}" for each in servers)))
    return made


def check(document: Path, *words: str) -> Result:
    return CliRunner().invoke(app, ["check", "--contract", str(document), *words])


def judged(document: Path, *words: str) -> Any:
    ended = check(document, *words, "--json")
    assert ended.exit_code in {0, 1}, (ended.output, ended.exception)
    return json.loads(ended.stdout)


def refusal(ended: Result) -> LakegateError:
    assert isinstance(ended.exception, LakegateError), ended.output
    return ended.exception


def test_tables_are_found_where_the_contract_says(tmp_path: Path) -> None:
    """Each dataset is the table of its name; the format of the server is that of no file."""
    write_deltalake(tmp_path / "delta/orders_table", ROWS)
    write_deltalake(tmp_path / "delta/lines", LINES)
    document = contract(
        tmp_path,
        f'delta, type: local, path: "{tmp_path}/delta/{{model}}", format: delta',
        f'one, type: local, path: "{tmp_path}/delta", format: Delta',
    )
    found = judged(document, "--server", "delta")

    assert {each["dataset"]: (each["verdict"], each["rows"]) for each in found["tables"]} == {
        "orders": ("rejected", 2),
        "lines": ("accepted", 2),
    }
    assert [each["inputs"]["files"][0]["snapshot"] for each in found["tables"]] == ["0", "0"]
    assert "one table for several datasets: write {model}" in str(refusal(check(document, "--server", "one")))
    folder = folder_of(iceberg_table(tmp_path / "lake", ROWS))
    iceberg = contract(tmp_path, f'lake, type: local, path: "{folder.parent}/{{model}}", format: iceberg')
    folder.rename(folder.parent / "orders_table")
    moved = refusal(check(iceberg, "--server", "lake", "--dataset", "orders"))
    assert "which is not in" in str(moved)  # the metadata names the files of the folder that it was written in


def test_another_version_judges_a_table_by_the_format_that_its_rows_were_written_in(tmp_path: Path) -> None:
    """What takes effect later is asked beside the version in force, and its document may say CSV."""
    later = load(contract(tmp_path, 'files, type: local, path: "{model}.csv", format: csv'))
    judged_by = ServedData({"orders": DataOnServer([], PARQUET)}).judged_by(later)

    assert {each.name: each.storage.format for each in later.datasets} == {"orders": Format.CSV, "lines": Format.CSV}
    assert {each.name: each.storage.format for each in judged_by.datasets} == {
        "orders": Format.PARQUET,
        "lines": Format.CSV,
    }


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """S3 and Glue, as a server that clients of any language reach."""
    server = ThreadedMotoServer(port=0)
    server.start()
    _, port = server.get_host_and_port()
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL_S3"):
        monkeypatch.delenv(name, raising=False)
    settings = {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_REGION": "us-east-1",
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    urlopen(Request(f"{settings['AWS_ENDPOINT_URL']}/moto-api/reset", method="POST"))  # noqa: S310 - of this test
    data_in_s3._client.cache_clear()  # noqa: SLF001 - made for another endpoint
    client = boto3.client("s3")
    client.create_bucket(Bucket="lake")
    client.create_bucket(Bucket="private")
    yield settings
    data_in_s3._client.cache_clear()  # noqa: SLF001 - made for another endpoint
    server.stop()


def glue(store: Any) -> Catalog:
    keys = {"s3.access-key-id": "testing", "s3.secret-access-key": "testing"}  # pragma: allowlist secret
    where = {"s3.endpoint": store["AWS_ENDPOINT_URL"], "s3.region": "us-east-1"}
    return load_catalog("glue", type="glue", warehouse="s3://lake", **keys, **where)


def test_tables_in_s3_and_in_glue_are_read(store: Any, tmp_path: Path) -> None:
    """By the credentials and the endpoint of boto3, whichever library reads; and no object of another place."""
    options = {**store, "AWS_ALLOW_HTTP": "true"}
    write_deltalake("s3://lake/delta/orders_table", ROWS, storage_options=options)
    catalog = glue(store)
    catalog.create_namespace("shop")
    table = catalog.create_table("shop.orders_table", ROWS.schema, properties={"format-version": "2"})
    table.append(ROWS)
    document = contract(
        tmp_path,
        f"delta, type: s3, location: 's3://lake/delta/{{model}}', format: delta, endpointUrl: '{store['AWS_ENDPOINT_URL']}'",
        f"folder, type: s3, location: '{table.location()}', format: iceberg",
        "glue, type: glue, account: '123456789012', database: shop, format: iceberg",
    )
    snapshot = str(table.metadata.current_snapshot_id)
    expected = {
        "delta": ("s3://lake/delta/orders_table (Delta, version 0)", "0"),
        "glue": (f"glue.shop.orders_table (Iceberg, snapshot {snapshot})", snapshot),
    }
    for server, named in expected.items():
        found = judged(document, "--server", server, "--dataset", "orders")
        (file,) = found["inputs"]["files"]
        assert (found["verdict"], found["rows"], (file["file"], file["snapshot"])) == ("rejected", 2, named)
    for place in (table.location(), f"{table.location()}/", table.metadata_location):
        assert judged(document, "--table", place, "--dataset", "orders")["rows"] == 2

    add_file(table, "s3://private/orders.parquet")
    refused = refusal(check(document, "--table", table.location(), "--dataset", "orders"))
    assert "`s3://private/orders.parquet`, which is not in" in str(refused)
    absent = refusal(check(document, "--table", "s3://lake/nothing", "--dataset", "orders"))
    assert "there is no table `s3://lake/nothing`" in str(absent)


def test_a_table_does_not_choose_where_signed_requests_go(store: Any, tmp_path: Path) -> None:
    """Whoever may alter a table in a catalog gets no signature of whoever reads it."""
    catalog = glue(store)
    catalog.create_namespace("shop")
    table = catalog.create_table("shop.orders_table", ROWS.schema)
    table.append(ROWS)
    client, key = boto3.client("s3"), table.metadata_location.removeprefix("s3://lake/")
    written = json.loads(client.get_object(Bucket="lake", Key=key)["Body"].read())
    written["properties"] |= {"s3.endpoint": "http://127.0.0.1:9", "s3.connect-timeout": "1"}
    client.put_object(Bucket="lake", Key=key, Body=json.dumps(written).encode())
    document = contract(tmp_path, "glue, type: glue, account: '1', database: shop, format: iceberg")

    assert judged(document, "--server", "glue", "--dataset", "orders")["rows"] == 2
