"""CREATE TABLE for warehouses and databases, with the types that a contract names for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lakegate.contract.contract_model import Contract, Dataset
from lakegate.contract.documents.imported_schema import Converted, ExpressedPromises
from lakegate.contract.logical_types import LogicalType
from lakegate.features.convert.sql_ddl import DdlDialect

_COMMON = {
    LogicalType.INTEGER: "BIGINT",
    LogicalType.NUMBER: "DOUBLE PRECISION",
    LogicalType.DECIMAL: "DECIMAL(38,{0})",
    LogicalType.BOOLEAN: "BOOLEAN",
    LogicalType.DATE: "DATE",
    LogicalType.TIME: "TIME",
    LogicalType.TIMESTAMP: "TIMESTAMP",
}


@dataclass(frozen=True, slots=True)
class Warehouse:
    """A system with its types, and the constraints that its tables may declare."""

    dialect: DdlDialect
    has_keys: bool = False
    """Whether tables declare `UNIQUE` and `PRIMARY KEY` of columns of any type."""


def _of_scalars(types: Mapping[LogicalType, str], text: str, parts: str, native: str = "") -> DdlDialect:
    """A system that has one type for all values with parts."""
    return DdlDialect('"', {**_COMMON, **types}, text, parts, parts, parts, "", native)


POSTGRES = Warehouse(_of_scalars({LogicalType.BINARY: "BYTEA"}, "TEXT", "JSONB"), has_keys=True)
REDSHIFT = Warehouse(
    _of_scalars({LogicalType.BINARY: "VARBYTE"}, "VARCHAR(65535)", "SUPER", "redshiftType"), has_keys=True
)
SNOWFLAKE = Warehouse(
    _of_scalars(
        {LogicalType.TIMESTAMP: "TIMESTAMP_NTZ", LogicalType.BINARY: "BINARY"},
        "VARCHAR",
        "VARIANT",
        "snowflakeType",
    ),
    has_keys=True,
)
SQLSERVER = Warehouse(
    _of_scalars(
        {
            LogicalType.NUMBER: "FLOAT(53)",
            LogicalType.BOOLEAN: "BIT",
            LogicalType.TIMESTAMP: "DATETIME2",
            LogicalType.BINARY: "VARBINARY(MAX)",
        },
        "NVARCHAR(MAX)",
        "NVARCHAR(MAX)",
        "sqlserverType",
    )
)
BIGQUERY = Warehouse(
    DdlDialect(
        "`",
        _COMMON
        | {
            LogicalType.INTEGER: "INT64",
            LogicalType.NUMBER: "FLOAT64",
            LogicalType.DECIMAL: "BIGNUMERIC(38,{0})",
            LogicalType.BOOLEAN: "BOOL",
            LogicalType.BINARY: "BYTES",
        },
        "STRING",
        "ARRAY<{}>",
        "JSON",
        "STRUCT<{}>",
        "{} {}",
        "bigqueryType",
        is_escaped=True,
    )
)
DATABRICKS = Warehouse(
    DdlDialect(
        "`",
        _COMMON | {LogicalType.NUMBER: "DOUBLE", LogicalType.TIME: "STRING", LogicalType.BINARY: "BINARY"},
        "STRING",
        "ARRAY<{}>",
        "MAP<{}, {}>",
        "STRUCT<{}>",
        "{}: {}",
        "databricksType",
    )
)


def postgres(_contract: Contract, dataset: Dataset) -> Converted:
    """A table of PostgreSQL; values with parts are JSONB."""
    return _table(dataset, POSTGRES)


def redshift(_contract: Contract, dataset: Dataset) -> Converted:
    """A table of Redshift; values with parts are SUPER."""
    return _table(dataset, REDSHIFT)


def snowflake(_contract: Contract, dataset: Dataset) -> Converted:
    """A table of Snowflake; values with parts are VARIANT."""
    return _table(dataset, SNOWFLAKE)


def sqlserver(_contract: Contract, dataset: Dataset) -> Converted:
    """A table of SQL Server, where no text without a length can be a key; values with parts are texts."""
    return _table(dataset, SQLSERVER)


def bigquery(_contract: Contract, dataset: Dataset) -> Converted:
    """A table of BigQuery; maps are JSON."""
    return _table(dataset, BIGQUERY)


def databricks(_contract: Contract, dataset: Dataset) -> Converted:
    """A table of Databricks; times of day are texts."""
    return _table(dataset, DATABRICKS)


def _table(dataset: Dataset, system: Warehouse) -> Converted:
    dialect, promises = system.dialect, ExpressedPromises(dataset)
    lines = []
    for each in dataset.fields:
        null = " NOT NULL" if promises.has(each.name, "required") else ""
        unique = " UNIQUE" if system.has_keys and promises.has(each.name, "unique") else ""
        lines.append(f"{dialect.name(each.name)} {dialect.type(each)}{null}{unique}")
    if system.has_keys and (key := promises.key()):
        lines.append(f"PRIMARY KEY ({', '.join(map(dialect.name, key))})")
    body = ",\n  ".join(lines)
    text = f"CREATE TABLE {dialect.name(dataset.name)} (\n  {body}\n);\n"
    return Converted(text, (*dialect.unread(dataset.fields), *promises.omitted()))
