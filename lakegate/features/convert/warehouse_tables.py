"""CREATE TABLE for warehouses and databases, with the types that a contract names for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from lakegate.contract.contract_model import Contract, Dataset
from lakegate.contract.documents.imported_schema import Converted, ExpressedRequirements
from lakegate.contract.field_paths import column_name
from lakegate.contract.logical_types import LogicalType
from lakegate.features.convert.ddl_dialect import DUCKDB, DdlDialect

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

    def __call__(self, contract: Contract, dataset: Dataset) -> Converted:
        """The table of a dataset."""
        dialect, requirements = self.dialect, ExpressedRequirements.in_contract(contract, dataset)
        lines = []
        for field in dataset.fields:
            null = " NOT NULL" if requirements.has(field.name, "required") else ""
            unique = " UNIQUE" if self.has_keys and requirements.has(field.name, "unique") else ""
            comment = dialect.comment.format(dialect.literal(field.description)) if field.description else ""
            lines.append(f"{dialect.name(field.own_name)} {dialect.type(field, requirements)}{null}{unique}{comment}")
        if self.has_keys and (key := requirements.key()):
            lines.append(f"PRIMARY KEY ({', '.join(dialect.name(column_name(entry)) for entry in key)})")
        body = ",\n  ".join(lines)
        text = f"CREATE TABLE {dialect.name(dataset.name)} (\n  {body}\n);\n"
        text += "".join(f"{entry}\n" for entry in self._comments(dataset))
        lost = (*dialect.lost(dataset.fields, requirements), *dialect.undescribed(dataset.fields))
        of_table = ("the description of the table",) if dataset.description and not dialect.has_comments else ()
        return Converted(text, (*lost, *of_table, *requirements.omitted()))

    def _comments(self, dataset: Dataset) -> Iterator[str]:
        """The statements that describe the table and its columns, where these are statements."""
        dialect, table = self.dialect, self.dialect.name(dataset.name)
        if dialect.has_comments and dataset.description:
            yield f"COMMENT ON TABLE {table} IS {dialect.literal(dataset.description)};"
        for field in dataset.fields if dialect.has_comments else ():
            if field.description:
                yield f"COMMENT ON COLUMN {table}.{dialect.name(field.own_name)} IS {dialect.literal(field.description)};"


_WIDTHS = {16: "SMALLINT", 32: "INTEGER"}
_EXACT = "DECIMAL({0},{1})"


def _of_scalars(types: Mapping[LogicalType, str], text: str, parts: str, **finer: Any) -> DdlDialect:  # noqa: ANN401 - of the class
    """A system that has one type for all values with parts; `finer` are its types of digits, offsets, bits and lengths."""
    return DdlDialect('"', {**_COMMON, **types}, text, parts, parts, parts, "", digits=_EXACT, **finer)


duckdb = Warehouse(DUCKDB, has_keys=True)
"""Values with parts have their types."""
postgres = Warehouse(
    _of_scalars(
        {LogicalType.BINARY: "BYTEA"},
        "TEXT",
        "JSONB",
        whole=_WIDTHS,
        moments={True: "TIMESTAMPTZ", False: "TIMESTAMP"},
        sized="VARCHAR({0})",
        longest=10_485_760,
        has_comments=True,
    ),
    has_keys=True,
)
"""Values with parts are JSONB."""
redshift = Warehouse(
    _of_scalars(
        {LogicalType.BINARY: "VARBYTE"},
        "VARCHAR(65535)",
        "SUPER",
        native="redshiftType",
        whole=_WIDTHS,
        moments={True: "TIMESTAMPTZ", False: "TIMESTAMP"},
        sized="VARCHAR({0})",
        longest=65_535,
        bytes_each=4,
        has_comments=True,
        escape="\\",
    ),
    has_keys=True,
)
"""Values with parts are SUPER; a length counts bytes of UTF-8."""
snowflake = Warehouse(
    _of_scalars(
        {LogicalType.TIMESTAMP: "TIMESTAMP_NTZ", LogicalType.BINARY: "BINARY"},
        "VARCHAR",
        "VARIANT",
        native="snowflakeType",
        moments={True: "TIMESTAMP_TZ", False: "TIMESTAMP_NTZ"},
        sized="VARCHAR({0})",
        longest=16_777_216,
        comment=" COMMENT {}",
        escape="\\",
    ),
    has_keys=True,
)
"""Values with parts are VARIANT; every type of whole numbers is the same."""
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
        native="sqlserverType",
        moments={True: "DATETIMEOFFSET", False: "DATETIME2"},
        sized="NVARCHAR({0})",
        longest=4_000,
        whole={16: "SMALLINT", 32: "INT"},
    )
)
"""No text without a length can be a key; values with parts are texts; a length counts units of UTF-16."""
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
        digits="BIGNUMERIC({0},{1})",
        small_digits="NUMERIC({0},{1})",
        moments={True: "TIMESTAMP", False: "DATETIME"},
        comment=" OPTIONS(description={})",
        escape="\\",
        sized="STRING({0})",
        longest=10_485_760,
    )
)
"""Maps are JSON; there is one type of whole numbers."""
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
        comment=" COMMENT {}",
        escape="\\",
        digits=_EXACT,
        moments={True: "TIMESTAMP", False: "TIMESTAMP_NTZ"},
        whole={16: "SMALLINT", 32: "INT"},
        sized="VARCHAR({0})",
        longest=65_535,
    )
)
"""Times of day are texts."""
