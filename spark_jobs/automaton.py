"""Searching by RE2, whose time grows with the text alone: for the patterns that java.util.regex may not have.

A column goes through Arrow to Python and comes back as booleans; only plans with such patterns start Python workers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.rdd import PythonEvalType
from pyspark.sql.udf import UserDefinedFunction

if TYPE_CHECKING:
    from pyspark.sql import Column


def found_by_re2(text: Column, pattern: str) -> Column:
    """Whether the pattern, in RE2's dialect, is found in a text; null where there is none. ValueError where it is no pattern."""
    compile_re2(pattern)

    def found(texts: Any) -> Any:  # noqa: ANN401 - a series of pandas, which only workers import
        import pyarrow as pa  # noqa: PLC0415 - a worker's import
        import pyarrow.compute as pc  # noqa: PLC0415 - likewise

        return pc.match_substring_regex(pa.Array.from_pandas(texts, type=pa.string()), pattern).to_pandas()

    return UserDefinedFunction(found, "boolean", evalType=PythonEvalType.SQL_SCALAR_PANDAS_UDF)(text)


def compile_re2(pattern: str) -> None:
    """ValueError where RE2 cannot read a pattern."""
    import pyarrow.compute as pc  # noqa: PLC0415 - only plans with such patterns need it

    pc.match_substring_regex([""], pattern)
