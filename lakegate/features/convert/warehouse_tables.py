"""CREATE TABLE for warehouses and databases, with the types that a contract names for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lakegate.contract.contract_model import Contract, Dataset
from lakegate.contract.documents.imported_schema import Converted, ExpressedRequirements
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

    def __call__(self, _contract: Contract, dataset: Dataset) -> Converted:
        """The table of a dataset."""
        dialect, requirements = self.dialect, ExpressedRequirements(dataset)
        lines = []
        for each in dataset.fields:
            null = " NOT NULL" if requirements.has(each.name, "required") else ""
            unique = " UNIQUE" if self.has_keys and requirements.has(each.name, "unique") else ""
            lines.append(f"{dialect.name(each.name)} {dialect.type(each)}{null}{unique}")
        if self.has_keys and (key := requirements.key()):
            lines.append(f"PRIMARY KEY ({', '.join(map(dialect.name, key))})")
        body = ",\n  ".join(lines)
        text = f"CREATE TABLE {dialect.name(dataset.name)} (\n  {body}\n);\n"
        return Converted(text, (*dialect.unread(dataset.fields), *requirements.omitted()))


def _of_scalars(types: Mapping[LogicalType, str], text: str, parts: str, native: str = "") -> DdlDialect:
    """A system that has one type for all values with parts."""
    return DdlDialect('"', {**_COMMON, **types}, text, parts, parts, parts, "", native)


postgres = Warehouse(_of_scalars({LogicalType.BINARY: "BYTEA"}, "TEXT", "JSONB"), has_keys=True)
"""Values with parts are JSONB."""
redshift = Warehouse(
    _of_scalars({LogicalType.BINARY: "VARBYTE"}, "VARCHAR(65535)", "SUPER", "redshiftType"), has_keys=True
)
"""Values with parts are SUPER."""
snowflake = Warehouse(
    _of_scalars(
        {LogicalType.TIMESTAMP: "TIMESTAMP_NTZ", LogicalType.BINARY: "BINARY"},
        "VARCHAR",
        "VARIANT",
        "snowflakeType",
    ),
    has_keys=True,
)
"""Values with parts are VARIANT."""
sqlserver = Warehouse(
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
"""No text without a length can be a key; values with parts are texts."""
bigquery = Warehouse(
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
"""Maps are JSON."""
databricks = Warehouse(
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
"""Times of day are texts."""
