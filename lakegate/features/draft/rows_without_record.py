"""Rows of CSV that are no records, as `check` names them: without a value, of totals, or the header again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from lakegate.contract.file_formats import Csv
from lakegate.engine.evaluate.typed_values import plain_number, text_literal
from lakegate.verdict.value_mistakes import BLANK, NULL_WORDS, TOTAL, record_of

if TYPE_CHECKING:
    import duckdb

    from lakegate.plan.plan import PlanField

    Tables = Mapping[str, Mapping[PlanField, int]]
    """The number of texts in each column of each table."""

FEW, MOST = 0.05, 1000
"""The share of the rows, and their number, up to which rows without a value of a column are looked at."""
MAX_COLUMNS = 20
"""Columns of which rows without a value are looked at, those with the fewest; those of a repeated header; those with sums."""
SUMMED = 3
"""Values beside zeros whose sum is hardly there by chance."""
ROUNDED = 1e-6
"""The share of the numbers by which a sum may differ from theirs."""
COMPARED = 500
"""Rows below a row of units that are looked at."""
_NUMBER = re.compile(r"[-+]?[0-9][0-9.,]*")
_UNIT = re.compile(r"[^0-9]{1,12}")
_SUMS = "[sum({0}) FILTER (rowid < {1}), max({0}) FILTER (rowid = {1}), sum(abs({0})), count(*) FILTER ({0} <> 0)]"
"""The sum of the others, the last number, the size of all, and how many are not 0."""
_SEPARATED = (Csv(thousands_separator=","), Csv(decimal_separator=",", thousands_separator="."))


def remove_rows_without_record(connection: duckdb.DuckDBPyConnection, tables: Tables, rows: int, csv: Csv) -> int:
    """Remove from tables what is no record, and return how many rows that are.

    Such a row lacks a value that nearly all others have: a word such as `Total` in a whole record is a value. A repeated header
    and a first row of units lack none, and a last row in which each number is the sum of its column may have any label.
    """
    headers = [*_headers(connection, tables), *_units(connection, tables)] if csv.header else []
    gone = _remove(connection, tables, {*_unfilled(connection, tables, rows, csv), *headers}, rows)
    return gone + _remove(connection, tables, {*_sums(connection, tables)}, rows - gone)


def _remove(connection: duckdb.DuckDBPyConnection, tables: Tables, found: set[int], rows: int) -> int:
    if len(found) == rows:
        return 0
    for table in tables if found else ():
        connection.execute(f"DELETE FROM {table} WHERE rowid IN ({', '.join(map(str, found))})")  # noqa: S608 - generated names, and numbers
    return len(found)


def _unfilled(connection: duckdb.DuckDBPyConnection, tables: Tables, rows: int, csv: Csv) -> Iterator[int]:
    lacking = [(rows - present, field.alias) for own in tables.values() for field, present in own.items()]
    few = sorted(entry for entry in lacking if 0 < entry[0] <= min(MOST, max(1, FEW * rows)))[:MAX_COLUMNS]
    if not few:
        return
    texts = ", ".join(field.alias for own in tables.values() for field in own)
    is_lacking = " OR ".join(f"{name} IS NULL" for _, name in few)
    query = f"SELECT {next(iter(tables))}.rowid, {texts} FROM {' POSITIONAL JOIN '.join(tables)} WHERE {is_lacking}"  # noqa: S608 - generated names
    for row, *values in connection.execute(query).fetchall():
        if record_of(csv.delimiter.join(value or "" for value in values), None, csv) in {BLANK, TOTAL}:
            yield row


def _headers(connection: duckdb.DuckDBPyConnection, tables: Tables) -> Iterator[int]:
    (table, fields), *_ = tables.items()
    names = [(field.alias, field.column) for field in fields if field.column][:MAX_COLUMNS]
    if names:
        is_header = " AND ".join(f"{alias} = {text_literal(name)}" for alias, name in names)
        for (row,) in connection.execute(f"SELECT rowid FROM {table} WHERE {is_header}").fetchall():  # noqa: S608 - generated names
            yield row


def _units(connection: duckdb.DuckDBPyConnection, tables: Tables) -> Iterator[int]:
    """The first row, if no one of several columns whose other values are nearly all numbers has one there, and one has a unit."""
    (table, fields), *_ = tables.items()
    names = [field.alias for field in fields][:MAX_COLUMNS]
    for row, *texts in _row(connection, table, names, "rowid"):
        shares = ", ".join(f"avg(CAST(regexp_full_match({name}, '{_NUMBER.pattern}') AS INTEGER))" for name in names)
        query = f"SELECT {shares} FROM (SELECT * FROM {table} WHERE rowid > {row} LIMIT {COMPARED})"  # noqa: S608 - generated names
        found = connection.execute(query).fetchall()[0]
        first = [text or "" for text, share in zip(texts, found, strict=True) if share and share >= 1 - FEW]
        has_unit = any(_UNIT.fullmatch(text) and text not in NULL_WORDS for text in first)
        if len(first) > 1 and has_unit and not any(map(_NUMBER.fullmatch, first)):
            yield row


def _row(connection: duckdb.DuckDBPyConnection, table: str, names: list[str], order: str) -> list[tuple[Any, ...]]:
    """The first row of a table in an order, with its number, and of some columns; none of a table without rows or columns."""
    query = f"SELECT rowid, {', '.join(names)} FROM {table} ORDER BY {order} LIMIT 1"  # noqa: S608 - generated names
    return connection.execute(query).fetchall() if names else []


def _sums(connection: duckdb.DuckDBPyConnection, tables: Tables) -> Iterator[int]:
    """The last row, if it has numbers, and each of them is the sum of the others of its column."""
    (table, fields), *_ = tables.items()
    names = [field.alias for field in fields]
    for row, *texts in _row(connection, table, names, "rowid DESC"):
        numbers = [name for name, text in zip(names, texts, strict=True) if text and _NUMBER.fullmatch(text)][
            :MAX_COLUMNS
        ]
        for csv in _SEPARATED if numbers else ():
            found = list(takewhile(_is_sum, (_sum(connection, table, name, row, csv) for name in numbers)))
            if len(found) == len(numbers) and any(last and count and count > SUMMED for _, last, _, count in found):
                yield row
                return


def _sum(connection: duckdb.DuckDBPyConnection, table: str, name: str, row: int, csv: Csv) -> list[float | None]:
    number = f"try_cast({plain_number(name, csv)} AS DOUBLE)"
    (found,) = connection.execute(f"SELECT {_SUMS.format(number, row)} FROM {table}").fetchall()[0]  # noqa: S608 - generated names
    return list(found)


def _is_sum(found: list[float | None]) -> bool:
    others, last, size, _ = found
    return others is not None and last is not None and size is not None and abs(others - last) <= ROUNDED * size
