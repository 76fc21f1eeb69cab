"""The expectation `expect_table_schema_to_match_data_contract_schema`.

`lakegate convert CONTRACT --to great-expectations` writes a suite with it: its arguments are the columns of the contract.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from great_expectations.expectations.expectation import BatchExpectation

_INTEGERS = frozenset(
    [
        "int",
        "int2",
        "int4",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "integer",
        "bigint",
        "smallint",
        "tinyint",
        "hugeint",
        "long",
        "short",
        "byte",
    ]
)
_DECIMALS = frozenset(
    [
        "float",
        "float4",
        "float8",
        "float16",
        "float32",
        "float64",
        "double",
        "double_precision",
        "real",
        "numeric",
        "bignumeric",
        "decimal",
        "number",
        "money",
    ]
)
_TIMESTAMPS = frozenset(
    [
        "datetime",
        "datetime2",
        "datetime64",
        "datetimeoffset",
        "timestamp",
        "timestamptz",
        "timestamp_ntz",
        "timestamp_ltz",
        "timestamp_tz",
    ]
)
_TEXTS = frozenset(
    [
        "str",
        "string",
        "text",
        "varchar",
        "nvarchar",
        "char",
        "nchar",
        "bpchar",
        "clob",
        "character",
        "uuid",
        "enum",
        "category",
    ]
)
FAMILIES: Mapping[str, frozenset[str]] = {
    "integer": _INTEGERS,
    "number": _INTEGERS | _DECIMALS,
    "boolean": frozenset({"bool", "boolean"}),
    "date": frozenset({"date", "date32", "datetime64"}),
    "timestamp": _TIMESTAMPS,
    "time": frozenset({"time", "timetz", "time64"}),
    "string": _TEXTS,
    "binary": frozenset({"bytes", "binary", "varbinary", "blob", "bytea"}),
    "object": frozenset({"struct", "record", "json", "jsonb", "variant", "super", "map", "row"}),
    "map": frozenset({"map", "struct", "record", "json", "jsonb", "variant", "super"}),
    "array": frozenset({"array", "list", "json", "jsonb", "variant", "super"}),
}
"""Names of types in databases, Spark and pandas that can hold the values of a type of the contract."""
KNOWN = frozenset().union(*FAMILIES.values())
OF_SPARK = re.compile(r"type(\(.*\))?$")
PARAMETERS = re.compile(r"[\[(<].*|[ ](with|without)[ ].*")
PANDAS_INTEGERS = frozenset({"float", "float32", "float64"})
"""pandas has whole numbers with nulls as floats."""


class ExpectTableSchemaToMatchDataContractSchema(BatchExpectation):
    """Expect every column of a data contract to be there, with a type that can hold its values; further columns are free."""

    columns: Sequence[Mapping[str, str]]
    contract: str = ""
    dataset: str = ""

    metric_dependencies: ClassVar[tuple[str, ...]] = ("table.column_types",)
    success_keys: ClassVar[tuple[str, ...]] = ("columns",)
    args_keys: ClassVar[tuple[str, ...]] = ("columns",)

    def _validate(
        self,
        metrics: Mapping[str, Any],
        runtime_configuration: Mapping[str, Any] | None = None,
        execution_engine: object = None,
    ) -> dict[str, Any]:
        del runtime_configuration
        is_pandas = type(execution_engine).__name__ == "PandasExecutionEngine"
        actual = {str(each["name"]): str(each["type"]) for each in metrics["table.column_types"]}
        messages = list(differences(self.columns, actual, is_pandas=is_pandas))
        return {"success": not messages, "result": {"observed_value": actual, "details": {"messages": messages}}}


def differences(
    columns: Sequence[Mapping[str, str]], actual: Mapping[str, str], *, is_pandas: bool = False
) -> Iterator[str]:
    """A sentence for each column that is not there, or has another type. Types that no table knows are not compared."""
    for each in columns:
        name, wanted = each["name"], each.get("type", "")
        if name not in actual:
            yield f"The column {name} is not there."
            continue
        found = plain(actual[name])
        allowed = FAMILIES.get(wanted, KNOWN) | (PANDAS_INTEGERS if is_pandas and wanted == "integer" else frozenset())
        if found in KNOWN and found not in allowed:
            yield f"The column {name} has the type {actual[name]}; the contract wants {wanted}."


def plain(name: str) -> str:
    """The name of a type without its parameters: `varchar` of `VARCHAR(10)`, `integer` of `IntegerType()`."""
    lower = OF_SPARK.sub("", name.strip().lower())
    return PARAMETERS.sub("", lower).strip().replace(" ", "_")
