"""CREATE TABLE of a dataset, for DuckDB and for Athena (the Glue catalog). Every name is quoted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakegate.contracts.compile.rules.nested_fields import shape_of
from lakegate.contracts.convert.promises import Converted, ExpressedPromises, own_name, part, unread_csv
from lakegate.contracts.errors import InputError
from lakegate.contracts.lake.routes import line_of
from lakegate.contracts.lake.versions import major
from lakegate.contracts.model.policy import PublishAs
from lakegate.contracts.model.storage import Format
from lakegate.contracts.model.types import LogicalType
from lakegate.contracts.plan.plan import Shape

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lakegate.contracts.model.contract import Contract, Dataset, Field

EXACT = "DECIMAL(38,18)"
BUCKET = "LAKE-BUCKET"
"""Stands for the lake bucket in the location of an Athena table."""
_SERDES = {
    Format.CSV: "ROW FORMAT SERDE 'org.apache.hadoop.hive.serde2.OpenCSVSerde'",
    Format.PARQUET: "STORED AS PARQUET",
    Format.ORC: "ROW FORMAT SERDE 'org.apache.hadoop.hive.ql.io.orc.OrcSerde'\n"
    "WITH SERDEPROPERTIES ('orc.column.index.access' = 'false')\nSTORED AS ORC",
    Format.AVRO: "STORED AS AVRO",
}
"""How the columns of each format are read: by their names, but for CSV. Of ORC, Athena otherwise reads them by position."""
_SLICES = {"offset": "bigint", "op": "int", "system_time": "timestamp", "event_time": "timestamp"}
"""The columns that every slice has before its own (`publishAs: parquet`)."""
_JSON = "ROW FORMAT SERDE 'org.openx.data.jsonserde.JsonSerDe'"


@dataclass(frozen=True, slots=True)
class DdlDialect:
    """How a system writes names and types."""

    quote: str
    types: Mapping[LogicalType, str]
    text: str
    list_of: str
    map_of: str
    record_of: str
    member: str
    """A name and a type."""

    def name(self, text: str) -> str:
        """A quoted name."""
        return f"{self.quote}{text.replace(self.quote, self.quote * 2)}{self.quote}"

    def type(self, each: Field) -> str:
        """The type of a field with its parts."""
        match shape_of(each):
            case Shape.LIST:
                return self.list_of.format(self._part(each, "[]"))
            case Shape.MAP:
                return self.map_of.format(self._part(each, ".key"), self._part(each, ".value"))
            case Shape.RECORD if each.parts:
                members = (self.member.format(self.name(own_name(one, each)), self.type(one)) for one in each.parts)
                return self.record_of.format(", ".join(members))
            case _:
                return self.types.get(each.type, self.text)

    def _part(self, each: Field, suffix: str) -> str:
        found = part(each, suffix)
        return self.text if found is None else self.type(found)


DUCKDB = DdlDialect(
    '"',
    {
        LogicalType.INTEGER: "BIGINT",
        LogicalType.NUMBER: "DOUBLE",
        LogicalType.DECIMAL: EXACT,
        LogicalType.BOOLEAN: "BOOLEAN",
        LogicalType.DATE: "DATE",
        LogicalType.TIME: "TIME",
        LogicalType.TIMESTAMP: "TIMESTAMP",
        LogicalType.BINARY: "BLOB",
    },
    "VARCHAR",
    "{}[]",
    "MAP({}, {})",
    "STRUCT({})",
    "{} {}",
)
ATHENA = DdlDialect(
    "`",
    {
        LogicalType.INTEGER: "bigint",
        LogicalType.NUMBER: "double",
        LogicalType.DECIMAL: EXACT.lower(),
        LogicalType.BOOLEAN: "boolean",
        LogicalType.DATE: "date",
        LogicalType.TIMESTAMP: "timestamp",
        LogicalType.BINARY: "binary",
    },
    "string",
    "array<{}>",
    "map<{}, {}>",
    "struct<{}>",
    "{}: {}",
)


def duckdb(_contract: Contract, dataset: Dataset) -> Converted:
    """A table with NOT NULL, UNIQUE and its primary key."""
    promises = ExpressedPromises(dataset)
    lines = [_column(promises, each) for each in dataset.fields]
    key = promises.key()
    if key:
        lines.append(f"PRIMARY KEY ({', '.join(map(DUCKDB.name, key))})")
    body = ",\n  ".join(lines)
    return Converted(f"CREATE TABLE {DUCKDB.name(dataset.name)} (\n  {body}\n);\n", promises.omitted())


def athena(contract: Contract, dataset: Dataset) -> Converted:
    """An external table over the accepted data of the line, whose columns Athena reads by name, as the gate does.

    Athena enforces no rule. InputError for CSV with a header, whose columns it could only read by position.
    """
    storage, is_sliced = dataset.storage.format, dataset.policy.publish_as is PublishAs.PARQUET
    form = Format.PARQUET if is_sliced else storage
    if form is Format.CSV and dataset.csv.header:
        raise InputError(
            f"Athena reads the columns of CSV by position, and the gate accepts {dataset.name} with its columns in any order: "
            "declare `publishAs: parquet` in the `lakegate` extension, and convert again"
        )
    common = [f"{ATHENA.name(name)} {kind}" for name, kind in _SLICES.items()] if is_sliced else []
    fields = [each for each in dataset.fields if form is not Format.PARQUET or each.type is not LogicalType.TIME]
    types = (ATHENA.text if form is Format.CSV else ATHENA.type(each) for each in fields)
    columns = [*common, *(f"{ATHENA.name(each.name)} {kind}" for each, kind in zip(fields, types, strict=True))]
    place = _literal(f"s3://{BUCKET}/accepted/{line_of(contract.id, dataset.name, major(contract.version))}/")
    lines = [
        f"CREATE EXTERNAL TABLE {ATHENA.name(dataset.name)} (",
        "  " + ",\n  ".join(columns),
        ")",
        _SERDES.get(form, _JSON),
        *(_csv_lines(dataset) if form is Format.CSV else []),
        f"LOCATION {place}",
    ]
    left_out = [f"{each.name} (left out: Athena reads no time of day)" for each in dataset.fields if each not in fields]
    unread = _unread(dataset) if form is Format.CSV else ()
    return Converted("\n".join(lines) + ";\n", (*left_out, *unread, *ExpressedPromises(dataset).omitted()))


def _column(promises: ExpressedPromises, each: Field) -> str:
    null = " NOT NULL" if promises.has(each.name, "required") else ""
    unique = " UNIQUE" if promises.has(each.name, "unique") else ""
    return f"{DUCKDB.name(each.name)} {DUCKDB.type(each)}{null}{unique}"


def _csv_lines(dataset: Dataset) -> list[str]:
    csv = dataset.csv
    return [f"WITH SERDEPROPERTIES ('separatorChar' = {_literal(csv.delimiter)}, 'quoteChar' = {_literal(csv.quote)})"]


def _unread(dataset: Dataset) -> Iterator[str]:
    """How the gate reads CSV and Athena does not: it reads every column as text of UTF-8, a record in each line."""
    if dataset.csv.encoding != "utf-8":
        yield "csv.encoding"
    if dataset.csv.multi_line:
        yield "csv.multiLine"
    yield from unread_csv(dataset, 0)


def _literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\t", "\\t") + "'"
