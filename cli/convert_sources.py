"""The formats that `lakegate convert --from` reads: each is one row of `READERS`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from typing import TYPE_CHECKING

from lakegate.contracts.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from lakegate.contracts.model.contract import Contract


class SchemaFormat(StrEnum):
    """A format of schemas."""

    JSON_SCHEMA = "json-schema"
    SQL = "sql"
    DBT = "dbt"
    AVRO = "avro"
    PARQUET = "parquet"
    ODF = "odf"


@dataclass(frozen=True, slots=True)
class FormatReader:
    """How a format is read."""

    function: str
    """Module and function: of a text (or a path), a name, and perhaps a dialect; it returns the contract and what it lacks."""
    most_bytes: int | None = None
    """Of a text, its bytes; None for a function that reads the file itself."""
    has_dialect: bool = False


READERS = {
    SchemaFormat.JSON_SCHEMA: FormatReader("lakegate.contracts.convert.from_json_schema:read", 1 << 20),
    SchemaFormat.SQL: FormatReader("lakegate.contracts.convert.from_sql:read", 1 << 20, has_dialect=True),
    SchemaFormat.DBT: FormatReader("lakegate.contracts.convert.from_dbt:read", 256 << 20, has_dialect=True),
    SchemaFormat.ODF: FormatReader("lakegate.contracts.convert.from_odf:read", 1 << 20),
    SchemaFormat.AVRO: FormatReader("lakegate.engine.profile.schema:avro"),
    SchemaFormat.PARQUET: FormatReader("lakegate.engine.profile.schema:parquet"),
}
"""The reader of each format."""


def imported(form: SchemaFormat, path: Path, name: str | None, dialect: str | None) -> tuple[Contract, tuple[str, ...]]:
    """The contract that a schema describes, and what of the schema it does not have. InputError where it cannot be read."""
    reader = READERS[form]
    module, _, function = reader.function.partition(":")
    options = {} if dialect is None else {"dialect": _dialect(dialect)}
    if options and not reader.has_dialect:
        raise InputError(f"--from {form.value} has no dialect")
    try:
        content = path if reader.most_bytes is None else _text(path, reader.most_bytes)
        found: tuple[Contract, tuple[str, ...]] = getattr(import_module(module), function)(
            content, name or path.name.partition(".")[0], **options
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
    from lakegate.contracts.compile.sql.dialects import DIALECTS  # noqa: PLC0415 - sqlglot, for this command alone
    from lakegate.contracts.words import listed  # noqa: PLC0415 - likewise

    found = DIALECTS.get(name.lower())
    if found is None:
        raise InputError(f"the dialect {name} is not known; known are {listed(sorted(set(DIALECTS.values())))}")
    return found
