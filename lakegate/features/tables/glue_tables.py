"""The tables of a stack, in a database of Glue."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from lakegate.aws.settings import Settings
from lakegate.features.tables.iceberg_tables import IcebergTables
from lakegate.features.tables.keep_table import TableKind

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog


def glue_tables(settings: Settings) -> tuple[IcebergTables, ...]:
    """The tables of a stack, of each kind. No call to AWS is made here."""
    catalog, place = glue_catalog(settings), (settings.table_database, f"s3://{settings.lake}")
    return tuple(IcebergTables(catalog, *place, kind) for kind in TableKind)


def glue_catalog(settings: Settings) -> Callable[[], Catalog]:
    """The catalog of the account, made when it is first asked for."""
    own = {"s3.region": os.environ.get("AWS_REGION", "")}  # else Arrow asks each bucket for its own
    elsewhere = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    own |= {"s3.endpoint": elsewhere} if elsewhere else {}  # boto3 reads these variables, and Arrow does not

    @cache
    def catalog() -> Catalog:
        from pyiceberg.catalog.glue import GlueCatalog  # noqa: PLC0415 - 0.3 s, when the first table is asked for

        return GlueCatalog(settings.stack, **own)

    return catalog
