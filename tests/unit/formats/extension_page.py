"""The table of the extension in docs/contracts.md, made from its schema: `python -m tests.unit.formats.extension_page`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contracts.schemas import load

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


def mended(page: str) -> str:
    """The page with its table as it should be."""
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}\n{_table()}\n{END}{rest.partition(END)[2]}"


def _table() -> str:
    rows = [("key", "values", "default", "means"), ("---",) * 4, *_rows(load("lakegate-extension"))]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _rows(schema: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    parts = schema["definitions"]
    for key, said in parts["extension"]["properties"].items():
        if key != "csv":
            yield _row(key, said)
    for key, said in parts["csv"]["properties"].items():
        yield _row(f"csv.{key}", said)


def _row(key: str, said: dict[str, Any]) -> tuple[str, ...]:
    default = f"`{json.dumps(said['default']).replace('|', '¦')}`" if "default" in said else ""
    return f"`{key}`", _values(said), default, str(said.get("description", "Its encoding, in any case."))


def _values(said: dict[str, Any]) -> str:
    listed = said.get("enum", said.get("examples", [said["const"]] if "const" in said else []))
    if listed:
        return ", ".join(f"`{each}`" for each in listed)
    return WORDS.get(str(said.get("type")), "one character, in quotes")


if __name__ == "__main__":
    PAGE.write_text(mended(PAGE.read_text()))
