"""Generates the table of the extension in docs/contracts.md from its schema: `python -m tests.unit.documents.extension_page`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lakegate.contracts.schemas import load

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = Path(__file__).parents[3] / "docs/contracts.md"
BEGIN, END = "<!-- contracts.md#extension -->", "<!-- end -->"
WORDS = {
    "boolean": "`true`, `false`",
    "number": "0 to 1",
    "integer": "a whole number from 1",
    "array": "a list of texts, each in quotes",
}


def generated(page: str) -> str:
    """The page with an up-to-date table."""
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}\n{_table()}\n{END}{rest.partition(END)[2]}"


def _table() -> str:
    rows = [("key", "values", "default", "means"), ("---",) * 4, *_rows(load("lakegate-extension"))]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _rows(schema: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    parts = schema["definitions"]
    for key, schema_of_key in parts["extension"]["properties"].items():
        if key != "csv":
            yield _row(key, schema_of_key)
    for key, schema_of_key in parts["csv"]["properties"].items():
        yield _row(f"csv.{key}", schema_of_key)


def _row(key: str, schema_of_key: dict[str, Any]) -> tuple[str, ...]:
    default = f"`{json.dumps(schema_of_key['default']).replace('|', '¦')}`" if "default" in schema_of_key else ""
    return (
        f"`{key}`",
        _values(schema_of_key),
        default,
        str(schema_of_key.get("description", "Its encoding, in any case.")),
    )


def _values(schema_of_key: dict[str, Any]) -> str:
    listed = schema_of_key.get(
        "enum", schema_of_key.get("examples", [schema_of_key["const"]] if "const" in schema_of_key else [])
    )
    if listed:
        return ", ".join(f"`{each}`" for each in listed)
    if "maximum" in schema_of_key and schema_of_key["type"] == "integer":
        return f"a whole number from {schema_of_key['minimum']} to {schema_of_key['maximum']}"
    return WORDS.get(str(schema_of_key.get("type")), "one character, in quotes")


if __name__ == "__main__":
    PAGE.write_text(generated(PAGE.read_text()))
