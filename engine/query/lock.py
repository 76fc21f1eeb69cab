"""Restricts a connection to its own tables: no files, no network, no extensions, no variables of the program.

Settings cannot be changed afterwards. They apply to the whole database of the connection, so that it is locked after all
external data is loaded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

SETTINGS = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "python_enable_replacements": "false",
    "enable_external_access": "false",
    # what an answer depends on
    "TimeZone": "'UTC'",
    "default_collation": "''",
    "error_on_division_by_zero": "true",
    "ieee_floating_point_ops": "true",
    "integer_division": "false",
    "scalar_subquery_error_on_multiple_rows": "true",
}


SPILL, SPILLS = 1 << 30, 8
"""What queries may write to disk: 1 GiB, and eight times the data. Beyond, a query is an error of its rule."""


def bound_spill(connection: duckdb.DuckDBPyConnection) -> None:
    """Bound the temporary files of a connection by the data that it holds now; nothing, once it is locked."""
    ((is_locked, held, spilled),) = connection.execute(
        "SELECT current_setting('lock_configuration'), sum(memory_usage_bytes), sum(temporary_storage_bytes) FROM duckdb_memory()"
    ).fetchall()
    if not is_locked:
        most = int(spilled) + SPILL + SPILLS * (int(held) + int(spilled))
        connection.execute(f"SET max_temp_directory_size = '{most}B'")


def lock(connection: duckdb.DuckDBPyConnection) -> None:
    """Lock a connection down; a second time changes nothing."""
    (is_locked,) = connection.execute("SELECT current_setting('lock_configuration')").fetchall()[0]
    if is_locked:
        return
    for name, value in SETTINGS.items():
        connection.execute(f"SET {name} = {value}")
    connection.execute("SET lock_configuration = true")
