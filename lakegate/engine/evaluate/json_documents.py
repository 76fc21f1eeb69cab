"""Texts that are JSON as a JSON Schema describes it, by the library `jsonschema`; each distinct text once."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NoReturn

import pyarrow as pa
from duckdb.func import ARROW

from lakegate.engine.evaluate.typed_values import text_literal

if TYPE_CHECKING:
    import duckdb
    from jsonschema.protocols import Validator

FUNCTION = "lakegate_json_form"
LONGEST_DOCUMENT = 1 << 16
"""Characters of a text that is read: a longer one has no form."""
UNREADABLE = (ValueError, ArithmeticError, RecursionError)
"""No JSON, or numbers and levels beyond what can be compared."""


def sql(schema: str, text: str) -> str:
    """Whether the SQL of a text has the form of a schema, as SQL; NULL for NULL."""
    return f"{FUNCTION}({text}, {text_literal(schema)})"


def register(connection: duckdb.DuckDBPyConnection) -> None:
    """Add the function to a new database."""
    connection.create_function(FUNCTION, _found, ["VARCHAR", "VARCHAR"], "BOOLEAN", type=ARROW)


def conforms(text: str, schema: str) -> bool:
    """Whether a text is JSON of a schema."""
    try:
        return len(text) <= LONGEST_DOCUMENT and _validator(schema).is_valid(json.loads(text, parse_constant=_refuse))
    except UNREADABLE:
        return False


@lru_cache(maxsize=64)
def _validator(schema: str) -> Validator:
    from jsonschema import Draft202012Validator  # noqa: PLC0415 - a tenth of a second, for plans with such a schema

    validator: Any = Draft202012Validator(json.loads(schema))
    return validator  # type: ignore[no-any-return]  # the library has no types


def _found(texts: pa.ChunkedArray, schemas: pa.ChunkedArray) -> pa.Array:
    schema = schemas[0].as_py() if len(schemas) else None
    known: dict[str | None, bool | None] = {None: None}
    found = []
    for text in texts.to_pylist():
        if text not in known:
            known[text] = None if schema is None else conforms(text, schema)
        found.append(known[text])
    return pa.array(found, pa.bool_())


def _refuse(_constant: str) -> NoReturn:
    raise ValueError("no JSON")
