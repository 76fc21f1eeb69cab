"""Type names of other engines, with the logical type of each."""

from __future__ import annotations

from lakegate.contracts.model.types import LogicalType

_NAMES = {
    LogicalType.STRING: "str string text varchar char nvarchar stringtype object_",
    LogicalType.INTEGER: "int integer bigint smallint tinyint long int8 int16 int32 int64 integertype longtype shorttype "
    "bytetype",
    LogicalType.NUMBER: "float double float32 float64 real double_precision floattype doubletype number",
    LogicalType.DECIMAL: "decimal numeric decimaltype",
    LogicalType.BOOLEAN: "bool boolean booleantype bool_",
    LogicalType.DATE: "date datetype",
    LogicalType.TIME: "time",
    LogicalType.TIMESTAMP: "timestamp datetime datetime64 datetime64[ns] timestamptype timestamp_tz timestamp_ntz timestamptz",
    LogicalType.BINARY: "binary varbinary bytes bytea binarytype",
}
TYPE_NAMES = {name: logical for logical, names in _NAMES.items() for name in names.split()}
"""By the name in lower case."""
