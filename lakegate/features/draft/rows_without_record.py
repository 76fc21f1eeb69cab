"""Rows of CSV that are no records, as `check` names them: without a value, or of totals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from lakegate.contract.file_formats import Csv
from lakegate.verdict.value_mistakes import BLANK, TOTAL, record_of

if TYPE_CHECKING:
    import duckdb

FEW, MOST = 0.05, 1000
"""The share of the rows, and their number, up to which rows without a value of a column are looked at."""


MAX_COLUMNS = 20
"""Columns of which rows without a value are looked at; those with the fewest."""


def remove_rows_without_record(
    connection: duckdb.DuckDBPyConnection, tables: Mapping[str, Mapping[str, int]], rows: int, csv: Csv
) -> int:
    """Remove from tables what is no record, and return how many rows that are.

    `tables`: the number of texts in each column of each table. Such a row lacks a value that nearly all others have: a word such
    as `Total` in a whole record is a value.
    """
    lacking = [(rows - present, name) for own in tables.values() for name, present in own.items()]
    few = sorted(entry for entry in lacking if 0 < entry[0] <= min(MOST, max(1, FEW * rows)))[:MAX_COLUMNS]
    if not few:
        return 0
    texts = ", ".join(entry for own in tables.values() for entry in own)
    is_lacking = " OR ".join(f"{name} IS NULL" for _, name in few)
    query = f"SELECT {next(iter(tables))}.rowid, {texts} FROM {' POSITIONAL JOIN '.join(tables)} WHERE {is_lacking}"  # noqa: S608 - generated names
    found = [
        str(row)
        for row, *values in connection.execute(query).fetchall()
        if record_of(csv.delimiter.join(value or "" for value in values), None, csv) in {BLANK, TOTAL}
    ]
    if len(found) == rows:
        return 0
    for table in tables if found else ():
        connection.execute(f"DELETE FROM {table} WHERE rowid IN ({', '.join(found)})")  # noqa: S608 - likewise, and numbers
    return len(found)
