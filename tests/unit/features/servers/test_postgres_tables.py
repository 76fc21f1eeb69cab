"""Tables of PostgreSQL: what is sent to a server, and what is made of what it sends. The real one: `test_postgres.py`."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakegate.base.errors import InputError, SetUpError
from lakegate.contract.contract_model import Server
from lakegate.features.servers import postgres_tables
from lakegate.features.servers.postgres_tables import decimal_of, postgres, query_of
from lakegate.library.contract_files import load

DOCUMENT = """apiVersion: v3.1.0
kind: DataContract
id: shop
name: Shop
version: 1.0.0
status: active
servers:
- {server: prod, type: postgres, host: db.example, port: 5432, database: shop, schema: sales}
schema:
- name: orders
  physicalName: TABLE
  properties:
  - {name: id, logicalType: string}
"""
HOSTILE = """x"; DROP TABLE a; --"""


class Cursor:
    """A cursor that answers the catalog, then the rows."""

    def __init__(self, columns: list[tuple[str, str, int]], batches: list[pa.RecordBatch]) -> None:
        self.columns, self.batches, self.asked = columns, batches, []
        self.adbc_statement = self

    def set_options(self, **_: str) -> None: ...

    def close(self) -> None: ...

    def execute(self, query: str, values: tuple[str, ...] = ()) -> None:
        self.asked.append((query, values))

    def fetchmany(self, _: int) -> list[tuple[str, str, int]]:
        return self.columns

    def fetch_record_batch(self) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(self.batches[0].schema, self.batches)


class Connection:
    def __init__(self, cursor: Cursor) -> None:
        self.made, self.addresses = cursor, []

    def connect(self, address: str, *, autocommit: bool) -> Connection:
        assert autocommit
        self.addresses.append(address)
        return self

    def cursor(self) -> Cursor:
        return self.made

    def close(self) -> None: ...


def server(**settings: object) -> Server:
    given = {"host": "db.example", "port": 5432, "database": "shop", "schema": "sales", **settings}
    return Server("prod", "postgres", given, load_of("t").about.servers[0].origin)


def load_of(table: str, folder: Path | None = None) -> Any:
    from tempfile import mkdtemp  # noqa: PLC0415 - for the document alone

    place = Path(folder or mkdtemp()) / "shop.odcs.yaml"
    place.write_text(DOCUMENT.replace("TABLE", repr(table)))
    return load(place)


def opaque(values: list[str | None]) -> pa.Array:
    """Numbers as ADBC has them."""
    kind = pa.opaque(pa.string(), "numeric", "PostgreSQL")
    return pa.ExtensionArray.from_storage(kind, pa.array(values, pa.string()))


def read(
    monkeypatch: pytest.MonkeyPatch, folder: Path, cursor: Cursor, table: str = "orders"
) -> tuple[Connection, pa.Table]:
    connection = Connection(cursor)
    monkeypatch.setattr(postgres_tables, "dbapi", connection)
    document = load_of(table, folder)
    found = postgres(server(), document, document.datasets, folder)
    (file,) = found["orders"].files
    assert file.shown == f"prod: sales.{table}"
    return connection, pq.read_table(file.name)


def test_rows_are_written_batch_by_batch_with_their_types(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Decimals as they are declared; columns in their order, names in any characters."""
    batches = [
        pa.RecordBatch.from_arrays([pa.array([each]), opaque([number])], ["id", 'a"b'])
        for each, number in ((1, "12.34"), (2, None))
    ]
    cursor = Cursor([("id", "int8", -1), ('a"b', "numeric", (10 << 16) + 2 + 4)], batches)
    _, table = read(monkeypatch, tmp_path, cursor)

    assert table.to_pydict() == {"id": [1, 2], 'a"b': [Decimal("12.34"), None]}
    assert table.schema.field('a"b').type == pa.decimal128(10, 2)
    assert cursor.asked[0][1] == ("sales", "orders")
    assert cursor.asked[1] == ('SELECT "id", "a""b" FROM "sales"."orders"', ())


def test_a_name_of_the_contract_is_no_sql(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It is a value for the catalog, and quoted in the query."""
    batch = pa.RecordBatch.from_arrays([pa.array([1])], ["id"])
    cursor = Cursor([("id", "int8", -1)], [batch])
    read(monkeypatch, tmp_path, cursor, HOSTILE)

    assert cursor.asked[0] == (postgres_tables.CATALOG, ("sales", HOSTILE))
    assert cursor.asked[1][0] == """SELECT "id" FROM "sales"."x""; DROP TABLE a; --\""""


@pytest.mark.parametrize(
    "changes",
    [
        {"host": "a' host='b"},
        {"host": "a,b"},
        {"host": "/var/run/postgresql"},
        {"host": "@abstract"},
        {"host": ""},
        {"host": 5},
        {"database": "host=evil.example"},
        {"database": "postgresql://evil.example/x"},
        {"database": ""},
        {"database": "a" * 64},
        {"port": "5432' host='b"},
        {"port": 123456},
    ],
)
def test_a_hostile_address_is_refused(changes: dict[str, object], tmp_path: Path) -> None:
    """It is one host, one port and one database, and nothing that libpq reads as more."""
    document = load_of("t", tmp_path)
    with pytest.raises(InputError, match="the server prod has"):
        postgres(server(**changes), document, document.datasets, tmp_path)


def test_the_address_has_no_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Libpq takes them from the environment; a quote in a name stays within its value; the session only reads."""
    monkeypatch.setenv("PGPASSWORD", "secret-word")
    monkeypatch.delenv("PGREQUIREAUTH", raising=False)
    connection = Connection(Cursor([], []))
    monkeypatch.setattr(postgres_tables, "dbapi", connection)
    document = load_of("t", tmp_path)
    for setting in ("", "scram-sha-256"):
        monkeypatch.setenv("PGREQUIREAUTH", setting)
        with pytest.raises(InputError, match=r"there is no table sales\.t"):
            postgres(server(database="it's"), document, document.datasets, tmp_path)
    weak, strict = connection.addresses

    assert weak == (
        r"host='db.example' port='5432' dbname='it\'s' connect_timeout='10' application_name='lakegate' "
        "options='-c default_transaction_read_only=on' require_auth='!password,!md5'"
    )
    assert strict == weak.removesuffix(" require_auth='!password,!md5'")


def test_types_that_arrow_lacks_are_texts() -> None:
    """As PostgreSQL writes them; arrays of them, too."""
    columns = {
        "a": ("uuid", -1),
        "b": ("_int4", -1),
        "c": ("_inet", -1),
        "d": ("numeric", -1),
        "e": ("bpchar", 7),
        "f": ("mood", -1),
    }

    assert query_of("s", "t", columns) == (
        'SELECT "a"::text AS "a", "b", "c"::text[] AS "c", "d", "e"::text AS "e", "f"::text AS "f" FROM "s"."t"'
    )


@pytest.mark.parametrize(
    ("modifier", "kind"),
    [
        (-1, pa.decimal128(38, 18)),
        ((10 << 16) + 2 + 4, pa.decimal128(10, 2)),
        ((5 << 16) + (-2 & 0x7FF) + 4, pa.decimal128(7, 0)),
        ((3 << 16) + 5 + 4, pa.decimal128(5, 5)),
        ((1000 << 16) + 4, pa.decimal128(38, 18)),
    ],
)
def test_digits_are_those_of_the_column(modifier: int, kind: pa.DataType) -> None:
    """`numeric(5, -2)` has whole hundreds; more than 38 digits are read as far as they fit."""
    assert decimal_of(modifier) == kind


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1" * 39])
def test_a_number_that_no_decimal_is_ends_the_check(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, number: str
) -> None:
    """It is not left out, and not changed; the column is named."""
    batch = pa.RecordBatch.from_arrays([opaque([number])], ["price"])
    with pytest.raises(InputError, match=r"the column price has a number that decimal128\(38, 18\) does not have"):
        read(monkeypatch, tmp_path, Cursor([("price", "numeric", -1)], [batch]))


@pytest.fixture
def thief() -> Iterator[tuple[int, list[bytes]]]:
    """A server that asks for the password as it is, and keeps what it gets."""
    got: list[bytes] = []
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                client, _ = listening.accept()
            except OSError:
                return
            with client:
                client.settimeout(5)
                while (begun := client.recv(1_000)) and struct.unpack("!i", begun[4:8])[0] in {80877103, 80877104}:
                    client.sendall(b"N")
                client.sendall(b"R" + struct.pack("!ii", 8, 3))
                got.append(client.recv(1_000))

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield listening.getsockname()[1], got
    listening.shutdown(socket.SHUT_RDWR)
    listening.close()
    thread.join()


def test_a_server_that_asks_for_the_password_does_not_get_it(
    thief: tuple[int, list[bytes]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The contract chose it. Neither it nor the message has the password."""
    for name in ("PGREQUIREAUTH", "PGHOSTADDR", "PGSERVICE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PGPASSWORD", "secret-word")
    monkeypatch.setenv("PGUSER", "shop")
    port, got = thief
    document = load_of("t", tmp_path)
    with pytest.raises(SetUpError, match="the server prod cannot be read") as refused:
        postgres(server(host="127.0.0.1", port=port), document, document.datasets, tmp_path)

    assert "secret-word" not in str(refused.value)
    assert b"secret-word" not in b"".join(got)
