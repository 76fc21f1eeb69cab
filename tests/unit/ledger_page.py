"""Generates the table of kinds of docs/ledger.md from the JSON Schemas of blocks: `python -m tests.unit.ledger_page`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lakegate.extension_points import ROOT
from lakegate.gate.ledger import blocks
from lakegate.json_codec import load

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = ROOT / "docs/ledger.md"
BEGIN, END = "<!-- kinds -->", "<!-- end -->"


def kinds() -> tuple[str, ...]:
    """Every kind of block: those of deliveries, then those of records."""
    of_deliveries: Any = load("block")["properties"]
    return (*of_deliveries["kind"]["enum"], *sorted(blocks.KINDS))


def generated(page: str) -> str:
    """The page with an up-to-date table."""
    before, _, rest = page.partition(BEGIN)
    table = "\n".join(["| kind | is | JSON Schema | members |", "| --- | --- | --- | --- |", *_rows()])
    return f"{before}{BEGIN}\n\n{table}\n\n{END}{rest.partition(END)[2]}"


def _rows() -> Iterator[str]:
    for kind in kinds():
        name = f"record-{kind}" if kind in blocks.KINDS else "block"
        schema: Any = load(name)
        required = set(schema["required"])
        members = [f"`{each}`" + ("" if each in required else " (or absent)") for each in sorted(schema["properties"])]
        title = schema["title"].partition(": ")[2]
        yield f"| `{kind}` | {title} | `{name}.json` | {', '.join(members)} |"


if __name__ == "__main__":
    PAGE.write_text(generated(PAGE.read_text()))
