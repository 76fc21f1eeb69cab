"""Which files are in the folder of a table of Iceberg, as they are named and as the library reads the names."""

from __future__ import annotations

from pathlib import Path

import pytest

from lakegate.base.errors import InputError
from lakegate.features.table_readers.iceberg_reader import OwnFiles
from lakegate.local_check.table_readers import TableFolder

METADATA = "s3://sales/p1/orders/metadata/00001-a.metadata.json"


@pytest.mark.parametrize(
    ("address", "is_own"),
    [
        ("s3://sales/p1/orders/data/day=1/a.parquet", True),
        ("s3a://sales/p1/orders/data/a.parquet", True),
        ("s3n://sales/p1/orders/metadata/snap-1.avro", True),
        ("s3://sales/p1/orders/a%3Fb..c.parquet", True),
        ("s3://sales/p1/orders", False),
        ("s3://sales/p1/orders2/data/a.parquet", False),
        ("s3://sales/p2/orders/data/a.parquet", False),
        ("s3://sales2/p1/orders/data/a.parquet", False),
        ("s3://sales/p1/orders/data/../../../p2/orders/a.parquet", False),
        ("s3://sales/p1/orders/data/a.parquet?b", False),
        ("s3://sales/p1/orders/data/a.parquet?", False),
        ("s3://sales/p1/orders/data/a.parquet#b", False),
        ("s3://sales/p1/orders/da\nta/a.parquet", False),
        ("S3://sales/p1/orders/data/a.parquet", False),
        ("gs://sales/p1/orders/data/a.parquet", False),
        ("file:///sales/p1/orders/data/a.parquet", False),
        ("/sales/p1/orders/data/a.parquet", False),
        ("", False),
    ],
)
def test_a_file_of_a_table_is_below_its_folder(address: str, is_own: bool) -> None:  # noqa: FBT001 - of the table above
    """By its whole name: a part that the library would leave out is none."""
    assert TableFolder.above(METADATA).has(address) is is_own


def test_links_are_followed(tmp_path: Path) -> None:
    folder = tmp_path / "orders"
    (folder / "metadata").mkdir(parents=True)
    (tmp_path / "secret").write_text("x")
    (folder / "link").symlink_to(tmp_path / "secret")
    (folder / "own").write_text("x")
    found = TableFolder.above(f"file://{folder}/metadata/v1.metadata.json")

    assert found == TableFolder("file", str(folder.resolve()))
    assert [found.has(f"file://{folder}/{name}") for name in ("own", "link", "../secret")] == [True, False, False]
    assert found.has(f"{folder}/own")


@pytest.mark.parametrize(
    ("address", "of_store"),
    [
        ("s3://sales/p2/orders/data/a.parquet", True),
        ("s3://lake/p1/orders/data/a.parquet", False),
        ("gs://sales/p1/orders/data/a.parquet", False),
    ],
)
def test_the_store_is_read_where_a_catalog_vouches_for_it(address: str, of_store: bool) -> None:  # noqa: FBT001 - likewise
    """Else the folder alone."""
    region = {"s3.region": "eu-west-1"}
    without = frozenset({"lake"})
    with pytest.raises(InputError, match="is not in sales/p1/orders and is not read"):
        OwnFiles(region, METADATA, without=without).new_input(address)
    if of_store:
        OwnFiles(region, METADATA, whole_store=True, without=without).new_input(address)
    else:
        with pytest.raises(InputError, match="is not in sales/p1/orders and is not read"):
            OwnFiles(region, METADATA, whole_store=True, without=without).new_input(address)
