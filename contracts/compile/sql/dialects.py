"""SQL dialects: which one a query uses, and the differences between them that change a result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakegate.contracts.compile.sql.refusal import UntranslatedError

if TYPE_CHECKING:
    from lakegate.contracts.model.contract import Contract, Rule

FILES = "duckdb"
"""The dialect of contracts whose servers store files, or that have no server."""
DIALECTS = {
    **{name: name for name in ("athena", "bigquery", "databricks", "duckdb", "mysql", "postgres", "redshift")},
    **{name: name for name in ("snowflake", "spark", "trino")},
    **dict.fromkeys(("postgresql", "cloudsql", "alloydb"), "postgres"),
    **dict.fromkeys(("sqlserver", "tsql", "mssql", "synapse", "fabric"), "tsql"),
    **dict.fromkeys(("hive", "glue", "sparksql"), "spark"),
    **dict.fromkeys(("presto", "starburst"), "trino"),
    "mariadb": "mysql",
    **dict.fromkeys(("s3", "local", "azure", "gcs", "sftp", "file", "kafka", "motherduck", "dataframe"), FILES),
}
"""Dialect of sqlglot by server type or by the `dialect` of a rule."""
DAYS_BETWEEN_DATES = frozenset({"duckdb", "postgres", "redshift", "snowflake"})
"""Date minus date is a number of days; date plus number is a date."""
MOMENTS_APART = frozenset({"databricks", "duckdb", "postgres", "redshift", "spark"})
"""Timestamp minus timestamp is a duration."""
COUNTS_BOUNDARIES = frozenset({"bigquery", "duckdb", "redshift", "snowflake", "tsql"})
"""DATEDIFF counts the boundaries of the unit between two timestamps, not the complete units."""
COUNTS_COMPLETE_UNITS = frozenset({"athena", "trino"})
"""DATE_DIFF counts complete units."""
COUNTS_DAYS = frozenset({"databricks", "spark"})
"""DATEDIFF counts complete units, but days between dates if it names no unit: the parser writes both alike."""
SUNDAY_IS_ZERO = frozenset({"duckdb", "postgres", "redshift", "snowflake"})
SUNDAY_IS_ONE = frozenset({"bigquery", "databricks", "mysql", "spark"})
MONDAY_IS_ONE = frozenset({"athena", "trino"})
"""The number of the first day of a week. In the others it depends on a setting."""
WEEKS_ARE_OTHERS = frozenset({"bigquery", "mysql", "tsql"})
"""A week is not that of ISO 8601, which begins on Monday."""
CASTS_TRUNCATE = frozenset({"databricks", "spark", "tsql"})
CASTS_ROUND_HALF_EVEN = frozenset({"duckdb", "postgres", "redshift"})
"""For floats; decimals are rounded half away from zero."""
ZERO_DIVIDES = frozenset({"mysql"})
"""Division by zero is null. In all other dialects it is an error (in DuckDB since version 2), and here too."""
SECONDS_HAVE_FRACTIONS = frozenset({"databricks", "postgres", "spark"})
"""EXTRACT(SECOND …) includes the fraction."""
MEANS_ARE_WHOLE = frozenset({"redshift", "tsql"})
"""The mean of whole numbers is a whole number, without its fraction."""
BITS_ARE_TRUTHS = frozenset({"mysql", "tsql"})
"""Truth values are written 0 and 1."""
TEXTS_IGNORE_CASE = {"mysql": "utf8mb4_0900_bin", "tsql": "Latin1_General_BIN2"}
"""Dialects whose comparisons of texts ignore case by default; in Lakegate they never do. Each has a collation that does not."""


def dialect_of(contract: Contract, rule: Rule) -> str:
    """The dialect of the rule, else that of the contract's first server of a known type, else the dialect of files.

    Raises UntranslatedError if the rule names an unknown dialect.
    """
    sql = rule.arguments.get("dialect")
    if sql is not None:
        known = DIALECTS.get(str(sql).strip().lower())
        if known is None:
            raise UntranslatedError("its dialect is not known to this version")
        return known
    types = (server.type.strip().lower() for server in contract.about.servers)
    return next((DIALECTS[each] for each in types if each in DIALECTS), FILES)
