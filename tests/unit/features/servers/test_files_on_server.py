"""`lakegate check --server` of servers that hold files, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from lakegate.base.errors import InputError, LakegateError, SetUpError
from lakegate.cli.main import app
from lakegate.features.servers import files_on_server

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
  properties:
  - {name: id, logicalType: string, required: true}
- name: lines
  properties:
  - {name: id, logicalType: string, required: true}
  - {name: order, logicalType: string}
  quality:
  - {type: sql, query: "SELECT count(*) FROM lines l LEFT JOIN orders o ON l.order = o.id WHERE o.id IS NULL", mustBe: 0}
"""


def contract(folder: Path, *servers: str) -> Path:
    made = folder / "shop.odcs.yaml"
    made.write_text(CONTRACT.replace("SERVERS", "\n".join(f"- {{server: {each}}}" for each in servers)))
    return made


def check(document: Path, *words: str) -> Result:
    return CliRunner().invoke(app, ["check", "--contract", str(document), *words])


def refusal(ended: Result) -> LakegateError:
    assert isinstance(ended.exception, LakegateError), ended.output
    return ended.exception


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A contract, with files of both tables beside it."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data/orders.csv").write_text("id\no1\n")
    (tmp_path / "data/lines.csv").write_text("id,order\nl1,o1\n")
    return contract(
        tmp_path,
        f'by-name, type: local, path: "{tmp_path}/data/{{model}}.csv", format: csv',
        f'folder, type: local, path: "{tmp_path}/data", format: csv',
        'web, type: local, path: "https://example.org/a.csv", format: csv',
        "bucket, type: s3, location: s3://shop-data/orders.csv, endpointUrl: https://storage.example, format: csv",
        "elsewhere, type: s3, location: https://example.org/a.csv, format: csv",
        "warehouse, type: snowflake, account: a, database: d, schema: s",
    )


@pytest.mark.parametrize("server", ["by-name", "folder"])
def test_tables_are_found_where_the_contract_says(shop: Path, server: str) -> None:
    """By the place of their name in the address, or by their files in a folder; queries of one table find the other one."""
    ended = check(shop, "--server", server, "--json")
    found = json.loads(ended.stdout)

    assert (ended.exit_code, found["verdict"]) == (0, "accepted")
    assert [Path(each["inputs"]["files"][0]["file"]).name for each in found["tables"]] == ["orders.csv", "lines.csv"]
    assert {check["status"] for table in found["tables"] for check in table["checks"]} == {"pass"}


def test_one_dataset_is_chosen(shop: Path) -> None:
    """Only its data is read."""
    (shop.parent / "data/lines.csv").unlink()
    ended = check(shop, "--server", "by-name", "--dataset", "orders", "--json")

    assert (ended.exit_code, json.loads(ended.stdout)["dataset"]) == (0, "orders")
    assert "no files of the dataset lines" in str(refusal(check(shop, "--server", "folder", "--dataset", "lines")))


def test_nothing_is_read_unless_a_person_names_the_server(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A contract of somebody else connects to nothing: the servers are listed instead."""

    def connected(*_: Any) -> None:
        raise AssertionError

    for name in ("local", "s3"):
        monkeypatch.setattr(files_on_server, name, connected)
    refused = refusal(check(shop))

    assert "with --server one of the contract's 6 servers" in str(refused)
    assert "warehouse (snowflake)" in str(refused)


@pytest.mark.parametrize(
    ("server", "kind", "words"),
    [
        ("warehouse", InputError, "of the type snowflake, which is not read: export its tables as Parquet or CSV"),
        ("nothing", InputError, "the contract has no server nothing"),
        ("web", InputError, "none of this machine"),
        ("elsewhere", InputError, "not of the form s3://BUCKET/KEY"),
        ("bucket", SetUpError, "set AWS_ENDPOINT_URL_S3 to the same address if you trust it"),
    ],
)
def test_a_server_that_cannot_be_read_is_refused_by_name(
    shop: Path, server: str, kind: type[LakegateError], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what a person can do."""
    for each in files_on_server.ENDPOINTS:
        monkeypatch.delenv(each, raising=False)
    ended = check(shop, "--server", server)

    assert type(refusal(ended)) is kind
    assert words in str(ended.exception)


def test_files_and_a_server_are_not_named_together(shop: Path) -> None:
    """One delivery is checked; a machine gets the refusal as a document."""
    ended = check(shop, str(shop.parent / "data/orders.csv"), "--server", "folder")
    as_json = check(shop, "--server", "nothing", "--json")

    assert "name files, a server with --server" in str(refusal(ended))
    assert json.loads(as_json.stdout)["error"]["kind"] == "input"
    assert json.loads(as_json.stdout)["inputs"]["files"][0]["file"] == "--server nothing"


def test_objects_of_s3_are_read_with_the_settings_of_the_environment(cloud: Any, tmp_path: Path) -> None:
    """An endpoint that the environment has, too, is used."""
    client = cloud.s3
    client.create_bucket(Bucket="shop-data", CreateBucketConfiguration={"LocationConstraint": "eu-central-1"})
    client.put_object(Bucket="shop-data", Key="orders.csv", Body=b"id\n\n")
    document = contract(tmp_path, 'bucket, type: s3, location: "s3://shop-data/{model}.csv", format: csv')
    ended = check(document, "--server", "bucket", "--dataset", "orders", "--json")

    assert ended.exit_code == 1, ended.output
    assert json.loads(ended.stdout)["inputs"]["files"][0]["file"] == "s3://shop-data/orders.csv"
