"""Tables of PostgreSQL, read by ADBC into Parquet files: batch by batch, as `COPY` sends them.

Address, database and schema are the contract's; user, password and settings of TLS are those of libpq (`PGUSER`, `PGPASSWORD`,
`PGPASSFILE`, `PGSSLMODE`, …), never part of a contract, of a message or of a result.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from adbc_driver_manager import Error
from adbc_driver_postgresql import dbapi
from pyarrow.parquet import ParquetWriter

from lakegate.base.errors import InputError, SetUpError
from lakegate.base.text import printable
from lakegate.contract.contract_model import Contract, Dataset, Server
from lakegate.local_check.contract_servers import DataOnServer
from lakegate.local_check.data_files import DataFile
from lakegate.local_check.table_data import PARQUET

CONNECT_SECONDS: Final = 10
PORT: Final = 5432
HOST: Final = re.compile(r"[0-9A-Za-z:][0-9A-Za-z._:-]{0,252}")
"""A name or an address: no path of a socket, no list of hosts."""
DATABASE: Final = re.compile(r"[^=/:\x00-\x1f]{1,63}")
WEAK: Final = "!password,!md5"
"""A server that the contract chose does not get the password, or what is as good, for the asking. `PGREQUIREAUTH` is stronger."""
BATCH_BYTES: Final = 4 << 20
MOST_COLUMNS: Final = 1600
"""PostgreSQL's own limit."""
CATALOG: Final = """
SELECT a.attname::text, b.typname::text, CASE t.typtype WHEN 'd' THEN t.typtypmod ELSE a.atttypmod END
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid
JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
JOIN pg_catalog.pg_type b ON b.oid = CASE t.typtype WHEN 'd' THEN t.typbasetype ELSE t.oid END
WHERE n.nspname = $1 AND c.relname = $2 AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum
"""
"""The columns of a table, with the type below a domain and what was declared of it."""
NATIVE: Final = frozenset(
    {
        "bool",
        "int2",
        "int4",
        "int8",
        "float4",
        "float8",
        "text",
        "varchar",
        "bytea",
        "date",
        "time",
        "timestamp",
        "timestamptz",
    }
)
"""Types that Arrow has, too, alone and in arrays; all others but `numeric` are read as PostgreSQL writes them as text."""
NUMERIC: Final = "numeric"
MODIFIER_OFFSET, SCALE_BITS, SCALE_MASK, SCALE_SIGN = 4, 16, 0x7FF, 0x400
"""Bits of the number that `numeric(p, s)` is packed into."""
LONGEST_ERROR: Final = 300
"""Characters of an error."""
MOST_DIGITS: Final = 38
UNDECLARED: Final = (38, 18)
"""Digits, and those behind the point, of `numeric` alone: as many as of a field `decimal` of a contract."""


def postgres(
    server: Server, contract: Contract, datasets: Sequence[Dataset], folder: Path
) -> Mapping[str, DataOnServer]:
    """A row of the extension point `servers`: each dataset is a table or view of its schema."""
    del contract
    address = _address(server)
    schema = _setting(server, "schema") or "public"
    servers: dict[str, DataOnServer] = {}
    with _errors(server), closing(dbapi.connect(address, autocommit=True)) as connection:
        for number, dataset in enumerate(datasets):
            table = dataset.physical or dataset.name
            file = folder / f"server-{number}.parquet"
            _write(connection, schema, table, file)
            servers[dataset.name] = DataOnServer(
                [DataFile(str(file), label=f"{server.name}: {schema}.{table}")], PARQUET
            )
    return servers


def _write(connection: Any, schema: str, table: str, file: Path) -> None:  # noqa: ANN401 - it ships no types
    """The rows of a table as a Parquet file."""
    with closing(connection.cursor()) as cursor:
        cursor.execute(CATALOG, (schema, table))
        columns = {name: (kind, modifier) for name, kind, modifier in cursor.fetchmany(MOST_COLUMNS)}
    if not columns:
        raise InputError(f"there is no table {schema}.{table}, or the user may not see it")
    with closing(connection.cursor()) as cursor:
        cursor.adbc_statement.set_options(**{"adbc.postgresql.batch_size_hint_bytes": str(BATCH_BYTES)})
        cursor.execute(query_of(schema, table, columns))
        reader = cursor.fetch_record_batch()
        numbers = {name: decimal_of(modifier) for name, (kind, modifier) in columns.items() if kind == NUMERIC}
        target = pa.schema([pa.field(each.name, numbers.get(each.name, each.type)) for each in reader.schema])
        with ParquetWriter(file, target) as writer:
            for batch in reader:
                writer.write_batch(_converted(batch, target, numbers))


def query_of(schema: str, table: str, columns: Mapping[str, tuple[str, int]]) -> str:
    """The query of all rows. Names of the contract and of the catalog are quoted; the contract has no other part in it."""
    return f"SELECT {', '.join(_expressions(columns))} FROM {_quoted(schema)}.{_quoted(table)}"  # noqa: S608 - quoted


def _expressions(columns: Mapping[str, tuple[str, int]]) -> Iterator[str]:
    for name, (kind, _) in columns.items():
        column = _quoted(name)
        if kind == NUMERIC or kind.removeprefix("_") in NATIVE:
            yield column
        else:
            yield f"{column}::text{'[]' * kind.startswith('_')} AS {column}"


def decimal_of(modifier: int) -> pa.DataType:
    """The type of a column `numeric`, as it was declared. -1: without digits."""
    if modifier < MODIFIER_OFFSET:
        return pa.decimal128(*UNDECLARED)
    packed = modifier - MODIFIER_OFFSET
    precision, scale = packed >> SCALE_BITS, ((packed & SCALE_MASK) ^ SCALE_SIGN) - SCALE_SIGN
    digits = max(precision, scale, precision - scale)
    return pa.decimal128(digits, max(scale, 0)) if digits <= MOST_DIGITS else pa.decimal128(*UNDECLARED)


def _converted(batch: pa.RecordBatch, target: pa.Schema, numbers: Mapping[str, pa.DataType]) -> pa.RecordBatch:
    """A batch with its decimals, which ADBC has as texts. InputError for NaN, infinities, and what has more digits."""
    columns = []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if name not in numbers:
            columns.append(column)
            continue
        try:
            columns.append(column.storage.cast(numbers[name]))
        except pa.ArrowInvalid:
            what = f"that {numbers[name]} does not have (NaN, an infinity, or more digits)"
            raise InputError(f"the column {printable(name)} has a number {what}: read it through a view") from None
    return pa.RecordBatch.from_arrays(columns, schema=target)


def _quoted(name: str) -> str:
    """A name of SQL. InputError for one that no table can have."""
    if not name or "\0" in name:
        raise InputError("a table has a name, without the character NUL")
    return '"' + name.replace('"', '""') + '"'


def _address(server: Server) -> str:
    """The address of the server, as libpq reads it. InputError for what is no name, and for what would be more than a name."""
    host, port, database = _setting(server, "host"), server.settings.get("port", PORT), _setting(server, "database")
    if not host or not HOST.fullmatch(host):
        raise InputError(f"the server {server.name} has no `host` that is a name or an address")
    if not database or not DATABASE.fullmatch(database):
        raise InputError(f"the server {server.name} has no `database` that is a name")
    if not re.fullmatch(r"[0-9]{1,5}", str(port)):
        raise InputError(f"the server {server.name} has a `port` that is no number")
    parts = {
        "host": host,
        "port": str(port),
        "dbname": database,
        "connect_timeout": str(CONNECT_SECONDS),
        "application_name": "lakegate",
        "options": "-c default_transaction_read_only=on",
    }
    if not os.environ.get("PGREQUIREAUTH"):
        parts["require_auth"] = WEAK
    return " ".join(f"{name}={_literal(value)}" for name, value in parts.items())


def _literal(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _setting(server: Server, key: str) -> str:
    setting = server.settings.get(key, "")
    return setting if isinstance(setting, str) else ""


@contextmanager
def _errors(server: Server) -> Iterator[None]:
    """Turn errors of the server and of its driver into a sentence: the first line, without the query."""
    try:
        yield
    except Error as error:
        state = getattr(error, "sqlstate", None) or ""
        words = printable(str(error).partition("\n")[0])[:LONGEST_ERROR]
        if state.startswith("42501"):
            raise InputError(f"the server {server.name} refuses to read the table: {words}") from None
        raise SetUpError(f"the server {server.name} cannot be read: {words}") from None
