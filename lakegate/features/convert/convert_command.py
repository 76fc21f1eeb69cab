"""lakegate convert; table of formats."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Annotated

from lakegate.base.errors import InputError
from lakegate.base.text import printable as escaped
from lakegate.cli.click_commands import Argument, Option
from lakegate.cli.command_runner import CommandResult, command
from lakegate.cli.options import AsJson, DefinitionRoot
from lakegate.contract.contract_model import Contract, Dataset
from lakegate.contract.documents.document_tree import Document, Notes
from lakegate.contract.documents.imported_schema import Converted
from lakegate.library.contract_files import NO_DATASET, STANDARD_OUTPUT, writable, write_draft

# ---- Formats of `lakegate convert --from` ----


class SchemaFormat(StrEnum):
    """A format of schemas."""

    JSON_SCHEMA = "json-schema"
    SQL = "sql"
    DBT = "dbt"
    DBT_PUBLIC = "dbt-public"
    AVRO = "avro"
    PARQUET = "parquet"
    ODF = "odf"
    DATA_PRODUCT = "data-product"


@dataclass(frozen=True, slots=True)
class FormatReader:
    """The reader of a format."""

    function: str
    """Module and function: of a text (or a path), a name, and perhaps a dialect; it returns the contract and what it lacks."""
    most_bytes: int | None = None
    """Of a text, its bytes; None for a function that reads the file itself."""
    has_dialect: bool = False
    has_name: bool = False
    """Whether the schema has a name of its own, which counts before that of the file."""


READERS = {
    SchemaFormat.JSON_SCHEMA: FormatReader("lakegate.features.convert.json_schema:read", 1 << 20),
    SchemaFormat.SQL: FormatReader("lakegate.features.convert.sql_ddl:read", 1 << 20, has_dialect=True),
    SchemaFormat.DBT: FormatReader("lakegate.features.convert.dbt_manifest:read", 256 << 20, has_dialect=True),
    SchemaFormat.DBT_PUBLIC: FormatReader(
        "lakegate.features.convert.dbt_manifest:read_public", 256 << 20, has_dialect=True, has_name=True
    ),
    SchemaFormat.DATA_PRODUCT: FormatReader(
        "lakegate.features.convert.data_product_ports:read", 1 << 20, has_name=True
    ),
    SchemaFormat.ODF: FormatReader("lakegate.features.odf.exchange.odf_schema:read", 1 << 20),
    SchemaFormat.AVRO: FormatReader("lakegate.features.convert.schema_in_files:avro"),
    SchemaFormat.PARQUET: FormatReader("lakegate.features.convert.schema_in_files:parquet"),
}
"""The reader of each format."""


def import_schema(
    form: SchemaFormat, path: Path, name: str | None, dialect: str | None
) -> tuple[Contract, tuple[str, ...]]:
    """The contract that a schema describes, and what of the schema it does not have. InputError where it cannot be read."""
    reader = READERS[form]
    module, _, function = reader.function.partition(":")
    options = {} if dialect is None else {"dialect": _dialect(dialect)}
    if options and not reader.has_dialect:
        raise InputError(f"--from {form.value} has no dialect")
    try:
        content = path if reader.most_bytes is None else _text(path, reader.most_bytes)
        found: tuple[Contract, tuple[str, ...]] = getattr(import_module(module), function)(
            content, name or ("" if reader.has_name else path.name.partition(".")[0]), **options
        )
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    return found


def _text(path: Path, most: int) -> bytes:
    with path.open("rb") as file:
        text = file.read(most + 1)
    if len(text) > most:
        raise InputError(f"{path} has more than {most:,} bytes")
    return text


def _dialect(name: str) -> str:
    from lakegate.base.text import join_words  # noqa: PLC0415 - likewise
    from lakegate.sql.sql_parser import TABLE_DIALECTS  # noqa: PLC0415 - sqlglot, for this command alone

    dialect = TABLE_DIALECTS.get(name.lower())
    if dialect is None:
        raise InputError(
            f"the dialect {name} is not known; known are {join_words(sorted(set(TABLE_DIALECTS.values())))}"
        )
    return dialect


# ---- `lakegate convert` ----


class Target(StrEnum):
    """A format to convert to."""

    ODCS = "odcs"
    DCS = "dcs"
    JSON_SCHEMA = "json-schema"
    DUCKDB = "duckdb"
    ATHENA = "athena"
    POSTGRES = "postgres"
    SQLSERVER = "sqlserver"
    SNOWFLAKE = "snowflake"
    REDSHIFT = "redshift"
    BIGQUERY = "bigquery"
    DATABRICKS = "databricks"
    AVRO = "avro"
    DBT = "dbt"
    GREAT_EXPECTATIONS = "great-expectations"
    ODF = "odf"


WRITERS = {
    Target.JSON_SCHEMA: "lakegate.features.convert.json_schema:json_schema",
    Target.ATHENA: "lakegate.features.convert.athena_table:athena",
    **{
        entry: f"lakegate.features.convert.warehouse_tables:{entry.value}"
        for entry in (
            *(Target.DUCKDB, Target.POSTGRES, Target.SQLSERVER, Target.SNOWFLAKE),
            *(Target.REDSHIFT, Target.BIGQUERY, Target.DATABRICKS),
        )
    },
    Target.AVRO: "lakegate.features.convert.avro_schema:avro",
    Target.DBT: "lakegate.features.convert.dbt_manifest:dbt",
    Target.GREAT_EXPECTATIONS: "lakegate.features.convert.expectation_suite:great_expectations",
    Target.ODF: "lakegate.features.odf.exchange.odf_schema:odf",
}
"""Module and function of each format."""
WHOLE = (Target.ODCS, Target.DCS)
"""Formats of whole contracts."""
SOURCE = "The contract document (ODCS, DCS or DCM), or a schema in the format of --from."
DATASET = "Which dataset, where there are several; of a schema, also with --to odcs and dcs."
NAME = "The name of a contract that is made of a schema; by default that of the file."
DIALECT = (
    "The SQL dialect of --from sql or dbt, such as spark or postgres; by default what most of them have in common."
)
OUTPUT = "The file to write; by default standard output. No file is overwritten."


@dataclass(frozen=True, slots=True)
class ConvertedContract:
    """A contract in another format."""

    to: Target
    dataset: str | None
    file: str | None
    """None: it is printed."""
    text: str | None
    omitted: tuple[str, ...]
    """Parts that the format cannot express."""


@command
def convert(  # noqa: PLR0913, PLR0917 - the options of the command
    source: Annotated[Path, Argument(help=SOURCE)],
    to: Annotated[Target, Option(help="The format to write.")] = Target.ODCS,
    origin: Annotated[SchemaFormat | None, Option("--from", help="The format of a schema to read.")] = None,
    dataset: Annotated[str | None, Option(help=DATASET)] = None,
    name: Annotated[str | None, Option(help=NAME)] = None,
    dialect: Annotated[str | None, Option(help=DIALECT)] = None,
    output: Annotated[str, Option("--output", "-o", help=OUTPUT, show_default=False)] = STANDARD_OUTPUT,
    root: DefinitionRoot = None,
    as_json: AsJson = False,
) -> CommandResult[ConvertedContract]:
    """Write a contract as ODCS or DCS, a schema (JSON, Avro, ODF), a table of a database, a dbt source; or make one of a schema.

    What the written format cannot express is listed on standard error.

    Example: lakegate convert contracts/examples/orders.odcs.yaml --to json-schema
    """
    writable(output)
    if origin is None:
        if name is not None or dialect is not None:
            raise InputError("--name and --dialect belong to a schema: name its format with --from")
        conversion, chosen = _of_contract(source, to, dataset, root)
    else:
        conversion, chosen = _of_schema(origin, source, to, dataset, name, dialect)
    write_draft(output, conversion.text, as_json=as_json)
    if conversion.omitted and not as_json:
        lines = "".join(f"\n  {escaped(item)}" for item in conversion.omitted)
        sys.stderr.write(f"lakegate: {to.value} has no equivalent of {len(conversion.omitted)}:{lines}\n")
    is_printed = output == STANDARD_OUTPUT
    file, text = (None, conversion.text) if is_printed else (output, None)
    return CommandResult(ConvertedContract(to, chosen, file, text, tuple(conversion.omitted)))


def _of_contract(path: Path, to: Target, dataset: str | None, root: Path | None) -> tuple[Converted, str | None]:
    from lakegate.library.contract_files import ParentPlaces, load  # noqa: PLC0415 - yaml and more, for this command alone

    if to not in WHOLE:
        return _write_target(to, load(path, ParentPlaces(root=root)), dataset)
    if dataset is not None:
        raise InputError(f"--to {to.value} writes the whole contract: leave out --dataset")
    return _as_document(path, to, root), None


def _of_schema(  # noqa: PLR0913, PLR0917 - what a schema is read by
    origin: SchemaFormat, path: Path, to: Target, dataset: str | None, name: str | None, dialect: str | None
) -> tuple[Converted, str | None]:
    from dataclasses import replace  # noqa: PLC0415 - likewise

    from lakegate.features.convert.odcs_export import dcs_of_schema, odcs_of_schema  # noqa: PLC0415 - likewise

    contract, lost = import_schema(origin, path, name, dialect)
    if to is Target.ODCS and origin is SchemaFormat.DATA_PRODUCT and dataset is None:
        from lakegate.features.convert.data_product_ports import document  # noqa: PLC0415 - likewise

        return Converted(document(_text(path, 1 << 20), name or "").decode(), lost), None
    if to in WHOLE:
        chosen = None if dataset is None else _chosen(contract, dataset)
        whole = contract if chosen is None else replace(contract, datasets=(chosen,))
        conversion = odcs_of_schema(whole) if to is Target.ODCS else dcs_of_schema(whole)
        written = chosen.name if chosen else None
    else:
        conversion, written = _write_target(to, contract, dataset)
    return replace(conversion, omitted=(*lost, *conversion.omitted)), written


def _as_document(path: Path, to: Target, root: Path | None) -> Converted:
    """The document itself, without what its parents add: the written one inherits, too."""
    from lakegate.diff.compared_versions import read_version  # noqa: PLC0415 - likewise
    from lakegate.features.convert.odcs_export import dcs, odcs  # noqa: PLC0415 - likewise
    from lakegate.library.contract_files import read_text  # noqa: PLC0415 - likewise

    def alone(contract: Contract, _document: Document, _notes: Notes) -> Contract:
        return contract

    version = read_version(read_text(path, root), complete=alone)
    return odcs(version) if to is Target.ODCS else dcs(version)


def _write_target(to: Target, contract: Contract, dataset: str | None) -> tuple[Converted, str]:
    chosen = _chosen(contract, dataset)
    module, _, name = WRITERS[to].partition(":")
    conversion: Converted = getattr(import_module(module), name)(contract, chosen)
    return conversion, chosen.name


def _chosen(contract: Contract, name: str | None) -> Dataset:
    names = ", ".join(dataset.name for dataset in contract.datasets)
    found = contract.datasets[0] if name is None and len(contract.datasets) == 1 else contract.dataset(name or "")
    if found is None:
        if not names:
            raise InputError(NO_DATASET)
        raise InputError(f"choose a dataset of the contract with --dataset ({names})")
    return found
