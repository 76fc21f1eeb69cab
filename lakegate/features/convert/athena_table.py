"""CREATE EXTERNAL TABLE for Athena, over the accepted data of a dataset."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count as count_from

from lakegate.base.errors import InputError
from lakegate.contract.contract_model import Contract, Dataset, full_dataset_name
from lakegate.contract.delivery_policy import PublishAs
from lakegate.contract.documents.imported_schema import Converted, ExpressedRequirements, unread_csv
from lakegate.contract.field_paths import quoted_name
from lakegate.contract.file_formats import Format
from lakegate.contract.logical_types import LogicalType
from lakegate.contract.semantic_versions import major
from lakegate.features.convert.ddl_dialect import DdlDialect

BUCKET = "LAKE-BUCKET"
"""Stands for the lake bucket in the location of an Athena table."""
_SERDES = {
    Format.CSV: "ROW FORMAT SERDE 'org.apache.hadoop.hive.serde2.OpenCSVSerde'",
    Format.PARQUET: "STORED AS PARQUET",
    Format.ORC: "ROW FORMAT SERDE 'org.apache.hadoop.hive.ql.io.orc.OrcSerde'\n"
    "WITH SERDEPROPERTIES ('orc.column.index.access' = 'false')\nSTORED AS ORC",
    Format.AVRO: "STORED AS AVRO",
}
"""The readers of columns of each format: by name, but for CSV. Of ORC, Athena otherwise reads them by position."""
_SLICES = {"offset": "bigint", "op": "int", "system_time": "timestamp", "event_time": "timestamp"}
"""The columns that every slice has before its own (`publishAs: parquet`)."""
LONGEST_COMMENT = 255
"""The characters of a column's description in the Glue catalog."""
NOT_CURRENT = "recall, replaces (the table has every accepted row; with `publishAs: iceberg` the current ones)"
"""What no statement over a folder of files can leave out: rows of deliveries that were recalled or superseded."""
_JSON = "ROW FORMAT SERDE 'org.openx.data.jsonserde.JsonSerDe'"

ATHENA = DdlDialect(
    "`",
    {
        LogicalType.INTEGER: "bigint",
        LogicalType.NUMBER: "double",
        LogicalType.DECIMAL: "decimal(38,{0})",
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
    "glueType",
    comment=" COMMENT {}",
    escape="\\",
)


def athena(contract: Contract, dataset: Dataset) -> Converted:
    """An external table over the accepted data of the line, whose columns Athena reads by name, as the gate does.

    Where slices take rows of earlier ones back, a view beside it has the current rows. Athena enforces no rule.

    InputError for CSV with a header, whose columns it could only read by position, for JSON whose records are no lines, and for
    what is a table of its own already.
    """
    if dataset.policy.publish_as is PublishAs.ICEBERG:
        raise InputError(
            f"{dataset.name} is a table already (`publishAs: iceberg`): "
            f"`lakegate table {full_dataset_name(contract.id, dataset.name, major(contract.version))} --for athena` "
            "prints the statement that reads it"
        )
    storage, is_sliced = dataset.storage.format, dataset.policy.publish_as is PublishAs.PARQUET
    form = Format.PARQUET if is_sliced else storage
    if form is Format.CSV and dataset.csv.header:
        raise InputError(
            f"Athena reads the columns of CSV by position, and the gate accepts {dataset.name} with its columns in any order: "
            "declare `publishAs: iceberg` in the `lakegate` extension, and it is a table without a conversion"
        )
    if form is Format.JSON:
        raise InputError(
            f"Athena reads one JSON object per line, and a file of {dataset.name} is {dataset.storage.title}: "
            "declare `publishAs: iceberg` in the `lakegate` extension, and it is a table without a conversion"
        )
    common = [f"{ATHENA.name(name)} {kind}" for name, kind in _SLICES.items()] if is_sliced else []
    fields = [field for field in dataset.fields if form is not Format.PARQUET or field.type is not LogicalType.TIME]
    requirements = ExpressedRequirements.in_contract(contract, dataset)
    types = [ATHENA.text if form is Format.CSV else ATHENA.type(field, requirements) for field in fields]
    described = [field for field in fields if field.description and len(field.description) <= LONGEST_COMMENT]
    comments = {field.name: ATHENA.comment.format(ATHENA.literal(field.description or "")) for field in described}
    own = (f"{ATHENA.name(field.own_name)} {kind}" for field, kind in zip(fields, types, strict=True))
    columns = [*common, *(f"{text}{comments.get(field.name, '')}" for field, text in zip(fields, own, strict=True))]
    silent = [f"{field.name} (its description)" for field in fields if field.description and field not in described]
    place = _literal(f"s3://{BUCKET}/accepted/{full_dataset_name(contract.id, dataset.name, major(contract.version))}/")
    lines = [
        f"CREATE EXTERNAL TABLE {ATHENA.name(dataset.name)} (",
        "  " + ",\n  ".join(columns),
        ")",
        _SERDES.get(form, _JSON),
        *(_csv_lines(dataset) if form is Format.CSV else []),
        f"LOCATION {place}",
    ]
    left_out = [
        f"{field.name} (left out: Athena reads no time of day)" for field in dataset.fields if field not in fields
    ]
    unread = _unread(dataset) if form is Format.CSV else ()
    lost = () if form is Format.CSV else ATHENA.lost(fields, requirements)
    view = _current(dataset, [field.own_name for field in fields]) if is_sliced else ""
    return Converted(
        "\n".join(lines) + ";\n" + view,
        (*left_out, *lost, *silent, *ATHENA.undescribed(fields), *unread, *requirements.omitted(), NOT_CURRENT),
    )


def _current(dataset: Dataset, names: Sequence[str]) -> str:
    """A view of the last row of each key, unless that is retracted; empty where slices take no row back."""
    if not dataset.policy.merge_strategy.corrects:
        return ""
    paths = next((rule.fields for rule in dataset.rules if rule.kind == "primaryKey"), ())
    keys = [quoted_name(found.own_name) for found in map(dataset.field, paths) if found is not None]
    columns, table = ", ".join(map(quoted_name, names)), quoted_name(dataset.name)
    number = next(
        name for name in (f"nth{'_' * count}" for count in count_from(0)) if name not in map(str.lower, names)
    )
    return (
        f"\nCREATE VIEW {quoted_name(f'{dataset.name}_current')} AS\n"  # noqa: S608 - every name is quoted
        f"SELECT {columns} FROM (\n"
        f'  SELECT *, row_number() OVER (PARTITION BY {", ".join(keys)} ORDER BY "offset" DESC) AS {number} FROM {table}\n'
        f") WHERE {number} = 1 AND op IN (0, 3);\n"
    )


def _csv_lines(dataset: Dataset) -> list[str]:
    csv = dataset.csv
    return [f"WITH SERDEPROPERTIES ('separatorChar' = {_literal(csv.delimiter)}, 'quoteChar' = {_literal(csv.quote)})"]


def _unread(dataset: Dataset) -> Iterator[str]:
    """The parts of CSV that the gate reads and Athena does not: it reads every column as text of UTF-8, a record in each line."""
    if dataset.csv.encoding != "utf-8":
        yield "csv.encoding"
    if dataset.csv.multi_line:
        yield "csv.multiLine"
    yield from unread_csv(dataset, 0)


def _literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\t", "\\t") + "'"
