"""Generates the table of the kinds of records in docs/ledger.md: `python -m tests.unit.gate.ledger.ledger_page`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lakegate.base.extension_points import ROOT
from lakegate.base.json_schemas import load
from lakegate.gate.ledger import record_contents

PAGE = ROOT / "docs/ledger.md"
BEGIN, END = "<!-- kinds -->", "<!-- end -->"


def kinds() -> tuple[str, ...]:
    """Every kind of block: those of deliveries, then those of records."""
    of_deliveries: Any = load("block")["properties"]
    return (*of_deliveries["kind"]["enum"], *sorted(record_contents.CONTENTS))


def generated(page: str) -> str:
    """The page with an up-to-date table."""
    before, _, rest = page.partition(BEGIN)
    table = "\n".join(["| kind | members of `content` |", "| --- | --- |", *_rows()])
    return f"{before}{BEGIN}\n\n{table}\n\n{END}{rest.partition(END)[2]}"


def _rows() -> Iterator[str]:
    for kind in sorted(record_contents.CONTENTS):
        schema: Any = load(f"record-{kind}")
        required = set(schema["required"])
        members = [f"`{each}`" + ("" if each in required else " (or absent)") for each in sorted(schema["properties"])]
        yield f"| `{kind}` | {', '.join(members)} |"


if __name__ == "__main__":
    PAGE.write_text(generated(PAGE.read_text()))
