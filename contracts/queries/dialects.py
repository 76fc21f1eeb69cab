"""Dialects: which one a query is written in, and in what they differ where that changes an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contracts.queries.refusal import UntranslatedError

if TYPE_CHECKING:
    from contracts.model import Contract, Rule

FILES = "duckdb"
"""The dialect where the contract's server is a place for files, or names none: data files are asked in it by custom."""
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
"""By the type of a server, or by the name that a rule gives its dialect."""
DAYS_BETWEEN_DATES = frozenset({"duckdb", "postgres", "redshift", "snowflake"})
"""A date less a date is a number of days, a date and a number a date."""
MOMENTS_APART = frozenset({"databricks", "duckdb", "postgres", "redshift", "spark"})
"""A moment less a moment is a stretch of time."""
COUNTS_BOUNDARIES = frozenset({"bigquery", "duckdb", "redshift", "snowflake", "tsql"})
"""The difference in a unit counts the boundaries between two moments, not the whole units."""
SUNDAY_IS_ZERO = frozenset({"duckdb", "postgres", "redshift", "snowflake"})
CASTS_TRUNCATE = frozenset({"databricks", "spark"})
CASTS_ROUND_HALF_EVEN = frozenset({"duckdb", "postgres", "redshift"})
"""Of floats; exact numbers are rounded half away from zero."""
ZERO_DIVIDES = frozenset({"mysql"})
"""A division by zero is null. In all others it is an error (in DuckDB since its version 2), and here too."""
SECONDS_HAVE_FRACTIONS = frozenset({"postgres"})
TEXTS_IGNORE_CASE = frozenset({"mysql", "tsql"})
"""Texts that differ in case are equal there, unless a column says otherwise; here they never are."""


def dialect_of(contract: Contract, rule: Rule) -> str:
    """What the rule says, else the first server of the contract whose type is known, else the dialect of files.

    Raises UntranslatedError for a dialect that a rule names and nobody here knows.
    """
    said = rule.arguments.get("dialect")
    if said is not None:
        known = DIALECTS.get(str(said).strip().lower())
        if known is None:
            raise UntranslatedError("its dialect is not known to this version")
        return known
    types = (server.type.strip().lower() for server in contract.about.servers)
    return next((DIALECTS[each] for each in types if each in DIALECTS), FILES)
